"""How outputs are drawn: calling a mechanism, labelling its draws, and watching them."""

from dpaudit.mechanism.calling import (
    ONE_AT_A_TIME,
    RNG_NAMES,
    SIZE_NAMES,
    Mechanism,
    as_mechanism,
    one_at_a_time,
    with_errors,
)
from dpaudit.mechanism.calls import Call, Caller, CallsHere, Pending, asked_ahead
from dpaudit.mechanism.code import (
    NO_CODE,
    AuditedCode,
    audited_code,
    code_of,
    digest_of_source,
    file_of,
)
from dpaudit.mechanism.coins import shown_coins
from dpaudit.mechanism.errors_as_outputs import (
    CtrlC,
    ErrorsAsOutputs,
    FailingPairs,
    OnError,
    exits_as_errors,
    watched_ctrl_c,
)
from dpaudit.mechanism.git import asked as asked_of_git
from dpaudit.mechanism.labelling import (
    CountedBatch,
    LabelledOutputs,
    PendingBatch,
    ask_labelled,
    ask_paired,
    draw_labelled,
    draw_paired,
)
from dpaudit.mechanism.naming import name_of, name_with_parameters, target_of
from dpaudit.mechanism.packing import packed
from dpaudit.mechanism.subject import Subject
from dpaudit.mechanism.user_frames import UserFramesFirst, wants_all_frames, was_raised_elsewhere
from dpaudit.mechanism.watch import (
    SIDE_NAMES,
    Calls,
    FrozenSeedCheck,
    IndependenceCheck,
    Watch,
    noting,
)
from dpaudit.mechanism.workers import Workers, caller_for
