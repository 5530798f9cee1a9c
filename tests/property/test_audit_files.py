"""Whatever is wrong with a file, it is said at once; what loads can be printed and saved again."""

from __future__ import annotations

import contextlib
import copy
import json
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reported import not_refuted, of_words, refuted, undecided

import dpaudit
from dpaudit.errors import InvalidAuditFile
from dpaudit.report import failure, headline, page_of, render, report_page
from dpaudit.results import Audit, audit_from_json, audit_text, load

Way = tuple[str | int, ...]
SECONDS = 2.0  # that no file may take
PAGES = ("evidence", "history", "strongest", "counterexample", "claim", "outputs", "samples")


def nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


def array(dtype: object, shape: list[int], values: list[Any]) -> dict[str, Any]:
    return {"$array": {"dtype": dtype, "shape": shape, "values": values}}


BAD: tuple[Any, ...] = (
    10**400,
    -1,
    0,
    0.5,
    1e308,
    2**62,
    None,
    True,
    "x",
    "\ud800",
    [],
    {},
    {"$float": "nan"},
    {"$float": "inf"},
    {"$unsaved": "\ud800"},
    {"$tuple": [10**400, "\ud800"]},
    array("U500000000", [1], ["a"]),
    array("(1000000,1000000)f8", [0], []),
    array("<f8", [0, 10**12], []),
    {"$frame": {"library": "numpy", "size": 10**11, "columns": []}},
    {"$frame": {"library": "pandas", "size": 1, "columns": [["x", "U500000000", ["a"]]]}},
    nested(100),
    nested(400),
)


@cache
def of_tables() -> Audit:
    def summed(data: Any, size: int, rng: np.random.Generator) -> Any:
        return data["x"].sum() + rng.laplace(size=size)

    kind = [("x", "f8"), ("y", "U3")]
    pair = (np.array([(1.0, "a")], dtype=kind), np.array([(9.0, "a")], dtype=kind))
    return dpaudit.audit(summed, dpaudit.PureDP(0.5), [pair], samples=3_000, rng=1)


AUDITS = {
    "refuted": refuted,
    "not refuted": not_refuted,
    "undecided": undecided,
    "words": of_words,
    "tables": of_tables,
}


@cache
def text_of(name: str) -> str:
    return audit_text(AUDITS[name]())


def places(value: Any, path: Way = ()) -> Iterator[Way]:
    """All paths into a JSON value; of a list the first, the second and the last entry."""
    if path:
        yield path
    if isinstance(value, dict):
        for name, entry in value.items():
            yield from places(entry, (*path, name))
    elif isinstance(value, list):
        for at in sorted({*range(min(2, len(value))), *([len(value) - 1] if value else [])}):
            yield from places(value[at], (*path, at))


def parent(value: Any, path: Way) -> Any:
    for key in path[:-1]:
        value = value[key]
    return value


def check(form: Any, *, page: bool = False) -> bool:
    """Load it, and if it does, show it in every way; whether it did."""
    start = time.perf_counter()
    try:
        audit = audit_from_json(form)
    except InvalidAuditFile as error:
        str(error).encode()
        assert time.perf_counter() - start < SECONDS
        return False
    for words in (render(audit), headline(audit), repr(audit)):
        words.encode()
    if audit.refuted:
        failure(audit).encode()
    page_of(audit)
    assert audit_text(audit_from_json(json.loads(audit_text(audit)))) == audit_text(audit)
    assert time.perf_counter() - start < SECONDS
    if page:
        report_page(audit)
    return True


@pytest.mark.parametrize("name", AUDITS)
@pytest.mark.parametrize("turn", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_a_wrong_value_anywhere_is_refused_or_shown(name: str, turn: int) -> None:
    """Every second wrong value at every place, and the others at the next; all of them at night."""
    whole, shown = json.loads(text_of(name)), set()
    for start, path in enumerate(places(whole), turn):
        form = copy.deepcopy(whole)
        home = parent(form, path)
        for bad in BAD[start % 2 :: 2]:
            home[path[-1]] = bad
            page = path[0] in PAGES and path[:2] not in shown
            if check(form, page=page) and page:
                shown.add(path[:2])


@pytest.mark.parametrize("name", AUDITS)
def test_a_field_that_is_missing_or_new_is_refused_or_shown(name: str) -> None:
    whole = json.loads(text_of(name))
    for path in places(whole):
        form = copy.deepcopy(whole)
        home = parent(form, path)
        del home[path[-1]]
        check(form)
        if isinstance(home, dict):
            home["surprise"] = 1
            check(form)


json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(codec=None)),
        st.sampled_from(BAD),
    ),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=6,
)


@given(st.sampled_from(list(AUDITS)), st.data())
def test_whatever_stands_somewhere_is_refused_or_shown(name: str, data: st.DataObject) -> None:
    form = json.loads(text_of(name))
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(list(places(form))))
        parent(form, path)[path[-1]] = data.draw(json_values)
    check(form)


@given(st.binary(max_size=40), st.integers(0, 10_000))
def test_damaged_bytes_are_refused_or_shown(
    tmp_path_factory: pytest.TempPathFactory, damage: bytes, at: int
) -> None:
    raw = text_of("refuted").encode()
    at %= len(raw)
    path: Path = tmp_path_factory.getbasetemp() / "damaged.json"
    path.write_bytes(raw[:at] + damage + raw[at + len(damage) :])
    with contextlib.suppress(InvalidAuditFile):
        load(path)
