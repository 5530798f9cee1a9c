"""The promises of a batch tester, tried one by one."""

from __future__ import annotations

import copy
import itertools
import math
import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, PureDP, RenyiDP, Scalable
from dpaudit.errors import Underpowered, UnsupportedClaim
from dpaudit.guessing import Samples
from dpaudit.testers import BatchTester
from dpaudit.testing.tight import tight_pairs

CLAIMS: tuple[Claim, ...] = (
    PureDP(0.1),
    PureDP(1.0),
    ApproxDP(1.0, 0.01),
    GaussianDP(1.0),
    RenyiDP(2.0, 0.5),
    ZCDP(0.5),
)
MAY_REFUSE = ("vectors", "words", "NaN")  # kinds of outputs that a tester need not take
FALSE_ALARM = 1e-6  # the chance that a valid tester fails
_LEAK_STRENGTH, _LEAK_DRAWS = 0.1, 10_000
_FACTORS = (0.1, 0.5, 1.0, 2.0, 4.0)


def check_tester(
    tester: BatchTester,
    *,
    claims: Sequence[Claim] | None = None,
    alpha: float = 0.05,
    draws: int = 1_000,
    runs: int = 40,
    without: Collection[str] = (),
    rng: np.random.Generator | int | None = 0,
) -> None:
    """Raise an AssertionError that names the first promise a tester breaks; for your test files.

    A tester promises to

    - have the two methods of `BatchTester`, and to raise `UnsupportedClaim` for claims it does not
      test (it is not asked about those again);
    - give a finite threshold that does not fall as the claim gets weaker;
    - give a bound that is a float, never NaN; the same for the same `rng`, whatever the state of
      the global generators; and to leave its arguments as they were;
    - find a gross leak (one constant on one side, another on the other), in some direction, however
      the outputs are written: arrays, lists, integers, one column, vectors, words, NaN. Of the last
      three it may refuse those named in `without`, with a TypeError or a ValueError;
    - not answer empty outputs with another error than these two;
    - rarely accuse mechanisms that lie exactly on the claim: `runs` tries for each, `draws` outputs
      a side, both directions at `alpha / 2`, so that a try may accuse with probability `alpha`;
    - let its bound depend on `alpha`.

    A valid tester fails with probability below 1e-6 in all. The other way round, a tester that
    accuses with probability 2 `alpha` may well pass: more `runs` see more.

    >>> from dpaudit.testers import MMDTester
    >>> check_tester(MMDTester(bound="hoeffding"), claims=[PureDP(0.5)], runs=10)
    """
    for kind in without:
        if kind not in MAY_REFUSE:
            raise ValueError(f"without may name {', '.join(MAY_REFUSE)}, got {kind!r}.")
    generator = np.random.default_rng(rng)
    _check_methods(tester)
    subject = _Subject(tester, alpha, int(generator.integers(2**32)))
    asked = CLAIMS if claims is None else claims
    known = [claim for claim in asked if _is_supported(subject, claim)]
    if not known:
        subject.fail(f"it supports none of the claims it is asked about: {_listed(asked)}")
    for claim in known:
        _check_threshold(subject, claim)
    _check_repeatable(subject, known[0])
    _check_arguments(subject, known[0])
    for claim in known:
        _check_leak(subject, claim)
    _check_kinds(subject, known[0], without)
    _check_empty(subject, known[0])
    _check_honest(subject, known, draws=draws, runs=runs, rng=generator)
    _check_alpha(subject, known[0])


@dataclass(frozen=True, slots=True)
class _Subject:
    """The tester, asked in one way."""

    tester: BatchTester
    alpha: float
    seed: int

    def fail(self, what: str) -> NoReturn:
        raise AssertionError(f"{self.tester!r} breaks a promise of a tester: {what}.")

    def bound(
        self, outputs: Samples, neighbour_outputs: Samples, claim: Claim, alpha: float | None = None
    ) -> float:
        """The lower bound, checked to be one; -inf if it can never be large enough to refute."""
        rng = np.random.default_rng(self.seed)
        alpha = self.alpha if alpha is None else alpha
        try:
            bound = self.tester.lower_bound(outputs, neighbour_outputs, claim, alpha=alpha, rng=rng)
        except Underpowered:
            return -math.inf
        if not isinstance(bound, float):
            self.fail(f"lower_bound must give a float, got {bound!r} ({type(bound).__name__})")
        if math.isnan(bound):
            self.fail("lower_bound must never give NaN; where there is no bound, give -inf")
        if bound == math.inf:
            self.fail("lower_bound gave +inf, which no sample can certify")
        return bound

    def refutes(self, first: Samples, second: Samples, claim: Claim) -> bool:
        """Whether it refutes in one of the two directions, each with half of alpha."""
        threshold = self.tester.threshold(claim)
        return any(
            self.bound(*sides, claim, alpha=self.alpha / 2.0) > threshold
            for sides in ((first, second), (second, first))
        )


