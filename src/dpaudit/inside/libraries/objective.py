"""diffprivlib's logistic regression: noise in the objective, and its minimiser is released.

Every minimiser belongs to one noise vector, so its density is that of the vector times a Jacobian
(Chaudhuri, Monteleoni and Sarwate 2011, "Differentially private empirical risk minimization"). That
holds for the minimiser itself: what an optimiser gives that has not converged is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.special import expit, gammaln

from dpaudit.arrays import Floats
from dpaudit.inside.libraries.hooking import Replaced, following, released
from dpaudit.inside.recording import Recorder

NEWTON_STEPS = 200
MAX_RESIDUE = 0.05  # of a gradient: the loss that it may hide


@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticMinimiser:
    """The minimiser of a logistic objective with a random linear term; the input is the records.

    The last column is the label, 0 or 1. The noise vector has a uniform direction and a norm that
    is gamma distributed, with the dimension as shape and this scale. `penalty` and `ridge` are half
    the factors of the squared coefficients and of the squared coefficients and intercept.

    >>> law = LogisticMinimiser(scale=1.0, penalty=1.0, ridge=0.0, intercept=False)
    >>> records = [[1.0, 1.0]]  # at 0 the noise is -1/2 or 1/2, and the curvature 5/4
    >>> print(round(math.exp(law.log_density([0.0], records)) / (0.5 * math.exp(-0.5)), 12))
    1.25
    """

    scale: float
    penalty: float
    ridge: float
    intercept: bool

    def log_density(self, output: Any, input: Any) -> float:
        """The log density of the noise behind this minimiser, plus that of the Jacobian."""
        place, records = np.asarray(output, dtype=np.float64), np.asarray(input, dtype=np.float64)
        gradient, hessian = self.slope(place, records)
        dimension = place.size
        sphere = math.log(2.0) + 0.5 * dimension * math.log(math.pi) - gammaln(0.5 * dimension)
        constant = dimension * math.log(self.scale) + gammaln(dimension) + sphere
        sign, jacobian = np.linalg.slogdet(hessian)
        if sign <= 0.0 or not math.isfinite(jacobian):
            return -math.inf
        return float(-np.linalg.norm(gradient) / self.scale - constant + jacobian)

    def draw(self, input: Any, rng: np.random.Generator) -> Floats:
        """The minimiser for a random noise vector; ValueError if there is none."""
        records = np.asarray(input, dtype=np.float64)
        dimension = records.shape[1] - 1 + self.intercept
        direction = rng.standard_normal(dimension)
        noise = direction / np.linalg.norm(direction) * rng.gamma(dimension, self.scale)
        return self._minimised(noise, records)

    def slack(self, output: Any, input: Any, error: Any) -> float:
        """How far the noise and the curvature may be off where the records are rounded."""
        return float(np.sum(error)) * (1.0 / self.scale + 1.0)

    def slope(self, place: Floats, records: Floats) -> tuple[Floats, Floats]:
        """The gradient of the objective without noise, and its second derivative."""
        rows, labels = self._rows(records), records[:, -1]
        chances = expit(rows @ place)
        factors = np.full(place.size, self.penalty + self.ridge)
        factors[place.size - self.intercept :] -= self.penalty
        gradient = rows.T @ (chances - labels) + factors * place
        curved = (rows * (chances * (1.0 - chances))[:, None]).T @ rows
        return gradient, curved + np.diag(factors)

    def _rows(self, records: Floats) -> Floats:
        rows = records[:, :-1]
        return np.column_stack([rows, np.ones(len(rows))]) if self.intercept else rows

    def _minimised(self, noise: Floats, records: Floats) -> Floats:
        """Newton's steps, halved until they get nearer."""
        place = np.zeros(noise.size)
        gradient, hessian = self.slope(place, records)
        for _ in range(NEWTON_STEPS):
            rest = gradient + noise
            if np.linalg.norm(rest) <= 1e-12 * (1.0 + np.linalg.norm(noise)):
                return place
            try:
                step = np.linalg.solve(hessian, rest)
            except np.linalg.LinAlgError:
                break
            for half in 0.5 ** np.arange(40.0):
                tried = place - half * step
                gradient, hessian = self.slope(tried, records)
                if np.linalg.norm(gradient + noise) < np.linalg.norm(rest):
                    break
            else:
                return (
                    place
                    if np.linalg.norm(rest) <= 1e-9 * (1.0 + np.linalg.norm(noise))
                    else _none()
                )
            place = tried
        return _none()


