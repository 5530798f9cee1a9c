"""From outputs with labels to readers: every way to look at them, every score worth its time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.guessing.classifiers import BoostedScore, LinearScore, Remembering, Score
from dpaudit.guessing.labelled import Labelled
from dpaudit.guessing.reader import Reader
from dpaudit.guessing.sample import row_keys
from dpaudit.guessing.surface import Surface
from dpaudit.guessing.views import View, views
from dpaudit.outputs import Table

_BOOSTED = ("whole", "steps", "sums")  # trees take long, and one column needs none
_COMPLEXITY = {"surface": 0, "linear": 1, "remembering": 2, "boosted": 3}
_CELLS = 6e7  # numbers in the design of a linear score
_DOUBT = 2.0  # standard deviations, at most
_MANY = 10_000  # outputs that show what most are like


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Recipe:
    """How to make a reader of labelled outputs."""

    name: str
    view: View
    teach: Callable[[Labelled], Score]
    modest: bool = False
    complexity: int = 0  # the larger, the more there is to be learned

    def taught(self, seen: Labelled) -> Reader:
        """The reader that these outputs teach."""
        score = self.teach(Labelled(self.view(seen.table), seen.labels))
        return Reader(name=self.name, view=self.view, score=score)

    def set_back(self, reader: Reader, seen: Labelled) -> Reader:
        """The reader as it guesses: where the recipe is modest, by what it is sure of."""
        if not self.modest:
            return reader
        assert isinstance(reader.score, LinearScore | Surface)
        return replace(reader, score=Shrunk(reader.score, self.view(seen.table)))


class Shrunk:
    """A score that is set back by its own uncertainty: on rare outputs little is known.

    Where little is known of any output, it is set back less: the surest keep half of their score.

    >>> class Sure:
    ...     def __call__(self, table):
    ...         return table.numbers[:, 0]
    ...
    ...     def uncertainty(self, table):
    ...         return np.full(len(table), 0.5)
    >>> outputs = Table(np.array([[-2.0], [0.1], [3.0]]), None)
    >>> Shrunk(Sure(), outputs)(outputs).tolist()
    [-1.0, 0.0, 2.0]
    """

    def __init__(self, score: LinearScore | Surface, seen: Table) -> None:
        some = seen.take(slice(_MANY))
        surest = float(np.max(np.abs(score(some)) / score.uncertainty(some), initial=0.0))
        self._score = score
        self._doubt = min(_DOUBT, surest / 2.0)

    def __call__(self, table: Table) -> Floats:
        """The log-odds of every row, nearer to 0 by some standard deviations."""
        scores = self._score(table)
        doubt = self._doubt * self._score.uncertainty(table)
        return np.asarray(scores - np.clip(scores, -doubt, doubt))


def recipes(table: Table) -> list[Recipe]:
    """All recipes for outputs like these.

    Readers of a single number and of an ending are modest. Of many columns each says a little, and
    to be modest about each would lose what they say together.
    """
    return [
        Recipe(
            name=f"{name}, {kind}",
            view=view,
            teach=teach,
            modest=kind == "surface" or (kind == "linear" and _is_single(name, table)),
            complexity=_COMPLEXITY[kind],
        )
        for name, view in views(table).items()
        for kind, teach in _kinds(name, table)
    ]


def _is_single(name: str, table: Table) -> bool:
    return table.columns == 1 or name.startswith("column")


def _kinds(name: str, table: Table) -> Iterator[tuple[str, Callable[[Labelled], Score]]]:
    if name == "ending":
        yield "surface", Surface
        return
    yield "linear", _linear
    if name == "whole" and _comes_again(table):
        yield "remembering", _remembering
    if name in _BOOSTED and table.columns > 1:
        yield "boosted", BoostedScore


def _linear(seen: Labelled) -> Score:
    return LinearScore(seen, cells=_CELLS)


def _remembering(seen: Labelled) -> Score:
    return Remembering(seen, _linear(seen))


def _comes_again(table: Table) -> bool:
    """Whether an output is usually not the only one of its kind."""
    some = table.take(slice(_MANY))
    return 2 * len(np.unique(row_keys(some))) < len(some)
