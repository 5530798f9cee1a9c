"""Outputs as tables: one row per draw, one column per place in the output.

A cell holds a finite number or an atom: NaN, an infinity, None, a word (a string, a category, any
other object by its repr), or the fact that this draw has nothing at that place. Whatever form a
mechanism's outputs have, everything above sees numbers and small integer codes.
"""

from dpaudit.outputs.checked_outputs import (
    ArrayForms,
    Outputs,
    checked,
    common_dtype,
    joined,
    rows,
    short,
)
from dpaudit.outputs.counting import (
    MAX_COUNTED,
    MAX_COUNTED_ON_DEVICE,
    MAX_OUTERMOST,
    CellReader,
    CountedOutputs,
    head_of,
)
from dpaudit.outputs.encoder import Encoder, written
from dpaudit.outputs.forms import Raised, readable_copy
from dpaudit.outputs.leaves import (
    ABOUT_BITS,
    EMPTY,
    FLOAT32,
    FLOAT_VIEWS,
    FLOATING,
    GRAIN,
    LAST,
    LAST_BITS,
    MAGNITUDE,
    MESSAGE,
    RAISED,
    RANGES,
    WIDTH,
    ZERO,
    FloatView,
    about_bits,
    bits_of,
    without_addresses,
)
from dpaudit.outputs.table import (
    MAX_BITS,
    MINUS_INF,
    MISSING,
    NAN,
    NONE,
    OTHER,
    PLUS_INF,
    WORDS,
    Table,
    stack,
)
from dpaudit.outputs.tensors import DeviceOutputs, brought_here
