"""`check_tester`: what an audit expects of a batch tester, checked point by point."""

from __future__ import annotations

import copy
import itertools
import math
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn, TypeAlias

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, PureDP, RenyiDP, Scalable
from dpaudit.errors import Underpowered, UnsupportedClaim
from dpaudit.guessing import Samples
from dpaudit.testers import BatchTester, Method, SequentialTester, method_of
from dpaudit.testing.tightness import tight_pairs

Sides: TypeAlias = tuple[Samples, Samples]

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
_PAIRS = 400  # of outputs, that a sequential tester is shown one after the other
_STRENGTH_FACTORS = (0.1, 0.5, 1.0, 2.0, 4.0)


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
    """Raise an AssertionError that names the first rule a tester breaks; for your test files.

    A tester must

    - have the two methods of `BatchTester`, state its `method`, if any, as a
      `dpaudit.testers.Method`, and raise `UnsupportedClaim` for claims it does not
      test (it is not asked about those again);
    - give a finite threshold that does not fall as the claim gets weaker;
    - give a bound that is a float, never NaN, and the same for the same `rng`, whatever the state
      of the global generators; and leave its arguments as they were;
    - find a gross leak (one constant on one side, another on the other), in some direction, however
      the outputs are written: arrays, lists, integers, one column, vectors, words, NaN. Of the last
      three it may refuse those named in `without`, with a TypeError or a ValueError;
    - raise no other error than these two for empty outputs;
    - rarely accuse mechanisms that lie exactly on the claim, unless its guarantee is asymptotic or
      none: `runs` tries for each, `draws` outputs a side, both directions at `alpha / 2`, so that a
      try may accuse with probability `alpha`;
    - let its bound depend on `alpha`, unless it guarantees nothing;
    - if it is a `SequentialTester`, accuse in `pairs_until_accused` where its bound exceeds its
      threshold and nowhere else, and look only at the past: outputs after the pair at which it
      accuses, or does not yet, must not change that.

    A valid tester fails with probability below 1e-6 in all. A tester that accuses with probability
    2 `alpha` may well pass: more `runs` see more.

    >>> from dpaudit.testers import MMDTester
    >>> check_tester(MMDTester(bound="hoeffding"), claims=[PureDP(0.5)], runs=10)
    """
    for kind in without:
        if kind not in MAY_REFUSE:
            raise ValueError(f"without may name {', '.join(MAY_REFUSE)}, got {kind!r}.")
    generator = np.random.default_rng(rng)
    check = _Check(tester, alpha, int(generator.integers(2**32)))
    for name in ("lower_bound", "threshold"):
        if not callable(getattr(tester, name, None)):
            check.fail(f"it has no {name}")
    method = check.method()
    asked = CLAIMS if claims is None else claims
    known = [claim for claim in asked if check.supports(claim)]
    if not known:
        listed = ", ".join(map(str, asked)) or "there are none"
        check.fail(f"it supports none of the claims it is asked about: {listed}")
    for claim in known:
        _check_threshold(check, claim)
    _check_repeatable(check, known[0])
    _check_arguments(check, known[0])
    for claim in known:
        _check_leak(check, claim)
    _check_kinds(check, known[0], without)
    _check_empty(check, known[0])
    if method.refutes:
        _check_honest(check, known, draws=draws, runs=runs, rng=generator)
    if method.guarantee != "none":
        _check_alpha(check, known[0])
    if isinstance(tester, SequentialTester):
        _check_sequential(check, tester, known[0])


