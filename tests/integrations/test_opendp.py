"""Measurements of OpenDP: a right one is not refuted, one with a smaller claim is.

The null of every audit is that the subject keeps its claim; an audit refutes it with probability at
most alpha = 1e-6. A typical smaller claim is 0.01-DP for noise of epsilon 0.5: guesses on a pair
are right with probability 0.611, where the claim allows 0.502. A refutation takes about 17 nats,
that is 1,153 right guesses of 2,000: the power is 0.999 (a binomial tail).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run

import dpaudit
from dpaudit.neighbours import add_or_remove_one, query_answers, replace_one

dp = pytest.importorskip("opendp.prelude", reason="opendp is not installed")
dp.enable_features("contrib", "honest-but-curious")

NUMBERS = dp.vector_domain(dp.atom_domain(bounds=(0.0, 10.0), nan=False))
ANSWER = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)


def noisy_sum() -> Any:
    return (NUMBERS, dp.symmetric_distance()) >> dp.t.then_sum() >> dp.m.then_laplace(10.0)


def test_a_sum_of_records() -> None:
    subject = dpaudit.integrations.from_opendp(noisy_sum())
    assert subject.claim.delta(1.0) < 1e-6
    expected = add_or_remove_one(dpaudit.floats(0, 10), max_records=10)
    assert subject.neighbours == expected
    assert not dpaudit.audit(subject, samples=1_000, rng=1).refuted
    assert dpaudit.audit(subject, dpaudit.PureDP(0.01), samples=4_000, rng=1).refuted


def test_a_query_of_a_context_brings_its_distance() -> None:
    context = dp.Context.compositor(
        data=[1.0, 2.0],
        privacy_unit=dp.unit_of(contributions=2),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=2,
        domain=dp.vector_domain(dp.atom_domain(T=float, nan=False)),
    )
    query = context.query().clamp((0.0, 1.0)).sum().laplace()
    subject = dpaudit.integrations.from_opendp(query)
    assert subject.claim.delta(0.5) < 1e-6
    assert subject.neighbours.apart == 2
    assert not dpaudit.audit(query, samples=1_000, rng=1).refuted
    assert dpaudit.audit(query, dpaudit.PureDP(0.01), samples=4_000, rng=1).refuted


@pytest.mark.parametrize("kind", ["make_laplace", "make_gaussian"])
def test_its_noise_is_on_a_grid_that_does_not_depend_on_the_data(kind: str) -> None:
    """A plain sum is refuted with a third of these draws; `experiments/floats.py` has a million."""
    measurement = getattr(dp.m, kind)(*ANSWER, scale=1.0)
    pair = dpaudit.pairs([(np.array([1.0]), np.array([0.0]))])
    audit = dpaudit.audit(measurement, neighbours=pair, samples=3_000, rng=1, floats="bits")
    assert audit.floats == "bits"
    assert not audit.refuted


def test_answers_and_their_norms() -> None:
    laplace = dp.m.make_laplace(*ANSWER, scale=1.0)
    assert dpaudit.integrations.from_opendp(laplace, 2).neighbours == query_answers(1, 2)
    assert dpaudit.integrations.from_opendp(laplace, 2).claim == dpaudit.PureDP(2.0)
    vector = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=4)
    gaussian = dp.m.make_gaussian(vector, dp.l2_distance(T=float), scale=1.0)
    subject = dpaudit.integrations.from_opendp(gaussian)
    assert subject.claim == dpaudit.ZCDP(0.5)
    assert subject.neighbours == query_answers(4, norm=2)
    assert not dpaudit.audit(subject, samples=1_000, rng=1).refuted
    assert dpaudit.audit(subject, dpaudit.ZCDP(0.01), samples=4_000, rng=1).refuted


def test_whole_numbers() -> None:
    counts = dp.vector_domain(dp.atom_domain(T=int))
    geometric = dp.m.make_geometric(counts, dp.l1_distance(T=int), scale=1.0)
    subject = dpaudit.integrations.from_opendp(geometric)
    assert subject.claim == dpaudit.PureDP(1.0)
    assert not dpaudit.audit(subject, samples=1_000, rng=1).refuted
    assert dpaudit.audit(subject, dpaudit.PureDP(0.01), samples=4_000, rng=1).refuted


def test_claims_with_a_delta() -> None:
    gaussian = dp.m.make_gaussian(*ANSWER, scale=1.0)
    curve = dp.c.make_zCDP_to_approxDP(gaussian)
    profile = dpaudit.integrations.from_opendp(curve)
    assert isinstance(profile.claim, dpaudit.Profile)
    assert not dpaudit.audit(profile, samples=1_000, rng=1).refuted
    fixed = dpaudit.integrations.from_opendp(dp.c.make_fix_delta(curve, 1e-3)).claim
    assert isinstance(fixed, dpaudit.ApproxDP)
    assert fixed.delta_at_epsilon == 1e-3


def test_any_two_values_are_neighbours_of_randomized_response() -> None:
    answer = dpaudit.integrations.from_opendp(dp.m.make_randomized_response_bool(0.75))
    assert not dpaudit.audit(answer, samples=1_000, rng=1).refuted
    assert dpaudit.audit(answer, dpaudit.PureDP(0.01), samples=4_000, rng=1).refuted
    named = dp.m.make_randomized_response(["a", "b", "c"], prob=0.6)
    with pytest.raises(ValueError, match="Say so: from_opendp"):
        dpaudit.integrations.from_opendp(named)
    kinds = dpaudit.categories("a", "b", "c")
    subject = dpaudit.integrations.from_opendp(named, records=kinds)
    assert subject.neighbours == replace_one(kinds, max_records=1)
    assert not dpaudit.audit(subject, samples=1_000, rng=1).refuted


def test_the_winner_of_a_noisy_maximum() -> None:
    scores = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    for monotonic, epsilon in ((False, 2.0), (True, 1.0)):
        metric = dp.linf_distance(T=float, monotonic=monotonic)
        winner = dp.m.make_noisy_max(scores, metric, dp.max_divergence(), 1.0)
        subject = dpaudit.integrations.from_opendp(winner)
        assert subject.claim == dpaudit.PureDP(epsilon)
        assert not dpaudit.audit(subject, samples=1_000, rng=1).refuted
    assert dpaudit.audit(subject, dpaudit.PureDP(0.01), samples=4_000, rng=1).refuted


def test_a_measurement_that_lies() -> None:
    """The map of a user's own measurement is not checked by OpenDP: that is what audits are for."""
    leak = dp.m.make_user_measurement(
        NUMBERS,
        dp.symmetric_distance(),
        dp.max_divergence(),
        lambda data: float(sum(data)),
        lambda distance: 1.0 * distance,
    )
    assert dpaudit.audit(leak, samples=5_000, rng=1).refuted


