"""How outputs are drawn: calling a mechanism, labelling its draws, and watching them."""

from dpaudit.mechanism.calling import (
    ONE_AT_A_TIME,
    RNG_NAMES,
    SIZE_NAMES,
    Mechanism,
    as_mechanism,
    code_of,
    name_of,
    one_at_a_time,
    target_of,
    with_errors,
)
from dpaudit.mechanism.calls import Call, Caller, CallsHere, Pending, asked_ahead
from dpaudit.mechanism.errors_as_outputs import (
    CtrlC,
    ErrorsAsOutputs,
    FailingPairs,
    OnError,
    exits_as_errors,
    watched_ctrl_c,
)
from dpaudit.mechanism.labelling import (
    CountedBatch,
    LabelledOutputs,
    PendingBatch,
    ask_labelled,
    ask_paired,
    draw_labelled,
    draw_paired,
)
from dpaudit.mechanism.packing import packed
from dpaudit.mechanism.subject import Subject
from dpaudit.mechanism.watch import (
    SIDE_NAMES,
    Calls,
    FrozenSeedCheck,
    IndependenceCheck,
    Watch,
    noting,
)
from dpaudit.mechanism.workers import Workers, caller_for
