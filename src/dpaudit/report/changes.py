"""Two sets of audits beside each other: what changed for each mechanism and claim, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpaudit.claims import Scalable
from dpaudit.errors import AmbiguousAudits
from dpaudit.report.showing import count, lower, short_count

if TYPE_CHECKING:
    from dpaudit.results import Audit

Key = tuple[str, ...]


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
        """Whether what is certified rose past the claim: it is now, and was not before."""
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
    key = _key_for(old, new)
    before, now = _keyed(old, key), _keyed(new, key)
    found = [Change(old=before.get(each), new=now.get(each)) for each in {**before, **now}]
    return tuple(sorted(found, key=lambda change: not change.is_worse))


def _key_for(*sets: Sequence[Audit]) -> Callable[[Audit], Key]:
    """What tells audits apart in every set: mechanism and claim, with the neighbours if need be."""
    doubled = {
        key for audits in sets for key, times in Counter(map(_short, audits)).items() if times > 1
    }
    return lambda audit: (
        (*_short(audit), audit.neighbours) if _short(audit) in doubled else _short(audit)
    )


def _short(audit: Audit) -> Key:
    return audit.mechanism, str(audit.claim)


def _keyed(audits: Iterable[Audit], key: Callable[[Audit], Key]) -> dict[Key, Audit]:
    found: dict[Key, Audit] = {}
    for audit in audits:
        if key(audit) in found:
            raise AmbiguousAudits(
                f"there are two audits of {audit.mechanism} with the claim {audit.claim} and the "
                f"neighbours {audit.neighbours!r}. Keep one of them."
            )
        found[key(audit)] = audit
    return found


# --- in words -------------------------------------------------------------------------------------


def table(changes: Sequence[Change]) -> str:
    """The changes as lines of columns: before, and below it what is different now."""
    rows: list[tuple[str, ...]] = [("change", "mechanism", "verdict", "certified", "draws")]
    for change in changes:
        cells = [_before_and_now(change, words) for words in (_verdict, _bound, _draws)]
        names = (change.word, ""), (change.audit.mechanism, str(change.audit.claim))
        rows += zip(*names, *cells, strict=True)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, tuple("-" * width for width in widths))
    lines = (
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def summary(changes: Sequence[Change]) -> str:
    """What all changes come to, in a sentence or two."""
    worse = sum(change.is_worse for change in changes)
    still = sum(change.word == "still refuted" for change in changes)
    kept = f" Refuted before and still: {count(still, 'audit')}." if still else ""
    if not worse:
        return f"Nothing got worse; that is not a proof of privacy.{kept}"
    what = "the claim does not hold, which was not shown before"
    return f"Worse: {count(worse, 'audit')}, where it is shown that {what}.{kept}"


def _before_and_now(change: Change, words: Callable[[Audit], str]) -> tuple[str, str]:
    if change.old is None or change.new is None:
        return words(change.audit), ""
    before, now = words(change.old), words(change.new)
    return (before, "") if before == now else (before, f"-> {now}")


def _verdict(audit: Audit) -> str:
    return audit.verdict.value


def _draws(audit: Audit) -> str:
    return short_count(audit.samples)


def _bound(audit: Audit) -> str:
    if audit.lower_bound is None or audit.lower_bound <= 0.0:
        return "nothing"
    above = audit.claim.strength if isinstance(audit.claim, Scalable) else 0.0
    return f"{audit.symbol} >= {lower(audit.lower_bound, above=above)}"


def _brief(audit: Audit | None) -> dict[str, object] | None:
    if audit is None:
        return None
    return {
        "verdict": audit.verdict.value,
        "lower_bound": audit.lower_bound,
        "alpha": audit.alpha,
        "samples": audit.samples,
    }
