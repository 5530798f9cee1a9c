"""The claims that a mechanism makes: each is a privacy profile.

Every claim bounds, for all `epsilon >= 0` and both directions, how far apart the outputs on two
neighbours may be: `sup_A P(A) - e^epsilon Q(A) <= claim.delta(epsilon)` (docs/mathematics.md,
section 1). An excess over that curve refutes the claim.

This file loads neither numpy nor scipy: the command line shows its help without them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import ClassVar, Self

from dpaudit.architecture import Claim
from dpaudit.claims import profiles
from dpaudit.errors import InvalidClaim

SAVED_POINTS = 64  # in the table that a profile is saved as


def point_of(claim: Claim) -> tuple[float, float] | None:
    """The `point` of a claim, `(epsilon, delta)`; None for claims that are a whole profile.

    >>> point_of(PureDP(1.0)), point_of(ApproxDP(1.0, 1e-6)), point_of(ZCDP(0.1))
    ((1.0, 0.0), (1.0, 1e-06), None)
    """
    point: tuple[float, float] | None = getattr(claim, "point", None)  # a user's has none
    return point


class _Named:
    """What the named kinds share: one parameter, `symbol`, that scales them, and a saved form."""

    __slots__ = ()
    symbol: ClassVar[str] = "epsilon"

    def __post_init__(self) -> None:
        object.__setattr__(self, self.symbol, nonnegative(self.symbol, getattr(self, self.symbol)))

    @property
    def point(self) -> tuple[float, float] | None:
        """The `(epsilon, delta)` that is the whole claim; None if it takes a whole profile."""
        return None

    @property
    def strength(self) -> float:
        """The parameter by which the claim is scaled."""
        return float(getattr(self, self.symbol))

    def with_strength(self, value: float) -> Self:
        """The same kind of claim with another strength."""
        return replace(self, **{self.symbol: value})  # type: ignore[type-var]

    def delta(self, epsilon: float) -> float:
        """The profile at `epsilon`."""
        return self._delta(nonnegative("epsilon", epsilon))

    def tangents(self, count: int) -> tuple[tuple[float, float], ...]:
        """The levels worth betting on: the `point`, or `count` over the fall of the profile."""
        profiles.check_count(count)
        if self.point is not None:
            return (self.point,)
        return profiles.tangent_points(self.delta, self._span(), count)

    def to_json(self) -> dict[str, object]:
        """The form in which the claim is saved."""
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return {"kind": type(self).__name__} | {name: getattr(self, name) for name in names}

    def _delta(self, level: float) -> float:
        raise NotImplementedError

    def _span(self) -> tuple[float, float]:
        return profiles.falling_span(self.delta)


@dataclass(frozen=True, slots=True)
class PureDP(_Named):
    """Pure differential privacy: no event is more than `e^epsilon` times likelier on a neighbour.

    Its profile is that of randomized response, the pair that dominates all others (Kairouz, Oh and
    Viswanath 2015, "The composition theorem for differential privacy", proof of theorem 3.3).

    >>> round(PureDP(1.0).delta(0.5), 6)
    0.287649
    >>> print(PureDP(1.0))
    1-DP
    """

    epsilon: float

    @property
    def point(self) -> tuple[float, float]:
        """`(epsilon, 0)`."""
        return self.epsilon, 0.0

    def _delta(self, level: float) -> float:
        return profiles.pure_delta(self.epsilon, level)

    def __str__(self) -> str:
        return f"{_text(self.epsilon)}-DP"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ApproxDP(_Named):
    """Approximate differential privacy, `(epsilon, delta)`.

    The claim's own delta is kept as `delta_at_epsilon`, because `delta` is the profile. The profile
    is that of the four-point pair that dominates all others (Kairouz, Oh and Viswanath 2015, proof
    of theorem 3.3).

    >>> claim = ApproxDP(epsilon=1, delta=1e-6)
    >>> claim, claim.delta(1.0), claim.delta_at_epsilon
    (ApproxDP(epsilon=1.0, delta=1e-06), 1e-06, 1e-06)
    >>> print(claim)
    (1, 1e-06)-DP
    """

    epsilon: float
    delta_at_epsilon: float

    def __init__(self, epsilon: float, delta: float) -> None:
        object.__setattr__(self, "epsilon", nonnegative("epsilon", epsilon))
        object.__setattr__(self, "delta_at_epsilon", _small_delta(delta))

    def __repr__(self) -> str:
        return f"ApproxDP(epsilon={self.epsilon!r}, delta={self.delta_at_epsilon!r})"

    @property
    def point(self) -> tuple[float, float]:
        """`(epsilon, delta)`."""
        return self.epsilon, self.delta_at_epsilon

    def _delta(self, level: float) -> float:
        return profiles.approx_delta(self.epsilon, self.delta_at_epsilon, level)

    def with_strength(self, value: float) -> Self:
        """The claim with another epsilon and the same delta."""
        return type(self)(value, self.delta_at_epsilon)

    def to_json(self) -> dict[str, object]:
        """The form in which the claim is saved."""
        return {"kind": "ApproxDP", "epsilon": self.epsilon, "delta": self.delta_at_epsilon}

    def __str__(self) -> str:
        return f"({_text(self.epsilon)}, {_text(self.delta_at_epsilon)})-DP"


@dataclass(frozen=True, slots=True)
class RenyiDP(_Named):
    """Rényi differential privacy: the divergence of order `order` is at most `epsilon`.

    The claim (Mironov 2017, "Rényi differential privacy") implies the profile, it is not equal to
    it; the conversion is Canonne, Kamath and Steinke 2020, "The discrete Gaussian for differential
    privacy", proposition 12.

    >>> round(RenyiDP(order=2, epsilon=0.5).delta(1.0), 6)
    0.151633
    >>> print(RenyiDP(order=2, epsilon=0.5))
    (order 2, 0.5)-Rényi DP
    """

    order: float
    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", _renyi_order(self.order))
        _Named.__post_init__(self)

    def _delta(self, level: float) -> float:
        return profiles.renyi_delta(self.order, self.epsilon, level)

    def __str__(self) -> str:
        return f"(order {_text(self.order)}, {_text(self.epsilon)})-Rényi DP"


@dataclass(frozen=True, slots=True)
class ZCDP(_Named):
    """Zero-concentrated differential privacy: `order * rho`-Rényi DP at every order.

    `rho = 0` is allowed: the output then says nothing at all. The claim is Bun and Steinke 2016,
    "Concentrated differential privacy"; its profile is the best over all orders of the conversion
    of Canonne, Kamath and Steinke 2020, corollary 13.

    >>> round(ZCDP(rho=0.1).delta(1.0), 6)
    0.008933
    >>> print(ZCDP(rho=0.1))
    0.1-zCDP
    """

    rho: float
    symbol: ClassVar[str] = "rho"

    def _delta(self, level: float) -> float:
        return profiles.zcdp_delta(self.rho, level)

    def _span(self) -> tuple[float, float]:
        return profiles.gaussian_span(math.sqrt(2.0 * self.rho))  # the Gaussian mechanism's

    def __str__(self) -> str:
        return f"{_text(self.rho)}-zCDP"


@dataclass(frozen=True, slots=True)
class GaussianDP(_Named):
    """Gaussian differential privacy: neighbours differ no more than `N(0,1)` and `N(mu,1)` do.

    The claim is Dong, Roth and Su 2022, "Gaussian differential privacy"; its profile is corollary
    2.13 there (arXiv:1905.02383) and theorem 8 of Balle and Wang 2018, "Improving the Gaussian
    mechanism for differential privacy".

    >>> round(GaussianDP(mu=1.0).delta(1.0), 6)
    0.126937
    >>> f"{GaussianDP(mu=0.01).delta(0.1):.10e}"  # the textbook difference has lost every digit
    '7.8576927710e-27'
    >>> print(GaussianDP(mu=1.0))
    1-GDP
    """

    mu: float
    symbol: ClassVar[str] = "mu"

    def _delta(self, level: float) -> float:
        return profiles.gaussian_delta(self.mu, level)

    def _span(self) -> tuple[float, float]:
        return profiles.gaussian_span(self.mu)

    def __str__(self) -> str:
        return f"{_text(self.mu)}-GDP"


@dataclass(frozen=True, slots=True)
class Profile:
    """Any privacy profile: a function from epsilon to delta, such as an accountant gives.

    The function must not increase; values above 1 count as 1. It is asked for levels up to 50.
    A profile is saved as a table, and loads as its chords (see `claim_from_json`).

    >>> claim = Profile(PureDP(1.0).delta, name="randomized response")
    >>> print(claim)
    privacy profile 'randomized response'
    >>> claim.delta(1.0)
    0.0
    """

    function: Callable[[float], float]
    name: str | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidClaim(
                f"a profile must be a function from epsilon to delta, got {self.function!r}."
                " For a single (epsilon, delta) use ApproxDP."
            )
        if self.name is not None and not isinstance(self.name, str):
            raise InvalidClaim(f"name must be a string, got {self.name!r}. Or leave it out.")

    def delta(self, epsilon: float) -> float:
        """What the function says at `epsilon`, at most 1."""
        level = nonnegative("epsilon", epsilon)
        try:
            value: object = self.function(level)
            item = getattr(value, "item", None)  # numpy, torch and jax scalars
            value = item() if callable(item) else value
        except Exception as error:
            error.add_note(f"while asking {self} for delta at epsilon={level!r}")
            raise
        number = float(value) if isinstance(value, Real) else math.nan
        if isinstance(value, bool) or not number >= 0.0:
            raise InvalidClaim(
                f"a profile must give a delta >= 0, got {value!r} from {self} at epsilon={level!r}."
                " If it is rounding, clip it at the smallest delta that is safe."
            )
        return min(1.0, number)

    def tangents(self, count: int) -> tuple[tuple[float, float], ...]:
        """`count` levels over the span on which the profile falls from 1 to its lowest."""
        profiles.check_count(count)
        span = profiles.falling_span(self.delta)
        table = profiles.tangent_points(self.delta, span, SAVED_POINTS)
        first, last = ((level, self.delta(level)) for level in (0.0, profiles.HIGHEST_LEVEL))
        check_decreasing([first, *table, last])
        return table if count == SAVED_POINTS else profiles.tangent_points(self.delta, span, count)

    @property
    def point(self) -> None:
        """None: the claim is a whole profile."""

    def to_json(self) -> dict[str, object]:
        """The form in which the claim is saved: a table of the profile."""
        saved = self.function.points if isinstance(self.function, profiles.Chords) else None
        points = self.tangents(SAVED_POINTS) if saved is None else saved
        return {"kind": "Profile", "name": self._name(), "points": [list(each) for each in points]}

    def _name(self) -> str | None:
        name = getattr(self.function, "__name__", None) if self.name is None else self.name
        return None if name is None or name == "<lambda>" else str(name)

    def __str__(self) -> str:
        name = self._name()
        return "privacy profile" if name is None else f"privacy profile {name!r}"


def nonnegative(name: str, value: object) -> float:
    """The number, if it can be a strength of a claim or a level."""
    number = _finite(name, value, "a number >= 0")
    if number < 0.0:
        raise InvalidClaim(f"{name} must be >= 0, got {value!r}. 0 is the strictest claim.")
    return number + 0.0  # -0.0 becomes 0.0


def _finite(name: str, value: object, rule: str) -> float:
    number = math.nan
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
    if not math.isfinite(number):
        raise InvalidClaim(f"{name} must be {rule}, got {value!r}. Pass a finite number.")
    return number


def _small_delta(value: object) -> float:
    number = _finite("delta", value, "in [0, 1)")
    if not 0.0 <= number < 1.0:
        raise InvalidClaim(f"delta must be in [0, 1), got {value!r}. For pure DP use PureDP.")
    return number + 0.0


def _renyi_order(value: object) -> float:
    number = _finite("order", value, "a number > 1")
    if not number > 1.0:
        raise InvalidClaim(f"order must be > 1, got {value!r}. For order infinity use PureDP.")
    return number


def check_decreasing(points: Sequence[tuple[float, float]]) -> None:
    """Refuse points of a profile that increases."""
    for (left, high), (right, low) in itertools.pairwise(points):
        if low > high * (1.0 + 1e-9) + 1e-12:  # the rounding of an accountant is allowed
            raise InvalidClaim(
                f"a profile must not increase, got delta({left:g}) = {high:g} and"
                f" delta({right:g}) = {low:g}. Check the function: more epsilon needs less delta."
            )


def _text(number: float) -> str:
    return f"{number:.12g}"
