"""Which line of the audited code is running: a file, or a cell of a notebook, and its number."""

from __future__ import annotations

import os
import sys
from types import FrameType, TracebackType

import numpy as np

_HERE = os.path.dirname(__file__)
_NUMPY = os.path.dirname(np.__file__)
_LAUNCHER = os.path.join("dpaudit", "mechanism")  # its frames call the user's code


def where() -> str:
    """The file and the line of the audited code that is running.

    >>> where().startswith("<doctest")
    True
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if _is_audited(frame.f_code.co_filename):
            return _line(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return "unknown place"


def where_raised(traceback: TracebackType | None) -> str:
    """The innermost line of the audited code in a traceback."""
    found = "unknown place"
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if _is_audited(file):
            found = _line(file, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def _is_audited(file: str) -> bool:
    ours = file.startswith((_HERE, _NUMPY)) or _LAUNCHER in file or file.endswith("contextlib.py")
    return not ours and not file.startswith("<frozen")


def _line(file: str, line: int) -> str:
    if cell := _cell_of(file):
        return f"{cell}:{line}"
    return f"{os.path.relpath(file) if os.path.isabs(file) else file}:{line}"


def _cell_of(file: str) -> str | None:
    """What a notebook calls the cell that it keeps under this name: `In[3]`; else None."""
    if "IPython" not in sys.modules:
        return None
    shell = sys.modules["IPython"].get_ipython()
    names = getattr(getattr(shell, "compile", None), "format_code_name", None)
    named = None if names is None else names(file)
    return None if named is None else str(named[1])
