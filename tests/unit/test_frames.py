"""Tables of columns: told apart by content, shown by rows, saved and read back."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit.domains import Unsaved, built, canonical, decoded, encoded, frame_of, shown
from dpaudit.errors import InvalidAuditFile
from dpaudit.neighbours import Pair
from dpaudit.report import dataset

COLUMNS = {
    "age": dpaudit.integers(0, 120),
    "income": dpaudit.floats(0, 1e6),
    "city": dpaudit.categories("Ulm", "Bonn"),
    "born": dpaudit.dates("1950-01-01", "2020-12-31"),
    "note": dpaudit.categories("a", 2),  # a column of objects
}
ROWS = [
    {"age": 31, "income": 0.1, "city": "Ulm", "born": date(1960, 2, 29), "note": "a"},
    {"age": 64, "income": 5e5, "city": "Bonn", "born": date(1999, 1, 1), "note": 2},
]


@pytest.fixture(params=["numpy", "pandas", "polars"])
def table(request: pytest.FixtureRequest) -> Any:
    """The domain of rows, as a table of one library."""
    if request.param != "numpy":
        pytest.importorskip(request.param, reason=f"{request.param} is an extra")
    return dpaudit.tables(COLUMNS, form=request.param)


def test_equal_tables_have_equal_keys_and_others_have_not(table: Any) -> None:
    assert canonical(table.dataset(ROWS)) == canonical(table.dataset(ROWS))
    for name in COLUMNS:
        other = [ROWS[0], {**ROWS[1], name: ROWS[0][name]}]
        assert canonical(table.dataset(other)) != canonical(table.dataset(ROWS))
    assert canonical(table.dataset([])) != canonical(table.dataset(ROWS))


def test_a_table_is_shown_by_its_rows(table: Any) -> None:
    text = shown(table.dataset(ROWS[:1]))
    assert text.startswith("[{'age': 31, 'income': 0.1, 'city': 'Ulm', 'born': ")
    assert dataset(table.dataset(ROWS[:1]), 200) == text
    assert dataset(table.dataset([]), 80) == "[]"


def test_a_saved_table_comes_back_equal(table: Any) -> None:
    for rows in (ROWS, []):
        data = table.dataset(rows)
        saved = json.loads(json.dumps(encoded(data)))
        if isinstance(decoded(saved), Unsaved):  # polars cannot hold objects exactly
            pytest.fail(f"not saved: {saved}")
        assert type(decoded(saved)) is type(data)
        assert canonical(decoded(saved)) == canonical(data)


def test_an_audit_of_tables_can_be_saved_and_read(table: Any, tmp_path: Any) -> None:
    def count(data: Any, size: int, rng: np.random.Generator) -> Any:
        return len(data) + rng.laplace(scale=0.2, size=size)

    relation = dpaudit.add_or_remove_one(table, max_records=2)
    audit = dpaudit.audit(count, dpaudit.PureDP(1.0), relation, rng=1, samples=5_000)
    assert audit.refuted
    audit.save(tmp_path / "audit.json")
    assert dpaudit.load(tmp_path / "audit.json") == audit
    assert "'age'" in str(audit)


def test_a_structured_array_of_vectors_is_taken_apart_and_built_again() -> None:
    table = np.array([([1.0, 2.0], 3)], dtype=[("v", "f8", (2,)), ("n", "i4")])
    frame = frame_of(table)
    assert frame is not None
    again = built(frame)
    assert again.dtype == table.dtype
    assert canonical(again) == canonical(table)


def test_arrays_of_equal_objects_are_equal() -> None:
    ours, theirs = (np.array([date(2020, 1, 1), "a", None], dtype=object) for _ in "ab")
    ours[1] = "".join(["a"])  # another object of the same content
    assert canonical(ours) == canonical(theirs)
    assert Pair(ours, []) == Pair(theirs, [])
    theirs[2] = 0
    assert canonical(ours) != canonical(theirs)


@pytest.mark.parametrize("value", [[1, 2], {"a": [1]}, 3.0, "text", None, np.array([1.0])])
def test_what_is_no_table_has_no_columns(value: Any) -> None:
    assert frame_of(value) is None


def test_a_frame_with_an_index_of_its_own_is_not_taken_for_its_columns() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is an extra")
    assert frame_of(pandas.DataFrame({"a": [1, 2]}, index=["x", "y"])) is None


def test_without_its_library_a_saved_table_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", missing)
    saved = {"$frame": {"library": "polars", "size": 1, "columns": [["age", "Int64", [31]]]}}
    assert decoded(saved) == Unsaved("polars [{'age': 31}]")


@pytest.mark.parametrize(
    "saved",
    [
        {"$frame": {"library": "os", "size": 0, "columns": []}},
        {"$frame": {"library": "polars", "size": 0, "columns": [["a", "__file__", []]]}},
        {"$frame": {"size": 0}},
        {"$frame": 3},
    ],
)
def test_a_saved_table_of_no_known_kind_is_refused(saved: Any) -> None:
    with pytest.raises(InvalidAuditFile, match="cannot read"):
        decoded(saved)
