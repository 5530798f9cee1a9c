"""What comes back from an audit: frozen values that can be printed, saved and loaded.

>>> Verdict.NOT_REFUTED.value
'not refuted'
"""

from dpaudit.domains import Unsaved
from dpaudit.errors import InvalidAuditFile
from dpaudit.results.checking import dates_that_differ
from dpaudit.results.forms import DATA, Form, form_of, in_short, record
from dpaudit.results.method import Guarantee, Method
from dpaudit.results.provenance import Provenance, software_in_use
from dpaudit.results.replayed import Replayed
from dpaudit.results.result import Result, digest_of, lines_of_json
from dpaudit.results.saving import (
    SCHEMA,
    SavedAudit,
    as_saved,
    audit_from_json,
    audit_text,
    fields_of,
    load,
    loaded,
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
    Tally,
    Verdict,
    most_draws,
)
from dpaudit.results.verdicts import (
    bound_of_event,
    forecast_of,
    goal_of,
    training_verdict,
    verdict_of,
)
