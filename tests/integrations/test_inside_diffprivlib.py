"""diffprivlib inside: laws against the library's own draws, known faults found, others not accused.

Chi-square tests reject at 1e-6; all other audits here are of pure claims, which one exact loss
decides.
"""

from __future__ import annotations

import math
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpaudit
from dpaudit import InsideVerdict, PureDP
from dpaudit.inside import transcript_of
from dpaudit.inside.libraries import hooked
from dpaudit.inside.recording import Recorder
from dpaudit.integrations import from_diffprivlib
from dpaudit.mechanism import as_mechanism
from dpaudit.neighbours import Pair

pytest.importorskip("diffprivlib", reason="diffprivlib is not installed")
mechanisms = import_module("diffprivlib.mechanisms")
models = import_module("diffprivlib.models")
tools = import_module("diffprivlib.tools")
accountant = import_module("diffprivlib.accountant")
pytestmark = pytest.mark.filterwarnings(  # of the optimiser behind logistic regression
    "ignore:scipy.optimize. The `disp`:DeprecationWarning", "ignore:lbfgs failed to converge"
)

Rng = np.random.Generator
ONE = {"epsilon": 1.0, "sensitivity": 1}
RANGE = {"lower": 0, "upper": 4}
DRAWS = 6_000
STREETS = [("north", "south", 2), ("north", "west", 1), ("south", "west", 1)]
REALS = [
    mechanisms.Laplace(**ONE, delta=0.1),
    mechanisms.LaplaceTruncated(**ONE, **RANGE),
    mechanisms.LaplaceFolded(**ONE, **RANGE),
    mechanisms.LaplaceFolded(**ONE, lower=0, upper=math.inf),
    mechanisms.LaplaceBoundedDomain(**ONE, **RANGE),
    mechanisms.LaplaceBoundedNoise(**ONE, delta=0.1),
    mechanisms.Gaussian(**ONE, delta=0.1),
    mechanisms.GaussianAnalytic(**ONE, delta=0.1),
    mechanisms.Staircase(**ONE),
    mechanisms.Uniform(delta=0.2, sensitivity=1),
]
DISCRETE = [
    (mechanisms.Geometric(epsilon=1), range(-7, 11)),
    (mechanisms.GeometricTruncated(epsilon=1, **RANGE), range(5)),
    (mechanisms.GeometricFolded(epsilon=1, **RANGE), range(5)),
    (mechanisms.GeometricFolded(epsilon=1, lower=0.5, upper=4.5), range(1, 5)),
    (mechanisms.GaussianDiscrete(epsilon=1, delta=0.1), range(-7, 11)),
    (mechanisms.Snapping(**ONE, **RANGE), (0.0, 1.0, 2.0, 3.0, 4.0)),
]
CHOICES = [
    (mechanisms.Exponential(**ONE, utility=[2, 0, 1]), None),
    (mechanisms.Exponential(**ONE, utility=[2, 0, 1], measure=[0.1, 0.5, 0.4]), None),
    (mechanisms.PermuteAndFlip(**ONE, utility=[2, 0, 1], monotonic=True), None),
    (mechanisms.ExponentialCategorical(epsilon=1, utility_list=STREETS), "south"),
    (mechanisms.ExponentialHierarchical(epsilon=1, hierarchy=[["a"], ["b", "c"]]), "a"),
    (mechanisms.Binary(epsilon=1, value0="no", value1="yes"), "no"),
]


def named(thing: Any) -> str:
    return type(thing[0] if isinstance(thing, tuple) else thing).__name__


def law_of(mechanism: Any, value: Any) -> tuple[Any, Any]:
    """The kernel and the input of the one release that a mechanism makes of this value."""
    recorder = Recorder(noise=np.random.default_rng(5))
    recording = import_module("dpaudit.inside.recording").recording
    with recording(recorder), hooked(recorder):
        mechanism.randomise(*([] if value is None else [value]))
    (release,) = recorder.releases
    return release.kernel, release.input


def own_draws(mechanism: Any, value: Any, seed: int) -> list[Any]:
    mechanism._rng = np.random.RandomState(seed)
    given = [] if value is None else [value]
    return [mechanism.randomise(*given) for _ in range(DRAWS)]


def agree(counts: Any, chances: Any) -> bool:
    expected = DRAWS * np.asarray(chances, dtype=np.float64)
    assert expected.sum() == pytest.approx(DRAWS, rel=2e-3)
    return bool(stats.chisquare(counts, expected / expected.sum() * DRAWS).pvalue > 1e-6)


