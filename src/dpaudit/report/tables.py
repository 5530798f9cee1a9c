"""Audits in columns: those of a test run, and two sets of them beside each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dpaudit.report.briefs import Brief, name_of_test
from dpaudit.report.showing import count, one_line, short_count

MAX_WIDTH = 80
_GAP = "  "
# The columns that give way where a line would be too long, in this order, and their least widths.
_ELIDED = (("claim", 8), ("mechanism", 9), ("test", 9), ("certified", 12))
_TO_THE_RIGHT = {"draws", "seconds"}

Key = tuple[str, ...]


class Row(NamedTuple):
    """One assertion, in words."""

    test: str
    mechanism: str
    claim: str
    verdict: str
    certified: str
    draws: str
    seconds: str


HEADINGS = Row("test", "mechanism", "claim", "verdict", "leaks at least", "draws", "seconds")


def row_of(brief: Brief) -> Row:
    """The row of all audits of one assertion."""
    return Row(
        test=brief.name,
        mechanism=brief.mechanism,
        claim=brief.claim,
        verdict=brief.word,
        certified=brief.certified,
        draws=draws_in_short(brief),
        seconds=f"{brief.seconds:.1f}",
    )


def draws_in_short(brief: Brief) -> str:
    """How many draws there were, or transcripts."""
    return f"{brief.draws} inside" if brief.inside else short_count(brief.draws)


def run_table(rows: Sequence[Row]) -> list[str]:
    """The rows under their headings, in at most 80 columns; long names are elided in the middle.

    >>> row = Row("test_sum", "clipped_sum", "1-DP", "refuted", "epsilon 1.86", "81k", "1.1")
    >>> print("\\n".join(run_table([row])))
    test      mechanism    claim  verdict  leaks at least  draws  seconds
    test_sum  clipped_sum  1-DP   refuted  epsilon 1.86      81k      1.1
    """
    lines = [HEADINGS, *rows]
    widths = dict(zip(Row._fields, _widths(lines), strict=True))
    for name, least in _ELIDED:
        excess = sum(widths.values()) + len(_GAP) * (len(widths) - 1) - MAX_WIDTH
        if excess > 0:
            widths[name] = min(widths[name], max(widths[name] - excess, least))
    right = [name in _TO_THE_RIGHT for name in Row._fields]
    return [_laid_out(line, list(widths.values()), right) for line in lines]


def _widths(rows: Iterable[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _laid_out(cells: Sequence[str], widths: Sequence[int], to_the_right: Iterable[bool]) -> str:
    shown = (
        f"{one_line(cell, width):{'>' if right else '<'}{width}}"
        for cell, width, right in zip(cells, widths, to_the_right, strict=True)
    )
    return _GAP.join(shown).rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One audit, before and now; None where there is no such audit."""

    old: Brief | None
    new: Brief | None

    @property
    def audit(self) -> Brief:
        """The newer of the two that there is."""
        found = self.old if self.new is None else self.new
        assert found is not None
        return found

    @property
    def is_worse(self) -> bool:
        """Whether the claim is now shown not to hold, and was not before."""
        return _is_broken(self.new) and not _is_broken(self.old)

    @property
    def word(self) -> str:
        """What became of it, in a word or two."""
        if self.new is None:
            return "missing"
        if self.old is None:
            return "new, refuted" if _is_broken(self.new) else "new"
        if _is_broken(self.new):
            return "still refuted" if _is_broken(self.old) else "now refuted"
        if _is_broken(self.old):
            return "was refuted"
        return "same verdict" if self.old.word == self.new.word else "other verdict"

    def to_json(self) -> dict[str, object]:
        """The change as plain JSON values."""
        test = {"test": self.audit.name} if name_of_test(self.audit.key) else {}
        return {
            **test,
            "mechanism": self.audit.mechanism,
            "claim": self.audit.claim,
            "neighbours": self.audit.neighbours,
            "change": self.word,
            "worse": self.is_worse,
            "old": _numbers(self.old),
            "new": _numbers(self.new),
        }


def _numbers(brief: Brief | None) -> dict[str, object] | None:
    if brief is None:
        return None
    return {
        "verdict": brief.verdict,
        "lower_bound": brief.lower_bound,
        "alpha": brief.alpha,
        "samples": brief.draws,
    }


def _is_broken(brief: Brief | None) -> bool:
    """Whether the claim was shown not to hold, where that was not what the test asked for."""
    return brief is not None and brief.past_claim and not brief.expected


def changes_between(old: Sequence[Brief], new: Sequence[Brief]) -> tuple[Change, ...]:
    """Match audits that have the same test; then the others by mechanism and claim; worst first.

    Where mechanism and claim name two, the neighbours must agree too, and then the keys.
    """
    by_test = [
        {brief.key: brief for brief in each if name_of_test(brief.key)} for each in (old, new)
    ]
    same = by_test[0].keys() & by_test[1].keys()
    found = [Change(old=by_test[0][key], new=by_test[1][key]) for key in sorted(same)]
    rest = [[brief for brief in each if brief.key not in same] for each in (old, new)]
    before, now = _keyed(*rest)
    found += [Change(old=before.get(each), new=now.get(each)) for each in {**before, **now}]
    return tuple(sorted(found, key=lambda change: not change.is_worse))


def _keyed(old: Sequence[Brief], new: Sequence[Brief]) -> list[Mapping[Key, Brief]]:
    """The audits of each side by as much of what they are as tells them apart on both."""

    def key(brief: Brief, parts: int) -> Key:
        return (brief.mechanism, brief.claim, brief.neighbours, brief.key)[:parts]

    times = {
        parts: Counter(key(brief, parts) for brief in old)
        | Counter(key(brief, parts) for brief in new)  # the more of the two
        for parts in (2, 3)
    }

    def least(brief: Brief) -> Key:
        alone = (parts for parts in (2, 3) if times[parts][key(brief, parts)] == 1)
        return key(brief, next(alone, 4))

    return [{least(brief): brief for brief in each} for each in (old, new)]


def change_table(changes: Sequence[Change]) -> str:
    """The changes in columns: as it was before, and below it what is different now."""
    rows: list[tuple[str, ...]] = [("change", "mechanism", "verdict", "leaks at least", "draws")]
    for change in changes:
        before, now = (
            (found.word, found.certified, draws_in_short(found))
            for found in (change.audit if change.old is None else change.old, change.audit)
        )
        rows.append((change.word, change.audit.mechanism, *before))
        different = (
            "" if new == old else f"-> {new}" for old, new in zip(before, now, strict=True)
        )
        rows.append(("", change.audit.claim, *different))
        if name_of_test(change.audit.key):
            rows.append(("", change.audit.name, "", "", ""))
    widths = _widths(rows)
    rows.insert(1, tuple("-" * width for width in widths))
    return "\n".join(_laid_out(row, widths, (False,) * len(row)) for row in rows)


def summary(changes: Sequence[Change]) -> str:
    """All changes in a sentence or two."""
    worse = sum(change.is_worse for change in changes)
    still = sum(change.word == "still refuted" for change in changes)
    kept = f" Refuted before and still: {count(still, 'audit')}." if still else ""
    if not worse:
        return f"Nothing got worse; that is not a proof of privacy.{kept}"
    what = "the claim does not hold, which was not shown before"
    return f"Worse: {count(worse, 'audit')}, where it is shown that {what}.{kept}"