@dataclass(frozen=True, slots=True)
class _Check:
    """The tester, and how it is asked."""

    tester: BatchTester
    alpha: float
    seed: int

    def fail(self, what: str, error: Exception | None = None) -> NoReturn:
        raise AssertionError(f"{self.tester!r} does not conform: {what}.") from error

    def method(self) -> Method:
        """What it states of itself; what its author promises, if it states nothing."""
        try:
            return method_of(self.tester)
        except TypeError as error:
            stated = getattr(self.tester, "method", None)
            self.fail(
                f"its method is {stated!r}; state it on the class as dpaudit.testers.Method("
                'source=..., guarantee="exact"), or "asymptotic", or "none"',
                error,
            )

    def bound(self, sides: Sides, claim: Claim, alpha: float | None = None) -> float:
        """The lower bound, checked to be one; -inf if it can never be large enough to refute."""
        rng = np.random.default_rng(self.seed)
        alpha = self.alpha if alpha is None else alpha
        try:
            bound = self.tester.lower_bound(*sides, claim, alpha=alpha, rng=rng)
        except Underpowered:
            return -math.inf
        if not isinstance(bound, float):
            self.fail(f"lower_bound must give a float, got {bound!r} ({type(bound).__name__})")
        if math.isnan(bound):
            self.fail("lower_bound must never give NaN; where there is no bound, give -inf")
        if bound == math.inf:
            self.fail("lower_bound gave +inf, which no sample can certify")
        return bound

    def refutes(self, sides: Sides, claim: Claim) -> bool:
        """Whether it refutes in one of the two directions, each with half of alpha."""
        threshold, half = self.tester.threshold(claim), self.alpha / 2.0
        return any(self.bound(each, claim, half) > threshold for each in (sides, sides[::-1]))

    def supports(self, claim: Claim) -> bool:
        try:
            self.tester.threshold(claim)
            self.bound(_noise(), claim)
        except UnsupportedClaim:
            return False
        return True

    def scaled(self, claim: Scalable, strength: float) -> Claim | None:
        """The claim with another strength; None if that is not supported."""
        other = claim.with_strength(strength)
        try:
            self.tester.threshold(other)
        except UnsupportedClaim:
            return None
        return other

    def strict(self, claim: Claim) -> Claim:
        """The claim, made strict enough that a gross leak must refute it."""
        if isinstance(claim, Scalable) and claim.strength > _LEAK_STRENGTH:
            return self.scaled(claim, _LEAK_STRENGTH) or claim
        return claim


def _noise() -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    return rng.normal(size=500), rng.normal(size=400)


def _leak() -> tuple[Floats, Floats]:
    return np.zeros(_LEAK_DRAWS), np.ones(_LEAK_DRAWS)


def _check_threshold(check: _Check, claim: Claim) -> None:
    claims: list[Claim | None] = [claim]
    if isinstance(claim, Scalable):
        claims = [check.scaled(claim, factor * claim.strength) for factor in _STRENGTH_FACTORS]
    found = [(asked, check.tester.threshold(asked)) for asked in claims if asked is not None]
    for asked, threshold in found:
        if not (isinstance(threshold, float) and math.isfinite(threshold)):
            check.fail(f"threshold must give a finite float, got {threshold!r} for {asked}")
    for (stronger, low), (weaker, high) in itertools.pairwise(found):
        if high < low:
            check.fail(
                f"its threshold falls from {low!r} for {stronger} to {high!r} for {weaker}, "
                "which claims less"
            )


def _check_repeatable(check: _Check, claim: Claim) -> None:
    before = _global_state()
    first = check.bound(_noise(), claim)
    if _global_state() != before:
        check.fail(
            "it draws from the global random state, so the same rng may not give the same answer; "
            "draw from rng"
        )
    second = check.bound(_noise(), claim)
    if first != second:
        check.fail(f"the same rng must give the same bound, got {first!r} and {second!r}")


def _global_state() -> str:
    state = np.random.get_state(legacy=False)  # noqa: NPY002 -- looks, and never draws
    return f"{random.getstate()} {state['state']['key'].tolist()} {state['state']['pos']}"


def _check_arguments(check: _Check, claim: Claim) -> None:
    for as_list in (False, True):
        first, second = _noise()
        sides: Sides = (first.tolist(), second.tolist()) if as_list else (first, second)
        before = copy.deepcopy(sides)
        check.bound(sides, claim)
        if not all(map(np.array_equal, sides, before)):
            check.fail("it changed the outputs it was given; work on a copy")


def _check_leak(check: _Check, claim: Claim) -> None:
    if not check.refutes(_leak(), strict := check.strict(claim)):
        check.fail(
            f"it does not find a gross leak: always 0.0 on one side and always 1.0 on the other, "
            f"{_LEAK_DRAWS} outputs each, against {strict}, in no direction"
        )


def _kinds() -> dict[str, Sides]:
    """The same gross leak in many forms."""
    size, (zeros, ones) = _LEAK_DRAWS, _leak()
    return {
        "lists": (zeros.tolist(), ones.tolist()),
        "unequal sizes": (zeros, ones[::2]),
        "integers": (zeros.astype(np.int64), ones.astype(np.int64)),
        "one column": (zeros[:, None], ones),
        "vectors": (np.zeros((size, 3)), np.ones((size, 3))),
        "words": (["no"] * size, ["yes"] * size),
        "NaN": (np.full(size, np.nan), ones),
    }


