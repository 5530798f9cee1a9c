"""What a tester is, and how an audit runs a batch tester (docs/mathematics.md, section 7).

A batch tester gets all outputs of a pair at once and bounds one divergence in one direction: any
object with the two methods of `BatchTester`. Ours are `Examiner`s: they also bound the claim's own
parameter and say what they could certify at best. An audit makes `Trials` with a batch tester, each
on one pair and in both directions (`TwoSidedTest`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np

from dpaudit.architecture import BatchTester
from dpaudit.bounds import round_down, round_up
from dpaudit.claims import Claim, Scalable
from dpaudit.errors import Underpowered
from dpaudit.guessing import LabelledRows, Samples, Share
from dpaudit.results import Method as Method  # which results save

Rng: TypeAlias = np.random.Generator
Parts: TypeAlias = tuple[LabelledRows, LabelledRows]  # outputs to learn from, and outputs held out

_MAX_STRENGTH = 1e6  # no sample certifies more
METHODS = ("lower_bound", "threshold")  # of a batch tester


AS_PROMISED = Method(
    source="",
    guarantee="exact",
    assumptions=("Its bound is too high with probability at most alpha, as its author promises.",),
)


def method_of(tester: object) -> Method:
    """The `method` a tester states on its class; for one that states none, what it promises.

    >>> from dpaudit.testers import MMDTester
    >>> method_of(MMDTester()).guarantee
    'exact'
    """
    stated = getattr(tester, "method", AS_PROMISED)
    if not isinstance(stated, Method):
        raise TypeError(f"method of {tester!r} must be a dpaudit.testers.Method, got {stated!r}.")
    return stated


@dataclass(frozen=True, slots=True, kw_only=True)
class BettingTester:
    """The default tester: bet on the label, draw by draw, until the wealth refutes the claim.

    `after_refuting="stop"` spends what is left of the effort on certifying one event in words;
    `"sharpen"` goes on betting to the end of the budget, for the highest lower bound.

    >>> BettingTester(after_refuting="sharpen")
    BettingTester(after_refuting='sharpen')
    """

    method: ClassVar[Method] = Method(
        source="bets on labels, by Ville's inequality (1939)", guarantee="exact"
    )
    after_refuting: Literal["stop", "sharpen"] = "stop"

    def __post_init__(self) -> None:
        check_choices(self, after_refuting=("stop", "sharpen"))


def check_choices(settings: object, **known: tuple[str, ...]) -> None:
    """Raise a ValueError if a named setting is none of its known values."""
    for name, values in known.items():
        if getattr(settings, name) not in values:
            listed = ", ".join(map(repr, values))
            raise ValueError(f"{name} must be one of {listed}, got {getattr(settings, name)!r}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one direction certified, in the tester's divergence and in the claim's own parameter.

    Each number is too high with probability at most `alpha`, and so is the verdict together with
    `strength_lower`, which is None for a claim without a parameter.
    """

    lower_bound: float
    strength_lower: float | None


@runtime_checkable
class Examiner(BatchTester, Protocol):
    """The fuller protocol of our own testers: they bound the claim's own parameter too."""

    __slots__ = ()

    def examine(
        self, outputs: Samples, neighbour_outputs: Samples, claim: Claim, *, alpha: float, rng: Rng
    ) -> Finding:
        """Test the outputs against the neighbour's, in this direction."""

    def best(self, claim: Claim, draws: int, neighbour_draws: int, *, alpha: float) -> Finding:
        """What these draws would certify if every output told which side it came from."""


