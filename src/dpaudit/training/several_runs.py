"""Several runs of one training: each gives an e-value, and e-values of separate runs multiply.

Every run tosses coins of its own. Given all runs before it, a run keeps the claim under the null,
so its e-value has mean at most 1, also where it was planned after the earlier results were known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpaudit.architecture import Claim, Scalable
from dpaudit.arrays import Floats, Labels
from dpaudit.auditing import check_alpha
from dpaudit.claims import point_of
from dpaudit.errors import InvalidSamples
from dpaudit.results import Finding, Null
from dpaudit.training.counted_guesses import CountTest, plan, plan_at
from dpaudit.training.error_recursion import ErrorRecursion
from dpaudit.training.guesses import checked_scores, right_by_sureness
from dpaudit.training.levels import climb, highest, reached
from dpaudit.training.stopped_wealth import learned_accuracies, planned_shift, play, stakes

Run = tuple[npt.ArrayLike, npt.ArrayLike]  # the scores of its canaries and their bits
_SLACK = 1e-9
# Levels at which a p-value is looked at, and weights that add up to less than 1.
_LOOKS: tuple[tuple[float, float], ...] = tuple(
    (10.0 ** (-step / 2.0), 1.0 / ((step + 1) * (step + 2))) for step in range(25)
)


def combined_runs(
    runs: Sequence[Run], claim: Claim, alpha: float = 0.05, *, planned: int | None = None
) -> Finding:
    """What several runs, in their order, say of a claim, whatever the canaries do to each other.

    The claim is refuted once the product of the e-values so far has reached `1 / alpha`. For
    `(epsilon, delta)` a run gives its stopped wealth, less the charge for its delta. Other claims
    take the p-value of the error recursion, turned into an e-value by a rule fixed beforehand.

    `planned` is the number of runs that was planned before the first; if it is not given, that
    was the number of `runs`. Whoever looks after some runs and may add more names it every time.

    >>> from dpaudit.claims import ApproxDP
    >>> def run(seed):
    ...     rng = np.random.default_rng(seed)
    ...     bits = rng.random(1000) < 0.5
    ...     return rng.normal(size=1000) + bits, bits
    >>> finding = combined_runs([run(1), run(2), run(3)], ApproxDP(1.0, 1e-5), alpha=0.01)
    >>> finding.refuted
    True
    """
    check_alpha(alpha)
    if not runs:
        raise InvalidSamples("runs must hold at least one (scores, bits).")
    share = _Share(alpha=alpha, planned=len(runs) if planned is None else planned)
    seen = [_seen(*run) for run in runs]
    perfect = [_Seen.of(np.ones(one.canaries, dtype=np.bool_), one.canaries) for one in seen]
    bound = ceiling = None
    if isinstance(claim, Scalable):
        bound = climb(claim, lambda level: _told(claim, level, seen, share).reached)
        ceiling = highest(claim, lambda level: _told(claim, level, perfect, share).reached)
    told = _told(claim, None, seen, share)
    return Finding(
        test=f"{len(runs)} runs, " + ("stopped wealth" if point_of(claim) else "error recursion"),
        source="this library" if point_of(claim) else ErrorRecursion().source,
        null=Null.ANY_MECHANISM,
        refuted=reached(claim, bound) if isinstance(claim, Scalable) else told.reached,
        log_evidence=told.log_evidence,
        lower_bound=(bound or 0.0) if isinstance(claim, Scalable) else None,
        ceiling=ceiling,
        guesses=told.guesses,
        right=told.right,
    )


def evidence_of(chance: float, aim: float) -> float:
    """The logarithm of the e-value of a p-value: a mixture of `1{p <= a} / a`.

    Half of it looks at `a = aim`, the rest at powers of the root of ten, each with less
    weight. `1{p <= a} / a` has mean at most 1, and so has their mixture.

    >>> print([round(math.exp(evidence_of(p, 0.05)), 2) for p in (1.0, 0.051, 0.05, 0.001)])
    [0.25, 0.93, 10.93, 26.08]
    """
    paid = 0.5 / aim if chance <= aim else 0.0
    paid += math.fsum(0.5 * weight / level for level, weight in _LOOKS if chance <= level)
    return math.log(paid)


def least_look(test: CountTest, claim: Claim, *, canaries: int, hits: Guessed, aim: float) -> float:
    """The least level of the mixture at which a count refutes: a p-value that is coarse enough.

    Whoever is refuted at one level is refuted at every larger one; at 1 everything is.
    """
    looks = sorted({aim, *(level for level, _ in _LOOKS)})
    low, high = -1, len(looks) - 1
    while high - low > 1:
        middle = (low + high) // 2
        refuted = test.refutes(
            claim, canaries=canaries, guesses=hits.made, right=hits.right, alpha=looks[middle]
        )
        low, high = (low, middle) if refuted else (middle, high)
    return float(looks[high])


@dataclass(frozen=True, slots=True, kw_only=True)
class Guessed:
    """How many guesses were made and how many of them were right."""

    made: int
    right: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Share:
    """What one of the planned runs aims at."""

    alpha: float
    planned: int

    @property
    def aim(self) -> float:
        """The p-value that is enough if every run reaches it: half the root of alpha."""
        return float(0.5 * self.alpha ** (1.0 / self.planned))

    def of_wealth(self, boldest_charge: float) -> float:
        """The alpha at which a run's bets would stop, if it stood alone.

        It is the alpha of all, unless the charge for delta would then make the bets timid.
        """
        return max(self.alpha, min(4.0 * boldest_charge, self.aim))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """One run: which guesses are right, the surest first, and what can be learned from them."""

    canaries: int
    hits: Labels
    learned: list[Floats]

    @classmethod
    def of(cls, hits: Labels, canaries: int) -> _Seen:
        return cls(canaries=canaries, hits=hits, learned=learned_accuracies(hits))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What the runs say together of one level."""

    reached: bool
    log_evidence: float
    guesses: int
    right: int


