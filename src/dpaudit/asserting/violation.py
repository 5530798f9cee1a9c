"""What a refuted assertion raises."""

from __future__ import annotations

from dpaudit.evidence import Audit
from dpaudit.report.text import failure


class PrivacyViolation(AssertionError):
    """A mechanism does not keep its claim; the message says how that was shown.

    `audit` is the whole audit.
    """

    __module__ = "dpaudit"  # as users know it

    def __init__(self, audit: Audit) -> None:
        super().__init__(failure(audit))
        self.audit = audit

    def __reduce__(self) -> tuple[type[PrivacyViolation], tuple[Audit]]:
        return type(self), (self.audit,)  # it may come from another process
