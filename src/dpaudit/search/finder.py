"""What proposes the pairs to audit: ask for a pair, tell how much it showed."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from dpaudit.neighbours import Pair


class Finder(Protocol):
    """A search over neighbouring pairs. Any object with these two methods is a finder."""

    def ask(self) -> Pair | None:
        """The next pair to audit; None if there is nothing new to propose."""

    def tell(self, pair: Pair, score: float) -> None:
        """How much the pair showed: the higher, the closer to a refutation; zero is a score.

        A pair may be told of again: the later score knows more and replaces the earlier one.
        """


@runtime_checkable
class Resumable(Protocol):
    """A finder that can be put away and taken up again. All of ours can."""

    def state(self) -> dict[str, Any]:
        """All it knows, as plain JSON values."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where the finder stood whose state this is."""
