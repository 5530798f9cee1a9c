"""Hidden samples: the loss of a mixture, exact, and everything that cannot be marginalised."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit import InsideVerdict, Pair, PureDP, audit_inside, hidden_sample, release
from dpaudit.errors import CannotFollow
from dpaudit.inside import Gaussian, Laplace, Sampled, Transcript, transcript_of
from dpaudit.inside.places import places_of, records_of
from dpaudit.mechanism import as_mechanism, one_at_a_time

Code = Callable[[Any, np.random.Generator], object]
Rng = np.random.Generator
RATE, SIGMA = 0.3, 0.8
WITH = np.array([0.2, 1.0, -0.3, 0.9])
ADDED = Pair(WITH, np.delete(WITH, 1))
REPLACED = Pair(WITH, np.array([0.2, -1.0, -0.3, 0.9]))


def transcript(code: Code, pair: Pair, seed: int = 0) -> Transcript:
    return transcript_of(as_mechanism(one_at_a_time(code)), pair, np.random.default_rng(seed))


def one_step(data: Any, rng: Rng) -> object:
    chosen = hidden_sample(len(data), RATE, rng)
    return release(data[chosen].sum(), Gaussian(SIGMA), rng)


def training(data: Any, rng: Rng) -> object:
    """Each step depends on all that was released before."""
    weight = 0.0
    for _ in range(3):
        chosen = hidden_sample(len(data), RATE, rng)
        gradient = np.clip(data[chosen] - weight, -1.0, 1.0).sum()
        weight += 0.5 * release(gradient, Gaussian(SIGMA), rng)
    return weight


def log_normal(x: float, mean: float) -> float:
    return -0.5 * ((x - mean) / SIGMA) ** 2


def log_mixture(x: float, without: float, within: float) -> float:
    """Up to the constant of the normal density, as `log_normal`."""
    shares = (1 - RATE) * math.exp(log_normal(x, without)), RATE * math.exp(log_normal(x, within))
    return math.log(sum(shares))


@pytest.mark.parametrize("seed", range(8))
def test_one_step_has_the_loss_of_the_mixture(seed: int) -> None:
    found = transcript(one_step, ADDED, seed)
    (one,) = found.releases
    without, within = one.input
    assert within == pytest.approx(without + 1.0)
    assert one.neighbour_input == without
    assert one.kernel == Sampled(rate=RATE, without=Gaussian(SIGMA), within=Gaussian(SIGMA))
    expected = log_mixture(one.output, without, within) - log_normal(one.output, without)
    assert found.loss == pytest.approx(expected, abs=1e-12)

    other = transcript(one_step, ADDED.swapped(), seed)
    (one,) = other.releases
    without, within = one.neighbour_input
    assert one.input == without
    expected = log_normal(one.output, without) - log_mixture(one.output, without, within)
    assert other.loss == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_a_replaced_record_gives_mixtures_on_both_sides(seed: int) -> None:
    found = transcript(one_step, REPLACED, seed)
    (one,) = found.releases
    without, within = one.input
    assert one.neighbour_input == pytest.approx((without, without - 1.0))
    assert within == pytest.approx(without + 1.0)
    expected = log_mixture(one.output, without, within) - log_mixture(
        one.output, without, without - 1.0
    )
    assert found.loss == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("code", "pair"),
    [
        (one_step, ADDED),
        (one_step, ADDED.swapped()),
        (one_step, REPLACED),
        (training, ADDED),
        (training, ADDED.swapped()),
    ],
)
def test_losses_are_those_of_a_density_ratio(code: Code, pair: Pair) -> None:
    """Null: `E[exp(-L)] = 1` where outputs are drawn on the data. False alarms: below 1e-4."""
    losses = np.array([transcript(code, pair, seed).loss for seed in range(300)])
    ratios = np.exp(-losses)
    assert abs(ratios.mean() - 1.0) <= 4.0 * ratios.std() / math.sqrt(300)
    assert ratios.std() > 0.05  # there is something to see


def test_a_step_depends_on_what_was_released_before() -> None:
    found = transcript(training, ADDED)
    weight = 0.0
    assert len(found.releases) == 3
    for one in found.releases:
        without, within = one.input
        assert within - without == pytest.approx(float(np.clip(1.0 - weight, -1.0, 1.0)))
        weight += 0.5 * one.output


def test_two_releases_of_a_step_share_their_coin() -> None:
    def twice(data: Any, rng: Rng) -> object:
        total = data[hidden_sample(len(data), RATE, rng)].sum()
        count = release(1.0, Laplace(1.0), rng) + release(total, Gaussian(SIGMA), rng)
        return count, release(2.0 * total, Gaussian(SIGMA), rng)

    found = transcript(twice, ADDED)
    (one,) = found.releases
    x, y = one.output[1:]
    out, within = one.input[0][1], one.input[1][1]
    both = (1 - RATE) * math.exp(log_normal(x, out) + log_normal(y, 2 * out))
    both += RATE * math.exp(log_normal(x, within) + log_normal(y, 2 * within))
    alone = log_normal(x, out) + log_normal(y, 2 * out)
    assert found.loss == pytest.approx(math.log(both) - alone, abs=1e-9)


def test_releases_before_the_first_sample_count_as_they_are() -> None:
    def counted(data: Any, rng: Rng) -> object:
        count = release(float(len(data)), Laplace(2.0), rng)
        return count, one_step(data, rng)

    first, second = transcript(counted, ADDED).releases
    assert first.loss == pytest.approx(0.5 * (abs(first.output - 3) - abs(first.output - 4)))
    assert isinstance(second.kernel, Sampled)


@pytest.mark.parametrize(("rate", "same"), [(0.0, True), (1.0, False)])
def test_rates_of_nothing_and_of_all(rate: float, same: bool) -> None:
    def code(data: Any, rng: Rng) -> object:
        return release(data[hidden_sample(len(data), rate, rng)].sum(), Gaussian(SIGMA), rng)

    found = transcript(code, ADDED)
    (one,) = found.releases
    plain = log_normal(one.output, WITH.sum()) - log_normal(one.output, WITH.sum() - 1.0)
    assert found.loss == pytest.approx(0.0 if same else plain, abs=1e-12)


def test_the_loss_is_bounded_by_the_rate() -> None:
    """Without the record, a release still has the share `1 - rate`: `L >= log(1 - rate)`."""
    far = Pair(np.array([100.0]), np.array([]))
    losses = [transcript(one_step, far, seed).loss for seed in range(40)]
    assert min(losses) == pytest.approx(math.log(1.0 - RATE), abs=1e-6)
    assert max(losses) > 100.0


def momentum(data: Any, rng: Rng) -> object:
    """The sum of all gradients so far is released at every step."""
    total, out = 0.0, 0.0
    for _ in range(4):
        total += data[hidden_sample(len(data), 0.5, rng)].sum()
        out = release(total, Gaussian(SIGMA), rng)
    return out


def late(data: Any, rng: Rng) -> object:
    """A gradient is used again two steps later, and not before."""
    kept = [0.0, 0.0]
    for _ in range(8):
        kept.append(float(data[hidden_sample(len(data), 0.5, rng)].sum()))
        release(kept[-1] + kept[-3], Gaussian(SIGMA), rng)
    return None


@pytest.mark.parametrize("pair", [ADDED, ADDED.swapped(), REPLACED])
def test_state_that_depends_on_earlier_samples_is_refused(pair: Pair) -> None:
    for seed in range(10):
        with pytest.raises(CannotFollow, match=r"test_inside_sampling\.py:.*hidden sample before"):
            transcript(momentum, pair, seed)


def test_state_that_comes_back_later_is_refused() -> None:
    refused = 0
    for seed in range(10):
        try:
            transcript(late, ADDED, seed)
        except CannotFollow:
            refused += 1
    assert refused >= 9  # a run that is let through has probability below 2^-6


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (lambda data, rng: hidden_sample(len(data) + 1, 0.5, rng).any(), "n must be the number"),
        (lambda data, rng: hidden_sample(2, 0.5, rng).any(), "n must be the number"),
        (
            lambda data, rng: (one_step(data, rng), data.sum() + rng.normal()),
            "draws noise from the generator",
        ),
    ],
)
def test_what_cannot_be_marginalised_is_refused(code: Code, words: str) -> None:
    with pytest.raises(CannotFollow, match=rf"\.py:\d+: .*{words}"):
        transcript(code, ADDED)


def test_more_than_one_differing_record_is_refused() -> None:
    for other in (np.array([0.2, 1.0]), np.array([0.0, 0.0, -0.3, 0.9])):
        with pytest.raises(CannotFollow, match="differ in more than one record"):
            transcript(one_step, Pair(WITH, other))


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            lambda data, rng: release(
                data[hidden_sample(len(data), 1 / len(data), rng)].sum(), Gaussian(1.0), rng
            ),
            "samples at the rate",
        ),
        (
            lambda data, rng: [hidden_sample(len(data), 0.5, rng).sum(), one_step(data, rng)],
            "output depends on the hidden sample",
        ),
        (
            lambda data, rng: [one_step(data, rng) for _ in data],
            "on the other dataset|on one of the two",
        ),
    ],
)
def test_what_no_loss_explains_is_left_to_the_black_box(code: Code, words: str) -> None:
    found = transcript(code, ADDED, 1)
    assert found.differs is not None
    assert re.search(words, found.differs)
    assert found.releases == ()


def test_a_release_for_some_samples_only_is_left_to_the_black_box() -> None:
    def skips(data: Any, rng: Rng) -> object:
        chosen = hidden_sample(len(data), 0.5, rng)
        return release(1.0, Laplace(1.0), rng) if chosen.any() else 0.0

    pair = Pair(np.array([1.0]), np.array([]))
    found = [transcript(skips, each) for each in (pair, pair.swapped())]
    assert all(each.differs is not None for each in found)


def test_outside_an_audit_it_is_a_plain_draw() -> None:
    mask = hidden_sample(50, 0.4, np.random.default_rng(3))
    assert np.array_equal(mask, np.random.default_rng(3).random(50) < 0.4)
    assert mask.dtype == bool


@pytest.mark.parametrize(
    ("n", "rate", "words"), [(-1, 0.5, "n must be"), (2.0, 0.5, "n must be"), (2, 1.5, "rate must")]
)
def test_odd_arguments_are_refused(n: Any, rate: float, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        hidden_sample(n, rate, np.random.default_rng(0))


def test_sampling_that_is_not_declared_is_not_followed() -> None:
    def undeclared(data: Any, rng: Rng) -> object:
        return release(data[rng.random(len(data)) < RATE].sum(), Gaussian(SIGMA), rng)

    found = audit_inside(undeclared, PureDP(1.0), [(WITH, WITH[1:])], rng=1, transcripts=40)
    assert found.verdict is not InsideVerdict.NOT_REFUTED


def test_randomized_response_by_sampling_is_exact() -> None:
    """The noise is Laplace of epsilon 2; sampled at a half, the loss is that of the theorem."""

    def sampled(data: Any, rng: Rng) -> object:
        total = data[hidden_sample(len(data), 0.5, rng)].sum()
        return release(total, Laplace(0.5), rng)

    epsilon = math.log(1 + 0.5 * (math.exp(2.0) - 1))
    pairs = [(np.array([1.0]), np.array([]))]
    right = audit_inside(sampled, PureDP(epsilon + 1e-6), pairs, rng=1)
    wrong = audit_inside(sampled, PureDP(epsilon - 1e-3), pairs, rng=1)
    assert right.verdict is InsideVerdict.NOT_REFUTED
    assert wrong.verdict is InsideVerdict.BROKEN_INSIDE
    assert wrong.worst is not None
    assert wrong.worst.loss == pytest.approx(epsilon, abs=1e-9)


@pytest.mark.parametrize(
    ("data", "neighbour", "differing", "count"),
    [
        (["a", "b"], ["a"], 1, 2),
        (["a"], ["b", "a"], 0, 2),
        ([], ["a"], 0, 1),
        (["a", "b", "c"], ["a", "x", "c"], 1, 3),
        (["a", "a"], ["a"], 1, 2),
        (["a"], ["a"], None, 1),
        (np.ones((3, 2)), np.ones((2, 2)), 2, 3),
        ({"x": [1, 2], "y": [3, 4]}, {"x": [2], "y": [4]}, 0, 2),
    ],
)
def test_places_of_records(data: Any, neighbour: Any, differing: int | None, count: int) -> None:
    places = places_of(Pair(data, neighbour))
    assert places is not None
    assert (places.differing, places.count) == (differing, count)
    for side, records in ((places.data, data), (places.neighbour, neighbour)):
        assert len(side) == len(records_of(records) or [])


def test_no_places_where_more_than_one_record_differs() -> None:
    for one, other in [("ab", "cd"), ("abc", "a"), ("abc", "ca"), ("abcd", "axyd")]:
        assert places_of(Pair(list(one), list(other))) is None
    assert places_of(Pair(1.0, 2.0)) is None


def test_public_names_are_one_object() -> None:
    for name in ("hidden_sample", "release", "primitive"):
        assert getattr(dpaudit, name) is getattr(dpaudit.inside, name)
