"""What a refuted assertion raises."""

from __future__ import annotations

from dpaudit.evidence import Audit
from dpaudit.report.pinning import Pin
from dpaudit.report.text import failure


class PrivacyViolation(AssertionError):
    """A mechanism does not keep its claim; the message says how that was shown.

    `audit` is the whole audit, `kept` the file that keeps its counterexample for the next test
    run, if there is one.
    """

    __module__ = "dpaudit"  # as users know it

    def __init__(self, audit: Audit, kept: str | None = None, pin: Pin | None = None) -> None:
        super().__init__(failure(audit, kept=kept, pin=pin))
        self.audit = audit
        self.kept = kept
        self._pin = pin

    def __reduce__(self) -> tuple[type[PrivacyViolation], tuple[Audit, str | None, Pin | None]]:
        return type(self), (self.audit, self.kept, self._pin)  # it may come from another process
