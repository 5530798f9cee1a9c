"""A store of draws: what was killed goes on, and what does not belong together is refused."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import elsewhere
import numpy as np
import pytest
from commands import run_apart
from elsewhere import REPLACED, noisy_sum, rarely_fails, rough_sum, told_apart

import dpaudit
from dpaudit.auditing import Store, StoredCalls
from dpaudit.errors import CannotUseStore, MechanismDied
from dpaudit.mechanism import Call, CallsHere, with_errors
from dpaudit.testers import HistogramTester

CLAIM = dpaudit.PureDP(1.0)
SUPPORT = str(Path(elsewhere.__file__).parent)


def search(mechanism: Any = noisy_sum, **options: Any) -> dpaudit.Audit:
    options = {"samples": 4_000, "rng": 7, **options}
    return dpaudit.audit(mechanism, CLAIM, REPLACED, **options)


def counting(mechanism: Any) -> tuple[Any, list[int]]:
    """The mechanism under its own name, and the sizes of its calls."""
    sizes: list[int] = []

    def counted(data: Any, size: int, rng: np.random.Generator) -> Any:
        sizes.append(size)
        return mechanism(data, size, rng)

    return counted, sizes


def odd_outputs(data: Any, size: int, rng: np.random.Generator) -> list[object]:
    """Of every kind that JSON can hold."""
    kinds: list[Any] = [None, "word", 1, 0.5, float("nan"), (1, 2.0), {"a": None}, np.float64(3.0)]
    return [kinds[place] for place in rng.integers(len(kinds), size=size)]


class Unsayable:
    """JSON cannot hold it."""

    def __init__(self, number: float) -> None:
        self.number = number


def unsayable(data: Any, size: int, rng: np.random.Generator) -> list[Unsayable]:
    return [Unsayable(float(number)) for number in rng.laplace(scale=2.0, size=size)]


@pytest.mark.filterwarnings("ignore::dpaudit.HealthWarning")
@pytest.mark.parametrize("mechanism", [noisy_sum, rough_sum, rarely_fails, odd_outputs, unsayable])
def test_an_audit_with_a_store_is_the_same_and_so_is_the_second_run(
    mechanism: Any, tmp_path: Path
) -> None:
    store = tmp_path / "audit.sqlite"
    runs = [search(mechanism, samples=2_500, store=path) for path in (None, store, store)]
    first, *others = map(told_apart, runs)
    assert all(other == first for other in others)


def test_the_second_run_draws_nothing(tmp_path: Path) -> None:
    mechanism, sizes = counting(noisy_sum)
    first = search(mechanism, store=tmp_path / "audit.sqlite")
    assert sum(sizes) == first.samples
    sizes.clear()
    search(mechanism, store=tmp_path / "audit.sqlite")
    assert sizes == []


def test_without_a_seed_the_second_run_takes_that_of_the_first(tmp_path: Path) -> None:
    store = tmp_path / "audit.sqlite"
    first, second = (search(store=store, rng=None, samples=500) for _ in range(2))
    assert first.rng_seed == second.rng_seed


def test_more_samples_go_the_old_way_first(tmp_path: Path) -> None:
    mechanism, sizes = counting(noisy_sum)
    store = tmp_path / "audit.sqlite"
    first = search(mechanism, store=store)
    drawn = sum(sizes)
    more = search(mechanism, store=store, samples=8_000)
    assert sum(sizes) - drawn == more.samples - first.samples
    sizes.clear()
    assert told_apart(search(mechanism, store=store, samples=8_000)) == told_apart(more)
    assert told_apart(search(mechanism, store=store)) == told_apart(first)
    assert sizes == []


def test_a_store_and_an_executor_go_together(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as threads:
        found = search(store=tmp_path / "audit.sqlite", executor=threads)
    assert told_apart(found) == told_apart(search())
    assert told_apart(search(store=tmp_path / "audit.sqlite")) == told_apart(found)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"alpha": 0.01}, r"alpha is 1e-06 there and 0\.01 here"),
        ({"rng": 8}, "seed is 7 there and 8 here"),
        ({"finder": "random"}, 'finder is "auto" there and "random" here'),
        ({"mechanism": rough_sum}, 'mechanism is "noisy_sum" there and "rough_sum" here'),
        ({"samples": 400}, "samples=500, got 400. Give as many or more"),
    ],
)
def test_another_audit_is_refused(changed: dict[str, Any], words: str, tmp_path: Path) -> None:
    store = tmp_path / "audit.sqlite"
    search(store=store, samples=500)
    with pytest.raises(CannotUseStore, match=words):
        search(**{"store": store, "samples": 500, **changed})


def test_a_constant_of_the_code_is_part_of_the_code(tmp_path: Path) -> None:
    """The source is the same; what it takes from outside is not."""

    def with_scale(scale: float) -> Any:
        def scaled(data: Any, size: int, rng: np.random.Generator) -> Any:
            return np.sum(data) + rng.laplace(scale=scale, size=size)

        return scaled

    store = tmp_path / "audit.sqlite"
    first = search(with_scale(2.0), store=store, samples=500)
    assert told_apart(search(with_scale(2.0), store=store, samples=500)) == told_apart(first)
    with pytest.raises(CannotUseStore, match=r"'scale': 2\.0.* there and .*'scale': 3\.0"):
        search(with_scale(3.0), store=store, samples=500)


def test_the_trials_of_a_batch_tester_cannot_be_extended(tmp_path: Path) -> None:
    tester, store = HistogramTester(), tmp_path / "audit.sqlite"
    first, second = (search(tester=tester, samples=20_000, store=store) for _ in range(2))
    assert told_apart(first) == told_apart(second)
    with pytest.raises(CannotUseStore, match="planned for samples=20000"):
        search(tester=tester, samples=30_000, store=store)


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    text, other = tmp_path / "notes.txt", tmp_path / "other.sqlite"
    text.write_text("not a database, but long enough to be taken for one\n" * 50)
    with sqlite3.connect(other) as base:
        base.execute("CREATE TABLE mine (a)")
    base.close()
    for path, words in (
        (text, "cannot be used as a store"),
        (other, "is a database of another program"),
        (tmp_path / "nowhere" / "audit.sqlite", "is not a folder"),
    ):
        with pytest.raises(CannotUseStore, match=words):
            search(store=path)
    assert text.read_text().startswith("not a database")


def test_the_name_of_a_store_leaves_room_for_its_journal(tmp_path: Path) -> None:
    search(store=tmp_path / ("x" * 247), samples=300)
    with pytest.raises(CannotUseStore, match="too long for a store: take at most 247 bytes"):
        search(store=tmp_path / ("é" * 124), samples=300)


def test_a_store_in_use_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "audit.sqlite"
    with Store(store) as held:
        held.belong_to({})
        with pytest.raises(CannotUseStore, match="is in use by another process"):
            search(store=store)


@pytest.mark.parametrize("seed", range(30))
def test_a_damaged_store_is_refused_or_gives_the_same_audit(seed: int, tmp_path: Path) -> None:
    """Never a traceback of something else, and never another audit."""
    store = tmp_path / "audit.sqlite"
    first = search(store=store, samples=300)
    content, rng = bytearray(store.read_bytes()), random.Random(seed)
    for _ in range(rng.choice([1, 10, 200])):
        content[rng.randrange(len(content))] = rng.randrange(256)
    store.write_bytes(content[: rng.choice([len(content), len(content), len(content) // 2])])
    try:
        again = search(store=store, samples=300)
    except (CannotUseStore, MechanismDied):
        return
    assert told_apart(again) == told_apart(first)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE header SET value = '5' WHERE name = 'samples'", "its numbers of draws are 5"),
        ("UPDATE header SET value = '[\"x\"]' WHERE name = 'samples'", r"draws are \['x'\]"),
        ("UPDATE header SET value = '\"x\"' WHERE name = 'seed'", "its seed is 'x'"),
        ("UPDATE header SET value = CAST(x'96' AS TEXT)", "cannot be used as a store"),
        ("UPDATE calls SET outputs = 5", "outputs|cannot be used as a store"),
        ("UPDATE calls SET outputs = 'x'", "outputs have changed"),
    ],
)
def test_odd_values_in_a_store_are_refused(change: str, words: str, tmp_path: Path) -> None:
    store = tmp_path / "audit.sqlite"
    search(store=store, samples=300)
    with sqlite3.connect(store) as base:
        base.execute(change)
    base.close()
    with pytest.raises(CannotUseStore, match=words):
        search(store=store, samples=300, rng=None)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE calls SET key = CAST(key || x'96' AS BLOB)",
        "UPDATE calls SET key = key || CAST(x'96' AS TEXT)",
        "UPDATE calls SET size = 'many'",
        "UPDATE header SET value = '\"\\ud800\"' WHERE name = 'claim'",
    ],
)
def test_a_damaged_store_is_shown_or_refused_in_words(change: str, tmp_path: Path) -> None:
    store = tmp_path / "audit.sqlite"
    search(store=store, samples=300)
    with sqlite3.connect(store) as base:
        base.execute(change)
    base.close()
    result = run_apart("store", str(store))
    assert result.exit_code in (0, 2)
    assert "Traceback" not in result.stderr


def test_a_call_that_killed_the_process_twice_is_not_made_again(tmp_path: Path) -> None:
    mechanism = with_errors(noisy_sum, "output")
    call = Call(data=[1.0], size=5, seed=np.random.SeedSequence(3, spawn_key=(0, 1)))
    for _ in range(2):
        with Store(tmp_path / "audit.sqlite") as store:
            store.intend("0.1", call, "noisy_sum")  # and then the process is killed
    with Store(tmp_path / "audit.sqlite") as store:
        asked = StoredCalls(mechanism, CallsHere(mechanism), store).ask(call)
        with pytest.raises(MechanismDied, match=r"ended 2 times while noisy_sum .* data=\[1\.0\]"):
            asked.outputs()


def test_an_error_is_no_death(tmp_path: Path) -> None:
    store = tmp_path / "audit.sqlite"
    for _ in range(4):
        with pytest.raises(ZeroDivisionError):
            search(elsewhere.always_fails, on_error="raise", store=store)


AUDIT = """
import sys; sys.path.insert(0, {support!r})
import dpaudit, elsewhere
found = dpaudit.audit(elsewhere.noisy_sum, dpaudit.PureDP(1.0), elsewhere.REPLACED,
                      samples=12_000, rng=7, store={store!r}{more})
