"""The records of a pair as a series of choices: first how they lie, then what they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dpaudit.domains import Chooser
from dpaudit.neighbours.pair import Slot
from dpaudit.neighbours.slots import shared


def chosen_whole(chooser: Chooser, name: str, low: int, high: int) -> int:
    """A whole number in [low, high], asked for only where there is a choice."""
    return low if low == high else chooser.whole(name, low, high)


def chosen_pattern(chooser: Chooser, count: int) -> list[int]:
    """Which records are equal: each its own, all the same, or of two values.

    A count or a rare event often shows in equal records alone, and independent choices seldom make
    two alike. The answer names one of the values 0, 1, ... for every record.
    """
    match chooser.one_of("pattern", 3) if count > 1 else 0:
        case 0:
            return list(range(count))
        case 1:
            return [0] * count
        case _:
            turn = chosen_whole(chooser, "turn", 1, count - 1)
            return [0] * turn + [1] * (count - turn)


def chosen_slots(
    chooser: Chooser,
    ask: Callable[[str], Any],
    *,
    others: int,
    old: int,
    new: int,
    change: Callable[[Sequence[Any], Sequence[Any]], list[Slot]],
) -> list[Slot]:
    """Shared records with a change among them: `old` records of the data, `new` ones instead.

    `ask` chooses the record of this name; `change` lays the old and the new ones side by side.
    """
    pattern = chosen_pattern(chooser, others)
    place = chosen_whole(chooser, "place", 0, others)
    alike = max(old, new) > 1 and chooser.one_of("alike", 2) == 1  # the old ones; the new ones too
    repeats = others > 0 and chooser.one_of("repeats", 2) == 1  # the old ones repeat the first one
    values = {which: ask(f"record {which}") for which in sorted(set(pattern))}
    rest = [shared(values[which]) for which in pattern]
    before = [values[0]] * old if repeats else _run(ask, "record", old, alike)
    after = _run(ask, "replacement", new, alike)
    return [*rest[:place], *change(before, after), *rest[place:]]


def _run(ask: Callable[[str], Any], name: str, count: int, alike: bool) -> list[Any]:
    """Records next to each other, the first of which is asked for by the bare name."""
    if alike:
        return [ask(name)] * count if count > 0 else []
    return [ask(f"{name} again {place}" if place > 0 else name) for place in range(count)]
