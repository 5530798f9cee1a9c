"""Hooks of libraries, without any library: kernels, replacing and putting back, shown coins."""

from __future__ import annotations

import math
import sys
import threading
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import integrate, special

import dpaudit
from dpaudit import InsideVerdict, PureDP
from dpaudit.errors import CannotFollow
from dpaudit.inside import Laplace, libraries, release, shown_coins
from dpaudit.inside.kernels import Kernel
from dpaudit.inside.libraries import hooking
from dpaudit.inside.libraries.choices import FlippedChoice, PiecewiseConstant, WeightedChoice
from dpaudit.inside.libraries.directions import PlaneDirection
from dpaudit.inside.libraries.objective import LogisticMinimiser
from dpaudit.inside.libraries.one_number import OneNumber
from dpaudit.inside.libraries.reals import (
    GaussianNoise,
    LaplaceBoundedDomain,
    LaplaceBoundedNoise,
    LaplaceFolded,
    LaplaceNoise,
    LaplaceTruncated,
    Snapped,
    Staircase,
    UniformNoise,
)
from dpaudit.inside.libraries.whole_numbers import (
    DiscreteGaussianNoise,
    GeometricFolded,
    GeometricNoise,
    GeometricTruncated,
)
from dpaudit.inside.recording import Recorder, recording

Rng = np.random.Generator
ONE = [([1.0], [0.0])]
RANGE = {"low": 0.0, "high": 3.0}
EDGES, OTHER_EDGES = np.array([0.0, 0.2, 0.5, 1.0]), np.array([0.0, 0.2, 0.7, 1.0])
RECORDS = np.array([[0.5, 1.0], [-1.0, 0.0], [0.2, 1.0]])
OTHER_RECORDS = np.array([[-0.5, 1.0], [-1.0, 0.0], [0.2, 1.0]])
LOGISTIC = LogisticMinimiser(scale=2.0, penalty=1.0, ridge=0.5, intercept=False)
WITH_INTERCEPT = LogisticMinimiser(scale=2.0, penalty=1.0, ridge=0.5, intercept=True)

REALS: list[OneNumber] = [
    LaplaceNoise(scale=1.0),
    LaplaceTruncated(scale=1.0, **RANGE),
    LaplaceFolded(scale=1.0, **RANGE),
    LaplaceFolded(scale=1.0, low=0.0),
    LaplaceFolded(scale=1.0, high=3.0),
    LaplaceBoundedDomain(scale=1.0, **RANGE),
    LaplaceBoundedNoise(scale=1.0, most=4.0),
    GaussianNoise(scale=1.5),
    UniformNoise(scale=2.0),
    Staircase(scale=1.0, epsilon=1.0, gamma=0.3),
]
WHOLE: list[OneNumber] = [
    GeometricNoise(scale=1.0),
    GeometricTruncated(scale=1.0, **RANGE),
    GeometricFolded(scale=1.0, **RANGE),
    GeometricFolded(scale=1.0, low=0.5, high=3.5),
    GeometricFolded(scale=1.0, low=0.5),
    DiscreteGaussianNoise(scale=1.5),
]
CASES: list[tuple[Kernel, Any, Any]] = [
    *((kernel, 1.0, 1.6) for kernel in REALS),
    *((kernel, 1, 2) for kernel in WHOLE),
    (Snapped(scale=1.0, step=1.0, low=-2.5, high=2.5), 0.3, 1.2),
    (WeightedChoice(), [0.0, -1.0, 0.5], [0.3, -1.2, 0.0]),
    (FlippedChoice(), [0.0, -1.0, -0.5], [-0.4, -1.0, 0.0]),
    (PiecewiseConstant(), (EDGES, [0.0, 0.3, -0.2]), (OTHER_EDGES, [0.1, 0.0, -0.2])),
    (PlaneDirection(0.3), np.diag([1.0, 2.0]), np.diag([2.0, 1.0])),
    (LOGISTIC, RECORDS, OTHER_RECORDS),
    (WITH_INTERCEPT, RECORDS, OTHER_RECORDS),
]


