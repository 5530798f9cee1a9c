"""The words about a saved audit that was checked: line by line, what holds and what does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.report.layout import INDENT, WIDTH, wrapped
from dpaudit.report.showing import count, one_line

if TYPE_CHECKING:
    from dpaudit.verifying import Verification

Line = tuple[str, bool | None, str]  # what was checked, whether it holds, what was seen

NOT_COMPARED = "it rests on what does not hold"
PARTS = {  # of an audit by draws; what was derived again if all is well
    "numbers": "alpha, draws, pairs and seconds agree",
    "evidence": "the log-wealth, its peak and the growth of pairs follow from the trace",
    "verdict": "it follows from the evidence, alpha and the draws",
    "counterexample": "its bounds follow from its counts, its epsilon from its bounds",
    "bounds": "the certified bounds follow from the bets and the event",
    "forecast": "what is detectable, and what would decide, follow",
    "training": "canaries add up, and the deciding test is that of the audit",
    "outputs": "the histograms add up",
    "dates": "the audit ended as long after its start as it took",
}
PARTS_INSIDE = {
    "losses": "they add up, and the evidence and the verdict follow",
    "dates": PARTS["dates"],
}
_WORDS = {True: "holds", False: "DOES NOT HOLD", None: "not checked"}
_WIDTH = max(map(len, _WORDS.values())) + 2
_NAME_WIDTH = max(map(len, (*PARTS, *PARTS_INSIDE))) + 2
_MAX_SAID = 600


def verification_headline(found: Verification) -> str:
    """What was checked, in one line."""
    wrong = sum(check.holds is False for check in found.checks)
    checked = sum(check.holds is not None for check in found.checks)
    if wrong:
        return f"DOES NOT HOLD: {wrong} of {count(checked, 'check')} of {found.path}"
    return f"HOLDS: {count(checked, 'check')} of {found.path}"


def verification_in_words(found: Verification) -> str:
    """What was checked, a line for each, and the digest that names the audit."""
    margin = " " * (len(INDENT) + _WIDTH + _NAME_WIDTH)
    lines = [verification_headline(found), ""]
    for check in found.checks:
        first = f"{INDENT}{_WORDS[check.holds]:<{_WIDTH}}{check.name:<{_NAME_WIDTH}}"
        said = one_line(check.said, _MAX_SAID)
        lines += wrapped(said, first=first, rest=margin, most=12, width=WIDTH + 8)
    return "\n".join([*lines, "", f"{INDENT}sha256 {found.digest}"])
