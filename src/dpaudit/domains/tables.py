"""Datasets that are tables: `tables`, as dicts, columns, numpy, pandas or polars.

Numbers, truth values, texts and days have their own type in every form; vectors have one in numpy
and polars, columns with missing values (None) in polars. Any other column holds Python objects.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.architecture import Domain
from dpaudit.domains.categories import Categories
from dpaudit.domains.domain import Refinable
from dpaudit.domains.records import Records, named_fields
from dpaudit.domains.sequences import Texts, Vectors
from dpaudit.domains.showing import POLARS, objects, plain, shown
from dpaudit.domains.wrapping import Filtered, Refined, WithOdd
from dpaudit.errors import InvalidDomain

TABLE_FORMS = {
    "dicts": "a list of dicts",
    "columns": "a dict of lists",
    "numpy": "a structured numpy array",
    "pandas": "a pandas DataFrame",
    "polars": "a polars DataFrame",
}
EXAMPLE_RECORDS = 200  # looked at to see what a column holds
MAX_TEXT_WIDTH = 1000  # characters of a numpy text; columns of longer ones hold objects
KINDS: dict[type, str] = {float: "float", int: "int", bool: "bool", str: "text", date: "date"}
NUMPY = {"float": "f8", "int": "i8", "bool": "?", "date": "M8[D]", "object": "O"}
PANDAS = {"float": "f8", "int": "i8", "bool": "?", "text": "str", "date": "M8[s]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnType:
    """What one column holds: a kind of value, with None among them if `optional`.

    `width` is the length of a vector, or of the longest text; 0 for a text of any length.
    """

    name: str
    kind: str
    optional: bool = False
    width: int = 0

    def strict_kind(self) -> str:
        """The kind in forms that have no missing values."""
        return "object" if self.optional else self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables(Refined):
    """Rows that are dictionaries; a mechanism receives them as a table of some form.

    A column's type follows from its domain and is the same for every dataset, also an empty one.
    """

    inner: Records
    form: str
    columns: tuple[ColumnType, ...]

    def dataset(self, records: Sequence[Mapping[str, Any]]) -> Any:
        cells = {
            column: _checked(column, [domain.released(record[column.name]) for record in records])
            for column, (_, domain) in zip(self.columns, self.inner.fields, strict=True)
        }
        named = {column.name: entries for column, entries in cells.items()}
        match self.form:
            case "dicts":
                return _rows(named)
            case "columns":
                return named
            case "numpy":
                table = np.empty(len(records), dtype=[_numpy_field(column) for column in cells])
                for column, entries in cells.items():
                    table[column.name] = _numpy_entries(column, entries)
                return table
        library = load_form(self.form)
        series = _pandas_series if self.form == "pandas" else _polars_series
        made = {column.name: series(library, column, cells[column]) for column in cells}
        return library.DataFrame(made)

    def unpack(self, data: Any) -> list[dict[str, Any]]:
        if self._is_table(data):
            if self.form == "dicts":
                return [self.inner.restored(row) for row in data]
            cells = {each.name: _entries(self.form, each, data[each.name]) for each in self.columns}
            if len(set(map(len, cells.values()))) == 1:
                return [self.inner.restored(row) for row in _rows(cells)]
        names = ", ".join(column.name for column in self.columns)
        raise InvalidDomain(
            f"a dataset of {self} is {TABLE_FORMS[self.form]} with the columns {names}, "
            f"got {data!r}."
        )

    def _is_table(self, data: Any) -> bool:
        names = {column.name for column in self.columns}
        match self.form:
            case "dicts":
                return isinstance(data, (list, tuple)) and all(isinstance(r, Mapping) for r in data)
            case "columns":
                named = isinstance(data, Mapping) and set(data) == names
                return named and all(isinstance(each, (list, tuple)) for each in data.values())
            case "numpy":
                structured = isinstance(data, np.ndarray) and data.ndim == 1
                return structured and set(data.dtype.names or ()) == names
        is_frame = isinstance(data, load_form(self.form).DataFrame)
        return is_frame and set(data.columns) == names

    def with_odd_values(self) -> Tables:
        return table_of(self.inner.with_odd_values(), self.form)

    def without_odd_values(self) -> Tables:
        return replace(self, inner=self.inner.without_odd_values())

    def odd_values(self) -> tuple[Any, ...]:
        return self.inner.odd_values()

    def __str__(self) -> str:
        return f"tables({self.inner.fields_in_words()}, form={self.form!r})"


def tables(
    columns: Mapping[str, Domain] | None = None, /, *, form: str = "dicts", **named: Domain
) -> Tables:
    """Records that are rows of a table, each column from its own domain.

    `form` is what the mechanism receives: "dicts" (a list of them), "columns" (a dict of lists),
    "numpy" (a structured array), "pandas" or "polars" (a DataFrame).

    >>> from dpaudit.domains import categories, integers
    >>> people = tables(age=integers(0, 120), city=categories("Ulm", "Bonn"), form="columns")
    >>> people.dataset([{"age": 31, "city": "Ulm"}, {"age": 64, "city": "Bonn"}])
    {'age': [31, 64], 'city': ['Ulm', 'Bonn']}
    """
    if form not in tuple(TABLE_FORMS):  # a tuple: the form may be of any type
        raise InvalidDomain(f"tables needs a form of {', '.join(TABLE_FORMS)}, got {form!r}.")
    load_form(form)
    return table_of(Records(fields=named_fields("tables", "column", columns, named)), form)


def table_of(rows: Records, form: str) -> Tables:
    """The table of these rows, with the type of each column."""
    columns = tuple(column_of(name, domain) for name, domain in rows.fields)
    return Tables(inner=rows, form=form, columns=columns)


def column_of(name: str, domain: Refinable) -> ColumnType:
    """The column of a domain, judged by what a mechanism sees of some of its records.

    >>> from dpaudit.domains import categories, floats
    >>> column_of("x", floats(0, 1)).kind, column_of("y", categories("a", 2)).kind
    ('float', 'object')
    """
    if isinstance(domain, Vectors):
        return ColumnType(name=name, kind="vector", width=domain.length)
    found = {type(plain(domain.released(record))) for record in domain.grid(EXAMPLE_RECORDS)}
    types = found - {NoneType}
    kind = KINDS.get(types.pop(), "object") if len(types) == 1 else "object"
    width = _longest(domain) if kind == "text" else 0
    optional = kind != "object" and NoneType in found
    return ColumnType(name=name, kind=kind, optional=optional, width=width)


def load_form(form: str) -> Any:
    """The library that a form needs, or None; ImportError says how to install a missing one."""
    if form not in ("pandas", "polars"):
        return None
    try:
        return importlib.import_module(form)
    except ImportError as error:
        raise ImportError(
            f"tables of the form {form!r} need {form}, which is not installed: "
            f"pip install 'dpaudit[{form}]'"
        ) from error


def _rows(cells: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]


def _entries(form: str, column: ColumnType, found: Any) -> list[Any]:
    """The entries of one column as Python values."""
    if form == "pandas" and found.dtype.kind == "M":
        found = found.to_numpy().astype("M8[D]")
    if form == "columns":
        entries = list(found)
    else:
        entries = found.to_list() if form == "polars" else found.tolist()
    if column.kind == "vector":
        return [np.array(entry, dtype=np.float64) for entry in entries]
    return entries


def _checked(column: ColumnType, entries: list[Any]) -> list[Any]:
    """The entries, if all are of the column's kind: a map may give another type now and then."""
    if column.kind in ("object", "vector"):
        return entries
    found = list(map(plain, entries))
    for entry in found:
        fits = KINDS.get(type(entry)) == column.kind or (entry is None and column.optional)
        if not fits or (type(entry) is int and not -(2**63) <= entry < 2**63):
            raise InvalidDomain(
                f"the column {column.name!r} holds values of the kind {column.kind}, got "
                f"{shown(entry)}. Let its map always give the same type."
            )
    return found


