"""A dataset as Python source: an expression, and the imports that it needs.

What is written is run once before it is shown: it must give back a value that no mechanism could
tell from the dataset. Where it does not, there is no source.
"""

from __future__ import annotations

import datetime
import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.domains import Frame, canonical, frame_of

NUMPY, PANDAS, POLARS = "import numpy as np", "import pandas as pd", "import polars as pl"
DATETIME = "import datetime"
STEP = 4  # columns that the inside of brackets is moved to the right
_USUAL = ("float64", "int64", "bool")  # dtypes that numpy gives to a list of Python values


class _NoSource(Exception):
    """A value of a kind that is not written as source."""


@dataclass(frozen=True, slots=True)
class Text:
    """An expression that stands on one line."""

    text: str


@dataclass(frozen=True, slots=True)
class Bracket:
    """Parts between brackets, with commas: on one line, or on several if they do not fit."""

    opening: str
    parts: tuple[Text | Bracket, ...]
    closing: str
    named: tuple[str, ...] = ()  # what stands before each part: `name=`, or `'key': `

    def flat(self) -> str:
        """All of it on one line."""
        inside = ", ".join(f"{name}{_flat(part)}" for name, part in self.entries())
        comma = "," if self.opening == "(" and len(self.parts) == 1 else ""
        return f"{self.opening}{inside}{comma}{self.closing}"

    def entries(self) -> Iterable[tuple[str, Text | Bracket]]:
        """Each part with what stands before it."""
        return zip(self.named or ("",) * len(self.parts), self.parts, strict=True)


@dataclass(frozen=True, slots=True)
class Source:
    """An expression, and the lines that import what it names."""

    expression: Text | Bracket
    imports: tuple[str, ...]

    @property
    def flat(self) -> str:
        """The expression on one line."""
        return _flat(self.expression)


def source_of(value: Any) -> Source | None:
    """The source of a value; None where it cannot be written so that the very same comes back.

    >>> found = source_of({"day": datetime.date(2020, 2, 29), "x": -0.0})
    >>> print(found.flat, found.imports)
    {'day': datetime.date(2020, 2, 29), 'x': -0.0} ('import datetime',)
    >>> print(source_of(object()))
    None
    """
    imports: dict[str, None] = {}
    try:
        written = Source(_written(value, imports), tuple(sorted(imports)))
        room: dict[str, Any] = {}
        exec("\n".join(written.imports), room)
        same = canonical(eval(written.flat, room)) == canonical(value)
    except Exception:  # of whatever kind: then there is none
        return None
    return written if same else None


def laid_out(expression: Text | Bracket, width: int, *, indent: int = 0) -> list[str]:
    """The expression in lines of at most so many columns, as far as words can be parted.

    >>> long = Bracket("[", tuple(Text(str(n)) for n in range(8)), "]")
    >>> print("\\n".join(laid_out(long, 12)))
    [
        0, 1, 2,
        3, 4, 5,
        6, 7,
    ]
    """
    margin = " " * indent
    if isinstance(expression, Text) or len(margin + expression.flat()) + 1 <= width:
        return [margin + _flat(expression)]
    lines = [margin + expression.opening]
    simple = all(isinstance(part, Text) for part in expression.parts) and not expression.named
    if simple:
        lines += _filled([_flat(part) for part in expression.parts], width, indent + STEP)
    else:
        for name, part in expression.entries():
            first, *rest = laid_out(part, width, indent=indent + STEP)
            first = " " * (indent + STEP) + name + first[indent + STEP :]
            lines += [*[first, *rest][:-1], f"{[first, *rest][-1]},"]
    return [*lines, margin + expression.closing]


def _filled(texts: Sequence[str], width: int, indent: int) -> list[str]:
    lines: list[str] = []
    for text in texts:
        if lines and len(lines[-1]) + len(text) + 2 <= width:
            lines[-1] += f" {text},"
        else:
            lines.append(f"{' ' * indent}{text},")
    return lines


def _flat(expression: Text | Bracket) -> str:
    return expression.text if isinstance(expression, Text) else expression.flat()


def _written(value: Any, imports: dict[str, None]) -> Text | Bracket:
    kind = type(value)
    if value is None or kind in (bool, int, str, bytes):
        return Text(repr(value))
    if kind in (float, complex):
        return _number(value)
    if kind in (list, tuple, set, frozenset):
        return _collection(value, imports)
    if kind is dict:
        keys = tuple(f"{_flat(_written(key, imports))}: " for key in value)
        parts = tuple(_written(entry, imports) for entry in value.values())
        return Bracket("{", parts, "}", keys)
    if kind in (datetime.date, datetime.datetime, datetime.time, datetime.timedelta):
        imports[DATETIME] = None
        return Text(repr(value))
    if isinstance(value, enum.Enum):
        return _member(value, imports)
    if (frame := frame_of(value)) is not None:
        return _table(frame, imports)
    if isinstance(value, np.generic):
        return _scalar(value, imports)
    if kind is np.ndarray:
        return _array(value, imports)
    raise _NoSource(kind)


def _number(value: float | complex) -> Text:
    if isinstance(value, complex):
        return Text(f"complex({_number(value.real).text}, {_number(value.imag).text})")
    plain = value == value and abs(value) != float("inf")
    return Text(repr(value) if plain else f"float({str(value)!r})")


