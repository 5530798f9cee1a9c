"""Audits in columns: those of a test run, and two sets of them beside each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from dpaudit.claims import Scalable
from dpaudit.errors import AmbiguousAudits
from dpaudit.report.showing import count, one_line, short_count
from dpaudit.report.wording import least_leak

if TYPE_CHECKING:
    from dpaudit.results import Audit

MAX_WIDTH = 80
_GAP = "  "
# The columns that give way where a line would be too long, in this order, and their least widths.
_ELIDED = (("claim", 14), ("mechanism", 8), ("certified", 12))
_TO_THE_RIGHT = {"draws", "seconds"}

Key = tuple[str, ...]


class Row(NamedTuple):
    """One assertion, in words."""

    mechanism: str
    claim: str
    verdict: str
    certified: str
    draws: str
    seconds: str


HEADINGS = Row("mechanism", "claim", "verdict", "leaks at least", "draws", "seconds")


def row_of(audits: Sequence[Audit]) -> Row:
    """The row of all audits of one assertion; the last one decided."""
    last = audits[-1]
    return Row(
        mechanism=last.mechanism,
        claim=str(last.claim),
        verdict=last.verdict.value,
        certified=least_leak(last) or "nothing",
        draws=short_count(sum(each.samples for each in audits)),
        seconds=f"{sum(each.seconds for each in audits):.1f}",
    )


def run_table(rows: Sequence[Row]) -> list[str]:
    """The rows under their headings, in at most 80 columns; long names are elided in the middle.

    >>> row = Row("clipped_sum", "1-DP", "refuted", "epsilon 1.86", "81k", "1.1")
    >>> print("\\n".join(run_table([row])))
    mechanism    claim  verdict  leaks at least  draws  seconds
    clipped_sum  1-DP   refuted  epsilon 1.86      81k      1.1
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
    """One mechanism and claim, as audited before and now; None where there is no such audit."""

    old: Audit | None
    new: Audit | None

    @property
    def audit(self) -> Audit:
        """The newer of the two that there is."""
        found = self.old if self.new is None else self.new
        assert found is not None
        return found

    @property
    def is_worse(self) -> bool:
        """Whether the claim is now shown not to hold, and was not before."""
        return is_past_claim(self.new) and not is_past_claim(self.old)

    @property
    def word(self) -> str:
        """What became of it, in a word or two."""
        if self.new is None:
            return "missing"
        if self.old is None:
            return "new, refuted" if is_past_claim(self.new) else "new"
        if is_past_claim(self.new):
            return "still refuted" if is_past_claim(self.old) else "now refuted"
        if is_past_claim(self.old):
            return "was refuted"
        return "same verdict" if self.old.verdict is self.new.verdict else "other verdict"

    def to_json(self) -> dict[str, object]:
        """The change as plain JSON values."""
        return {
            "mechanism": self.audit.mechanism,
            "claim": str(self.audit.claim),
            "neighbours": self.audit.neighbours,
            "change": self.word,
            "worse": self.is_worse,
            "old": _brief(self.old),
            "new": _brief(self.new),
        }


def _brief(audit: Audit | None) -> dict[str, object] | None:
    if audit is None:
        return None
    return {
        "verdict": audit.verdict.value,
        "lower_bound": audit.lower_bound,
        "alpha": audit.alpha,
        "samples": audit.samples,
    }


def is_past_claim(audit: Audit | None) -> bool:
    """Whether an audit shows that its claim does not hold."""
    if audit is None:
        return False
    bound, claim = audit.lower_bound, audit.claim
    above = isinstance(claim, Scalable) and bound is not None and bound > claim.strength
    return audit.refuted or above


def changes_between(old: Sequence[Audit], new: Sequence[Audit]) -> tuple[Change, ...]:
    """Match audits by mechanism and claim (and by neighbours, where that names two), worst first.

    `AmbiguousAudits` if two audits of one set cannot be told apart.
    """
    times = Counter(map(_key, old)) | Counter(map(_key, new))  # the more of the two
    before, now = _keyed(old, times), _keyed(new, times)
    found = [Change(old=before.get(each), new=now.get(each)) for each in {**before, **now}]
    return tuple(sorted(found, key=lambda change: not change.is_worse))


def _key(audit: Audit) -> Key:
    return audit.mechanism, str(audit.claim)


def _keyed(audits: Iterable[Audit], times: Counter[Key]) -> dict[Key, Audit]:
    found: dict[Key, Audit] = {}
    for audit in audits:
        key = _key(audit) if times[_key(audit)] == 1 else (*_key(audit), audit.neighbours)
        if key in found:
            raise AmbiguousAudits(
                f"there are two audits of {audit.mechanism} with the claim {audit.claim} and the "
                f"neighbours {audit.neighbours!r}. Keep one of them."
            )
        found[key] = audit
    return found


def change_table(changes: Sequence[Change]) -> str:
    """The changes in columns: as it was before, and below it what is different now."""
    rows: list[tuple[str, ...]] = [("change", "mechanism", "verdict", "leaks at least", "draws")]
    for change in changes:
        before, now = (
            (found.verdict.value, least_leak(found) or "nothing", short_count(found.samples))
            for found in (change.audit if change.old is None else change.old, change.audit)
        )
        rows.append((change.word, change.audit.mechanism, *before))
        different = (
            "" if new == old else f"-> {new}" for old, new in zip(before, now, strict=True)
        )
        rows.append(("", str(change.audit.claim), *different))
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
