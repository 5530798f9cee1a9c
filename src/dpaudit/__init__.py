"""Audits privacy claims: a certified counterexample, or the largest privacy loss it could certify.

The public names live in the rooms below and are loaded when first asked for, so that
`import dpaudit`, `dpaudit --help` and pytest collection stay fast (none of them loads numpy).
Trainings are audited by `dpaudit.training`, the releases inside of code with `dpaudit.inside`. More
testers are in `dpaudit.testers`, other libraries in `dpaudit.integrations`, every error in
`dpaudit.errors`, example mechanisms in `dpaudit.zoo`.

>>> import dpaudit
>>> print(dpaudit.__version__)
0.2.0
"""

from importlib import import_module
from typing import TYPE_CHECKING

from dpaudit._version import __version__

if TYPE_CHECKING:  # the same table, for type checkers and editors; a test compares the two
    from dpaudit.auditing import EpsilonBound as EpsilonBound
    from dpaudit.auditing import audit as audit
    from dpaudit.auditing import compare_samples as compare_samples
    from dpaudit.auditing import measure_epsilon as measure_epsilon
    from dpaudit.auditing import replay as replay
    from dpaudit.auditing import shrink as shrink
    from dpaudit.claims import ZCDP as ZCDP
    from dpaudit.claims import ApproxDP as ApproxDP
    from dpaudit.claims import GaussianDP as GaussianDP
    from dpaudit.claims import Profile as Profile
    from dpaudit.claims import PureDP as PureDP
    from dpaudit.claims import RenyiDP as RenyiDP
    from dpaudit.domains import categories as categories
    from dpaudit.domains import dates as dates
    from dpaudit.domains import floats as floats
    from dpaudit.domains import integers as integers
    from dpaudit.domains import lists as lists
    from dpaudit.domains import records as records
    from dpaudit.domains import tables as tables
    from dpaudit.domains import texts as texts
    from dpaudit.domains import vectors as vectors
    from dpaudit.errors import HealthWarning as HealthWarning
    from dpaudit.errors import Inconclusive as Inconclusive
    from dpaudit.errors import PrivacyViolation as PrivacyViolation
    from dpaudit.inside import InsideAudit as InsideAudit
    from dpaudit.inside import InsideVerdict as InsideVerdict
    from dpaudit.inside import audit_inside as audit_inside
    from dpaudit.inside import hidden_sample as hidden_sample
    from dpaudit.inside import load as load
    from dpaudit.inside import primitive as primitive
    from dpaudit.inside import release as release
    from dpaudit.mechanism import Subject as Subject
    from dpaudit.mechanism import one_at_a_time as one_at_a_time
    from dpaudit.neighbours import Pair as Pair
    from dpaudit.neighbours import add_or_remove_one as add_or_remove_one
    from dpaudit.neighbours import add_or_remove_user as add_or_remove_user
    from dpaudit.neighbours import group as group
    from dpaudit.neighbours import pairs as pairs
    from dpaudit.neighbours import query_answers as query_answers
    from dpaudit.neighbours import replace_one as replace_one
    from dpaudit.neighbours import replace_user as replace_user
    from dpaudit.results import Audit as Audit
    from dpaudit.results import Counterexample as Counterexample
    from dpaudit.results import Evidence as Evidence
    from dpaudit.results import Verdict as Verdict
    from dpaudit.testers import BettingTester as BettingTester
    from dpaudit.testing import assert_private as assert_private
    from dpaudit.testing import assert_refuted as assert_refuted
    from dpaudit.testing import example as example
    from dpaudit.verifying import verify as verify

_ROOMS = {
    # what is promised
    "claims": "PureDP ApproxDP RenyiDP ZCDP GaussianDP Profile",
    # what a record may be
    "domains": "floats integers categories dates texts vectors lists records tables",
    # which pairs of datasets count
    "neighbours": "Pair pairs add_or_remove_one replace_one add_or_remove_user replace_user "
    "query_answers group",
    # how outputs are drawn
    "mechanism": "Subject one_at_a_time",
    # how they are tested
    "testers": "BettingTester",
    # the audit
    "auditing": "audit compare_samples measure_epsilon replay shrink EpsilonBound",
    # the audit of what is inside; what either audit saved
    "inside": "audit_inside hidden_sample load primitive release InsideAudit InsideVerdict",
    # what comes back
    "results": "Audit Counterexample Evidence Verdict",
    # what was saved, checked
    "verifying": "verify",
    # in a test suite
    "testing": "assert_private assert_refuted example",
    # what goes wrong
    "errors": "HealthWarning Inconclusive PrivacyViolation",
}
_HOME = {name: f"dpaudit.{room}" for room, names in _ROOMS.items() for name in names.split()}
_MODULES = (
    "errors",
    "inside",
    "integrations",
    "mechanisms",
    "testers",
    "testing",
    "training",
    "zoo",
)  # dpaudit.zoo.ZOO

__all__ = ["__version__", *_HOME]

if not TYPE_CHECKING:  # hidden from type checkers, which would take it for "any name exists"

    def __getattr__(name: str) -> object:
        """Load a public name from its room on first use (PEP 562)."""
        if name in _MODULES:
            return import_module(f"dpaudit.{name}")
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
