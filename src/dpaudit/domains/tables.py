"""Datasets that are tables: `tables`, as dicts, columns, numpy, pandas or polars."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpaudit.domains.columns import TABLE_FORMS, Column, column_of, load_form, pack, unpacked
from dpaudit.domains.domain import Domain
from dpaudit.domains.records import Records, named_fields
from dpaudit.domains.wrapping import Wrapping
from dpaudit.errors import InvalidDomain


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables(Wrapping):
    """Rows that are dictionaries; a mechanism receives them as a table of some form.

    A column's type follows from its domain and is the same for every dataset, also an empty one.
    """

    inner: Records
    form: str
    columns: tuple[Column, ...]

    def dataset(self, records: Sequence[Mapping[str, Any]]) -> Any:
        cells = {
            column.name: [domain.released(record[column.name]) for record in records]
            for column, (_, domain) in zip(self.columns, self.inner.fields, strict=True)
        }
        return pack(self.form, self.columns, cells, len(records))

    def unpack(self, data: Any) -> list[dict[str, Any]]:
        rows = unpacked(self.form, self.columns, data)
        if rows is None:
            names = ", ".join(column.name for column in self.columns)
            raise InvalidDomain(
                f"a dataset of {self} is {TABLE_FORMS[self.form]} with the columns {names}, "
                f"got {data!r}."
            )
        return [self.inner.restored(row) for row in rows]

    def released(self, record: Any) -> Any:
        return self.inner.released(record)

    def restored(self, seen: Any) -> Any:
        return self.inner.restored(seen)

    def with_odd_values(self) -> Tables:
        return table_of(self.inner.with_odd_values(), self.form)

    def without_odd_values(self) -> Tables:
        return dataclasses.replace(self, inner=self.inner.without_odd_values())

    def odd_values(self) -> tuple[Any, ...]:
        return self.inner.odd_values()

    def __str__(self) -> str:
        columns = ", ".join(f"{name}={domain}" for name, domain in self.inner.fields)
        return f"tables({columns}, form={self.form!r})"


def tables(
    columns: Mapping[str, Domain] | None = None, /, *, form: str = "dicts", **named: Domain
) -> Tables:
    """Records that are rows of a table, each column from its own domain.

    `form` is what the mechanism receives: "dicts" (a list of them), "columns" (a dict of lists),
    "numpy" (a structured array), "pandas" or "polars" (a DataFrame).

    >>> from dpaudit.domains import categories
    >>> from dpaudit.domains.numbers import integers
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
