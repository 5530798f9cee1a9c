"""The search for the event that would certify the largest epsilon, or for a plain one."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, NotRequired, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from dpaudit.architecture import Event
from dpaudit.arrays import Floats
from dpaudit.events.candidates import HOPELESS, ColumnEvents, ExpectedBound, above_tier
from dpaudit.events.kinds import Both, Equals, IsWord, Single, comparisons, singles
from dpaudit.outputs import MISSING, Table

_FINE_PARTS, _COARSE_PARTS = 64, 16  # quantiles for thresholds: alone, and inside another event
_BEAM_WIDTHS = (8, 4, 4, 1)  # how many events of one, two, ... parts are kept, to join with others
_HALF_SHARES = (0.2, 0.6)  # how often an event holds that is joined although it tells nothing alone
_MAX_PARTNERS = 16  # columns whose events are joined with others
_NAMED_SHARE = 0.9  # of the best score, for a word of the columns `first` to be taken
_MAX_WHOLE_COLUMNS = 32  # of outputs that are tried as a whole
_ROUNDING_LOSS = 0.01  # of the score, for each threshold


class Terms(TypedDict):
    """How an event is to be certified, and which columns are preferred."""

    epsilon: float  # the claim's: it decides only where no event certifies anything
    delta: float
    draws: int  # fresh draws of each side
    alpha: float  # half of it for the exact bound on each side
    first: NotRequired[Collection[int]]  # a word of these is taken unless another is clearly better
    last: NotRequired[Collection[int]]  # of equally strong events, one of these comes last


def strongest_event(
    rows: Table, ones: npt.ArrayLike, zeros: npt.ArrayLike, **terms: Unpack[Terms]
) -> tuple[Event, bool]:
    """Find the event that would certify the largest epsilon, and whether `data` makes it likelier.

    `ones` and `zeros` say how often each row was seen from `data` and from `neighbour`. A longer
    event is taken only if it is clearly better.

    >>> from dpaudit.outputs import Encoder
    >>> encoder = Encoder()
    >>> rows = encoder.encode(["yes", "no", None])
    >>> event, data = strongest_event(
    ...     rows, [700, 280, 20], [200, 780, 20], epsilon=1.0, delta=0.0, draws=1000, alpha=0.05
    ... )
    >>> event.words(encoder), data
    ("output = 'yes'", True)
    """
    search = EventSearch(rows, ones, zeros, terms)
    event = rounded(search.best(), search.score)
    return event, search.is_likelier_on_data(event)


def plainest_event(
    rows: Table, ones: npt.ArrayLike, zeros: npt.ArrayLike, **terms: Unpack[Terms]
) -> tuple[Event, bool]:
    """Find the shortest and roundest event that would certify clearly more than `epsilon`.

    Clearly is half as much above it as the strongest event. If even that certifies no more than
    `epsilon`, it is the strongest event. Words of the columns `first` are the first of the short.

    >>> from dpaudit.outputs import Encoder
    >>> rows = Encoder().encode([-1.3, -0.42, 0.31, 1.2])
    >>> ones, zeros = [100, 150, 450, 300], [300, 450, 150, 100]
    >>> plainest_event(rows, ones, zeros, epsilon=0.5, delta=0.0, draws=5000, alpha=0.05)
    (Above(column=0, threshold=0.0), True)
    """
    search = EventSearch(rows, ones, zeros, terms)
    event, epsilon = search.best(), terms["epsilon"]
    strength = search.score(event)
    if strength <= epsilon:
        return rounded(event, search.score), search.is_likelier_on_data(event)
    enough = 0.5 * (epsilon + strength)
    event = next((short for short in search.short() if search.score(short) >= enough), event)
    event = rounded(event, search.score, enough=enough)
    return event, search.is_likelier_on_data(event)


@dataclass(frozen=True, slots=True)
class _Found:
    """An event, its score, and the column of its last part."""

    event: Event
    score: float
    column: int


class EventSearch:
    """One search: the rows, how often each side gave them, and what counts as strong."""

    def __init__(
        self, rows: Table, ones: npt.ArrayLike, zeros: npt.ArrayLike, terms: Terms
    ) -> None:
        weights = np.asarray(ones, dtype=np.float64), np.asarray(zeros, dtype=np.float64)
        if len(rows) == 0 or rows.columns == 0:
            raise ValueError("an event needs at least one output, got none.")
        if not len(weights[0]) == len(weights[1]) == len(rows):
            raise ValueError(
                f"ones and zeros must count each of the {len(rows)} rows, "
                f"got {len(weights[0])} and {len(weights[1])} counts."
            )
        totals = float(weights[0].sum()), float(weights[1].sum())
        self._rows = rows
        self._first, self._last = terms.get("first", ()), terms.get("last", ())
        self._weights = weights
        self._bound = ExpectedBound(
            epsilon=terms["epsilon"],
            delta=terms["delta"],
            draws=terms["draws"],
            alpha=terms["alpha"],
            totals=totals,
        )
        self._totals = [max(total, 1e-300) for total in totals]
        self._shares = weights[0] / self._totals[0] + weights[1] / self._totals[1]

    def best(self) -> Event:
        """Give the strongest event, of one part or of more."""
        alone, starts = self._alone()
        best = alone[0]
        columns = list(dict.fromkeys(found.column for found in starts + alone))[:_MAX_PARTNERS]
        partners = [ColumnEvents(self._rows, c, self._shares, _COARSE_PARTS) for c in columns]
        beam = alone[: _BEAM_WIDTHS[0]] + starts[:_MAX_PARTNERS]
        for width in _BEAM_WIDTHS[1:]:
            beam = self._joined(beam, partners)[:width]
            if not beam or beam[0].score <= best.score:
                break
            best = beam[0]
        whole = self._whole_output()
        best = max(self._pruned(best), whole or best, key=lambda found: found.score)
        named = next((found for found in alone if self._is_named(found.event)), best)
        return named.event if named.score >= _NAMED_SHARE * best.score else best.event

    def short(self) -> list[Event]:
        """Give the events of one part, those of one comparison first, the strongest first."""
        alone = [found.event for found in self._alone()[0]]
        return sorted(alone, key=lambda event: (not self._is_named(event), comparisons(event)))

    def is_likelier_on_data(self, event: Event) -> bool:
        """Say whether an event certifies more on the data's side."""
        return bool(self._scored(event)[1])

    def score(self, event: Event) -> float:
        """Give the epsilon that one event would certify."""
        return float(self._scored(event)[0])

    def _scored(self, event: Event) -> tuple[Floats, npt.NDArray[np.bool_]]:
        holds = event.holds(self._rows)
        ones, zeros = (np.asarray(side[holds].sum()) for side in self._weights)
        return self._bound.score(ones, zeros, comparisons(event))

    def _rank(self, column: int) -> int:
        """Where a column stands among others: of equally strong events the first is taken."""
        return 0 if column in self._first else 2 if column in self._last else 1

    def _is_named(self, event: Event) -> bool:
        """Tell whether an event says what an output is by a word that is best understood."""
        return isinstance(event, IsWord) and event.column in self._first and event.code != MISSING

    def _alone(self) -> tuple[list[_Found], list[_Found]]:
        """Give the best event of every kind in every column, and of each column one to join.

        Where no event tells much alone, the best is almost always true, and joining it adds
        nothing: what is joined too is the best of those that hold about every other time.
        """
        found, starts = [], []
        for column in sorted(range(self._rows.columns), key=self._rank):
            events = ColumnEvents(self._rows, column, self._shares, _FINE_PARTS)
            ones, zeros = (events.hits(side) for side in self._weights)
            scores, _ = self._bound.score(ones, zeros, events.comparisons())
            found += [
                _Found(event, score, column) for event, score in _best_of_kinds(events, scores)
            ]
            shares = np.maximum(ones / self._totals[0], zeros / self._totals[1])
            halves = np.flatnonzero((shares >= _HALF_SHARES[0]) & (shares <= _HALF_SHARES[1]))
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
            scores, _ = self._bound.score(ones, zeros, said)
            for events, part in zip(partners, np.split(scores, ends), strict=True):
                found += [
                    _Found(Both(first.event, second), score, events.column)
                    for second, score in _best_of_kinds(events, part, first.score)
                ]
        return _strongest_first(found)

    def _whole_output(self) -> _Found | None:
        """Try the most telling output as a whole, less the parts that tell nothing."""
        if not 2 <= self._rows.columns <= _MAX_WHOLE_COLUMNS:
            return None
        _, first, where = np.unique(self._row_hashes(), return_index=True, return_inverse=True)
        ones, zeros = (
            np.bincount(where.reshape(-1), side).astype(np.float64) for side in self._weights
        )
        scores, _ = self._bound.score(ones, zeros, self._rows.columns)
        best = int(np.argmax(scores))
        if scores[best] <= HOPELESS / 2:
            return None
        row = int(first[best])
        cells: list[Event] = [self._cell(row, column) for column in range(self._rows.columns)]
        return self._pruned(_Found(functools.reduce(Both, cells), float(scores[best]), -1))

    def _row_hashes(self) -> npt.NDArray[np.uint64]:
        """Give equal rows equal numbers, and others almost surely not."""
        shape = (2, self._rows.columns)
        odd = np.random.default_rng(0).integers(2**63, size=shape, dtype=np.uint64)
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
        parts: list[Event] = [*singles(found.event)]
        score = found.score
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
            scores, _ = self._bound.score(ones, zeros, lengths.sum() - lengths)
            least = int(np.argmax(scores))
            if scores[least] < score:
                break
            score = float(scores[least])
            del parts[least]
            misses = np.delete(misses, least, axis=1)
        return _Found(functools.reduce(Both, parts), score, found.column)


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


