"""What a mechanism promises: a privacy profile.

Every claim bounds, for all `epsilon >= 0` and both directions, how far apart the outputs on two
neighbours may be: `sup_A P(A) - e^epsilon Q(A) <= claim.delta(epsilon)`. An excess over that curve
refutes the claim.

This file loads neither numpy nor scipy: the command line shows its help without them.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Protocol, runtime_checkable

__all__ = [
    "ZCDP",
    "ApproxDP",
    "Claim",
    "GaussianDP",
    "InvalidClaim",
    "Profile",
    "PureDP",
    "RenyiDP",
    "Scalable",
    "claim_from_json",
    "parse_claim",
]

# Certifying P(A) > e^epsilon Q(A) takes about e^epsilon draws: no audit can bet above this level.
HIGHEST_LEVEL = 50.0
SAVED_POINTS = 64


class InvalidClaim(ValueError):
    """A claim that cannot be meant: a negative epsilon, a delta of 2, a profile that increases."""


@runtime_checkable
class Claim(Protocol):
    """A privacy profile: the most that `sup_A P(A) - e^epsilon Q(A)` may be, at every epsilon.

    >>> isinstance(PureDP(1.0), Claim)
    True
    """

    def delta(self, epsilon: float) -> float: ...

    def __str__(self) -> str: ...


@runtime_checkable
class Scalable(Claim, Protocol):
    """A claim with one dial: a larger `strength` promises less, so the nulls are nested in it.

    >>> claim = ApproxDP(epsilon=1, delta=1e-6)
    >>> claim.symbol, claim.strength, claim.with_strength(2)
    ('epsilon', 1.0, ApproxDP(epsilon=2.0, delta=1e-06))
    """

    @property
    def symbol(self) -> str: ...

    @property
    def strength(self) -> float: ...

    def with_strength(self, value: float) -> Scalable: ...


@dataclass(frozen=True, slots=True)
class PureDP:
    """Pure differential privacy: no event is more than `e^epsilon` times likelier on a neighbour.

    Its profile is that of randomized response, the pair that dominates all others (Kairouz, Oh and
    Viswanath 2015, "The composition theorem for differential privacy", proof of theorem 3.3).

    >>> round(PureDP(1.0).delta(0.5), 6)
    0.287649
    >>> print(PureDP(1.0))
    1-DP
    """

    epsilon: float
    symbol: ClassVar[str] = "epsilon"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _nonnegative("epsilon", self.epsilon))

    def delta(self, epsilon: float) -> float:
        """The profile at `epsilon`: `max(0, (e^e - e^epsilon) / (1 + e^e))`."""
        gap = min(0.0, _nonnegative("epsilon", epsilon) - self.epsilon)
        return abs(math.expm1(gap)) / (1.0 + math.exp(-self.epsilon))

    def tangents(self, count: int) -> tuple[tuple[float, float], ...]:
        """The one level worth betting on, whatever `count`: the claim itself."""
        _check_count(count)
        return ((self.epsilon, 0.0),)

    @property
    def strength(self) -> float:
        return self.epsilon

    def with_strength(self, value: float) -> PureDP:
        return PureDP(value)

    def to_json(self) -> dict[str, object]:
        return {"kind": "PureDP", "epsilon": self.epsilon}

    def __str__(self) -> str:
        return f"{_text(self.epsilon)}-DP"


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ApproxDP:
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
    symbol: ClassVar[str] = "epsilon"

    def __init__(self, epsilon: float, delta: float) -> None:
        object.__setattr__(self, "epsilon", _nonnegative("epsilon", epsilon))
        object.__setattr__(self, "delta_at_epsilon", _small_delta(delta))

    def __repr__(self) -> str:
        return f"ApproxDP(epsilon={self.epsilon!r}, delta={self.delta_at_epsilon!r})"

    def delta(self, epsilon: float) -> float:
        """The profile at `epsilon`: `d + (1 - d) max(0, (e^e - e^epsilon) / (1 + e^e))`."""
        slack = self.delta_at_epsilon
        return min(1.0, slack + (1.0 - slack) * PureDP(self.epsilon).delta(epsilon))

    def tangents(self, count: int) -> tuple[tuple[float, float], ...]:
        """The one level worth betting on, whatever `count`: the claim itself."""
        _check_count(count)
        return ((self.epsilon, self.delta_at_epsilon),)

    @property
    def strength(self) -> float:
        return self.epsilon

    def with_strength(self, value: float) -> ApproxDP:
        return ApproxDP(value, self.delta_at_epsilon)

    def to_json(self) -> dict[str, object]:
        return {"kind": "ApproxDP", "epsilon": self.epsilon, "delta": self.delta_at_epsilon}

    def __str__(self) -> str:
        return f"({_text(self.epsilon)}, {_text(self.delta_at_epsilon)})-DP"


@dataclass(frozen=True, slots=True)
class RenyiDP:
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
    symbol: ClassVar[str] = "epsilon"

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", _renyi_order(self.order))
        object.__setattr__(self, "epsilon", _nonnegative("epsilon", self.epsilon))

    def delta(self, epsilon: float) -> float:
        """The profile at `epsilon`: `e^((a-1)(e-epsilon)) / (a-1) * (1-1/a)^a`, at most 1."""
        excess = self.order - 1.0
        level = _nonnegative("epsilon", epsilon)
        return _capped_exp(excess * (self.epsilon - level) + _log_conversion(excess))

    def tangents(self, count: int) -> tuple[tuple[float, float], ...]:
        """`count` levels over the span on which the profile falls from 1 to nearly nothing."""
        return _tangents(self, *_span(self), count)

    @property
    def strength(self) -> float:
        return self.epsilon

    def with_strength(self, value: float) -> RenyiDP:
        return RenyiDP(self.order, value)

    def to_json(self) -> dict[str, object]:
        return {"kind": "RenyiDP", "order": self.order, "epsilon": self.epsilon}

    def __str__(self) -> str:
        return f"(order {_text(self.order)}, {_text(self.epsilon)})-Rényi DP"


@dataclass(frozen=True, slots=True)
class ZCDP:
    """Zero-concentrated differential privacy: `order * rho`-Rényi DP at every order.

    `rho = 0` is allowed and promises that the output says nothing at all. The claim is Bun and
    Steinke 2016, "Concentrated differential privacy"; its profile is the best over all orders of
    the conversion of Canonne, Kamath and Steinke 2020, corollary 13.

    >>> round(ZCDP(rho=0.1).delta(1.0), 6)
    0.008933
    >>> print(ZCDP(rho=0.1))
    0.1-zCDP
    """

    rho: float
    symbol: ClassVar[str] = "rho"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", _nonnegative("rho", self.rho))

    def delta(self, epsilon: float) -> float:
        """The profile at `epsilon`: `inf_a e^((a-1)(a rho - epsilon)) / (a-1) * (1-1/a)^a`."""
        level = _nonnegative("epsilon", epsilon)
        if self.rho == 0.0:
            return 0.0
        excess = _best_excess(self.rho, level)
        return _capped_exp(excess * (self.rho * (1.0 + excess) - level) + _log_conversion(excess))

    def tangents(self, count: int) -> tuple[tuple[float, float], ...]:
        """`count` levels spread over the privacy losses of the Gaussian mechanism with this rho."""
        return _tangents(self, *_gaussian_span(math.sqrt(2.0 * self.rho)), count)

    @property
    def strength(self) -> float:
        return self.rho

    def with_strength(self, value: float) -> ZCDP:
        return ZCDP(value)

    def to_json(self) -> dict[str, object]:
        return {"kind": "ZCDP", "rho": self.rho}

    def __str__(self) -> str:
        return f"{_text(self.rho)}-zCDP"


@dataclass(frozen=True, slots=True)
class GaussianDP:
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", _nonnegative("mu", self.mu))

    def delta(self, epsilon: float) -> float:
        """The profile at `e`: `Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu)`."""
        level = _nonnegative("epsilon", epsilon)
        if self.mu == 0.0:
            return 0.0
        near = level / self.mu - self.mu / 2.0
        density = math.exp(-near * near / 2.0) / math.sqrt(2.0 * math.pi)
        if density == 0.0:
            return 0.0 if near > 0.0 else 1.0
        # e^epsilon Phi(-near - mu) = density * mills(near + mu), so delta is a difference of Mills
        # ratios: taken as one integral where they nearly cancel, as a plain difference elsewhere.
        if near >= -0.5:
            return density * _mills_drop(near, self.mu)
        return math.erfc(near / math.sqrt(2.0)) / 2.0 - density * _mills_drop(
            near + self.mu, math.inf
        )

    def tangents(self, count: int) -> tuple[tuple[float, float], ...]:
        """`count` levels spread over the privacy losses, three standard deviations each way."""
        return _tangents(self, *_gaussian_span(self.mu), count)

    @property
    def strength(self) -> float:
        return self.mu

    def with_strength(self, value: float) -> GaussianDP:
        return GaussianDP(value)

    def to_json(self) -> dict[str, object]:
        return {"kind": "GaussianDP", "mu": self.mu}

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
        level = _nonnegative("epsilon", epsilon)
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
        _check_count(count)
        span = _span(self)
        table = _tangents(self, *span, SAVED_POINTS)
        _check_decreasing([self._point(0.0), *table, self._point(HIGHEST_LEVEL)])
        return table if count == SAVED_POINTS else _tangents(self, *span, count)

    def _point(self, epsilon: float) -> tuple[float, float]:
        return epsilon, self.delta(epsilon)

    def to_json(self) -> dict[str, object]:
        saved = self.function.points if isinstance(self.function, _Chords) else None
        points = self.tangents(SAVED_POINTS) if saved is None else saved
        return {"kind": "Profile", "name": self._name(), "points": [list(each) for each in points]}

    def _name(self) -> str | None:
        name = getattr(self.function, "__name__", None) if self.name is None else self.name
        return None if name is None or name == "<lambda>" else str(name)

    def __str__(self) -> str:
        name = self._name()
        return "privacy profile" if name is None else f"privacy profile {name!r}"


def claim_from_json(saved: Mapping[str, object]) -> Claim:
    """The claim that `to_json` saved.

    A `Profile` comes back as the chords, in `e^epsilon`, of its saved points. The true curve
    `sup_A P(A) - e^epsilon Q(A)` is convex in `e^epsilon` and never increases, so it lies under the
    chords whenever it lies under the points: what refutes the loaded claim refutes the saved one.

    >>> claim_from_json(ZCDP(0.1).to_json())
    ZCDP(rho=0.1)
    """
    if not isinstance(saved, Mapping):
        raise InvalidClaim(f"a saved claim must be a JSON object, got {saved!r}.")
    fields = dict(saved)
    kind = fields.pop("kind", None)
    wanted = {name for name, _, _ in _KINDS} | {"Profile"}
    if not isinstance(kind, str) or kind not in wanted:
        raise InvalidClaim(f"kind must be one of {', '.join(sorted(wanted))}, got {kind!r}.")
    if kind == "Profile":
        _check_fields(kind, fields, ("name", "points"))
        name = fields["name"]
        if name is not None and not isinstance(name, str):
            raise InvalidClaim(f"the name of a saved Profile must be text or null, got {name!r}.")
        return Profile(_Chords(_saved_points(fields["points"])), name=name)
    build, names = next((build, names) for name, build, names in _KINDS if name == kind)
    _check_fields(kind, fields, names)
    return build(**fields)


def parse_claim(text: str) -> Claim:
    """The claim written on a command line.

    >>> parse_claim("eps=1"), parse_claim("eps=1, delta=1e-6"), parse_claim("0.5")
    (PureDP(epsilon=1.0), ApproxDP(epsilon=1.0, delta=1e-06), PureDP(epsilon=0.5))
    >>> parse_claim("rho=0.1"), parse_claim("mu=1"), parse_claim("order=2,eps=0.5")
    (ZCDP(rho=0.1), GaussianDP(mu=1.0), RenyiDP(order=2.0, epsilon=0.5))
    """
    accepted = "Write one of: eps=1 (or just 1); eps=1,delta=1e-6; order=2,eps=0.5; rho=0.1; mu=1."
    given: dict[str, float] = {}
    for part in text.split(","):
        left, equals, right = part.partition("=")
        name = left.strip().lower() if equals else "epsilon"
        name = "epsilon" if name == "eps" else name
        if name in given:
            raise InvalidClaim(f"{name} is given twice in {text!r}. {accepted}")
        try:
            given[name] = float(right if equals else left)
        except ValueError:
            raise InvalidClaim(f"cannot read {part.strip()!r} in {text!r}. {accepted}") from None
    for _, build, names in _KINDS:
        if set(names) == set(given):
            return build(**given)
    raise InvalidClaim(f"no claim is made of {', '.join(given)}, got {text!r}. {accepted}")


_KINDS: tuple[tuple[str, Callable[..., Scalable], tuple[str, ...]], ...] = (
    ("PureDP", PureDP, ("epsilon",)),
    ("ApproxDP", ApproxDP, ("epsilon", "delta")),
    ("RenyiDP", RenyiDP, ("order", "epsilon")),
    ("ZCDP", ZCDP, ("rho",)),
    ("GaussianDP", GaussianDP, ("mu",)),
)


@dataclass(frozen=True, slots=True)
class _Chords:
    """The chords, in `e^epsilon`, of a table of `(epsilon, delta)` points; flat after the last."""

    points: tuple[tuple[float, float], ...]

    def __call__(self, epsilon: float) -> float:
        points = ((0.0, 1.0), *self.points) if self.points[0][0] > 0.0 else self.points
        after = bisect_right(points, epsilon, key=lambda point: point[0])
        if after == len(points):
            return points[-1][1]
        (left, high), (right, low) = points[after - 1], points[after]
        # share = (e^epsilon - e^left) / (e^right - e^left), without overflow
        share = math.exp(epsilon - right) * math.expm1(left - epsilon) / math.expm1(left - right)
        return high - (high - low) * share


# --- numbers --------------------------------------------------------------------------------------


def _log_conversion(excess: float) -> float:
    """`log( (1 - 1/a)^a / (a-1) )` at order `a = 1 + excess`."""
    if excess < 1.0:  # (a-1) log(a-1) - a log a: each term small when a is near 1
        return excess * math.log(excess) - (1.0 + excess) * math.log1p(excess) if excess else 0.0
    return -math.log1p(excess) - excess * math.log1p(1.0 / excess)


def _best_excess(rho: float, epsilon: float) -> float:
    """The `a - 1` at which the zCDP bound is least.

    The log of the bound is convex in `a`, with slope `(2a-1) rho - epsilon + log(1 - 1/a)`, so
    bisecting on `log(a-1)` finds the one root. Any `a` gives a valid bound: no error is unsafe.
    """
    low, high = -3.0 * rho, math.log(max(1.0, min(1e300, (epsilon + 1.0) / (2.0 * rho))))
    for _ in range(64):
        middle = (low + high) / 2.0
        softplus = max(-middle, 0.0) + math.log1p(math.exp(-abs(middle)))  # -log(1 - 1/a)
        slope = (2.0 * math.exp(middle) + 1.0) * rho - epsilon - softplus
        low, high = (low, middle) if slope > 0.0 else (middle, high)
    return math.exp((low + high) / 2.0)


def _capped_exp(exponent: float) -> float:
    return math.exp(min(0.0, exponent))


def _double_exponential_rule() -> tuple[tuple[float, float], ...]:
    """Nodes and weights for integrals over `(0, inf)` that decay at least as `e^-v`.

    The trapezoid rule after `v = exp(t - e^-t)` (Takahasi and Mori 1974); error about 1e-15 here.
    """
    times = (step / 16.0 for step in range(-64, 65))
    points = ((t, math.exp(t - math.exp(-t))) for t in times)
    return tuple((v, v * (1.0 + math.exp(-t)) / 16.0) for t, v in points)


_RULE = _double_exponential_rule()


def _mills_drop(start: float, width: float) -> float:
    """`m(start) - m(start + width)`, `m(x) = (1 - Phi(x)) / phi(x)`, for `start >= -0.5`.

    It is `int_0^inf e^(-start u - u^2/2) (1 - e^(-width u)) du`, in which nothing cancels.
    """
    scale = max(1.0, start)
    total = 0.0
    for node, weight in _RULE:
        u = node / scale
        total -= weight * math.exp(-u * (start + u / 2.0)) * math.expm1(-width * u)
    return total / scale


# --- levels ---------------------------------------------------------------------------------------


def _gaussian_span(mu: float) -> tuple[float, float]:
    """Three deviations each way of the Gaussian mechanism's privacy loss, `N(mu^2/2, mu^2)`."""
    return max(0.0, mu * (mu / 2.0 - 3.0)), mu * (mu / 2.0 + 3.0)


