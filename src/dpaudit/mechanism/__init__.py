"""How outputs are drawn: calling a mechanism, labelling its draws, and watching them."""

from dpaudit.mechanism.calling import (
    RNG_NAMES,
    SIZE_NAMES,
    Mechanism,
    as_mechanism,
    one_at_a_time,
    with_errors,
)
from dpaudit.mechanism.errors_as_outputs import ErrorsAsOutputs, OnError, RaisingPairs
from dpaudit.mechanism.exits import CtrlC, exits_as_errors, watched_ctrl_c
from dpaudit.mechanism.health import FrozenSeedCheck, noting
from dpaudit.mechanism.independence import SIDES, Calls, IndependenceCheck
from dpaudit.mechanism.labelling import LabelledOutputs, draw_labelled, draw_paired, draw_side
from dpaudit.mechanism.naming import ONE_AT_A_TIME, name_of, target_of
from dpaudit.mechanism.subject import Subject
from dpaudit.mechanism.watch import Watch
