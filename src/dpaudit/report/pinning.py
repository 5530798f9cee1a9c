"""The lines that pin a pair to a test, checked to give that very pair; or why there are none."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.neighbours import Pair, fitted, why_not
from dpaudit.report.source import Bracket, Source, laid_out, source_of

MOST_LINES = 40  # of a pin that is still printed
MOST_RECORDS = 2_000  # of a dataset that is still written: more never fit
_DECORATOR = "@dpaudit.example("
_TOO_LONG = (
    "its datasets are too long to print. Save the audit (audit.save) and pin what "
    "dpaudit.load(file).counterexample.pair holds"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """What to write above a test: the imports, then the decorator; or the reason why not."""

    imports: tuple[str, ...] = ()
    decorator: str = ""  # on one line
    lines: tuple[str, ...] = ()  # of the decorator, each within the width asked for
    reason: str = ""


def pin_of(
    pair: Pair,
    neighbours: Any = None,
    *,
    width: int = 68,
    at_hand: Collection[str] = (),
    imports: tuple[str, ...] = (),
) -> Pin:
    """How a pair is pinned where these are the neighbours.

    Arrays of numbers are written as lists where the relation makes arrays of them again. Names of
    the modules `at_hand` are not imported: the test is in one of them. `imports` are needed in any
    case.

    >>> pin_of(Pair(np.array([1.0]), np.array([]))).decorator
    '@dpaudit.example([1.0], [])'
    >>> pin_of(Pair([object()], [])).reason
    'its datasets cannot be written as Python'
    """
    if max(map(_length, (pair.data, pair.neighbour))) > MOST_RECORDS:
        return Pin(reason=_TOO_LONG)
    reason = "its datasets cannot be written as Python"
    for form in (_with_lists(pair), Pair(pair.data, pair.neighbour)):
        sources = [source_of(side) for side in (form.data, form.neighbour)]
        if None in sources:
            continue
        if neighbours is not None and (refused := why_not(neighbours, form)) is not None:
            reason = refused
        elif neighbours is None or fitted(neighbours, form, what="it") == pair:
            found = [one for one in sources if one is not None]
            return _pin(found, width, at_hand, imports)
    return Pin(reason=reason)


def _length(data: Any) -> int:
    try:
        return len(data)
    except TypeError:  # a single value, or an array without an axis
        return 0


def _with_lists(pair: Pair) -> Pair:
    return Pair(*(_listed(side) for side in (pair.data, pair.neighbour)))


def _listed(data: Any) -> Any:
    """A row of plain numbers as a list."""
    plain = type(data) is np.ndarray and data.ndim == 1 and data.dtype.kind in "iuf"
    return data.tolist() if plain and data.dtype.itemsize <= 8 else data


def _pin(sources: list[Source], width: int, at_hand: Collection[str], more: tuple[str, ...]) -> Pin:
    imports = {*more, *(line for source in sources for line in source.imports)}
    call = Bracket(_DECORATOR, tuple(source.expression for source in sources), ")", ("", ""))
    lines = laid_out(call, width)
    if len(lines) > MOST_LINES:
        return Pin(reason=_TOO_LONG)
    return Pin(
        imports=tuple(line for line in sorted(imports) if not _is_at_hand(line, at_hand)),
        decorator=call.flat(),
        lines=tuple(lines),
    )


def _is_at_hand(line: str, modules: Collection[str]) -> bool:
    words = line.split()
    return words[0] == "from" and words[1] in modules