print(repr(found.evidence.log_wealth), found.samples)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [pytest.param("", marks=pytest.mark.nightly), ", workers=2"],
    ids=["here", "processes"],
)
def test_an_audit_that_is_killed_again_and_again_ends_as_if_it_were_not(
    more: str, tmp_path: Path
) -> None:
    """Killed at five random moments of the time that it takes if it is left alone."""
    store, rng = tmp_path / "audit.sqlite", random.Random(7)
    whole = search(samples=12_000)
    code, alone = (
        AUDIT.format(support=SUPPORT, store=str(path), more=more)
        for path in (store, tmp_path / "alone.sqlite")
    )
    start = time.monotonic()
    subprocess.run([sys.executable, "-c", alone], stdout=subprocess.DEVNULL, check=True)
    length = time.monotonic() - start
    draws = 0
    for _ in range(5):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 30.0
        while not store.exists() and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.02)
        time.sleep(rng.uniform(0.0, length))
        process.send_signal(signal.SIGKILL)
        process.wait()
        try:
            with Store(store, to_read=True) as killed:
                before, draws = draws, sum(size for _, _, size in killed.summary())
        except CannotUseStore:  # killed before it was a store
            continue
        assert draws >= before
    assert draws > 0
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == [repr(whole.evidence.log_wealth), str(whole.samples)], done.stderr
