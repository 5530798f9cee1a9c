"""Testers from elsewhere: those of DP-Auditorium, wrapped as batch testers."""

from __future__ import annotations

import math
import struct
import sys
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dpaudit.claims import ZCDP, Claim, GaussianDP, PureDP, RenyiDP
from dpaudit.errors import Underpowered, UnsupportedClaim
from dpaudit.guessing import Samples
from dpaudit.testers.batch import BatchTester


@runtime_checkable
class PropertyTester(Protocol):
    """What a tester of DP-Auditorium has; `privacy_property` may be missing."""

    def estimate_lower_bound(
        self, samples1: Any, samples2: Any, failure_probability: float, /
    ) -> float:
        """A lower bound on a divergence."""

    def reject_property(self, lower_bound: float, /) -> bool:
        """Whether a divergence so large rejects the property."""


def from_dp_auditorium(tester: PropertyTester) -> BatchTester:
    """Wrap a DP-Auditorium tester, or anything with its two methods, as a batch tester.

    Its verdicts are kept to the last bit: the claim is refuted exactly where `reject_property` says
    True. That must be monotone, False up to some bound and True above. A bound that is NaN says
    nothing, and becomes -inf.

    Such a tester tests the property it was made for. If it states one (`privacy_property`), a claim
    that does not imply it is refused, for refuting the property would say nothing of the claim.
    One that states none is believed to have been made for the claim it is given.

    Its own random choices are its own: `rng` does not reach them. Source of the methods: Kong,
    Medina, Ribero and Syed 2023, "DP-Auditorium", github.com/google/differential-privacy.

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
    return _Wrapped(tester)


_METHODS = ("estimate_lower_bound", "reject_property")


@dataclass(frozen=True, slots=True)
class _Wrapped:
    """A tester of DP-Auditorium as a batch tester."""

    tester: PropertyTester

    def lower_bound(
        self,
        outputs: Samples,
        neighbour_outputs: Samples,
        claim: Claim,
        *,
        alpha: float,
        rng: np.random.Generator,
    ) -> float:
        """What the tester estimates, with `alpha` as its failure probability; -inf for NaN."""
        _refuse_if_not_implied(self.tester, claim)
        try:
            # Copies, for it may write into them; by position, for the testers there name them
            # differently.
            samples = np.array(outputs), np.array(neighbour_outputs)
            bound = float(self.tester.estimate_lower_bound(*samples, alpha))
        except Exception as error:
            error.add_note(f"while estimating a lower bound with {self.tester!r}")
            raise
        return -math.inf if math.isnan(bound) else bound

    def threshold(self, claim: Claim) -> float:
        """The largest bound that the tester does not reject, found by bisection over all floats."""
        _refuse_if_not_implied(self.tester, claim)
        low, high = _place(-sys.float_info.max), _place(sys.float_info.max)
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


def _refuse_if_not_implied(tester: PropertyTester, claim: Claim) -> None:
    """Raise unless a mechanism that keeps the claim also has the tester's property."""
    stated = getattr(tester, "privacy_property", None)
    if stated is not None and not _implied(stated, claim):
        raise UnsupportedClaim(
            f"{tester!r} tests {stated}, which {claim} does not imply: refuting the one says "
            "nothing of the other. Make the tester for the claim."
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


def _place(number: float) -> int:
    """The place of a float among all floats in order."""
    (bits,) = struct.unpack("<q", struct.pack("<d", number))
    return int(bits) if bits >= 0 else -(int(bits) & (2**63 - 1))


def _float_at(place: int) -> float:
    (number,) = struct.unpack("<d", struct.pack("<q", abs(place)))
    return math.copysign(float(number), place)
