"""The pin that a failure prints: pasted above the test, the next run tries that very pair."""

from __future__ import annotations

import datetime
import enum
import re
import shutil
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from projects import Project

import dpaudit
from dpaudit import Pair, PureDP
from dpaudit.domains import canonical, is_whole
from dpaudit.report import laid_out, pin_of, source_of

# --- pasted ---------------------------------------------------------------------------------------

TABLE = """dpaudit.tables(
    age=dpaudit.integers(0, 120),
    city=dpaudit.categories("Ulm", "Bonn, 'am' Rhein"),
    born=dpaudit.dates("1990-01-01", "2020-12-31"),
    income=dpaudit.floats(0, 1).with_odd_values(),
    at=dpaudit.vectors(2, 0, 1),
    form="{}",
)"""
DOMAINS = {
    "floats": "dpaudit.floats(0, 1)",
    "infinite": "dpaudit.floats(0, 1).with_odd_values().filter(lambda x: not abs(x) < 2, 'odd')",
    "minus zero": "dpaudit.categories(-0.0, float('nan'))",
    "integers": "dpaudit.integers(0, 9)",
    "dates": "dpaudit.dates('2020-01-01', '2020-12-31')",
    "texts": "dpaudit.texts('it\\'s', 'no')",
    "tuples": "dpaudit.categories((1, 'a'), (2, b'b\\x00'))",
    "numpy scalars": "dpaudit.categories(1, 2).map(np.float32, inverse=int)",
    "enumeration": "dpaudit.categories(Colour.RED, Colour.BLUE)",
    "vectors": "dpaudit.vectors(2, -1, 1)",
    "lists": "dpaudit.lists(dpaudit.integers(0, 4), 3)",
    "records": "dpaudit.records(day=dpaudit.dates('2020-01-01', '2021-01-01'))",
    **{form: TABLE.format(form) for form in ("dicts", "columns", "numpy", "pandas", "polars")},
}
TEST = """
import enum
import numpy
np = numpy
import dpaudit

class Colour(enum.Enum):
    RED = 1
    BLUE = 2

def leak(data, size):
    return [repr(data)] * size

near = dpaudit.{relation}({domain}, max_records=2, min_records=1)

{pin}
def test_leak():
    dpaudit.assert_private(leak, dpaudit.PureDP(1.0), near, samples=12_000)
"""


def printed_pin(result: pytest.RunResult) -> str:
    """The lines to paste, out of what pytest printed."""
    lines = [re.sub(r"^E {7}", "", line) for line in result.outlines if line.startswith("E   ")]
    start = next(place for place, line in enumerate(lines) if line.startswith("  pin "))
    one = re.search(r"@dpaudit\.example\(.*\)", lines[start])
    if one is not None:
        return one[0]
    block = []
    for line in lines[start + 1 :]:
        if line.strip() and not line.startswith("    "):
            break
        block.append(line[4:] if line.strip() else "")
    return "\n".join(block)


def source(domain: str, relation: str, pin: str = "") -> str:
    return TEST.format(domain=DOMAINS[domain], relation=relation, pin=pin)


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize("domain", sorted(DOMAINS))
def test_a_printed_pin_runs_and_its_pair_is_tried(
    project: Project, domain: str, relation: str
) -> None:
    if domain in ("pandas", "polars"):
        pytest.importorskip(domain)
    project.write(test_pin=source(domain, relation))
    result = project.run("--dpaudit-report=first")
    result.assert_outcomes(failed=1)
    found = project.saved("first")["test_leak-1"]
    pin = printed_pin(result)
    assert pin.rstrip().endswith(")")
    shutil.rmtree(project.path / ".dpaudit", ignore_errors=True)  # what no file holds is not kept
    project.write(test_pin_again=source(domain, relation, pin))
    again = project.run("test_pin_again.py", "--dpaudit-report=second")
    again.assert_outcomes(failed=1)
    tried = project.saved("second")["test_leak-1"]
    assert tried.neighbours == "1 given pair"  # the pinned one, not a search
    assert tried.alpha == 0.5e-6
    plainest = found.simplest or found.counterexample
    assert plainest is not None
    assert tried.counterexample is not None
    if is_whole(plainest.pair.data) and is_whole(plainest.pair.neighbour):
        assert tried.counterexample.pair == plainest.pair
    assert str(tried.counterexample.pair) == str(plainest.pair)


def test_what_cannot_be_pinned_is_said(project: Project) -> None:
    unknown = "dpaudit.integers(0, 9).map(lambda n: n)"
    project.write(test_pin=TEST.format(domain=unknown, relation="replace_one", pin=""))
    result = project.run()
    result.assert_outcomes(failed=1)
    text = " ".join(re.sub("^E ", "", line).strip() for line in result.outlines)
    assert "this pair cannot be pinned by a line to paste" in text
    assert "the map has no inverse" in text
    assert "@dpaudit.example(" not in text


