"""The words about an audit inside: what the releases showed, and what they cannot show."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpaudit.report.showing import count, lower

if TYPE_CHECKING:
    from dpaudit.inside import InsideAudit

_HEADS = {
    "broken inside": (
        "BROKEN INSIDE: the releases in this code break the claim; whether the output shows it is "
        "another question, which confirm() asks."
    ),
    "not refuted": (
        "NOT REFUTED: no transcript broke the claim. This is not a proof of privacy: other pairs, "
        "or rarer outputs, may still break it."
    ),
    "undecided": "UNDECIDED: the transcripts neither break the claim nor speak for it.",
    "cannot follow": "CANNOT FOLLOW: the code does something that an audit inside does not follow.",
}
_ASSUMED = "assumed: the code draws only from the generator that it is given"


def inside_in_words(found: InsideAudit) -> str:
    """The whole result as text."""
    lines = [_HEADS[found.verdict.value], f"mechanism: {found.name}, claim: {found.claim}"]
    if found.reason:
        lines.append(f"reason: {found.reason}")
    if found.worst is not None:
        worst = found.worst
        lines.append(f"pair: {worst.pair}")
        lines.append(
            f"loss of the largest transcript: {_loss(worst.loss)}, "
            f"of {count(worst.releases, 'release')}"
        )
        lines.append(_release(worst.release))
    lines.append(
        f"looked at: {count(found.transcripts, 'transcript')} of {count(found.pairs_tried, 'pair')}"
    )
    if math.isinf(found.log_wealth):
        lines.append("evidence: a transcript of infinite loss, which the claim rules out")
    elif found.log_wealth != 0.0:
        lines.append(f"evidence: e-value {_e_value(found)} of {1.0 / found.alpha:,.0f}")
    lines.append(_ASSUMED)
    return "\n".join(lines)


def _e_value(found: InsideAudit) -> str:
    return "above 1e300" if math.isinf(found.e_value) else lower(found.e_value)


def _release(release: Any) -> str:
    kernels = [release.kernel, release.neighbour_kernel]
    noise = " and ".join(dict.fromkeys(map(_kernel, kernels)))
    return (
        f"largest release: {release.where}: {_short(release.input)} in, or "
        f"{_short(release.neighbour_input)} on the neighbour; noise {noise}; "
        f"out {_short(release.output)}; loss {_loss(release.loss)}"
    )


def _kernel(kernel: Any) -> str:
    return "known already" if kernel is None else _short(kernel)


def _loss(loss: float) -> str:
    """A loss either way, its size rounded down."""
    if math.isinf(loss):
        return "infinite" if loss > 0.0 else "infinite, the other way"
    return lower(loss) if loss >= 0.0 else f"{lower(-loss)} the other way"


def _short(value: object) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
