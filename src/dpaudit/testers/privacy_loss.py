"""Privacy profiles from masses of the privacy loss: counted, or known from distribution functions.

The optimistic profile lies below the true one, the pessimistic one above it. dp-accounting meets
them here: its privacy loss distributions are claims by `dpaudit.integrations.from_dp_accounting`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.claims import Chords, Claim, Profile
from dpaudit.testers.event_bound import Curve, curve_finding, of_cells
from dpaudit.testers.event_choice import EventTester, HeldOutScores
from dpaudit.testers.histogram import HistogramTester
from dpaudit.testers.tester import Finding, Method, Parts, Rng

Cdf: TypeAlias = Callable[[Floats], Floats]

_ROUNDING = 1e-15  # of a mass that is the difference of two values of a distribution function


@dataclass(frozen=True, kw_only=True)
class PrivacyLossBounds(EventTester):
    """Bound the tails of the privacy loss, and compare the profile they give with the whole claim.

    Four tenths of the outputs estimate the loss, the log-ratio of the two sides, by cells. On the
    others the probabilities of about a dozen tails, "the loss exceeds ...", are bounded as by
    Clopper and Pearson, all at once. They give an optimistic profile, one below the true profile at
    every epsilon, which is compared with the claim's. For one event of the best, at one level, use
    `HistogramTester`; for known distributions, `optimistic_profile`.

    Source: Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022, "Connect the dots: tighter
    discrete approximations of privacy loss distributions", where the loss is known. That masses are
    counted is ours.

    >>> from dpaudit.claims import GaussianDP
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 20_000))
    >>> found = PrivacyLossBounds().examine(x + 1.0, y, GaussianDP(0.5), alpha=0.05, rng=rng)
    >>> found.lower_bound > 0.0, 0.8 < found.strength_lower < 1.0
    (True, True)
    """

    bound: str = field(default="exact", init=False, repr=False)
    method: ClassVar[Method] = Method(
        source="Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022", guarantee="exact"
    )
    _share = HistogramTester._share

    def _scored(self, parts: Parts, claim: Claim, *, alpha: float, rng: Rng) -> HeldOutScores:
        return HistogramTester()._scored(parts, claim, alpha=alpha, rng=rng)

    def _certify(self, parts: Parts, claim: Claim, *, alpha: float, rng: Rng) -> Finding:
        scored = self._scored(parts, claim, alpha=alpha, rng=rng)
        return curve_finding(claim, scored.curve(alpha=alpha))


def optimistic_profile(cdf: Cdf, neighbour_cdf: Cdf, edges: Sequence[float] | Floats) -> Curve:
    """A profile below that of two known distributions, from the masses between the edges.

    It is the profile of the cell into which an output falls, which says no more than the output. It
    touches the true profile at each level at which no cell has losses on both sides. The masses may
    be off by 1e-15.

    >>> from scipy.stats import norm
    >>> from dpaudit import GaussianDP
    >>> curve = optimistic_profile(lambda x: norm.cdf(x - 1), norm.cdf, np.linspace(-9, 10, 2000))
    >>> print(round(curve.delta_lower(1.0), 5), round(GaussianDP(1.0).delta(1.0), 5))
    0.12694 0.12694
    """
    cuts = np.asarray(edges, dtype=np.float64)
    if cuts.ndim != 1 or len(cuts) == 0 or not np.all(np.diff(cuts) > 0.0):
        raise ValueError(f"edges must be numbers that rise, got {edges!r}.")
    masses = (
        np.diff(np.concatenate([[0.0], np.asarray(each(cuts), dtype=np.float64), [1.0]]))
        for each in (cdf, neighbour_cdf)
    )
    likely, unlikely = masses
    if not (np.all(likely >= -_ROUNDING) and np.all(unlikely >= -_ROUNDING)):
        raise ValueError(
            "a distribution function must rise from 0 to 1. Check its values at edges."
        )
    return of_cells(np.maximum(likely - _ROUNDING, 0.0), np.maximum(unlikely, 0.0) + _ROUNDING)


def connect_the_dots(
    delta: Callable[[float], float], levels: Sequence[float], *, name: str | None = None
) -> Profile:
    """A claim above a known profile: its values at some levels, joined by chords in `e^epsilon`.

    The profile of any pair of distributions is convex in `e^epsilon`, so it lies below its chords;
    after the last level the claim stays where it is. No lower claim follows from these values alone
    (Doroshenko et al. 2022).

    >>> from dpaudit import GaussianDP
    >>> claim = connect_the_dots(GaussianDP(1.0).delta, [0.0, 0.5, 1.0, 2.0, 4.0])
    >>> print(round(claim.delta(0.5), 4), round(claim.delta(0.75), 4))
    0.2384 0.1896
    >>> print(round(GaussianDP(1.0).delta(0.5), 4), round(GaussianDP(1.0).delta(0.75), 4))
    0.2384 0.1776
    """
    if len(levels) == 0 or any(low >= high for low, high in itertools.pairwise(levels)):
        raise ValueError(f"levels must be numbers that rise, got {levels!r}.")
    return Profile(Chords(tuple((level, delta(level)) for level in levels)), name=name)