def test_a_test_that_does_not_know_dpaudit_by_name_is_told_to_import_it(project: Project) -> None:
    text = source("floats", "replace_one")
    text = text.replace("import dpaudit\n", "import dpaudit as d\n").replace("dpaudit.", "d.")
    project.write(test_pin=text)
    result = project.run()
    result.assert_outcomes(failed=1)
    pin = printed_pin(result)
    assert pin.split("\n")[:2] == ["import dpaudit", ""]
    project.write(test_pin_again=text.replace("def test_leak", f"{pin}\ndef test_leak"))
    again = project.run("test_pin_again.py", "--dpaudit-report=second")
    again.assert_outcomes(failed=1)
    assert project.saved("second")["test_leak-1"].neighbours == "1 given pair"


# --- written --------------------------------------------------------------------------------------


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


plain = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.complex_numbers()
    | st.dates()
    | st.datetimes()
    | st.timedeltas()
    | st.sampled_from([Colour.RED, Level.LOW])
    | st.integers(-100, 100).map(np.int16)
    | st.floats(width=32).map(np.float32)
    | st.dates().map(lambda day: np.datetime64(day, "D"))
)
arrays = npst.arrays(
    st.sampled_from(["f8", "f4", "i8", "u1", "?", "U3", "M8[D]", "m8[s]"]),
    npst.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=4),
)
values = st.recursive(
    plain | arrays,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
        | st.sets(st.integers() | st.text(max_size=3), max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=500, deadline=None)
@given(value=values, width=st.integers(10, 80))
def test_source_gives_back_the_very_same_value(value: Any, width: int) -> None:
    written = source_of(value)
    assert written is not None
    room: dict[str, Any] = {}
    exec("\n".join(written.imports), room)
    again = eval("\n".join(laid_out(written.expression, width)), room)
    assert canonical(again) == canonical(value)


@pytest.mark.parametrize(
    "value",
    [object(), [lambda: 0], np.longdouble(1) / 3, enum.Enum("Local", "A"), np.zeros(2, dtype="V4")],
)
def test_what_has_no_source_has_none(value: Any) -> None:
    assert source_of(value) is None
    assert pin_of(Pair(value, [0])).reason == "its datasets cannot be written as Python"


def test_arrays_are_written_as_lists_only_where_they_come_back() -> None:
    pair = Pair(np.array([1.0]), np.array([0.0]))
    relation = dpaudit.replace_one(dpaudit.floats(0, 1))
    assert pin_of(pair, relation).decorator == "@dpaudit.example([1.0], [0.0])"
    assert pin_of(pair, [(pair.data, pair.neighbour)]).decorator == "@dpaudit.example([1.0], [0.0])"

    class Own:
        def ask(self) -> Pair:
            return pair

        def tell(self, pair: Pair, score: float) -> None:
            pass

    exact = pin_of(pair, Own())
    assert exact.decorator == "@dpaudit.example(np.array([1.0]), np.array([0.0]))"
    assert exact.imports == ("import numpy as np",)


def test_names_of_the_test_itself_are_not_imported() -> None:
    pair = Pair([Colour.RED], [datetime.date(2020, 1, 1)])
    assert pin_of(pair).imports == (f"from {__name__} import Colour", "import datetime")
    assert pin_of(pair, at_hand={__name__}).imports == ("import datetime",)


# --- belonging ------------------------------------------------------------------------------------


def honest_sum(data: Any, size: int, rng: np.random.Generator) -> Any:
    """1-DP for one of any number of records in [0, 1] replaced."""
    return data.sum() + rng.laplace(size=size)  # an array: a list has no sum()


UNIT = dpaudit.replace_one(dpaudit.floats(0, 1), max_records=5)


@pytest.mark.parametrize(
    ("data", "neighbour", "reason"),
    [
        ([0.0], [50.0], r"50.0 is not in floats\(0, 1\)"),
        ([0.0, 0.0], [1.0, 1.0], "differ in 2 records, at most 1 may differ"),
        ([0.0] * 6, [0.0] * 5 + [1.0], "6 records, at most 5"),
        ([0.0], [0.0, 1.0], "both have as many"),
        (["a"], ["b"], "not a dataset of floats"),
    ],
)
def test_a_pin_outside_of_the_relation_is_an_error_and_accuses_nobody(
    data: Any, neighbour: Any, reason: str
) -> None:
    @dpaudit.example(data, neighbour)
    def check() -> None:
        dpaudit.assert_private(honest_sum, PureDP(1.0), UNIT, samples=2_000, rng=3)

    with pytest.raises(dpaudit.errors.InvalidRelation, match=reason) as caught:
        check()
    assert "pinned with @dpaudit.example is not a pair of replace one" in str(caught.value)


def test_a_pinned_list_is_given_as_the_array_that_the_relation_makes() -> None:
    @dpaudit.example([0], [1])
    def check() -> dpaudit.Audit:
        return dpaudit.assert_private(honest_sum, PureDP(1.0), UNIT, samples=2_000, rng=3)

    assert not check().refuted


def test_a_pin_beside_given_pairs_is_one_of_them() -> None:
    @dpaudit.example([0.0], [1.0])
    def check(listed: Any) -> dpaudit.Audit:
        return dpaudit.assert_private(honest_sum, PureDP(1.0), listed, samples=2_000, rng=3)

    assert not check([(np.array([0.0]), np.array([1.0]))]).refuted
    with pytest.raises(dpaudit.errors.InvalidRelation, match="none of the 1 given pair"):
        check([(np.array([0.0]), np.array([0.5]))])
