"""Which of several strategies proposes next: the usual one, unless the pairs of others score more.

A small bandit: the strategies start from given shares; each is multiplied by what the latest pairs
of the strategy scored at first sight, measured by what those of all did, squared. Every strategy
keeps a twentieth of the proposals. Later scores of a pair do not count: they grow with its draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

LEAST = 0.05  # of the proposals, for every strategy
LATEST = 16  # pairs of a strategy that count


class Shares:
    """The shares of named strategies, by where they started and what they earned.

    >>> shares = Shares({"slow": 0.5, "quick": 0.5})
    >>> for mark, name, score in [("a", "slow", 1.0), ("b", "quick", 3.0)]:
    ...     shares.note_proposal(mark, name)
    ...     shares.note_score(mark, score)
    >>> {name: round(share, 3) for name, share in shares.now().items()}
    {'slow': 0.14, 'quick': 0.86}
    """

    def __init__(self, start: Mapping[str, float]) -> None:
        self._start = dict(start)
        self._scores: dict[str, dict[str, float | None]] = {name: {} for name in start}

    def note_proposal(self, mark: str, name: str) -> None:
        """This strategy proposed the pair with this mark; its score is not known yet."""
        scores = self._scores[name]
        scores[mark] = None
        if len(scores) > 2 * LATEST:
            del scores[next(iter(scores))]

    def note_score(self, mark: str, score: float) -> None:
        """The score of a pair, whoever proposed it; only the first one counts."""
        for scores in self._scores.values():
            if mark in scores and scores[mark] is None:
                scores[mark] = score

    def now(self) -> dict[str, float]:
        """The share of every strategy in the next proposals."""
        known = {
            name: [score for score in scores.values() if score is not None][-LATEST:]
            for name, scores in self._scores.items()
        }
        usual = _mean([score for scores in known.values() for score in scores])
        weights = self._start
        if usual > 0.0:
            weights = {
                name: start * (_mean(known[name], else_=usual) / usual) ** 2
                for name, start in self._start.items()
            }
        total, rest = sum(weights.values()), 1.0 - LEAST * len(weights)
        return {name: LEAST + rest * weight / total for name, weight in weights.items()}

    def state(self) -> dict[str, Any]:
        """The scores that count, as plain JSON values."""
        return {name: list(map(list, scores.items())) for name, scores in self._scores.items()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up the scores of another."""
        self._scores = {name: dict(map(tuple, scores)) for name, scores in state.items()}


def _mean(scores: Sequence[float], else_: float = 0.0) -> float:
    return float(np.mean(scores)) if scores else else_
