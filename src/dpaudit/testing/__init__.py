"""Audits in a test suite: assertions, pinned examples, kept counterexamples, a first test.

The names that need numpy are loaded on first use: the pytest plugin imports this room in every run
of pytest, and must not load numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from dpaudit.testing.run_settings import (
    DEFAULT_PROFILE,
    FAIL_ON,
    NEXT_SETTINGS,
    PROFILES,
    AssertionSettings,
    Effort,
    FailOn,
    Judgement,
    file_name,
    next_settings,
    seed_of,
    watched_terminal,
)

if TYPE_CHECKING:
    from dpaudit.testing.assertion import assert_private, assert_refuted
    from dpaudit.testing.conformance import check_tester
    from dpaudit.testing.first_test import pytest_file
    from dpaudit.testing.kept_counterexamples import KeptCounterexample
    from dpaudit.testing.pinned import example, pinned_pairs
    from dpaudit.testing.run_report import (
        Baseline,
        annotations_of,
        brief_of_test,
        properties_of,
        write_exports,
        write_pages,
    )
    from dpaudit.testing.signature import read_signature
    from dpaudit.testing.tightness import TightPair, tight_pairs
else:
    _NAMES = {
        "assertion": "assert_private assert_refuted",
        "conformance": "check_tester",
        "first_test": "pytest_file",
        "kept_counterexamples": "KeptCounterexample",
        "pinned": "example pinned_pairs",
        "run_report": "Baseline annotations_of brief_of_test properties_of write_exports "
        "write_pages",
        "signature": "read_signature",
        "tightness": "TightPair tight_pairs",
    }
    _HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
    __all__ = [*_HOME]

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
