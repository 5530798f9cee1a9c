"""The search for the event that promises the largest certified epsilon, or for a plain one."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats
from dpaudit.events.columns import ColumnEvents
from dpaudit.events.expected_bound import HOPELESS, ExpectedBound
from dpaudit.events.kinds import Both, Equals, Event, IsWord, comparisons
from dpaudit.events.rounding import rounded
from dpaudit.outputs import MISSING, Table

_FINE, _COARSE = 64, 16  # thresholds of a column: alone, and inside another event
_BEAM = (8, 4, 4, 1)  # how many events of one, two, ... parts are kept, to be joined with others
_HALF = (0.2, 0.6)  # how often an event holds that is joined although it tells nothing alone
_PARTNERS = 16  # columns whose events are joined with others
_NAMED = 0.9  # of what the best event promises, for a word of the first columns to be taken
_WIDEST = 32  # columns of outputs that are tried as a whole


@dataclass(frozen=True, slots=True)
class _Found:
    """An event, what it promises, and the column of its last part."""

    event: Event
    score: float
    column: int


def strongest_event(
    rows: Table,
    ones: npt.ArrayLike,
    zeros: npt.ArrayLike,
    *,
    epsilon: float,
    delta: float,
    draws: int,
    alpha: float,
    first: Collection[int] = (),
    last: Collection[int] = (),
) -> tuple[Event, bool]:
    """Find the event that promises the largest epsilon, and whether `data` makes it likelier.

    `ones` and `zeros` say how often each row was seen from `data` and from `neighbour`. What is
    promised is the epsilon certified at `delta` by exact bounds at `alpha / 2` on each of the two
    sides, with `draws` fresh draws of each. A longer event is taken only if it is clearly better;
    `epsilon`, the claim's, decides only where no event certifies anything. A word of the columns
    `first` is taken unless another event is clearly better, and of equally strong events one of
    the columns `last` only if there is no other.

    >>> from dpaudit.outputs import Encoder
    >>> encoder = Encoder()
    >>> rows = encoder.encode(["yes", "no", None])
    >>> event, data = strongest_event(
    ...     rows, [700, 280, 20], [200, 780, 20], epsilon=1.0, delta=0.0, draws=1000, alpha=0.05
    ... )
    >>> event.words(encoder), data
    ("output = 'yes'", True)
    """
    search = _search(
        rows,
        ones,
        zeros,
        epsilon=epsilon,
        delta=delta,
        draws=draws,
        alpha=alpha,
        order=(frozenset(first), frozenset(last)),
    )
    event = rounded(search.best(), search.score)
    return event, search.is_likelier_on_data(event)


def plainest_event(
    rows: Table,
    ones: npt.ArrayLike,
    zeros: npt.ArrayLike,
    *,
    epsilon: float,
    delta: float,
    draws: int,
    alpha: float,
    first: Collection[int] = (),
    last: Collection[int] = (),
) -> tuple[Event, bool]:
    """Find the shortest and roundest event that promises clearly more than `epsilon`.

    Clearly is half as much above it as the strongest event. Where even that promises no more than
    `epsilon`, it is the strongest event. Words of the columns `first` are the first of the short.

    >>> from dpaudit.outputs import Encoder
    >>> rows = Encoder().encode([-1.3, -0.42, 0.31, 1.2])
    >>> ones, zeros = [100, 150, 450, 300], [300, 450, 150, 100]
    >>> plainest_event(rows, ones, zeros, epsilon=0.5, delta=0.0, draws=5000, alpha=0.05)
    (Above(column=0, threshold=0.0), True)
    """
    search = _search(
        rows,
        ones,
        zeros,
        epsilon=epsilon,
        delta=delta,
        draws=draws,
        alpha=alpha,
        order=(frozenset(first), frozenset(last)),
    )
    event = search.best()
    strength = search.score(event)
    if strength <= epsilon:
        return rounded(event, search.score), search.is_likelier_on_data(event)
    enough = 0.5 * (epsilon + strength)
    event = next((short for short in search.short() if search.score(short) >= enough), event)
    event = rounded(event, search.score, enough=enough)
    return event, search.is_likelier_on_data(event)


def _search(
    rows: Table,
    ones: npt.ArrayLike,
    zeros: npt.ArrayLike,
    *,
    epsilon: float,
    delta: float,
    draws: int,
    alpha: float,
    order: tuple[frozenset[int], frozenset[int]],
) -> _Search:
    weights = np.asarray(ones, dtype=np.float64), np.asarray(zeros, dtype=np.float64)
    _check(rows, *weights)
    totals = float(weights[0].sum()), float(weights[1].sum())
    promise = ExpectedBound(epsilon=epsilon, delta=delta, draws=draws, alpha=alpha, totals=totals)
    return _Search(rows, weights, promise, order)


def _check(rows: Table, ones: Floats, zeros: Floats) -> None:
    if len(rows) == 0 or rows.columns == 0:
        raise ValueError("strongest_event needs at least one output, got none.")
    if not len(ones) == len(zeros) == len(rows):
        raise ValueError(
            f"ones and zeros must count each of the {len(rows)} rows, "
            f"got {len(ones)} and {len(zeros)} counts."
        )


class _Search:
    """One search: the rows, how often each side gave them, and what counts as strong."""

    def __init__(
        self,
        rows: Table,
        weights: tuple[Floats, Floats],
        promise: ExpectedBound,
        order: tuple[frozenset[int], frozenset[int]],
    ) -> None:
        self._rows = rows
        self._first, self._last = order
        self._weights = weights
        self._promise = promise
        self._totals = [max(total, 1e-300) for total in promise.totals]
        self._shares = weights[0] / self._totals[0] + weights[1] / self._totals[1]

    def best(self) -> Event:
        """Give the strongest event, of one part or of more."""
        alone, starts = self._alone()
        best = alone[0]
        columns = list(dict.fromkeys(found.column for found in starts + alone))[:_PARTNERS]
        partners = [ColumnEvents(self._rows, c, self._shares, _COARSE) for c in columns]
        beam = alone[: _BEAM[0]] + starts[:_PARTNERS]
        for width in _BEAM[1:]:
            beam = self._joined(beam, partners)[:width]
            if not beam or beam[0].score <= best.score:
                break
            best = beam[0]
        whole = self._whole_output()
        best = max(self._pruned(best), whole or best, key=lambda found: found.score)
        named = next((found for found in alone if self._is_named(found.event)), best)
        return named.event if named.score >= _NAMED * best.score else best.event

    def short(self) -> list[Event]:
        """Give the events of one part, those of one comparison first, the strongest first."""
        alone = [found.event for found in self._alone()[0]]
        return sorted(alone, key=lambda event: (not self._is_named(event), comparisons(event)))

    def _rank(self, column: int) -> int:
        """Where a column stands among others: of equally strong events the first is taken."""
        return 0 if column in self._first else 2 if column in self._last else 1

    def _is_named(self, event: Event) -> bool:
        """Tell whether an event says what an output is by a word that is best understood."""
        return isinstance(event, IsWord) and event.column in self._first and event.code != MISSING

    def is_likelier_on_data(self, event: Event) -> bool:
        """Say on which side an event is likelier, as far as it promises something."""
        return bool(self._promise.score(*self.hits(event), comparisons(event))[1])

    def hits(self, event: Event) -> tuple[Floats, Floats]:
        """Count an event on both sides."""
        holds = event.holds(self._rows)
        ones, zeros = (np.asarray(side[holds].sum()) for side in self._weights)
        return ones, zeros

    def score(self, event: Event) -> float:
        """Say what one event promises."""
        return float(self._promise.score(*self.hits(event), comparisons(event))[0])

    def _alone(self) -> tuple[list[_Found], list[_Found]]:
        """Give the best event of every kind in every column, and of each column one to join.

        Where no event tells much alone, the best is almost always true, and joining it adds
        nothing: what is joined too is the best of those that hold about every other time.
        """
        found, starts = [], []
        for column in sorted(range(self._rows.columns), key=self._rank):
            events = ColumnEvents(self._rows, column, self._shares, _FINE)
            ones, zeros = (events.hits(side) for side in self._weights)
            scores, _ = self._promise.score(ones, zeros, events.comparisons())
            found += [
                _Found(event, score, column) for event, score in _best_of_kinds(events, scores)
            ]
            shares = np.maximum(ones / self._totals[0], zeros / self._totals[1])
            halves = np.flatnonzero((shares >= _HALF[0]) & (shares <= _HALF[1]))
            if len(halves) > 0:
                best = int(halves[np.argmax(scores[halves])])
                starts.append(_Found(events.event(best), float(scores[best]), column))
        return _strongest_first(found), _strongest_first(starts)

    def _joined(self, beam: list[_Found], partners: list[ColumnEvents]) -> list[_Found]:
        """Join each event with every event of other columns and its own."""
        found = []
        lengths = [events.comparisons() for events in partners]
        ends = np.cumsum([len(length) for length in lengths])[:-1]
        for first in beam:
            inside = first.event.holds(self._rows)
            ones, zeros = (
                np.concatenate([events.hits(side * inside) for events in partners])
                for side in self._weights
            )
            said = comparisons(first.event) + np.concatenate(lengths)
            scores, _ = self._promise.score(ones, zeros, said)
            for events, part in zip(partners, np.split(scores, ends), strict=True):
                found += [
                    _Found(Both(first.event, second), score, events.column)
                    for second, score in _best_of_kinds(events, part, first.score)
                ]
        return _strongest_first(found)

    def _whole_output(self) -> _Found | None:
        """Try the most telling output as a whole, less the parts that tell nothing."""
        if not 2 <= self._rows.columns <= _WIDEST:
            return None
        _, first, where = np.unique(self._row_hashes(), return_index=True, return_inverse=True)
        ones, zeros = (
            np.bincount(where.reshape(-1), side).astype(np.float64) for side in self._weights
        )
        scores, _ = self._promise.score(ones, zeros, self._rows.columns)
        best = int(np.argmax(scores))
        if scores[best] <= HOPELESS / 2:
            return None
        row = int(first[best])
        event = self._cell(row, 0)
        for column in range(1, self._rows.columns):
            event = Both(event, self._cell(row, column))
        return self._pruned(_Found(event, float(scores[best]), -1))

    def _row_hashes(self) -> npt.NDArray[np.uint64]:
        """Give equal rows equal numbers, and others almost surely not."""
        odd = np.random.default_rng(0).integers(
            2**63, size=(2, self._rows.columns), dtype=np.uint64
        )
        odd = odd * np.uint64(2) + np.uint64(1)
        bits = (self._rows.numbers + 0.0).view(np.uint64)  # one zero
        bits = bits ^ (bits >> np.uint64(32))
        return np.asarray(bits @ odd[0] + self._rows.codes().astype(np.uint64) @ odd[1])

    def _cell(self, row: int, column: int) -> Event:
        code = -1 if self._rows.atoms is None else int(self._rows.atoms[row, column])
        if code < 0:
            return Equals(column, float(self._rows.numbers[row, column]))
        return IsWord(column, code)

    def _pruned(self, found: _Found) -> _Found:
        """Leave out parts, one by one, while that makes the event stronger or as strong."""
        parts, score = list(_parts(found.event)), found.score
        misses = np.column_stack([~part.holds(self._rows) for part in parts])
        while len(parts) > 1:
            missed = np.count_nonzero(misses, axis=1)
            near = missed == 1  # rows that come in when their one part is left out
            which = np.argmax(misses[near], axis=1)
            ones, zeros = (
                side[missed == 0].sum() + np.bincount(which, side[near], minlength=len(parts))
                for side in self._weights
            )
            lengths = np.array([comparisons(part) for part in parts])
            scores, _ = self._promise.score(ones, zeros, lengths.sum() - lengths)
            least = int(np.argmax(scores))
            if scores[least] < score:
                break
            score = float(scores[least])
            del parts[least]
            misses = np.delete(misses, least, axis=1)
        return _Found(functools.reduce(Both, parts), score, found.column)


def _parts(event: Event) -> Iterator[Event]:
    if isinstance(event, Both):
        yield from _parts(event.first)
        yield from _parts(event.second)
    else:
        yield event


def _best_of_kinds(
    events: ColumnEvents, scores: Floats, above: float = -np.inf
) -> list[tuple[Event, float]]:
    """Give the strongest event of each kind that scores above a number."""
    bests = [start + int(np.argmax(scores[start:end])) for start, end in events.spans()]
    return [(events.event(best), float(scores[best])) for best in bests if scores[best] > above]


def _strongest_first(found: list[_Found]) -> list[_Found]:
    """Sort, and keep the first of equally strong ones: most often one event in other words."""
    by_score: dict[float, _Found] = {}
    for one in found:
        by_score.setdefault(round(one.score, 9), one)
    return sorted(by_score.values(), key=lambda one: -one.score)
