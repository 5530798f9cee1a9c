"""What every domain of ours can do beside being explored: be filtered, mapped, made odd."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dpaudit.domains.domain import Explorable

if TYPE_CHECKING:
    from dpaudit.domains.filtered import Filtered
    from dpaudit.domains.mapped import Mapped


class Refinable(Explorable):
    """The base of our domains."""

    __slots__ = ()

    def filter(self, predicate: Callable[[Any], object], name: str | None = None) -> Filtered:
        """The records of which the predicate is true; it sees what a mechanism would see.

        >>> from dpaudit.domains.numbers import integers
        >>> integers(0, 10).filter(lambda number: number < 7, "small").edges()
        (0, 1, 5)
        """
        from dpaudit.domains.filtered import filtered  # is itself refinable

        return filtered(self, predicate, name)

    def map(
        self,
        function: Callable[[Any], Any],
        inverse: Callable[[Any], Any] | None = None,
        name: str | None = None,
    ) -> Mapped:
        """The same records, of which a mechanism sees what the function makes of them.

        `inverse` gives the record back; without it a dataset cannot be unpacked.

        >>> from dpaudit.domains.numbers import integers
        >>> integers(0, 9).map(lambda number: f"user{number}").dataset([3, 5])
        ['user3', 'user5']
        """
        from dpaudit.domains.mapped import mapped  # is itself refinable

        return mapped(self, function, inverse, name)

    def with_odd_values(self) -> Refinable:
        """The same domain and a few records that should not be there: clipping bugs live there.

        >>> from dpaudit.domains.numbers import integers
        >>> integers(0, 10).with_odd_values().odd_values()
        (11, -1, 9223372036854775807, -9223372036854775808)
        """
        from dpaudit.domains.odd import with_odd  # is itself refinable

        return with_odd(self, self.beyond())

    def without_odd_values(self) -> Refinable:
        """The domain that `with_odd_values` was asked of."""
        return self

    def odd_values(self) -> tuple[Any, ...]:
        """The records that `with_odd_values` let in, the most promising first."""
        return ()

    def beyond(self) -> tuple[Any, ...]:
        """The records that `with_odd_values` would let in."""
        return ()

    def released(self, record: Any) -> Any:
        """What a mechanism sees of this record, built anew."""
        return copy.deepcopy(record)

    def restored(self, seen: Any) -> Any:
        """The record of which a mechanism sees this: the inverse of `released`."""
        return seen