class HeldOutTester(Examiner):
    """An examiner that learns from part of the outputs and certifies on the part held out."""

    __slots__ = ()

    @property
    def _share(self) -> Share:
        """How much of a sample to learn from."""
        raise NotImplementedError

    def _certify(self, parts: Parts, claim: Claim, *, alpha: float, rng: Rng) -> Finding:
        """Choose what to bound on the first part, and bound it on the second."""
        raise NotImplementedError

    def lower_bound(
        self, outputs: Samples, neighbour_outputs: Samples, claim: Claim, *, alpha: float, rng: Rng
    ) -> float:
        """The lower bound of what `examine` finds."""
        return self.examine(outputs, neighbour_outputs, claim, alpha=alpha, rng=rng).lower_bound

    def examine(
        self, outputs: Samples, neighbour_outputs: Samples, claim: Claim, *, alpha: float, rng: Rng
    ) -> Finding:
        """Learn from part of the outputs, and certify on the others."""
        if not 0.0 < alpha < 1.0:
            raise ValueError(f"alpha must be in (0, 1), got {alpha!r}.")
        parts = self._share.part(outputs, neighbour_outputs, rng)
        refuse_if_powerless(self, claim, len(outputs), len(neighbour_outputs), alpha=alpha)
        return self._certify(parts, claim, alpha=alpha, rng=rng)

    def _with_strength(self, claim: Claim, bound: float) -> Finding:
        """A bound on the divergence, and the largest strength that does not allow it."""
        strength = largest_strength(claim, lambda other: self.threshold(other) < bound, steps=60)
        return Finding(lower_bound=bound, strength_lower=strength)


def largest_strength(
    claim: Claim, refuted: Callable[[Scalable], bool], *, steps: int = 24
) -> float | None:
    """The largest strength at which the claim is refuted, with all below it; 0 if there is none.

    None for a claim without a strength.

    >>> from dpaudit.claims import PureDP
    >>> print(round(largest_strength(PureDP(1.0), lambda claim: claim.strength < 1.25), 6))
    1.25
    """
    if not isinstance(claim, Scalable):
        return None
    at = claim.with_strength
    if not refuted(at(0.0)):
        return 0.0
    low, high = 0.0, max(claim.strength, 1e-3)
    while refuted(at(high)):
        low, high = high, 2.0 * high
        if high > _MAX_STRENGTH:
            return low
    for _ in range(steps):
        middle = (low + high) / 2.0
        low, high = (middle, high) if refuted(at(middle)) else (low, middle)
    return low


def refuse_if_powerless(
    tester: Examiner, claim: Claim, draws: int, neighbour_draws: int, *, alpha: float
) -> None:
    """Raise `Underpowered` if the claim would stand even where every output tells its side."""
    best = tester.best(claim, draws, neighbour_draws, alpha=alpha)
    if best.lower_bound > tester.threshold(claim):
        return
    reach = ""
    if best.strength_lower is not None:
        symbol = getattr(claim, "symbol", "strength")
        most = round_down(max(best.strength_lower, 0.0), 3)
        reach = f" The most it could certify is {symbol} >= {most:.3g}."
    raise Underpowered(
        f"{tester} can never refute {claim} with {draws} and {neighbour_draws} samples at "
        f"alpha = {round_up(alpha, 3):.3g} in one direction, whatever the outputs.{reach} Give "
        "more samples, a larger alpha, or another tester."
    )


@dataclass(frozen=True, slots=True)
class Trials:
    """A batch tester and the number of trials an audit makes with it, each on a pair of its own.

    The trials share the draws evenly. Without a `count` there is one trial for each of the pairs
    given, or 20 of a search.

    >>> from dpaudit.testers import MMDTester
    >>> Trials(MMDTester(), count=50).count
    50
    """

    tester: BatchTester
    count: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not is_batch_tester(self.tester):
            raise TypeError(
                f"Trials needs a batch tester, with the methods {' and '.join(METHODS)}, "
                f"got {self.tester!r}."
            )
        whole = isinstance(self.count, int | np.integer) and not isinstance(self.count, bool)
        if self.count is not None and not (whole and self.count >= 1):
            raise ValueError(f"count must be a whole number >= 1, got {self.count!r}.")


def is_batch_tester(tester: Any) -> bool:
    """Whether an object, not a class, has the two methods of a batch tester."""
    return not isinstance(tester, type) and all(
        callable(getattr(tester, name, None)) for name in METHODS
    )


