"""Two datasets side by side: which records differ, and the equal ones between them left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.domains import frame_of, shown
from dpaudit.neighbours import ABSENT, NO_DATASETS, Pair, Slot, interleaved, is_shared, side_by_side
from dpaudit.report.showing import count, one_line

_MOST_APART = 16  # records absent on a side that are still searched for
_CONTEXT = 2  # equal records shown on either side of one that differs
_MOST_ROWS = 40
_WIDTH = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the comparison: the texts of both sides, and what happened to the record.

    `mark` is empty where both hold the same; a row of `skipped` records has no texts.
    """

    number: int
    data: str
    neighbour: str
    mark: str
    skipped: str = ""


def compared(pair: Pair) -> list[Row]:
    """The records of both datasets, laid side by side; none for two samples without datasets.

    >>> for row in compared(Pair([1.0, 0.5], [1.0])):
    ...     print(row.number, row.data, row.neighbour or "-", row.mark or "same")
    1 1.0 1.0 same
    2 0.5 - removed
    """
    if pair == NO_DATASETS:
        return []
    slots = _slots(pair)
    if slots is None:
        mark = "" if is_shared(Slot(pair.data, pair.neighbour)) else "changed"
        sides = (one_line(shown(side), _WIDTH) for side in (pair.data, pair.neighbour))
        data, neighbour = sides
        return [Row(number=1, data=data, neighbour=neighbour, mark=mark)]
    marks = [_mark(slot) for slot in slots]
    return list(_rows(slots, marks))


def _rows(slots: list[Slot], marks: list[str]) -> Iterator[Row]:
    """The differing records with some around them, up to a number of rows."""
    near = {
        place
        for at, mark in enumerate(marks)
        if mark
        for place in range(at - _CONTEXT, at + _CONTEXT + 1)
    }
    kept = [place for place in range(len(slots)) if place in near or len(slots) <= _MOST_ROWS // 2]
    kept, after = kept[:_MOST_ROWS], 0
    for place in kept:
        if place > after:
            yield _skipped(marks[after:place], after)
        data, neighbour = (_text(side) for side in slots[place])
        yield Row(number=place + 1, data=data, neighbour=neighbour, mark=marks[place])
        after = place + 1
    if after < len(slots):
        yield _skipped(marks[after:], after)


def _skipped(marks: list[str], after: int) -> Row:
    different = sum(bool(mark) for mark in marks)
    said = f"{count(len(marks), 'record')} not shown"
    said += f", {different:,} of them different" if different else ", the same on both sides"
    return Row(number=after + 1, data="", neighbour="", mark="", skipped=said)


def _slots(pair: Pair) -> list[Slot] | None:
    """The records that stand beside each other; None if a side is no list of records."""
    data, neighbour = _records(pair.data), _records(pair.neighbour)
    if data is None or neighbour is None:
        return None
    [*laid] = side_by_side(data, neighbour)
    if laid:
        return laid[0]
    most = max(_MOST_APART, abs(len(data) - len(neighbour)))
    found = interleaved(data, neighbour, most) if most <= 4 * _MOST_APART else None
    if found is not None:
        return found
    longest = max(len(data), len(neighbour))
    padded = ([*side, *[ABSENT] * (longest - len(side))] for side in (data, neighbour))
    return list(map(Slot, *padded))


def _records(value: Any) -> list[Any] | None:
    frame = frame_of(value)
    if frame is not None:
        return list(frame.rows())
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, np.ndarray) and value.ndim > 0:
        return list(value)
    return None


def _mark(slot: Slot) -> str:
    if slot.data is ABSENT:
        return "added"
    if slot.neighbour is ABSENT:
        return "removed"
    return "" if is_shared(slot) else "changed"


def _text(side: Any) -> str:
    return "" if side is ABSENT else one_line(shown(side), _WIDTH)
