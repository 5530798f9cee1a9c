"""What outputs looked like at one place: a few dozen counts, enough to draw both sides."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputHistogram:
    """How often outputs of either side fell where, at one place of the output.

    `edges` part the numbers into bins, of which the first and the last are open to infinity;
    `values` are the texts of what was counted one by one: numbers, words, "other". The counts are
    those of the bins, then those of the values; `data_hits` and `neighbour_hits` are the part of
    them for which the event happened.

    >>> outline = OutputHistogram(
    ...     place="output",
    ...     edges=(),
    ...     values=("'yes'", "'no'"),
    ...     data=(70, 30),
    ...     neighbour=(20, 80),
    ...     data_hits=(70, 0),
    ...     neighbour_hits=(20, 0),
    ... )
    >>> outline.bins, sum(outline.data)
    (0, 100)
    """

    place: str
    edges: tuple[float, ...]
    values: tuple[str, ...]
    data: tuple[int, ...]
    neighbour: tuple[int, ...]
    data_hits: tuple[int, ...]
    neighbour_hits: tuple[int, ...]

    @property
    def bins(self) -> int:
        """How many of the counts are of bins; the others are of values."""
        return max(len(self.edges) - 1, 0)
