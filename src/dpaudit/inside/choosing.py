"""Kernels that choose: a place by scores, a category, the winner of a noisy vote, answers above.

Their outputs are places, categories or answers of yes and no; each has its exact probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from dpaudit.arrays import Floats
from dpaudit.inside.noise.integrals import PRECISION, Given, log_integral
from dpaudit.inside.noise.laws import Noise

_KINDS = ("laplace", "normal", "exponential", "gumbel", "logistic")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Selection:
    """Chooses the place of a good score; the input is the scores."""

    epsilon: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        for name in ("epsilon", "sensitivity"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)!r}.")

    def log_density(self, output: Any, input: Any) -> float:
        """The log probability of this place."""
        scores = np.asarray(input, dtype=np.float64)
        if not 0 <= int(output) < scores.size or not np.isfinite(scores).all():
            return -math.inf
        return float(self._logs(0.5 * self.epsilon / self.sensitivity * scores)[int(output)])

    def draw(self, input: Any, rng: np.random.Generator) -> int:
        """The place of one of the scores."""
        scores = np.asarray(input, dtype=np.float64)
        logs = self._logs(0.5 * self.epsilon / self.sensitivity * scores)
        return int(rng.choice(scores.size, p=_shares(logs)))

    def slack(self, output: Any, input: Any, error: Any) -> float:
        """Twice the largest error of a score, by what a score counts."""
        return float(np.max(error, initial=0.0)) * self.epsilon / self.sensitivity

    def _logs(self, weights: Floats) -> Floats:
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialMechanism(_Selection):
    """A place with probability in proportion to `exp(epsilon score / (2 sensitivity))`.

    McSherry and Talwar (2007), "Mechanism design via differential privacy".

    >>> best = ExponentialMechanism(epsilon=2.0)
    >>> round(best.log_density(0, [1.0, 0.0]) - best.log_density(1, [1.0, 0.0]), 12)
    1.0
    """

    def _logs(self, weights: Floats) -> Floats:
        return np.asarray(weights - logsumexp(weights))


@dataclass(frozen=True, slots=True, kw_only=True)
class PermuteAndFlip(_Selection):
    """Scores in a random order, each taken with probability `exp(epsilon (score - best) / ...)`.

    McKenna and Sheldon (2020), "Permute-and-flip". With a uniform time for every score, place `i`
    is taken with probability `q_i` times the integral over its time `t` of the product of
    `1 - t q_j` over the others: a polynomial, which Gauss and Legendre's rule integrates exactly.

    >>> both = PermuteAndFlip(epsilon=1.0)
    >>> round(math.exp(both.log_density(0, [2.0, 2.0])), 12)
    0.5
    """

    def _logs(self, weights: Floats) -> Floats:
        chances = np.exp(weights - weights.max())
        nodes, shares = np.polynomial.legendre.leggauss(weights.size // 2 + 1)
        times = 0.5 * (nodes + 1.0)
        left = 1.0 - times[:, None] * chances  # never 0: the times lie inside of (0, 1)
        logs = np.log(left).sum(axis=1, keepdims=True) - np.log(left)
        inner = logsumexp(logs, axis=0, b=0.5 * shares[:, None])
        return np.asarray(weights - weights.max() + inner)


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedResponse:
    """A category itself, `e^epsilon` times as likely as any other (Warner 1965; Kairouz 2014).

    >>> answer = RandomizedResponse(epsilon=1.0)
    >>> round(answer.log_density(1, 1) - answer.log_density(1, 0), 12)
    1.0
    """

    epsilon: float
    categories: int = 2

    def __post_init__(self) -> None:
        if not 0.0 <= self.epsilon < math.inf:
            raise ValueError(f"epsilon must be a number >= 0, got {self.epsilon!r}.")
        if self.categories < 2:
            raise ValueError(f"categories must be at least 2, got {self.categories!r}.")

    def log_density(self, output: Any, input: Any) -> float:
        """The log probability of this answer."""
        if not 0 <= int(output) < self.categories:
            return -math.inf
        return float(self._logs(input)[int(output)])

    def draw(self, input: Any, rng: np.random.Generator) -> int:
        """A category."""
        return int(rng.choice(self.categories, p=_shares(self._logs(input))))

    def slack(self, output: Any, input: Any, error: Any) -> float:
        """Nothing: a category is exact."""
        return 0.0

    def _category(self, input: Any) -> int:
        if int(input) != input or not 0 <= input < self.categories:
            raise ValueError(f"a category is from 0 to {self.categories - 1}, got {input!r}.")
        return int(input)

    def _logs(self, input: Any) -> Floats:
        weights = np.where(np.arange(self.categories) == self._category(input), self.epsilon, 0.0)
        return np.asarray(weights - logsumexp(weights))


@dataclass(frozen=True, slots=True)
class Categorical:
    """Places with these probabilities, as `rng.choice(len(p), size, p=p)` draws them.

    >>> print(round(Categorical().log_density(1, [0.5, 0.25, 0.25]), 4))
    -1.3863
    """

    size: Any = None

    def log_density(self, output: Any, input: Any) -> float:
        """The log probability of these places."""
        shares, places = np.asarray(input, dtype=np.float64), np.atleast_1d(output)
        if places.size and places.max() >= shares.size:
            return -math.inf
        with np.errstate(divide="ignore"):
            return float(np.log(shares[places] / shares.sum()).sum())

    def draw(self, input: Any, rng: np.random.Generator) -> Any:
        """One place, or as many as `size` says."""
        return rng.choice(len(input), size=self.size, p=input)

    def slack(self, output: Any, input: Any, error: Any) -> float:
        """What the rounding of the probabilities does to their logarithms."""
        shares, places = np.asarray(input, dtype=np.float64), np.atleast_1d(output)
        if places.size and places.max() >= shares.size:
            return 0.0  # a place that is not there has no chance, however it is rounded
        return 1e-12 * places.size if shares[places].all() else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportNoisyMax:
    """The place of the largest score after noise of one scale on each (Dwork and Roth 2014, 3.3).

    The probability is an integral over the noise of the winner: given that, the others are
    independent. `kind` is laplace, normal, exponential, gumbel or logistic.

    >>> vote = ReportNoisyMax(scale=2.0)
    >>> print(round(math.exp(vote.log_density(0, [1.0, 1.0, 1.0])), 9))
    0.333333333
    """

    scale: float
    kind: str = "laplace"

    def __post_init__(self) -> None:
        _check_noise(self.kind, self.scale)

    def log_density(self, output: Any, input: Any) -> float:
        """The log probability that this place wins."""
        scores, place = np.asarray(input, dtype=np.float64), int(output)
        if not 0 <= place < scores.size or not np.isfinite(scores).all():
            return -math.inf
        noise = Noise(self.kind, self.scale)
        ahead = np.delete(scores[place] - scores, place).tolist()
        return _log_integral(noise, [Given(-1.0, 1.0, noise, -math.inf, gap) for gap in ahead])

    def draw(self, input: Any, rng: np.random.Generator) -> int:
        """The place of the winner."""
        scores = np.asarray(input, dtype=np.float64)
        return int(np.argmax(scores + getattr(rng, self.kind)(scale=self.scale, size=scores.size)))

    def slack(self, output: Any, input: Any, error: Any) -> float:
        """What the rounding of all scores may do, and the integral."""
        return PRECISION + 20.0 * float(np.sum(error)) / self.scale


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseVector:
    """Which answers lie above a threshold, both with noise, up to the `cutoff`-th that does.

    The input is the answers, the output a list of yes and no that ends with the `cutoff`-th yes, or
    with the last answer. The noise of the threshold is hidden, and is integrated over. Dwork and
    Roth (2014), algorithm 1; Lyu, Su and Li (2017), algorithm 1.

    >>> vector = SparseVector(threshold=0.5, threshold_scale=2.0, answer_scale=4.0)
    >>> lists = [(True,), (False, True), (False, False)]
    >>> print(round(sum(math.exp(vector.log_density(each, [1.0, 0.0])) for each in lists), 9))
    1.0
    """

    threshold: float
    threshold_scale: float
    answer_scale: float
    cutoff: int = 1
    kind: str = "laplace"

    def __post_init__(self) -> None:
        _check_noise(self.kind, self.threshold_scale)
        _check_noise(self.kind, self.answer_scale)
        if self.cutoff < 1:
            raise ValueError(f"cutoff must be a whole number >= 1, got {self.cutoff!r}.")

    def log_density(self, output: Sequence[bool], input: Any) -> float:
        """The log probability of these answers."""
        answers, above = np.asarray(input, dtype=np.float64), [bool(each) for each in output]
        if len(above) != self._length(above, answers.size) or not np.isfinite(answers).all():
            return -math.inf
        own, given = Noise(self.kind, self.answer_scale), []
        for answer, yes in zip(answers.tolist(), above, strict=False):
            edge = self.threshold - answer  # the answer's noise less the threshold's, beside it
            low, high = (edge, math.inf) if yes else (-math.inf, edge)
            given.append(Given(-1.0, 1.0, own, low, high))
        return _log_integral(Noise(self.kind, self.threshold_scale), given)

    def draw(self, input: Any, rng: np.random.Generator) -> tuple[bool, ...]:
        """Answers up to the cutoff."""
        answers, noise = np.asarray(input, dtype=np.float64), getattr(rng, self.kind)
        bar = self.threshold + noise(scale=self.threshold_scale)
        above = (answers + noise(scale=self.answer_scale, size=answers.size) >= bar).tolist()
        return tuple(above[: self._length(above, answers.size)])

    def slack(self, output: Any, input: Any, error: Any) -> float:
        """What the rounding of all answers may do, and the integral."""
        return PRECISION + 10.0 * float(np.sum(error)) / self.answer_scale

    def _length(self, above: Sequence[bool], most: int) -> int:
        """How many answers there are until the cutoff."""
        found = np.flatnonzero(above)
        return most if found.size < self.cutoff else min(most, int(found[self.cutoff - 1]) + 1)


def _check_noise(kind: str, scale: float) -> None:
    if kind not in _KINDS:
        raise ValueError(f"kind must be one of {', '.join(_KINDS)}, got {kind!r}.")
    if not 0.0 < scale < math.inf:
        raise ValueError(f"a scale must be a positive number, got {scale!r}.")


def _log_integral(shared: Noise, given: list[Given]) -> float:
    found = log_integral(shared, given)
    if found is None:
        raise ValueError("the probability of this output could not be computed to its digits.")
    return found


def _shares(logs: Floats) -> Floats:
    shares = np.exp(logs - logs.max())
    return np.asarray(shares / shares.sum())
