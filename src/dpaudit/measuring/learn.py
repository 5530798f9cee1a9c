"""From outputs with labels to readers: every way to look at them, every score worth its time."""

from __future__ import annotations

from collections.abc import Iterator

from dpaudit.measuring.guess import Reader
from dpaudit.measuring.views import views
from dpaudit.testers.classifiers import BoostedScore, LinearScore, Remembering, Score
from dpaudit.testers.parts import Labelled

_BOOSTED = ("whole", "steps", "sums")  # trees take long, and one column needs none


def readers(seen: Labelled) -> list[Reader]:
    """All readers that these outputs can teach."""
    return [
        Reader(name=f"{name}, {kind}", view=view, score=score)
        for name, view in views(seen.table).items()
        for kind, score in _scores(name, Labelled(view(seen.table), seen.labels))
    ]


def _scores(name: str, seen: Labelled) -> Iterator[tuple[str, Score]]:
    linear = LinearScore(seen)
    yield "linear", linear
    if name == "whole":
        yield "remembering", Remembering(seen, linear)
    if name in _BOOSTED and seen.table.columns > 1:
        yield "boosted", BoostedScore(seen)
