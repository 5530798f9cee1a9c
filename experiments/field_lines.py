"""The lines of the table of testers, and what they say together."""

from __future__ import annotations

import csv
import dataclasses
import math
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from field_testers import BETTING
from scipy import stats
from tables import Column, number, show

UNLIKELY = 1e-3  # the chance that a tester that keeps alpha has so many accusations in a row


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """All runs of a tester on a row: a line of the CSV.

    `answered` runs gave a verdict, `accused` of them accused; where not all did, `note` says why.
    `floor` (draws of both sides) and `ceiling` are what no valid test can beat with any number of
    draws, and with these; both are those of a false claim. `of_truth` is the certified strength
    over the true one, `draws_until` counts both sides until a sequential tester accused, `seconds`
    are the processor's and `ratio` is to those of the bets: medians all.
    """

    group: str
    row: str
    claim: str
    tight: bool
    tester: str
    guarantee: str
    source: str
    alpha: float
    draws: int
    runs: int
    answered: int
    accused: int
    state: str
    note: str
    floor: float | None
    ceiling: float | None
    truth: float | None
    of_truth: float | None
    draws_until: float | None
    seconds: float | None
    ratio: float | None

    @property
    def share(self) -> float:
        """Of the runs that accused."""
        return self.accused / self.runs

    @property
    def possible(self) -> bool:
        """Whether the floor is within the draws; else nobody can refute reliably."""
        return self.floor is not None and self.floor <= 2 * self.draws


def read_lines(path: Path) -> list[Line]:
    """The lines of a CSV, as they were saved."""
    kinds = {field.name: str(field.type) for field in dataclasses.fields(Line)}
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Line(**{name: _value(kinds[name], text) for name, text in line.items()})
            for line in csv.DictReader(file)
        ]


def _value(kind: str, text: str) -> Any:
    if kind == "str":
        return text
    if kind == "bool":
        return text == "yes"
    if kind == "int":
        return int(text)
    return float(text) if text else None


def too_many(lines: Sequence[Line]) -> list[str]:
    """The testers called exact that accuse a true claim more often than alpha explains.

    Null: every run accuses with probability at most alpha. Each line is an error with probability
    at most 1e-3 then.
    """
    found = []
    for line in lines:
        chance = float(stats.binom.sf(line.accused - 1, line.runs, line.alpha))
        if line.tight and line.guarantee == "exact" and chance < UNLIKELY:
            told = f"{line.accused} of {line.runs} at alpha {line.alpha:g}"
            found.append(f"{line.tester} accuses {line.row}, {line.claim}: {told}")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One tester over all rows: a line on the screen. `worst` is of the tight rows."""

    tester: str
    guarantee: str
    rows: int
    detected: float
    worst: float
    of_truth: float | None
    seconds: float
    ratio: float | None


def standings(lines: Sequence[Line]) -> list[Standing]:
    """Every tester, the one that detects most first."""
    found = []
    for tester in dict.fromkeys(line.tester for line in lines):
        own = [line for line in lines if line.tester == tester]
        possible = [line for line in own if line.possible]
        answered = [line for line in possible if line.answered]
        tight = [line.share for line in own if line.tight and line.answered]
        found.append(
            Standing(
                tester=tester,
                guarantee=own[0].guarantee,
                rows=len(answered),
                detected=statistics.fmean(each.share for each in possible) if possible else 0.0,
                worst=max(tight, default=0.0),
                of_truth=median([line.of_truth for line in possible]),
                seconds=sum((line.seconds or 0.0) * line.answered for line in own),
                ratio=median([line.ratio for line in own]),
            )
        )
    return sorted(found, key=lambda each: -each.detected)


COLUMNS: list[Column[Standing]] = [
    Column("tester", lambda each: each.tester, "left"),
    Column("guarantee", lambda each: each.guarantee, "left"),
    Column("rows", lambda each: number(each.rows)),
    Column("detected\n%", lambda each: number(100 * each.detected, 1)),
    Column("worst false\naccusations %", lambda each: number(100 * each.worst, 1)),
    Column("of truth", lambda each: number(each.of_truth, 2)),
    Column("CPU\nseconds", lambda each: number(each.seconds)),
    Column("CPU to\nbetting", lambda each: number(each.ratio, 2)),
]
NOTES = (
    "detected: of the runs on rows whose floor is within the draws; rows: of those it applies to.\n"
    "of truth: certified over true strength, median of rows."
)


def best_at(lines: Sequence[Line]) -> Iterator[str]:
    """For every tester, where it does better than the bets; then what it stumbled on."""
    bets = {(line.row, line.claim): line for line in lines if line.tester == BETTING}
    for tester in dict.fromkeys(line.tester for line in lines if line.tester != BETTING):
        own = [
            (line, bets[line.row, line.claim])
            for line in lines
            if line.tester == tester and not line.tight and (line.row, line.claim) in bets
        ]
        more = [_beside(line, bet) for line, bet in own if line.share > bet.share]
        sooner = [
            f"{line.row}, {line.claim} ({line.draws_until:.0f} and {bet.draws_until or 0:.0f})"
            for line, bet in own
            if line.draws_until and line.draws_until < (bet.draws_until or math.inf)
        ]
        higher = [
            f"{line.row}, {line.claim} ({line.of_truth:.2f} and {bet.of_truth:.2f})"
            for line, bet in own
            if line.of_truth and bet.of_truth and 1.05 * bet.of_truth < line.of_truth <= 1.0
        ]
        yield f"\n{tester}"
        for title, found in (
            ("detects more often than the bets", more),
            ("needs fewer draws", sooner),
            ("certifies at least 5 % more of the truth", higher),
        ):
            yield f"  {title}: {'; '.join(found) or 'nowhere'}"
        notes = dict.fromkeys(line.note for line, _ in own if line.state != "underpowered")
        yield from (f"  {note}" for note in notes if note and "UnsupportedClaim" not in note)


def _beside(line: Line, bet: Line) -> str:
    luck = "" if line.possible else ", below the floor"
    return f"{line.row}, {line.claim} ({line.accused} and {bet.accused} of {bet.runs}{luck})"


def median(values: Sequence[float | None]) -> float | None:
    """The median of what is known; None of nothing.

    >>> median([3.0, None, 1.0])
    2.0
    """
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def report(lines: Sequence[Line]) -> int:
    """Show the standings and who is best at what; 1 if an exact tester is above alpha."""
    if lines:
        show("Every tester on the same outputs", COLUMNS, standings(lines), NOTES)
    print(*best_at(lines), sep="\n")
    errors = too_many(lines)
    for error in errors:
        print(f"ABOVE ALPHA: {error}", file=sys.stderr)
    return 1 if errors else 0