@pytest.mark.parametrize(("kernel", "given", "other"), CASES, ids=lambda value: str(value)[:40])
def test_the_mean_of_exp_of_minus_the_loss_is_one(kernel: Kernel, given: Any, other: Any) -> None:
    """At most 1 where the other support reaches further."""
    rng = np.random.default_rng(20)
    ratios = []
    for _ in range(2_000):
        output = kernel.draw(given, rng)
        loss = kernel.log_density(output, given) - kernel.log_density(output, other)
        ratios.append(math.exp(-loss))
    error = float(np.std(ratios)) / math.sqrt(len(ratios))
    moves = isinstance(kernel, (UniformNoise, LaplaceBoundedNoise))
    share = {UniformNoise: 3.4 / 4.0, LaplaceBoundedNoise: _share_within(4.0, 0.6)}
    expected = share[type(kernel)] if moves else 1.0
    assert abs(float(np.mean(ratios)) - expected) <= 4.0 * error


def _share_within(most: float, apart: float) -> float:
    """The probability of bounded Laplace noise to lie where noise `apart` of it does, too."""
    inside = -math.expm1(-most)
    return (inside - 0.5 * (math.exp(apart - most) - math.exp(-most))) / inside


@pytest.mark.parametrize("kernel", REALS, ids=str)
@pytest.mark.parametrize("given", [0.0, 1.3, 3.0])
def test_a_density_of_reals_integrates_to_one(kernel: OneNumber, given: float) -> None:
    low, high = max(kernel.low, -60.0), min(kernel.high, 60.0)
    steps = np.linspace(low, high, 60_001)
    middles = 0.5 * (steps[:-1] + steps[1:])
    density = sum(math.exp(kernel.log_density(middle, given)) for middle in middles)
    total = (steps[1] - steps[0]) * density
    if isinstance(kernel, LaplaceTruncated):
        total += sum(
            math.exp(kernel.log_density(atom, given)) for atom in (kernel.low, kernel.high)
        )
    assert total == pytest.approx(1.0, abs=2e-4)


@pytest.mark.parametrize("kernel", WHOLE, ids=str)
@pytest.mark.parametrize("given", [0, 1, 3, 5])
def test_probabilities_of_whole_numbers_add_up_to_one(kernel: OneNumber, given: int) -> None:
    total = math.fsum(math.exp(kernel.log_density(whole, given)) for whole in range(-80, 81))
    assert total == pytest.approx(1.0, abs=1e-12)


def test_snapped_noise_adds_up_to_one() -> None:
    for bound in (2.0, 2.3, 2.5, 2.8):
        kernel = Snapped(scale=0.7, step=1.0, low=-bound, high=bound)
        places = [-bound, *(x for x in (-2.0, -1.0, 0.0, 1.0, 2.0) if abs(x) < bound), bound]
        total = math.fsum(math.exp(kernel.log_density(place, 0.4)) for place in places)
        assert total == pytest.approx(1.0, abs=1e-12)


def test_the_density_of_a_minimiser_integrates_to_one() -> None:
    line, _ = integrate.quad(
        lambda x: math.exp(LOGISTIC.log_density([x], RECORDS)), -40.0, 40.0, points=[0.0], limit=400
    )
    assert line == pytest.approx(1.0, abs=1e-6)
    steps = np.arange(-30.0, 30.0, 0.2)
    plane = sum(math.exp(WITH_INTERCEPT.log_density([x, y], RECORDS)) for x in steps for y in steps)
    assert plane * 0.04 == pytest.approx(1.0, abs=2e-3)


def test_a_minimiser_is_one() -> None:
    """The noise behind a drawn minimiser has the norm that was drawn: gamma, shape 2."""
    rng = np.random.default_rng(3)
    norms = []
    for _ in range(500):
        place = WITH_INTERCEPT.draw(RECORDS, rng)
        norms.append(np.linalg.norm(WITH_INTERCEPT.slope(place, RECORDS)[0]))
    below = special.gammainc(2.0, np.sort(norms) / 2.0)
    far = np.abs(below - np.arange(0.5, 500.0) / 500.0).max()
    assert far <= 2.7 / math.sqrt(500.0)  # Kolmogorov and Smirnov at 1e-6