def _collection(value: Any, imports: dict[str, None]) -> Text | Bracket:
    entries = sorted(value, key=canonical) if isinstance(value, (set, frozenset)) else value
    parts = tuple(_written(entry, imports) for entry in entries)
    match value:
        case list():
            return Bracket("[", parts, "]")
        case tuple():
            return Bracket("(", parts, ")") if parts else Text("()")
        case _:
            return Bracket(f"{type(value).__name__}([", parts, "])")


def _member(value: enum.Enum, imports: dict[str, None]) -> Text:
    """A member of an enumeration by its name, if its class can be imported by its own."""
    owner = type(value)
    if owner.__module__ not in ("__main__", "builtins"):
        imports[f"from {owner.__module__} import {owner.__qualname__}"] = None
    return Text(f"{owner.__qualname__}.{value.name}")


def _scalar(value: np.generic, imports: dict[str, None]) -> Text | Bracket:
    imports[NUMPY] = None
    kind, name = value.dtype.kind, value.dtype.name
    if kind in "Mm":
        unit = np.datetime_data(value.dtype.str)[0]
        inside = repr(str(value)) if kind == "M" else repr(int(value.astype("i8")))
        return Text(f"np.{'datetime64' if kind == 'M' else 'timedelta64'}({inside}, {unit!r})")
    if kind in "US":
        return Text(f"np.{'str_' if kind == 'U' else 'bytes_'}({value.item()!r})")
    if kind == "b":
        return Text(f"np.bool_({value.item()!r})")
    if kind in "iuf" and value.dtype.itemsize <= 8:
        return Text(f"np.{name}({_flat(_written(value.item(), imports))})")
    raise _NoSource(value.dtype)


def _array(value: NDArray[Any], imports: dict[str, None]) -> Bracket:
    imports[NUMPY] = None
    longer = value.dtype.kind == "f" and value.dtype.itemsize > 8  # no Python float holds it
    if longer or value.dtype.kind not in "biufUSMmO":
        raise _NoSource(value.dtype)
    name = str(value.dtype.str if value.dtype.kind in "US" else value.dtype)
    usual = name in _USUAL and value.size > 0
    parts = [_entries(value, imports)]
    named = ["", *([] if usual else ["dtype="])]
    if not usual:
        parts.append(Text(repr(name)))
    shaped = value.ndim != 1 and value.size == 0
    closing = f").reshape({value.shape!r})" if shaped else ")"
    return Bracket("np.array(", tuple(parts), closing, tuple(named))


def _entries(value: NDArray[Any], imports: dict[str, None]) -> Text | Bracket:
    """The entries of an array as lists of Python values; times as texts or whole numbers."""
    if value.dtype.kind in "Mm":
        return _written(value.astype(str if value.dtype.kind == "M" else "i8").tolist(), imports)
    return _written(value.tolist() if value.size > 0 else [], imports)


def _table(frame: Frame, imports: dict[str, None]) -> Bracket:
    match frame.library:
        case "numpy":
            return _structured(frame, imports)
        case "pandas":
            imports[PANDAS] = None
            series = tuple(_pandas_series(kind, cells, imports) for _, kind, cells in frame.columns)
            names = tuple(f"{name!r}: " for name, _, _ in frame.columns)
            return Bracket("pd.DataFrame(", (Bracket("{", series, "}", names),), ")", ("",))
        case _:
            imports[POLARS] = None
            columns = tuple(_polars_series(*column, imports) for column in frame.columns)
            return Bracket("pl.DataFrame(", (Bracket("[", columns, "]"),), ")", ("",))


def _structured(frame: Frame, imports: dict[str, None]) -> Bracket:
    imports[NUMPY] = None
    fields: list[tuple[Any, ...]] = []
    columns = []
    for name, kind, cells in frame.columns:
        shape = np.shape(cells)[1:]
        fields.append((name, kind, shape) if shape else (name, kind))
        times = cells.dtype.kind in "Mm"
        columns.append(cells.astype(str).tolist() if times else cells.tolist())
    rows = [tuple(row) for row in zip(*columns, strict=True)]
    parts = (_written(rows, imports), _written(fields, imports))
    return Bracket("np.array(", parts, ")", ("", "dtype="))


def _pandas_series(kind: str, cells: NDArray[Any], imports: dict[str, None]) -> Bracket:
    values = cells.astype(str) if cells.dtype.kind in "Mm" else cells
    parts = (_written(values.tolist(), imports), Text(repr(kind)))
    return Bracket("pd.Series(", parts, ")", ("", "dtype="))


def _polars_series(name: str, kind: str, cells: list[Any], imports: dict[str, None]) -> Bracket:
    inner = kind.partition("(")
    dtype = f"pl.{kind}" if not inner[1] else _nested(kind)
    return Bracket("pl.Series(", (Text(repr(name)), _written(cells, imports), Text(dtype)), ")")


def _nested(kind: str) -> str:
    """The polars type of vectors, `Array(Float64, shape=(2,))`, or of another with arguments."""
    outer, _, inside = kind.partition("(")
    return f"pl.{outer}({'pl.' if inside[:1].isupper() else ''}{inside}"
