"""One wealth for the whole audit: what the bets on many pairs are worth together.

A pair takes part with a fraction `f` of the wealth, and only once its bets have earned `entry` nats
on paper (virtual bets, reckoned with the same payoffs, cost nothing but the draws):

    wealth = product over pairs of (1 - f + f * V_now / V_entry)

Bets are placed on one pair at a time and `f` and the entry are fixed beforehand, so under the claim
every factor has mean at most 1 and the product is one supermartingale, however the pairs are chosen
(MATH, section 2). A pair that shows nothing never enters and costs nothing; one that enters by luck
can lose the fraction `f`.

Verdict and bound share one alpha. A level is refuted together with all below it or not at all, so
whatever is false in the end, the lowest level that holds was refuted by its own wealth. A mechanism
that keeps a level below the claim keeps the claim too, so the wealth of that level may be a mean of
its own bets' and the claim's: a claim that is refuted by far never waits for the levels below.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_OWN = 0.4  # the share of its own bets in the wealth of a level below the claim


class Stake:
    """What one pair contributes to the wealth, level by level."""

    def __init__(self, levels: int, *, fraction: float, entry: float) -> None:
        self._fraction = fraction
        self._entry = entry
        self._entered = np.full(levels, entry <= 0.0)
        self._at = np.zeros(levels)  # the pair's log-wealth when it entered

    def admit(self, log_wealth: Floats) -> None:
        """Let in the levels whose paper wealth has earned the entry. Call between batches only."""
        new = ~self._entered & (log_wealth >= self._entry)
        self._at[new] = log_wealth[new]
        self._entered |= new

    def log_factor(self, log_wealth: Floats) -> Floats:
        """The factor of this pair in the wealth, given its own wealth now."""
        gain = np.where(self._entered, log_wealth - self._at, 0.0)
        if self._fraction == 1.0:
            return np.asarray(gain)
        return np.asarray(np.logaddexp(np.log1p(-self._fraction), np.log(self._fraction) + gain))

    def wealth_needed(self, level: int, log_factor: float) -> float:
        """The pair's log-wealth at which its factor reaches `log_factor`; inf if it cannot."""
        if not self._entered[level]:
            return np.inf
        if self._fraction == 1.0:
            return float(self._at[level] + log_factor)
        gain = (np.exp(min(log_factor, 700.0)) - 1.0 + self._fraction) / self._fraction
        return float(self._at[level] + np.log(gain)) if gain > 0.0 else -np.inf


class Account:
    """The wealth of the audit at every level, and the levels it has refuted."""

    def __init__(self, levels: int, place: int, alpha: float) -> None:
        self._place = place
        self.goal = float(np.log(1.0 / alpha))
        self._factors: dict[int, Floats] = {}
        self._total = np.zeros(levels)
        self._peak = np.zeros(levels)

    @property
    def log_wealth(self) -> float:
        """The log-wealth of the bets against the claim itself."""
        return float(self._total[self._place])

    @property
    def claim_peak(self) -> float:
        """The largest log-wealth against the claim itself."""
        return float(self._peak[self._place])

    @property
    def settled(self) -> int:
        """How many of the lowest levels have been refuted, with none left out."""
        reached = self._peak >= self.goal
        return int(np.argmin(reached)) if not reached.all() else len(reached)

    @property
    def refuted(self) -> bool:
        """Whether the wealth has reached `1/alpha` at the claim and at every level below it."""
        return self.settled > self._place

    def target(self, pair: int, stake: Stake) -> float:
        """The log-wealth that a pair must reach on the claim's bets to refute the claim."""
        if self.refuted:
            return np.inf  # reached before
        others = self._total[self._place] - self._factor(pair)[self._place]
        return stake.wealth_needed(self._place, self._claim_goal - others)

    def update(self, pair: int, factor: Floats, *, crossed: bool) -> None:
        """Enter the factor of a pair after a batch; `crossed`: the claim's target was reached."""
        reached = self._claim_goal if crossed else -np.inf
        self._total = self._total - self._factor(pair) + factor
        self._factors[pair] = factor
        wealth = self._total.copy()
        wealth[self._place] = max(wealth[self._place], reached)
        claim, below = np.log1p(-_OWN) + wealth[self._place], slice(self._place)
        wealth[below] = np.logaddexp(claim, np.log(_OWN) + wealth[below])
        self._peak = np.maximum(self._peak, wealth)

    @property
    def _claim_goal(self) -> float:
        """The log-wealth to look for in a batch: where the claim alone settles what is open."""
        waiting = self._peak[self._place] >= self.goal
        return self.goal - float(np.log1p(-_OWN)) + 1e-9 if waiting else self.goal

    def _factor(self, pair: int) -> Floats:
        return self._factors.get(pair, np.zeros_like(self._total))
