"""The packages of the extra `report`: loaded when a page or a figure is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def needed(name: str) -> Any:
    """A module of matplotlib or jinja2; ImportError says how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(
            f"pages and figures need {package}, which is not installed: "
            "pip install 'dpaudit[report]'."
        ) from error
