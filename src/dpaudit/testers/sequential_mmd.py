"""The sequential MMD test: bets on a kernel witness that learns from pair to pair."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.claims import Claim
from dpaudit.outputs import Table
from dpaudit.testers.kernels import Points, as_they_are, median_bandwidth, radial
from dpaudit.testers.sequential import PairByPair, check_pairs
from dpaudit.testers.tester import Method

_ROOT2 = math.sqrt(2.0)
_BLOCK = 128  # pairs whose kernels are computed together
_BEYOND_DOUBT = 100.0  # the log of a wealth after which no more pairs are looked at
_RADIUS = 1.0 - 1e-6  # of the ball of witnesses: with rounding they stay within 1, because
_LEAST_GRADIENTS = 1e-4  # bounds the steps along gradients that are mostly rounding
_NEWTON_FACTOR = 2.0 / (2.0 - math.log(3.0))  # Cutkosky and Orabona 2018, theorem 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialMMD(PairByPair):
    """Bet, pair by pair, that a witness tells the sides further apart than the claim allows.

    The wealth is multiplied by `1 + stake (f(x) - f(y) - tau)` on each pair `(x, y)`. The claim
    allows `tau = sqrt(2) delta(0)`, which is `sqrt(2) (e^epsilon - 1 + 2 delta)/(e^epsilon + 1)`
    for `(epsilon, delta)`-DP; any other profile is allowed as much as its `delta(0)` says. The
    witness `f` climbs in the unit ball of a radial kernel by online gradient ascent, the stake by
    online Newton steps within `[0, 1/(8 + 4 tau)]`. The kernel is as wide as `bandwidth` times the
    median distance within the first `burn_in` pairs, which are not bet on. The claim is accused
    when the wealth reaches `1/alpha`: the lower bound is the logarithm of the largest wealth less
    `log(1/alpha)`, and the threshold 0 (docs/mathematics.md, section 7).

    A pair costs as many kernels as there were pairs before it; `most_pairs` bounds how many are
    looked at. They come in the order in which they are given, and `rng` is not used. The test is
    symmetric in the two sides.

    Source: González, Dulce-Rubio, Ramdas and Ribero 2025, "Sequentially auditing differential
    privacy". The step of the ascent, `sqrt(2) / sqrt(sum of squared gradients)` (Orabona 2019, "A
    modern introduction to online learning", section 4.2), a bandwidth of just the median, and the
    start of the Newton steps are standard choices that we could not compare with theirs. Words, NaN
    and infinities are atoms of the kernel, which is ours too.

    >>> from dpaudit import PureDP
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 500))
    >>> tester, claim = SequentialMMD(), PureDP(0.1)
    >>> tester.pairs_until_accused(x + 2.0, y, claim, alpha=0.05, rng=rng) < 200
    True
    >>> tester.pairs_until_accused(x, y, claim, alpha=0.05, rng=rng) is None
    True
    """

    burn_in: int = 20
    bandwidth: float = 1.0
    most_pairs: int = 10_000
    method: ClassVar[Method] = Method(
        source="González, Dulce-Rubio, Ramdas and Ribero 2025", guarantee="exact"
    )

    def __post_init__(self) -> None:
        check_pairs("burn_in", self.burn_in)
        check_pairs("most_pairs", self.most_pairs)
        if not 0.0 < self.bandwidth < math.inf:
            raise ValueError(f"bandwidth must be a number > 0, got {self.bandwidth!r}.")

    def _evidence(self, rows: Table, claim: Claim, *, alpha: float) -> Iterator[float]:
        tau, needed = _ROOT2 * claim.delta(0.0), math.log(1.0 / alpha)
        points, pairs = as_they_are(rows), len(rows) // 2
        start = min(self.burn_in, pairs)
        yield from [-needed] * start
        width = self.bandwidth * median_bandwidth(points.part(slice(2 * start)))
        ascent, stake = _Ascent(pairs), _NewtonStake(1.0 / (8.0 + 4.0 * tau))
        log_wealth = 0.0
        for block in range(start, pairs, _BLOCK):
            stop = min(block + _BLOCK, pairs)
            products = _products(points, start, block, stop, width)
            for gain in ascent.gains(products):
                payoff = gain - tau
                log_wealth += math.log1p(stake.stake * payoff)
                stake.learn(payoff)
                yield log_wealth - needed
                if log_wealth > max(_BEYOND_DOUBT, needed):
                    return


def _products(points: Points, start: int, block: int, stop: int, width: float) -> Floats:
    """`<g_t, g_i>`, `g_t = k(x_t, .) - k(y_t, .)`, for t in [block, stop) and i in [start, stop).

    They are all that the ascent needs: `f_t(x_t) - f_t(y_t)` is the product of `f_t` and `g_t`, and
    `f_t` is a sum of earlier `g_i`.
    """
    late = points.part(slice(2 * block, 2 * stop)).each(lambda part: part[..., None])
    early = points.part(slice(2 * start, 2 * stop)).each(lambda part: part[:, None])
    alike = radial(late, early, width)
    across = alike[:, 0::2] - alike[:, 1::2]
    return np.asarray(across[0::2] - across[1::2])


class _Ascent:
    """Online gradient ascent of `E f(x) - E f(y)` in the ball of a kernel's functions.

    `f_1 = 0` and `f_t+1` is `f_t + sqrt(2) / sqrt(sum_i |g_i|^2) g_t`, brought back into the ball.
    A rounding error of 1e-16 in `|g_t|^2` moves the squared norm of `f` by at most 1e-11 a pair.
    """

    def __init__(self, pairs: int) -> None:
        self._weights = np.zeros(pairs)  # f is the sum of weights times g
        self._seen = 0
        self._squared_norm = 0.0  # of f
        self._gradients = _LEAST_GRADIENTS  # and the sum of their squared norms

    def gains(self, products: Floats) -> Iterator[float]:
        """`f_t(x_t) - f_t(y_t)` for the pairs of a block, each before it is learned."""
        first, scale = self._seen, 1.0  # f is `scale` times the sum, until the block ends
        known = products[:, :first] @ self._weights[:first]
        for row, before in zip(products, known.tolist(), strict=True):
            new = self._weights[first : self._seen]
            gain = scale * (before + float(row[first : self._seen] @ new))
            yield gain
            size = max(float(row[self._seen]), 0.0)
            self._gradients += size
            step = _ROOT2 / math.sqrt(self._gradients)
            self._weights[self._seen] = step / scale
            self._seen += 1
            self._squared_norm += step * (2.0 * gain + step * size)
            if self._squared_norm > _RADIUS**2:
                scale *= _RADIUS / math.sqrt(self._squared_norm)
                self._squared_norm = _RADIUS**2
        self._weights[: self._seen] *= scale


class _NewtonStake:
    """Online Newton steps on `log(1 + stake payoff)`, within `[0, most]`."""

    def __init__(self, most: float) -> None:
        self.stake = 0.0
        self._most = most
        self._curvature = 1.0

    def learn(self, payoff: float) -> None:
        """Step along the slope of the log payoff, by the inverse of the squared slopes so far."""
        slope = payoff / (1.0 + self.stake * payoff)
        self._curvature += slope * slope
        step = _NEWTON_FACTOR * slope / self._curvature
        self.stake = min(max(self.stake + step, 0.0), self._most)
