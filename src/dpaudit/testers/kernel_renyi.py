"""The kernel Rényi tester: a Rényi divergence seen through the covariances of kernel features.

For features with `|phi| <= 1`, covariances `S_P = E_P[phi phi^T]` and an order `1 < a <= 2`,
`tr(S_P^a (S_Q + ridge I)^(1-a)) <= e^((a-1) R_a(P||Q))`. The left side is convex in the two
covariances, so each of its tangents bounds it from below, by two means of bounded functions
(docs/mathematics.md, section 7).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.bounds import bernstein_width, mean_lower, mean_reach
from dpaudit.claims import ZCDP, Claim, GaussianDP, PureDP, RenyiDP
from dpaudit.errors import UnsupportedClaim
from dpaudit.guessing import Share
from dpaudit.outputs import Table, stack
from dpaudit.testers.kernels import Points, ToPoints, median_bandwidth, radial, ranks_of
from dpaudit.testers.renyi import RenyiTester
from dpaudit.testers.tester import Finding, HeldOutTester, Method, Parts, Rng, check_choices

_BANDWIDTHS = (0.1, 0.3, 1.0)  # tried, in units of the median distance
_RIDGES = tuple(10.0 ** (-0.7 * step) for step in range(1, 8))  # tried
_LANDMARKS = 32  # training outputs of either side that span the features
_LEAST_EIGENVALUE = 1e-6  # of the kernel of the landmarks, over the largest
_ROUNDING = 1e-9  # relative to the largest slopes: more than floating-point error can add
_ROWS_AT_ONCE = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRenyi(HeldOutTester):
    """Bound a Rényi divergence from below by `log tr(S_P^a (S_Q + ridge I)^(1-a)) / (a - 1)`.

    `S_P` and `S_Q` are the covariances of kernel features of the outputs, and `order` is `a`, in
    (1, 2]. `None` is 2, or the claim's own order if that is smaller. A third of the outputs chooses
    the features (a radial kernel on ranks, projected on landmarks), the ridge and a tangent of the
    trace; the tangent is bounded on the others, at half of alpha a side. It tests Rényi,
    concentrated, Gaussian and pure DP.

    Source: Domingo-Enrich and Mroueh 2022, "Auditing differential privacy in high dimensions with
    the kernel quantum Rényi divergence". We could not confirm the constants of their concentration
    bound; the bound by tangents on held-out outputs is ours, and exact. So are the kernel, the
    landmarks and the ridges. Their test of `(epsilon, delta)`-DP is left out.

    >>> from dpaudit import PureDP
    >>> tester, rng = KernelRenyi(), np.random.default_rng(0)
    >>> found = tester.examine(np.zeros(3000), np.ones(3000), PureDP(1.0), alpha=0.025, rng=rng)
    >>> found.lower_bound > tester.threshold(PureDP(1.0)), found.strength_lower > 3.0
    (True, True)
    """

    order: float | None = None
    bound: str = "betting"
    method: ClassVar[Method] = Method(source="Domingo-Enrich and Mroueh 2022", guarantee="exact")
    _share = Share(training=1.0 / 3.0, most=8_192)

    def __post_init__(self) -> None:
        check_choices(self, bound=("betting", "bernstein", "hoeffding"))
        if self.order is not None and not 1.0 < self.order <= 2.0:
            raise ValueError(f"order must be in (1, 2], got {self.order!r}. None: the claim's.")

    def threshold(self, claim: Claim) -> float:
        """The largest divergence of this tester's order that the claim allows."""
        order = self.order_for(claim)
        if isinstance(claim, RenyiDP):  # the divergence rises with its order
            return claim.epsilon
        return RenyiTester(order=order).threshold(claim)

    def order_for(self, claim: Claim) -> float:
        """The order of the divergence that is measured for a claim."""
        if isinstance(claim, RenyiDP):
            order = min(claim.order, 2.0) if self.order is None else self.order
            if order > claim.order:
                raise UnsupportedClaim(
                    f"a tester of order {order:g} cannot test {claim}: use KernelRenyi(order="
                    f"{claim.order:g}), or leave the order out."
                )
            return order
        if isinstance(claim, PureDP | ZCDP | GaussianDP):
            return 2.0 if self.order is None else self.order
        raise UnsupportedClaim(
            f"{claim} bounds no Rényi divergence, so KernelRenyi cannot test it: use MMDTester or "
            "HockeyStickTester, or claim PureDP, RenyiDP, ZCDP or GaussianDP."
        )

    def _certify(self, parts: Parts, claim: Claim, *, alpha: float, rng: Rng) -> Finding:
        learned, held_out = parts
        order = self.order_for(claim)
        fit, choose = zip(*map(_halved, learned.sides), strict=True)
        draws = tuple(map(len, held_out.sides))
        points = ranks_of(*fit)
        options = []
        for bandwidth in _BANDWIDTHS:
            features = _Features.learned(points, fit, bandwidth)
            covariances = [each.T @ each / len(each) for each in map(features.of, fit)]
            rows = [features.of(side) for side in choose]
            for ridge in _RIDGES:
                tangent = _Tangent.at(covariances[0], covariances[1], ridge, order)
                guess = tangent.forms(rows)
                options.append((tangent.expected(guess, draws, alpha), tangent, features, guess))
        _, tangent, features, guess = max(options, key=lambda option: option[0])
        forms = tangent.forms([features.of(side) for side in held_out.sides])
        found = tangent.certified(forms, guess, alpha, self.bound)
        return self._with_strength(claim, _divergence(found, order))

    def best(self, claim: Claim, draws: int, neighbour_draws: int, *, alpha: float) -> Finding:
        """What sides that no feature confuses would give, with the best ridge."""
        order = self.order_for(claim)
        held, held_other = map(self._share.held_out, (draws, neighbour_draws))
        found = -math.inf
        if min(draws - held, neighbour_draws - held_other) >= 2:  # one to fit by, one to choose by
            miss, hit = (mean_reach(size, alpha / 2, self.bound) for size in (held, held_other))
            found = max(
                ridge ** (1.0 - order)
                * (order * (1.0 - miss) - (order - 1.0) * (1.0 + hit / ridge))
                for ridge in _RIDGES
            )
        return self._with_strength(claim, _divergence(found, order))


