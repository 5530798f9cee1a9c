"""The largest epsilon that can be certified on one pair with a given number of draws.

Some of the draws teach several readers to tell the sides apart, others choose one of them and what
a guess of it is worth, and all that are left are guessed and counted: one exact bound at the end.
Readers may learn from both sides with the same random numbers, where fewer draws then do: an eighth
of all, otherwise a third. What is counted is drawn independently, always. Where an audit asks
whether a claim holds, and may stop at any time, this asks for a number, once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.auditing.arguments import check_alpha, check_budget, check_floats, entropy_of
from dpaudit.auditing.measured_draws import Source
from dpaudit.auditing.paired_correlation import paired_correlation
from dpaudit.bounds import percent_below, round_down
from dpaudit.guessing import GuessCounts, GuessRule, best_rule, candidates_for, most_likely
from dpaudit.mechanism import Mechanism, OnError, with_errors
from dpaudit.neighbours import Pair
from dpaudit.outputs import Encoder, FloatView

DEFAULT_SAMPLES = 1_000_000
FEWEST_SAMPLES = 1_000
_MOST_LEARNED, _MOST_CHOOSING = 3_000_000, 1_000_000
_PILOT = 20_000  # draws that show whether twins are worth more than strangers
_KIN = 0.5  # correlation of twins from which on they are: a score of them varies half as much


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shares:
    """How much of all draws is learned from, and how much chooses a reader."""

    to_learn: float
    to_choose: float


_AS_STRANGERS = _Shares(to_learn=0.2, to_choose=0.12)
_AS_TWINS = _Shares(to_learn=0.08, to_choose=0.04)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpsilonBound:
    """A lower bound on epsilon: with probability `1 - alpha` no smaller epsilon holds on the pair.

    Of `guesses` outputs that were judged by a rule fixed beforehand, `right` came from the side
    that the rule named. `counts` has both for each stake: sure guesses count more.
    """

    mechanism: str
    pair: Pair
    epsilon_lower: float
    alpha: float
    rule: str
    counts: GuessCounts
    counted: int
    samples: int
    seconds: float
    rng_seed: int

    @property
    def right(self) -> int:
        """How many guesses were right, whatever their stakes."""
        return sum(self.counts.right)

    @property
    def guesses(self) -> int:
        """How many outputs were guessed, whatever the stakes."""
        return sum(self.counts.guesses)

    def __str__(self) -> str:
        return (
            f"{self.mechanism}: epsilon >= {round_down(self.epsilon_lower, 4):.4g} "
            f"with {percent_below(self.alpha)} % confidence "
            f"({self.right} of {self.guesses} guesses were right; {self.samples} draws)"
        )


def measure_epsilon(
    mechanism: Callable[..., object] | Mechanism,
    data: Any,
    neighbour: Any,
    *,
    alpha: float = 0.05,
    samples: int | None = None,
    rng: np.random.Generator | int | None = None,
    floats: FloatView = "real",
    on_error: OnError = "output",
    progress: Callable[[int, int], None] | None = None,
) -> EpsilonBound:
    """Certify the largest epsilon of pure DP that the draws allow, on one pair of datasets.

    The bound is above the true epsilon of the mechanism with probability at most `alpha`. All
    `samples` (a million if not given) are drawn; those that are counted, on either side as a fair
    coin says, each from random numbers of its own. `progress` is called with the draws made and
    wanted. The same `rng` gives the same bound. With `floats="bits"` how floats are rounded counts
    too; otherwise a float is a real number. An error is an output, unless every draw raises:
    `on_error` is that of `dpaudit.audit`. Draws that depend on each other bound nothing: then
    `DependentDraws` is raised.

    >>> import numpy as np, dpaudit
    >>> def count(data, size, rng):
    ...     return len(data) + rng.laplace(scale=1.0, size=size)
    >>> bound = dpaudit.measure_epsilon(count, [0.0], [], alpha=0.001, samples=50_000, rng=7)
    >>> bool(0.9 < bound.epsilon_lower < 1.0)
    True
    """
    check_alpha(alpha)
    check_budget(samples, None)
    check_floats(floats)
    total = DEFAULT_SAMPLES if samples is None else int(samples)
    if total < FEWEST_SAMPLES:
        raise ValueError(f"samples must be at least {FEWEST_SAMPLES}, got {samples!r}.")
    start, entropy = time.perf_counter(), entropy_of(rng)
    subject = with_errors(mechanism, on_error)
    source = Source(
        subject,
        Pair(data, neighbour),
        entropy=entropy,
        total=total,
        encoder=Encoder(floats=floats),
        progress=progress,
    )
    name, rule = _chosen(source, total, float(alpha))
    counted = total - source.made
    counts = _count(rule, source, counted)
    source.watch.close()
    return EpsilonBound(
        mechanism=subject.name,
        pair=source.pair,
        epsilon_lower=counts.epsilon_lower(float(alpha)),
        alpha=float(alpha),
        rule=name,
        counts=counts,
        counted=counted,
        samples=total,
        seconds=time.perf_counter() - start,
        rng_seed=entropy,
    )


def _count(rule: GuessRule, source: Source, draws: int) -> GuessCounts:
    """Guess so many draws; `DependentDraws` if the right guesses come in clusters."""
    counts = GuessCounts()
    data: list[tuple[int, int]] = []  # right guesses and draws of each call
    neighbour: list[tuple[int, int]] = []
    for drawn in source.draw(draws):
        for table, is_data, calls in zip(
            drawn.sides, (True, False), (data, neighbour), strict=True
        ):
            if len(table) > 0:
                one = rule.count(table, np.full(len(table), is_data))
                counts += one
                calls.append((sum(one.right), len(table)))
    source.watch.refuse_frozen()
    source.watch.independence.count("the guess is right", data, neighbour)
    return counts


def _chosen(source: Source, total: int, alpha: float) -> tuple[str, GuessRule]:
    """Fit several guessers; the name and rule of the one chosen by draws that none has learned."""
    pilot = source.learn(min(int(_AS_TWINS.to_learn * total) // 2, _PILOT), twins=True)
    twins = paired_correlation(pilot) >= _KIN
    shares = _AS_TWINS if twins else _AS_STRANGERS
    to_learn = min(int(shares.to_learn * total), _MOST_LEARNED)
    to_choose = min(int(shares.to_choose * total), _MOST_CHOOSING)
    seen = source.learn(to_learn - source.made, twins=twins)
    fresh = source.draw(to_choose, twins=twins)
    guesser, odds, known = most_likely(candidates_for(seen.table), seen, fresh)
    draws = total - source.made
    return guesser.name, best_rule(guesser, odds, known.table, draws=draws, alpha=alpha)
