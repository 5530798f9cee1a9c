"""The laws of noise that is followed: log densities and log probabilities, entry by entry.

Everything is in logarithms, so that tails keep their digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_expit, log_ndtr

from dpaudit.arrays import Floats

WHOLE = ("geometric", "two-sided")  # noise that is a whole number
KINDS = ("laplace", "normal", "uniform", "exponential", "gumbel", "logistic", *WHOLE)
SUPPORTS = {"uniform": (0.0, 1.0), "exponential": (0.0, math.inf), "geometric": (1.0, math.inf)}
KINKS = {"laplace": (0.0,), "uniform": (0.0, 1.0), "exponential": (0.0,)}
_LOG_2 = math.log(2.0)


@dataclass(frozen=True, slots=True)
class Noise:
    """One kind of noise of some scale, or an array of noises of one kind.

    For "geometric", `scale` is the probability of a success; "two-sided" is the difference of two
    geometric numbers, with probabilities in proportion to `exp(-|k| / scale)`.

    >>> noise = Noise("laplace", 2.0)
    >>> print(np.exp(noise.log_within(-np.inf, np.array([0.0, np.inf]))))
    [0.5 1. ]
    """

    kind: str
    scale: Any

    def log_density(self, x: Any) -> Floats:
        """The log density at `x`."""
        with np.errstate(all="ignore"):
            return np.asarray(_DENSITIES[self.kind](np.asarray(x, dtype=np.float64), self.scale))

    def log_below(self, x: Any) -> Floats:
        """The log probability of at most `x`."""
        with np.errstate(all="ignore"):
            return np.asarray(_BELOW[self.kind](np.asarray(x, dtype=np.float64), self.scale))

    def log_above(self, x: Any) -> Floats:
        """The log probability of more than `x`."""
        with np.errstate(all="ignore"):
            return np.asarray(_ABOVE[self.kind](np.asarray(x, dtype=np.float64), self.scale))

    def log_within(self, low: Any, high: Any) -> Floats:
        """The log probability of more than `low` and at most `high`."""
        below = self.log_below(low), self.log_below(high)
        above = self.log_above(low), self.log_above(high)
        upper = above[0] < -_LOG_2  # more than the median: subtract what lies above
        first = np.where(upper, above[0], below[1])
        second = np.where(upper, above[1], below[0])
        with np.errstate(all="ignore"):
            apart = first + np.log(-np.expm1(np.minimum(0.0, second - first)))
        return np.where((np.asarray(low) < np.asarray(high)) & (first > second), apart, -np.inf)

    def rate(self, x: Any) -> Floats:
        """How fast a log density or log probability may change around `x`, for its rounding."""
        if self.kind in WHOLE:
            return np.zeros(np.shape(x))
        far = np.abs(np.nan_to_num(np.asarray(x, dtype=np.float64), posinf=0.0, neginf=0.0))
        if self.kind == "normal":
            return np.asarray((far / self.scale + 1.0) / self.scale)
        if self.kind == "gumbel":
            return np.asarray((1.0 + np.exp(np.minimum(far / self.scale, 50.0))) / self.scale)
        if self.kind == "uniform":
            edge = np.minimum(np.asarray(x), 1.0 - np.asarray(x))
            return np.asarray(1.0 / np.maximum(edge, 1e-12))
        return np.asarray(np.ones(np.shape(x)) / self.scale)


def _laplace_below(x: Floats, s: Any) -> Any:
    half = -np.abs(x) / s - _LOG_2
    return np.where(x < 0.0, half, np.log1p(-np.exp(half)))


def _exponential_above(x: Floats, s: Any) -> Any:
    return np.where(x < 0.0, 0.0, -x / s)


def _gumbel_density(x: Floats, s: Any) -> Any:
    return -x / s - np.exp(-x / s) - np.log(s)


def _gumbel_above(x: Floats, s: Any) -> Any:
    small = np.exp(-x / s)
    return np.where(small < 1e-12, -x / s, np.log(-np.expm1(-small)))


def _geometric_above(k: Floats, p: Any) -> Any:
    return np.maximum(0.0, np.floor(k)) * np.log1p(-p)


def _geometric_at(k: Floats, p: Any) -> Any:
    return np.where((k >= 1.0) & (k == np.rint(k)), np.log(p) + (k - 1.0) * np.log1p(-p), -np.inf)


def _two_sided_above(k: Floats, s: Any) -> Any:
    whole = np.floor(k)
    tail = -np.log1p(np.exp(-1.0 / s))
    return np.where(
        whole >= 0.0,
        -(whole + 1.0) / s + tail,
        np.log1p(-np.exp(np.minimum(whole, -1.0) / s + tail)),
    )


def _two_sided_at(k: Floats, s: Any) -> Any:
    return np.where(k == np.rint(k), -np.abs(k) / s + np.log(np.tanh(0.5 / s)), -np.inf)


_DENSITIES: dict[str, Any] = {
    "laplace": lambda x, s: -np.abs(x) / s - np.log(2.0 * s),
    "normal": lambda x, s: -0.5 * (x / s) ** 2 - np.log(s) - 0.5 * math.log(2.0 * math.pi),
    "uniform": lambda x, s: np.where((x >= 0.0) & (x <= 1.0), 0.0, -np.inf),
    "exponential": lambda x, s: np.where(x >= 0.0, -x / s - np.log(s), -np.inf),
    "gumbel": _gumbel_density,
    "logistic": lambda x, s: log_expit(x / s) + log_expit(-x / s) - np.log(s),
    "geometric": _geometric_at,
    "two-sided": _two_sided_at,
}
_BELOW: dict[str, Any] = {
    "laplace": _laplace_below,
    "normal": lambda x, s: log_ndtr(x / s),
    "uniform": lambda x, s: np.log(np.clip(x, 0.0, 1.0)),
    "exponential": lambda x, s: np.log(-np.expm1(-np.maximum(x, 0.0) / s)),
    "gumbel": lambda x, s: -np.exp(-x / s),
    "logistic": lambda x, s: log_expit(x / s),
    "geometric": lambda k, p: np.log(-np.expm1(_geometric_above(k, p))),
    "two-sided": lambda k, s: _two_sided_above(-np.floor(k) - 1.0, s),
}
_ABOVE: dict[str, Any] = {
    "laplace": lambda x, s: _laplace_below(-x, s),
    "normal": lambda x, s: log_ndtr(-x / s),
    "uniform": lambda x, s: np.log(1.0 - np.clip(x, 0.0, 1.0)),
    "exponential": _exponential_above,
    "gumbel": _gumbel_above,
    "logistic": lambda x, s: log_expit(-x / s),
    "geometric": _geometric_above,
    "two-sided": _two_sided_above,
}
