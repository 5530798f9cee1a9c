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


def _histograms(
    outputs: Any, neighbour_outputs: Any, event: Event | None = None
) -> list[OutputHistogram]:
    """The found of two batches, laid out on the batches themselves."""
    encoder = Encoder()
    both = encoder.encode([*outputs, *neighbour_outputs])
    labels = np.arange(len(both)) < len(outputs)
    counter = HistogramCounter(encoder, LabelledRows.of(both, labels), event)
    for side, chosen in enumerate((labels, ~labels)):
        table = both.take(chosen)
        counter.see(side, table, None if event is None else event.holds(table))
    return list(counter.histograms())


def test_the_certifying_draws_are_outlined_and_the_events_among_them() -> None:
    found = _certified(_audit(_laplace, dpaudit.PureDP(1.0)))
    [histogram] = found.outputs
    assert sum(histogram.data) == found.data.draws
    assert sum(histogram.neighbour) == found.neighbour.draws
    assert sum(histogram.data_hits) == found.data.hits
    assert sum(histogram.neighbour_hits) == found.neighbour.hits
    assert histogram.edges[0] == -math.inf
    assert histogram.edges[-1] == math.inf
    for hits, counts in zip(histogram.data_hits, histogram.data, strict=True):
        assert hits in (0, counts)  # an edge stands at the threshold


def test_an_audit_that_refutes_nothing_outlines_its_strongest_pair() -> None:
    audit = _audit(_laplace, dpaudit.PureDP(2.0))
    [histogram] = audit.outputs
    assert audit.strongest is not None
    assert sum(histogram.data) + sum(histogram.neighbour) == audit.strongest.samples
    assert set(histogram.data_hits) == {0}


def test_a_refuted_audit_keeps_its_outlines_with_the_counterexample() -> None:
    audit = _audit(_laplace, dpaudit.PureDP(1.0))
    assert audit.outputs == ()
    assert _certified(audit).outputs != ()


def test_few_numbers_are_counted_one_by_one() -> None:
    [histogram] = _histograms([0, 1, 1, 2] * 10, [0, 0, 1, 2] * 10)
    assert histogram.edges == ()
    assert histogram.values == ("0", "1", "2")
    assert histogram.data == (10, 20, 10)
    assert histogram.neighbour == (20, 10, 10)


def test_many_whole_numbers_are_parted_between_them() -> None:
    numbers = RNG.integers(0, 100, size=2000).tolist()
    [histogram] = _histograms(numbers, numbers)
    assert histogram.data == histogram.neighbour
    assert all(edge % 1 == 0.5 for edge in histogram.edges[1:-1])


def test_words_and_numbers_of_one_place_stand_side_by_side() -> None:
    [histogram] = _histograms([None, "a", 1.5, math.nan, math.inf] * 4, ["b", 1.5] * 9)
    assert set(histogram.values) == {"None", "'a'", "'b'", "1.5", "NaN", "+inf"}
    assert sum(histogram.data) == 20
    assert histogram.neighbour[histogram.values.index("'b'")] == 9


def test_rare_words_share_a_bar() -> None:
    [histogram] = _histograms([f"word {n}" for n in range(50)], ["word 1"] * 50)
    assert histogram.values[-1] == "other"
    assert len(histogram.values) == 11
    assert sum(histogram.data) == 50


def test_of_a_vector_the_most_telling_places_are_outlined() -> None:
    data, neighbour = RNG.normal(size=(2, 500, 6))
    data[:, 4] += 3.0
    found = _histograms(data.tolist(), neighbour.tolist(), Above(2, 0.0))
    assert [histogram.place for histogram in found] == ["output[2]", "output[4]"]
    assert sum(found[1].data_hits) == np.count_nonzero(data[:, 2] > 0.0)


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
    [histogram] = _histograms(outputs, outputs)
    assert sum(histogram.data) == sum(histogram.neighbour) == len(outputs)
    assert list(histogram.edges) == sorted(set(histogram.edges))
    assert len(histogram.data) == histogram.bins + len(histogram.values) <= 60


def test_a_sample_kept_in_cells_is_spread_over_the_bars() -> None:
    """Against the exact counts of the draws: off by less than a cell, of 512, at either edge."""
    encoder, past = Encoder(), Past()
    draws = RNG.laplace(size=40_000)
    labels = np.arange(len(draws)) % 2 == 0
    past.add(encoder.encode(draws), labels)
    [histogram] = histograms_of(encoder, past.seen)
    assert not past.seen.exact.all()
    exact, _ = np.histogram(draws[labels], np.array(histogram.edges))
    assert np.abs(np.array(histogram.data) - exact).max() <= 2 * len(draws) / 512
    assert sum(histogram.data) == np.count_nonzero(labels)


def test_no_draws_no_outline() -> None:
    assert histograms_of(Encoder(), Past().seen) == ()


def test_a_replay_does_not_show_the_outputs_of_the_draws_before() -> None:
    found = _certified(_audit(_laplace, dpaudit.PureDP(1.0)))
    assert dpaudit.replay(found, _laplace, dpaudit.PureDP(1.0), rng=8).outputs == ()
