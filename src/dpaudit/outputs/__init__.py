"""Outputs as tables: one row per draw, one column per place in the output.

A cell holds a finite number or an atom: NaN, an infinity, None, a word (a string, a category, any
other object by its repr), or the fact that this draw has nothing at that place. Whatever form a
mechanism's outputs have, everything above sees numbers and small integer codes.
"""

from dpaudit.outputs.bits import FloatView
from dpaudit.outputs.encoder import Encoder
from dpaudit.outputs.table import MINUS_INF, MISSING, NAN, NONE, PLUS_INF, Table, stack

__all__ = [
    "MINUS_INF",
    "MISSING",
    "NAN",
    "NONE",
    "PLUS_INF",
    "Encoder",
    "FloatView",
    "Table",
    "stack",
]