def _span(claim: Claim) -> tuple[float, float]:
    """From where the profile leaves 1 to where it has made all but 1e-4 of its descent."""
    top, bottom = claim.delta(0.0), claim.delta(HIGHEST_LEVEL)
    return _first_below(claim, 0.999), _first_below(claim, bottom + 1e-4 * (top - bottom))


def _first_below(claim: Claim, target: float) -> float:
    """The smallest level at which delta is at most `target`, by doubling and bisection."""
    if claim.delta(0.0) <= target:
        return 0.0
    low, high = 0.0, 1e-6
    while high < HIGHEST_LEVEL and claim.delta(high) > target:
        low, high = high, min(HIGHEST_LEVEL, 2.0 * high)
    for _ in range(20):
        middle = (low + high) / 2.0
        low, high = (middle, high) if claim.delta(middle) > target else (low, middle)
    return high


def _tangents(
    claim: Claim, start: float, stop: float, count: int
) -> tuple[tuple[float, float], ...]:
    """`count` equally spaced levels with their deltas, less those whose delta of 1 says nothing."""
    _check_count(count)
    stop = min(stop, HIGHEST_LEVEL)
    start = min(start, stop)
    shares = [step / (count - 1) for step in range(count)] if count > 1 else [0.5]
    levels = sorted({start + (stop - start) * share for share in shares})
    points = tuple((level, claim.delta(level)) for level in levels)
    return tuple(point for point in points if point[1] < 1.0) or points[-1:]


