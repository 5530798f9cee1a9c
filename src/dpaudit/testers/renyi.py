"""The Rényi tester: a lower bound on a Rényi divergence, from a function that witnesses it.

For every function `h`, `R_order(P||Q) >= order/(order-1) log E_P[u] - log E_Q[v]` with
`u = e^((order-1) h)` and `v = e^(order h)`, and the log of the ratio of the densities attains it
(Birrell et al. 2021, "Variational representations and neural network estimation of Rényi
divergences"). Here `h` is learned from one part of the samples; on the other part the means of `u`
and `v`, bounded because `h` is, are bounded at half of `alpha` each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dpaudit.bounds import (
    bernstein_width,
    chernoff_slack,
    mean_lower,
    mean_reach,
    mean_upper,
    normal_quantile,
)
from dpaudit.claims import ZCDP, Claim, GaussianDP, PureDP, RenyiDP
from dpaudit.errors import UnsupportedClaim
from dpaudit.guessing import Samples, Share
from dpaudit.outputs import Table
from dpaudit.testers.batch import Examiner, Finding, refuse_if_powerless
from dpaudit.testers.renyi_witness import (
    Floats,
    Forecast,
    Moments,
    Scorer,
    best_cut,
    chebyshev,
    depths_of,
    gains,
    log_mean,
)

_TRAINING = 1.0 / 3.0  # share of the samples from which h is learned,
_FIT = 0.5  # and share of those that fit scores; the others choose how to cut them
_MOST = {"chebyshev": 40_000, "neural": 200_000}  # training samples a side
_PURE_ORDER = 64.0  # the higher, the nearer to the largest loss, which is what pure DP bounds
_CONCENTRATED_ORDER = 1.1  # the lower, the steadier, and the claim holds at every order
_ROUNDING = 1e-9

Pairing: TypeAlias = tuple[Floats, Floats]  # of data and of neighbour


def pure_renyi(epsilon: float, order: float) -> float:
    """The largest Rényi divergence under pure DP: that of randomized response.

    `1/(a-1) log( (sinh(a e) - sinh((a-1) e)) / sinh(e) )`, which is
    `1/(a-1) log( cosh((a-1/2) e) / cosh(e/2) )`.

    >>> round(pure_renyi(1.0, 2.0), 6)
    0.735326
    """
    near, excess = epsilon / 2.0, order - 1.0
    if order * epsilon < 1.0:  # cosh x - cosh y = 2 sinh((x+y)/2) sinh((x-y)/2)
        product = 2.0 * math.sinh(order * near) * math.sinh(excess * near)
        return math.log1p(product / math.cosh(near)) / excess
    short = math.exp(-epsilon) * math.expm1(-2.0 * excess * epsilon) / (1.0 + math.exp(-epsilon))
    return epsilon + math.log1p(short) / excess


def mironov(epsilon: float, order: float) -> float:
    """A simpler, larger bound on the divergence under pure DP: `min(e, 2 a e^2)`.

    Source: Mironov 2017, "Rényi differential privacy", lemma 1.

    >>> print(mironov(0.1, 2.0), mironov(1.0, 2.0))
    0.04000000000000001 1.0
    """
    return min(epsilon, 2.0 * order * epsilon * epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class RenyiTester(Examiner):
    """Refutes Rényi, concentrated, Gaussian and pure DP through a Rényi divergence.

    `order=None` is the claim's own order; for zCDP and Gaussian DP, which hold at all orders, 1.1;
    for pure DP 64. `witness` is what `h` may be: "chebyshev" polynomials of a degree, added over
    the columns of the outputs, or a "neural" network (needs torch). `bound` certifies the means:
    "betting", "bernstein", or "chernoff". `threshold_rule` is what pure DP allows: "sharp" or
    "mironov".

    >>> rng = np.random.default_rng(0)
    >>> tester = RenyiTester()
    >>> outputs, others = np.zeros(2000), np.ones(2000)
    >>> finding = tester.examine(outputs, others, PureDP(1.0), alpha=0.05, rng=rng)
    >>> finding.lower_bound > tester.threshold(PureDP(1.0)), finding.strength_lower > 5.0
    (True, True)
    """

    order: float | None = None
    witness: str = "chebyshev"
    degree: int = 12
    bound: str = "betting"
    threshold_rule: str = "sharp"
    device: str | None = None

    def __post_init__(self) -> None:
        if self.order is not None and not 1.0 < self.order < math.inf:
            raise ValueError(f"order must be a number > 1, got {self.order!r}. None: the claim's.")
        if self.degree < 1:
            raise ValueError(f"degree must be at least 1, got {self.degree!r}.")
        choices = {
            "witness": tuple(_MOST),
            "bound": ("betting", "bernstein", "chernoff"),
            "threshold_rule": ("sharp", "mironov"),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}."
                )

    def threshold(self, claim: Claim) -> float:
        """The largest divergence of this tester's order that the claim allows."""
        order = self.order_for(claim)
        if isinstance(claim, PureDP):
            rule = pure_renyi if self.threshold_rule == "sharp" else mironov
            return rule(claim.epsilon, order)
        if isinstance(claim, ZCDP):
            return claim.rho * order
        if isinstance(claim, GaussianDP):
            return order * claim.mu**2 / 2.0
        assert isinstance(claim, RenyiDP)
        return claim.epsilon

    def order_for(self, claim: Claim) -> float:
        """The order of the divergence that is measured for a claim."""
        if isinstance(claim, RenyiDP):
            if self.order is not None and self.order != claim.order:
                raise UnsupportedClaim(
                    f"a tester of order {self.order:g} cannot test {claim}: use "
                    f"RenyiTester(order={claim.order:g}), or leave the order out."
                )
            return claim.order
        if isinstance(claim, PureDP):
            return _PURE_ORDER if self.order is None else self.order
        if isinstance(claim, ZCDP | GaussianDP):
            return _CONCENTRATED_ORDER if self.order is None else self.order
        raise UnsupportedClaim(
            f"{claim} bounds no Rényi divergence, so RenyiTester cannot test it: use "
            "HockeyStickTester or HistogramTester, or claim PureDP, RenyiDP, ZCDP or GaussianDP."
        )

    def examine(
        self,
        outputs: Samples,
        neighbour_outputs: Samples,
        claim: Claim,
        *,
        alpha: float,
        rng: np.random.Generator,
    ) -> Finding:
        """Bound the divergence of the outputs from the neighbour's, and the claim's parameter."""
        if not 0.0 < alpha < 1.0:
            raise ValueError(f"alpha must be in (0, 1), got {alpha!r}.")
        order = self.order_for(claim)
        learned, held_out = self._share.part(outputs, neighbour_outputs, rng)
        refuse_if_powerless(self, claim, len(outputs), len(neighbour_outputs), alpha=alpha)
        (fit, choose), (fit_other, choose_other) = (_parted(table) for table in learned.sides)
        held, held_other = held_out.sides
        certifier = Certifier(order, self.bound, alpha, len(held), len(held_other))
        forecast = certifier.forecast(len(choose), len(choose_other))
        options = []
        for scorer in self._scorers(fit, fit_other, order, rng):
            scores = (scorer(choose), scorer(choose_other))
            cut, promised = best_cut(scores, order, forecast)
            options.append((promised, scorer, cut, (cut(scores[0]), cut(scores[1]))))
        _, scorer, cut, guess = max(options, key=lambda option: option[0])
        held_h = (cut(scorer(held)), cut(scorer(held_other)))
        found = certifier.certified(held_h, guess, cut.depth)
        return Finding(lower_bound=found, strength_lower=self._strength(claim, found))

    def best(self, claim: Claim, draws: int, neighbour_draws: int, *, alpha: float) -> Finding:
        """What so many draws would certify if the two sides could be told apart at a glance."""
        order = self.order_for(claim)
        held, held_other = map(self._share.held_out, (draws, neighbour_draws))
        found = -math.inf
        if min(draws - held, neighbour_draws - held_other) >= 2:  # one to fit by, one to choose by
            found = Certifier(order, self.bound, alpha, held, held_other).reach()
        return Finding(lower_bound=found, strength_lower=self._strength(claim, found))

    @property
    def _share(self) -> Share:
        return Share(training=_TRAINING, most=_MOST[self.witness])

    def _scorers(
        self, data: Table, neighbour: Table, order: float, rng: np.random.Generator
    ) -> list[Scorer]:
        if self.witness == "chebyshev":
            return chebyshev(data, neighbour, self.degree)
        from dpaudit.testers.neural_renyi import neural

        seed = int(rng.integers(2**63))
        return neural(data, neighbour, order, device=self.device, seed=seed)

    def _strength(self, claim: Claim, divergence: float) -> float:
        """The largest parameter of the claim that a divergence refutes; 0 if it refutes none."""
        order = self.order_for(claim)
        if divergence <= 0.0:
            return 0.0
        if isinstance(claim, ZCDP):
            return divergence / order
        if isinstance(claim, GaussianDP):
            return math.sqrt(2.0 * divergence / order)
        if isinstance(claim, PureDP):
            low, high = divergence, 2.0 * divergence  # no divergence exceeds epsilon
            while self.threshold(PureDP(high)) <= divergence:
                low, high = high, 2.0 * high
            for _ in range(60):
                middle = (low + high) / 2.0
                refuted = self.threshold(PureDP(middle)) < divergence
                low, high = (middle, high) if refuted else (low, middle)
            return low
        return divergence


