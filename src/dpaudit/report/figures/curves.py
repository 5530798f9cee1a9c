"""What the claim allows and what was certified: the privacy curve and the trade-off of errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.claims import HIGHEST_LEVEL, Claim, Scalable, point_of
from dpaudit.report import wording
from dpaudit.report.figures import canvas
from dpaudit.report.figures.canvas import BROKEN, DATA, INK, MUTED, FigureKind, label
from dpaudit.report.showing import lower, one_line, upper

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dpaudit.results import Audit, Counterexample

_CURVE_POINTS = 201
_TRADE_OFF_POINTS = 161
_LEVELS = 401  # of a profile: any level is safe, more of them are sharper
_LAST_LEVEL = 20.0


def _draw_curve(audit: Audit) -> Figure:
    figure, [panel] = canvas.panels()
    levels, allowed, shown = _curves(audit)
    name = label(str(audit.claim), 30)
    panel.plot(levels, allowed, color=INK, linewidth=1.4, label=f"allowed by {name}")
    if shown is not None:
        panel.plot(levels, shown, "--", color=DATA, linewidth=1.8, label="certified, at least")
        broken, name = (shown > allowed).tolist(), "more than allowed"
        area = panel.fill_between(levels, allowed, shown, where=broken, linewidth=0.0, label=name)
        area.set(facecolor="none", edgecolor=BROKEN, hatch="////")
    else:
        _mark_bound(panel, audit, levels)
    panel.set_xlim(0.0, float(levels[-1]))
    panel.set_ylim(bottom=0.0)
    canvas.finish(panel, "epsilon", "delta", loc="upper right")
    return figure


def _curves(audit: Audit) -> tuple[Floats, Floats, Floats | None]:
    """Levels of epsilon, the deltas that the claim allows there, and those that the event shows."""
    claim, found = audit.claim, audit.counterexample
    levels = np.linspace(0.0, last_level(claim, found, audit.lower_bound), _CURVE_POINTS)
    allowed = np.array([claim.delta(level) for level in levels.tolist()])
    if found is None:
        return levels, allowed, None
    return levels, allowed, np.array([found.delta_lower(level) for level in levels.tolist()])


def _has_bound(audit: Audit) -> bool:
    """Whether there is a bound to mark."""
    return bool(wording.leaks(audit)) and isinstance(audit.claim, Scalable)


def _mark_bound(panel: Axes, audit: Audit, levels: Floats) -> None:
    """What was certified without an event: a least epsilon, or the curve of the least strength."""
    claim, bound, leaks = audit.claim, audit.lower_bound, wording.leaks(audit)
    if not _has_bound(audit) or bound is None or not isinstance(claim, Scalable):
        return
    said = f"certified: {leaks}"
    if point_of(claim):
        below_legend = 0.78
        panel.axvline(bound, ymax=below_legend, color=DATA, ls="--", lw=1.6, label=said)
        return
    least = claim.with_strength(min(bound, claim.strength))
    curve = [least.delta(level) for level in levels.tolist()]
    panel.plot(levels, curve, "--", color=MUTED, linewidth=1.4, label=f"{said}, that curve")


def _curve_in_words(audit: Audit) -> str:
    claim, found = audit.claim, audit.counterexample
    levels = {"0": 0.0}
    if point := point_of(claim):
        levels[f"epsilon {point[0]:.12g}"] = point[0]
    allowed = " and ".join(f"{upper(claim.delta(at))} at {name}" for name, at in levels.items())
    text = f"The curve of {one_line(str(claim), 60)} allows delta {allowed}."
    if found is None:
        rest = "; all draws together refute" if audit.refuted else ""
        return f"{text} No event was certified{rest}."
    least = ((lower(found.delta_lower(at)), name) for name, at in levels.items())
    shown = " and ".join(f"at least {delta} at {name}" for delta, name in least)
    return f"{text} The certified event shows {shown}."


def _curve_caption(audit: Audit) -> str:
    _, allowed, certified = _curves(audit)
    if certified is None:
        marked = " The certified bound is marked." if _has_bound(audit) else ""
        return f"The delta that the claim allows at each epsilon. No event was certified.{marked}"
    shown = (
        "The delta that the claim allows at each epsilon, and the delta that the certified event "
        "shows at least. "
    )
    if (certified > allowed).any():
        return f"{shown}Where the second is above the first, hatched, the claim is broken."
    return shown.strip()


CURVE = FigureKind(
    name="curve",
    title="Privacy curve",
    caption=_curve_caption,
    draw=_draw_curve,
    alt=_curve_in_words,
)


def last_level(claim: Claim, found: Counterexample | None, bound: float | None) -> float:
    """The largest epsilon in the figure: beyond the claim's fall and what was certified."""
    shown = [_fallen(claim)]
    if isinstance(claim, Scalable) and claim.symbol == "epsilon":
        shown += [1.25 * claim.strength, 1.25 * (bound or 0.0)]
    if found is not None:
        shown.append(1.15 * _first_zero(found))
    return min(max(*shown, 0.1), HIGHEST_LEVEL)


