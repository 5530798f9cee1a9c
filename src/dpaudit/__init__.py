"""Audits privacy claims: a certified counterexample, or the largest privacy loss it could certify.

The public names live in the rooms below and are loaded when first asked for, so that
`import dpaudit`, `dpaudit --help` and pytest collection stay fast (none of them loads numpy).

>>> import dpaudit
>>> print(dpaudit.__version__)
0.1.0
"""

from importlib import import_module
from typing import TYPE_CHECKING

from dpaudit._version import __version__

if TYPE_CHECKING:  # the same table, for type checkers and editors; a test compares the two
    from dpaudit.adapters import Subject as Subject
    from dpaudit.adapters.diffprivlib import from_diffprivlib as from_diffprivlib
    from dpaudit.adapters.dp_accounting import from_dp_accounting as from_dp_accounting
    from dpaudit.adapters.jax_privacy import from_jax_privacy as from_jax_privacy
    from dpaudit.adapters.multi_freq_ldpy import from_multi_freq_ldpy as from_multi_freq_ldpy
    from dpaudit.adapters.opacus import from_opacus as from_opacus
    from dpaudit.adapters.opendp import from_opendp as from_opendp
    from dpaudit.adapters.pipeline_dp import from_pipeline_dp as from_pipeline_dp
    from dpaudit.adapters.pure_ldp import from_pure_ldp as from_pure_ldp
    from dpaudit.adapters.python_dp import from_python_dp as from_python_dp
    from dpaudit.adapters.tumult import from_tumult as from_tumult
    from dpaudit.asserting import PrivacyViolation as PrivacyViolation
    from dpaudit.asserting import assert_private as assert_private
    from dpaudit.asserting import example as example
    from dpaudit.auditing import audit as audit
    from dpaudit.auditing.compare import compare_samples as compare_samples
    from dpaudit.auditing.replay import replay as replay
    from dpaudit.auditing.shrink import shrink as shrink
    from dpaudit.claims import ZCDP as ZCDP
    from dpaudit.claims import ApproxDP as ApproxDP
    from dpaudit.claims import Claim as Claim
    from dpaudit.claims import GaussianDP as GaussianDP
    from dpaudit.claims import InvalidClaim as InvalidClaim
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
    from dpaudit.evidence import Audit as Audit
    from dpaudit.evidence import Counterexample as Counterexample
    from dpaudit.evidence import Evidence as Evidence
    from dpaudit.evidence import Verdict as Verdict
    from dpaudit.evidence import load as load
    from dpaudit.health import HealthWarning as HealthWarning
    from dpaudit.independence import DependentDraws as DependentDraws
    from dpaudit.measuring import EpsilonBound as EpsilonBound
    from dpaudit.measuring import measure_epsilon as measure_epsilon
    from dpaudit.mechanism import one_at_a_time as one_at_a_time
    from dpaudit.neighbours import add_or_remove_one as add_or_remove_one
    from dpaudit.neighbours import add_or_remove_user as add_or_remove_user
    from dpaudit.neighbours import group as group
    from dpaudit.neighbours import pairs as pairs
    from dpaudit.neighbours import query_answers as query_answers
    from dpaudit.neighbours import replace_one as replace_one
    from dpaudit.neighbours import replace_user as replace_user
    from dpaudit.pair import Pair as Pair
    from dpaudit.returned import InvalidOutput as InvalidOutput
    from dpaudit.testers.batch import BatchTester as BatchTester
    from dpaudit.testers.batch import CannotFire as CannotFire
    from dpaudit.testers.batch import UnsupportedClaim as UnsupportedClaim
    from dpaudit.testers.betting import BettingTester as BettingTester
    from dpaudit.testers.elsewhere import from_dp_auditorium as from_dp_auditorium
    from dpaudit.testers.histogram import HistogramTester as HistogramTester
    from dpaudit.testers.hockey_stick import HockeyStickTester as HockeyStickTester
    from dpaudit.testers.mmd import MMDTester as MMDTester
    from dpaudit.testers.renyi import RenyiTester as RenyiTester
    from dpaudit.testers.trials import Trials as Trials

