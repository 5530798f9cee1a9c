"""From many recipes to one reader, by outputs that none of the readers has learned.

A reader is judged by the likelihood of all labels, not by the outputs on which it is surest: those
are few, and the best of many readers on few outputs is mostly the luckiest. Of readers that cannot
be told from the best the simplest is taken, for it is the least wrong about rare outputs: Breiman
et al. (1984) allow one standard error, here it is two, as the best is the best of a dozen. How
modest a reader is has no say: that is about the rare outputs, not about all. The chosen one is
taught anew with all outputs seen; how far it can be trusted is known from those that it had not
learned.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dpaudit.guessing.labelled import Labelled
from dpaudit.guessing.reader import Floats, Labels, Odds, Reader
from dpaudit.guessing.recipes import Recipe
from dpaudit.outputs import stack

_ERRORS = 2.0  # standard errors by which a reader may fall behind the best


def most_likely(
    recipes: Sequence[Recipe], seen: Labelled, fresh: Iterable[Labelled]
) -> tuple[Reader, Odds, Labelled]:
    """The reader that says most of fresh labels, its odds by them, and all outputs it learned."""
    readers = [recipe.taught(seen) for recipe in recipes]
    pieces = list(fresh)
    labels = np.concatenate([piece.labels for piece in pieces])
    scores = [_scores(reader, pieces) for reader in readers]
    best = _simplest(recipes, [_likelihoods(each, labels) for each in scores])
    recipe, first = recipes[best], recipes[best].set_back(readers[best], seen)
    known = Labelled(
        stack([seen.table, *(piece.table for piece in pieces)]),
        np.concatenate([seen.labels, labels]),
    )
    as_guessed = _scores(first, pieces) if recipe.modest else scores[best]
    return recipe.set_back(recipe.taught(known), known), Odds(as_guessed, labels), known


def _scores(reader: Reader, pieces: Sequence[Labelled]) -> Floats:
    return np.concatenate([reader(piece.table) for piece in pieces])


def _simplest(recipes: Sequence[Recipe], likelihoods: Sequence[Floats]) -> int:
    """The simplest of the readers that cannot be told from the most likely one."""
    means = [float(each.mean()) for each in likelihoods]
    best = likelihoods[int(np.argmax(means))]

    def is_as_good(each: Floats) -> bool:
        lost = best - each
        return bool(lost.mean() <= _ERRORS * lost.std() / np.sqrt(len(lost)))

    as_good = [place for place, each in enumerate(likelihoods) if is_as_good(each)]
    return min(as_good, key=lambda place: (recipes[place].complexity, -means[place]))


def _likelihoods(scores: Floats, labels: Labels) -> Floats:
    """The log-likelihood of each label by the odds that the other half of the outputs teaches."""
    found = np.empty(len(labels))
    first, second = slice(0, None, 2), slice(1, None, 2)
    for one, other in ((first, second), (second, first)):
        found[other] = Odds(scores[one], labels[one]).likelihoods(scores[other], labels[other])
    return found
