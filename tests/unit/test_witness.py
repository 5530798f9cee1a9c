"""Experts that guess labels: what they remember, count and find, and what they survive."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from scipy.special import expit, log_expit

from dpaudit.guessing import (
    Atoms,
    Boosted,
    Codebook,
    Ensemble,
    LinearBank,
    Sample,
    cosines,
    gaussian,
    laplace,
    newton,
    normal_scores,
    prepare,
    row_keys,
)
from dpaudit.guessing.bins import Bins
from dpaudit.guessing.columns import View
from dpaudit.outputs import Encoder, Table

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.bool_]


def table(*outputs: Any) -> Table:
    return Encoder().encode(list(outputs))


def numbers(values: Any) -> Table:
    return Encoder().encode(np.asarray(values))


def past(seen: Table, labels: Any) -> Sample:
    sample = Sample()
    sample.add(seen, np.asarray(labels, dtype=np.bool_))
    return sample


def fitted(expert: Any, sample: Sample) -> Any:
    expert.fit(sample, View(prepare(sample), sample.rows))
    return expert


def logits(expert: Any, sample: Sample, seen: Table) -> Floats:
    return np.asarray(expert.logits(View(prepare(sample), seen)))


@pytest.mark.parametrize("cells", [1.0, 3_000.0, 10_000.0, 1e9, math.inf])
def test_a_thinned_sample_is_an_even_part_of_it(cells: float) -> None:
    rng = np.random.default_rng(8)
    labels = rng.random(3_000) < 0.5
    whole = past(numbers(rng.normal(size=(3_000, 5))), labels)
    part = whole.thinned(cells)
    step = math.ceil(3_000 / len(part.rows))
    assert (part is whole) == (cells >= 15_000)
    assert len(part.rows) * 5 <= max(cells, 5 * 300)
    assert len(part.rows) >= 256
    assert np.array_equal(part.rows.numbers, whole.rows.numbers[::step])
    assert np.array_equal(part.ones, labels[::step])
    assert np.array_equal(part.zeros, ~labels[::step])


def coin(size: int, rng: np.random.Generator) -> Labels:
    return np.asarray(rng.integers(0, 2, size=size, dtype=np.bool_))


# --- the codebook: one column in cells


def test_few_values_have_a_cell_each() -> None:
    book = Codebook(numbers([3.0, 1.0, 2.0, 1.0]))
    cells = book.index(numbers([1.0, 2.0, 3.0]))
    assert len(set(cells.tolist())) == 3
    assert book.rows.numbers[cells, 0].tolist() == [1.0, 2.0, 3.0]


def test_cells_are_intervals_that_hold_their_value_and_split_the_past_evenly() -> None:
    values = np.random.default_rng(0).normal(size=20_000)
    book = Codebook(numbers(values))
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
    counts = np.bincount(Codebook(numbers(values)).index(numbers(values)))
    assert counts[:3].max() < np.median(counts) / 4
    assert counts[-3:].max() < np.median(counts) / 4


def test_a_value_that_repeats_has_a_cell_of_its_own() -> None:
    values = np.random.default_rng(2).normal(size=10_000)
    values[::5] = 0.125
    book = Codebook(numbers(values))
    cells = book.index(numbers(values))
    assert set(values[cells == cells[0]].tolist()) == {0.125}


def test_words_have_cells_and_words_to_come_share_one() -> None:
    encoder = Encoder()
    book = Codebook(encoder.encode(["yes", "no", 3.0, None]))
    cells = book.index(encoder.encode(["yes", "no", 3.0, None]))
    assert len(set(cells.tolist())) == 4
    unseen = book.index(encoder.encode(["maybe", "perhaps", "yes"]))
    assert unseen[0] == unseen[1] != unseen[2] == cells[0]
    assert unseen[0] not in cells
    assert unseen.max() < len(book.rows)


def test_a_column_of_words_alone_has_a_codebook_too() -> None:
    book = Codebook(table("a", "b", "a"))
    assert book.index(table("a", "b"))[0] != book.index(table("a", "b"))[1]


# --- the sample: the past in bounded memory

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
    sample, rng, encoder = Sample(), np.random.default_rng(4), Encoder()
    for outputs in batches(kind):
        sample.add(encoder.encode(outputs), coin(len(outputs), rng))
        assert len(sample.rows) <= rows
        assert len(sample.ones) == len(sample.zeros) == len(sample.rows)
    assert sample.size == BATCH * BATCHES
    held = sum(len(part) for part in sample._tables)
    assert held <= 65_536 + BATCH
    total = sample.ones.sum() + sample.zeros.sum()
    assert total <= sample.size
    if kept is not None:
        assert total == kept


def test_until_something_is_dropped_the_counts_are_those_of_all_draws() -> None:
    rng, encoder, sample = np.random.default_rng(5), Encoder(), Sample()
    values, labels = rng.integers(0, 4, size=(30_000, 2)), coin(30_000, rng)
    for first in range(0, 30_000, 700):
        part = slice(first, first + 700)
        sample.add(encoder.encode(values[part]), labels[part])
        assert sample.ones.sum() + sample.zeros.sum() == sample.size
    for row, ones, zeros in zip(sample.rows.numbers, sample.ones, sample.zeros, strict=True):
        same = np.all(values == row, axis=1)
        assert (ones, zeros) == (np.sum(same & labels), np.sum(same & ~labels))


@pytest.mark.parametrize("size", [50, 3_000, 30_000, 200_000])
@pytest.mark.parametrize("kind", ["scalar", "discrete"])
def test_compressed_outputs_meet_their_own_rows(kind: str, size: int) -> None:
    """What is counted and what is guessed must be about the same rows."""
    rng, encoder, sample = np.random.default_rng(6), Encoder(), Sample()
    values = rng.normal(size=size) if kind == "scalar" else rng.integers(0, 3, size=(size, 2))
    labels = coin(size, rng)
    for first in range(0, size, 10_000):
        part = slice(first, first + 10_000)
        sample.add(encoder.encode(values[part]), labels[part])
    seen = encoder.encode(values[:1_000])
    rows, index = sample.compress(seen)
    assert len(index) == len(seen)
    assert len(rows) <= max(1_100, len(seen))
    if kind == "discrete" or size <= 4_096:
        assert np.array_equal(rows.numbers[index], seen.numbers)
    elif kind == "scalar":
        spread = np.abs(rows.numbers[index, 0] - seen.numbers[:, 0])
        assert np.median(spread) < 0.01


def test_a_late_field_keeps_the_draws_before_it() -> None:
    encoder, sample = Encoder(), Sample()
    sample.add(encoder.encode([{"a": 1.0}] * 10), np.ones(10, dtype=np.bool_))
    wide = encoder.encode([{"a": 1.0, "b": 2.0}] * 5)
    sample.widen(encoder.widen)
    sample.add(wide, np.zeros(5, dtype=np.bool_))
    assert sample.rows.columns == wide.columns
    assert (sample.size, sample.ones.sum(), sample.zeros.sum()) == (15, 10.0, 5.0)


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


# --- columns: ranks and indicators


def test_ranks_lie_between_0_and_1_and_follow_the_past() -> None:
    values = np.random.default_rng(7).normal(size=999)
    (column,) = prepare(past(numbers(values), np.arange(999) % 2 == 0))
    assert column.rank(np.array([-1e300]))[0] > 0.0
    assert column.rank(np.array([1e300]))[0] < 1.0
    expected = (stats.rankdata(values) - 0.5 + 0.5) / 1_000
    assert np.allclose(column.rank(values), expected, atol=1e-12)
    assert column.rank(np.array([np.median(values)]))[0] == pytest.approx(0.5)


def test_what_repeats_has_an_indicator() -> None:
    encoder = Encoder()
    outputs = [*np.random.default_rng(8).normal(size=100).tolist(), *[7.0] * 50, *["no"] * 30, None]
    seen = encoder.encode(outputs)
    (column,) = prepare(past(seen, np.arange(len(outputs)) % 2 == 0))
    indicators = column.indicators(seen)
    assert indicators.shape == (len(outputs), 2)  # one None is no repetition
    assert sorted(indicators.sum(axis=0).tolist()) == [30.0, 50.0]
    plain = column.plain(seen)
    assert plain is not None
    assert plain.tolist() == [True] * 100 + [False] * 81
    assert np.all(indicators.sum(axis=1)[:180] + plain[:180] == 1)


# --- ridge logistic regression


@pytest.mark.parametrize("penalty", [0.3, 3.0, 30.0])
def test_newton_finds_what_scikit_learn_finds(penalty: float) -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(9)
    features = rng.normal(size=(300, 4))
    ones, zeros = rng.integers(0, 5, size=(2, 300)).astype(np.float64)
    penalties = penalty * np.array([1.0, 0.5, 2.0, 4.0])
    mode, covariance = np.zeros((1, 4)), np.empty(0)
    for _ in range(5):
        mode, covariance = newton(features[None], ones, zeros, penalties[None], mode)
    scaled = features / np.sqrt(penalties)  # a penalty of 1 on the scaled coefficients
    model = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=10_000)
    model.fit(
        np.concatenate([scaled, scaled]),
        np.repeat([1, 0], 300),
        sample_weight=np.concatenate([ones, zeros]),
    )
    assert np.allclose(mode[0] * np.sqrt(penalties), model.coef_[0], atol=1e-5)
    guess = expit(features @ mode[0])
    weight = (ones + zeros) * guess * (1 - guess)
    hessian = (features.T * weight) @ features + np.diag(penalties)
    assert np.allclose(covariance[0] @ hessian, np.eye(4), atol=1e-3)


def test_newton_does_not_run_away_where_the_sides_are_told_apart_completely() -> None:
    features = np.repeat([[-1.0], [1.0]], 500, axis=0)[None]
    ones = np.repeat([0.0, 1.0], 500)
    mode = np.zeros((1, 1))
    for _ in range(20):
        mode, covariance = newton(features, ones, 1.0 - ones, np.full((1, 1), 0.3), mode)
        assert np.isfinite(mode).all()
        assert np.isfinite(covariance).all()
    gradient = 1_000 * expit(-mode[0, 0]) - 0.3 * mode[0, 0]
    assert abs(gradient) < 1e-3


NOISES = {"gaussian": stats.norm, "laplace": stats.laplace}


@pytest.mark.parametrize("noise", sorted(NOISES))
@pytest.mark.parametrize("sides", [((1.0, 1.0), (0.0, 1.0)), ((0.0, 2.0), (0.0, 1.0))])
@pytest.mark.parametrize("feature_map", ["own", "normal_scores", "cosines"])
def test_linear_experts_find_shift_and_scale(noise: str, sides: Any, feature_map: str) -> None:
    """The loss on fresh draws is within 0.02 nats of the true log-odds'."""
    rng = np.random.default_rng(10)
    data, neighbour = (NOISES[noise](*side) for side in sides)
    labels = coin(8_000, rng)
    values = np.where(
        labels, data.rvs(8_000, random_state=rng), neighbour.rvs(8_000, random_state=rng)
    )
    own = {"gaussian": gaussian, "laplace": laplace}[noise]
    made = {
        "own": (own, np.ones(2)),
        "normal_scores": (normal_scores, np.ones(2)),
        "cosines": (cosines(12), 0.3 * np.arange(1.0, 13.0) ** 2),
    }
    expert, seen = LinearBank((made[feature_map],)), past(numbers(values[:4_000]), labels[:4_000])
    guess = logits(fitted(expert, seen), seen, numbers(values[4_000:]))[0]
    truth = data.logpdf(values[4_000:]) - neighbour.logpdf(values[4_000:])
    sign = np.where(labels[4_000:], 1.0, -1.0)
    assert log_expit(sign * guess).mean() > log_expit(sign * truth).mean() - 0.02