def _listed(claims: Sequence[Claim]) -> str:
    return ", ".join(map(str, claims)) or "there are none"


def _check_methods(tester: object) -> None:
    for name in ("lower_bound", "threshold"):
        if not callable(getattr(tester, name, None)):
            raise AssertionError(f"{tester!r} breaks a promise of a tester: it has no {name}.")


def _is_supported(subject: _Subject, claim: Claim) -> bool:
    try:
        subject.tester.threshold(claim)
        subject.bound(*_noise(), claim)
    except UnsupportedClaim:
        return False
    return True


def _noise() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    rng = np.random.default_rng(0)
    return rng.normal(size=500), rng.normal(size=400)


def _check_threshold(subject: _Subject, claim: Claim) -> None:
    thresholds = [(each, _threshold(subject, each)) for each in _weaker_and_weaker(subject, claim)]
    for (stronger, low), (weaker, high) in itertools.pairwise(thresholds):
        if high < low:
            subject.fail(
                f"its threshold falls from {low!r} for {stronger} to {high!r} for {weaker}, "
                "which promises less"
            )


def _threshold(subject: _Subject, claim: Claim) -> float:
    threshold = subject.tester.threshold(claim)
    if not (isinstance(threshold, float) and math.isfinite(threshold)):
        subject.fail(f"threshold must give a finite float, got {threshold!r} for {claim}")
    return threshold


def _weaker_and_weaker(subject: _Subject, claim: Claim) -> Iterator[Claim]:
    """The claim with other strengths, as far as the tester tests them."""
    if not isinstance(claim, Scalable):
        yield claim
        return
    for factor in _FACTORS:
        scaled = claim.with_strength(factor * claim.strength)
        try:
            subject.tester.threshold(scaled)
        except UnsupportedClaim:
            continue
        yield scaled


def _check_repeatable(subject: _Subject, claim: Claim) -> None:
    outputs, neighbour_outputs = _noise()
    before = _global_state()
    first = subject.bound(outputs, neighbour_outputs, claim)
    if _global_state() != before:
        subject.fail(
            "it draws from the global random state, so the same rng may not give the same answer; "
            "draw from rng"
        )
    second = subject.bound(outputs, neighbour_outputs, claim)
    if first != second:
        subject.fail(f"the same rng must give the same bound, got {first!r} and {second!r}")


def _global_state() -> str:
    state = np.random.get_state(legacy=False)  # noqa: NPY002 -- looks, and never draws
    return f"{random.getstate()} {state['state']['key'].tolist()} {state['state']['pos']}"


def _check_arguments(subject: _Subject, claim: Claim) -> None:
    for as_list in (False, True):
        outputs, neighbour_outputs = (side.tolist() if as_list else side for side in _noise())
        kept = copy.deepcopy((outputs, neighbour_outputs))
        subject.bound(outputs, neighbour_outputs, claim)
        if not (np.array_equal(outputs, kept[0]) and np.array_equal(neighbour_outputs, kept[1])):
            subject.fail("it changed the outputs it was given; work on a copy")


def _leaky(subject: _Subject, claim: Claim) -> Claim:
    """The claim, made strict enough that a gross leak must refute it."""
    if isinstance(claim, Scalable) and claim.strength > _LEAK_STRENGTH:
        strict = claim.with_strength(_LEAK_STRENGTH)
        try:
            subject.tester.threshold(strict)
        except UnsupportedClaim:
            return claim
        return strict
    return claim


