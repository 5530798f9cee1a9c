"""Outputs counted where they are drawn: the same cells, and cells that follow what comes."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elsewhere import told_apart

import dpaudit
from dpaudit.arrays import Floats
from dpaudit.betting import PairBettor, book_for
from dpaudit.guessing import Past
from dpaudit.mechanism import packed
from dpaudit.outputs import CellReader, CountedOutputs, Encoder

CLAIM = dpaudit.PureDP(1.0)
PAIR = dpaudit.pairs([(["me"], [])])
SAMPLES = 600_000
SEEN = 300_000  # draws after which they are only counted


def laplace_count(data: Any, size: int, rng: np.random.Generator) -> Floats:
    """Exactly 1-DP where one record is added."""
    return len(data) + rng.laplace(size=size)


def counted(reader: CellReader, outputs: Floats) -> CountedOutputs:
    found = reader(outputs)
    assert isinstance(found, CountedOutputs)
    return found


def long_past(outputs: Floats, labels: Any) -> Past:
    past, encoder = Past(), Encoder()
    past.add(encoder.encode(outputs), labels)
    assert past.seen.draws == len(outputs)
    return past


@pytest.mark.parametrize(
    "outputs",
    [
        np.array([0.5, -3.0, 0.5, 9.0, 1.0, np.nan, np.inf, -np.inf, -np.inf]),
        np.arange(-5, 5),
        np.array([True, False]),
        np.array([0.0, -0.0, 1.0], dtype=np.float32),
        np.full(7, 2.5),
        np.array([np.nan, np.nan]),
    ],
)
def test_cells_ends_and_repeats_are_those_of_a_naive_count(outputs: Floats) -> None:
    edges = np.array([-1.0, 0.0, 1.0, 2.5])
    found = counted(CellReader(edges, least=-2.0, most=2.0), outputs)
    finite = [float(one) for one in outputs if np.isfinite(one)]
    places = Counter(int(np.count_nonzero(edges <= one)) for one in finite)
    assert found.cells.tolist() == [places[cell] for cell in range(5)]
    assert sum(found.words.values()) == len(outputs) - len(finite)
    assert found.low.tolist() == sorted(one for one in finite if one < -2.0)
    assert found.high.tolist() == sorted(one for one in finite if one > 2.0)
    repeats = {value: times for value, times in Counter(finite).items() if times > 1}
    assert dict(zip(found.repeated.tolist(), found.times.tolist(), strict=True)) == repeats
    assert len(found) == len(outputs)


@pytest.mark.parametrize("outputs", [["a", 1.0], np.zeros((2, 3)), np.array([2**60, 1])])
def test_what_is_not_one_number_each_is_given_back(outputs: Any) -> None:
    assert CellReader(np.zeros(1), least=0.0, most=0.0)(outputs) is outputs


def test_words_fall_into_the_cells_that_a_table_gives_them() -> None:
    rng = np.random.default_rng(7)
    outputs = rng.normal(size=SEEN)
    outputs[::100] = np.nan
    past = long_past(outputs, rng.random(SEEN) < 0.5)
    more = rng.normal(size=2_000)
    more[::7], more[::11] = np.nan, np.inf
    reader, encoder = past.reader, Encoder()
    assert reader is not None
    by_count = past.counts(0, counted(reader, more))
    by_table = past.counts(0, encoder.encode(more))
    np.testing.assert_array_equal(by_count, by_table)
    assert by_count[0].sum() == 0
    assert by_count[1].sum() == len(more)


def test_a_value_that_repeats_gets_a_cell_and_no_count_is_lost() -> None:
    """Also where a tail is cut: what was seen beyond the edges is counted where it belongs."""
    rng = np.random.default_rng(7)
    past = long_past(rng.normal(size=SEEN), rng.random(SEEN) < 0.5)
    cells = len(past.rows)
    for _ in range(3):
        outputs = rng.normal(size=50_000)
        outputs[:4], outputs[4:20] = 0.123, rng.uniform(10.0, 11.0, size=16)
        assert past.reader is not None
        seen = counted(past.reader, outputs)
        past.add_counted(past.counts(0, seen), [(0, seen)])
    before = past.seen.ones.sum(), past.seen.zeros.sum()
    past.refine()
    rows, ones = past.seen.table.numbers[:, 0], past.seen.ones
    assert len(rows) > cells + 2
    assert ones[rows == 0.123].tolist() == [12.0]
    assert past.seen.exact[rows == 0.123].tolist() == [True]
    assert ones[rows >= 10.0].max() <= 24  # 48 outputs there, halved again and again
    assert past.seen.ones.sum() == pytest.approx(before[0], rel=1e-12)
    assert past.seen.zeros.sum() == pytest.approx(before[1], rel=1e-12)
    again = len(past.rows)
    past.refine()
    assert len(past.rows) == again


def test_collisions_of_coarse_numbers_get_no_cells() -> None:
    """In float32 many values come twice by chance; none of them stands out."""
    rng = np.random.default_rng(7)
    past = long_past(rng.normal(size=SEEN).astype(np.float32), rng.random(SEEN) < 0.5)
    cells = len(past.rows)
    assert past.reader is not None
    seen = counted(past.reader, rng.normal(size=500_000).astype(np.float32))
    assert len(seen.repeated) == 128
    past.add_counted(past.counts(0, seen), [(0, seen)])
    past.refine()
    assert len(past.rows) < cells + 60


def test_a_counted_shard_is_paid_as_its_outputs_would_be() -> None:
    """To rounding: the payoff depends on the counts by cell and label alone."""
    encoder = Encoder()
    bettors = [PairBettor(book_for(CLAIM), encoder) for _ in range(2)]
    rng = np.random.default_rng(7)
    for _ in range(6):
        labels = rng.random(60_000) < 0.5
        table = encoder.encode(rng.laplace(size=60_000) + 1.5 * labels)
        for bettor in bettors:
            bettor.play(table, labels, target=np.inf)
    reader = bettors[0].reader()
    assert reader is not None
    assert bettors[1].reader() is not None
    labels = rng.random(50_000) < 0.5
    outputs = rng.laplace(size=50_000) + 1.5 * labels
    shard = [(side, counted(reader, outputs[labels == (side == 0)])) for side in (0, 1)]
    before = bettors[0].log_wealth.copy()
    assert bettors[0].play_counted(shard, target=np.inf) is False
    bettors[1].play(encoder.encode(outputs), labels, target=np.inf)
    assert np.any(bettors[0].log_wealth > before + 1.0)
    np.testing.assert_allclose(bettors[0].log_wealth, bettors[1].log_wealth, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(bettors[0].sample.ones, bettors[1].sample.ones)


def test_a_side_with_a_new_field_is_bet_on_as_it_looked_before_and_ends_the_counting() -> None:
    """Its row tells the side; but no bet knows the field yet, so it is worth what a word is."""
    encoder = Encoder()
    bettor = PairBettor(book_for(CLAIM), encoder)
    rng = np.random.default_rng(7)
    for _ in range(6):
        labels = rng.random(60_000) < 0.5
        bettor.play(encoder.encode(rng.laplace(size=60_000)), labels, target=np.inf)
    reader = bettor.reader()
    assert reader is not None
    fields = encoder.encode([*([[1.0, 2.0]] * 300), *rng.laplace(size=700).tolist()])
    assert fields.columns > 1
    shard = ((0, fields), (1, counted(reader, rng.laplace(size=1_000))))
    draws, wealth = bettor.draws, bettor.log_wealth.max()
    bettor.play_counted(shard, target=np.inf)
    assert bettor.draws == draws + 2_000
    assert bettor.log_wealth.max() < wealth + 1.0
    assert bettor.reader() is None
    assert bettor.sample.table.columns == fields.columns


def audit(mechanism: Any = laplace_count, **options: Any) -> dpaudit.Audit:
    return dpaudit.audit(mechanism, CLAIM, PAIR, **{"samples": SAMPLES, "rng": 7, **options})


@pytest.fixture(scope="module")
def here() -> dict[str, object]:
    return told_apart(audit())


@pytest.fixture(scope="module")
def threads() -> Any:
    with ThreadPoolExecutor(3) as pool:
        yield pool


def test_the_audit_is_the_same_in_threads_and_processes(
    here: dict[str, object], threads: Executor
) -> None:
    assert told_apart(audit(executor=threads)) == here
    assert told_apart(audit(workers=2)) == here


def test_counts_are_kept_and_read_again(here: dict[str, object], tmp_path: Path) -> None:
    store = tmp_path / "audit.sqlite"
    drawn: list[int] = []

    def watched(data: Any, size: int, rng: np.random.Generator) -> Floats:
        drawn.append(size)
        return laplace_count(data, size, rng)

    first = told_apart(audit(watched, store=store))
    assert sum(drawn) == first["samples"]
    assert told_apart(audit(watched, store=store)) == first
    assert sum(drawn) == first["samples"]
    assert {**first, "mechanism": here["mechanism"], "target": here["target"]} == here
    assert store.stat().st_size < 5 * SEEN * 8  # and not all outputs


def rarely(odd: Any, share: float) -> Any:
    """A correct count of which a share of the outputs is odd."""

    def count(data: Any, size: int, rng: np.random.Generator) -> Any:
        outputs = laplace_count(data, size, rng)
        places = np.flatnonzero(rng.random(size) < share)
        if len(places) == 0:
            return outputs
        if isinstance(odd, float):
            outputs[places] = odd
            return outputs
        return [odd if place in set(places) else one for place, one in enumerate(outputs.tolist())]

    return count


@pytest.mark.filterwarnings("ignore::dpaudit.HealthWarning")
@pytest.mark.parametrize("odd", [np.nan, None, "word"], ids=repr)
def test_an_odd_output_late_in_a_correct_audit_accuses_nobody(odd: Any) -> None:
    """About three of them come in an audit, most while draws are counted: new words.

    Alternative: an output of another kind tells the side of its call; then nearly every one wins.
    """
    found = audit(rarely(odd, 4e-6), alpha=1e-3, samples=800_000)
    assert not found.refuted
    assert found.samples > 700_000


@pytest.mark.filterwarnings("ignore::dpaudit.HealthWarning")
@pytest.mark.parametrize("odd", [np.nan, None], ids=repr)
def test_an_odd_output_of_one_side_is_found_however_late(odd: Any) -> None:
    rare = rarely(odd, 1e-4)

    def leaks(data: Any, size: int, rng: np.random.Generator) -> Any:
        return rare(data, size, rng) if len(data) else laplace_count(data, size, rng)

    assert audit(leaks, samples=3_000_000).refuted


def test_the_errors_of_a_counted_call_are_outputs() -> None:
    drawn = [0]

    def fails(data: Any, size: int, rng: np.random.Generator) -> Floats:
        drawn[0] += size
        if drawn[0] > 350_000:
            raise ArithmeticError("no luck")
        return laplace_count(data, size, rng)

    with pytest.warns(dpaudit.HealthWarning, match="no luck"):
        found = audit(fails, samples=380_000)
    assert not found.refuted


def test_little_travels() -> None:
    """At most 40 kB for a million draws, there and back: both sides of a shard."""
    rng = np.random.default_rng(7)
    past = long_past(rng.laplace(size=SEEN), rng.random(SEEN) < 0.5)
    assert past.reader is not None
    sides = [past.reader(rng.laplace(size=2**19)) for _ in range(2)]
    there = len(packed((past.reader, ["me"], 2**19, np.random.SeedSequence(7))))
    assert 2 * there + len(packed(sides)) < 40_000


def test_shards_of_several_workers_are_counted_alike_when_the_time_is_limited(
    threads: Executor,
) -> None:
    """What a call shared among workers gives is bet on before the cells change."""
    found = audit(samples=10**8, seconds=2.0, executor=threads)
    assert not found.refuted
    assert found.samples > 2 * SEEN
