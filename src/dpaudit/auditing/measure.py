"""The largest epsilon that can be certified on one pair with a given number of draws.

Some of the draws train several guessers to tell the sides apart, others choose one of them and how
much its guesses weigh, and the rest are guessed and counted: one exact bound at the end. Where an
audit asks whether a claim holds, and may stop at any time, this asks for a number, once.

Guessers may learn from *paired draws*: outputs of both sides that share their random numbers. Where
noise moves both sides alike, it cancels out of what tells them apart, and far fewer draws train as
well (common random numbers: Glasserman and Yao 1992). That holds for noise that is added; it fails
for bits that are flipped, and for libraries with random numbers of their own. So a pilot measures
it. What is counted is always drawn independently.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dpaudit.auditing.run import check_alpha, check_budget, check_floats, entropy_of
from dpaudit.bounds import percent_below, round_down
from dpaudit.guessing import (
    BalancedLinear,
    GuessCounts,
    GuessRule,
    LabelledRows,
    as_known,
    best_rule,
    candidates_for,
    most_likely,
)
from dpaudit.mechanism import (
    Caller,
    Mechanism,
    OnError,
    PendingBatch,
    UserFramesFirst,
    Watch,
    ask_labelled,
    ask_paired,
    asked_ahead,
    caller_for,
    with_errors,
)
from dpaudit.neighbours import Pair
from dpaudit.outputs import Encoder, FloatView, stack
from dpaudit.report import counts_followed

DEFAULT_SAMPLES = 1_000_000
MIN_SAMPLES = 1_000
_MAX_TRAINING_DRAWS, _MAX_CHOOSING_DRAWS = 3_000_000, 1_000_000
_MAX_PILOT_DRAWS = 20_000  # that show whether paired draws train better
_USEFUL_CORRELATION = 0.5  # of paired draws: a score of them varies half as much
_CALL_DRAWS = 65_536
_MIN_CALLS = 32  # on each side: draws are compared between calls


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shares:
    """How much of all draws trains the guessers, and how much chooses one of them."""

    training: float
    choosing: float


_INDEPENDENT = _Shares(training=0.2, choosing=0.12)
_PAIRED = _Shares(training=0.08, choosing=0.04)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpsilonBound:
    """A lower bound on epsilon: with probability `1 - alpha` no smaller epsilon holds on the pair.

    A rule that was fixed beforehand guessed the side of `guesses` outputs, and `right` of the
    guesses were right. `counts` has both numbers for each weight: surer guesses weigh more.
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
        """How many guesses were right, whatever their weights."""
        return sum(self.counts.right)

    @property
    def guesses(self) -> int:
        """How many outputs were guessed, whatever the weights."""
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
    workers: int | None = None,
    executor: Any = None,
    progress: Callable[[int, int], None] | Literal[False] | None = None,
) -> EpsilonBound:
    """Certify the largest epsilon of pure DP that the draws allow, on one pair of datasets.

    The bound exceeds the true epsilon of the mechanism with probability at most `alpha`. All
    `samples` (a million if not given) are drawn. The same `rng` gives the same bound. With
    `floats="bits"` how floats are rounded counts too; otherwise a float is a real number. An error
    is an output, unless every draw raises one: `on_error`, `workers` and `executor` are those of
    `dpaudit.audit`. Draws that depend on each other bound nothing: then `DependentDraws` is raised.
    A live line shows the progress, as with `dpaudit.audit`, unless `progress` is False, or a
    function of the draws made and wanted.

    >>> import numpy as np, dpaudit
    >>> def count(data, size, rng):
    ...     return len(data) + rng.laplace(scale=1.0, size=size)
    >>> bound = dpaudit.measure_epsilon(count, [0.0], [], alpha=0.001, samples=50_000, rng=7)
    >>> bool(0.9 < bound.epsilon_lower < 1.0)
    True
    """
    check_alpha(alpha)
    check_budget(samples)
    check_floats(floats)
    total = DEFAULT_SAMPLES if samples is None else int(samples)
    if total < MIN_SAMPLES:
        raise ValueError(f"samples must be at least {MIN_SAMPLES}, got {samples!r}.")
    start, entropy = time.perf_counter(), entropy_of(rng)
    subject = with_errors(mechanism, on_error)
    who = caller_for(subject, workers=workers, executor=executor)
    with UserFramesFirst(), who as caller, counts_followed(progress) as told:
        source = _LabelledDraws(
            subject,
            Pair(data, neighbour),
            caller,
            entropy=entropy,
            total=total,
            encoder=Encoder(floats=floats),
            progress=told,
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


def _chosen(source: _LabelledDraws, total: int, alpha: float) -> tuple[str, GuessRule]:
    """Train several guessers, and choose one by draws that none of them was trained on."""
    pilot = source.learn(min(int(_PAIRED.training * total) // 2, _MAX_PILOT_DRAWS), paired=True)
    paired = paired_correlation(pilot) >= _USEFUL_CORRELATION
    shares = _PAIRED if paired else _INDEPENDENT
    training = min(int(shares.training * total), _MAX_TRAINING_DRAWS)
    choosing = min(int(shares.choosing * total), _MAX_CHOOSING_DRAWS)
    seen = source.learn(training - source.made, paired=paired)
    fresh = source.draw(choosing, paired=paired)
    guesser, odds, known = most_likely(candidates_for(seen.table), seen, fresh)
    draws = total - source.made
    return guesser.name, best_rule(guesser, odds, known.table, draws=draws, alpha=alpha)


def _count(rule: GuessRule, source: _LabelledDraws, draws: int) -> GuessCounts:
    """GuessRule fresh draws; `DependentDraws` if the right guesses come in clusters."""
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


def paired_correlation(paired: LabelledRows) -> float:
    """The correlation between the scores of the two outputs of a paired draw.

    The score is trained on one side of some paired draws and on the other side of others, so that
    its training outputs are independent; the remaining paired draws are scored.

    >>> rng = np.random.default_rng(0)
    >>> labels, noise = np.arange(6000) % 2 == 0, rng.laplace(size=(3000, 2))
    >>> def correlation(data, neighbour):
    ...     outputs = np.hstack([data, neighbour]).reshape(6000, -1)
    ...     return round(paired_correlation(LabelledRows.of(Encoder().encode(outputs), labels)), 1)
    >>> correlation(0.1 + noise, noise), abs(correlation(0.1 + noise, rng.permutation(noise)))
    (1.0, 0.0)
    """
    sides = np.flatnonzero(paired.labels), np.flatnonzero(~paired.labels)
    count = min(map(len, sides))
    third = count // 3
    independent = np.concatenate([sides[0][:third], sides[1][third : 2 * third]])
    guesser = BalancedLinear()
    guesser.fit(paired.take(np.sort(independent)))
    ours, theirs = (guesser.log_odds(paired.table.take(side[2 * third : count])) for side in sides)
    spread = float(ours.std() * theirs.std())
    common = float(np.mean((ours - ours.mean()) * (theirs - theirs.mean())))
    return common / spread if spread > 0.0 else 0.0


class _LabelledDraws:
    """LabelledRows draws of one pair, `total` in all, as tables with the columns learned so far."""

    def __init__(
        self,
        mechanism: Mechanism,
        pair: Pair,
        caller: Caller,
        *,
        entropy: int,
        total: int,
        encoder: Encoder,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.pair = pair
        self.made = 0
        self._caller = caller
        self._name = mechanism.name
        self._entropy = entropy
        self._total = total
        self._encoder = encoder
        self._progress = progress
        self._learned: LabelledRows | None = None
        self._call_draws = min(_CALL_DRAWS, -(-total // _MIN_CALLS))
        self.watch = Watch(mechanism.name, encoder)

    def learn(self, size: int, *, paired: bool) -> LabelledRows:
        """Draw more outputs to learn from; all of them so far fix the columns and words."""
        pieces = list(self._drawn(size, paired=paired))
        if self._learned is not None:
            pieces.insert(0, self._learned)
        table = stack([self._encoder.widen(piece.table) for piece in pieces])
        self._learned = LabelledRows.of(table, np.concatenate([piece.labels for piece in pieces]))
        return self._learned

    def draw(self, size: int, *, paired: bool = False) -> Iterator[LabelledRows]:
        """Draw outputs piece by piece, read with the columns and words learned before."""
        assert self._learned is not None
        for piece in self._drawn(size, paired=paired):
            yield LabelledRows.of(as_known(piece.table, self._learned.table), piece.labels)

    def _drawn(self, size: int, *, paired: bool) -> Iterator[LabelledRows]:
        for asked in asked_ahead(self._asked(size, paired=paired), self._caller):
            batch = asked.outputs()
            self.made += len(batch.labels)
            if self._progress is not None:
                self._progress(self.made, self._total)
            table = self._encoder.encode(batch.outputs)
            self.watch.see_batch("pair", batch, table)
            yield LabelledRows.of(table, batch.labels)

    def _asked(self, size: int, *, paired: bool) -> Iterator[PendingBatch]:
        """Ask for call after call; paired draws come in twos, so one may be missing."""
        begin = made = self.made
        while made < begin + size:
            draws = min(self._call_draws, begin + size - made)
            seed = np.random.SeedSequence(self._entropy, spawn_key=(made,))
            where: dict[str, Any] = {"pair": self.pair, "seed": seed, "name": self._name}
            if paired and draws > 1:
                asked = ask_paired(self._caller, draws=draws // 2, **where)
            else:
                asked = ask_labelled(self._caller, size=draws, **where)
            yield asked
            made += asked.size
