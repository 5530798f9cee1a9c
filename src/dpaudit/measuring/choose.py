"""From many recipes to one reader, by outputs that none of the readers has learned.

A reader is judged by the likelihood of all labels, not by the outputs on which it is surest: those
are few, and the best of many readers on few outputs is mostly the luckiest. The best is then taught
anew with all outputs seen; how far it can be trusted is known from those that it had not learned.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dpaudit.measuring.guess import Floats, Labels, Odds, Reader
from dpaudit.measuring.learn import Recipe
from dpaudit.outputs import stack
from dpaudit.testers.parts import Labelled


def most_likely(
    recipes: Sequence[Recipe], seen: Labelled, fresh: Iterable[Labelled]
) -> tuple[Reader, Odds, Labelled]:
    """The reader that says most of fresh labels, its odds by them, and all outputs it learned."""
    readers = [recipe.taught(seen) for recipe in recipes]
    pieces = list(fresh)
    labels = np.concatenate([piece.labels for piece in pieces])
    scores = [np.concatenate([reader(piece.table) for piece in pieces]) for reader in readers]
    best = int(np.argmax([_likelihood(each, labels) for each in scores]))
    known = Labelled(
        stack([seen.table, *(piece.table for piece in pieces)]),
        np.concatenate([seen.labels, labels]),
    )
    return recipes[best].taught(known), Odds(scores[best], labels), known


def _likelihood(scores: Floats, labels: Labels) -> float:
    """The likelihood of each half of the labels by the odds that the other half teaches."""
    first, second = slice(0, None, 2), slice(1, None, 2)
    return sum(
        Odds(scores[one], labels[one]).likelihood(scores[other], labels[other])
        for one, other in ((first, second), (second, first))
    )
