"""The rows that guessers learn from: cells, bounded memory, keys of rows."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dpaudit.guessing import Codebook, LabelledRows, Lookup, Past, row_keys
from dpaudit.outputs import Encoder, Table

Labels = npt.NDArray[np.bool_]


def table(*outputs: Any) -> Table:
    return Encoder().encode(list(outputs))


def numbers(values: Any) -> Table:
    return Encoder().encode(np.asarray(values))


def coin(size: int, rng: np.random.Generator) -> Labels:
    return np.asarray(rng.integers(0, 2, size=size, dtype=np.bool_))


@pytest.mark.parametrize("cells", [1.0, 3_000.0, 10_000.0, 1e9, math.inf])
def test_thinned_rows_are_an_even_part(cells: float) -> None:
    rng = np.random.default_rng(8)
    labels = rng.random(3_000) < 0.5
    whole = LabelledRows.of(numbers(rng.normal(size=(3_000, 5))), labels)
    part = whole.thinned(cells)
    step = math.ceil(3_000 / len(part.table))
    assert (part is whole) == (cells >= 15_000)
    assert len(part.table) * 5 <= max(cells, 5 * 300)
    assert len(part.table) >= 256
    assert np.array_equal(part.table.numbers, whole.table.numbers[::step])
    assert np.array_equal(part.ones, labels[::step])
    assert np.array_equal(part.zeros, ~labels[::step])
    assert part.draws == len(part.table)


# --- the codebook: one column in cells


def test_few_values_have_a_cell_each() -> None:
    book = Codebook.of(numbers([3.0, 1.0, 2.0, 1.0]))
    cells = book.index(numbers([1.0, 2.0, 3.0]))
    assert len(set(cells.tolist())) == 3
    assert book.rows.numbers[cells, 0].tolist() == [1.0, 2.0, 3.0]


def test_cells_are_intervals_that_hold_their_value_and_split_the_past_evenly() -> None:
    """Null: no cell holds more than three even shares; held for 40 of 40 seeds.

    Alternative: 128 cells instead of 512, caught for 40 of 40 seeds.
    """
    values = np.random.default_rng(0).normal(size=20_000)
    book = Codebook.of(numbers(values))
    cells = book.index(numbers(values))
    assert np.all(np.diff(cells[np.argsort(values)]) >= 0)
    counts = np.bincount(cells)
    assert counts.max() <= 3 * 20_000 / 512
    assert len(book.rows) <= 1_100
    occupied = np.flatnonzero(counts)
    found = book.index(numbers(book.rows.numbers[occupied, 0]))
    assert np.array_equal(found, occupied)


def test_the_tails_are_cut_finer_than_the_middle() -> None:
    values = np.sort(np.random.default_rng(1).normal(size=60_000))
    counts = np.bincount(Codebook.of(numbers(values)).index(numbers(values)))
    assert counts[:3].max() < np.median(counts) / 4
    assert counts[-3:].max() < np.median(counts) / 4


def test_a_value_that_repeats_has_a_cell_of_its_own() -> None:
    values = np.random.default_rng(2).normal(size=10_000)
    values[::5] = 0.125
    book = Codebook.of(numbers(values))
    cells = book.index(numbers(values))
    assert set(values[cells == cells[0]].tolist()) == {0.125}


def test_words_have_cells_and_words_to_come_share_one() -> None:
    encoder = Encoder()
    book = Codebook.of(encoder.encode(["yes", "no", 3.0, None]))
    cells = book.index(encoder.encode(["yes", "no", 3.0, None]))
    assert len(set(cells.tolist())) == 4
    unseen = book.index(encoder.encode(["maybe", "perhaps", "yes"]))
    assert unseen[0] == unseen[1] != unseen[2] == cells[0]
    assert unseen[0] not in cells
    assert unseen.max() < len(book.rows)


def test_a_column_of_words_alone_has_a_codebook_too() -> None:
    book = Codebook.of(table("a", "b", "a"))
    assert book.index(table("a", "b"))[0] != book.index(table("a", "b"))[1]


# --- the past in bounded memory

BATCH, BATCHES = 15_000, 20


def batches(kind: str) -> list[npt.NDArray[Any]]:
    rng = np.random.default_rng(3)
    shape = {"scalar": (BATCH,), "vector": (BATCH, 3), "discrete": (BATCH, 4)}[kind]
    if kind == "discrete":
        return [rng.integers(0, 3, size=shape) for _ in range(BATCHES)]
    return [rng.normal(size=shape) for _ in range(BATCHES)]


@pytest.mark.parametrize(
    ("kind", "rows", "kept"),
    [("scalar", 1_100, BATCH * BATCHES), ("vector", 65_536, None), ("discrete", 81, None)],
)
def test_memory_does_not_grow_with_the_draws(kind: str, rows: int, kept: int | None) -> None:
    past, rng, encoder = Past(), np.random.default_rng(4), Encoder()
    for outputs in batches(kind):
        past.add(encoder.encode(outputs), coin(len(outputs), rng))
        seen = past.seen
        assert len(seen.table) <= rows
        assert len(seen.ones) == len(seen.zeros) == len(seen.exact) == len(seen.table)
    assert seen.draws == BATCH * BATCHES
    held = sum(len(part) for part in past._tables)
    assert held <= 262_144 + BATCH
    total = seen.ones.sum() + seen.zeros.sum()
    assert total <= seen.draws
    if kept is not None:
        assert total == kept


def test_until_something_is_dropped_the_counts_are_those_of_all_draws() -> None:
    rng, encoder, past = np.random.default_rng(5), Encoder(), Past()
    values, labels = rng.integers(0, 4, size=(30_000, 2)), coin(30_000, rng)
    for first in range(0, 30_000, 700):
        part = slice(first, first + 700)
        past.add(encoder.encode(values[part]), labels[part])
        assert past.seen.ones.sum() + past.seen.zeros.sum() == past.draws
    seen = past.seen
    for row, ones, zeros in zip(seen.table.numbers, seen.ones, seen.zeros, strict=True):
        same = np.all(values == row, axis=1)
        assert (ones, zeros) == (np.sum(same & labels), np.sum(same & ~labels))


@pytest.mark.parametrize("size", [50, 2_000, 30_000, 300_000])
@pytest.mark.parametrize("kind", ["scalar", "discrete"])
def test_compressed_outputs_meet_their_own_rows(kind: str, size: int) -> None:
    """What is counted and what is guessed must be about the same rows.

    Null: half of all outputs lie within 0.01 of their cell's value; held for 40 of 40 seeds.
    Alternative: 64 cells instead of 512, caught for 20 of 20 seeds.
    """
    rng, encoder, past = np.random.default_rng(6), Encoder(), Past()
    values = rng.normal(size=size) if kind == "scalar" else rng.integers(0, 3, size=(size, 2))
    labels = coin(size, rng)
    for first in range(0, size, 10_000):
        part = slice(first, first + 10_000)
        past.add(encoder.encode(values[part]), labels[part])
    seen = encoder.encode(values[:1_000])
    rows, index = past.compress(seen)
    assert len(index) == len(seen)
    assert len(rows) <= max(1_100, len(seen))
    if kind == "discrete" or size <= 2_048:
        assert np.array_equal(rows.numbers[index], seen.numbers)
    elif kind == "scalar":
        spread = np.abs(rows.numbers[index, 0] - seen.numbers[:, 0])
        assert np.median(spread) < 0.01


def test_a_late_field_keeps_the_draws_before_it() -> None:
    encoder, past = Encoder(), Past()
    past.add(encoder.encode([{"a": 1.0}] * 10), np.ones(10, dtype=np.bool_))
    wide = encoder.encode([{"a": 1.0, "b": 2.0}] * 5)
    past.widen(encoder.widen)
    past.add(wide, np.zeros(5, dtype=np.bool_))
    seen = past.seen
    assert seen.table.columns == wide.columns
    assert (seen.draws, seen.ones.sum(), seen.zeros.sum()) == (15, 10.0, 5.0)


def test_equal_rows_have_equal_keys_and_others_do_not() -> None:
    grid = np.stack(np.meshgrid(*[np.arange(-3, 4)] * 4), axis=-1).reshape(-1, 4)
    keys = row_keys(numbers(grid))
    assert len(set(keys.tolist())) == len(grid)
    assert np.array_equal(keys, row_keys(numbers(grid.copy())))
    assert row_keys(numbers([[0.0, 1.0]]))[0] == row_keys(numbers([[-0.0, 1.0]]))[0]
    encoder = Encoder()
    alone = encoder.encode(np.array([[1.0, 2.0]]))
    beside = encoder.encode([[1.0, 2.0], [1.0, None]])
    assert alone.atoms is None
    assert row_keys(alone)[0] == row_keys(beside)[0]  # whatever the other rows have
    mixed = row_keys(encoder.encode([[1.0, "a"], [1.0, "b"], [0.0, "a"], [1.0, None], [1.0, "a"]]))
    assert len(set(mixed.tolist())) == 4
    assert mixed[0] == mixed[4]


# --- the cell of a number -------------------------------------------------------------------------

FAMILIES = ("normal", "heavy", "huge", "integers", "one value among others")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("edges", [0, 1, 2, 7, 600, 5_000])
def test_a_lookup_finds_what_a_search_finds(family: str, edges: int) -> None:
    rng = np.random.default_rng(8)
    numbers = {
        "normal": rng.normal(size=20_000),
        "heavy": rng.standard_cauchy(size=20_000) ** 5,
        "huge": np.sign(rng.normal(size=20_000)) * 10.0 ** rng.uniform(-320, 308, size=20_000),
        "integers": rng.integers(-40, 40, size=20_000).astype(float),
        "one value among others": np.where(rng.random(20_000) < 0.5, 0.25, rng.normal(size=20_000)),
    }[family]
    numbers[:6] = [0.0, -0.0, 5e-324, -5e-324, 1.7e308, -1.7e308]
    chosen = np.unique(rng.choice(numbers, size=edges))
    chosen = np.unique(np.concatenate([chosen, np.nextafter(chosen, np.inf)]))
    expected = np.searchsorted(chosen, numbers, side="right")
    assert np.array_equal(Lookup(chosen).index(numbers), expected)
