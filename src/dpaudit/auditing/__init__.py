"""The audit: search, bet, and on refutation certify one event in words."""

from dpaudit.auditing.audit import audit

__all__ = ["audit"]
