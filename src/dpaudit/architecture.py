"""Every Protocol on one page: what others may supply, and what the rooms ask of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np

    from dpaudit.mechanism import ErrorsAsOutputs
    from dpaudit.outputs import Outputs


class Source(Protocol):
    """Where outputs come from: a mechanism, or samples that were drawn before."""

    @property
    def name(self) -> str: ...
    @property
    def target(self) -> str | None:
        """The text by which it can be imported again."""

    @property
    def errors(self) -> ErrorsAsOutputs | None:
        """What counts errors as outputs, if anything does."""

    def draw(self, data: Any, size: int, rng: np.random.Generator) -> Outputs:
        """Give `size` independent outputs on `data`."""
