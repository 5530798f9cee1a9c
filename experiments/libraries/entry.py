"""A line of the field: one mechanism of a library, as a user would reach for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from dpaudit import Subject, pairs

A_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """What is audited, and with how many draws.

    `function` is what a user writes, short enough for a table and unique in its library. `make` is
    called where the library is installed. `watched` says which values of note are among the
    datasets: NaN, an empty dataset, a category that is seen once. `tight` is the epsilon that the
    mechanism has exactly, where it is known and is reached on some pair; then a million draws are
    made.
    """

    function: str
    make: Callable[[], Subject]
    _: KW_ONLY
    samples: int = 200_000
    watched: str = ""
    tight: float | None = None

    def __post_init__(self) -> None:
        if self.tight is not None:
            object.__setattr__(self, "samples", A_MILLION)


def between(subject: Subject, *listed: tuple[Any, Any]) -> Subject:
    """The same claim, audited on these pairs."""
    return replace(subject, neighbours=pairs(listed))
