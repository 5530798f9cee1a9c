"""Testers of DP-Auditorium, wrapped as batch testers."""

from __future__ import annotations

import math
import struct
import sys
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from dpaudit.architecture import BatchTester
from dpaudit.claims import ZCDP, Claim, GaussianDP, PureDP, RenyiDP
from dpaudit.errors import Underpowered, UnsupportedClaim
from dpaudit.guessing import Samples
from dpaudit.testers.tester import AS_PROMISED, Method, Rng

_METHODS = ("estimate_lower_bound", "reject_property")


class PropertyTester(Protocol):
    """The methods of a DP-Auditorium tester. It may also have a `privacy_property`."""

    def estimate_lower_bound(self, samples1: Any, samples2: Any, alpha: float, /) -> float: ...

    def reject_property(self, lower_bound: float, /) -> bool: ...


def from_dp_auditorium(tester: PropertyTester) -> BatchTester:
    """Wrap a DP-Auditorium tester, or anything with its two methods, as a batch tester.

    The claim is refuted exactly where `reject_property` says True: it must be False up to some
    bound and True above. If the tester states the property it was made for (`privacy_property`), a
    claim that does not imply that property is refused. The tester makes its own random choices:
    `rng` does not reach them. Wrapping changes no bound: the guarantee is what the tester's author
    promises, or the `method` that the tester states. Source: Kong, Medina, Ribero and Syed 2023,
    "DP-Auditorium", github.com/google/differential-privacy.

    >>> class Difference:
    ...     def estimate_lower_bound(self, samples1, samples2, failure_probability):
    ...         noise = np.sqrt(2 * np.log(2 / failure_probability) / len(samples1))
    ...         return np.mean(samples1 > 0.5) - np.mean(samples2 > 0.5) - noise
    ...
    ...     def reject_property(self, lower_bound):
    ...         return lower_bound > 0.4621
    >>> tester, rng = from_dp_auditorium(Difference()), np.random.default_rng(0)
    >>> tester.threshold(PureDP(1.0))
    0.4621
    >>> tester.lower_bound(np.ones(900), np.zeros(900), PureDP(1.0), alpha=0.05, rng=rng) > 0.9
    True
    """
    missing = [name for name in _METHODS if not callable(getattr(tester, name, None))]
    if missing:
        raise TypeError(
            f"a DP-Auditorium tester has the methods {' and '.join(_METHODS)}, "
            f"but {tester!r} has no {' and no '.join(missing)}."
        )
    return FromDPAuditorium(tester)


@dataclass(frozen=True, slots=True)
class FromDPAuditorium:
    """A tester of DP-Auditorium as a batch tester."""

    tester: PropertyTester

    @property
    def method(self) -> Method:
        """What the tester states, or else that its author promises its bound."""
        stated = getattr(self.tester, "method", None)
        if isinstance(stated, Method):
            return stated
        return replace(AS_PROMISED, source="Kong, Medina, Ribero and Syed 2023")

    def lower_bound(
        self, outputs: Samples, neighbour_outputs: Samples, claim: Claim, *, alpha: float, rng: Rng
    ) -> float:
        """What the tester estimates, with `alpha` as its failure probability; -inf for NaN."""
        self._refuse_if_not_implied(claim)
        try:
            # Copies, because it may write into them. By position, because the names differ there.
            samples = np.array(outputs), np.array(neighbour_outputs)
            bound = float(self.tester.estimate_lower_bound(*samples, alpha))
        except Exception as error:
            error.add_note(f"while estimating a lower bound with {self.tester!r}")
            raise
        return -math.inf if math.isnan(bound) else bound

    def threshold(self, claim: Claim) -> float:
        """The largest bound that the tester does not reject, found by bisection over all floats."""
        self._refuse_if_not_implied(claim)
        (high,) = struct.unpack("<q", struct.pack("<d", sys.float_info.max))
        low = -high
        if self._rejects(low):
            raise ValueError(
                f"reject_property of {self.tester!r} is True even for a bound of "
                f"{_float_at(low):.3g}: it would reject whatever the outputs. It must be False up "
                "to some bound and True above."
            )
        if not self._rejects(high):
            raise Underpowered(
                f"reject_property of {self.tester!r} is False even for a bound of "
                f"{_float_at(high):.3g}: it can never refute {claim}, whatever the outputs. "
                "Check the property it was made for."
            )
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._rejects(middle) else (middle, high)
        return _float_at(low)

    def _rejects(self, place: int) -> bool:
        return bool(self.tester.reject_property(_float_at(place)))

    def _refuse_if_not_implied(self, claim: Claim) -> None:
        """Raise unless a mechanism that keeps the claim also has the tester's property."""
        stated = getattr(self.tester, "privacy_property", None)
        if stated is not None and not _implied(stated, claim):
            raise UnsupportedClaim(
                f"{self.tester!r} tests {stated}, which {claim} does not imply: refuting the one "
                "says nothing about the other. Make the tester for the claim."
            )


def _implied(stated: Any, claim: Claim) -> bool:
    """Whether the claim implies a `PrivacyProperty`, one of whose three parts is set."""
    renyi = getattr(stated, "renyi_dp", None)
    if renyi is not None:
        bound = _renyi_bound(claim, float(renyi.alpha))
        return bound is not None and bound <= float(renyi.epsilon)
    for part in (getattr(stated, "pure_dp", None), getattr(stated, "approximate_dp", None)):
        if part is not None:
            return claim.delta(float(part.epsilon)) <= float(getattr(part, "delta", 0.0))
    return False


def _renyi_bound(claim: Claim, order: float) -> float | None:
    """The Rényi divergence of this order that the claim allows; None if it bounds none."""
    if isinstance(claim, PureDP):
        return claim.epsilon
    if isinstance(claim, RenyiDP):  # the divergence grows with its order
        return claim.epsilon if claim.order >= order else None
    if isinstance(claim, ZCDP):
        return order * claim.rho
    return order * claim.mu**2 / 2.0 if isinstance(claim, GaussianDP) else None


def _float_at(place: int) -> float:
    """The float at this place in the order of all floats; place 0 is 0.0."""
    (number,) = struct.unpack("<d", struct.pack("<q", abs(place)))
    return math.copysign(float(number), place)
