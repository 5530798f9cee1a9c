"""Comparisons, argmax and max of noise: their probabilities are exact, and so are the losses."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate, special, stats

import dpaudit
from dpaudit import InsideVerdict, Pair, PureDP, audit_inside
from dpaudit.inside import (
    PermuteAndFlip,
    ReportNoisyMax,
    SparseVector,
    Transcript,
    transcript_of,
)
from dpaudit.inside.noise.integrals import Given, log_integral
from dpaudit.inside.noise.laws import Noise
from dpaudit.mechanism import as_mechanism, one_at_a_time

Rng = np.random.Generator
Code = Callable[[Any, Rng], object]
ANSWERS = Pair(np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0]))
LAWS: dict[str, Any] = {
    "laplace": stats.laplace,
    "normal": stats.norm,
    "exponential": stats.expon,
    "gumbel": stats.gumbel_r,
    "logistic": stats.logistic,
}


def transcript(code: Code, pair: Pair = ANSWERS, seed: int = 0, **settings: Any) -> Transcript:
    mechanism = as_mechanism(one_at_a_time(code))
    return transcript_of(mechanism, pair, np.random.default_rng(seed), **settings)


# --- laws and integrals ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LAWS)
def test_laws_are_those_of_scipy(kind: str) -> None:
    noise, law = Noise(kind, 1.7), LAWS[kind](scale=1.7)
    x = np.array([-9.0, -0.3, 0.0, 0.2, 5.0, 30.0])
    np.testing.assert_allclose(noise.log_density(x), law.logpdf(x), rtol=1e-9, atol=1e-300)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(noise.log_below(x), law.logcdf(x), rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(noise.log_above(x), law.logsf(x), rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(
            noise.log_within(-0.3, 0.2), np.log(law.cdf(0.2) - law.cdf(-0.3)), rtol=1e-9
        )


@pytest.mark.parametrize(("kind", "scale"), [("geometric", 0.3), ("two-sided", 1.5)])
def test_laws_of_whole_numbers_add_up(kind: str, scale: float) -> None:
    noise, every = Noise(kind, scale), np.arange(-200.0, 200.0)
    chances = np.exp(noise.log_density(every))
    assert chances.sum() == pytest.approx(1.0, abs=1e-12)
    for edge in (-3.0, -0.5, 0.0, 1.0, 1.5, 4.0):
        above = float(chances[every > edge].sum())
        assert np.exp(noise.log_above(edge)) == pytest.approx(above, abs=1e-12)
        assert np.exp(noise.log_below(edge)) == pytest.approx(1.0 - above, abs=1e-12)


def test_tails_keep_their_digits() -> None:
    assert float(Noise("normal", 1.0).log_within(30.0, 31.0)) == pytest.approx(
        stats.norm.logsf(30.0), abs=1e-9
    )
    assert float(Noise("laplace", 1.0).log_within(700.0, 701.0)) == pytest.approx(
        -700.0 + math.log(0.5 * -math.expm1(-1.0)), abs=1e-9
    )


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("count", [1, 2, 7])
def test_the_chance_to_be_the_largest_of_equals(kind: str, count: int) -> None:
    noise = Noise(kind, 3.0)
    below = Given(-1.0, 1.0, noise, -math.inf, 0.0)
    found = log_integral(noise, [below] * count)
    assert found == pytest.approx(-math.log(count + 1.0), abs=1e-9)


@pytest.mark.parametrize(
    ("shared", "own"), [("laplace", "laplace"), ("normal", "laplace"), ("gumbel", "normal")]
)
@pytest.mark.parametrize("scales", [(1.0, 1.0), (5.0, 0.2), (0.1, 40.0), (1000.0, 1.0)])
def test_integrals_are_those_of_scipy(shared: str, own: str, scales: tuple[float, float]) -> None:
    first, second = Noise(shared, scales[0]), Noise(own, scales[1])
    given = [
        Given(-1.0, 1.0, second, -math.inf, 0.7),
        Given(-1.0, 1.0, second, -0.4, math.inf),
        Given(2.0, -1.0, second, -3.0, 1.0),
    ]

    def integrand(t: float) -> float:
        at = np.asarray([t])
        logs = first.log_density(at) + sum(each.log_chance(at) for each in given)
        return float(np.exp(logs[0]))

    ends = [-60.0 * scales[0], 60.0 * scales[0]]
    inner = sorted({0.0, -0.7, 0.4, -1.5, 0.5, *(s * k for k in (-8, -2, 2, 8) for s in scales)})
    inside = [ends[0], *(each for each in inner if ends[0] < each < ends[1]), ends[1]]
    pieces = itertools.pairwise(inside)
    exact = math.fsum(integrate.quad(integrand, *piece, epsrel=1e-11)[0] for piece in pieces)
    assert log_integral(first, given) == pytest.approx(math.log(exact), abs=1e-8)


def test_a_rare_event_far_out_keeps_its_digits() -> None:
    """A threshold with noise below 400 equal answers: `E[F^400] = 1/401`, and far above it."""
    noise = Noise("normal", 1.0)
    above = Given(-1.0, 1.0, noise, -math.inf, -20.0)  # own - shared <= -20
    found = log_integral(noise, [above])
    assert found == pytest.approx(stats.norm.logsf(20.0 / math.sqrt(2.0)), abs=1e-9)


def test_what_cannot_happen_has_no_chance() -> None:
    never = Given(1.0, 1.0, None, 5.0, 4.0)
    assert log_integral(Noise("laplace", 1.0), [never]) == -math.inf
    apart = [Given(1.0, 1.0, None, 1.0, 2.0), Given(1.0, 1.0, None, 3.0, 4.0)]
    assert log_integral(Noise("laplace", 1.0), apart) == -math.inf


# --- kernels --------------------------------------------------------------------------------------


def test_the_chances_of_a_noisy_max_are_those_known() -> None:
    scores = [1.0, 0.0, 0.5]
    gumbel = ReportNoisyMax(scale=2.0, kind="gumbel")
    softmax = special.log_softmax(np.array(scores) / 2.0)
    flip, exponential = PermuteAndFlip(epsilon=1.0), ReportNoisyMax(scale=2.0, kind="exponential")
    for place in range(3):
        assert gumbel.log_density(place, scores) == pytest.approx(softmax[place], abs=1e-9)
        assert exponential.log_density(place, scores) == pytest.approx(
            flip.log_density(place, scores), abs=1e-9
        )


@pytest.mark.parametrize("kind", LAWS)
def test_the_chances_of_a_sparse_vector_add_up(kind: str) -> None:
    vector = SparseVector(threshold=0.3, threshold_scale=1.0, answer_scale=2.0, cutoff=2, kind=kind)
    answers, total = [1.0, -2.0, 0.5, 0.0], 0.0
    for above in itertools.product([False, True], repeat=4):
        ends = [place for place, yes in enumerate(above, 1) if yes][1:2] or [4]
        if not any(above[ends[0] :]):  # one of each that differ only after the end
            total += math.exp(vector.log_density(above[: ends[0]], answers))
    assert total == pytest.approx(1.0, abs=1e-9)
    assert vector.log_density((True, True, False), answers) == -math.inf


# --- code -----------------------------------------------------------------------------------------


def sparse_vector(data: Any, rng: Rng) -> object:
    """Above a noisy threshold or not, up to the first that is."""
    bar, found = rng.laplace(0.5, 2.0), []
    for answer in data:
        found.append(bool(answer + rng.laplace(scale=4.0) >= bar))
        if found[-1]:
            break
    return found


def noisy_max(data: Any, rng: Rng) -> object:
    return np.argmax(data + rng.laplace(scale=2.0, size=len(data)))


@pytest.mark.parametrize("seed", range(4))
def test_code_that_compares_has_the_loss_of_its_kernel(seed: int) -> None:
    vector = SparseVector(threshold=0.5, threshold_scale=2.0, answer_scale=4.0)
    found = transcript(sparse_vector, seed=seed)
    outcome = _outcome(sparse_vector, seed)
    ours, theirs = (vector.log_density(outcome, list(side)) for side in _sides())
    assert found.loss == pytest.approx(ours - theirs, abs=1e-8)
    winner, vote = _outcome(noisy_max, seed), ReportNoisyMax(scale=2.0)
    ours, theirs = (vote.log_density(winner, list(side)) for side in _sides())
    assert transcript(noisy_max, seed=seed).loss == pytest.approx(ours - theirs, abs=1e-8)


def _sides() -> tuple[Any, Any]:
    return ANSWERS.data, ANSWERS.neighbour


def _outcome(code: Code, seed: int) -> Any:
    """What the recorded run gave: it draws as a plain run does."""
    return code(ANSWERS.data, np.random.default_rng(seed))


@pytest.mark.parametrize(
    "code",
    [
        lambda data, rng: (data + rng.laplace(size=3)).argmax(),
        lambda data, rng: np.asarray(np.argmax([data + rng.laplace(size=3)], axis=1), int)[0],
        lambda data, rng: int(np.argmin(-(data + rng.laplace(size=3)))),
    ],
)
def test_all_ways_to_ask_for_the_largest_are_one(code: Code) -> None:
    plain = transcript(lambda data, rng: np.argmax(data + rng.laplace(size=3)))
    assert transcript(code).loss == pytest.approx(plain.loss, abs=1e-9)


ONE = Pair(np.array([1.0]), np.array([0.0]))


@pytest.mark.parametrize(
    ("code", "largest"),
    [
        (lambda data, rng: np.clip(data.sum() + rng.laplace(), 0.0, 1.0), 1.0),
        (lambda data, rng: np.maximum(data.sum() + rng.laplace(), 0.2), 1.0),
        (lambda data, rng: bool(data.sum() + rng.laplace() > 0.5), 1.0),
        (lambda data, rng: bool(data.sum() + rng.gumbel() > 0.5), math.inf),
        (lambda data, rng: bool(data.sum() + rng.laplace() > rng.laplace()), 1.0),
        (lambda data, rng: rng.random() < (0.75 if data.sum() else 0.25), math.log(3.0)),
        (
            lambda data, rng: rng.choice(
                ["a", "b"], p=[0.75, 0.25] if data.sum() else [0.25, 0.75]
            ),
            math.log(3.0),
        ),
        (lambda data, rng: rng.uniform(0.0, 1.0 + data.sum()), math.inf),
        (
            lambda data, rng: np.clip(
                int(data.sum()) + rng.geometric(0.5) - rng.geometric(0.5), 0, 2
            ),
            math.log(2.0),
        ),
        (
            lambda data, rng: (
                np.where(rng.random() < 0.5, 1.0, 2.0) * 0 + data.sum() + rng.laplace()
            ),
            1.0,
        ),
    ],
)
def test_losses_stay_within_what_the_noise_allows(code: Code, largest: float) -> None:
    losses = []
    for seed in range(40):
        for pair in (ONE, ONE.swapped()):
            found = transcript(code, pair, seed)
            assert found.differs is None
            losses.append(abs(found.loss))
    assert max(losses) <= largest + 1e-9
    if math.isfinite(largest):
        assert max(losses) > 0.5 * largest


def test_a_choice_that_the_other_dataset_does_not_have_is_an_infinite_loss() -> None:
    def code(data: Any, rng: Rng) -> object:
        shares = np.ones(1 + int(data.sum()))
        return rng.choice(len(shares), size=3, p=shares / shares.sum())

    losses = [transcript(code, ONE, seed).loss for seed in range(8)]
    assert math.inf in losses
    assert all(math.isfinite(transcript(code, ONE.swapped(), seed).loss) for seed in range(8))


def test_a_number_that_is_compared_and_shown_counts_once() -> None:
    def code(data: Any, rng: Rng) -> object:
        noisy = data.sum() + rng.laplace()
        return (noisy if noisy > 0.3 else 0.0), noisy

    plain = transcript(lambda data, rng: data.sum() + rng.laplace(), ONE)
    assert transcript(code, ONE).loss == pytest.approx(plain.loss, abs=1e-9)


def test_the_mean_of_exp_of_minus_the_loss_is_one() -> None:
    """Over all outcomes, exactly: `sum of P e^(-loss) = sum of Q = 1`."""
    total, seen = 0.0, {}
    vector = SparseVector(threshold=0.5, threshold_scale=2.0, answer_scale=4.0)
    for seed in range(200):
        outcome = tuple(_outcome(sparse_vector, seed))
        if outcome not in seen:
            seen[outcome] = transcript(sparse_vector, seed=seed).loss
            chance = math.exp(vector.log_density(outcome, ANSWERS.data.tolist()))
            total += chance * math.exp(-seen[outcome])
    assert len(seen) == 4
    assert total == pytest.approx(1.0, abs=1e-8)


# --- audits ---------------------------------------------------------------------------------------

QUERIES = dpaudit.query_answers(4)


def test_the_sparse_vector_keeps_its_claim_and_breaks_a_smaller_one() -> None:
    kept = audit_inside(sparse_vector, PureDP(1.0), QUERIES, rng=3, transcripts=60)
    assert kept.verdict is InsideVerdict.NOT_REFUTED
    broken = audit_inside(sparse_vector, PureDP(0.4), QUERIES, rng=3)
    assert broken.verdict is InsideVerdict.BROKEN_INSIDE
    assert broken.worst is not None
    assert "shared=Laplace(scale=2.0)" in str(broken)


def test_a_rare_branch_is_steered_to() -> None:
    """Once in a million runs the noise is small: a pure claim is asked about that, too."""

    def code(data: Any, rng: Rng) -> object:
        noise = rng.laplace()
        return data.sum() + (0.1 * noise if rng.random() < 1e-6 else noise)

    found = audit_inside(code, PureDP(1.0), [(ONE.data, ONE.neighbour)], rng=1)
    assert found.verdict is InsideVerdict.BROKEN_INSIDE


def test_what_was_answered_is_not_steered_away() -> None:
    def code(data: Any, rng: Rng) -> object:
        noisy = data + rng.laplace(size=3)
        return np.argmax(noisy), np.max(noisy) > 12.0

    for seed in range(30):
        found = transcript(code, seed=seed, steered=True)
        assert found.differs is None
        assert math.isfinite(found.loss)


def test_revealed_numbers_count_as_released() -> None:
    def ratio(data: Any, rng: Rng) -> object:
        count = max(1.0, float(len(data) + rng.laplace(scale=2.0)))
        return (np.clip(data, 0.0, 1.0).sum() + rng.laplace(scale=2.0)) / count

    more = dpaudit.add_or_remove_one(dpaudit.floats(0, 1), max_records=3)
    refused = audit_inside(ratio, PureDP(1.0), more, rng=1)
    assert refused.verdict is InsideVerdict.CANNOT_FOLLOW
    assert "reveal=True" in refused.reason
    kept = audit_inside(ratio, PureDP(1.0), more, rng=1, reveal=True, transcripts=100)
    assert kept.verdict is InsideVerdict.NOT_REFUTED
    assert "(reveal=True)" in str(kept)
    assert kept.to_json()["reveal"] is True
    broken = audit_inside(ratio, PureDP(0.9), more, rng=1, reveal=True)
    assert broken.verdict is InsideVerdict.BROKEN_INSIDE


def test_a_coin_that_turns_a_bit_is_left_to_the_black_box() -> None:
    """Turned by the same coin, two bits differ: no loss explains that, and nothing is accused."""

    def response(data: Any, rng: Rng) -> object:
        return int(data.sum()) ^ bool(rng.random() < 0.25)

    found = audit_inside(response, PureDP(math.log(3.0)), [(ONE.data, ONE.neighbour)], rng=1)
    assert found.verdict is InsideVerdict.UNDECIDED
    assert not found.confirm(samples=10_000).refuted