def _none() -> Floats:
    raise ValueError("the objective with its noise has no minimiser")


def hook(module: Any) -> Iterator[Replaced]:
    """The mechanism that adds the noise, and the optimiser behind it."""
    plain = module.optimize.fmin_l_bfgs_b
    optimiser = SimpleNamespace(fmin_l_bfgs_b=following(plain, _minimising(plain)))
    yield Replaced(module.Vector, "randomise", following(module.Vector.randomise, _Perturbed))
    yield Replaced(module, "optimize", optimiser)


class _Perturbed:
    """An objective whose noise is not drawn yet; only the optimiser may ask for it."""

    def __init__(self, recorder: Recorder, mechanism: Any, objective: Any) -> None:
        mechanism._check_all(objective)
        self.recorder, self.mechanism, self.objective = recorder, mechanism, objective

    def __call__(self, *arguments: Any) -> Any:
        self.recorder.refuse(
            "uses Vector of diffprivlib on its own. Only its logistic regression is followed."
        )

    def law(self, strength: float, intercept: bool) -> LogisticMinimiser:
        """With the numbers that `Vector` computes of its settings."""
        it = self.mechanism
        product = it.function_sensitivity * it.data_sensitivity
        epsilon, extra = it.epsilon - 2.0 * np.log(1.0 + product / it.alpha), 0.0
        if epsilon <= 0.0:
            extra = product / np.expm1(it.epsilon / 4.0) - it.alpha
            epsilon = it.epsilon / 2.0
        return LogisticMinimiser(
            scale=float(2.0 * it.data_sensitivity / epsilon),
            penalty=float(it.n * strength),
            ridge=float(extra),
            intercept=intercept,
        )

    def with_noise(self, noise: Floats, ridge: float) -> Callable[..., Any]:
        """The objective as the library perturbs it."""

        def perturbed(place: Floats, *arguments: Any) -> tuple[float, Floats]:
            value, gradient = self.objective(place, *arguments)
            value += np.dot(noise, place) / self.mechanism.n + 0.5 * ridge * np.dot(place, place)
            return value, gradient + noise / self.mechanism.n + ridge * place

        return perturbed


def _minimising(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Release the minimiser; the library's optimiser, given its noise, must come to it too."""

    def minimise(recorder: Recorder, function: Any, start: Any, **given: Any) -> Any:
        if not isinstance(function, _Perturbed):
            return plain(function, start, **given)
        rows, target, weights, strength = given["args"]
        loss: Any = getattr(function.objective, "__self__", None)
        known = type(loss).__name__ == "LinearModelLoss" and isinstance(rows, np.ndarray)
        if not known or np.any(weights != 1.0) or len(rows) != function.mechanism.n:
            recorder.refuse("perturbs an objective that is not followed.")
        law = function.law(strength, bool(loss.fit_intercept))
        records = np.column_stack([rows, target])
        try:
            place = released(recorder, records, law)
        except ValueError as error:
            recorder.refuse(f"{error}: the noise of an intercept may be too large for it.")
        noise = -law.slope(place, records)[0]
        perturbed = function.with_noise(noise, law.ridge / len(rows))
        found, value, info = plain(perturbed, start, **given)
        residue = len(rows) * np.linalg.norm(perturbed(found, *given["args"])[1]) / law.scale
        wrong = len(rows) * np.linalg.norm(perturbed(place, *given["args"])[1]) / law.scale
        if info["warnflag"] != 0 or residue > MAX_RESIDUE or wrong > 1e-6:
            recorder.refuse(
                "stops its optimiser before the gradient is near 0, so that the coefficients are "
                "not the minimiser. Set a smaller tol and a larger max_iter."
            )
        return place, value, info

    return minimise
