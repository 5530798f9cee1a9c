"""Figures of an audited training: the scores of its canaries, and the errors of guesses."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from dpaudit.report.figures import canvas
from dpaudit.report.figures.canvas import DATA, INK, MUTED, FigureKind, label
from dpaudit.report.figures.curves import trade_off
from dpaudit.report.figures.draws import draw_place
from dpaudit.report.showing import one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dpaudit.results import Audit

_POINTS = 161


def _draw_scores(audit: Audit) -> Figure:
    figure, [panel] = canvas.panels()
    draw_place(panel, audit.outputs[0], names=("in", "out"))
    panel.set_ylabel("share of canaries")
    low, high = panel.get_ylim()
    panel.set_ylim(low, 1.35 * high)  # room for the legend
    canvas.legend(panel, loc="upper left", ncols=2, borderaxespad=0.2)
    return figure


def _scores_in_words(audit: Audit) -> str:
    text = "Bars of scores: canaries that were in above the line, those that were out below."
    separations = audit.training.separations if audit.training else ()
    if not separations:
        return text
    shown = ", ".join(f"{each:.2f}" for each in separations[:8])
    return f"{text} Their means lie {shown} standard deviations apart."


SCORES = FigureKind(
    name="scores",
    title="Scores of the canaries",
    caption=lambda _: (
        "Shares of the canaries by score: upwards those that were in the training, downwards those "
        "that were out. The outermost bars hold all scores beyond."
    ),
    draw=_draw_scores,
    alt=_scores_in_words,
)


def _draw_errors(audit: Audit) -> Figure:
    assert audit.training is not None
    figure, [panel] = canvas.panels(height=3.5)
    rates = np.linspace(0.0, 1.0, _POINTS) ** 2  # finer where the line is steep
    least = np.array(trade_off(audit.claim, rates.tolist()))
    panel.fill_between(rates, least, 1.0, color=canvas.ALLOWED, linewidth=0.0)
    panel.plot(
        rates, least, color=INK, linewidth=1.4, label=f"limit of {label(str(audit.claim), 30)}"
    )
    panel.plot([0.0, 1.0], [1.0, 0.0], ":", color=MUTED, linewidth=1.0, label="guessing")
    across, up = zip(*audit.training.errors, strict=True)
    panel.plot(across, up, color=DATA, linewidth=1.6, label="score at least t (seen)")
    panel.set_xlim(-0.02, 1.0)
    panel.set_ylim(-0.02, 1.0)
    canvas.finish(panel, "false positive rate", "false negative rate", loc="upper right")
    return figure


def _errors_in_words(audit: Audit) -> str:
    assert audit.training is not None
    area = 0.0
    points = audit.training.errors
    for (left, high), (right, low) in itertools.pairwise(points):
        area += (right - left) * (1.0 - 0.5 * (high + low))
    return (
        f"The errors of guessing by the score, beside what {one_line(str(audit.claim), 60)} "
        f"allows. The area under the usual curve (AUC) is {area:.2f}; chance gives 0.50."
    )


ERRORS = FigureKind(
    name="errors",
    title="Errors of guessing by the score",
    caption=lambda _: (
        'Whoever says "in" of all canaries with a score of at least t errs in two ways; the line '
        "goes through all t. Were every canary a draw by itself, the claim would keep the true "
        "line in the grey region. What is seen varies by chance, so only the tests above decide."
    ),
    draw=_draw_errors,
    alt=_errors_in_words,
)