def _parted(table: Table) -> tuple[Table, Table]:
    """Rows to fit by, and rows to choose by; they come in random order."""
    cut = int(len(table) * _FIT)
    return table.take(slice(cut)), table.take(slice(cut, None))


@dataclass(frozen=True, slots=True)
class Certifier:
    """Bounds a divergence from held-out draws: what it certifies, would certify, could certify."""

    order: float
    bound: str
    alpha: float
    draws: int
    neighbour_draws: int

    def certified(self, held: Pairing, guess: Pairing, depth: float) -> float:
        """The bound, from `h` on held-out rows of both sides; `guess` is `h` on earlier rows."""
        u, v = self._gains(held, depth)
        if self.bound == "chernoff":
            found = self._divergence(u.mean(), v.mean(), depth) - self._penalty(depth)
        else:
            earlier_u, earlier_v = self._gains(guess, depth)
            lower = mean_lower(u, self.alpha / 2.0, bound=self.bound, guess=earlier_u)
            upper = mean_upper(v, self.alpha / 2.0, bound=self.bound, guess=earlier_v)
            found = self._divergence(lower, upper, depth)
        return float(found) - _ROUNDING

    def forecast(self, seen: int, other_seen: int) -> Forecast:
        """What cuts may be expected to certify, from the moments of `u` and `v` on earlier rows.

        "betting" comes out about a tenth wider than the normal approximation. The standard error of
        the moments themselves counts too, lest a cut be chosen for the luck of a few rows.
        """
        half = self.alpha / 2.0
        width = 1.1 * normal_quantile(half)
        least = -math.log(half) / self.neighbour_draws + 0.5 / other_seen

        def betting(u: Moments, v: Moments, depths: Floats) -> Floats:
            lower = u[0] - np.sqrt(u[1]) * (width / math.sqrt(self.draws) + 1.0 / math.sqrt(seen))
            other = width / math.sqrt(self.neighbour_draws) + 1.0 / math.sqrt(other_seen)
            return self._divergence(lower, v[0] + np.sqrt(v[1]) * other + least, depths)

        def bernstein(u: Moments, v: Moments, depths: Floats) -> Floats:
            lower = u[0] - bernstein_width(u[1], self.draws, half)
            upper = v[0] + bernstein_width(v[1], self.neighbour_draws, half)
            return self._divergence(lower, upper, depths)

        def chernoff(u: Moments, v: Moments, depths: Floats) -> Floats:
            return self._divergence(u[0], v[0], depths) - self._penalty(depths)

        return {"betting": betting, "bernstein": bernstein, "chernoff": chernoff}[self.bound]

    def reach(self) -> float:
        """The most that can be certified: when `u` is always 1, and `v` as small as it can be."""
        depths = depths_of(self.order)
        if self.bound == "chernoff":
            return float(np.max(self._divergence(1.0, 0.0, depths) - self._penalty(depths)))
        short, most = (
            mean_reach(draws, self.alpha / 2.0, self.bound)
            for draws in (self.draws, self.neighbour_draws)
        )
        return float(np.max(self._divergence(1.0 - short, most, depths)))

    def _gains(self, h: Pairing, depth: float) -> Pairing:
        return gains(h[0], self.order - 1.0, depth), gains(h[1], self.order, depth)

    def _divergence(self, u: Floats | float, v: Floats | float, depth: Floats | float) -> Floats:
        """`order/(order-1) log E_P[u] - log E_Q[v]`, from the means of their `gains`."""
        shares = np.clip(u, 0.0, 1.0), np.clip(v, 0.0, 1.0)
        first, second = (
            log_mean(share, rate, depth)
            for share, rate in zip(shares, (self.order - 1.0, self.order), strict=True)
        )
        return np.asarray(self.order / (self.order - 1.0) * first - second)

    def _penalty(self, depth: Floats | float) -> Floats:
        """`order/(order-1) log(1 + eta1) - log(1 - eta2)`, infinite where Chernoff says nothing.

        `depth = 2C`, so that `eta1 = sqrt(3 e^(2(order-1)C) log(2/alpha)/n)` and
        `eta2 = sqrt(2 e^(2 order C) log(2/alpha)/n)`.
        """
        first, second = (
            chernoff_slack(np.exp(-rate * np.asarray(depth)), draws, self.alpha / 2.0, upper=upper)
            for rate, draws, upper in (
                (self.order - 1.0, self.draws, False),
                (self.order, self.neighbour_draws, True),
            )
        )
        with np.errstate(invalid="ignore"):
            found = self.order / (self.order - 1.0) * np.log1p(first) - np.log1p(-second)
        return np.where(np.isinf(first) | np.isinf(second), np.inf, found)