# --- checks ---------------------------------------------------------------------------------------


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


def _nonnegative(name: str, value: object) -> float:
    number = _finite(name, value, "a number >= 0")
    if number < 0.0:
        raise InvalidClaim(f"{name} must be >= 0, got {value!r}. 0 is the strictest claim.")
    return number + 0.0  # -0.0 becomes 0.0


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


def _check_count(count: int) -> None:
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count!r}.")


def _check_decreasing(points: Sequence[tuple[float, float]]) -> None:
    for (left, high), (right, low) in itertools.pairwise(points):
        if low > high * (1.0 + 1e-9) + 1e-12:  # an accountant's rounding is forgiven
            raise InvalidClaim(
                f"a profile must not increase, got delta({left:g}) = {high:g} and"
                f" delta({right:g}) = {low:g}. Check the function: more epsilon needs less delta."
            )


def _check_fields(kind: str, fields: Mapping[str, object], names: Sequence[str]) -> None:
    if set(fields) != set(names):
        raise InvalidClaim(
            f"a saved {kind} must have exactly {', '.join(names)},"
            f" got {', '.join(map(str, fields)) or 'nothing'}."
        )


def _saved_points(saved: object) -> tuple[tuple[float, float], ...]:
    if not isinstance(saved, Sequence) or isinstance(saved, str) or not saved:
        raise InvalidClaim(f"a saved Profile needs [epsilon, delta] points, got {saved!r}.")
    points: list[tuple[float, float]] = []
    for each in saved:
        if not isinstance(each, Sequence) or isinstance(each, str) or len(each) != 2:
            raise InvalidClaim(f"each saved point must be [epsilon, delta], got {each!r}.")
        points.append((_nonnegative("epsilon", each[0]), _nonnegative("delta", each[1])))
    if any(left >= right for (left, _), (right, _) in itertools.pairwise(points)):
        raise InvalidClaim("the epsilons of saved points must increase. Was the file edited?")
    _check_decreasing(points)
    return tuple((level, min(1.0, delta)) for level, delta in points)


def _text(number: float) -> str:
    return f"{number:.12g}"
