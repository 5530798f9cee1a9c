"""A value as text: exactly, to tell values apart, or short, to show them."""

from __future__ import annotations

import hashlib
import pickle
from typing import Any

import numpy as np

from dpaudit.domains.dataframes import frame_of

MOST_SHOWN = 12  # records shown before a dataset is elided in the middle


def canonical(value: Any) -> str:
    """A text that two values share only if a mechanism could not tell them apart.

    >>> canonical({"b": 0.1, "a": [1, True]})
    "{'a': [1, True], 'b': 0.1}"
    """
    if isinstance(value, np.generic) and value.dtype.kind in "biufcUS":
        return repr(value.item())
    if isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
        numbers = value.dtype.kind in "biuf" and value.size <= 1000
        inside = repr(value.tolist()) if numbers else hashlib.sha256(value.tobytes()).hexdigest()
        return f"array({value.dtype.str}, {value.shape}, {inside})"
    if type(value) is np.ndarray and value.dtype.names is None:  # of objects
        inside = ", ".join(map(canonical, value.ravel().tolist()))
        return f"array(O, {value.shape}, [{inside}])"
    if type(value) in (bool, int, float, complex, str, bytes, type(None)):
        return repr(value)
    if type(value) is list:
        return f"[{', '.join(map(canonical, value))}]"
    if type(value) is tuple:
        return f"({', '.join(map(canonical, value))},)"
    if type(value) is dict:
        items = sorted((canonical(name), canonical(entry)) for name, entry in value.items())
        return f"{{{', '.join(f'{name}: {entry}' for name, entry in items)}}}"
    if type(value) in (set, frozenset):
        return f"{type(value).__name__}({', '.join(sorted(map(canonical, value)))})"
    if (frame := frame_of(value)) is not None:
        columns = [f"{name} {kind} {canonical(cells)}" for name, kind, cells in frame.columns]
        return f"{frame.library}({frame.size}, {', '.join(columns)})"
    try:
        digest = hashlib.sha256(pickle.dumps(value)).hexdigest()
    except Exception:  # not every object can be pickled: then only itself is equal to it
        digest = f"at {id(value)}"
    return f"{type(value).__qualname__}({digest})"


def shown(value: Any) -> str:
    """The value in one line, long ones elided in the middle.

    >>> shown(np.arange(100.0))
    '[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, ..., 94.0, 95.0, 96.0, 97.0, 98.0, 99.0]'
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, np.generic):
        value = value.item()
    if (frame := frame_of(value)) is not None:
        value = frame.rows()
    if isinstance(value, (list, tuple, np.ndarray)):
        long = len(value) > MOST_SHOWN
        head, tail = (value[: MOST_SHOWN // 2], value[-MOST_SHOWN // 2 :]) if long else (value, ())
        texts = [shown(entry) for entry in head]
        if long:
            texts += ["...", *(shown(entry) for entry in tail)]
        return f"[{', '.join(texts)}]"
    if isinstance(value, dict) and len(value) <= MOST_SHOWN:
        return f"{{{', '.join(f'{name!r}: {shown(entry)}' for name, entry in value.items())}}}"
    text = " ".join(repr(value).splitlines())
    return text if len(text) <= 80 else f"{text[:38]} ... {text[-38:]}"
