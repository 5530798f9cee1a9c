"""Outputs as tables: one row per draw, one column per place in the output.

A cell holds a finite number or an atom: NaN, an infinity, None, a word (a string, a category, any
other object by its repr), or the fact that this draw has nothing at that place. Whatever form a
mechanism's outputs have, everything above sees numbers and small integer codes.
"""

from dpaudit.outputs.bits import (
    FLOAT32,
    FLOAT_VIEWS,
    FLOATING,
    GRAIN,
    LAST,
    LAST_BITS,
    MAGNITUDE,
    RANGES,
    WIDTH,
    ZERO,
    FloatView,
    about_bits,
    bits_of,
)
from dpaudit.outputs.checked_outputs import (
    ArrayForms,
    Outputs,
    Raised,
    checked,
    common_dtype,
    joined,
    rows,
    short,
)
from dpaudit.outputs.encoder import Encoder, written
from dpaudit.outputs.layout import OTHER, WORDS
from dpaudit.outputs.leaves import EMPTY, MESSAGE, RAISED, without_addresses
from dpaudit.outputs.readable import readable_copy
from dpaudit.outputs.table import MINUS_INF, MISSING, NAN, NONE, PLUS_INF, Table, stack