def rounded(event: Event, score: Callable[[Event], float], *, enough: float = math.inf) -> Event:
    """Round every threshold of an event as far as its score hardly falls, or is still `enough`.

    >>> from dpaudit.events.kinds import Above
    >>> rounded(Above(0, 0.7731), lambda event: 1 - abs(event.threshold - 0.7731))
    Above(column=0, threshold=0.77)
    """
    if isinstance(event, Both):
        second = event.second
        first = rounded(event.first, lambda part: score(Both(part, second)), enough=enough)
        return Both(first, rounded(second, lambda part: score(Both(first, part)), enough=enough))
    assert isinstance(event, Single)
    for threshold in event.thresholds:
        event = _shorter(event, threshold, score, enough)
    return event


def _shorter(
    event: Single, threshold: str, score: Callable[[Event], float], enough: float
) -> Single:
    """Try ever more decimals for one threshold, rounded down and up."""
    exact: float = getattr(event, threshold)
    if exact == 0 or not 1e-290 < abs(exact) < 1e290:
        return event
    before = score(event)
    height = abs(float(above_tier(np.asarray(before))))
    enough = min(enough, before - _ROUNDING_LOSS * max(height, 1.0))
    leading = math.floor(math.log10(abs(exact)))
    for exponent in range(leading + 1, leading - 15, -1):
        scaled = exact / 10.0**exponent
        wholes = sorted(  # of two that are as good: zero, or the nearer
            (math.floor(scaled), math.ceil(scaled)), key=lambda n: (n != 0, abs(n - scaled))
        )
        tries: list[Any] = [{threshold: float(f"{whole}e{exponent}") + 0.0} for whole in wholes]
        best = max((replace(event, **one) for one in tries), key=score)
        if score(best) >= enough:
            return best
    return event
