"""From outputs with labels to a guess: several readers learn, the one that promises most wins.

Every reader learns twice, each time from one half of the outputs, and is judged on the other half.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpaudit.measuring.guess import Floats, Guess, Reader, best_guess
from dpaudit.measuring.views import View, views
from dpaudit.testers.classifiers import BoostedScore, LinearScore, Remembering, Score
from dpaudit.testers.parts import Labelled

_MOST_BOOSTED = ("whole", "steps", "sums")  # trees take long, and one column needs none


def candidates(seen: Labelled, *, draws: int, alpha: float) -> list[Guess]:
    """A guess by every reader, the one that promises most on `draws` fresh draws first."""
    halves = [seen.take(slice(start, None, 2)) for start in (0, 1)]
    found = []
    for name, view in views(seen.table).items():
        looked = [Labelled(view(half.table), half.labels) for half in halves]
        for kind, scores in _learned(name, looked):
            judged = np.empty(len(seen.labels))
            judged[0::2], judged[1::2] = scores[1](looked[0].table), scores[0](looked[1].table)
            found.append(_guess(f"{name}, {kind}", view, scores, judged, seen, draws, alpha))
    return sorted(found, key=lambda guess: -guess.promise)


def _guess(
    name: str,
    view: View,
    scores: tuple[Score, Score],
    judged: Floats,
    seen: Labelled,
    draws: int,
    alpha: float,
) -> Guess:
    reader = Reader(name=name, view=view, scores=scores)
    return best_guess(reader, judged, seen.labels, draws=draws, alpha=alpha)


def _learned(name: str, halves: list[Labelled]) -> Iterator[tuple[str, tuple[Score, Score]]]:
    """Every kind of score that is worth its time, learned from either half."""
    linear = LinearScore(halves[0]), LinearScore(halves[1])
    yield "linear", linear
    if name == "whole":
        yield (
            "remembering",
            (Remembering(halves[0], linear[0]), Remembering(halves[1], linear[1])),
        )
    if name in _MOST_BOOSTED and halves[0].table.columns > 1:
        yield "boosted", (BoostedScore(halves[0]), BoostedScore(halves[1]))