def _divergence(trace: float, order: float) -> float:
    return math.log(trace) / (order - 1.0) if trace > 0.0 else -math.inf


def _halved(table: Table) -> tuple[Table, Table]:
    """Rows to fit by, and rows to choose by; they come in random order."""
    cut = max(1, len(table) // 2)
    return table.take(slice(cut)), table.take(slice(cut, None))


@dataclass(frozen=True, slots=True, eq=False)
class _Features:
    """Kernel features of outputs, of norm at most 1: the part of `k(x, .)` in the landmarks' span.

    The bound rests on the norm alone, so it is made sure of, whatever the kernel.
    """

    points: ToPoints
    landmarks: Points
    bandwidth: float
    project: Floats

    @staticmethod
    def learned(points: ToPoints, sides: Sequence[Table], bandwidth: float) -> _Features:
        """Landmarks from both sides; the bandwidth is in units of their median distance."""
        table = stack([side.take(slice(_LANDMARKS)) for side in sides])
        landmarks = points(table, slice(None))
        width = bandwidth * median_bandwidth(landmarks)
        values, vectors = np.linalg.eigh(_similarities(landmarks, landmarks, width))
        kept = values > _LEAST_EIGENVALUE * values[-1]
        return _Features(points, landmarks, width, vectors[:, kept] / np.sqrt(values[kept]))

    def of(self, table: Table) -> Floats:
        """One row of features for each output."""
        parts = []
        for start in range(0, len(table), _ROWS_AT_ONCE):
            rows = self.points(table.take(slice(start, start + _ROWS_AT_ONCE)), slice(None))
            parts.append(_similarities(rows, self.landmarks, self.bandwidth) @ self.project)
        found = np.concatenate(parts) if parts else np.empty((0, self.project.shape[1]))
        norms = np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(found / np.maximum(norms, 1.0))


def _similarities(rows: Points, columns: Points, bandwidth: float) -> Floats:
    down = rows.each(lambda part: part[..., None])
    return radial(down, columns.each(lambda part: part[:, None]), bandwidth)


@dataclass(frozen=True, slots=True, eq=False)
class _Tangent:
    """A tangent of `tr(A^a B^(1-a))`: below it at all `A` and `B`, as it is convex.

    The trace is homogeneous, so the tangent is `tr(slope A) + tr(neighbour_slope B)`.
    """

    slope: Floats
    neighbour_slope: Floats
    ridge: float

    @staticmethod
    def at(first: Floats, second: Floats, ridge: float, order: float) -> _Tangent:
        """The tangent at `A = first` and `B = second + ridge I`."""
        a_values, a_vectors = np.linalg.eigh(first)
        b_values, b_vectors = np.linalg.eigh(second)
        a_values, b_values = np.maximum(a_values, 0.0), np.maximum(b_values, 0.0) + ridge
        turn = a_vectors.T @ b_vectors
        b_seen = (turn * b_values ** (1.0 - order)) @ turn.T  # B^(1-a) in the basis of A
        a_seen = (turn.T * a_values**order) @ turn
        slopes = _differences(a_values, order) * b_seen
        neighbour_slopes = _differences(b_values, 1.0 - order) * a_seen
        return _Tangent(
            a_vectors @ slopes @ a_vectors.T, b_vectors @ neighbour_slopes @ b_vectors.T, ridge
        )

    def forms(self, rows: Sequence[Floats]) -> tuple[Floats, Floats]:
        """`phi^T slope phi` of the features of both sides."""
        first, second = (
            np.einsum("ij,ij->i", each @ slope, each)
            for each, slope in zip(rows, (self.slope, self.neighbour_slope), strict=True)
        )
        return first, second

    def expected(self, forms: tuple[Floats, Floats], draws: Sequence[int], alpha: float) -> float:
        """About the bound that as many outputs as are held out should give."""
        total = self._constant()
        for form, (low, high), size in zip(forms, self._ranges(), draws, strict=True):
            if len(form) < 2:
                return -math.inf
            spread = max(high - low, 1e-300)
            width = spread * float(bernstein_width(form.var() / spread**2, size, alpha / 2.0))
            total += float(form.mean() - form.std() / math.sqrt(len(form))) - width
        return total

    def certified(
        self,
        forms: tuple[Floats, Floats],
        guesses: tuple[Floats, Floats],
        alpha: float,
        bound: str,
    ) -> float:
        """A lower bound on the trace, from the means of both forms at half of alpha each."""
        total = self._constant()
        for form, guess, (low, high) in zip(forms, guesses, self._ranges(), strict=True):
            spread = max(high - low, 1e-300)
            shares, known = (np.clip((each - low) / spread, 0.0, 1.0) for each in (form, guess))
            total += low + spread * mean_lower(shares, alpha / 2.0, bound=bound, guess=known)
        return total

    def _constant(self) -> float:
        """What the ridge adds, less all that rounding may have added."""
        largest = sum(max(-low, high) for low, high in self._ranges())
        return self.ridge * float(np.trace(self.neighbour_slope)) - _ROUNDING * largest

    def _ranges(self) -> list[tuple[float, float]]:
        """The least and the most that each form can be, as features have norm at most 1."""
        found = []
        for slope in (self.slope, self.neighbour_slope):
            values = np.linalg.eigvalsh(slope)
            found.append((min(float(values[0]), 0.0), max(float(values[-1]), 0.0)))
        return found


def _differences(values: Floats, power: float) -> Floats:
    """`(x^power - y^power) / (x - y)` of all pairs of values; the slope where they are near."""
    x, y = values[:, None], values[None]
    middle = np.maximum((x + y) / 2.0, 1e-300)
    near = np.abs(x - y) <= 1e-6 * middle
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = (x**power - y**power) / (x - y)
    return np.where(near, power * middle ** (power - 1.0), apart)
