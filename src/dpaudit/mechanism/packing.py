"""How code and data get to other processes: by cloudpickle, which comes with scikit-learn."""

from __future__ import annotations

import io
import os
import sys
from dataclasses import replace
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import Any

from dpaudit.mechanism.calling import Mechanism


def packed(value: Any) -> bytes:
    """A value as bytes; functions and classes that other processes cannot import travel along."""
    module, file, by_value = cloudpickle(), io.BytesIO(), set[str]()

    class Pickler(module.CloudPickler):  # type: ignore[misc, name-defined]
        def reducer_override(self, part: Any) -> Any:
            if isinstance(part, FunctionType | type):
                home = sys.modules.get(part.__module__)
                if home is not None and not _is_importable(home.__name__):
                    module.register_pickle_by_value(home)
                    by_value.add(home.__name__)
            return super().reducer_override(part)

    try:
        Pickler(file, protocol=5).dump(value)
    finally:
        for name in by_value:
            module.unregister_pickle_by_value(sys.modules[name])
    return file.getvalue()


def pickled(mechanism: Mechanism) -> bytes:
    """The mechanism as bytes."""
    try:
        return packed(replace(mechanism, errors=None, forms=None))
    except Exception as error:
        raise TypeError(
            f"{mechanism.name} cannot be sent to other processes: {error}. It holds something that "
            "cannot be pickled, such as an open file, a lock or a connection. Make that inside the "
            "function, or use threads: executor=concurrent.futures.ThreadPoolExecutor(...)."
        ) from error


@cache
def _is_importable(name: str) -> bool:
    """Whether a fresh process would find this module where this process has it."""
    if name in ("__main__", "__mp_main__"):
        return False
    path: Any = None
    spec: Any = None
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        inner = ".".join(parts[:count])
        if inner in sys.builtin_module_names:
            return True
        finders = (getattr(finder, "find_spec", None) for finder in sys.meta_path)
        specs = (find(inner, path, None) for find in finders if find is not None)
        spec = next((one for one in specs if one is not None), None)
        if spec is None:
            return False
        path = spec.submodule_search_locations
    home = getattr(sys.modules.get(name), "__file__", None)
    return home is None or spec.origin is None or os.path.abspath(home) == spec.origin


def cloudpickle() -> Any:
    """The module cloudpickle, which comes with scikit-learn."""
    try:
        return import_module("cloudpickle")
    except ImportError:  # older joblibs hold a copy
        return import_module("joblib.externals.cloudpickle")
