"""Records of which a mechanism sees something else: `domain.map(function)`."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dpaudit.domains.domain import as_list
from dpaudit.domains.refinable import Refinable
from dpaudit.domains.wrapping import Wrapping
from dpaudit.errors import InvalidDomain


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped(Wrapping):
    """The records of `inner`, of which a mechanism sees what a function makes of them.

    The records themselves stay those of `inner`: `edges`, `draw`, `choose`, `near`, `simpler`,
    `coordinates` and `contains` all speak of them, so a search moves in the space it knows. Only
    `released` and `dataset` apply the function, and only `restored` and `unpack` need `inverse`.
    A dataset is a list. It works the same for a field of `records`, a column of `tables` or an
    entry of `lists`.
    """

    inner: Refinable
    function: Callable[[Any], Any]
    inverse: Callable[[Any], Any] | None
    name: str

    def dataset(self, records: Sequence[Any]) -> list[Any]:
        return [self.released(record) for record in records]

    def unpack(self, data: Any) -> list[Any]:
        return [self.restored(seen) for seen in as_list(data, self)]

    def released(self, record: Any) -> Any:
        try:  # a copy: the function may hand out the same object twice
            return copy.deepcopy(self.function(self.inner.released(record)))
        except Exception as error:
            error.add_note(f"while applying the map {self.name} to {record!r}")
            raise

    def restored(self, seen: Any) -> Any:
        if self.inverse is None:
            raise InvalidDomain(
                f"a dataset of {self} cannot be unpacked, for the map has no inverse. "
                f"Give it one: map({self.name}, inverse=...)."
            )
        try:
            return self.inner.restored(self.inverse(seen))
        except Exception as error:
            error.add_note(f"while inverting the map {self.name} at {seen!r}")
            raise

    def with_odd_values(self) -> Refinable:
        return dataclasses.replace(self, inner=self.inner.with_odd_values())

    def without_odd_values(self) -> Refinable:
        return dataclasses.replace(self, inner=self.inner.without_odd_values())

    def odd_values(self) -> tuple[Any, ...]:
        return self.inner.odd_values()

    def __str__(self) -> str:
        return f"{self.inner}.map({self.name})"


def mapped(
    inner: Refinable,
    function: Callable[[Any], Any],
    inverse: Callable[[Any], Any] | None,
    name: str | None,
) -> Mapped:
    """The domain with a map."""
    if not callable(function):
        raise InvalidDomain(f"map needs a function of one record, got {function!r}.")
    if inverse is not None and not callable(inverse):
        raise InvalidDomain(f"map needs a function for inverse, got {inverse!r}. Or leave it out.")
    return Mapped(inner=inner, function=function, inverse=inverse, name=name_of(function, name))


def name_of(function: Callable[..., Any], name: str | None) -> str:
    """The name that was given, or the function's own."""
    return name if name is not None else str(getattr(function, "__name__", type(function).__name__))
