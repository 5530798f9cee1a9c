"""What comes back from an audit: frozen values that can be printed, saved and loaded.

>>> Verdict.NOT_REFUTED.value
'not refuted'
"""

from dpaudit.domains import Unsaved
from dpaudit.errors import InvalidAuditFile
from dpaudit.results.saving import (
    audit_from_json,
    audit_text,
    lines_of_json,
    load,
)
from dpaudit.results.training import Finding, Null, TrainingEvidence
from dpaudit.results.values import (
    LEANING,
    REPLAY,
    TRAINING,
    Audit,
    Counterexample,
    Evidence,
    OutputHistogram,
    PairRecord,
    Progress,
    Replayed,
    Tally,
    Verdict,
    most_draws,
    software_in_use,
)
from dpaudit.results.verdicts import (
    bound_of_event,
    forecast_of,
    goal_of,
    training_verdict,
    verdict_of,
)
