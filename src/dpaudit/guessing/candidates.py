"""The guessers that `measure_epsilon` tries, and the choice of one by draws that none has learned.

A guesser is judged by the likelihood of all labels, not by the outputs on which it is surest: those
are few, and the best of many guessers on few outputs is mostly the luckiest. Of guessers that
cannot be told from the best the simplest is taken, for it is the least wrong about rare outputs:
Breiman et al. (1984) allow one standard error, here it is two, as the best is the best of a dozen.
Shrinking has no say: it is about the rare outputs, not about all. The chosen guesser is fitted anew
to all outputs seen; how far it can be trusted is known from those that it had not learned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dpaudit.arrays import Floats, Labels
from dpaudit.guessing.guessers import BalancedLinear, Guesser, Remembering, UncertainGuesser
from dpaudit.guessing.projections import EndingSurface, Projection, projections
from dpaudit.guessing.rows import LabelledRows, row_keys
from dpaudit.guessing.staked_guesses import Calibration
from dpaudit.guessing.trees import BalancedBoosted
from dpaudit.outputs import Table, stack

_BOOSTED = ("whole", "steps", "sums")  # trees take long, and one column needs none
_COMPLEXITY = {"surface": 0, "linear": 1, "remembering": 2, "boosted": 3}
_MAX_DESIGN_CELLS = 6e7  # numbers in the design of a linear guesser
_MAX_DEVIATIONS = 2.0  # standard deviations by which log-odds shrink
_TYPICAL_ROWS = 10_000  # outputs that show what most are like
_MAX_ERRORS_BEHIND = 2.0  # standard errors by which a guesser may fall behind the best


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Candidate:
    """A guesser of outputs looked at in one way."""

    name: str
    project: Projection
    guesser: Guesser
    complexity: int = 0  # the larger, the more there is to be learned
    shrinks: bool = False  # whether its log-odds are shrunk when it guesses

    def fit(self, seen: LabelledRows) -> None:
        """Learn from single draws."""
        self.guesser.fit(LabelledRows.of(self.project(seen.table), seen.labels))

    def log_odds(self, table: Table) -> Floats:
        """The log-odds of every output, not shrunk."""
        return self.guesser.log_odds(self.project(table))

    def uncertainty(self, table: Table) -> Floats:
        """The standard deviation of the log-odds; only where the guesser knows it."""
        guesser: UncertainGuesser = self.guesser  # type: ignore[assignment]
        return guesser.uncertainty(self.project(table))

    def as_guessing(self, seen: LabelledRows) -> Guesser:
        """The guesser as it guesses after it was fitted."""
        return Shrunk(self, seen.table) if self.shrinks else self


class Shrunk:
    """A fitted guesser whose log-odds shrink by their uncertainty: little is known of rare outputs.

    Where little is known of any output, they shrink less: the surest keep half of theirs.

    >>> class Sure:
    ...     def log_odds(self, table):
    ...         return table.numbers[:, 0]
    ...
    ...     def uncertainty(self, table):
    ...         return np.full(len(table), 0.5)
    >>> outputs = Table(np.array([[-2.0], [0.1], [3.0]]), None)
    >>> Shrunk(Sure(), outputs).log_odds(outputs).tolist()
    [-1.0, 0.0, 2.0]
    """

    def __init__(self, guesser: UncertainGuesser, seen: Table) -> None:
        self._guesser = guesser
        self._set_deviations(seen)

    def fit(self, seen: LabelledRows) -> None:
        """Fit the guesser, and see how sure it is."""
        self._guesser.fit(seen)
        self._set_deviations(seen.table)

    def log_odds(self, table: Table) -> Floats:
        """The log-odds of every row, nearer to 0 by some standard deviations."""
        log_odds = self._guesser.log_odds(table)
        most = self._deviations * self._guesser.uncertainty(table)
        return np.asarray(log_odds - np.clip(log_odds, -most, most))

    def _set_deviations(self, seen: Table) -> None:
        some = seen.take(slice(_TYPICAL_ROWS))
        sureness = np.abs(self._guesser.log_odds(some)) / self._guesser.uncertainty(some)
        self._deviations = min(_MAX_DEVIATIONS, float(np.max(sureness, initial=0.0)) / 2.0)


def candidates_for(table: Table) -> list[Candidate]:
    """All candidates for outputs like these.

    Guessers of a single number and of an ending are shrunk. Of many columns each says a little, and
    to shrink each would lose what they say together.
    """
    return [
        Candidate(
            name=f"{name}, {kind}",
            project=project,
            guesser=guesser,
            complexity=_COMPLEXITY[kind],
            shrinks=kind == "surface"
            or (kind == "linear" and (table.columns == 1 or name.startswith("column"))),
        )
        for name, project in projections(table).items()
        for kind, guesser in _guessers(name, table)
    ]


def most_likely(
    candidates: Sequence[Candidate], seen: LabelledRows, fresh: Iterable[LabelledRows]
) -> tuple[str, Guesser, Calibration, LabelledRows]:
    """The candidate that says most of fresh labels.

    Its name, the guesser fitted to all outputs, its calibration by the fresh ones, and all outputs.
    """
    for candidate in candidates:
        candidate.fit(seen)
    pieces = list(fresh)
    labels = np.concatenate([piece.labels for piece in pieces])
    scores = [_scores(candidate, pieces) for candidate in candidates]
    place = _simplest(candidates, [_likelihoods(each, labels) for each in scores])
    best = candidates[place]
    as_guessed = _scores(best.as_guessing(seen), pieces) if best.shrinks else scores[place]
    table = stack([seen.table, *(piece.table for piece in pieces)])
    known = LabelledRows.of(table, np.concatenate([seen.labels, labels]))
    best.fit(known)
    return best.name, best.as_guessing(known), Calibration(as_guessed, labels), known


def _guessers(name: str, table: Table) -> Iterator[tuple[str, Guesser]]:
    if name == "ending":
        yield "surface", EndingSurface()
        return
    yield "linear", BalancedLinear(max_design_cells=_MAX_DESIGN_CELLS)
    if name == "whole" and _comes_again(table):
        yield "remembering", Remembering(BalancedLinear(max_design_cells=_MAX_DESIGN_CELLS))
    if name in _BOOSTED and table.columns > 1:
        yield "boosted", BalancedBoosted()


def _comes_again(table: Table) -> bool:
    """Whether most outputs come more than once."""
    some = table.take(slice(_TYPICAL_ROWS))
    return 2 * len(np.unique(row_keys(some))) < len(some)


def _scores(guesser: Guesser, pieces: Sequence[LabelledRows]) -> Floats:
    return np.concatenate([guesser.log_odds(piece.table) for piece in pieces])


def _simplest(candidates: Sequence[Candidate], likelihoods: Sequence[Floats]) -> int:
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