def _check_leak(subject: _Subject, claim: Claim) -> None:
    strict = _leaky(subject, claim)
    if not subject.refutes(np.zeros(_LEAK_DRAWS), np.ones(_LEAK_DRAWS), strict):
        subject.fail(
            f"it does not find a gross leak: always 0.0 on one side and always 1.0 on the other, "
            f"{_LEAK_DRAWS} outputs each, against {strict}, in no direction"
        )


def _kinds() -> dict[str, tuple[Any, Any]]:
    """The same gross leak in many forms."""
    size = _LEAK_DRAWS
    return {
        "lists": ([0.0] * size, [1.0] * size),
        "unequal sizes": (np.zeros(size), np.ones(size // 2)),
        "integers": (np.zeros(size, dtype=np.int64), np.ones(size, dtype=np.int64)),
        "one column": (np.zeros((size, 1)), np.ones(size)),
        "vectors": (np.zeros((size, 3)), np.ones((size, 3))),
        "words": (["no"] * size, ["yes"] * size),
        "NaN": (np.full(size, np.nan), np.ones(size)),
    }


def _check_kinds(subject: _Subject, claim: Claim, without: Collection[str]) -> None:
    strict = _leaky(subject, claim)
    for kind, (outputs, neighbour_outputs) in _kinds().items():
        try:
            found = subject.refutes(outputs, neighbour_outputs, strict)
        except AssertionError:
            raise
        except Exception as error:
            if kind in without and isinstance(error, TypeError | ValueError):
                continue
            hint = f' (to leave them out: without=["{kind}"])' if kind in MAY_REFUSE else ""
            raise AssertionError(
                f"{subject.tester!r} breaks a promise of a tester: it fails on {kind}: "
                f"{type(error).__name__}: {error}{hint}"
            ) from error
        if kind in without:
            subject.fail(
                f"{kind} are to be left out, but it answered them; raise a TypeError that says so"
            )
        if not found:
            subject.fail(f"it does not find a gross leak against {strict}, given as {kind}")


def _check_empty(subject: _Subject, claim: Claim) -> None:
    for outputs in ([], [1.0]):
        try:
            subject.bound(outputs, outputs, claim)
        except (TypeError, ValueError):
            continue
        except Exception as error:
            if isinstance(error, AssertionError):
                raise
            raise AssertionError(
                f"{subject.tester!r} breaks a promise of a tester: of {len(outputs)} outputs it "
                f"makes a {type(error).__name__}: {error}; raise a ValueError that says what to do"
            ) from error


def _check_honest(
    subject: _Subject, claims: list[Claim], *, draws: int, runs: int, rng: np.random.Generator
) -> None:
    """Count how often honest mechanisms are accused.

    Null: every run accuses with probability at most `alpha`, so that each count, and their sum, is
    at most binomial. The allowed false alarm is shared among them.
    """
    from scipy.stats import binom  # half a second to load

    pairs = [(claim, pair) for claim in claims for pair in tight_pairs(claim, draws=draws)]
    share = FALSE_ALARM / (len(pairs) + 1)
    total = 0
    for claim, pair in pairs:
        accused = 0
        for _ in range(runs):
            outputs, neighbour_outputs = pair.data(draws, rng), pair.neighbour(draws, rng)
            reseeded = replace(subject, seed=int(rng.integers(2**32)))
            accused += reseeded.refutes(outputs, neighbour_outputs, claim)
        if accused > binom.isf(share, runs, subject.alpha):
            subject.fail(
                f"it accuses {pair.name}, which keeps {claim}, in {accused} of {runs} runs at "
                f"alpha = {subject.alpha:g}"
            )
        total += accused
    if total > binom.isf(share, runs * len(pairs), subject.alpha):
        subject.fail(
            f"it accuses mechanisms that keep their claims in {total} of {runs * len(pairs)} runs "
            f"at alpha = {subject.alpha:g}"
        )


def _check_alpha(subject: _Subject, claim: Claim) -> None:
    strict = _leaky(subject, claim)
    zeros, ones = np.zeros(_LEAK_DRAWS), np.ones(_LEAK_DRAWS)
    loose, safe = (
        max(subject.bound(zeros, ones, strict, alpha), subject.bound(ones, zeros, strict, alpha))
        for alpha in (0.5, 1e-9)
    )
    if not safe < loose:
        subject.fail(
            f"it ignores alpha: its bound is {loose!r} at alpha = 0.5 and {safe!r} at 1e-9, where "
            "it must be lower"
        )
