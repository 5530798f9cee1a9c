"""Two datasets side by side: the records that differ, and a few equal ones around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from dpaudit.domains import frame_of, shown
from dpaudit.neighbours import ABSENT, NO_DATASETS, Pair, Slot, interleaved, is_shared, side_by_side
from dpaudit.report.showing import count, one_line

_MAX_APART = 16  # records absent on a side that are still searched for
_CONTEXT = 2  # equal records shown before and after one that differs
_MAX_ROWS = 40
_MAX_WIDTH = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRecord:
    """One line of the comparison: the texts of both sides, and what happened to the record.

    `mark` is empty where both hold the same; a row of `skipped` records has no texts.
    """

    number: int
    data: str = ""
    neighbour: str = ""
    mark: str = ""
    skipped: str = ""


def compared(pair: Pair) -> list[ComparedRecord]:
    """The records of both datasets side by side; none for two samples without datasets.

    >>> for row in compared(Pair([1.0, 0.5], [1.0])):
    ...     print(row.number, row.data, row.neighbour or "-", row.mark or "same")
    1 1.0 1.0 same
    2 0.5 - removed
    """
    if pair == NO_DATASETS:
        return []
    slots = _slots(pair)
    return list(_rows(slots, [_mark(slot) for slot in slots]))


def _rows(slots: list[Slot], marks: list[str]) -> Iterator[ComparedRecord]:
    """The differing records with some around them, up to a number of rows."""
    different = [at for at, mark in enumerate(marks) if mark]
    near = {at + step for at in different for step in range(-_CONTEXT, _CONTEXT + 1)}
    kept = [place for place in range(len(slots)) if place in near or len(slots) <= _MAX_ROWS // 2]
    kept, after = kept[:_MAX_ROWS], 0
    for place in kept:
        if place > after:
            yield _skipped(marks[after:place], after)
        data, neighbour = (_text(side) for side in slots[place])
        yield ComparedRecord(number=place + 1, data=data, neighbour=neighbour, mark=marks[place])
        after = place + 1
    if after < len(slots):
        yield _skipped(marks[after:], after)


def _skipped(marks: list[str], after: int) -> ComparedRecord:
    different = sum(bool(mark) for mark in marks)
    said = f"{count(len(marks), 'record')} not shown"
    said += f", {different:,} of them different" if different else ", the same on both sides"
    return ComparedRecord(number=after + 1, skipped=said)


def _slots(pair: Pair) -> list[Slot]:
    """The records that stand beside each other; one slot if a side is not a list of records."""
    data, neighbour = _records(pair.data), _records(pair.neighbour)
    if data is None or neighbour is None:
        return [Slot(pair.data, pair.neighbour)]
    [*laid] = side_by_side(data, neighbour)
    if laid:
        return laid[0]
    most = max(_MAX_APART, abs(len(data) - len(neighbour)))
    found = interleaved(data, neighbour, most) if most <= 4 * _MAX_APART else None
    if found is not None:
        return found
    return [Slot(*sides) for sides in zip_longest(data, neighbour, fillvalue=ABSENT)]


def _records(value: Any) -> list[Any] | None:
    frame = frame_of(value)
    if frame is not None:
        return list(frame.rows())
    is_array = isinstance(value, np.ndarray) and value.ndim > 0
    return list(value) if is_array or isinstance(value, list | tuple) else None


def _mark(slot: Slot) -> str:
    if slot.data is ABSENT:
        return "added"
    if slot.neighbour is ABSENT:
        return "removed"
    return "" if is_shared(slot) else "changed"


def _text(side: Any) -> str:
    return "" if side is ABSENT else one_line(shown(side), _MAX_WIDTH)
