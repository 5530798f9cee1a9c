"""`check_tester`: what an audit expects of a batch tester, checked point by point.

`tight_pairs` are the hardest mechanisms that keep a claim: their outputs lie exactly on it.
"""

from __future__ import annotations

import copy
import itertools
import math
import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeAlias

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, PureDP, RenyiDP, Scalable
from dpaudit.errors import Underpowered, UnsupportedClaim
from dpaudit.guessing import Samples
from dpaudit.testers import BatchTester

Draw: TypeAlias = Callable[[int, np.random.Generator], Floats]
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

    - have the two methods of `BatchTester`, and raise `UnsupportedClaim` for claims it does not
      test (it is not asked about those again);
    - give a finite threshold that does not fall as the claim gets weaker;
    - give a bound that is a float, never NaN, and the same for the same `rng`, whatever the state
      of the global generators; and leave its arguments as they were;
    - find a gross leak (one constant on one side, another on the other), in some direction, however
      the outputs are written: arrays, lists, integers, one column, vectors, words, NaN. Of the last
      three it may refuse those named in `without`, with a TypeError or a ValueError;
    - raise no other error than these two for empty outputs;
    - rarely accuse mechanisms that lie exactly on the claim: `runs` tries for each, `draws` outputs
      a side, both directions at `alpha / 2`, so that a try may accuse with probability `alpha`;
    - let its bound depend on `alpha`.

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
    _check_honest(check, known, draws=draws, runs=runs, rng=generator)
    _check_alpha(check, known[0])


@dataclass(frozen=True, slots=True)
class _Check:
    """The tester, and how it is asked."""

    tester: BatchTester
    alpha: float
    seed: int

    def fail(self, what: str, error: Exception | None = None) -> NoReturn:
        raise AssertionError(f"{self.tester!r} does not conform: {what}.") from error

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


@dataclass(frozen=True, slots=True, kw_only=True)
class TightPair:
    """A mechanism on two neighbours, by the distributions of its outputs."""

    name: str
    data: Draw
    neighbour: Draw


def tight_pairs(claim: Claim, *, draws: int) -> tuple[TightPair, ...]:
    """Pairs exactly on the claim; for a claim not known here, two sides that are the same.

    One of the pairs for pure DP differs only in events that `draws` outputs hardly show: bounds
    that assume normal errors fail on it.

    >>> [pair.name for pair in tight_pairs(PureDP(1.0), draws=1000)]
    ['randomized response', 'the Laplace mechanism', 'rare events']
    """
    if isinstance(claim, PureDP):
        ratio = math.exp(claim.epsilon)
        rare = 1.0 / (draws + ratio + 1.0)
        return (
            _mirrored("randomized response", [ratio / (1.0 + ratio), 1.0 / (1.0 + ratio)]),
            _shifted("the Laplace mechanism", claim.epsilon, np.random.Generator.laplace),
            _mirrored("rare events", [ratio * rare, 1.0 - (1.0 + ratio) * rare, rare]),
        )
    if isinstance(claim, ApproxDP):  # four points (Kairouz, Oh and Viswanath 2015)
        ratio, delta = math.exp(claim.epsilon), claim.delta_at_epsilon
        likely, unlikely = (1.0 - delta) * ratio / (1.0 + ratio), (1.0 - delta) / (1.0 + ratio)
        chances = [delta, likely, unlikely, 0.0]
        return (_mirrored("the pair that dominates all others", chances),)
    if isinstance(claim, GaussianDP):
        return (_gaussian(claim.mu),)
    if isinstance(claim, ZCDP):  # order * mu^2 / 2 = order * rho
        return (_gaussian(math.sqrt(2.0 * claim.rho)),)
    if isinstance(claim, RenyiDP):
        return (_gaussian(math.sqrt(2.0 * claim.epsilon / claim.order)),)
    return (_mirrored("a mechanism that ignores its data", [0.5, 0.5]),)


def _gaussian(mu: float) -> TightPair:
    return _shifted("the Gaussian mechanism", mu, np.random.Generator.normal)


def _shifted(name: str, shift: float, noise: Callable[..., Any]) -> TightPair:
    return TightPair(
        name=name,
        data=lambda size, rng: np.asarray(shift + noise(rng, size=size)),
        neighbour=lambda size, rng: np.asarray(noise(rng, size=size)),
    )


def _mirrored(name: str, chances: list[float]) -> TightPair:
    """The outputs 0, 1, ... with these chances, and with the same in reverse."""
    return TightPair(name=name, data=_discrete(chances), neighbour=_discrete(chances[::-1]))


def _discrete(chances: list[float]) -> Draw:
    return lambda size, rng: rng.choice(len(chances), size=size, p=chances).astype(np.float64)
