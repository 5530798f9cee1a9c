"""The rows that bets are tuned on: at most 8,192, spread evenly, and those guessers are sure of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dpaudit.betting import MAX_TUNING_ROWS, PairBettor, book_for
from dpaudit.betting.tuning_rows import TuningRows
from dpaudit.claims import PureDP
from dpaudit.guessing import LabelledRows, described_past
from dpaudit.guessing.columns import described, laplace
from dpaudit.guessing.sparse import _parts
from dpaudit.outputs import Encoder, Table

Floats = npt.NDArray[np.float64]


def past(rows: int, columns: int = 2) -> LabelledRows:
    numbers = np.arange(rows * columns * 1.0).reshape(rows, columns)
    return LabelledRows.of(Table(numbers, None), np.arange(rows) % 2 == 0)


@pytest.mark.parametrize(("size", "rows"), [(10, 3), (10, 10), (9, 10), (65_536, 8_000)])
def test_an_even_part_has_that_many_rows_at_even_distances(size: int, rows: int) -> None:
    whole = past(size, columns=1)
    part = whole.even_part(rows)
    places = part.table.numbers[:, 0]
    assert len(places) == min(size, rows)
    assert (part is whole) == (size <= rows)
    assert np.ptp(np.diff(places)) <= 1.0
    np.testing.assert_array_equal(part.ones, whole.ones[places.astype(int)])


def test_a_short_past_is_tuned_on_as_it_is() -> None:
    short = past(MAX_TUNING_ROWS)
    rows, mass = TuningRows().of(short)
    assert rows is short.table
    np.testing.assert_array_equal(mass, np.ones(MAX_TUNING_ROWS))


def test_the_rows_of_a_long_past_stand_for_all_draws() -> None:
    rows, mass = TuningRows().of(past(3 * MAX_TUNING_ROWS))
    assert len(rows) == MAX_TUNING_ROWS
    np.testing.assert_allclose(mass, 3.0)


def test_what_a_guesser_was_surest_of_stays_until_it_is_surer_of_others() -> None:
    tuning, long = TuningRows(), past(2 * MAX_TUNING_ROWS + 1)
    marks = Table(-1.0 - np.arange(8.0).reshape(4, 2), None)  # no row of the past is like these
    four = np.array([[0.0, 3.0, -2.0, 1.0], [0.0, 0.5, 0.1, -0.5]])
    tuning.note(marks, four, np.ones(4))
    more = Table(np.array([[-90.0, -91.0], [-92.0, -93.0]]), None)
    tuning.note(more, np.array([[2.9, -2.1], [0.4, 0.7]]), np.ones(2))
    rows, mass = tuning.of(long)
    assert len(rows) == MAX_TUNING_ROWS
    kept = rows.numbers[:, 0] < 0.0
    # Surest for data: row 1 (3.0) and the last (0.7); for the neighbour: the last and row 3.
    assert set(rows.numbers[kept, 0]) == {-3.0, -7.0, -92.0}
    assert mass[kept].tolist() == [1.0] * 3
    assert mass[~kept].sum() == pytest.approx(2 * MAX_TUNING_ROWS + 1)
    # At the next fit the guesses are new, and so is what the guessers are surest of.
    tuning.note(rows, np.zeros((1, len(rows))), mass)
    assert np.all(tuning.of(long)[0].numbers >= 0.0)


def test_rows_that_came_after_a_refutation_are_not_remembered() -> None:
    tuning, marks = TuningRows(), Table(-1.0 - np.arange(6.0).reshape(3, 2), None)
    tuning.note(marks, np.array([[1.0, -1.0, 9.0]]), np.array([1.0, 1.0, 0.0]))
    rows, _ = tuning.of(past(MAX_TUNING_ROWS + 1))
    assert set(rows.numbers[rows.numbers[:, 0] < 0.0, 0]) == {-1.0, -3.0}


def without_words(seen: LabelledRows, rows: int) -> LabelledRows:
    return seen.take(np.flatnonzero(seen.table.codes()[:, 0] < 0)[:rows])


class Noted:
    """A book that notes on how many rows it was tuned, and otherwise is the one of a claim."""

    def __init__(self) -> None:
        self._book: Any = book_for(PureDP(1.0))
        self.tuned: list[int] = []
        self.boldest: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._book, name)

    def tune(self, average: Floats, guesses: Floats, mass: Floats, settled: int) -> None:
        self.tuned.append(guesses.shape[1])
        self.boldest.append(float(np.abs(guesses).max()))
        assert average.shape == mass.shape == (guesses.shape[1],)
        self._book.tune(average, guesses, mass, settled)


def test_tuning_never_sees_more_rows_and_still_sees_rare_outputs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Five of 30,000 draws say which dataset they are from, and the even part misses them all."""
    monkeypatch.setattr(LabelledRows, "even_part", without_words)
    rng, encoder, draws = np.random.default_rng(3), Encoder(), 30_000
    labels = rng.random(draws) < 0.5
    outputs = rng.laplace(size=(draws, 2))
    leaks = np.array([2_000, 3_000, 4_000, 5_000, 12_000])
    labels[leaks], outputs[leaks, 0] = True, math.nan
    table, book = encoder.encode(outputs), Noted()
    bettor = PairBettor(book, encoder)
    while bettor.draws < draws:
        batch = slice(bettor.draws, bettor.draws + bettor.next_batch(patience=2.0))
        bettor.play(table.take(batch), labels[batch], target=math.inf)
    bettor._fitted()
    assert max(book.tuned) == MAX_TUNING_ROWS
    assert book.boldest[-1] == pytest.approx(math.log(5.5 / 0.5))  # of what is missing


def test_draws_are_summed_up_as_rows_that_count_twice() -> None:
    rng = np.random.default_rng(1)
    numbers = np.column_stack([rng.normal(size=500), rng.integers(3, size=500)])
    once = LabelledRows.of(Table(numbers, None), rng.random(500) < 0.5)
    twice = LabelledRows(once.table, 2.0 * once.ones, 2.0 * once.zeros, once.exact, 1_000)
    summaries = (described_past(seen).summaries for seen in (once, twice))
    for one, two in zip(*summaries, strict=True):
        assert (one.median, one.repeated.tolist()) == (two.median, two.repeated.tolist())
        np.testing.assert_array_equal(one.ordered, two.ordered)
        np.testing.assert_array_equal(2.0 * one.below, two.below)
        np.testing.assert_array_equal(one.scales, two.scales)


def test_the_design_of_all_columns_holds_that_of_each() -> None:
    rng, encoder = np.random.default_rng(2), Encoder()
    numbers = np.column_stack([rng.normal(size=300), rng.integers(3, size=300), np.full(300, 7.0)])
    outputs = numbers.tolist()
    for row in range(0, 300, 9):
        outputs[row][0] = None
    table = encoder.encode(outputs)
    whole = described_past(LabelledRows.of(table, rng.random(300) < 0.5))
    design, parts = whole.design(laplace), _parts(whole.summaries)
    assert parts[-1].stop == design.shape[1]
    for column, part in zip(whole.summaries, parts, strict=True):
        alone = described(Table(table.numbers, table.atoms), (column,)).design(laplace)
        np.testing.assert_array_equal(design[:, part], alone[:, 1:])
