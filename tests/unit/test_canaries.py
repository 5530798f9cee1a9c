"""Plans of canaries, loops with canaries and the head in NumPy: all of it without torch."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit.errors import InvalidCanaries, InvalidOutput, WrongLength
from dpaudit.training import (
    Canaries,
    IsotropicCanaries,
    Null,
    canaries,
    clip_bkd,
    dirac_gradients,
    load_canaries,
    mislabelled,
    of_loop,
    out_of_distribution,
    unit_scores,
)


def test_bits_are_fair_and_follow_from_the_seed() -> None:
    plan = canaries(100_000, rng=3)
    assert abs(int(plan.bits.sum()) - 50_000) < 6 * np.sqrt(25_000)  # six deviations
    assert np.array_equal(plan.bits, canaries(100_000, rng=3).bits)
    assert not np.array_equal(plan.bits, canaries(100_000, rng=4).bits)
    assert canaries(64) != canaries(64)
    assert plan.ids.tolist() == list(range(100_000))
    assert plan.bits[plan.included].all()
    assert len(plan.included) == plan.bits.sum()


def test_runs_have_the_same_canaries_and_bits_of_their_own() -> None:
    plan = canaries(4_000, rng=3)
    fresh = [plan.fresh(run) for run in range(5)]
    assert fresh[0] == plan
    assert len({each.digest for each in fresh}) == 5
    assert fresh[3].fresh(1) == fresh[1]
    for one, other in itertools.pairwise(fresh):
        assert abs(int((one.bits == other.bits).sum()) - 2_000) < 6 * np.sqrt(1_000)
    with pytest.raises(InvalidCanaries, match="run must be at least 0, got -1"):
        plan.fresh(-1)


def test_bits_can_be_neither_changed_nor_read_in_a_log() -> None:
    plan = canaries(10, rng=3)
    with pytest.raises(ValueError, match="read-only"):
        plan.bits[0] = True
    assert repr(plan) == f"Canaries(count=10, run=0, digest={plan.digest[:12]!r})"
    assert hash(plan) == hash(canaries(10, rng=3))
    with pytest.raises(InvalidCanaries, match="count must be at least 1, got 0"):
        canaries(0)
    with pytest.raises(InvalidCanaries, match="bits must be a vector of at least one bool"):
        Canaries(bits=np.zeros(3), seed=(1,))  # type: ignore[arg-type]


def test_a_saved_plan_is_enough_for_later(tmp_path: Path) -> None:
    plan = canaries(500, rng=3).fresh(2)
    path = plan.save(tmp_path / "canaries.json")
    loaded = load_canaries(path)
    assert loaded == plan
    assert np.array_equal(loaded.bits, plan.bits)
    assert loaded.run == 2
    assert loaded.fresh(7) == plan.fresh(7)
    assert [each.name for each in tmp_path.iterdir()] == ["canaries.json"]
    canaries(3, rng=1).save(path)
    assert load_canaries(path).count == 3


def test_a_plan_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("full")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(OSError, match="full"):
        canaries(3, rng=1).save(tmp_path / "canaries.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": 2}, "has schema 2, this version reads 1"),
        ({"bits": "01x"}, "the bits as a text of 0 and 1"),
        ({"bits": ""}, "the bits as a text of 0 and 1"),
        ({"bits": [True]}, "the bits as a text of 0 and 1"),
        ({"bits": "0" * 20}, "its digest is that of another plan"),
        ({"seed": [1, -2]}, "the seed as a list of whole numbers"),
        ({"seed": "1"}, "the seed as a list of whole numbers"),
        ({"run": True}, "a run >= 0, got True"),
        ({"run": 5}, "its digest is that of another plan"),
        ({"more": 1}, "exactly the fields"),
    ],
)
def test_a_damaged_plan_says_what_is_wrong(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    path = canaries(20, rng=3).save(tmp_path / "canaries.json")
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | change), "utf-8")
    with pytest.raises(InvalidCanaries, match=said):
        load_canaries(path)


def test_a_plan_cut_short_is_refused(tmp_path: Path) -> None:
    path = canaries(20, rng=3).save(tmp_path / "canaries.json")
    path.write_text(path.read_text("utf-8")[:-20], "utf-8")
    with pytest.raises(InvalidCanaries, match="is not JSON"):
        load_canaries(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidCanaries, match="is not JSON"):
        load_canaries(path)
    path.write_text("[1, 2]", "utf-8")
    with pytest.raises(InvalidCanaries, match="exactly the fields"):
        load_canaries(path)


def test_a_loop_inserts_trains_and_scores() -> None:
    seen: list[Any] = []

    def train(included: Any, rng: np.random.Generator) -> Any:
        seen.append(included.tolist())
        return np.isin(np.arange(6), included) + rng.normal(0, 1e-9, 6)

    plan = canaries(6, rng=3)
    training = of_loop(
        train,
        insert=lambda included: included,
        score=lambda released: released,
        canaries=plan,
        claim=dpaudit.GaussianDP(1.0),
    )
    assert str(training) == "train: 1-GDP; add or remove one canary of 6 (canaries of a loop)"
    assert training.noise is None
    assert training.assume is Null.ANY_MECHANISM
    scores = training.run(plan.bits, np.random.default_rng(1))
    assert np.array_equal(scores > 0.5, plan.bits)
    assert seen == [plan.included.tolist()]


@pytest.mark.parametrize(
    ("scores", "error", "said"),
    [
        ([1.0, 2.0], WrongLength, r"each of 3 canaries, in or out, got an array of shape \(2,\)"),
        ([1.0, np.nan, 2.0], InvalidOutput, "got nan for canary 1"),
    ],
)
def test_scores_that_cannot_be_used_are_refused(scores: Any, error: Any, said: str) -> None:
    training = of_loop(
        lambda data, rng: data,
        insert=lambda included: included,
        score=lambda released: scores,
        canaries=canaries(3, rng=1),
        claim=dpaudit.PureDP(1.0),
        name="bad",
    )
    with pytest.raises(error, match=said):
        training.run(np.array([True, False, True]), np.random.default_rng(1))


def test_an_error_of_a_loop_flies_with_a_note() -> None:
    def train(data: Any, rng: np.random.Generator) -> Any:
        raise ZeroDivisionError("theirs")

    training = of_loop(
        train,
        insert=lambda included: included,
        score=lambda released: released,
        canaries=canaries(3, rng=1),
        claim=dpaudit.PureDP(1.0),
    )
    with pytest.raises(ZeroDivisionError, match="theirs") as raised:
        training.run(np.array([True, False, False]), np.random.default_rng(1))
    assert raised.value.__notes__ == ["while training with 1 of 3 canaries in train"]


def test_a_head_in_numpy_has_unit_noise_and_the_shift_of_its_sampling() -> None:
    """12,000 canaries: means and deviations are within six standard errors."""
    steps, rate, sigma, count = 40, 0.2, 0.8, 12_000
    rates = np.linspace(0.1, 1.0, steps)

    def train(included: Any, rng: np.random.Generator) -> Any:
        weights = np.zeros(count)
        for each in rates:
            chosen = included[rng.random(len(included)) < rate]
            clipped = np.bincount(chosen, minlength=count)
            weights -= each * (clipped + rng.normal(0, sigma, count)) / 50
        return weights

    plan = canaries(count, rng=3)
    training = of_loop(
        train,
        insert=lambda included: included,
        score=lambda weights: unit_scores(weights, rates=rates, noise=sigma / 50),
        canaries=plan,
        claim=dpaudit.GaussianDP(2.0),
        noise=1.0,
    )
    scores = training.run(plan.bits, np.random.default_rng(1))
    out, inside = scores[~plan.bits], scores[plan.bits]
    assert abs(out.mean()) < 6 / np.sqrt(len(out))
    assert abs(out.std() - 1) < 6 / np.sqrt(2 * len(out))
    expected = rate * rates.sum() / (sigma * np.sqrt((rates**2).sum()))
    assert abs(inside.mean() - expected) < 6 * 1.2 / np.sqrt(len(inside))


def test_gradients_of_a_head_are_dirac() -> None:
    gradients = dirac_gradients([3, -1, 0], 4, size=5.0)
    assert gradients.tolist() == [[0, 0, 0, 5], [0, 0, 0, 0], [5, 0, 0, 0]]
    assert dirac_gradients([], 4).shape == (0, 4)


def test_isotropic_canaries_have_unit_noise() -> None:
    marks = IsotropicCanaries(count=3_000, dimension=300, seed=5)
    noise = np.random.default_rng(1).normal(size=300)
    scores = marks.scores(noise)
    assert abs(scores.std() - 1) < 6 / np.sqrt(2 * 3_000)
    assert np.allclose(np.linalg.norm(marks.gradients([4, 9], clip=2.0), axis=1), 2.0)
    assert marks.gradients([], clip=1.0).shape == (0, 300)
    with pytest.raises(InvalidCanaries, match="must be at least 1, got 0 and 3"):
        IsotropicCanaries(count=0, dimension=3, seed=1)


def test_records_for_canaries() -> None:
    rows, labels = np.arange(20.0).reshape(10, 2), np.arange(10) % 3
    wrong = mislabelled(rows, labels, 10, classes=3, rng=2)
    taken = [int(row[0]) // 2 for row, _ in wrong]
    assert sorted(taken) == list(range(10))
    assert all(label != labels[place] for place, (_, label) in zip(taken, wrong, strict=True))
    odd = out_of_distribution(rows.reshape(10, 1, 2), 5, classes=3, rng=2)
    assert all(row.shape == (1, 2) and row.min() >= 0 and row.max() <= 19 for row, _ in odd)
    with pytest.raises(InvalidCanaries, match="11 wrong labels need as many records, got 10"):
        mislabelled(rows, labels, 11, classes=3)
    with pytest.raises(InvalidCanaries, match="have 2 directions, asked for 3"):
        clip_bkd(rows, lambda given: given, count=3)


def test_the_record_of_clip_bkd_is_where_the_data_do_not_vary() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(100, 4)) * [5.0, 3.0, 0.01, 2.0]
    [(row, label)] = clip_bkd(rows, lambda given: np.array([[3.0, 1.0, 2.0]]))
    assert np.argmax(np.abs(row)) == 2
    assert np.isclose(np.linalg.norm(row), np.linalg.norm(rows, axis=1).mean())
    assert label == 1


def test_the_room_loads_neither_torch_nor_a_framework() -> None:
    code = (
        "import sys, dpaudit.training; "
        "print([each for each in ('torch', 'opacus', 'jax') if each in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
