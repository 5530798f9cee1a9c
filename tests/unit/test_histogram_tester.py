"""The histogram tester: its cells, and what they find. What it shares is in test_event_testers.py.

The finding about an honest mechanism is asked for at alpha = 1e-7: that test fails by chance with
that probability.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from samples import examine, laplace

from dpaudit.claims import PureDP
from dpaudit.guessing import Share, row_keys
from dpaudit.outputs import Encoder
from dpaudit.testers import HistogramTester, Partition, candidates, grid, whole


def test_bins_hold_equally_many_numbers() -> None:
    table = Encoder().encode(laplace(0.0, 1_000))
    cells = Partition(table, grid(columns=(0,), bins=10))
    assert np.bincount(cells.index(table)).tolist() == [100] * 10
    assert cells.count == 11


def test_what_repeats_and_what_is_no_number_are_cells_of_their_own() -> None:
    encoder = Encoder()
    numbers = laplace(0.0, 900).tolist()
    odd = [0.0, math.nan, math.inf, -math.inf, None, "a", "b"]
    table = encoder.encode(numbers + odd * 20)
    cells = Partition(table, grid(columns=(0,), bins=2))
    places = [set(cells.index(table.take(slice(900 + i, None, 7))).tolist()) for i in range(7)]
    assert all(len(place) == 1 for place in places)
    ordinary = set(cells.index(table.take(slice(900))).tolist())
    assert len(set.union(*places)) == 7
    assert not ordinary & set.union(*places)
    new = cells.index(encoder.encode(["never seen"]))
    assert new.tolist() == [cells.count - 1]


def test_products_of_bins_are_told_apart() -> None:
    table = Encoder().encode(laplace(0.0, (4_000, 2)))
    cells = Partition(table, grid(columns=(0, 1), bins=4))
    sides = [Partition(table, grid(columns=(column,), bins=4)).index(table) for column in (0, 1)]
    pairs = set(zip(sides[0].tolist(), sides[1].tolist(), cells.index(table).tolist(), strict=True))
    assert len(pairs) == 16
    assert {cell for _, _, cell in pairs} == set(range(16))


def test_whole_outputs_that_repeat_are_cells() -> None:
    table = Encoder().encode([(1, "a")] * 5 + [(1, "b")] * 5 + [(2, "a")] * 5 + [(3, "c")])
    index = Partition(table, whole).index(table)
    assert len({tuple(index[i : i + 5].tolist()) for i in (0, 5, 10)}) == 3
    assert index[15] == 3  # seen once, it shares the last cell


def test_keys_tell_numbers_words_and_places_apart() -> None:
    rows = [(1.0, 2.0), (2.0, 1.0), (None, 2.0), (1.0, None), ("x", 2.0), (0.0, 2.0), (-0.0, 2.0)]
    keys = row_keys(Encoder().encode(rows))
    assert len(set(keys.tolist())) == 6
    assert keys[5] == keys[6]


def test_automatic_cells_are_not_too_many() -> None:
    share = Share(training=0.5, most=5_000)
    for shape in ((4_000,), (4_000, 3), (4_000, 50)):
        train, _ = share.part(laplace(0.0, shape), laplace(0.0, shape), np.random.default_rng(0))
        counts = [cells.count for cells in candidates(train, "auto")]
        assert len(counts) >= 2
        assert max(counts) <= len(train.labels) // 4


@pytest.mark.parametrize("seed", range(10))
def test_a_dozen_outputs_of_three_values_are_tested(seed: int) -> None:
    """Every partition has too many cells for so few outputs; the coarsest is taken."""
    a, b = np.random.default_rng(seed).integers(3, size=(2, 12))
    assert examine(HistogramTester(), a, b, PureDP(0.01), alpha=0.2).lower_bound < 1.0


def test_a_rare_value_among_numbers_is_found() -> None:
    rng = np.random.default_rng(0)
    numbers = laplace(0.0, 50_000)
    rare = np.where(rng.random(50_000) < 0.003, 0.125, numbers)
    choices: tuple[Any, ...] = ("auto", "atoms")
    for bins in choices:
        finding = examine(HistogramTester(bins=bins), rare, laplace(0.0, 50_000, seed=1))
        assert finding.lower_bound > 0.0


def test_rare_atoms_are_not_trusted() -> None:
    """Thousands of outputs seen a few times each: what one part shows the other does not bear out.

    A choice that trusted them would certify a large set, far below nothing.
    """
    rng = np.random.default_rng(0)
    a, b = rng.integers(2_000, size=(2, 10_000))
    finding = examine(HistogramTester(bins="atoms"), a, b, PureDP(0.01), alpha=1e-7)
    assert -0.3 < finding.lower_bound <= 0.0


@pytest.mark.parametrize("bins", [1, 0, -3, True, 2.5, "few", None])
def test_wrong_bins_are_an_error(bins: Any) -> None:
    with pytest.raises(ValueError, match=r'bins must be "auto", "atoms" or a whole number >= 2'):
        HistogramTester(bins=bins)


def test_a_given_number_of_bins_is_used() -> None:
    a, b = laplace(1.0, 20_000), laplace(0.0, 20_000, seed=1)
    for bins in (2, 20):
        for tester in (
            HistogramTester(bins=bins),
            HistogramTester(bins=bins, bound="gilbert-mcmillan"),
        ):
            finding = examine(tester, a, b, PureDP(0.1))
            assert 0.2 < finding.lower_bound < 1.0 - math.exp(-0.5)
