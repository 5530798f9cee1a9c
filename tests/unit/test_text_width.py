"""Texts keep to their width and length, whatever is in them; so does a running audit's line."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from reported import AUDITS, with_event

from dpaudit.claims import Profile, PureDP
from dpaudit.neighbours import Pair
from dpaudit.report import dataset, one_line, progress_line, render
from dpaudit.results import Audit, Progress

LONG_DATA = [
    np.arange(100_000.0),
    np.full((500, 3), 1 / 3),
    [{"name": "a" * 300, "age": 7}] * 40,
    [{"name": "a" * 300, "age": 7}],
    "text\nwith lines " * 100,
    (1 / 3,) * 12,
    None,
    {f"field {each}": each for each in range(100)},
    np.float64(0.5),
    np.array(1 / 3),
    [],
]


@pytest.mark.parametrize("audit", AUDITS, ids=lambda audit: audit.verdict.value)
@pytest.mark.parametrize("data", LONG_DATA, ids=range(len(LONG_DATA)))
def test_reports_keep_to_80_columns_and_about_25_lines(audit: Audit, data: Any) -> None:
    pair = Pair(data, data)
    assert audit.strongest is not None
    audit = replace(
        audit,
        mechanism="a mechanism\nwith a name that " + "goes on " * 30,
        strongest=replace(audit.strongest, pair=pair),
        neighbours="replace one of " + "a_very_long_word" * 20,
        rng_seed=tuple(range(2**100, 2**100 + 4)),
        interrupted=True,
    )
    if audit.counterexample is not None:
        audit = with_event(audit, pair=pair, event="output[0] > 0.1 and " * 20)
    for claim in (audit.claim, Profile(PureDP(1).delta, name="n" * 200)):
        lines = render(replace(audit, claim=claim)).splitlines()
        assert max(map(len, lines)) <= 80
        assert len(lines) <= 34
    assert all(len(render(each).splitlines()) <= 25 for each in AUDITS)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (np.array([1.0, -1.0]), "[1.0, -1.0]"),
        (np.arange(1000), "[0, 1, 2, 3, 4, ..., 995, 996, 997, 998, 999] (1,000 in all)"),
        ([], "[]"),
        (["a" * 60], f"['{'a' * 26}...{'a' * 27}']"),
        ("abc", "'abc'"),
        (np.array(2.5), "2.5"),
    ],
)
def test_a_dataset_is_elided_to_its_width(value: Any, shown: str) -> None:
    assert dataset(value, 60) == shown


@pytest.mark.parametrize("width", range(1, 40))
def test_one_line_is_one_line(width: int) -> None:
    text = one_line("a name\nof many words that goes on", width)
    assert len(text) <= width
    assert "\n" not in text


# --- while it runs --------------------------------------------------------------------------------

PROGRESS = Progress(
    pairs=12,
    samples=48_000,
    budget=300_000,
    seconds=1.23,
    lower_bound=0.8449,
    log_wealth=4.9,
    alpha=1e-6,
    pair="[1.0] | []",
)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {},
            "48k of 300k draws, 39k/s, 6.5 s left, epsilon 0.844 leaks, evidence 35%, pair 12",
        ),
        (
            {"budget": None, "lower_bound": None, "pair": ""},
            "48k draws, 39k/s, 1.2 s, evidence 35%, pair 12",
        ),
        (
            {"samples": 4, "seconds": 20.0, "limit": 60.0, "lower_bound": None, "pair": ""},
            "4 of 300k draws, 5.0 s each, 20.0 s, 40.0 s left, evidence 35%, pair 12",
        ),
        (
            {"budget": 50_000, "limit": 60.0, "lower_bound": None},  # the draws end before the time
            "48k of 50k draws, 39k/s, 1.2 s, 0.1 s left, evidence 35%, pair 12: [1.0] | []",
        ),
        (
            {"samples": 0, "budget": None, "lower_bound": None, "pair": ""},
            "0 draws, 1.2 s, evidence 35%, pair 12",
        ),
        ({"lower_bound": 0.0, "log_wealth": -math.inf, "pair": ""}, None),
        ({"log_wealth": math.inf, "pair": "x" * 500}, None),
        ({"samples": 10**9, "budget": 10**10, "seconds": 1e6, "pairs": 10**9}, None),
    ],
)
def test_progress_is_one_line_of_80_columns(changes: dict[str, Any], line: str | None) -> None:
    progress = replace(PROGRESS, **changes)
    text = progress_line(progress, symbol="epsilon")
    assert len(text) <= 80
    if line is not None:
        assert text == line
    for width, symbol in itertools.product((20, 77), ("mu", None)):
        assert len(progress_line(progress, symbol=symbol, width=width)) <= width
