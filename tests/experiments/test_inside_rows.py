"""The study of diffprivlib's faults inside: what is asked, what the committed CSV says."""

from __future__ import annotations

import csv
import importlib
from pathlib import Path
from types import ModuleType

from scripts import imported

rows = imported("diffprivlib_rows")
RESULTS = Path(__file__).parents[2] / "experiments" / "inside" / "results"


def test_every_row_has_pairs_and_a_right_one_has_six(rows: ModuleType) -> None:
    for label, (kind, _, pairs_of) in rows.ROWS.items():
        pairs = pairs_of()
        assert kind in ("fault", "right", "tree")
        assert len(pairs) >= (6 if kind == "right" else 1), label
        if kind == "right":
            assert len({rows._either_way(rows.Pair(*pair)) for pair in pairs}) >= 6, label


def test_the_results_are_what_the_page_says(rows: ModuleType) -> None:
    with (RESULTS / "diffprivlib_rows.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [line["label"] for line in lines] == [*rows.ROWS]
    for line in lines:
        if line["kind"] == "fault":
            assert line["broken_inside"] == line["audits"], line["label"]
        elif line["kind"] == "right":
            assert (line["broken_inside"], line["other_verdicts"]) == ("0", ""), line["label"]
            assert line["informative"] == line["pairs"], line["label"]
        else:
            assert line["black_box"].startswith("0 of "), line["label"]


def test_the_table_has_a_row_for_each(scripts: None) -> None:
    script = importlib.import_module("fill_tables")
    text = "<!-- table: inside_diffprivlib -->\n<!-- end -->"
    table = script.filled(text, RESULTS).splitlines()
    rows = importlib.import_module("diffprivlib_rows").ROWS
    assert len(table) == len(rows) + 4
    assert all(f"| {label} |" in line for label, line in zip(rows, table[3:], strict=False))
