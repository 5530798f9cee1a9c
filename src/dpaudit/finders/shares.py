"""Which of several strategies proposes next: the one whose pairs have scored, but none too rarely.

A small bandit: every strategy keeps a tenth of the proposals, the rest is shared out by what the
latest pairs of each scored, measured by the best score of all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

LEAST = 0.1  # of the proposals, for every strategy
LATEST = 16  # pairs of a strategy that count


class Shares:
    """The shares of named strategies, by what they earned.

    >>> shares = Shares(["slow", "quick"])
    >>> for mark, name, score in [("a", "slow", 0.0), ("b", "quick", 2.0)]:
    ...     shares.note_proposal(mark, name)
    ...     shares.note_score(mark, score)
    >>> {name: round(share, 3) for name, share in shares.of(best=2.0).items()}
    {'slow': 0.1, 'quick': 0.9}
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._scores: dict[str, dict[str, float | None]] = {name: {} for name in names}

    def note_proposal(self, mark: str, name: str) -> None:
        """This strategy proposed the pair with this mark; its score is not known yet."""
        scores = self._scores[name]
        scores[mark] = None
        if len(scores) > 2 * LATEST:
            del scores[next(iter(scores))]

    def note_score(self, mark: str, score: float) -> None:
        """The score of a pair, whoever proposed it."""
        for scores in self._scores.values():
            if mark in scores:
                scores[mark] = score

    def of(self, best: float) -> dict[str, float]:
        """The share of every strategy in the next proposals; one not tried yet counts as best."""
        earned = {}
        for name, scores in self._scores.items():
            known = [score for score in scores.values() if score is not None][-LATEST:]
            earned[name] = float(np.mean(known)) / best if known and best > 0.0 else 1.0
        total = sum(earned.values())
        rest = 1.0 - LEAST * len(earned)
        return {
            name: LEAST + rest * (value / total if total > 0.0 else 1.0 / len(earned))
            for name, value in earned.items()
        }

    def state(self) -> dict[str, Any]:
        """The scores that count, as plain JSON values."""
        return {name: list(map(list, scores.items())) for name, scores in self._scores.items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the scores of another."""
        self._scores = {name: dict(map(tuple, scores)) for name, scores in state.items()}
