"""Transcripts: exact losses against closed forms, and everything that is refused."""

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpaudit import Pair
from dpaudit.errors import CannotFollow, InvalidMechanism
from dpaudit.inside import Laplace, RandomizedResponse, Transcript, release, transcript_of
from dpaudit.inside.noise.generator import FollowedGenerator
from dpaudit.mechanism import as_mechanism, one_at_a_time
from dpaudit.zoo import ZOO

ONE = Pair(np.array([1.0]), np.array([0.0]))
NOISY_BIT = RandomizedResponse(epsilon=1.0)
Code = Callable[[Any, np.random.Generator], object]


def transcript(code: Code, pair: Pair = ONE, seed: int = 0) -> Transcript:
    return transcript_of(as_mechanism(one_at_a_time(code)), pair, np.random.default_rng(seed))


def loss_at(noise: float, shift: float) -> float:
    """The loss of Laplace noise of scale 1 whose input moves down by `shift`."""
    return abs(noise + shift) - abs(noise)


@pytest.mark.parametrize("seed", range(5))
def test_the_loss_is_that_of_the_closed_form(seed: int) -> None:
    found = transcript(lambda data, rng: data.sum() + rng.laplace(scale=1.0), seed=seed)
    (one,) = found.releases
    assert found.loss == pytest.approx(loss_at(one.output - 1.0, 1.0), abs=1e-12)
    assert (one.input, one.neighbour_input) == (1.0, 0.0)
    assert "test_inside_transcripts.py:" in one.where


@pytest.mark.parametrize(
    "code",
    [
        lambda data, rng: 3.0 * (data.sum() + rng.laplace()) - 7.0,
        lambda data, rng: (data.sum() + rng.laplace()) / -2.0,
        lambda data, rng: -rng.laplace(loc=data.sum()),
        lambda data, rng: np.array([data.sum()]) + rng.laplace(size=1),
        lambda data, rng: {"sum": [data.sum() + rng.laplace(scale=np.ones(()))]},
        lambda data, rng: np.float64(data.sum()) + rng.laplace(),
        lambda data, rng: rng.laplace(size=(1, 1)) + data.sum(),
        lambda data, rng: (data + np.random.default_rng(rng).laplace(size=1)).sum(),
        lambda data, rng: data.sum() + np.random.default_rng().laplace(),
        lambda data, rng: data.sum() + np.random.laplace(),  # noqa: NPY002
    ],
)
def test_affine_maps_leave_the_loss_as_it_is(code: Code) -> None:
    plain = transcript(lambda data, rng: data.sum() + rng.laplace())
    assert transcript(code).loss == pytest.approx(plain.loss, abs=1e-12)


def test_a_generator_with_a_seed_of_its_own_gives_no_noise() -> None:
    found = transcript(lambda data, rng: data.sum() + np.random.default_rng(7).laplace())
    assert "no release explains that" in (found.differs or "")
    assert not isinstance(np.random.default_rng(), FollowedGenerator)  # put back after the run


def test_draws_of_scientific_libraries_are_left_as_they_are() -> None:
    """They are no noise of the code: with a seed nothing is drawn, without one it is noticed."""
    found = transcript(
        lambda data, rng: data.sum() + rng.laplace() + stats.norm.rvs(random_state=3)
    )
    assert found.differs is None
    with pytest.raises(CannotFollow, match=r"random or np\.random|did something else"):
        transcript(lambda data, rng: data.sum() + stats.norm.rvs())


def test_a_scale_that_depends_on_data_counts() -> None:
    found = transcript(lambda data, rng: rng.normal(scale=1.0 + data.sum()))
    (one,) = found.releases
    x = one.output
    assert found.loss == pytest.approx(-x * x / 8 - math.log(2.0) + x * x / 2, abs=1e-12)


def test_sums_of_gaussians_and_differences_of_geometrics_have_one_law() -> None:
    found = transcript(lambda data, rng: data.sum() + rng.normal(scale=3.0) + rng.normal(scale=4.0))
    (one,) = found.releases
    assert found.loss == pytest.approx((one.output**2 - (one.output - 1.0) ** 2) / 50.0)

    def two_sided(data: Any, rng: np.random.Generator) -> object:
        p = 1.0 - math.exp(-1.0)
        return data.sum() + rng.geometric(p) - rng.geometric(p)

    assert abs(transcript(two_sided).loss) == pytest.approx(1.0)


def test_prefix_sums_lose_what_their_numbers_lose() -> None:
    pair = Pair(np.ones(4), np.zeros(4))
    sums = transcript(lambda data, rng: np.cumsum(data + rng.laplace(size=4)), pair)
    parts = transcript(lambda data, rng: data + rng.laplace(size=4), pair)
    assert sums.loss == pytest.approx(parts.loss, abs=1e-9)
    backwards = transcript(lambda data, rng: np.cumsum(data + rng.laplace(size=4))[::-1], pair)
    assert backwards.loss == pytest.approx(parts.loss, abs=1e-9)


