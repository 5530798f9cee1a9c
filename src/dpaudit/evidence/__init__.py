"""What comes back from an audit: frozen values that can be printed, saved and loaded.

>>> Verdict.NOT_REFUTED.value
'not refuted'
"""

from dpaudit.evidence.outline import Outline
from dpaudit.evidence.saving import audit_from_json, load
from dpaudit.evidence.software import software_in_use
from dpaudit.evidence.values import (
    REPLAY,
    Audit,
    Counterexample,
    Evidence,
    PairRecord,
    Progress,
    Replayed,
    Tally,
    Verdict,
)
from dpaudit.evidence.verdicts import verdict_of
from dpaudit.plain import InvalidAuditFile, Unsaved

__all__ = [
    "REPLAY",
    "Audit",
    "Counterexample",
    "Evidence",
    "InvalidAuditFile",
    "Outline",
    "PairRecord",
    "Progress",
    "Replayed",
    "Tally",
    "Unsaved",
    "Verdict",
    "audit_from_json",
    "load",
    "software_in_use",
    "verdict_of",
]
