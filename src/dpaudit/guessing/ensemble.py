"""All experts as one: their guesses averaged by how well each has guessed so far.

`c(x) = sum_k weight_k c_k(x)` with `weight_k` proportional to the likelihood that expert `k` gave
to the past labels, each guessed before it was seen: Bayesian model averaging. One part in a
thousand is always shared out anew, so that an expert that needs a long past can still take over.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit, logit

from dpaudit.arrays import Floats
from dpaudit.guessing.bins import Atoms, Bins
from dpaudit.guessing.boosted import Boosted
from dpaudit.guessing.columns import Column, View, prepare
from dpaudit.guessing.features import FeatureMap, cauchy, cosines, gaussian, laplace, normal_scores
from dpaudit.guessing.linear import LinearBank
from dpaudit.guessing.sample import Sample
from dpaudit.outputs import Table

_SHARED = 1e-3  # of the weight, handed round at every refit
_COARSE_BINS = (7, 9)  # for one column: five shifts or scales, two waves, then three bins, mirrored
_BOLDEST = 30.0  # nats: no guess is surer than this


class Ensemble:
    """The experts for outputs of a given number of columns, and the weight of each."""

    def __init__(self, columns: int) -> None:
        self._experts = _experts(columns)
        self.prior = _prior(self._experts)
        self.coarse = _COARSE_BINS if columns == 1 else ()  # the places of the plainest bins
        self._log_prior = np.log(self.prior)
        self._log_weight = self._log_prior
        self._columns: tuple[Column, ...] = ()

    def fit(self, sample: Sample) -> Floats:
        """Let every expert learn the past; the log-odds they together give to the past."""
        view = View(prepare(sample), sample.rows)
        self._columns = view.columns
        guesses = [expert.fit(sample, view) for expert in self._experts]
        self._log_weight = np.logaddexp(
            self._log_weight + np.log1p(-_SHARED), self._log_prior + np.log(_SHARED)
        )
        return self.average(_bounded(guesses))

    def guesses(self, table: Table) -> Floats:
        """The log-odds of `data` by each expert (rows of the result) for each output."""
        view = View(self._columns, table)
        return _bounded([expert.logits(view) for expert in self._experts])

    def average(self, guesses: Floats) -> Floats:
        """The log-odds of `data` on which all experts together settle."""
        return np.asarray(logit(np.exp(self._log_weight) @ expit(guesses)))

    def score(self, guesses: Floats, ones: Floats, zeros: Floats) -> None:
        """Weigh the experts by the labels that came: `ones[i]`, `zeros[i]` times on row `i`."""
        likelihood = log_expit(guesses) @ ones + log_expit(-guesses) @ zeros
        weight = self._log_weight + likelihood
        self._log_weight = weight - np.logaddexp.reduce(weight)


def _bounded(guesses: list[Floats]) -> Floats:
    return np.clip(np.concatenate(guesses), -_BOLDEST, _BOLDEST)


def _experts(columns: int) -> list[LinearBank | Bins | Atoms | Boosted]:
    """More columns, fewer and plainer models: what is learned of each column adds up."""
    even = np.ones(2)
    shift_or_scale: list[tuple[FeatureMap, Floats]] = [
        (laplace, even),
        (gaussian, even),
        (normal_scores, even),
    ]
    if columns == 1:
        shift_or_scale += [(cauchy(0.25), 3 * even), (cauchy(0.12), 3 * even)]
    elif columns > 16:
        shift_or_scale = [(laplace, even)]
    experts: list[LinearBank | Bins | Atoms | Boosted] = [LinearBank(tuple(shift_or_scale))]
    order = 12 if columns == 1 else 6 if columns <= 8 else 0
    if order:
        waves, smooth = cosines(order), np.arange(1.0, order + 1) ** 2
        experts.append(LinearBank(((waves, 0.3 * smooth), (waves, 3.0 * smooth)), first=48))
    if columns == 1:
        experts.append(Bins((2, 3, 6, 24), mirrored=(3,)))
    else:
        experts += [Boosted(), Atoms("words")]
    experts.append(Atoms())
    return experts


def _prior(experts: list[LinearBank | Bins | Atoms | Boosted]) -> Floats:
    """Shift-or-scale models are twice as likely as any other single model."""
    weights = [2.0] * experts[0].count + [1.0] * sum(expert.count for expert in experts[1:])
    return np.asarray(np.array(weights) / np.sum(weights))