# --- bins, atoms, trees


def test_bins_are_counts() -> None:
    values = np.arange(8.0)
    labels = np.array([1, 1, 1, 0, 0, 0, 0, 0])
    sample = past(numbers(values), labels)
    two, four = logits(fitted(Bins((2, 4)), sample), sample, numbers(values))
    log = math.log
    assert np.allclose(two, [log(3.5 / 1.5)] * 4 + [log(0.5 / 4.5)] * 4)
    assert np.allclose(four, np.repeat([log(2.5 / 0.5), 0.0, log(0.5 / 2.5), log(0.5 / 2.5)], 2))


def test_bins_keep_what_repeats_apart() -> None:
    encoder = Encoder()
    seen = encoder.encode([*np.linspace(0, 1, 40), *["x"] * 10, *[0.5] * 20])
    labels = np.r_[np.arange(40) % 2, np.ones(10), np.zeros(20)]
    sample = past(seen, labels)
    expert = fitted(Bins((1,)), sample)
    shown = encoder.encode(["x", 0.5, 0.31, "new"])
    word, repeated, plain, unseen = logits(expert, sample, shown)[0]
    assert word == pytest.approx(math.log(10.5 / 0.5))
    assert repeated == pytest.approx(math.log(0.5 / 20.5))
    assert abs(plain) < 0.2
    assert unseen == 0.0