def _fallen(claim: Claim) -> float:
    """The level at which the profile has fallen to a hundredth of its value at 0; at most 10."""
    levels = (step / 10.0 for step in range(1, 101))
    first = claim.delta(0.0)
    return next((level for level in levels if claim.delta(level) <= 0.01 * first), 10.0)


def _first_zero(found: Counterexample) -> float:
    """Where the certified curve ends: `log(p / q)` of the event."""
    if found.unlikely.upper <= 0.0 or found.likely.lower <= 0.0:
        return 0.0
    return max(math.log(found.likely.lower / found.unlikely.upper), 0.0)


def _draw_trade_off(audit: Audit) -> Figure:
    figure, [panel] = canvas.panels(height=3.5)
    rates = np.linspace(0.0, 1.0, _TRADE_OFF_POINTS) ** 2  # finer where the line is steep
    least = np.array(trade_off(audit.claim, rates.tolist()))
    name = label(str(audit.claim), 30)
    panel.fill_between(rates, least, 1.0, color=canvas.ALLOWED, linewidth=0.0)
    panel.plot(rates, least, color=INK, linewidth=1.4, label=f"limit of {name}")
    panel.text(0.66, 0.56, "allowed", color=MUTED, fontsize=8)
    panel.plot([0.0, 1.0], [1.0, 0.0], ":", color=MUTED, linewidth=1.0, label="guessing")
    if (found := audit.counterexample) is not None:
        (left, x, right), (bottom, y, top) = error_box(found)
        colour = BROKEN if found.breaks(audit.claim) else DATA
        across, up = [left, right, right, left, left], [bottom, bottom, top, top, bottom]
        panel.plot(across, up, color=colour, linewidth=1.4)
        panel.plot([x], [y], "s", color=colour, markersize=2.0, label="certified event")
    panel.set_xlim(-0.02, 1.0)  # an event that never errs is seen too
    panel.set_ylim(-0.02, 1.0)
    canvas.finish(panel, "false positive rate", "false negative rate", loc="upper right")
    return figure


def _trade_off_in_words(audit: Audit) -> str:
    text = f"The region of errors that {one_line(str(audit.claim), 60)} allows"
    if audit.counterexample is None:
        return f"{text}. No event was certified."
    (_, _, false_positive), (_, _, false_negative) = error_box(audit.counterexample)
    [least] = trade_off(audit.claim, [false_positive])
    return (
        f"{text}. The event has a false positive rate of at most {upper(false_positive)} and a "
        f"false negative rate of at most {upper(false_negative)}, where the claim asks for "
        f"at least {lower(least)}."
    )


def _trade_off_caption(audit: Audit) -> str:
    if audit.counterexample is None:
        return (
            "The errors of any test that tells A from B: by the claim none is better than the "
            "line, and the grey region is allowed. No event was certified."
        )
    return (
        "A test that says A or B by whether an output is in the event errs in two ways. The claim "
        "says that no test can be better than the line: the grey region is allowed. The box holds "
        "the errors of the certified event."
    )


TRADE_OFF = FigureKind(
    name="trade-off",
    title="Trade-off of errors",
    caption=_trade_off_caption,
    draw=_draw_trade_off,
    alt=_trade_off_in_words,
)

Rates = tuple[float, float, float]  # at least, seen, at most


def error_box(found: Counterexample) -> tuple[Rates, Rates]:
    """Bounds on both errors of the test that says where an output in the event comes from.

    A false positive is an output in the event from the dataset where it is less likely, a false
    negative one outside of it from the other dataset.
    """
    likely, unlikely = found.likely, found.unlikely
    false_negative = (1.0 - likely.upper, 1.0 - likely.rate, 1.0 - likely.lower)
    return (unlikely.lower, unlikely.rate, unlikely.upper), false_negative


def trade_off(claim: Claim, false_positives: Sequence[float]) -> list[float]:
    """The least false negative rate that a claim allows at each false positive rate.

    `1 - beta <= e^epsilon alpha + delta(epsilon)`, and the same with the datasets exchanged, for
    every epsilon (Dong, Roth and Su 2022, proposition 2.5). Fewer levels allow more.

    >>> from dpaudit import PureDP
    >>> [round(rate, 3) for rate in trade_off(PureDP(1.0), (0.0, 0.1, 1.0))]
    [1.0, 0.728, 0.0]
    """
    own = getattr(claim, "epsilon", None)
    levels = [step * _LAST_LEVEL / (_LEVELS - 1) for step in range(_LEVELS)]
    if isinstance(own, float):
        levels.append(min(own, HIGHEST_LEVEL))
    lines = [(math.exp(level), claim.delta(level)) for level in levels]

    def least(rate: float) -> float:
        both = (max(1 - delta - times * rate, (1 - delta - rate) / times) for times, delta in lines)
        return max(0.0, *both)

    return [least(rate) for rate in false_positives]
