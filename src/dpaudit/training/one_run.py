"""Audits of trainings from scores alone: one run, several runs, or two lists of scores.

Each says what it refutes. With `assume="nothing"` that is "any mechanism with this claim": whatever
the canaries of a run do to each other. With `assume="independent"` it is "this claim and
independent canaries", which many correct trainings keep and some do not: there the bounds are
sharper, and a training that only breaks the independence is accused too. The bound under the other
assumption stands beside the one that decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from dpaudit.architecture import Claim, Scalable
from dpaudit.arrays import Floats, Labels
from dpaudit.auditing import check_arguments, entropy_of
from dpaudit.errors import InvalidSamples, Underpowered
from dpaudit.results import Audit, Finding
from dpaudit.training.any_mechanism import (
    any_mechanism,
    detectable_shift,
    refuse_if_hopeless,
)
from dpaudit.training.canaries import Canaries
from dpaudit.training.conclusion import Audited, Seen, concluded
from dpaudit.training.hands import Trace, ceiling
from dpaudit.training.independent import independent
from dpaudit.training.several_runs import combined_runs
from dpaudit.training.training import ADD_OR_REMOVE

Assumption: TypeAlias = Literal["nothing", "independent"]
Scores: TypeAlias = Any  # an array in the order of the canaries' ids, or a mapping by id

_LISTS = 1  # the stream of random numbers that mixes two lists of scores
_MAX_IMBALANCE = 5.0  # standard deviations: fair coins give more once in a million times


def one_run(
    scores: Scores,
    canaries: Canaries | Any,
    claim: Claim,
    *,
    assume: Assumption = "nothing",
    alpha: float = 0.05,
    noise: float | None = None,
    name: str = "the training",
    what: str = "scores",
    rng: np.random.Generator | int | None = None,
) -> Audit:
    """Audit one training from the scores of its canaries: the larger, the likelier it was in.

    `scores` is an array in the order of `canaries.ids`, or a mapping by id. `canaries` is the plan
    made before the training, or its bits: fair coins that nothing which computes scores has seen.
    The claim is that of the whole training, when one canary is added or removed.

    A training that keeps its claim is refuted with probability at most `alpha`, under what is
    assumed: see the top of this module. `noise` is the standard deviation of the score of a canary
    that is out, if it is known and its mean is 0; it makes the bets on independent canaries
    sharper. Their order is shuffled with `rng`. A claim that no single run can refute at this alpha
    is `Underpowered`.

    >>> from dpaudit import GaussianDP
    >>> from dpaudit.training import canaries, one_run
    >>> plan = canaries(1000, rng=7)
    >>> scores = np.random.default_rng(1).normal(size=1000) + 2.0 * plan.bits
    >>> audit = one_run(scores, plan, GaussianDP(1.0), name="train", rng=7)
    >>> print(repr(audit).replace(" (tested", chr(10) + "(tested"))
    <Audit REFUTED: train is not 1-GDP: mu >= 1.4
    (tested: any mechanism with this claim, alpha = 0.05)>
    >>> [(finding.null.name, finding.refuted) for finding in audit.training.findings[:2]]
    [('ANY_MECHANISM', True), ('INDEPENDENT_CANARIES', True)]
    """
    seed = _checked(claim, alpha, assume, rng)
    run = seen_run(scores, canaries)
    audited = Audited(
        name=name, claim=claim, alpha=alpha, what=what, neighbours=ADD_OR_REMOVE, seed=seed
    )
    refuse_hopeless(len(run.scores), claim, assume=assume, alpha=alpha)
    return audit_of_runs(audited, [run], assume=assume, noise=noise)


def several_runs(
    runs: Sequence[tuple[Scores, Canaries | Any]],
    claim: Claim,
    *,
    planned: int | None = None,
    assume: Assumption = "nothing",
    alpha: float = 0.05,
    noise: float | None = None,
    name: str = "the training",
    what: str = "scores",
    rng: np.random.Generator | int | None = None,
) -> Audit:
    """Audit several runs of one training, each with fresh bits (`canaries.fresh(run)`).

    Each run is a pair of scores and canaries, as in `one_run`; all have as many canaries. The
    evidence of separate runs multiplies. Whoever looks after some runs and may add more must name
    the number that was `planned` before the first, every time. What several runs can refute, a
    single one often cannot.

    >>> from dpaudit import ApproxDP
    >>> from dpaudit.training import canaries, several_runs
    >>> plan, rng = canaries(1000, rng=7), np.random.default_rng(1)
    >>> plans = [plan.fresh(run) for run in range(3)]
    >>> runs = [(rng.normal(size=1000) + 2.0 * each.bits, each) for each in plans]
    >>> several_runs(runs, ApproxDP(1.0, 1e-5), alpha=0.001, rng=7).refuted
    True
    """
    seed = _checked(claim, alpha, assume, rng)
    if not runs:
        raise InvalidSamples("runs must hold at least one (scores, canaries).")
    check_planned(len(runs), planned)
    seen = [seen_run(scores, canaries) for scores, canaries in runs]
    if len({len(run.scores) for run in seen}) > 1:
        raise InvalidSamples("every run must have as many canaries as the first.")
    plans = [canaries.digest for _, canaries in runs if isinstance(canaries, Canaries)]
    if len(set(plans)) < len(plans):
        raise InvalidSamples(
            "two runs have the same bits, so they are not separate. Plan each with "
            "canaries.fresh(run)."
        )
    audited = Audited(
        name=name, claim=claim, alpha=alpha, what=what, neighbours=ADD_OR_REMOVE, seed=seed
    )
    return audit_of_runs(audited, seen, assume=assume, noise=noise, planned=planned)


def compare_scores(
    in_scores: Any,
    out_scores: Any,
    claim: Claim,
    *,
    assume: Assumption = "nothing",
    alpha: float = 0.05,
    noise: float | None = None,
    name: str = "the training",
    rng: np.random.Generator | int | None = None,
) -> Audit:
    """Audit one training from two lists: scores of the canaries that were in, and of those out.

    As `one_run`, for scores that come in the form jax_privacy takes. A fair coin for each canary
    must have decided which list it is in: numbers that no fair coins give are refused. Canaries
    chosen to have as many on either side are not tossed; plan them with
    `dpaudit.training.canaries`.

    >>> import dpaudit
    >>> rng = np.random.default_rng(1)
    >>> inside, outside = rng.normal(size=517) + 2.0, rng.normal(size=483)
    >>> dpaudit.training.compare_scores(inside, outside, dpaudit.GaussianDP(1.0), rng=7).refuted
    True
    """
    seed = _checked(claim, alpha, assume, rng)
    sides = [np.asarray(side, dtype=np.float64) for side in (in_scores, out_scores)]
    if any(side.ndim != 1 or len(side) == 0 for side in sides):
        shapes = " and ".join(str(side.shape) for side in sides)
        raise InvalidSamples(f"both lists must hold one number a canary, got shapes {shapes}.")
    counts = np.array([len(side) for side in sides])
    if abs(counts[0] - counts[1]) > _MAX_IMBALANCE * np.sqrt(counts.sum()):
        raise InvalidSamples(
            f"{counts[0]} canaries in and {counts[1]} out are not the result of fair coins. Plan "
            "the canaries with dpaudit.training.canaries, or audit as many of either side."
        )
    bits = np.arange(counts.sum()) < counts[0]
    # A stream of its own: the bets shuffle once more, and one permutation twice is not uniform.
    stream = np.random.SeedSequence(seed, spawn_key=(_LISTS,))
    order = np.random.default_rng(stream).permutation(len(bits))
    scores = np.concatenate(sides)[order]
    settings: dict[str, Any] = {"assume": assume, "alpha": alpha, "noise": noise, "name": name}
    return one_run(scores, bits[order], claim, **settings, rng=seed)


def audit_of_runs(
    audited: Audited,
    runs: Sequence[Seen],
    *,
    assume: Assumption,
    noise: float | None,
    planned: int | None = None,
    seconds: float = 0.0,
) -> Audit:
    """The audit of one run or several: the finding that decides first, then the other null."""
    claim, alpha = audited.claim, audited.alpha
    several = len(runs) > 1 or (planned or 1) > 1
    if several:
        pairs = [(run.scores, run.bits) for run in runs]
        whatever = [combined_runs(pairs, claim, alpha, planned=planned)]
    else:
        main, further = any_mechanism(runs[0].scores, runs[0].bits, claim, alpha)
        whatever = [main, *further]
    detectable = None
    if assume == "nothing" and not several and not whatever[0].refuted:
        detectable = detectable_shift(len(runs[0].scores), claim, alpha)
    warnings: list[str] = []
    found, trace = _independently(audited, runs, noise, warnings)
    if assume == "independent":
        if found is None:
            raise InvalidSamples(f"{warnings[0]} With assume='nothing' they need not be.")
        findings = [found, *whatever]
    else:
        findings = [whatever[0], *([] if found is None else [found]), *whatever[1:]]
        trace = None
    more: dict[str, Any] = {"seconds": seconds, "warnings": warnings}
    return concluded(audited, runs, findings, trace=trace, detectable=detectable, **more)


def _independently(
    audited: Audited, runs: Sequence[Seen], noise: float | None, warnings: list[str]
) -> tuple[Finding | None, Trace | None]:
    """What the bets find if canaries are independent; nothing where a score is not finite."""
    scores = np.concatenate([run.scores for run in runs])
    if not np.isfinite(scores).all():
        bad = int(np.count_nonzero(~np.isfinite(scores)))
        warnings.append(f"{bad} of {len(scores)} scores are not finite, so none was bet on.")
        return None, None
    bits = np.concatenate([run.bits for run in runs])
    return independent(
        scores, bits, audited.claim, audited.alpha, noise=noise, rng=audited.seed, runs=len(runs)
    )


def check_planned(runs: int, planned: int | None) -> None:
    """Refuse more runs where one was planned: it was judged by itself, at the whole alpha."""
    if planned is not None and (isinstance(planned, bool) or planned < 1):
        raise ValueError(f"planned must be a whole number >= 1, got {planned!r}.")
    if planned == 1 and runs > 1:
        raise InvalidSamples(
            f"one run was planned, and there are {runs}. The first spent the whole alpha, so the "
            "others can add nothing to it. Plan several from the start: planned=3."
        )


def refuse_hopeless(count: int, claim: Claim, *, assume: Assumption, alpha: float) -> None:
    """Raise `Underpowered` where perfect guesses of one run could not refute the claim."""
    if assume == "nothing":
        refuse_if_hopeless(count, claim, alpha)
        return
    best = ceiling(claim, guesses=count, alpha=alpha)
    if isinstance(claim, Scalable) and best is not None and best <= claim.strength:
        raise Underpowered(
            f"perfect guesses of all {count} canaries would not refute {claim} at alpha {alpha:g}: "
            f"the best possible bound is {best:.3g}. Use more canaries, or several runs."
        )


def seen_run(scores: Scores, canaries: Canaries | Any) -> Seen:
    """Scores and bits of one run, in the order of the ids."""
    bits = canaries.bits if isinstance(canaries, Canaries) else np.asarray(canaries)
    if bits.ndim != 1 or len(bits) == 0 or not np.isin(bits, (0, 1)).all():
        raise InvalidSamples(
            f"canaries must be a plan, or one bit for each canary, got {canaries!r}."
        )
    labels: Labels = bits.astype(np.bool_)
    if isinstance(scores, Mapping):
        missing = [place for place in range(len(labels)) if place not in scores]
        if missing or len(scores) != len(labels):
            raise InvalidSamples(
                f"scores must hold each of the ids 0 to {len(labels) - 1} and no others; "
                f"{len(missing)} are missing, and {len(scores)} are there."
            )
        scores = [scores[place] for place in range(len(labels))]
    try:
        values: Floats = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidSamples(f"scores must be numbers: {error}.") from error
    if values.shape != labels.shape:
        raise InvalidSamples(
            f"every one of {len(labels)} canaries needs a score, in or out, got an array of shape "
            f"{values.shape}."
        )
    return Seen(scores=values, bits=labels)


def _checked(claim: Any, alpha: Any, assume: Any, rng: Any) -> int:
    """Refuse odd settings; one whole number to repeat the audit from."""
    check_arguments(claim, alpha)
    if assume not in get_args(Assumption):
        raise ValueError(
            f'assume must be "nothing" or "independent", got {assume!r}. "nothing" holds for every '
            'training, "independent" only where canaries do nothing to each other.'
        )
    return entropy_of(rng)