def test_atoms_are_counts_and_unseen_outputs_say_nothing() -> None:
    sample = past(numbers([[0, 1], [0, 1], [1, 0], [0, 1]]), [1, 1, 0, 0])
    guess = logits(fitted(Atoms(), sample), sample, numbers([[0, 1], [1, 0], [1, 1]]))[0]
    assert np.allclose(guess, [math.log(2.5 / 1.5), math.log(0.5 / 1.5), 0.0])


def test_boosted_trees_find_an_interaction() -> None:
    rng = np.random.default_rng(11)
    values = rng.uniform(-1, 1, size=(4_000, 2))
    together = values.prod(axis=1) > 0
    labels = np.where(rng.random(4_000) < 0.9, together, ~together)
    sample = past(numbers(values[:2_000]), labels[:2_000])
    guess = logits(fitted(Boosted(), sample), sample, numbers(values[2_000:]))[0]
    assert np.mean((guess > 0) == together[2_000:]) > 0.9
    linear = LinearBank(((gaussian, np.ones(2)),))  # each column alone says nothing
    guess = logits(fitted(linear, sample), sample, numbers(values[2_000:]))[0]
    assert np.mean((guess > 0) == together[2_000:]) < 0.6


# --- all experts together


def test_the_average_lies_between_the_experts() -> None:
    rng = np.random.default_rng(12)
    ensemble, labels = Ensemble(1), coin(600, rng)
    ensemble.fit(past(numbers(rng.normal(size=600) + labels), labels))
    seen = numbers(np.linspace(-6, 6, 101))
    for _ in range(5):
        guesses = ensemble.guesses(seen)
        average = ensemble.average(guesses)
        assert np.all(average >= guesses.min(axis=0) - 1e-9)
        assert np.all(average <= guesses.max(axis=0) + 1e-9)
        ensemble.score(guesses, *rng.integers(0, 9, size=(2, 101)).astype(np.float64))


