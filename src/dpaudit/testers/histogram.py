"""The histogram tester: cells that are likelier on one side, certified on outputs held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpaudit.arrays import Counts, Floats
from dpaudit.claims import Claim, PureDP
from dpaudit.guessing import LabelledRows, Samples, Share
from dpaudit.testers.batch import Examiner, Finding, refuse_if_powerless
from dpaudit.testers.cells import Cells, candidates
from dpaudit.testers.event_bound import (
    Curve,
    LevelBound,
    allowed,
    curve_finding,
    exact,
    gilbert_mcmillan,
    level_finding,
)
from dpaudit.testers.event_choice import (
    Ranked,
    Sizes,
    Trial,
    best_level,
    exact_promise,
    ranked,
    strongest,
)

_SHARE = Share(training=0.4, most=50_000)
_FOLDS = 4  # a cell's score comes from the other folds than the outputs it ranks


@dataclass(frozen=True, kw_only=True)
class HistogramTester(Examiner):
    """Count both sides in cells, and bound `P(A) - e^epsilon Q(A)` of the cells that tell most.

    `bins` is a number of bins for every column, `"atoms"` for whole outputs, or `"auto"`, which
    tries several on four tenths of the outputs and takes what promises the best bound on the
    others. Words, NaN, infinities and values that repeat are cells of their own. With
    `bound="exact"` one set of cells is bounded as by Clopper and Pearson; `"gilbert-mcmillan"`
    bounds the sum over all cells (Gilbert and McMillan 2018, "Property testing for differential
    privacy").

    >>> from dpaudit.claims import PureDP
    >>> rng = np.random.default_rng(0)
    >>> yes, no = ["yes"] * 900 + ["no"] * 100, ["yes"] * 100 + ["no"] * 900
    >>> finding = HistogramTester().examine(yes, no, PureDP(1.0), alpha=0.05, rng=rng)
    >>> finding.lower_bound > 0.0, 1.0 < finding.strength_lower < 2.2  # log(9) = 2.197
    (True, True)
    """

    bins: int | Literal["auto", "atoms"] = "auto"
    bound: Literal["exact", "gilbert-mcmillan"] = "exact"

    def __post_init__(self) -> None:
        whole = isinstance(self.bins, int) and not isinstance(self.bins, bool) and self.bins >= 2
        if not whole and self.bins not in ("auto", "atoms"):
            raise ValueError(
                f'bins must be "auto", "atoms" or a whole number >= 2, got {self.bins!r}.'
            )
        if self.bound not in ("exact", "gilbert-mcmillan"):
            raise ValueError(f'bound must be "exact" or "gilbert-mcmillan", got {self.bound!r}.')

    def threshold(self, claim: Claim) -> float:
        """The claim's delta; 0 for a profile, of which the excess is bounded."""
        return allowed(claim)

    def examine(
        self,
        outputs: Samples,
        neighbour_outputs: Samples,
        claim: Claim,
        *,
        alpha: float,
        rng: np.random.Generator,
    ) -> Finding:
        """Choose cells and certify them, in the divergence and in the claim's own parameter."""
        train, held_out = _SHARE.part(outputs, neighbour_outputs, rng)
        refuse_if_powerless(self, claim, len(outputs), len(neighbour_outputs), alpha=alpha)
        if self.bound == "exact":
            trial = self._trial(train, held_out, claim, alpha)
            return trial.finding(claim, alpha=alpha, bound="exact")
        return self._plug_in(train, held_out, claim, alpha)

    def curve(
        self,
        outputs: Samples,
        neighbour_outputs: Samples,
        *,
        alpha: float,
        rng: np.random.Generator,
    ) -> Curve:
        """Certify the whole privacy profile from below, with exact bounds on a dozen events."""
        train, held_out = _SHARE.part(outputs, neighbour_outputs, rng)
        return self._trial(train, held_out, PureDP(0.0), alpha).curve(alpha=alpha)

    def best(self, claim: Claim, draws: int, neighbour_draws: int, *, alpha: float) -> Finding:
        """What would be certified if every held-out output of the data hit, and none other did."""
        n, m = _SHARE.held_out(draws), _SHARE.held_out(neighbour_draws)
        if self.bound == "exact":
            return curve_finding(claim, exact(np.array([n]), n, np.array([0]), m, alpha=alpha))
        # A cell for each side, and the one for outputs unlike any seen.
        certified = gilbert_mcmillan(np.array([n, 0, 0]), n, np.array([0, m, 0]), m, alpha=alpha)
        return level_finding(claim, certified, best_level(claim, certified))

    def _trial(
        self, train: LabelledRows, held_out: LabelledRows, claim: Claim, alpha: float
    ) -> Trial:
        """The cells that promise to refute the largest strength, scored by their log-odds."""
        sizes = _sizes(held_out, alpha)
        best: tuple[float, Cells, Ranked, Floats] | None = None
        for cells in candidates(train, self.bins):
            events, log_odds = _ranked_cells(train, cells)
            strength, _ = strongest(claim, exact_promise(events, sizes))
            if best is None or strength > best[0]:
                best = strength, cells, events, log_odds
        assert best is not None
        _, cells, events, log_odds = best
        scores = log_odds[cells.index(held_out.table)]
        return Trial(events=events, scores=scores, labels=held_out.labels)

    def _plug_in(
        self, train: LabelledRows, held_out: LabelledRows, claim: Claim, alpha: float
    ) -> Finding:
        """The cells and the level at which the whole histogram promises most."""
        sizes = _sizes(held_out, alpha)
        best: tuple[float, Cells, float] | None = None
        for cells in candidates(train, self.bins):
            promise = _promised_plug_in(_counts(train, cells), sizes)
            level = best_level(claim, promise)
            excess = promise(level) - claim.delta(level)
            if best is None or excess > best[0]:
                best = excess, cells, level
        assert best is not None
        _, cells, level = best
        ones, zeros = _counts(held_out, cells)
        certified = gilbert_mcmillan(ones, sizes.draws, zeros, sizes.neighbour_draws, alpha=alpha)
        return level_finding(claim, certified, level)


def _sizes(held_out: LabelledRows, alpha: float) -> Sizes:
    draws = int(np.count_nonzero(held_out.labels))
    return Sizes(draws=draws, neighbour_draws=len(held_out.labels) - draws, alpha=alpha)


def _counts(part: LabelledRows, cells: Cells) -> tuple[Counts, Counts]:
    index = cells.index(part.table)
    ones = np.bincount(index[part.labels], minlength=cells.count)
    zeros = np.bincount(index[~part.labels], minlength=cells.count)
    return ones, zeros


def _ranked_cells(train: LabelledRows, cells: Cells) -> tuple[Ranked, Floats]:
    """Events of cells above a log-odds, counted in folds that did not set it; and all log-odds."""
    index, folds = cells.index(train.table), np.arange(len(train.labels)) % _FOLDS
    shape = (cells.count, 2, _FOLDS)
    place = np.ravel_multi_index((index, train.labels.astype(np.intp), folds), shape)
    counts = np.bincount(place, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)
    total = counts.sum(axis=2)
    scores = [_log_odds(total - counts[:, :, fold]) for fold in range(_FOLDS)]
    zeros, ones = (counts[:, side, :].T.ravel() for side in (0, 1))
    seen = ones + zeros > 0
    return ranked(np.concatenate(scores)[seen], ones[seen], zeros[seen]), _log_odds(total)


def _log_odds(counts: Floats) -> Floats:
    """Log-odds of cells, columns (neighbour, data), as if half an output more had hit each."""
    draws = np.maximum(counts.sum(axis=0), 1.0)
    shares = counts / draws + 0.25 * (1.0 / draws).sum()
    return np.asarray(np.log(shares[:, 1]) - np.log(shares[:, 0]))


def _promised_plug_in(counts: tuple[Counts, Counts], sizes: Sizes) -> LevelBound:
    """The bound on held-out outputs if their sum were that of training, less its expected error."""
    ones, zeros = counts
    draws, neighbour_draws = int(ones.sum()), int(zeros.sum())
    sure = gilbert_mcmillan(ones, draws, zeros, neighbour_draws, alpha=1.0)
    nothing = np.zeros_like(ones)
    penalty = gilbert_mcmillan(
        nothing, sizes.draws, nothing, sizes.neighbour_draws, alpha=sizes.alpha
    )
    return lambda epsilon: sure(epsilon) + penalty(epsilon)
