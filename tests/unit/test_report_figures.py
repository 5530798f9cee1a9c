"""Figures of an audit: plain Matplotlib figures, without pyplot, in words too."""

from __future__ import annotations

import math
from dataclasses import replace

import matplotlib
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from reported import of_words, refuted, undecided, verdicts

from dpaudit.report import CURVE, EVIDENCE, OUTPUTS, SEARCH, TRADE_OFF, as_svg, thinned
from dpaudit.results import Evidence, OutputHistogram


@pytest.mark.parametrize("kind", ["curve", "outputs", "evidence", "search", "trade_off"])
@pytest.mark.parametrize("name", verdicts())
def test_every_figure_of_every_verdict_can_be_drawn(name: str, kind: str) -> None:
    figure = getattr(verdicts()[name].plot, kind)()
    assert isinstance(figure, Figure)
    assert all(panel.get_xlabel() or panel.get_ylabel() for panel in figure.axes)


def test_drawing_leaves_pyplot_and_its_settings_alone() -> None:
    before = dict(matplotlib.rcParams)
    as_svg(refuted().plot.curve(), name="curve", alt="")
    assert dict(matplotlib.rcParams) == before
    assert pyplot.get_fignums() == []


def test_the_same_figure_is_the_same_text() -> None:
    first, second = (as_svg(refuted().plot.outputs(), name="one", alt="bars") for _ in range(2))
    assert first == second
    assert first.startswith("<svg")
    assert 'aria-label="bars"' in first


def test_figures_on_one_page_do_not_share_ids() -> None:
    audit = refuted()
    first = as_svg(audit.plot.curve(), name="curve", alt="")
    second = as_svg(audit.plot.curve(), name="again", alt="")
    ids = [{part.split('"')[0] for part in svg.split(' id="')[1:]} for svg in (first, second)]
    assert ids[0]
    assert not ids[0] & ids[1]


def test_words_in_any_script_are_drawn_without_a_warning() -> None:
    outline = OutputHistogram(
        place="output['日本']",
        edges=(-math.inf, 0.0, 1.0, math.inf),
        values=("'日本'", "'$x^$'", "'</svg>'"),
        data=(1, 2, 3, 4, 5, 6),
        neighbour=(6, 5, 4, 3, 2, 1),
        data_hits=(0, 0, 0, 0, 0, 0),
        neighbour_hits=(0, 0, 0, 0, 0, 0),
    )
    audit = replace(undecided(), outputs=(outline,))
    svg = as_svg(audit.plot.outputs(), name="outputs", alt="bars")
    assert "'$x^$'" in svg
    assert "日本" in svg
    assert svg.count("</svg>") == 1


@pytest.mark.parametrize(
    "outline",
    [
        OutputHistogram(
            place="output",
            edges=(),
            values=("'a'",),
            data=(0,),
            neighbour=(0,),
            data_hits=(0,),
            neighbour_hits=(0,),
        ),
        OutputHistogram(
            place="output",
            edges=(-math.inf, 5.0, math.inf),
            values=(),
            data=(3, 1),
            neighbour=(1, 3),
            data_hits=(3, 0),
            neighbour_hits=(1, 0),
        ),
    ],
    ids=["nothing counted", "two bins"],
)
def test_odd_outlines_can_be_drawn(outline: OutputHistogram) -> None:
    as_svg(replace(undecided(), outputs=(outline,)).plot.outputs(), name="outputs", alt="")


def test_what_was_not_kept_is_said() -> None:
    bare = replace(undecided(), outputs=(), history=())
    with pytest.raises(ValueError, match="No outputs were kept with this audit"):
        bare.plot.outputs()
    with pytest.raises(ValueError, match="No history of the search was kept"):
        bare.plot.search()


def test_figures_in_words() -> None:
    audit = refuted()
    found = audit.counterexample
    assert found is not None
    assert f"{found.data.rate:.1%} of the draws on A" in OUTPUTS.alt(audit)
    assert "allows delta 0.463 at 0 and 0 at epsilon 1" in CURVE.alt(audit)
    assert "was reached" in EVIDENCE.alt(audit)
    assert "was not reached" in EVIDENCE.alt(verdicts()["not-refuted"])
    assert "false positive rate of at most" in TRADE_OFF.alt(audit)
    assert "tried" in SEARCH.alt(audit)
    assert "holds" in OUTPUTS.alt(of_words())


@pytest.mark.parametrize(
    "found",
    [
        Evidence(trace=(), log_wealth=0.0, peak=0.0),
        Evidence(trace=((10, -math.inf),), log_wealth=-math.inf, peak=0.0),
        Evidence(trace=((10, 1e5),), log_wealth=1e5, peak=1e5),
    ],
    ids=["no draws", "all lost", "more than a float holds"],
)
def test_any_evidence_can_be_drawn(found: Evidence) -> None:
    audit = replace(undecided(), evidence=found)
    as_svg(audit.plot.evidence(), name="evidence", alt=EVIDENCE.alt(audit))


def test_a_long_search_is_thinned_to_the_best_of_each_few() -> None:
    history = verdicts()["not-refuted"].history
    long = (history * 200)[:2_000]
    steps = thinned(long, 200)
    assert len(steps) == 200
    assert [number for number, _, _ in steps[:2]] == [1, 11]
    best = max(record.growth for record in long[:10])
    assert steps[0] == (1, best, sum(record.samples for record in long[:10]) / 10)
    assert len(thinned(long[:150], 200)) == 150