def test_experts_that_guess_well_gain_weight() -> None:
    ensemble, one = Ensemble(1), numbers([1.0])
    ensemble.fit(past(one, [True]))
    guesses = np.zeros_like(ensemble.guesses(one))
    guesses[3] = 2.0
    assert ensemble.average(guesses)[0] < 1.0
    ensemble.score(guesses, np.array([50.0]), np.array([6.0]))
    assert ensemble.average(guesses)[0] == pytest.approx(2.0, abs=0.01)


STRANGE: dict[str, list[Any]] = {
    "one row": [1.0],
    "a constant": [5.0] * 40,
    "astronomical": [1e300, -1e300, 1e299, 0.0, 1e-300] * 8,
    "huge and small": [*np.geomspace(1e-300, 1e300, 39).tolist(), -1e300],
    "not numbers": [math.nan, math.inf, -math.inf, None, 0.0] * 8,
    "nothing but NaN": [math.nan] * 40,
    "nothing but None": [None] * 40,
    "words": ["yes", "no", "perhaps", "yes"] * 10,
    "big integers": [2**200, -(2**80), 3, 2**62] * 10,
    "vectors": [[1e300, math.nan], [0.0, None], [-1e300, "x"], [1.0, 2.0]] * 10,
    "vectors of constants": [[1.0, 2.0, 3.0]] * 40,
    "dicts of lengths": [{"a": [1.0]}, {"a": []}, {"b": None}, {"a": [2.0, 3.0]}] * 10,
    "many columns": [np.full(20, float(k % 3)).tolist() for k in range(40)],
}


@pytest.mark.parametrize("kind", sorted(STRANGE))
@pytest.mark.parametrize("side", ["data alone", "neighbour alone", "both"])
def test_guesses_are_finite_whatever_the_outputs(kind: str, side: str) -> None:
    outputs, encoder = STRANGE[kind], Encoder()
    seen = encoder.encode(outputs)
    labels = np.arange(len(outputs)) % 2 == 0 if side == "both" else side == "data alone"
    sample = past(seen, np.broadcast_to(labels, len(outputs)))
    ensemble = Ensemble(seen.columns)
    assert np.isfinite(ensemble.fit(sample)).all()
    for shown in (seen, seen.take(slice(1)), Table(-seen.numbers, seen.atoms)):
        guesses = ensemble.guesses(shown)
        assert np.isfinite(guesses).all()
        assert np.isfinite(ensemble.average(guesses)).all()
        ensemble.score(guesses, np.ones(len(shown)), np.ones(len(shown)))


def test_a_rare_value_that_repeats_is_kept_apart_in_the_cells() -> None:
    rng = np.random.default_rng(3)
    outputs = rng.laplace(size=70_000)
    leaks = np.arange(0, 70_000, 7_000)
    outputs[leaks] = 0.25  # ten times in seventy thousand
    labels = rng.random(70_000) < 0.5
    labels[leaks] = True
    sample = past(numbers(outputs), labels)
    (row,) = np.flatnonzero(sample.exact)
    assert (sample.rows.numbers[row, 0], sample.ones[row], sample.zeros[row]) == (0.25, 10.0, 0.0)
    (column,) = prepare(sample)
    assert column.repeated.tolist() == [0.25]
    expert = fitted(Atoms(), sample)
    shown = numbers(np.array([0.25, 0.3, -1.0]))
    leaked, *others = logits(expert, sample, shown)[0]
    assert leaked == pytest.approx(math.log(10.5 / 0.5))
    assert others == [0.0, 0.0]


def test_whole_numbers_that_all_repeat_do_not_each_get_an_indicator() -> None:
    rng = np.random.default_rng(3)
    outputs = rng.integers(0, 5_000, size=70_000).astype(np.float64)
    sample = past(numbers(outputs), rng.random(70_000) < 0.5)
    (column,) = prepare(sample)
    assert len(column.repeated) == 0
