"""What pages are made of: events as code, datasets side by side, regions, JSON that ends."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from reported import not_refuted, refuted

from dpaudit import events
from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, PureDP, RenyiDP
from dpaudit.events import Event, Rule, rule_of
from dpaudit.neighbours import NO_DATASETS, Pair
from dpaudit.outputs import MISSING, NAN, NONE, PLUS_INF, Encoder
from dpaudit.report import (
    compared,
    error_box,
    event_code,
    last_level,
    page_of,
    trade_off,
)
from dpaudit.results import Counterexample, PairRecord, Tally, audit_from_json

OUTPUTS: list[Any] = [
    {"count": 3, "tag": "yes", "values": [0.5, 1.5]},
    {"count": math.nan, "tag": None, "values": [2.5]},
    {"tag": "it's", "values": []},
    {"count": math.inf, "tag": b"yes", "values": [0.5, 1.5, 2.5]},
    {"count": "many", "tag": 2**70, "values": [-1.0, None]},
]


def _said(event: Event, encoder: Encoder) -> str:
    code = event_code(rule_of(event, encoder))
    assert code is not None
    return code


def _happened(code: str, outputs: list[Any]) -> list[bool]:
    names: dict[str, Any] = {}
    exec(code, names)
    return [bool(names["happened"](output)) for output in outputs]


# --- events as code -------------------------------------------------------------------------------


def _events(encoder: Encoder) -> list[Event]:
    names = encoder.names
    count, tag = names.index("output['count']"), names.index("output['tag']")
    second, length = names.index("output['values'][1]"), names.index("len(output['values'])")
    words = [events.IsWord(tag, code) for code in encoder.codes(tag).values()]
    return [
        events.Above(count, 2.0),
        events.Below(count, 1e300),
        events.Between(second, -2.0, 2.0),
        events.Outside(length, 1.0, 2.5),
        events.Equals(count, 3.0),
        events.Equals(second, 1.5),
        events.Below(length, 2.0),
        events.IsNumber(count),
        events.IsWord(count, NAN),
        events.IsWord(count, PLUS_INF),
        events.IsWord(count, MISSING),
        events.IsWord(second, MISSING),
        events.IsWord(second, NONE),
        events.Both(events.Outside(length, 1.0, 1.5), events.IsNumber(second)),
        *words,
    ]


def test_the_code_of_an_event_says_what_its_rule_says() -> None:
    encoder = Encoder()
    table = encoder.encode(OUTPUTS)
    for event in _events(encoder):
        code = _said(event, encoder)
        assert _happened(code, OUTPUTS) == event.holds(table).tolist(), code


def test_the_code_of_a_real_event_says_what_its_rule_says() -> None:
    found = refuted().counterexample
    assert found is not None
    assert found.rule is not None
    outputs = np.linspace(-5.0, 5.0, 101)
    code = event_code(found.rule)
    assert code is not None
    assert _happened(code, outputs.tolist()) == found.rule.holds(outputs).tolist()


@pytest.mark.parametrize(
    ("place", "event"),
    [
        ("output (rest)", events.Above(0, 1.0)),
        ("output[0]'", events.Above(0, 1.0)),
        ("output[<Colour.RED: 1>]", events.Above(0, 1.0)),
        ("output", events.IsWord(0, MISSING)),
        ("output", events.IsWord(0, 99)),
        ("output", events.Both(events.Above(0, 1.0), events.IsWord(0, MISSING))),
    ],
)
def test_what_plain_python_cannot_say_is_left_out(place: str, event: Event) -> None:
    assert event_code(Rule(event=event, places=(place,), words=())) is None


def test_a_word_too_long_to_be_kept_whole_is_left_out() -> None:
    encoder = Encoder()
    encoder.encode(["x" * 1000, "y"])
    assert event_code(rule_of(events.IsWord(0, 5), encoder)) is None
    assert "'y'" in _said(events.IsWord(0, 6), encoder)


# --- datasets side by side ------------------------------------------------------------------------


def _lines(pair: Pair) -> list[str]:
    return [
        row.skipped or f"{row.number} {row.data}|{row.neighbour} {row.mark}".strip()
        for row in compared(pair)
    ]


def test_a_changed_a_removed_and_an_added_record_are_marked() -> None:
    assert _lines(Pair([1, 2], [1, 3])) == ["1 1|1", "2 2|3 changed"]
    assert _lines(Pair(["a", "b", "c"], ["a", "c"])) == ["1 'a'|'a'", "2 'b'| removed", "3 'c'|'c'"]
    assert _lines(Pair([], [5])) == ["1 |5 added"]


def test_equal_records_of_large_datasets_are_counted_not_shown() -> None:
    data = np.arange(10_000)
    assert _lines(Pair(data, np.delete(data, 5_000))) == [
        "4,998 records not shown, the same on both sides",
        "4999 4998|4998",
        "5000 4999|4999",
        "5001 5000| removed",
        "5002 5001|5001",
        "5003 5002|5002",
        "4,997 records not shown, the same on both sides",
    ]


def test_many_differences_are_shown_in_part() -> None:
    lines = _lines(Pair(np.zeros(1000), np.ones(1000)))
    assert len(lines) == 41
    assert lines[-1] == "960 records not shown, 960 of them different"
    assert len(_lines(Pair(list(range(500)), list(range(900, 2000))))) <= 41


def test_what_is_no_list_of_records_is_one_line() -> None:
    assert _lines(Pair({"a": 1}, {"a": 2})) == ["1 {'a': 1}|{'a': 2} changed"]
    assert _lines(Pair(np.array(3.0), None)) == ["1 3.0|None changed"]


def test_rows_of_tables_are_records() -> None:
    rows = np.zeros((2, 2))
    assert _lines(Pair(rows, rows[:1])) == ["1 [0.0, 0.0]|[0.0, 0.0]", "2 [0.0, 0.0]| removed"]
    table = np.array([(31, "Ulm")], dtype=[("age", "i8"), ("city", "U4")])
    assert _lines(Pair(table, table[:0])) == ["1 {'age': 31, 'city': 'Ulm'}| removed"]


def test_two_samples_have_no_datasets() -> None:
    assert compared(NO_DATASETS) == []


# --- regions --------------------------------------------------------------------------------------


def _counterexample(data: Tally, neighbour: Tally) -> Counterexample:
    found = refuted().counterexample
    assert found is not None
    return replace(found, likelier="data", data=data, neighbour=neighbour)


COUNTED = _counterexample(
    Tally(hits=50, draws=100, lower=0.4, upper=0.6), Tally(hits=5, draws=100, lower=0.02, upper=0.1)
)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, math.log(4.0), 3.0, 800.0])
def test_the_certified_curve_is_below_that_of_any_pair_within_the_bounds(epsilon: float) -> None:
    """`H_eps` of the least telling pair of coins in the box, in both directions, by brute force."""
    p, q = np.meshgrid(np.linspace(0.4, 0.6, 41), np.linspace(0.02, 0.1, 41))
    times = math.exp(epsilon) if epsilon < 700.0 else math.inf
    with np.errstate(invalid="ignore"):
        ways = [p - times * q, q - times * p, (1 - p) - times * (1 - q), (1 - q) - times * (1 - p)]
    truth = np.maximum.reduce([np.zeros_like(p), *ways])
    assert COUNTED.delta_lower(epsilon) <= truth.min() + 1e-12
    if epsilon < 700.0:
        assert COUNTED.delta_lower(epsilon) == pytest.approx(truth.min(), abs=0.02)


def test_the_certified_curve_is_the_same_whichever_side_is_called_data() -> None:
    swapped = replace(COUNTED, likelier="neighbour", data=COUNTED.neighbour, neighbour=COUNTED.data)
    assert swapped.delta_lower(0.7) == COUNTED.delta_lower(0.7)


def test_the_errors_of_an_event() -> None:
    false_positive, false_negative = error_box(COUNTED)
    assert false_positive == (0.02, 0.05, 0.1)
    assert false_negative == (0.4, 0.5, 0.6)


def test_the_trade_off_of_pure_dp_is_that_of_randomized_response() -> None:
    epsilon, rates = 1.03, np.linspace(0.0, 1.0, 11)
    exact = np.maximum.reduce(
        [np.zeros(11), 1 - math.exp(epsilon) * rates, math.exp(-epsilon) * (1 - rates)]
    )
    assert trade_off(PureDP(epsilon), rates.tolist()) == pytest.approx(exact.tolist())


def test_the_trade_off_of_gaussian_dp_is_that_of_two_normals() -> None:
    from scipy.stats import norm

    rates = np.linspace(0.01, 0.99, 25)
    exact = norm.cdf(norm.isf(rates) - 1.5)
    found = np.array(trade_off(GaussianDP(1.5), rates.tolist()))
    assert np.all(found <= exact + 1e-9)  # fewer levels allow more
    assert found == pytest.approx(exact, abs=2e-3)


@pytest.mark.parametrize(
    "claim",
    [PureDP(0.0), PureDP(500.0), ApproxDP(1, 0.5), RenyiDP(2, 1), ZCDP(0.0), GaussianDP(20.0)],
    ids=str,
)
def test_the_levels_of_a_curve_are_some_and_not_too_many(claim: Claim) -> None:
    assert 0.1 <= last_level(claim, COUNTED, 1.0) <= 50.0
    assert 0.1 <= last_level(claim, None, None) <= 50.0


# --- JSON -----------------------------------------------------------------------------------------


def test_a_short_audit_is_shown_whole() -> None:
    audit = refuted()
    page = page_of(audit)
    assert page["raw_is_whole"]
    assert audit_from_json(json.loads(page["raw"])) == audit


def test_a_long_audit_is_cut_and_is_still_json() -> None:
    pair = Pair(list(range(10_000)), list(range(9_999)))
    record = PairRecord(pair=pair, samples=10, log_wealth=0.0, growth=0.0)
    audit = replace(not_refuted(), strongest=record, history=(record,) * 100, mechanism="x" * 9_000)
    page = page_of(audit)
    assert not page["raw_is_whole"]
    assert len(page["raw"]) <= 40_000
    saved = json.loads(page["raw"])
    assert "more" in saved["strongest"]["pair"]["data"][-1]
    assert len(saved["mechanism"]) <= 2_000