def test_the_same_noise_twice_is_an_infinite_loss() -> None:
    def twice(data: Any, rng: np.random.Generator) -> object:
        noise = rng.laplace()
        return data.sum() + noise, 2.0 * data.sum() + noise

    assert transcript(twice).loss == math.inf

    def harmless(data: Any, rng: np.random.Generator) -> object:
        noisy = data.sum() + rng.laplace()
        return noisy, 3.0 * noisy, noisy - 1.0

    assert abs(transcript(harmless).loss) <= 1.0 + 1e-12


def far_and_back(data: Any, rng: np.random.Generator) -> object:
    noisy = data.sum() + rng.laplace()
    return noisy, (noisy - 1e9) + 1e9


def centred_sum(data: Any, rng: np.random.Generator) -> object:
    noisy = np.append(data, [0.1, 0.7]) + rng.laplace(size=3)
    return noisy, (noisy - noisy.mean()).sum()


def nothing_left(data: Any, rng: np.random.Generator) -> object:
    noisy = np.append(data, [0.1, 0.7]) + rng.normal(size=3)
    return noisy[0], 1e6 * ((noisy - noisy.mean()).sum())


@pytest.mark.parametrize("code", [far_and_back, centred_sum, nothing_left])
@pytest.mark.parametrize("seed", range(5))
def test_rounding_is_not_taken_for_a_leak(code: Code, seed: int) -> None:
    """What real numbers say is the same on both sides; floats differ in their last bits."""
    for pair in (ONE, ONE.swapped()):
        found = transcript(code, pair, seed)
        assert found.differs is None
        assert 0.0 < abs(found.loss) < 6.0  # an output that leaked would have no limit


def test_nan_is_an_infinite_loss() -> None:
    pair = Pair(np.array([math.nan]), np.array([0.0]))

    def code(data: Any, rng: np.random.Generator) -> object:
        return data.sum() + rng.laplace()

    assert transcript(code, pair).loss == math.inf
    assert transcript(code, pair.swapped()).loss == math.inf
    same = Pair(np.array([math.nan, 1.0]), np.array([math.nan, 0.0]))
    assert transcript(code, same).loss == 0.0  # NaN comes out on both
    assert transcript(lambda data, rng: release(data[0], Laplace(1.0), rng), pair).loss == math.inf


def test_an_explicit_release_is_forced_and_what_follows_may_use_it() -> None:
    def code(data: Any, rng: np.random.Generator) -> object:
        count = release(float(data.sum()), Laplace(1.0), rng)
        return max(count, 0.0), 1.0 / abs(count) + rng.laplace(scale=1.0 + abs(count))

    found = transcript(code)
    assert len(found.releases) == 2
    assert found.releases[1].loss == 0.0  # it depends on the released count only
    assert found.loss == pytest.approx(loss_at(found.releases[0].output - 1.0, 1.0))


def test_outside_an_audit_a_release_is_a_draw() -> None:
    drawn = release(2.0, Laplace(1.0), np.random.default_rng(3))
    assert drawn == 2.0 + np.random.default_rng(3).laplace(scale=1.0)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (lambda data, rng: data.sum() + rng.laplace() == 0.5, "noisy numbers are equal"),
        (lambda data, rng: np.sort(data + rng.laplace(size=3)), r"takes np\.sort of noise"),
        (lambda data, rng: max((data + rng.laplace(size=9)).tolist()), "compares .* in a chain"),
        (lambda data, rng: rng.laplace() + rng.normal() > 0.5 + rng.gumbel(), "adds up"),
        (lambda data, rng: rng.geometric(0.5) > rng.laplace(), "compares whole numbers of noise"),
        (lambda data, rng: np.arange(9)[rng.geometric(0.5)], "takes noise for a place"),
        (lambda data, rng: float(data.sum() + rng.laplace()), "makes a plain number of noise"),
        (lambda data, rng: round(data.sum() + rng.laplace()), "rounds a noisy number"),
        (lambda data, rng: np.round(data + rng.laplace(size=3)), r"takes np\.round of noise"),
        (lambda data, rng: np.exp(data + rng.laplace(size=3)), r"takes np\.exp of noise"),
        (lambda data, rng: abs(data.sum() + rng.laplace()), r"takes np\.absolute of noise"),
        (lambda data, rng: rng.laplace() * rng.laplace(), "multiplies two noisy numbers"),
        (lambda data, rng: 1.0 / rng.laplace(), "divides by a noisy number"),
        (lambda data, rng: f"{rng.laplace()}", "makes a plain number of noise"),
        (lambda data, rng: str(rng.laplace()), "into text"),
        (lambda data, rng: bool(rng.laplace()), "zero"),
        (lambda data, rng: np.zeros(2) + np.asarray(rng.laplace(size=2), float), "plain numbers"),
        (lambda data, rng: rng.integers(2) < 0.5, r"uses rng\.integers"),
        (lambda data, rng: rng.choice(3), r"uses rng\.choice"),
        (lambda data, rng: rng.bit_generator.random_raw(), r"uses rng\.bit_generator"),
        (lambda data, rng: rng.laplace() + rng.laplace(), "adds up laplace noise"),
        (lambda data, rng: {rng.laplace()}, "output of type set"),
        (lambda data, rng: np.random.poisson(), "random or np.random"),  # noqa: NPY002
        (lambda data, rng: random.random(), "random or np.random"),
        (lambda data, rng: np.random.RandomState().laplace(), "did something else"),
        (lambda data, rng: object(), "output of type object"),
        (lambda data, rng: release(rng.laplace(), Laplace(1.0), rng), "has noise"),
        (lambda data, rng: isinstance(rng.laplace(), float), "plain run"),
        (lambda data, rng: data.sum() + rng.laplace(scale=math.inf), "scale is not finite"),
        (lambda data, rng: rng.standard_normal(dtype=np.float32), "another dtype"),
    ],
)
def test_what_cannot_be_followed_is_refused(code: Code, words: str) -> None:
    with pytest.raises(CannotFollow, match=words):
        transcript(code)


