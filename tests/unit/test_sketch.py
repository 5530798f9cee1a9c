"""Outlines of outputs: every draw is in one bar, the event's are marked, nothing else changes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit.auditing import HistogramCounter, histograms_of
from dpaudit.events import Above, Event
from dpaudit.guessing import LabelledRows, Past
from dpaudit.outputs import Encoder
from dpaudit.results import Counterexample, OutputHistogram

RNG = np.random.default_rng(0)


def _audit(mechanism: Any, claim: dpaudit.claims.Claim, **options: Any) -> dpaudit.Audit:
    return dpaudit.audit(mechanism, claim, [([1.0], [-1.0])], rng=7, samples=40_000, **options)


def _laplace(data: list[float], size: int, rng: np.random.Generator) -> Any:
    return sum(data) + rng.laplace(size=size)


def _certified(audit: dpaudit.Audit) -> Counterexample:
    assert audit.counterexample is not None
    return audit.counterexample


def _sketch(
    outputs: Any, neighbour_outputs: Any, event: Event | None = None
) -> list[OutputHistogram]:
    """The outlines of two batches, laid out on the batches themselves."""
    encoder = Encoder()
    both = encoder.encode([*outputs, *neighbour_outputs])
    labels = np.arange(len(both)) < len(outputs)
    sketcher = HistogramCounter(encoder, LabelledRows.of(both, labels), event)
    for side, chosen in enumerate((labels, ~labels)):
        table = both.take(chosen)
        sketcher.see(side, table, None if event is None else event.holds(table))
    return list(sketcher.outlines())


def test_the_certifying_draws_are_outlined_and_the_events_among_them() -> None:
    found = _certified(_audit(_laplace, dpaudit.PureDP(1.0)))
    [outline] = found.outputs
    assert sum(outline.data) == found.data.draws
    assert sum(outline.neighbour) == found.neighbour.draws
    assert sum(outline.data_hits) == found.data.hits
    assert sum(outline.neighbour_hits) == found.neighbour.hits
    assert outline.edges[0] == -math.inf
    assert outline.edges[-1] == math.inf
    for hits, counts in zip(outline.data_hits, outline.data, strict=True):
        assert hits in (0, counts)  # an edge stands at the threshold


def test_an_audit_that_refutes_nothing_outlines_its_strongest_pair() -> None:
    audit = _audit(_laplace, dpaudit.PureDP(2.0))
    [outline] = audit.outputs
    assert audit.strongest is not None
    assert sum(outline.data) + sum(outline.neighbour) == audit.strongest.samples
    assert set(outline.data_hits) == {0}


def test_a_refuted_audit_keeps_its_outlines_with_the_counterexample() -> None:
    audit = _audit(_laplace, dpaudit.PureDP(1.0))
    assert audit.outputs == ()
    assert _certified(audit).outputs != ()


def test_few_numbers_are_counted_one_by_one() -> None:
    [outline] = _sketch([0, 1, 1, 2] * 10, [0, 0, 1, 2] * 10)
    assert outline.edges == ()
    assert outline.values == ("0", "1", "2")
    assert outline.data == (10, 20, 10)
    assert outline.neighbour == (20, 10, 10)


def test_many_whole_numbers_are_parted_between_them() -> None:
    numbers = RNG.integers(0, 100, size=2000).tolist()
    [outline] = _sketch(numbers, numbers)
    assert outline.data == outline.neighbour
    assert all(edge % 1 == 0.5 for edge in outline.edges[1:-1])


def test_words_and_numbers_of_one_place_stand_side_by_side() -> None:
    [outline] = _sketch([None, "a", 1.5, math.nan, math.inf] * 4, ["b", 1.5] * 9)
    assert set(outline.values) == {"None", "'a'", "'b'", "1.5", "NaN", "+inf"}
    assert sum(outline.data) == 20
    assert outline.neighbour[outline.values.index("'b'")] == 9


def test_rare_words_share_a_bar() -> None:
    [outline] = _sketch([f"word {n}" for n in range(50)], ["word 1"] * 50)
    assert outline.values[-1] == "other"
    assert len(outline.values) == 11
    assert sum(outline.data) == 50


def test_of_a_vector_the_most_telling_places_are_outlined() -> None:
    data, neighbour = RNG.normal(size=(2, 500, 6))
    data[:, 4] += 3.0
    outlines = _sketch(data.tolist(), neighbour.tolist(), Above(2, 0.0))
    assert [outline.place for outline in outlines] == ["output[2]", "output[4]"]
    assert sum(outlines[1].data_hits) == np.count_nonzero(data[:, 2] > 0.0)


@pytest.mark.parametrize(
    "outputs",
    [
        np.full(1000, 0.1) + np.where(np.arange(1000) < 40, np.arange(1000), 0.0),
        np.array([-1e308, 1e308] + [float(n) for n in range(98)]),
        1e16 + np.arange(100.0),
        RNG.standard_cauchy(size=1000) * 1e300,
        np.arange(5.0),
    ],
    ids=["almost one value", "as far apart as floats can be", "huge", "heavy tails", "few draws"],
)
def test_whatever_the_numbers_every_draw_is_in_one_bar(outputs: Any) -> None:
    [outline] = _sketch(outputs, outputs)
    assert sum(outline.data) == sum(outline.neighbour) == len(outputs)
    assert list(outline.edges) == sorted(set(outline.edges))
    assert len(outline.data) == outline.bins + len(outline.values) <= 60


def test_a_sample_kept_in_cells_is_spread_over_the_bars() -> None:
    """Against the exact counts of the draws: off by less than a cell, of 512, at either edge."""
    encoder, past = Encoder(), Past()
    draws = RNG.laplace(size=40_000)
    labels = np.arange(len(draws)) % 2 == 0
    past.add(encoder.encode(draws), labels)
    [outline] = histograms_of(encoder, past.seen)
    assert not past.seen.exact.all()
    exact, _ = np.histogram(draws[labels], np.array(outline.edges))
    assert np.abs(np.array(outline.data) - exact).max() <= 2 * len(draws) / 512
    assert sum(outline.data) == np.count_nonzero(labels)


def test_no_draws_no_outline() -> None:
    assert histograms_of(Encoder(), Past().seen) == ()


def test_a_replay_does_not_show_the_outputs_of_the_draws_before() -> None:
    found = _certified(_audit(_laplace, dpaudit.PureDP(1.0)))
    assert dpaudit.replay(found, _laplace, dpaudit.PureDP(1.0), rng=8).outputs == ()
