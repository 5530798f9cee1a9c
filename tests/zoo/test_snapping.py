"""The snapping mechanism: its exact distribution on real numbers, cell by cell of the grid."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from exact import DRAWS, Floats, assert_counts, assert_distributed, draw
from scipy import stats

from dpaudit.zoo import ZOO, Snapping, coin_tosses, snapped, uniform_floats

SHAPES = pytest.mark.parametrize(
    ("epsilon", "bound"), [(1.0, 64.0), (0.1, 64.0), (0.1, 11.0), (3.0, 5.3), (4.0, 1.0)]
)


def cells(mechanism: Snapping, records: int) -> tuple[Floats, Floats]:
    """The outputs in rising order, and the probability that Laplace noise falls into their cell."""
    most = math.ceil(mechanism.bound / mechanism.spacing)
    places = np.arange(-most, most + 1)
    edges = np.array([-math.inf, *(places[1:] - 0.5) * mechanism.spacing, math.inf])
    law = stats.laplace(min(records, mechanism.bound), mechanism.scale)
    from_below, from_above = np.diff(law.cdf(edges)), -np.diff(law.sf(edges))
    probabilities = np.where(edges[1:] <= records, from_below, from_above)  # keeps the far digits
    return np.clip(places * mechanism.spacing, -mechanism.bound, mechanism.bound), probabilities


@SHAPES
@pytest.mark.parametrize("records", [0, 1, 6])
def test_snapped_noise(epsilon: float, bound: float, records: int) -> None:
    mechanism = Snapping(epsilon, bound=bound)
    outputs = draw(mechanism, [0.3] * records)
    values, probabilities = cells(mechanism, records)
    places = np.searchsorted(values, outputs)
    assert np.array_equal(values[places], outputs)
    assert_counts(np.bincount(places, minlength=len(values)), probabilities)


@SHAPES
def test_on_real_numbers_a_record_costs_one_over_the_scale(epsilon: float, bound: float) -> None:
    mechanism = Snapping(epsilon, bound=bound)
    losses = []
    for records in range(9):
        (_, fewer), (_, more) = cells(mechanism, records), cells(mechanism, records + 1)
        losses.append(np.abs(np.log(fewer / more)).max())
    assert losses[0] == pytest.approx(1 / mechanism.scale, rel=1e-12)
    assert max(losses) <= (1 + 1e-12) / mechanism.scale


@SHAPES
def test_the_scale_leaves_room_for_what_floats_cost(epsilon: float, bound: float) -> None:
    mechanism = Snapping(epsilon, bound=bound)
    assert (1 + bound / 2**49) / mechanism.scale == pytest.approx(epsilon, rel=1e-15)
    assert mechanism.scale <= mechanism.spacing < 2 * mechanism.scale
    assert math.frexp(mechanism.spacing)[0] == 0.5  # a power of two


def test_a_scale_that_is_a_power_of_two_is_its_own_spacing() -> None:
    mechanism = Snapping(64.0, bound=1 / 16)
    assert mechanism.scale == mechanism.spacing == 1 / 64


def test_the_entry_has_the_epsilon_of_real_numbers() -> None:
    entry = ZOO["Snapping"]
    assert entry.true_epsilon == 1 / Snapping().scale
    assert 1 - 1e-12 < entry.true_epsilon < 1


def test_halves_are_snapped_up_and_the_float_before_a_half_is_not() -> None:
    values = np.array([-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5])
    assert snapped(values, 1.0).tolist() == [-1.0, -1.0, 0.0, 0.0, 1.0, 1.0, 2.0]
    before = np.nextafter(np.array([-0.5, 0.5, 1.5]), -math.inf)
    assert snapped(before, 1.0).tolist() == [-1.0, 0.0, 1.0]
    assert snapped(before / 4, 0.25).tolist() == [-0.25, 0.0, 0.25]


def test_tosses_until_the_first_head() -> None:
    tosses = coin_tosses(DRAWS, np.random.default_rng(12345))
    exact = [0.0, *(0.5**toss for toss in range(1, 12)), 0.5**11]
    assert_counts(np.bincount(np.minimum(tosses, 12), minlength=13), np.array(exact))


def last_bits(values: Floats) -> npt.NDArray[np.int64]:
    return (np.ldexp(np.frexp(values)[0], 53) % 2).astype(np.int64)


def test_uniform_floats_are_uniform_and_fill_the_space_near_zero() -> None:
    drawn = uniform_floats(DRAWS, np.random.default_rng(12345))
    assert_distributed(drawn, stats.uniform.cdf)
    near_zero = drawn[drawn < 1 / 16]
    assert_counts(np.bincount(last_bits(near_zero), minlength=2), np.array([0.5, 0.5]))
    plain = np.random.default_rng(12345).random(DRAWS)  # which is why it is not used
    assert not last_bits(plain[plain < 1 / 16]).any()
