"""Audits as assertions: one line in a test suite, and a failure that says what is wrong."""

from dpaudit.asserting.assert_private import assert_private
from dpaudit.asserting.example import example
from dpaudit.asserting.violation import PrivacyViolation

__all__ = ["PrivacyViolation", "assert_private", "example"]