def _seen(scores: npt.ArrayLike, bits: npt.ArrayLike) -> _Seen:
    return _Seen.of(right_by_sureness(scores, bits), len(checked_scores(scores)))


def _told(claim: Claim, level: float | None, runs: Sequence[_Seen], share: _Share) -> _Told:
    """Multiply the e-values of one run after the other until they refute this level."""
    evidence, guesses, right = 0.0, 0, 0
    for run in runs:
        gained, made, hit = _of_one_run(claim, level, run, share)
        evidence, guesses, right = evidence + gained, guesses + made, right + hit
        if evidence >= -math.log(share.alpha) + _SLACK:
            return _Told(reached=True, log_evidence=evidence, guesses=guesses, right=right)
    return _Told(reached=False, log_evidence=evidence, guesses=guesses, right=right)


def _of_one_run(
    claim: Claim, level: float | None, run: _Seen, share: _Share
) -> tuple[float, int, int]:
    """The logarithm of the e-value of one run, its guesses and how many of them are right."""
    if point := point_of(claim):
        epsilon = point[0] if level is None else level
        aim = share.of_wealth(run.canaries * point[1] * math.exp(-epsilon))
        terms = stakes(epsilon, point[1], canaries=run.canaries, alpha=aim)
        shift = planned_shift(terms, share.planned * run.canaries)
        bets = play(run.hits, run.learned, terms, canaries=run.canaries, shift=shift)
        return bets.log_evidence, bets.guesses, bets.right
    test, canaries, tested = ErrorRecursion(), run.canaries, claim
    if level is None or not isinstance(claim, Scalable):
        planned = plan(test, claim, canaries=canaries, alpha=share.aim)
    else:
        tested = claim.with_strength(level)
        planned = plan_at(test, claim, level, canaries=canaries, alpha=share.aim)
    made = planned.guesses
    hits = Guessed(made=made, right=int(run.hits[:made].sum()))
    chance = least_look(test, tested, canaries=canaries, hits=hits, aim=share.aim)
    return evidence_of(chance, share.aim), made, hits.right