def test_a_refusal_names_file_and_line_and_cannot_be_swallowed() -> None:
    def code(data: Any, rng: np.random.Generator) -> object:
        try:
            return 1.0 if round(data.sum() + rng.laplace()) else 0.0
        except Exception:
            return rng.laplace()

    with pytest.raises(CannotFollow, match=r"test_inside_transcripts\.py:\d+: rounds"):
        transcript(code)


def test_code_that_looks_at_the_type_of_its_noise_is_refused() -> None:
    def code(data: Any, rng: np.random.Generator) -> object:
        noise = rng.laplace()
        return data.sum() + noise if isinstance(noise, float) else noise

    with pytest.raises(CannotFollow, match="a plain run with the same noise"):
        transcript(code)


def test_state_from_run_to_run_is_refused() -> None:
    seen: list[float] = []

    def code(data: Any, rng: np.random.Generator) -> object:
        seen.append(1.0)
        return len(seen) + rng.laplace()

    with pytest.raises(CannotFollow, match="a second run on the same data"):
        transcript(code)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (lambda data, rng: (data.sum(), rng.laplace()), "no release explains that"),
        (lambda data, rng: [rng.laplace() for _ in range(1 + int(data.sum()))], "another form"),
        (lambda data, rng: rng.laplace() if data.sum() else 0.0, "noise on one of the two"),
        (lambda data, rng: rng.laplace() if data.sum() else rng.geometric(0.5), "another kind"),
        (lambda data, rng: 1 / int(data.sum()) + rng.laplace(), "ZeroDivisionError"),
        (lambda data, rng: rng.laplace(scale=data.sum()), "noise on one of the two"),
        (
            lambda data, rng: [release(0.0, Laplace(1.0), rng) for _ in range(int(data.sum()))],
            "one release less",
        ),
        (
            lambda data, rng: release(0, Laplace(1.0) if data.sum() else NOISY_BIT, rng),
            "Laplace on the one dataset, RandomizedResponse on the other",
        ),
    ],
)
def test_what_no_loss_explains_is_left_to_the_black_box(code: Code, words: str) -> None:
    assert words in (transcript(code).differs or "")


def test_an_error_on_both_sides_is_no_difference() -> None:
    def code(data: Any, rng: np.random.Generator) -> object:
        raise ValueError("never")

    found = transcript(code)
    assert (found.differs, found.releases) == (None, ())


@pytest.mark.parametrize(
    ("name", "attained"), [("LaplaceCount", 1.0), ("Geometric", 1.0), ("ClippedSum", 2.0)]
)
def test_the_largest_loss_is_the_true_epsilon_of_the_zoo(name: str, attained: float) -> None:
    entry = ZOO[name]
    mechanism, rng = as_mechanism(entry.factory()), np.random.default_rng(5)
    losses = [abs(transcript_of(mechanism, entry.pair, rng).loss) for _ in range(40)]
    assert max(losses) == pytest.approx(attained, abs=1e-6)
    assert entry.true_epsilon == attained


def test_inputs_beyond_the_rounding_of_floats_get_a_tolerance() -> None:
    pair = Pair(np.array([1e12, 1.0]), np.array([1e12, 0.0]))
    assert transcript(lambda data, rng: data.sum() + rng.laplace(), pair).tolerance > 1e-4


def test_a_transcript_is_of_a_mechanism() -> None:
    code: Any = lambda data, rng: data.sum() + rng.laplace()  # noqa: E731
    with pytest.raises(TypeError, match="as_mechanism"):
        transcript_of(code, ONE, np.random.default_rng(0))


def test_a_function_that_needs_more_is_no_mechanism() -> None:
    with pytest.raises(InvalidMechanism):
        as_mechanism(one_at_a_time(lambda data, rng, more: more))
