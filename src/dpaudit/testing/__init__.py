"""Audits in a test suite: assertions, pinned examples, kept counterexamples, a first test.

The names are loaded on first use: the pytest plugin imports this room in every run of pytest, and
must not load numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from dpaudit.testing.suite import (
    EFFORTS,
    TURNS,
    USUAL,
    Effort,
    Turn,
    file_name,
    next_turn,
    seed_of,
)

if TYPE_CHECKING:
    from dpaudit.testing.assertion import assert_private as assert_private
    from dpaudit.testing.conformance import check_tester as check_tester
    from dpaudit.testing.first_test import pytest_file as pytest_file
    from dpaudit.testing.kept_counterexamples import kept_for as kept_for
    from dpaudit.testing.kept_counterexamples import remember as remember
    from dpaudit.testing.pins import example as example
    from dpaudit.testing.pins import pinned_pairs as pinned_pairs
    from dpaudit.testing.signature import read_signature as read_signature
    from dpaudit.testing.tight import TightPair as TightPair
    from dpaudit.testing.tight import tight_pairs as tight_pairs

_HOME = {
    "assert_private": "assertion",
    "check_tester": "conformance",
    "example": "pins",
    "pinned_pairs": "pins",
    "kept_for": "kept_counterexamples",
    "remember": "kept_counterexamples",
    "TightPair": "tight",
    "tight_pairs": "tight",
    "pytest_file": "first_test",
    "read_signature": "signature",
}
__all__ = [*_HOME]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