def _check_kinds(check: _Check, claim: Claim, without: Collection[str]) -> None:
    strict = check.strict(claim)
    for kind, sides in _kinds().items():
        try:
            found = check.refutes(sides, strict)
        except AssertionError:
            raise
        except Exception as error:
            if kind in without and isinstance(error, TypeError | ValueError):
                continue
            hint = f' (to leave them out: without=["{kind}"])' if kind in MAY_REFUSE else ""
            check.fail(f"it fails on {kind}: {type(error).__name__}: {error}{hint}", error)
        if kind in without:
            check.fail(
                f"{kind} are to be left out, but it answered them; raise a TypeError that says so"
            )
        if not found:
            check.fail(f"it does not find a gross leak against {strict}, given as {kind}")


def _check_empty(check: _Check, claim: Claim) -> None:
    for outputs in ([], [1.0]):
        try:
            check.bound((outputs, outputs), claim)
        except AssertionError:
            raise
        except (TypeError, ValueError):
            continue
        except Exception as error:
            check.fail(
                f"of {len(outputs)} outputs it makes a {type(error).__name__}: {error}; raise a "
                "ValueError that says what to do",
                error,
            )


def _check_honest(
    check: _Check, claims: list[Claim], *, draws: int, runs: int, rng: np.random.Generator
) -> None:
    """Count accusations of honest mechanisms: each count, and their sum, is at most binomial."""
    from scipy.stats import binom  # half a second to load

    pairs = [(claim, pair) for claim in claims for pair in tight_pairs(claim, draws=draws)]
    counts: list[tuple[str, int, int]] = []  # accusations and runs
    for claim, pair in pairs:
        accused = 0
        for _ in range(runs):
            sides = pair.data(draws, rng), pair.neighbour(draws, rng)
            accused += replace(check, seed=int(rng.integers(2**32))).refutes(sides, claim)
        counts.append((f"{pair.name}, which keeps {claim},", accused, runs))
    total = sum(accused for _, accused, _ in counts)
    counts.append(("mechanisms that keep their claims", total, runs * len(pairs)))
    for whom, accused, tries in counts:
        if accused > binom.isf(FALSE_ALARM / len(counts), tries, check.alpha):
            found = f"{accused} of {tries} runs at alpha = {check.alpha:g}"
            check.fail(f"it accuses {whom} in {found}")


def _check_alpha(check: _Check, claim: Claim) -> None:
    strict, sides = check.strict(claim), _leak()
    loose, safe = (
        max(check.bound(each, strict, alpha) for each in (sides, sides[::-1]))
        for alpha in (0.5, 1e-9)
    )
    if not safe < loose:
        check.fail(
            f"it ignores alpha: its bound is {loose!r} at alpha = 0.5 and {safe!r} at 1e-9, where "
            "it must be lower"
        )


def _check_sequential(check: _Check, tester: SequentialTester, claim: Claim) -> None:
    """It accuses where its bound does, and outputs that are yet to come change nothing."""
    strict, rng = check.strict(claim), np.random.default_rng(1)
    zeros, ones, noise = np.zeros(_PAIRS), np.ones(_PAIRS), rng.random((2, _PAIRS))
    for leak in ((zeros, ones), (ones, zeros)):
        for seen, others in (((noise[0], noise[1]), leak), (leak, leak[::-1])):
            ended = _accused_after(check, tester, seen, strict)
            same = _PAIRS // 2 if ended is None else ended
            sides = [np.append(a[:same], b[same:]) for a, b in zip(seen, others, strict=True)]
            changed = _accused_after(check, tester, (sides[0], sides[1]), strict)
            if changed != ended and min(changed or _PAIRS, ended or _PAIRS) <= same:
                check.fail(
                    f"it looks ahead: it accuses {_after(ended)}, and {_after(changed)} where only "
                    f"outputs after the first {same} pairs are others; decide at a pair by it and "
                    "those before it"
                )


def _accused_after(
    check: _Check, tester: SequentialTester, sides: Sides, claim: Claim
) -> int | None:
    """After how many pairs it accuses, checked to agree with its bound."""
    rng = np.random.default_rng(check.seed)
    try:
        found = tester.pairs_until_accused(*sides, claim, alpha=check.alpha, rng=rng)
    except Underpowered:
        found = None
    if found is not None and (type(found) is not int or not 1 <= found <= _PAIRS):
        check.fail(
            f"pairs_until_accused gave {found!r} of {_PAIRS} pairs; give a whole number from 1 to "
            "the number of pairs, or None"
        )
    bound, threshold = check.bound(sides, claim), tester.threshold(claim)
    if (bound > threshold) != (found is not None):
        check.fail(
            f"pairs_until_accused says that it accuses {_after(found)}, and its lower bound is "
            f"{bound!r} where its threshold is {threshold!r}; let the bound exceed the threshold "
            "exactly where it accuses, at the same alpha and rng"
        )
    return found


def _after(pairs: int | None) -> str:
    return "never" if pairs is None else f"after {pairs} pairs"