_HOME = {
    # what is promised
    "Claim": "dpaudit.claims",
    "PureDP": "dpaudit.claims",
    "ApproxDP": "dpaudit.claims",
    "RenyiDP": "dpaudit.claims",
    "ZCDP": "dpaudit.claims",
    "GaussianDP": "dpaudit.claims",
    "Profile": "dpaudit.claims",
    "InvalidClaim": "dpaudit.claims",
    # what a record may be
    "floats": "dpaudit.domains",
    "integers": "dpaudit.domains",
    "categories": "dpaudit.domains",
    "dates": "dpaudit.domains",
    "texts": "dpaudit.domains",
    "vectors": "dpaudit.domains",
    "lists": "dpaudit.domains",
    "records": "dpaudit.domains",
    "tables": "dpaudit.domains",
    # which pairs count
    "Pair": "dpaudit.pair",
    "pairs": "dpaudit.neighbours",
    "add_or_remove_one": "dpaudit.neighbours",
    "replace_one": "dpaudit.neighbours",
    "query_answers": "dpaudit.neighbours",
    "group": "dpaudit.neighbours",
    "add_or_remove_user": "dpaudit.neighbours",
    "replace_user": "dpaudit.neighbours",
    # how outputs are drawn
    "one_at_a_time": "dpaudit.mechanism",
    "InvalidOutput": "dpaudit.returned",
    "HealthWarning": "dpaudit.health",
    "DependentDraws": "dpaudit.independence",
    # what brings its own claim and neighbours
    "Subject": "dpaudit.adapters",
    "from_opendp": "dpaudit.adapters.opendp",
    "from_diffprivlib": "dpaudit.adapters.diffprivlib",
    "from_dp_accounting": "dpaudit.adapters.dp_accounting",
    "from_python_dp": "dpaudit.adapters.python_dp",
    "from_tumult": "dpaudit.adapters.tumult",
    "from_pipeline_dp": "dpaudit.adapters.pipeline_dp",
    "from_pure_ldp": "dpaudit.adapters.pure_ldp",
    "from_multi_freq_ldpy": "dpaudit.adapters.multi_freq_ldpy",
    "from_opacus": "dpaudit.adapters.opacus",
    "from_jax_privacy": "dpaudit.adapters.jax_privacy",
    # how they are tested
    "BettingTester": "dpaudit.testers.betting",
    "BatchTester": "dpaudit.testers.batch",
    "HistogramTester": "dpaudit.testers.histogram",
    "HockeyStickTester": "dpaudit.testers.hockey_stick",
    "RenyiTester": "dpaudit.testers.renyi",
    "MMDTester": "dpaudit.testers.mmd",
    "Trials": "dpaudit.testers.trials",
    "from_dp_auditorium": "dpaudit.testers.elsewhere",
    "CannotFire": "dpaudit.testers.batch",
    "UnsupportedClaim": "dpaudit.testers.batch",
    # the audit
    "audit": "dpaudit.auditing",
    "compare_samples": "dpaudit.auditing.compare",
    "shrink": "dpaudit.auditing.shrink",
    "replay": "dpaudit.auditing.replay",
    "measure_epsilon": "dpaudit.measuring",
    # in a test suite
    "assert_private": "dpaudit.asserting",
    "example": "dpaudit.asserting",
    "PrivacyViolation": "dpaudit.asserting",
    # what comes back
    "Audit": "dpaudit.evidence",
    "Verdict": "dpaudit.evidence",
    "Counterexample": "dpaudit.evidence",
    "Evidence": "dpaudit.evidence",
    "EpsilonBound": "dpaudit.measuring",
    "load": "dpaudit.evidence",
}

__all__ = ["__version__", *_HOME]

if not TYPE_CHECKING:  # hidden from type checkers, which would take it for "any name exists"

    def __getattr__(name: str) -> object:
        """Load a public name from its room on first use (PEP 562)."""
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