def share_of_alpha(trial: int, trials: int) -> float:
    """The share of alpha that trial 1, 2, ... may spend: `6 / (pi t)^2`, which sums to 1.

    A sole trial may spend all of it.

    >>> [round(share_of_alpha(trial, 20), 4) for trial in (1, 2, 3)], share_of_alpha(1, 1)
    ([0.6079, 0.152, 0.0675], 1.0)
    """
    return 1.0 if trials == 1 else 6.0 / (math.pi * trial) ** 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a trial showed in both directions together.

    `strength_lower` is None for a claim without a parameter, and 0 where nothing is certified: a
    tester that cannot refute certifies nothing. `score` is what a finder is told: the
    bound in the claim's parameter, or `e^(bound - threshold)` where there is none.
    """

    accused: bool
    strength_lower: float | None
    score: float


class TwoSidedTest:
    """A batch tester and the claim it tests: runs both directions and checks the answers."""

    def __init__(self, tester: BatchTester, claim: Claim) -> None:
        self.tester = tester
        self.claim = claim
        self.method = method_of(tester)
        self.threshold = self._number(tester.threshold(claim), "threshold")
        if math.isinf(self.threshold):
            raise ValueError(
                f"{tester!r} gave a threshold of {self.threshold!r} for {claim}. A threshold must "
                "be finite, or no bound can be compared with it."
            )

    def refuse_if_powerless(self, draws: int, neighbour_draws: int, *, alpha: float) -> None:
        """Raise `Underpowered` if neither direction could refute, where the tester can tell."""
        if not isinstance(self.tester, Examiner):
            return
        refusals = []
        for sizes in ((draws, neighbour_draws), (neighbour_draws, draws)):
            try:
                refuse_if_powerless(self.tester, self.claim, *sizes, alpha=alpha / 2)
            except Underpowered as refusal:
                refusals.append(refusal)
        if len(refusals) == 2:
            raise refusals[0]

    def both(
        self,
        outputs: Samples,
        neighbour_outputs: Samples,
        *,
        alpha: float,
        seeds: tuple[np.random.SeedSequence, np.random.SeedSequence],
    ) -> Outcome:
        """Test each direction with half of alpha. An underpowered one is left out, if not both."""
        directions = ((outputs, neighbour_outputs), (neighbour_outputs, outputs))
        found, refusals = [], []
        for sides, seed in zip(directions, seeds, strict=True):
            try:
                rng = np.random.default_rng(seed)
                found.append(self._finding(sides, alpha=alpha / 2, rng=rng))
            except Underpowered as refusal:
                refusals.append(refusal)
        if not found:
            raise refusals[0]
        bound = max(each.lower_bound for each in found)
        accused = bound > self.threshold
        strengths = [each.strength_lower for each in found if each.strength_lower is not None]
        # Positive, and rising with the bound: a finder takes no scores below 0.
        score = max(strengths, default=math.exp(min(bound - self.threshold, 700.0)))
        strength = 0.0 if isinstance(self.claim, Scalable) else None
        if isinstance(self.claim, Scalable) and self.method.refutes:
            # A refuted claim's parameter is above its own.
            strength = max([0.0, *strengths, *([self.claim.strength] if accused else [])])
        return Outcome(accused=accused, strength_lower=strength, score=score)

    def _finding(self, sides: tuple[Samples, Samples], *, alpha: float, rng: Rng) -> Finding:
        """One direction; a strength never below 0."""
        if isinstance(self.tester, Examiner):
            found = self.tester.examine(*sides, self.claim, alpha=alpha, rng=rng)
            bound, strength = found.lower_bound, found.strength_lower
        else:
            bound = self.tester.lower_bound(*sides, self.claim, alpha=alpha, rng=rng)
            strength = None
        if strength is not None:
            strength = max(self._number(strength, "bound on the claim's parameter"), 0.0)
        return Finding(lower_bound=self._number(bound, "lower bound"), strength_lower=strength)

    def _number(self, value: object, name: str) -> float:
        if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(value):
            raise ValueError(
                f"{self.tester!r} gave a {name} of {value!r} for {self.claim}. It must be a "
                "number; where nothing can be bounded, -inf."
            )
        return float(value)
