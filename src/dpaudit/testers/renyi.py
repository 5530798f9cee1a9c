"""The Rényi tester: a lower bound on a Rényi divergence, from a function that witnesses it.

For every function `h`, `R_order(P||Q) >= order/(order-1) log E_P[u] - log E_Q[v]` with
`u = e^((order-1) h)` and `v = e^(order h)` (docs/mathematics.md, section 7). Here `h` is learned
from one part of the outputs, and the two means are bounded on the other, at half of alpha each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dpaudit.claims import ZCDP, Claim, GaussianDP, PureDP, RenyiDP
from dpaudit.errors import UnsupportedClaim
from dpaudit.guessing import Share
from dpaudit.outputs import Table
from dpaudit.testers.renyi_witness import Certifier, Scorer, best_cut, chebyshev, neural
from dpaudit.testers.tester import Finding, HeldOutTester, Method, Parts, Rng, check_choices

_TRAINING_SHARE = 1.0 / 3.0  # of the samples, from which h is learned,
_FIT_SHARE = 0.5  # and of those, to fit scores; the others choose how to cut them
_MAX_TRAINING_DRAWS = {"chebyshev": 40_000, "neural": 200_000}  # a side
_PURE_ORDER = 64.0  # the higher, the nearer to the largest loss, which is what pure DP bounds
_CONCENTRATED_ORDER = 1.1  # the lower, the steadier, and the claim holds at every order


def pure_renyi(epsilon: float, order: float) -> float:
    """The largest Rényi divergence under pure DP: that of randomized response.

    `1/(a-1) log( (sinh(a e) - sinh((a-1) e)) / sinh(e) )`, with `a` the order and `e` the epsilon.

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
    """A larger bound on the divergence under pure DP: `min(e, 2 a e^2)` (Mironov 2017, lemma 1)."""
    return min(epsilon, 2.0 * order * epsilon * epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class RenyiTester(HeldOutTester):
    """Refutes Rényi, concentrated, Gaussian and pure DP through a Rényi divergence.

    `order=None` is the claim's own order; for zCDP and Gaussian DP, which hold at all orders, 1.1;
    for pure DP 64. `witness` is what `h` may be: "chebyshev" polynomials of a degree, added over
    the columns of the outputs, or a "neural" network (needs torch). `bound` certifies the means:
    "betting", "bernstein", or "chernoff". `threshold_rule` is what pure DP allows: "sharp" or
    "mironov".

    Source: Birrell et al. 2021; Kong, Medina, Ribero and Syed 2023, "DP-Auditorium", whose bound is
    `"chernoff"`, with a factor and a maximum put right.

    >>> import numpy as np
    >>> tester, rng = RenyiTester(), np.random.default_rng(0)
    >>> outputs, others = np.zeros(2000), np.ones(2000)
    >>> finding = tester.examine(outputs, others, PureDP(1.0), alpha=0.05, rng=rng)
    >>> finding.lower_bound > tester.threshold(PureDP(1.0)), finding.strength_lower > 5.0
    (True, True)
    """

    method: ClassVar[Method] = Method(
        source="Birrell et al. 2021; Kong, Medina, Ribero and Syed 2023", guarantee="exact"
    )
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
        check_choices(
            self,
            witness=tuple(_MAX_TRAINING_DRAWS),
            bound=("betting", "bernstein", "chernoff"),
            threshold_rule=("sharp", "mironov"),
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

    @property
    def _share(self) -> Share:
        return Share(training=_TRAINING_SHARE, most=_MAX_TRAINING_DRAWS[self.witness])

    def _certify(self, parts: Parts, claim: Claim, *, alpha: float, rng: Rng) -> Finding:
        learned, held_out = parts
        order = self.order_for(claim)
        (fit, choose), (fit_other, choose_other) = map(_parted, learned.sides)
        held, held_other = held_out.sides
        certifier = Certifier(order, self.bound, alpha, len(held), len(held_other))
        expected = certifier.expected(len(choose), len(choose_other))
        options = []
        for scorer in self._scorers(fit, fit_other, order, rng):
            scores = (scorer(choose), scorer(choose_other))
            cut, bound = best_cut(scores, order, expected)
            options.append((bound, scorer, cut, (cut(scores[0]), cut(scores[1]))))
        _, scorer, cut, guess = max(options, key=lambda option: option[0])
        held_h = (cut(scorer(held)), cut(scorer(held_other)))
        found = certifier.certified(held_h, guess, cut.depth)
        return self._with_strength(claim, found)

    def best(self, claim: Claim, draws: int, neighbour_draws: int, *, alpha: float) -> Finding:
        """What these draws would certify if every output told which side it came from."""
        order = self.order_for(claim)
        held, held_other = map(self._share.held_out, (draws, neighbour_draws))
        found = -math.inf
        if min(draws - held, neighbour_draws - held_other) >= 2:  # one to fit by, one to choose by
            found = Certifier(order, self.bound, alpha, held, held_other).reach()
        return self._with_strength(claim, found)

    def _scorers(self, data: Table, neighbour: Table, order: float, rng: Rng) -> list[Scorer]:
        if self.witness == "chebyshev":
            return chebyshev(data, neighbour, self.degree)
        seed = int(rng.integers(2**63))
        return neural(data, neighbour, order, device=self.device, seed=seed)


def _parted(table: Table) -> tuple[Table, Table]:
    """Rows to fit by, and rows to choose by; they come in random order."""
    cut = int(len(table) * _FIT_SHARE)
    return table.take(slice(cut)), table.take(slice(cut, None))