def _numpy_field(column: ColumnType) -> tuple[Any, ...]:
    if column.name == "":
        raise InvalidDomain("a column of a structured array needs a name, got ''.")
    if column.kind == "vector":
        return column.name, "f8", (column.width,)
    if column.strict_kind() == "text":
        return column.name, f"U{column.width}" if column.width > 0 else "O"
    return column.name, NUMPY[column.strict_kind()]


def _numpy_entries(column: ColumnType, entries: list[Any]) -> NDArray[Any]:
    if column.kind == "vector":
        return np.array(entries, dtype=np.float64).reshape(len(entries), column.width)
    if column.strict_kind() in ("object", "text"):
        return objects(entries)
    return np.array(entries, dtype=NUMPY[column.kind])


def _pandas_series(library: Any, column: ColumnType, entries: list[Any]) -> Any:
    kind = column.strict_kind()
    if kind in ("object", "vector"):
        return library.Series(objects(entries), dtype=object)
    if kind == "date":  # in days first: numpy would take other units for texts
        return library.Series(np.array(entries, dtype="M8[D]").astype(PANDAS[kind]))
    return library.Series(entries, dtype=PANDAS[kind])


def _polars_series(library: Any, column: ColumnType, entries: list[Any]) -> Any:
    if column.kind == "vector":
        rows = [np.asarray(entry, dtype=np.float64).tolist() for entry in entries]
        return library.Series(column.name, rows, library.Array(library.Float64, column.width))
    return library.Series(column.name, entries, getattr(library, POLARS[column.kind]))


def _longest(domain: Refinable) -> int:
    """The length of the longest text; 0 if it is not known, too long, or numpy would cut it."""
    match domain:
        case Categories(values=values):
            words = [value for value in values if isinstance(value, str)]
            length = max(map(len, words))
        case Texts(tokens=words, max_tokens=most, separator=separator):
            length = most * max(map(len, words)) + (most - 1) * len(separator)
        case Filtered(inner=inner):
            return _longest(inner)
        case WithOdd(inner=inner, odd=odd):
            known, words = _longest(inner), [value for value in odd if isinstance(value, str)]
            if known == 0:
                return 0
            length = max(known, *map(len, words))
        case _:
            return 0
    cut = any(word.endswith("\0") for word in words)  # numpy drops zeros at the end of a text
    return 0 if cut or length > MAX_TEXT_WIDTH else max(length, 1)