@pytest.mark.parametrize("mechanism", REALS, ids=named)
def test_a_density_is_that_of_the_library(mechanism: Any) -> None:
    kernel, given = law_of(mechanism, 1.5)
    drawn = np.array(own_draws(mechanism, 1.5, 11))
    atoms = [kernel.low, kernel.high] if "Truncated" in type(kernel).__name__ else []
    edges = np.unique(np.quantile(drawn[~np.isin(drawn, atoms)], np.linspace(0.05, 0.95, 15)))
    steps = [np.linspace(*ends, 2_001) for ends in pairwise(edges)]
    middles = [0.5 * (each[:-1] + each[1:]) for each in steps]
    widths = [each[1] - each[0] for each in steps]
    density = [sum(math.exp(kernel.log_density(x, given)) for x in each) for each in middles]
    inside = np.array(density) * widths
    counts = [*np.histogram(drawn, bins=edges)[0], *(np.sum(drawn == atom) for atom in atoms)]
    chances = [*inside, *(math.exp(kernel.log_density(atom, given)) for atom in atoms)]
    rest = 1.0 - sum(chances)
    assert 0.0 < rest < 0.2
    assert agree([*counts, DRAWS - sum(counts)], [*chances, rest])


@pytest.mark.parametrize(("mechanism", "places"), DISCRETE, ids=lambda value: str(value)[:30])
@pytest.mark.parametrize("value", [0, 2])
def test_probabilities_are_those_of_the_library(mechanism: Any, places: Any, value: int) -> None:
    kernel, given = law_of(mechanism, value)
    shift = 2.0 if type(kernel).__name__ == "Snapped" else 0.0  # its middle
    drawn = np.array(own_draws(mechanism, value, 12), dtype=np.float64)
    chances = [math.exp(kernel.log_density(place - shift, given)) for place in places]
    counts = [np.sum(np.abs(drawn - place) < 1e-6) for place in places]
    likely = np.array(chances) * DRAWS >= 5.0
    counts, chances = list(np.array(counts)[likely]), list(np.array(chances)[likely])
    rest = 1.0 - sum(chances)
    if rest * DRAWS > 1e-6:
        counts, chances = [*counts, DRAWS - sum(counts)], [*chances, rest]
    assert agree(counts, chances)


@pytest.mark.parametrize(("mechanism", "value"), CHOICES, ids=lambda value: str(value)[:30])
def test_choices_are_those_of_the_library(mechanism: Any, value: Any) -> None:
    kernel, given = law_of(mechanism, value)
    labels = list(getattr(mechanism, "_normalising_constant", None) or range(3))
    labels = ["no", "yes"] if isinstance(mechanism, mechanisms.Binary) else labels
    drawn = own_draws(mechanism, value, 13)
    chances = [math.exp(kernel.log_density(place, given)) for place in range(len(labels))]
    assert agree([sum(one == label for one in drawn) for label in labels], chances)


@pytest.mark.parametrize("matrix", [np.diag([1.0, 0.0]), np.array([[3.0, 1.0], [1.0, 20.0]])])
def test_directions_are_those_of_the_library(matrix: Any) -> None:
    """Not those of the Bingham distribution: the same test would refuse them (p = 1e-129)."""
    mechanism = mechanisms.Bingham(epsilon=1.0)
    kernel, given = law_of(mechanism, matrix)
    drawn = np.array(own_draws(mechanism, matrix, 14))
    angles = np.arctan2(drawn[:, 1], drawn[:, 0]) % (2.0 * np.pi)
    middles = (np.arange(640) + 0.5) / 640 * 2.0 * np.pi
    units = np.stack([np.cos(middles), np.sin(middles)], axis=1)
    density = np.array([math.exp(kernel.log_density(unit, given)) for unit in units])
    counts, _ = np.histogram(angles, bins=16, range=(0.0, 2.0 * np.pi))
    assert agree(counts, density.reshape(16, 40).sum(axis=1) * 2.0 * np.pi / 640)


def test_quantiles_are_those_of_the_library() -> None:
    data = np.array([0.1, 0.25, 0.3, 0.8])
    settings = {"epsilon": 2.0, "bounds": (0, 1), "accountant": accountant.BudgetAccountant()}
    state = np.random.RandomState(15)
    drawn = [tools.median(data, **settings, random_state=state) for _ in range(DRAWS)]
    found = transcript_of(
        as_mechanism(dpaudit.one_at_a_time(lambda data, rng: tools.median(data, **settings))),
        Pair(data, data),
        np.random.default_rng(0),
    )
    (release,) = found.releases
    edges = np.array([0.0, *data, 1.0])
    middles = 0.5 * (edges[:-1] + edges[1:])
    density = [math.exp(release.kernel.log_density(x, release.input)) for x in middles]
    counts, _ = np.histogram(drawn, bins=edges)
    assert agree(counts, np.array(density) * np.diff(edges))


def test_minimisers_are_those_of_the_library() -> None:
    """The optimiser of the library, on its own noise, against the integral of the density."""
    rows, labels = np.array([[1.0], [-0.5], [0.2], [0.9]]), np.array([1, 0, 0, 1])
    settings = {"data_norm": 1.0, "fit_intercept": False, "epsilon": 2.0, "tol": 1e-9}

    def fitted(data: Any, state: Any) -> float:
        budget = accountant.BudgetAccountant()
        model = models.LogisticRegression(**settings, random_state=state, accountant=budget)
        return float(model.fit(data, labels).coef_[0, 0])

    state = np.random.RandomState(16)
    drawn = np.sort([fitted(rows, state) for _ in range(500)])
    found = transcript_of(
        as_mechanism(dpaudit.one_at_a_time(lambda data, rng: fitted(data, None))),
        Pair(rows, rows),
        np.random.default_rng(0),
    )
    (release,) = found.releases
    steps = np.linspace(-30.0, 30.0, 24_001)
    density = [math.exp(release.kernel.log_density([x], release.input)) for x in steps]
    below = np.cumsum(density) * (steps[1] - steps[0])
    assert below[-1] == pytest.approx(1.0, abs=1e-3)
    far = np.abs(np.interp(drawn, steps, below) - np.arange(0.5, 500.0) / 500.0).max()
    assert far <= 2.7 / math.sqrt(500.0)  # Kolmogorov and Smirnov at 1e-6


