"""From outputs with labels to readers: every way to look at them, every score worth its time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dpaudit.measuring.guess import Reader
from dpaudit.measuring.surface import Surface
from dpaudit.measuring.views import View, views
from dpaudit.outputs import Table
from dpaudit.testers.classifiers import BoostedScore, LinearScore, Remembering, Score
from dpaudit.testers.parts import Labelled
from dpaudit.witness.sample import row_keys

_BOOSTED = ("whole", "steps", "sums")  # trees take long, and one column needs none
_CELLS = 6e7  # numbers in the design of a linear score
_MANY = 10_000  # outputs that show whether outputs come again


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Recipe:
    """How to make a reader of labelled outputs."""

    name: str
    view: View
    teach: Callable[[Labelled], Score]

    def taught(self, seen: Labelled) -> Reader:
        """The reader that these outputs teach."""
        score = self.teach(Labelled(self.view(seen.table), seen.labels))
        return Reader(name=self.name, view=self.view, score=score)


def recipes(table: Table) -> list[Recipe]:
    """All recipes for outputs like these."""
    return [
        Recipe(name=f"{name}, {kind}", view=view, teach=teach)
        for name, view in views(table).items()
        for kind, teach in _kinds(name, table)
    ]


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
