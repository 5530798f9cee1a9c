"""The libraries of the extras: loaded when an adapter calls them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def needed(module: str, extra: str) -> Any:
    """A module of a library; ImportError says how to install it.

    >>> needed("math", "nothing").pi
    3.141592653589793
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"this needs {extra}, which is not installed: pip install 'dpaudit[{extra}]'."
        ) from error