def test_the_command_line_takes_a_measurement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("releases_of_opendp.py").write_text(
        "import opendp.prelude as dp\n"
        "dp.enable_features('contrib')\n"
        "space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)\n"
        "answer = dp.m.make_laplace(*space, scale=1.0)\n"
    )
    target = "releases_of_opendp.py:answer"
    honest = run("audit", target, "--samples", "1000", "--seed", "1")
    assert honest.exit_code == 0, honest.output
    assert "claimed 1-DP" in honest.output
    small = run("audit", target, "--claim", "eps=0.01", "--samples", "4000", "--seed", "1")
    assert small.exit_code == 1, small.output


def sampled_mean() -> Any:
    """A mean of 10 records, with the claim it makes about 100 people they are a sample of."""
    space = dp.vector_domain(dp.atom_domain(bounds=(0.0, 10.0), nan=False), size=10)
    mean = (space, dp.symmetric_distance()) >> dp.t.then_mean() >> dp.m.then_laplace(1.0)
    return dp.c.make_population_amplification(mean, population_size=100)


@pytest.mark.parametrize(
    "around",
    [
        lambda inner: inner,
        lambda inner: inner >> (lambda output: 2 * output),
        lambda inner: dp.c.make_pureDP_to_zCDP(inner),
        lambda inner: dp.c.make_approximate(inner),
        lambda inner: dp.c.make_composition([inner, inner]),
        lambda inner: dp.c.make_composition([dp.c.make_composition([inner]), inner]),
    ],
)
def test_a_claim_about_a_population_is_refused(around: Any) -> None:
    """Wherever it stands: the claim of the whole follows from the claim of its parts."""
    for make in (dpaudit.integrations.from_opendp, dpaudit.audit):
        with pytest.raises(ValueError, match="but about a population of 100, of which the data"):
            make(around(sampled_mean()))


def test_the_measurement_inside_a_population_is_audited() -> None:
    inside = sampled_mean().__opendp_dict__["__kwargs__"]["measurement"]
    subject = dpaudit.integrations.from_opendp(inside, d_in=2)
    assert not dpaudit.audit(subject, samples=1_000, rng=1).refuted


def interactive() -> dict[str, Any]:
    """All that gives a queryable, by the function that makes it."""
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    adaptive = dp.c.make_adaptive_composition(
        *space, dp.max_divergence(), d_in=1, d_mids=[1.0, 1.0]
    )
    odometer = dp.c.make_fully_adaptive_composition(*space, dp.max_divergence())
    return {
        "make_adaptive_composition": adaptive,
        "make_adaptive_composition, behind a transformation": space
        >> dp.t.then_clamp((0, 9))
        >> dp.c.make_adaptive_composition(
            dp.vector_domain(dp.atom_domain(bounds=(0, 9))),
            dp.symmetric_distance(),
            dp.max_divergence(),
            d_in=1,
            d_mids=[1.0],
        ),
        "make_fully_adaptive_composition": odometer,
        "make_privacy_filter": dp.c.make_privacy_filter(odometer, d_in=1, d_out=1.0),
    }


def test_what_gives_a_queryable_is_refused() -> None:
    for name, measurement in interactive().items():
        for make in (dpaudit.integrations.from_opendp, dpaudit.audit):
            with pytest.raises(ValueError, match=f"{name.partition(',')[0]} gives a queryable"):
                make(measurement)


@pytest.mark.parametrize("wrap", [lambda queryable: queryable, lambda queryable: [1, queryable]])
def test_a_queryable_that_only_shows_as_an_output_is_refused(wrap: Any) -> None:
    measurement = interactive()["make_adaptive_composition"] >> wrap
    records = dpaudit.integers(0, 3)
    subject = dpaudit.integrations.from_opendp(measurement, records=records)
    for on_error in ("output", "raise"):
        with pytest.raises(dpaudit.errors.InvalidOutput, match="gives a queryable"):
            dpaudit.audit(subject, samples=1_000, rng=1, on_error=on_error)


def test_answers_of_a_queryable_are_audited() -> None:
    """A queryable that is asked inside the measurement gives outputs like any other."""
    count = dp.t.make_count(dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance())
    noisy = count >> dp.m.then_laplace(1.0)
    asked = interactive()["make_adaptive_composition"] >> (lambda queryable: queryable(noisy))
    subject = dpaudit.integrations.from_opendp(asked, records=dpaudit.integers(0, 3))
    assert subject.claim == dpaudit.PureDP(2.0)
    assert not dpaudit.audit(subject, samples=1_000, rng=1).refuted
