"""Figures and tables speak of what is there, and of nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from reported import (
    not_refuted,
    not_refuted_in_batches,
    of_samples,
    refuted,
    refuted_in_batches,
    replayed,
    suspected,
    trained,
    undecided,
)

from dpaudit.claims import Profile, PureDP
from dpaudit.report import place_of_strongest, report_page, tried_pairs
from dpaudit.report.figures import kinds_of
from dpaudit.results import Audit

AUDITS: dict[str, Callable[[], Audit]] = {
    "refuted": refuted,
    "not refuted": not_refuted,
    "undecided": undecided,
    "batches": not_refuted_in_batches,
    "batches, refuted": refuted_in_batches,
    "suspected": suspected,
    "samples": of_samples,
    "replay": replayed,
    "training": trained,
    "no event": lambda: replace(refuted(), counterexample=None, simplest=None),
    "nothing kept": lambda: replace(not_refuted(), history=(), strongest=None, outputs=()),
    "interrupted": lambda: replace(not_refuted(), interrupted=True),
}


@pytest.mark.parametrize("name", AUDITS)
def test_a_caption_speaks_only_of_what_is_drawn(name: str) -> None:
    audit = AUDITS[name]()
    for kind in kinds_of(audit):
        caption = kind.caption(audit)
        panels: list[Any] = kind.draw(audit).axes
        axes = [text for panel in panels for text in (panel.get_xlabel(), panel.get_ylabel())]
        assert not re.search(r"\bnats?\b|e-value", " ".join(axes))
        labels = [text for panel in panels for text in panel.get_legend_handles_labels()[1]]
        signs = [line.get_marker() for panel in panels for line in panel.get_lines()]
        hatched = any(
            part.get_hatch()
            for panel in panels
            for part in panel.collections
            if (part.get_paths() and any(len(path.vertices) for path in part.get_paths()))
        )
        match kind.name:
            case "curve":
                marked = any(text.startswith("certified: ") for text in labels)
                assert ("is marked" in caption) == marked
                assert ("hatched" in caption) == hatched
            case "trade-off":
                assert ("The box" in caption) == ("certified event" in labels)
            case "outputs":
                dark = any(text.endswith("in the event") for text in labels)
                assert ("Dark bars" in caption) == dark
            case "search":
                assert ("diamond" in caption) == ("D" in signs)


def test_where_nothing_was_certified_nothing_is_said_to_be_marked() -> None:
    bare = replace(not_refuted(), lower_bound=0.0)
    [curve] = [kind for kind in kinds_of(bare) if kind.name == "curve"]
    assert "marked" not in curve.caption(bare)
    profile = Profile(PureDP(1.0).delta, name="mine")
    assert "marked" not in curve.caption(replace(bare, claim=profile, lower_bound=None))
    assert "marked" in curve.caption(not_refuted())


@pytest.mark.parametrize("name", AUDITS)
def test_the_strongest_pair_is_among_those_tried_pairs(name: str) -> None:
    audit = AUDITS[name]()
    rows = tried_pairs(audit)
    assert len(rows) <= 8
    strongest = [row["number"] for row in rows if row["is_strongest"]]
    place = place_of_strongest(audit)
    assert strongest == ([] if place is None else [f"{place:,}"])
    if audit.strongest is not None and audit.history:
        assert place is not None
        assert audit.history[place - 1].pair == audit.strongest.pair


def test_wherever_the_strongest_pair_is_it_is_listed_first() -> None:
    audit = not_refuted()
    for number, record in enumerate(audit.history, 1):
        rows = tried_pairs(replace(audit, strongest=record))
        assert rows[0]["number"] == f"{number:,}"
        assert rows[0]["is_strongest"]


def test_the_pairs_of_a_batch_tester_are_not_said_to_have_won_anything() -> None:
    audit = not_refuted_in_batches()
    assert [row["wealth"] for row in tried_pairs(audit)] == ["", "", ""]
    assert "own wealth" not in report_page(audit)
