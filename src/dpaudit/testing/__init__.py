"""For your own test files: does a tester keep the promises that an audit relies on?"""

from dpaudit.testing.conformance import check_tester

__all__ = ["check_tester"]