def test_no_noise_is_an_infinite_loss_and_rounding_is_none() -> None:
    for kernel in (LaplaceNoise(scale=0.0), LaplaceFolded(scale=0.0, low=0.0)):
        assert kernel.log_density(1.0, 1.0 + 1e-15) == 0.0
        assert kernel.log_density(1.0, 1.1) == -math.inf
        assert kernel.draw(1.0, np.random.default_rng(0)) == 1.0
    assert LaplaceFolded(scale=0.0, low=0.0).log_density(1.0, -1.0) == 0.0


def test_nan_in_is_nan_out() -> None:
    for kernel in (*REALS, *WHOLE):
        assert math.isnan(kernel.draw(math.nan, np.random.default_rng(0)))
        assert kernel.log_density(math.nan, math.nan) == 0.0
        assert kernel.log_density(math.nan, 1.0) == kernel.log_density(1.0, math.nan) == -math.inf


def test_whole_numbers_of_any_size_are_told_apart() -> None:
    kernel = DiscreteGaussianNoise(scale=1.0)
    far = 2**60
    assert kernel.log_density(far + 1, far) == kernel.log_density(1, 0)
    assert kernel.log_density(far + 2, far) < kernel.log_density(far + 1, far)


class _Library(ModuleType):
    """A library whose `noise` is drawn from a generator of its own."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.secret = np.random.default_rng(9)

    def noise(self, value: float) -> float:
        return float(value + self.secret.laplace(scale=0.5))


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = SimpleNamespace(name="a_library", made=0)

    def bring() -> Any:
        if made.name not in sys.modules:
            made.made += 1
            monkeypatch.setitem(sys.modules, made.name, _Library(made.name))
        return sys.modules[made.name]

    def hook(module: Any) -> Any:
        def follow(recorder: Recorder, value: float) -> Any:
            return hooking.released(recorder, value, Laplace(0.5))

        yield hooking.Replaced(module, "noise", hooking.following(module.noise, follow))

    monkeypatch.setitem(libraries.HOOKS, made.name, hook)
    return bring


def test_a_library_is_followed_and_put_back(library: Any) -> None:
    module = library()
    before = module.noise
    found = dpaudit.audit_inside(lambda data, rng: module.noise(sum(data)), PureDP(1.0), ONE, rng=1)
    assert found.verdict is InsideVerdict.BROKEN_INSIDE
    assert found.worst is not None
    assert abs(found.worst.loss) > 1.0
    assert module.noise == before
    assert "noise" not in vars(module)


def test_a_library_that_a_run_imports_is_followed_too(library: Any) -> None:
    found = dpaudit.audit_inside(
        lambda data, rng: library().noise(sum(data)), PureDP(1.0), ONE, rng=1
    )
    assert found.verdict is InsideVerdict.BROKEN_INSIDE


def test_functions_are_put_back_after_an_error(library: Any) -> None:
    module = library()

    def fails(data: Any, rng: Rng) -> float:
        raise RuntimeError(f"{module.noise(sum(data))}")

    dpaudit.audit_inside(fails, PureDP(1.0), ONE, rng=1, transcripts=2)
    assert "noise" not in vars(module)
    with pytest.raises(KeyboardInterrupt):
        interrupted(module)
    assert "noise" not in vars(module)


def interrupted(module: Any) -> None:
    with libraries.hooked(Recorder(noise=np.random.default_rng())):
        assert "noise" in vars(module)
        raise KeyboardInterrupt


def test_an_audit_inside_of_an_audit(library: Any) -> None:
    module = library()

    def outer(data: Any, rng: Rng) -> Any:
        inner = dpaudit.audit_inside(
            lambda data, rng: module.noise(sum(data)), PureDP(2.0), ONE, rng=1, transcripts=12
        )
        assert inner.verdict is InsideVerdict.NOT_REFUTED
        return module.noise(sum(data))

    found = dpaudit.audit_inside(outer, PureDP(2.0), ONE, rng=1, transcripts=20)
    assert found.verdict is InsideVerdict.NOT_REFUTED
    assert "noise" not in vars(module)


def test_noise_in_another_thread_is_refused(library: Any) -> None:
    module = library()

    def threaded(data: Any, rng: Rng) -> Any:
        drawn: list[float] = []
        worker = threading.Thread(target=lambda: drawn.append(module.noise(0.0)))
        worker.start()
        worker.join()
        return module.noise(sum(data))

    found = dpaudit.audit_inside(threaded, PureDP(2.0), ONE, rng=1, transcripts=20)
    assert found.verdict is InsideVerdict.CANNOT_FOLLOW
    assert "another thread" in found.reason


def test_refusing_names_what_it_refuses(library: Any) -> None:
    refused = hooking.refusing(lambda: 1.0, "Wishart")
    assert refused() == 1.0
    with recording(Recorder(noise=np.random.default_rng())), pytest.raises(CannotFollow) as found:
        refused()
    assert "Wishart" in str(found.value)


def test_a_probability_beside_a_density_is_left_to_the_black_box(library: Any) -> None:
    """Bounds that depend on data: the output at a bound has no density on the other side."""
    module = library()

    def bounded(data: Any, rng: Rng) -> Any:
        recorder = hooking.current()
        if recorder is None:
            return module.noise(sum(data))
        return hooking.released(recorder, 0.0, LaplaceTruncated(scale=1.0, high=sum(data)))

    found = dpaudit.audit_inside(bounded, PureDP(1.0), ONE, rng=1, transcripts=20)
    assert found.verdict is InsideVerdict.UNDECIDED
    assert "other bounds" in found.reason


def with_coins(data: Any, rng: Rng) -> Any:
    """A random weight that is published, and a sum that is weighted and released."""
    weight = 0.5 + 0.5 * shown_coins(rng).random()
    return weight, release(weight * sum(data), Laplace(1.0), rng)


def test_shown_coins_are_the_same_in_every_run_and_other_in_every_transcript() -> None:
    rng = np.random.default_rng(4)
    mechanism = dpaudit.mechanism.as_mechanism(dpaudit.one_at_a_time(with_coins))
    pair = dpaudit.neighbours.Pair([1.0], [0.0])
    weights = set()
    for _ in range(5):
        found = dpaudit.inside.transcript_of(mechanism, pair, rng)
        assert found.differs is None
        weights.add(found.releases[0].input)
    assert len(weights) == 5


@pytest.mark.parametrize(("epsilon", "verdict"), [(1.0, "not refuted"), (0.7, "broken inside")])
def test_code_with_shown_coins_is_audited(epsilon: float, verdict: str) -> None:
    found = dpaudit.audit_inside(with_coins, PureDP(epsilon), ONE, rng=5)
    assert found.verdict.value == verdict


def test_noise_from_shown_coins_is_never_a_result() -> None:
    """It is no release, so outputs differ and nothing explains that, whatever else is released."""

    def alone(data: Any, rng: Rng) -> Any:
        return sum(data) + shown_coins(rng).laplace(scale=1.0)

    def beside(data: Any, rng: Rng) -> Any:
        return alone(data, rng), release(sum(data), Laplace(0.5), rng)

    def answered(data: Any, rng: Rng) -> Any:
        truth = sum(data) > 0.5
        return truth if shown_coins(rng).random() < 0.7 else not truth

    for code in (alone, beside, answered):
        for seed in range(10):
            found = dpaudit.audit_inside(code, PureDP(1.0), ONE, rng=seed, transcripts=20)
            assert found.verdict is InsideVerdict.UNDECIDED
            assert "no release explains that" in found.reason


def test_shown_coins_outside_of_an_audit_are_the_generator() -> None:
    rng = np.random.default_rng(1)
    assert shown_coins(rng) is rng
