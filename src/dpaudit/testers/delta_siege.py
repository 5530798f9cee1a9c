"""Delta-Siege: the event that breaks the whole frontier of a noise, not one point of it.

What it refutes, and under which null, is in docs/mathematics.md, section 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dpaudit.arrays import Floats, Labels
from dpaudit.bounds import proportion_lower, proportion_upper
from dpaudit.claims import ApproxDP, Claim, GaussianDP
from dpaudit.errors import UnsupportedClaim
from dpaudit.guessing import LabelledRows, Share, learn
from dpaudit.testers.event_bound import allowed, curve_finding, exact, exp
from dpaudit.testers.event_choice import strongest
from dpaudit.testers.logistic import PlainLogistic
from dpaudit.testers.tester import Finding, HeldOutTester, Method, Parts, Rng, check_choices

_FIT_SHARE = 0.5  # of the training outputs; the others choose the threshold
_STEP = 0.01  # of the outputs of a side between two thresholds tried, as published
_DOUBT = 0.05  # alpha of each bound by which thresholds are compared, as published
_RIDGE = 1e-4  # as published
_HALVINGS = 60
_MOST = 1e6  # no noise is smaller, and no epsilon larger, that is looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaSiege(HeldOutTester):
    """Search the event that refutes the largest strength of a claim, at any level of its profile.

    All `(epsilon, delta)` that one noise gives form a frontier. An event may break it far from the
    point at which the noise was asked for, so it is chosen by the strength that it refutes
    anywhere: a classifier scores outputs, thresholds at every hundredth of either side are compared
    by bounds of Clopper and Pearson at 90 % confidence, and the best is bounded on fresh outputs.

    The frontier is the claim's own privacy profile: for `GaussianDP(mu)` that of Gaussian noise
    with the deviation `sensitivity / mu`. As published, an `(epsilon, delta)` claim is read as that
    of the Gaussian mechanism with the least noise that keeps it (Balle and Wang 2018). That is more
    than it says, and would accuse mechanisms of another kind that keep it; here it is tested at its
    own point. Who means the noise claims `GaussianDP(gaussian_mu(claim))`.

    `features` says what the logistic regression sees: `"values"`, the standardised numbers; or
    `"bits"`, as published, the 64 bits of each of the first 16 numbers. Bits are not the default,
    because noise that keeps a claim as a real number mostly breaks it as a float, and an audit asks
    about real numbers unless it is told otherwise.

    A seventh of the outputs learns, one chooses the threshold and five certify, as published. The
    published code also takes the better of the two directions; an audit halves alpha for them.

    Source: Lokna, Paradis, Dimitrov and Vechev 2023, "Group and attack: auditing differential
    privacy".

    >>> rng = np.random.default_rng(0)
    >>> ones, zeros = 1.0 + rng.normal(size=20_000), rng.normal(size=20_000)
    >>> finding = DeltaSiege().examine(ones, zeros, GaussianDP(0.5), alpha=0.05, rng=rng)
    >>> finding.lower_bound > 0.0, 0.8 < finding.strength_lower < 1.0
    (True, True)
    """

    features: Literal["values", "bits"] = "values"
    method: ClassVar[Method] = Method(
        source="Lokna, Paradis, Dimitrov and Vechev 2023, Delta-Siege", guarantee="exact"
    )
    _share = Share(training=2.0 / 7.0, most=2_000_000)

    def __post_init__(self) -> None:
        check_choices(self, features=("bits", "values"))

    def threshold(self, claim: Claim) -> float:
        """The claim's delta; 0 for a profile, of which the excess is bounded."""
        return allowed(claim)

    def _certify(self, parts: Parts, claim: Claim, *, alpha: float, rng: Rng) -> Finding:
        learned, held_out = parts
        fit, rest = learned.parted(_FIT_SHARE)
        model = PlainLogistic(features=self.features, ridge=_RIDGE)
        guesser = learn(model, fit, device=None, rng=rng)
        cut = self._threshold(guesser.log_odds(rest.table), rest, claim)
        held = guesser.log_odds(held_out.table) > cut
        counts = [int(np.count_nonzero(held & side)) for side in _sides(held_out.labels)]
        draws = [int(np.count_nonzero(side)) for side in _sides(held_out.labels)]
        return _finding(counts, draws, claim, alpha=alpha)

    def best(self, claim: Claim, draws: int, neighbour_draws: int, *, alpha: float) -> Finding:
        """What is certified if every held-out output of the data hits, and no other does."""
        n, m = self._share.held_out(draws), self._share.held_out(neighbour_draws)
        return _finding([n, 0], [n, m], claim, alpha=alpha)

    def _threshold(self, scores: Floats, rows: LabelledRows, claim: Claim) -> float:
        """The score above which outputs are expected to refute the largest strength."""
        data, neighbour = (np.sort(scores[side]) for side in _sides(rows.labels))
        tried = np.unique(np.concatenate([_spaced(data), _spaced(neighbour)]))
        hits, others = (
            len(side) - np.searchsorted(side, tried, side="right") for side in (data, neighbour)
        )
        p = proportion_lower(hits, len(data), _DOUBT)
        q = proportion_upper(others, len(neighbour), _DOUBT)
        _, best = strongest(claim, lambda level: np.asarray(p - exp(level) * q))
        return float(tried[best])


def _finding(hits: list[int], draws: list[int], claim: Claim, *, alpha: float) -> Finding:
    counts = np.array(hits)
    return curve_finding(claim, exact(counts[:1], draws[0], counts[1:], draws[1], alpha=alpha))


def gaussian_mu(claim: ApproxDP) -> float:
    """The `mu` of the least Gaussian noise that keeps an `(epsilon, delta)` claim; no less than it.

    >>> claim = ApproxDP(1.0, GaussianDP(0.7).delta(1.0))
    >>> print(round(gaussian_mu(claim), 9))
    0.7
    """
    epsilon, delta = claim.point
    if delta == 0.0:
        raise UnsupportedClaim(f"no Gaussian noise keeps {claim}: give a delta above 0.")
    low, high = 0.0, 1.0
    while GaussianDP(high).delta(epsilon) <= delta and high < _MOST:
        low, high = high, 2.0 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if GaussianDP(middle).delta(epsilon) <= delta else (low, middle)
    return high


def _sides(labels: Labels) -> tuple[Labels, Labels]:
    return labels, ~labels


def _spaced(ordered: Floats) -> Floats:
    """Every hundredth of some ordered scores, from the highest."""
    return ordered[::-1][:: max(int(_STEP * len(ordered)), 1)]
