"""The guessers that `measure_epsilon` tries, and the choice of one by draws that none has learned.

A guesser is judged by the likelihood of all labels, not by the outputs on which it is surest: those
are few, and the best of many guessers on few outputs is mostly the luckiest. The simplest of those
that cannot be told from the best is taken, for it is the least wrong about rare outputs: Breiman et
al. (1984) allow one standard error, here it is two, as the best is the best of a dozen. Shrinking
has no say: it is about rare outputs only. The chosen guesser is fitted anew to all outputs seen;
how far to trust it is known from those that it had not learned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from dpaudit.architecture import Guesser
from dpaudit.arrays import Floats, Labels
from dpaudit.guessing.guessers import BalancedLinear, Remembering
from dpaudit.guessing.projections import EndingSurface, Projection, projections_for
from dpaudit.guessing.rows import LabelledRows, row_keys
from dpaudit.guessing.staked_guesses import Calibration
from dpaudit.guessing.trees import BalancedBoosted
from dpaudit.outputs import Table, stack

_BOOSTED = ("whole", "steps", "sums")  # trees take long, and one column needs none
_MAX_DESIGN_CELLS = 6e7  # numbers in the design of a linear guesser
_MAX_DEVIATIONS = 2.0  # standard deviations by which log-odds shrink
_TYPICAL_ROWS = 10_000  # outputs that show what most are like
_MAX_ERRORS_BEHIND = 2.0  # standard errors by which a guesser may fall behind the best


class ProjectedGuesser:
    """A guesser of outputs looked at in one way; the larger `complexity`, the more it must learn.

    Where it `shrinks`, it guesses by log-odds that are nearer to 0 by up to two standard
    deviations: little is known of rare outputs. Where little is known of any output, they shrink
    less: the surest keep half of theirs.
    """

    def __init__(
        self,
        name: str,
        guesser: Guesser,
        *,
        project: Projection = lambda table: table,
        complexity: int = 0,
        shrinks: bool = False,
    ) -> None:
        self.name, self.complexity, self.shrinks = name, complexity, shrinks
        self._guesser, self._project = guesser, project

    def fit(self, seen: LabelledRows) -> None:
        """Learn from single draws."""
        table = self._project(seen.table)
        self._guesser.fit(LabelledRows.of(table, seen.labels))
        if self.shrinks:
            some = table.take(slice(_TYPICAL_ROWS))
            sureness = np.abs(self._guesser.log_odds(some)) / self._uncertainty(some)
            self._deviations = min(_MAX_DEVIATIONS, float(np.max(sureness, initial=0.0)) / 2.0)

    def plain_log_odds(self, table: Table) -> Floats:
        """The log-odds of every output, not shrunk."""
        return self._guesser.log_odds(self._project(table))

    def log_odds(self, table: Table) -> Floats:
        """The log-odds of every output."""
        log_odds = self.plain_log_odds(table)
        if not self.shrinks:
            return log_odds
        most = self._deviations * self._uncertainty(self._project(table))
        return np.asarray(log_odds - np.clip(log_odds, -most, most))

    def _uncertainty(self, table: Table) -> Floats:
        assert isinstance(self._guesser, BalancedLinear | EndingSurface)
        return self._guesser.uncertainty(table)


def candidates_for(table: Table) -> list[ProjectedGuesser]:
    """All candidates for outputs like these.

    Guessers of a single number and of an ending are shrunk. Of many columns each says a little, and
    to shrink each would lose what they say together.
    """
    ways = projections_for(table).items()
    return [found for name, project in ways for found in _candidates(name, project, table)]


def most_likely(
    candidates: Sequence[ProjectedGuesser], seen: LabelledRows, fresh: Iterable[LabelledRows]
) -> tuple[ProjectedGuesser, Calibration, LabelledRows]:
    """The candidate that says most of fresh labels, its calibration by them, all it has learned."""
    for candidate in candidates:
        candidate.fit(seen)
    pieces = list(fresh)
    labels = np.concatenate([piece.labels for piece in pieces])
    plain = [
        np.concatenate([candidate.plain_log_odds(piece.table) for piece in pieces])
        for candidate in candidates
    ]
    best = candidates[_simplest(candidates, [_likelihoods(each, labels) for each in plain])]
    scores = np.concatenate([best.log_odds(piece.table) for piece in pieces])
    table = stack([seen.table, *(piece.table for piece in pieces)])
    known = LabelledRows.of(table, np.concatenate([seen.labels, labels]))
    best.fit(known)
    return best, Calibration(scores, labels), known


def _candidates(name: str, project: Projection, table: Table) -> Iterator[ProjectedGuesser]:
    if name == "ending":
        yield ProjectedGuesser(f"{name}, surface", EndingSurface(), project=project, shrinks=True)
        return
    linear = partial(BalancedLinear, max_design_cells=_MAX_DESIGN_CELLS)
    single = table.columns == 1 or name.startswith("column")
    yield ProjectedGuesser(
        f"{name}, linear", linear(), project=project, complexity=1, shrinks=single
    )
    if name == "whole" and _comes_again(table):
        remembering = Remembering(linear())
        yield ProjectedGuesser(f"{name}, remembering", remembering, project=project, complexity=2)
    if name in _BOOSTED and table.columns > 1:
        yield ProjectedGuesser(f"{name}, boosted", BalancedBoosted(), project=project, complexity=3)


def _comes_again(table: Table) -> bool:
    """Whether most outputs come more than once."""
    some = table.take(slice(_TYPICAL_ROWS))
    return 2 * len(np.unique(row_keys(some))) < len(some)


def _simplest(candidates: Sequence[ProjectedGuesser], likelihoods: Sequence[Floats]) -> int:
    """The simplest of the candidates that cannot be told from the most likely one."""
    means = [float(each.mean()) for each in likelihoods]
    best = likelihoods[int(np.argmax(means))]

    def is_as_good(each: Floats) -> bool:
        lost = best - each
        return bool(lost.mean() <= _MAX_ERRORS_BEHIND * lost.std() / np.sqrt(len(lost)))

    as_good = [place for place, each in enumerate(likelihoods) if is_as_good(each)]
    return min(as_good, key=lambda place: (candidates[place].complexity, -means[place]))


def _likelihoods(scores: Floats, labels: Labels) -> Floats:
    """The log-likelihood of each label by the calibration that the other half teaches."""
    found = np.empty(len(labels))
    first, second = slice(0, None, 2), slice(1, None, 2)
    for one, other in ((first, second), (second, first)):
        calibration = Calibration(scores[one], labels[one])
        found[other] = calibration.likelihoods(scores[other], labels[other])
    return found
