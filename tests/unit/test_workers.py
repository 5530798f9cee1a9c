"""Calls in threads and other processes: the same audit, and nothing left out."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import elsewhere
import numpy as np
import pytest
from elsewhere import REPLACED, noisy_sum, rarely_fails, rough_sum, told_apart

import dpaudit
from dpaudit.errors import MechanismDied
from dpaudit.mechanism import Call, Workers, as_mechanism, caller_for, with_errors
from dpaudit.testers import HistogramTester

CLAIM = dpaudit.PureDP(1.0)
SUPPORT = str(Path(elsewhere.__file__).parent)


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        yield pool


@pytest.fixture(scope="module")
def threads() -> Iterator[Executor]:
    with ThreadPoolExecutor(3) as pool:
        yield pool


@pytest.fixture(params=["threads", "processes"])
def executor(request: pytest.FixtureRequest) -> Executor:
    found: Executor = request.getfixturevalue(request.param)
    return found


def search(mechanism: Callable[..., object] = noisy_sum, **options: Any) -> dpaudit.Audit:
    options = {"samples": 4_000, "rng": 7, **options}
    return dpaudit.audit(mechanism, CLAIM, REPLACED, **options)


ASKED: dict[str, Callable[..., dict[str, object]]] = {
    "search": lambda **where: told_apart(search(**where)),
    "refuted and shrunk": lambda **where: told_apart(search(rough_sum, samples=40_000, **where)),
    "pair": lambda **where: told_apart(
        dpaudit.audit(
            noisy_sum, CLAIM, dpaudit.pairs([([1.0], [-1.0])]), samples=20_000, rng=7, **where
        )
    ),
    "trials": lambda **where: told_apart(search(tester=HistogramTester(), samples=20_000, **where)),
    "measure": lambda **where: {
        "bound": dpaudit.measure_epsilon(
            noisy_sum, [1.0], [-1.0], samples=30_000, rng=7, **where
        ).epsilon_lower
    },
    "errors": lambda **where: told_apart(search(rarely_fails, samples=2_000, **where)),
}


@pytest.mark.filterwarnings("ignore::dpaudit.HealthWarning")
@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_the_audit_is_the_same_wherever_its_calls_are_made(
    asked: Callable[..., dict[str, object]], executor: Executor
) -> None:
    assert asked(executor=executor) == asked()


def test_processes_of_our_own_give_the_same_audit() -> None:
    assert told_apart(search(workers=2)) == told_apart(search())


def test_code_that_no_other_process_can_import_travels_along(processes: Executor) -> None:
    scale = 2.0

    def local_sum(data: Any, size: int, rng: np.random.Generator) -> Any:
        return np.sum(data) + rng.laplace(scale=scale, size=size)

    found = search(local_sum, executor=processes)
    assert found.samples == search(local_sum).samples


def test_what_cannot_travel_is_refused_with_a_remedy(processes: Executor) -> None:
    lock = threading.Lock()

    def locked(data: Any, size: int, rng: np.random.Generator) -> Any:
        with lock:
            return rng.laplace(size=size)

    with pytest.raises(TypeError, match=r"locked cannot be sent.*ThreadPoolExecutor"):
        search(locked, executor=processes)


def test_an_error_comes_back_with_its_notes(executor: Executor) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        search(elsewhere.always_fails, on_error="raise", executor=executor)
    assert "while drawing" in "\n".join(caught.value.__notes__)


def test_if_every_draw_raises_the_error_is_raised(executor: Executor) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        search(elsewhere.always_fails, executor=executor)
    assert "raised at each" in "\n".join(caught.value.__notes__)


def test_a_single_draw_that_dies_twice_is_the_output_crashed() -> None:
    mechanism = with_errors(elsewhere.always_dies, "output")
    with caller_for(mechanism, isolate=True) as caller:
        (output,) = caller.ask(Call(data=[1.0], size=1, seed=np.random.SeedSequence(3))).outputs()
    assert repr(output) == "raises Crashed"


def test_a_larger_call_that_dies_ends_the_audit_and_names_the_dataset() -> None:
    with pytest.raises(
        MechanismDied, match=r"ended its process with code 3, 2 times .* on data=array\(\["
    ):
        search(elsewhere.always_dies, isolate=True)


@pytest.mark.parametrize("options", [{"isolate": True}, {"workers": 2}], ids=str)
def test_a_segmentation_fault_ends_the_audit_and_names_the_dataset(options: dict[str, Any]) -> None:
    with pytest.raises(MechanismDied, match=r"SIGSEGV\), 2 times .* on data=array\(\["):
        search(elsewhere.segfaults, **options)


def test_a_single_draw_that_ends_in_a_segmentation_fault_is_the_output_crashed() -> None:
    mechanism = with_errors(elsewhere.segfaults, "output")
    with caller_for(mechanism, isolate=True) as caller:
        (output,) = caller.ask(Call(data=[1.0], size=1, seed=np.random.SeedSequence(3))).outputs()
    assert repr(output) == "raises Crashed"


@pytest.mark.parametrize("where", ["isolate", "executor"])
def test_no_memory_is_no_evidence(where: str) -> None:
    """It is of the machine, not of the mechanism, even where it happens on one side only."""
    pair = dpaudit.pairs([([1.0], [-1.0])])
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        options: dict[str, Any] = {"isolate": True} if where == "isolate" else {"executor": pool}
        with pytest.raises(MemoryError) as caught:
            dpaudit.audit(elsewhere.runs_out_of_memory, CLAIM, pair, samples=500, rng=7, **options)
    assert "on data=[1.0]" in "\n".join(caught.value.__notes__)


def test_a_process_that_left_a_child_behind_is_noticed() -> None:
    """The child process holds the line open, and says nothing."""
    start = time.monotonic()
    with pytest.raises(MechanismDied, match="ended its process with code 3"):
        search(elsewhere.dies_and_leaves_a_child, isolate=True)
    assert time.monotonic() - start < 25.0  # the child lives for 30 s


def test_a_worker_of_a_pool_that_dies_ends_the_audit_with_a_remedy() -> None:
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        for _ in range(2):  # the second time, the pool is broken from the beginning
            with pytest.raises(MechanismDied, match=r"BrokenProcessPool: .*With workers=2, "):
                search(elsewhere.always_dies, executor=pool)


def test_an_executor_that_was_shut_down_ends_the_audit() -> None:
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(MechanismDied, match=r"after shutdown\. Its worker or scheduler may"):
        search(executor=pool)


class GivesUp(Executor):
    """Answers a few tasks and cancels all others, as Dask does when its scheduler is gone."""

    _max_workers = 2

    def __init__(self) -> None:
        self.left = 5

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.left -= 1
        if self.left > 0:
            future.set_result(function(*args, **kwargs))
        else:
            future.cancel()
            future.set_running_or_notify_cancel()
        return future


def test_tasks_that_are_cancelled_by_others_end_the_audit() -> None:
    with pytest.raises(
        MechanismDied, match=r"the task was cancelled\. Its worker or scheduler may"
    ):
        search(executor=GivesUp())


def test_a_call_that_does_not_return_ends_the_audit() -> None:
    with pytest.raises(MechanismDied, match=r"did not return within 0\.2 s"):
        search(elsewhere.never_returns, isolate=True, call_seconds=0.2)


@pytest.mark.filterwarnings("ignore::dpaudit.HealthWarning")
def test_only_the_call_that_dies_is_blamed() -> None:
    """Its neighbours in the pool are made again, and give what they would have given."""
    mechanism = with_errors(dpaudit.one_at_a_time(_dies_on_thirteen), "output")
    calls = [
        Call(data=[float(number)], size=1, seed=np.random.SeedSequence(number))
        for number in range(10, 18)
    ]
    with caller_for(mechanism, workers=2) as caller:
        asked = [caller.ask(call) for call in calls]
        outputs = [one.outputs()[0] for one in asked]
    assert [repr(one) for one in outputs].index("raises Crashed") == 3
    assert [one for one in outputs if isinstance(one, float)] == [10, 11, 12, 14, 15, 16, 17]


def _dies_on_thirteen(data: Any) -> float:
    if data[0] == 13.0:
        os._exit(1)
    return float(data[0])


def test_an_isolated_mechanism_cannot_print_into_the_answer() -> None:
    """It prints, reads stdin, reseeds NumPy and forks; what is printed is the verdict alone."""
    code = (
        f"import sys; sys.path.insert(0, {SUPPORT!r})\n"
        "import dpaudit, elsewhere\n"
        "found = dpaudit.audit(elsewhere.ill_mannered, dpaudit.PureDP(1.0),\n"
        "    dpaudit.pairs([([1.0], [0.0])]), samples=300, rng=7, isolate=True)\n"
        "print(found.verdict.value)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input="hello\n", capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "not refuted\n", done.stderr
    assert "look at me" in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"workers": 0}, "workers must be a whole number from 1 to 1000, got 0"),
        ({"workers": 10**30}, "executor= takes a cluster for more"),
        ({"workers": True}, "workers must be a whole number"),
        (
            {"executor": 3},
            r"executor must be a concurrent.futures.Executor or a Dask client, got 3",
        ),
        ({"call_seconds": 1.0}, "isolate=True"),
        ({"isolate": True, "call_seconds": -1}, "call_seconds must be positive, got -1"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        search(**options)


def test_an_executor_brings_its_own_workers(threads: Executor) -> None:
    with pytest.raises(ValueError, match="brings workers of its own"):
        search(executor=threads, workers=2)


class Slowly(Executor):
    """Runs nothing until it is told to; counts the calls of every task."""

    _max_workers = 2

    def __init__(self) -> None:
        self.tasks: list[int] = []
        self.waiting: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.tasks.append(len(pickle.loads(args[2])))
        future.set_result(function(*args, **kwargs))
        return future


def test_quick_calls_travel_together() -> None:
    """Once it is known how quick a call is and what a task costs; the first ones go alone."""
    executor = Slowly()
    workers = Workers(as_mechanism(noisy_sum), executor)
    workers._seconds_per_draw, workers._overhead = 1e-6, 1e-3
    seeds = np.random.SeedSequence(7).spawn(200)
    asked = [workers.ask(Call(data=[0.5], size=10, seed=seed)) for seed in seeds]
    outputs = [one.outputs() for one in asked]
    assert sum(executor.tasks) == 200
    here = as_mechanism(noisy_sum)
    again = [here.draw([0.5], 10, np.random.default_rng(seed)) for seed in seeds]
    np.testing.assert_array_equal(outputs, again)


def test_what_is_cancelled_before_it_was_sent_is_never_made() -> None:
    with ThreadPoolExecutor(1) as one_thread:
        blocked = threading.Event()

        def waits(data: Any, size: int, rng: np.random.Generator) -> Any:
            blocked.wait()
            made.append(size)
            return rng.random(size)

        made: list[int] = []
        workers = Workers(as_mechanism(waits), one_thread)
        seeds = np.random.SeedSequence(7).spawn(10)
        asked = [workers.ask(Call(data=0, size=k + 1, seed=s)) for k, s in enumerate(seeds)]
        for one in asked[1:]:
            one.cancel()
        blocked.set()
        assert len(asked[0].outputs()) == 1
        workers.close()
    assert max(made) <= 2  # the first, and the one that was handed over with it
