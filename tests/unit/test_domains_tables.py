"""Tables: every form, its types, empty ones, the way back, and what is no table."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from datetime import date
from typing import Any, cast

import numpy as np
import pytest

from dpaudit import categories, dates, floats, integers, lists, records, tables, texts, vectors
from dpaudit.domains import TABLE_FORMS, Tables, canonical
from dpaudit.errors import InvalidDomain

COLUMNS = {
    "x": floats(0, 1),
    "n": integers(0, 9),
    "yes": categories(True, False),
    "city": categories("Ulm", "Bonn"),
    "note": texts("a", "b"),
    "day": dates("0900-01-01", "2021-12-31"),
    "place": vectors(2, 0, 1),
    "maybe": categories("x", None),
    "mixed": categories(1, "one"),
    "many": lists(integers(0, 9), 3),
    "user": integers(0, 9).map(lambda n: f"user{n}", inverse=lambda seen: int(seen[4:])),
}
ROWS: list[dict[str, Any]] = [
    {
        "x": 0.5,
        "n": 3,
        "yes": True,
        "city": "Bonn",
        "note": "a b a",
        "day": date(900, 2, 28),
        "place": np.array([0.25, 0.75]),
        "maybe": None,
        "mixed": "one",
        "many": [1, 2],
        "user": 7,
    },
    {
        "x": 1.0,
        "n": 9,
        "yes": False,
        "city": "Ulm",
        "note": "b",
        "day": date(2020, 2, 29),
        "place": np.array([0.0, 1.0]),
        "maybe": "x",
        "mixed": 1,
        "many": [],
        "user": 0,
    },
]


def of_form(form: str, **columns: Any) -> Tables:
    if form in ("pandas", "polars"):
        pytest.importorskip(form, reason=f"{form} is an extra")
    return tables(columns or COLUMNS, form=form)


@pytest.mark.parametrize("form", TABLE_FORMS)
@pytest.mark.parametrize("size", [0, 1, 2])
def test_every_form_gives_its_rows_back_exactly(form: str, size: int) -> None:
    domain = of_form(form)
    data = domain.dataset(ROWS[:size])
    found = domain.unpack(data)
    assert canonical(found) == canonical(ROWS[:size])
    assert all(domain.contains(row) for row in found)
    for row, given in zip(found, ROWS, strict=False):
        assert {name: type(row[name]) for name in row} == {n: type(given[n]) for n in given}


@pytest.mark.parametrize("form", TABLE_FORMS)
def test_every_form_keeps_odd_values(form: str) -> None:
    domain = of_form(
        form,
        x=floats(0, 1),
        n=integers(0, 9),
        city=categories("Ulm", "Bonn"),
        code=categories(1, 2),
        day=dates("2020-01-01", "2021-12-31"),
        note=texts("a", "b"),
        place=vectors(2, 0, 1),
    ).with_odd_values()
    rows = list(domain.odd_values())
    assert len(rows) > 40
    assert all(domain.contains(row) for row in rows)
    assert canonical(domain.unpack(domain.dataset(rows))) == canonical(rows)


@pytest.mark.parametrize("form", TABLE_FORMS)
def test_a_table_is_built_anew(form: str) -> None:
    domain = of_form(form, place=vectors(2, 0, 1), many=lists(integers(0, 9), 3))
    row = {"place": np.zeros(2), "many": [1]}
    found = domain.unpack(domain.dataset([row]))[0]
    found["place"][:] = 7.0
    found["many"].append(7)
    assert canonical(row) == canonical({"place": np.zeros(2), "many": [1]})


def test_dicts_are_what_records_give() -> None:
    assert canonical(tables(COLUMNS).dataset(ROWS)) == canonical(records(COLUMNS).dataset(ROWS))
    assert tables(COLUMNS).dataset([]) == []


def test_columns_are_lists() -> None:
    domain = tables(n=integers(0, 9), city=categories("Ulm", "Bonn"), form="columns")
    rows = [{"n": 1, "city": "Ulm"}, {"n": 2, "city": "Bonn"}]
    assert domain.dataset(rows) == {"n": [1, 2], "city": ["Ulm", "Bonn"]}
    assert domain.dataset([]) == {"n": [], "city": []}


@pytest.mark.parametrize("size", [0, 2])
def test_types_of_a_structured_array(size: int) -> None:
    data = of_form("numpy").dataset(ROWS[:size])
    assert data.shape == (size,)
    found = {name: (kind.base.str, kind.shape) for name, (kind, _) in data.dtype.fields.items()}
    assert found == {
        "x": ("<f8", ()),
        "n": ("<i8", ()),
        "yes": ("|b1", ()),
        "city": ("<U4", ()),
        "note": ("<U9", ()),
        "day": ("<M8[D]", ()),
        "place": ("<f8", (2,)),
        "maybe": ("|O", ()),
        "mixed": ("|O", ()),
        "many": ("|O", ()),
        "user": ("|O", ()),
    }


@pytest.mark.parametrize(
    ("domain", "kind"),
    [
        (texts("a", "b").with_odd_values(), "|O"),  # numpy would drop a zero at the end
        (categories("a", "b\0"), "|O"),
        (categories("a", "bcd").with_odd_values(), "<U3"),
        (categories("a", "bcd").filter(lambda word: word != "a", "long"), "<U3"),
        (categories(""), "<U1"),
        (texts("a" * 500, max_tokens=3), "|O"),
        (categories("a", None).filter(lambda word: word == "a", "a"), "<U1"),
        (categories(1, 2).with_odd_values(), "|O"),
        (integers(0, 9).map(np.float64), "<f8"),
    ],
    ids=lambda given: str(given)[:40],
)
def test_how_wide_texts_are_in_a_structured_array(domain: Any, kind: str) -> None:
    assert tables(word=domain, form="numpy").dataset([]).dtype["word"].str == kind


@pytest.mark.parametrize("size", [0, 2])
def test_types_of_a_pandas_table(size: int) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is an extra")
    data = of_form("pandas").dataset(ROWS[:size])
    text = str(pandas.Series(["a"]).dtype)  # object in pandas 2, str in pandas 3
    assert len(data) == size
    assert {name: str(dtype) for name, dtype in data.dtypes.items()} == {
        "x": "float64",
        "n": "int64",
        "yes": "bool",
        "city": text,
        "note": text,
        "day": "datetime64[s]",
        "place": "object",
        "maybe": "object",
        "mixed": "object",
        "many": "object",
        "user": text,
    }


@pytest.mark.parametrize("size", [0, 2])
def test_types_of_a_polars_table(size: int) -> None:
    polars = pytest.importorskip("polars", reason="polars is an extra")
    data = of_form("polars").dataset(ROWS[:size])
    assert len(data) == size
    assert dict(data.schema) == {
        "x": polars.Float64,
        "n": polars.Int64,
        "yes": polars.Boolean,
        "city": polars.String,
        "note": polars.String,
        "day": polars.Date,
        "place": polars.Array(polars.Float64, 2),
        "maybe": polars.String,
        "mixed": polars.Object,
        "many": polars.Object,
        "user": polars.String,
    }


def test_polars_tells_a_missing_value_from_nan() -> None:
    domain = of_form("polars", x=categories(0.5, None, math.nan))
    rows: list[dict[str, Any]] = [{"x": None}, {"x": math.nan}, {"x": 0.5}]
    assert canonical(domain.unpack(domain.dataset(rows))) == canonical(rows)


@pytest.mark.parametrize(
    ("form", "data"),
    [
        ("dicts", {"a": [1]}),
        ("dicts", [1]),
        ("columns", [{"a": 1, "b": 2}]),
        ("columns", {"a": [1]}),
        ("columns", {"a": [1], "b": [1, 2]}),
        ("columns", {"a": 1, "b": 2}),
        ("numpy", np.zeros(3)),
        ("numpy", np.zeros((2, 2), dtype=[("a", "i8"), ("b", "i8")])),
        ("numpy", np.zeros(2, dtype=[("a", "i8"), ("c", "i8")])),
        ("pandas", [{"a": 1, "b": 2}]),
        ("polars", [{"a": 1, "b": 2}]),
    ],
)
def test_unpack_refuses_what_is_no_such_table(form: str, data: Any) -> None:
    domain = of_form(form, a=integers(0, 9), b=integers(0, 9))
    with pytest.raises(InvalidDomain, match=f"is {TABLE_FORMS[form]} with the columns a, b, got"):
        domain.unpack(data)


@pytest.mark.parametrize("form", ["pandas", "polars"])
def test_a_missing_library_says_how_to_install_it(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ImportError, match=rf"pip install 'dpaudit\[{form}\]'"):
        tables(a=floats(0, 1), form=form)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tables(), "tables needs at least one column"),
        (lambda: tables(cast(Any, [1])), "a dict of columns, got"),
        (lambda: tables({"a": floats(0, 1)}, a=floats(0, 1)), "the column 'a' twice"),
        (lambda: tables(a=cast(Any, 3)), "a column needs a name and a domain"),
        (lambda: tables(a=floats(0, 1), form="excel"), "dicts, columns, .* got 'excel'"),
        (lambda: tables(a=floats(0, 1), form=cast(Any, ["dicts"])), "got .'dicts'."),
        (lambda: tables({"": floats(0, 1)}, form="numpy").dataset([]), "needs a name, got ''"),
    ],
)
def test_tables_that_cannot_be(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidDomain, match=message):
        make()


def test_a_map_that_changes_its_type_is_refused_where_it_would_be_cut() -> None:
    # The examples that decide on a column's type are evenly spread: 1 of 10**6 is not among them.
    domain = tables(a=integers(0, 10**6).map(lambda n: 0.5 if n == 7 else n), form="numpy")
    assert domain.dataset([{"a": 5}])["a"].tolist() == [5]
    with pytest.raises(InvalidDomain, match=r"column 'a' holds values of the kind int, got 0\.5"):
        domain.dataset([{"a": 7}])
    huge = tables(a=integers(0, 10**6).map(lambda n: 2**70 if n == 7 else n), form="numpy")
    with pytest.raises(InvalidDomain, match="kind int, got 1180591620717411303424"):
        huge.dataset([{"a": 7}])


def test_a_table_in_words_and_as_a_value() -> None:
    domain = tables(a=floats(0, 1), form="columns")
    assert str(domain) == "tables(a=floats(0, 1), form='columns')"
    assert domain == tables({"a": floats(0, 1)}, form="columns")
    assert domain != tables(a=floats(0, 1))
    assert domain.with_odd_values().without_odd_values().inner == domain.inner


def test_a_table_of_filtered_rows_keeps_its_form() -> None:
    rows = tables(low=integers(0, 9), high=integers(0, 9), form="columns")
    domain = rows.filter(lambda row: row["low"] <= row["high"], "ordered")
    assert domain.contains({"low": 1, "high": 2})
    assert not domain.contains({"low": 2, "high": 1})
    assert domain.dataset([{"low": 1, "high": 2}]) == {"low": [1], "high": [2]}