def inside(subject: Any, seed: int = 1, transcripts: int = 100) -> Any:
    return dpaudit.audit_inside(
        subject.mechanism, subject.claim, subject.neighbours, rng=seed, transcripts=transcripts
    )


@pytest.mark.parametrize(
    "mechanism", [*REALS[:6], REALS[8], *(one for one, _ in DISCRETE), *(one for one, _ in CHOICES)]
)
def test_a_mechanism_keeps_its_own_claim(mechanism: Any) -> None:
    subject = from_diffprivlib(mechanism)
    assert inside(subject).verdict is InsideVerdict.NOT_REFUTED


@pytest.mark.parametrize(
    "mechanism",
    [
        mechanisms.Laplace(epsilon=2, sensitivity=1),
        mechanisms.GeometricTruncated(epsilon=2, lower=0, upper=4),
        mechanisms.Staircase(epsilon=2, sensitivity=1),
        mechanisms.Binary(epsilon=2, value0="no", value1="yes"),
        mechanisms.PermuteAndFlip(epsilon=4, sensitivity=1, utility=[1, 0, 0]),
    ],
    ids=named,
)
def test_a_smaller_claim_is_broken_inside(mechanism: Any) -> None:
    subject = from_diffprivlib(mechanism)
    found = dpaudit.audit_inside(subject.mechanism, PureDP(0.5), subject.neighbours, rng=1)
    assert found.verdict is InsideVerdict.BROKEN_INSIDE


@pytest.mark.parametrize(
    ("tool", "settings"),
    [
        (tools.mean, {"bounds": (0, 1)}),
        (tools.var, {"bounds": (0, 1)}),
        (tools.median, {"bounds": (0, 1)}),
        (tools.quantile, {"bounds": (0, 1), "quant": [0.2, 0.7]}),
        (tools.histogram, {"bins": 3, "range": (0, 1)}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_tool_keeps_its_claim(tool: Any, settings: Any) -> None:
    subject = from_diffprivlib(tool, epsilon=1.0, max_records=4, **settings)
    assert inside(subject).verdict is InsideVerdict.NOT_REFUTED


def test_nanmean_is_broken_inside_and_its_pair_refutes() -> None:
    subject = from_diffprivlib(tools.nanmean, epsilon=1.0, bounds=(0, 1))
    missing = [np.nan] * 20
    pair = np.array([0.0, 0.0, *missing]), np.array([0.0, 1.0, *missing])
    found = dpaudit.audit_inside(subject.mechanism, subject.claim, [pair], rng=1)
    assert (found.verdict, found.transcripts) == (InsideVerdict.BROKEN_INSIDE, 1)
    assert found.worst is not None
    assert abs(found.worst.loss) == pytest.approx(11.0)
    assert "tools" in found.worst.release.where


def test_mechanisms_without_a_law_are_refused_by_name() -> None:
    class Louder(mechanisms.Laplace):  # type: ignore[misc, name-defined]
        @staticmethod
        def _laplace_sampler(*uniforms: float) -> float:
            return 0.0

    class Own(mechanisms.DPMechanism):  # type: ignore[misc, name-defined]
        def randomise(self, value: float) -> float:
            return value

    vector = mechanisms.Vector(epsilon=1.0, function_sensitivity=1.0, dimension=1)
    for name, code in {
        "Louder": lambda data, rng: Louder(**ONE).randomise(data[0]),
        "Own": lambda data, rng: Own(epsilon=1.0, delta=0.0).randomise(data[0]),
        "Vector": lambda data, rng: vector.randomise(lambda place: place[0])(data),
        "Bingham": lambda data, rng: mechanisms.Bingham(epsilon=1.0).randomise(np.eye(3)),
    }.items():
        found = dpaudit.audit_inside(code, PureDP(1.0), [([1.0], [0.0])], rng=1)
        assert found.verdict is InsideVerdict.CANNOT_FOLLOW
        assert name in found.reason


def test_hooks_are_undone_after_errors_and_leave_other_code_alone() -> None:
    before = mechanisms.Laplace.randomise, models.logistic_regression.optimize

    def fails(data: Any, rng: Rng) -> float:
        assert mechanisms.Laplace.randomise is not before[0]
        raise RuntimeError(str(mechanisms.Laplace(**ONE).randomise(data[0])))

    dpaudit.audit_inside(fails, PureDP(1.0), [([1.0], [0.0])], rng=1, transcripts=2)
    assert (mechanisms.Laplace.randomise, models.logistic_regression.optimize) == before
