"""The audits of a test run as a table of at most 80 columns, in plain text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from dpaudit.report.showing import one_line, short_count
from dpaudit.report.wording import GLUE, certified

if TYPE_CHECKING:
    from dpaudit.results import Audit

WIDTH = 80
_GAP = "  "
# What gives way where a line would be too long, in this order, and the columns it is left.
_ELIDED = (("claim", 14), ("mechanism", 8), ("certified", 15))


class Row(NamedTuple):
    """One assertion, in words."""

    mechanism: str
    claim: str
    verdict: str
    certified: str
    draws: str
    seconds: str


HEADINGS = Row("mechanism", "claim", "verdict", "certified", "draws", "seconds")
_TO_THE_RIGHT = {"draws", "seconds"}


def row_of(audits: Sequence[Audit]) -> Row:
    """The row of all audits of one assertion; the last one decided."""
    last = audits[-1]
    return Row(
        mechanism=last.mechanism,
        claim=str(last.claim),
        verdict=last.verdict.value,
        certified=certified(last).replace(GLUE, " ") or "-",
        draws=short_count(sum(each.samples for each in audits)),
        seconds=f"{sum(each.seconds for each in audits):.1f}",
    )


def table(rows: Sequence[Row]) -> list[str]:
    """The rows under their headings; long names are elided in the middle.

    >>> row = Row("clipped_sum", "1-DP", "refuted", "epsilon >= 1.86", "81k", "1.1")
    >>> print("\\n".join(table([row])))
    mechanism    claim  verdict  certified        draws  seconds
    clipped_sum  1-DP   refuted  epsilon >= 1.86    81k      1.1
    """
    lines = [HEADINGS, *rows]
    widths = {name: max(len(getattr(line, name)) for line in lines) for name in Row._fields}
    for name, least in _ELIDED:
        excess = sum(widths.values()) + len(_GAP) * (len(widths) - 1) - WIDTH
        if excess > 0:
            widths[name] = min(widths[name], max(widths[name] - excess, least))
    return [_laid_out(line, widths) for line in lines]


def _laid_out(line: Row, widths: dict[str, int]) -> str:
    cells = []
    for name, width in widths.items():
        cell = one_line(getattr(line, name), width)
        cells.append(cell.rjust(width) if name in _TO_THE_RIGHT else cell.ljust(width))
    return _GAP.join(cells).rstrip()
