"""The lines that pin a pair to a test: its datasets as Python source, or why there is none.

Source is run once before it is shown: it must give back a value that no mechanism could tell from
the dataset.
"""

from __future__ import annotations

import datetime
import enum
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpaudit.domains import Frame, canonical, frame_of
from dpaudit.neighbours import Pair, fitted, why_not

PIN_WIDTH = 68
MAX_LINES = 40  # of a pin that is still printed
MAX_RECORDS = 2_000  # of a dataset that is still written; more never fit
STEP = 4  # columns by which the inside of brackets is indented
_USUAL = ("float64", "int64", "bool")  # dtypes that NumPy gives to a list of Python values
_SCALARS = {"U": "str_", "S": "bytes_", "b": "bool_"}
_TOO_LONG = (
    "its datasets are too long to print. Save the audit (audit.save) and pin what "
    "dpaudit.load(file).counterexample.pair holds"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """What to write above a test: the imports, then the decorator; or the reason why not."""

    imports: tuple[str, ...] = ()
    decorator: str = ""  # on one line
    lines: tuple[str, ...] = ()  # of the decorator, each within `PIN_WIDTH`
    reason: str = ""


def pin_of(
    pair: Pair,
    neighbours: Any = None,
    *,
    at_hand: Collection[str] = (),
    imports: tuple[str, ...] = (),
) -> Pin:
    """How a pair is pinned where these are the neighbours.

    Arrays of numbers are written as lists where the relation turns them into arrays again. Names of
    the modules `at_hand` are not imported: the test is in one of them. `imports` are always needed.

    >>> pin_of(Pair(np.array([1.0]), np.array([]))).decorator
    '@dpaudit.example([1.0], [])'
    >>> pin_of(Pair([object()], [])).reason
    'its datasets cannot be written as Python'
    """
    if max(map(_length, (pair.data, pair.neighbour))) > MAX_RECORDS:
        return Pin(reason=_TOO_LONG)
    reason = "its datasets cannot be written as Python"
    with_lists = Pair(*map(_listed, (pair.data, pair.neighbour)))
    for form in (with_lists, Pair(pair.data, pair.neighbour)):
        sources = [found for side in (form.data, form.neighbour) if (found := source_of(side))]
        if len(sources) < 2:
            continue
        if neighbours is not None and (refused := why_not(neighbours, form)) is not None:
            reason = refused
        elif neighbours is None or fitted(neighbours, form, what="it") == pair:
            return _pin(sources, at_hand, imports)
    return Pin(reason=reason)


def _length(data: Any) -> int:
    try:
        return len(data)
    except TypeError:  # a single value, or an array without an axis
        return 0


def _listed(data: Any) -> Any:
    plain = type(data) is np.ndarray and data.ndim == 1 and data.dtype.kind in "iuf"
    return data.tolist() if plain and data.dtype.itemsize <= 8 else data


def _pin(sources: list[PythonSource], at_hand: Collection[str], more: tuple[str, ...]) -> Pin:
    imports = sorted({*more, *(line for source in sources for line in source.imports)})
    call = Bracket("@dpaudit.example(", tuple(each.expression for each in sources), ")", ("", ""))
    lines = laid_out(call, PIN_WIDTH)
    if len(lines) > MAX_LINES:
        return Pin(reason=_TOO_LONG)
    known = tuple(f"from {module} import " for module in at_hand)
    kept = tuple(line for line in imports if not line.startswith(known))
    return Pin(imports=kept, decorator=call.flat(), lines=tuple(lines))


@dataclass(frozen=True, slots=True)
class Bracket:
    """Parts between brackets, with commas: on one line, or on several if they do not fit."""

    opening: str
    parts: tuple[Expression, ...]
    closing: str
    named: tuple[str, ...] = ()  # what stands before each part: `name=`, or `'key': `

    def flat(self) -> str:
        """All of it on one line."""
        inside = ", ".join(f"{name}{_flat(part)}" for name, part in self.entries())
        comma = "," if self.opening == "(" and len(self.parts) == 1 else ""
        return f"{self.opening}{inside}{comma}{self.closing}"

    def entries(self) -> Iterable[tuple[str, Expression]]:
        """Each part with what stands before it."""
        return zip(self.named or ("",) * len(self.parts), self.parts, strict=True)


Expression = str | Bracket
Imports = set[str]


class PythonSource(NamedTuple):
    """An expression, and the lines that import what it names."""

    expression: Expression
    imports: tuple[str, ...]


def source_of(value: Any) -> PythonSource | None:
    """The source of a value; None where no source gives the very same value back.

    >>> found = source_of({"day": datetime.date(2020, 2, 29), "x": -0.0})
    >>> print(*laid_out(found.expression, 60), found.imports)
    {'day': datetime.date(2020, 2, 29), 'x': -0.0} ('import datetime',)
    >>> print(source_of(object()))
    None
    """
    imports: Imports = set()
    try:
        written = PythonSource(_written(value, imports), tuple(sorted(imports)))
        names: dict[str, Any] = {}
        exec("\n".join(written.imports), names)
        same = canonical(eval(_flat(written.expression), names)) == canonical(value)
    except Exception:  # of whatever kind: then there is no source
        return None
    return written if same else None


def laid_out(expression: Expression, width: int, *, indent: int = 0) -> list[str]:
    """The expression in lines of at most `width` columns, if its longest words fit.

    >>> print("\\n".join(laid_out(Bracket("[", tuple("01234567"), "]"), 12)))
    [
        0, 1, 2,
        3, 4, 5,
        6, 7,
    ]
    """
    margin, inner = " " * indent, " " * (indent + STEP)
    if isinstance(expression, str) or len(margin + expression.flat()) + 1 <= width:
        return [margin + _flat(expression)]
    lines = [margin + expression.opening]
    if not expression.named and all(isinstance(part, str) for part in expression.parts):
        lines += _filled([_flat(part) for part in expression.parts], width, inner)
    else:
        for name, part in expression.entries():
            first, *rest = laid_out(part, width, indent=len(inner))
            *before, last = [inner + name + first[len(inner) :], *rest]
            lines += [*before, f"{last},"]
    return [*lines, margin + expression.closing]


def _filled(texts: Sequence[str], width: int, margin: str) -> list[str]:
    lines: list[str] = []
    for text in texts:
        if lines and len(lines[-1]) + len(text) + 2 <= width:
            lines[-1] += f" {text},"
        else:
            lines.append(f"{margin}{text},")
    return lines


def _flat(expression: Expression) -> str:
    return expression if isinstance(expression, str) else expression.flat()


def _written(value: Any, imports: Imports) -> Expression:
    kind = type(value)
    if value is None or kind in (bool, int, str, bytes):
        return repr(value)
    if kind in (float, complex):
        return _number(value)
    if kind in (list, tuple, set, frozenset):
        return _collection(value, imports)
    if kind is dict:
        keys = tuple(f"{_flat(_written(key, imports))}: " for key in value)
        return Bracket("{", tuple(_written(entry, imports) for entry in value.values()), "}", keys)
    if kind in (datetime.date, datetime.datetime, datetime.time, datetime.timedelta):
        imports.add("import datetime")
        return repr(value)
    if isinstance(value, enum.Enum):  # by its name, if its class can be imported
        if kind.__module__ not in ("__main__", "builtins"):
            imports.add(f"from {kind.__module__} import {kind.__qualname__}")
        return f"{kind.__qualname__}.{value.name}"
    if (frame := frame_of(value)) is not None:
        return _table(frame, imports)
    imports.add("import numpy as np")
    if isinstance(value, np.generic):
        return _scalar(value, imports)
    if kind is np.ndarray:
        return _array(value, imports)
    raise TypeError(kind)


def _number(value: float | complex) -> str:
    if isinstance(value, complex):
        return f"complex({_number(value.real)}, {_number(value.imag)})"
    is_finite = value == value and abs(value) != float("inf")
    return repr(value) if is_finite else f"float({str(value)!r})"


def _collection(value: Any, imports: Imports) -> Expression:
    entries = sorted(value, key=canonical) if isinstance(value, (set, frozenset)) else value
    parts = tuple(_written(entry, imports) for entry in entries)
    if isinstance(value, list):
        return Bracket("[", parts, "]")
    if isinstance(value, tuple):
        return Bracket("(", parts, ")") if parts else "()"
    return Bracket(f"{type(value).__name__}([", parts, "])")


def _scalar(value: np.generic, imports: Imports) -> str:
    kind, name = value.dtype.kind, value.dtype.name
    if kind in "Mm":
        unit = np.datetime_data(value.dtype.str)[0]
        inside = repr(str(value)) if kind == "M" else repr(int(value.astype("i8")))
        return f"np.{'datetime64' if kind == 'M' else 'timedelta64'}({inside}, {unit!r})"
    if kind in _SCALARS:
        return f"np.{_SCALARS[kind]}({value.item()!r})"
    if kind in "iuf" and value.dtype.itemsize <= 8:
        return f"np.{name}({_flat(_written(value.item(), imports))})"
    raise TypeError(value.dtype)


def _array(value: NDArray[Any], imports: Imports) -> Bracket:
    kind = value.dtype.kind
    longer = kind == "f" and value.dtype.itemsize > 8  # no Python float holds it
    if longer or kind not in "biufUSMmO":
        raise TypeError(value.dtype)
    name = str(value.dtype.str if kind in "US" else value.dtype)
    plain = value.astype(str if kind == "M" else "i8") if kind in "Mm" else value
    entries = _written(plain.tolist() if value.size > 0 else [], imports)
    shaped = value.ndim != 1 and value.size == 0
    closing = f").reshape({value.shape!r})" if shaped else ")"
    if name in _USUAL and value.size > 0:
        return Bracket("np.array(", (entries,), closing, ("",))
    return Bracket("np.array(", (entries, repr(name)), closing, ("", "dtype="))


def _table(frame: Frame, imports: Imports) -> Bracket:
    match frame.library:
        case "numpy":
            return _structured(frame, imports)
        case "pandas":
            imports.add("import pandas as pd")
            series = tuple(_pandas_series(kind, cells, imports) for _, kind, cells in frame.columns)
            names = tuple(f"{name!r}: " for name, _, _ in frame.columns)
            return Bracket("pd.DataFrame(", (Bracket("{", series, "}", names),), ")", ("",))
        case _:
            imports.add("import polars as pl")
            columns = tuple(_polars_series(*column, imports) for column in frame.columns)
            return Bracket("pl.DataFrame(", (Bracket("[", columns, "]"),), ")", ("",))


def _structured(frame: Frame, imports: Imports) -> Bracket:
    imports.add("import numpy as np")
    fields = [
        (name, kind, shape) if (shape := np.shape(cells)[1:]) else (name, kind)
        for name, kind, cells in frame.columns
    ]
    columns = (_cells(cells) for _, _, cells in frame.columns)
    parts = (_written(list(zip(*columns, strict=True)), imports), _written(fields, imports))
    return Bracket("np.array(", parts, ")", ("", "dtype="))


def _cells(cells: NDArray[Any]) -> list[Any]:
    """The cells of a column as Python values; times as texts."""
    found: list[Any] = (cells.astype(str) if cells.dtype.kind in "Mm" else cells).tolist()
    return found


def _pandas_series(kind: str, cells: NDArray[Any], imports: Imports) -> Bracket:
    parts = (_written(_cells(cells), imports), repr(kind))
    return Bracket("pd.Series(", parts, ")", ("", "dtype="))


def _polars_series(name: str, kind: str, cells: list[Any], imports: Imports) -> Bracket:
    """A column; types of polars may be nested: `Array(Float64, shape=(2,))`."""
    outer, opening, inside = kind.partition("(")
    dtype = f"pl.{outer}{opening}{'pl.' if inside[:1].isupper() else ''}{inside}"
    return Bracket("pl.Series(", (repr(name), _written(cells, imports), dtype), ")")
