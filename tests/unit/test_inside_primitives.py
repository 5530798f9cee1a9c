"""Primitives: noise functions of users, with their log density."""

import math
from typing import Any

import numpy as np
import pytest

from dpaudit import InsideVerdict, Pair, PureDP, audit_inside, primitive
from dpaudit.errors import CannotFollow
from dpaudit.inside import Transcript, transcript_of
from dpaudit.mechanism import as_mechanism, one_at_a_time

Rng = np.random.Generator
PAIR = Pair(np.array([0.5, 1.0]), np.array([0.5]))


def log_cauchy(output: float, value: float, scale: float) -> float:
    return -math.log(math.pi * scale * (1.0 + ((output - value) / scale) ** 2))


@primitive(log_density=log_cauchy)
def cauchy(value: float, scale: float, rng: Rng) -> float:
    return value + scale * float(rng.standard_cauchy())


def log_logistic(output: Any, value: Any, scale: float) -> float:
    far = (np.asarray(output) - value) / scale
    each = -far - np.log(scale) - 2.0 * np.logaddexp(0.0, -far)
    return float(np.sum(each))


@primitive(log_density=log_logistic)
def logistic(value: Any, scale: float = 1.0, *, rng: Rng) -> Any:
    return value + rng.logistic(scale=scale, size=np.shape(value))


def transcript(code: Any, pair: Pair = PAIR, seed: int = 0) -> Transcript:
    return transcript_of(as_mechanism(one_at_a_time(code)), pair, np.random.default_rng(seed))


def with_cauchy(data: Any, rng: Rng) -> object:
    return cauchy(float(data.sum()), 1.0 + 0.1 * len(data), rng)


def with_logistic(data: Any, rng: Rng) -> object:
    return logistic(np.array([data.sum(), len(data)]), scale=2.0, rng=rng)


@pytest.mark.parametrize("code", [with_cauchy, with_logistic])
@pytest.mark.parametrize("pair", [PAIR, PAIR.swapped()])
def test_losses_are_those_of_a_density_ratio(code: Any, pair: Pair) -> None:
    """Null: `E[exp(-L)] = 1`. False alarms: below 1e-4."""
    ratios = np.exp([-transcript(code, pair, seed).loss for seed in range(300)])
    assert abs(ratios.mean() - 1.0) <= 4.0 * ratios.std() / math.sqrt(300)
    assert ratios.std() > 0.05


def test_the_parameters_of_each_side_count() -> None:
    found = transcript(with_cauchy)
    (one,) = found.releases
    ours, theirs = log_cauchy(one.output, 1.5, 1.2), log_cauchy(one.output, 0.5, 1.1)
    assert found.loss == pytest.approx(ours - theirs, abs=1e-12)
    assert repr(one.kernel) == "cauchy(scale=1.2)"
    assert repr(one.neighbour_kernel) == "cauchy(scale=1.1)"


def test_outside_an_audit_the_function_is_called_as_it_is() -> None:
    plain = 2.0 + 0.5 * np.random.default_rng(4).standard_cauchy()
    assert cauchy(2.0, 0.5, np.random.default_rng(4)) == plain
    assert cauchy(rng=np.random.default_rng(4), value=2.0, scale=0.5) == plain
    assert cauchy.__name__ == "cauchy"


def test_both_truths() -> None:
    """Logistic noise of scale `s` is exactly `1/s`-DP for a sum that moves by 1."""

    def code(data: Any, rng: Rng) -> object:
        return logistic(float(data.sum()), 2.0, rng=rng)

    for epsilon, verdict in ((0.5, InsideVerdict.NOT_REFUTED), (0.45, InsideVerdict.BROKEN_INSIDE)):
        assert audit_inside(code, PureDP(epsilon), [(PAIR.data, PAIR.neighbour)]).verdict is verdict


def test_another_primitive_on_the_other_dataset_is_left_to_the_black_box() -> None:
    def code(data: Any, rng: Rng) -> object:
        total = float(data.sum())
        return cauchy(total, 1.0, rng) if len(data) == 2 else logistic(total, 1.0, rng=rng)

    found = transcript(code)
    assert found.differs is not None
    assert "cauchy on the one dataset, logistic on the other" in found.differs


def test_noise_in_a_value_is_refused() -> None:
    with pytest.raises(CannotFollow, match="noise of the generator in it already"):
        transcript(lambda data, rng: cauchy(data.sum() + rng.laplace(), 1.0, rng))


def test_a_density_of_an_array_is_refused() -> None:
    @primitive(log_density=lambda output, value: -np.abs(output - value))
    def forgets_the_sum(value: Any, rng: Rng) -> Any:
        return value + rng.laplace(size=2)

    with pytest.raises(CannotFollow, match="sum over its entries"):
        transcript(lambda data, rng: forgets_the_sum(np.ones(2) * len(data), rng))


def test_wrong_signatures_are_refused_when_decorating() -> None:
    decorate: Any = primitive
    with pytest.raises(TypeError, match="log_density must be a function"):
        decorate(log_density=3.0)
    with pytest.raises(TypeError, match="a parameter called rng"):
        decorate(log_density=log_cauchy)(lambda value, scale: value)
    with pytest.raises(TypeError, match="the private value first"):
        decorate(log_density=log_cauchy)(lambda rng: rng)
    with pytest.raises(TypeError, match=r"must be log_density\(output, value, scale\)"):
        decorate(log_density=lambda output, value: 0.0)(lambda value, scale, rng: value)
    with pytest.raises(TypeError, match="name every parameter"):
        decorate(log_density=log_cauchy)(lambda value, *more, rng: value)
    with pytest.raises(TypeError, match="decorates a function"):
        decorate(log_density=log_cauchy)(3.0)
