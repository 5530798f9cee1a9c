"""One function on many tasks, in several processes. Ctrl-C keeps what is done."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

INTERRUPTED = 130  # the exit code of a command that Ctrl-C ended
PLAIN_LINE_SECONDS = 10.0  # off a terminal, for the logs

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished(Generic[Task, Result]):
    """The tasks that were finished, with their results, in the order of the tasks."""

    results: tuple[tuple[Task, Result], ...]
    interrupted: bool


def run_all(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    workers: int,
    title: str,
    on_result: Callable[[Task, Result], None] | None = None,
) -> Finished[Task, Result]:
    """Call the function on every task. One worker is this process; more are fresh ones.

    `on_result` gets every task and its result as soon as it is there.
    """
    results: dict[int, Result] = {}
    interrupted = False
    with _progress(title, len(tasks)) as advance:
        try:
            with closing(_results(function, tasks, workers)) as arriving:
                for place, result in arriving:
                    results[place] = result
                    if on_result is not None:
                        on_result(tasks[place], result)
                    advance()
        except KeyboardInterrupt:
            interrupted = True
    done = tuple((tasks[place], results[place]) for place in sorted(results))
    return Finished(results=done, interrupted=interrupted)


def entropy(seed: int, *key: int) -> int:
    """Give the seed of one run: the same for the same key, whatever else is run."""
    return int(np.random.SeedSequence(seed, spawn_key=key).generate_state(1, np.uint64)[0])


@contextmanager
def fresh_processes(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Start processes that inherit nothing and compute with one thread each.

    Leaving by an error or by Ctrl-C ends them: nobody waits for the tasks under way.
    """
    before = set(multiprocessing.active_children())
    with (
        _one_thread_each(),
        ProcessPoolExecutor(
            workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_leave_interrupts_to_the_parent,
        ) as pool,
    ):
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - before:
                process.terminate()
            raise


def _results(
    function: Callable[[Task], Result], tasks: Sequence[Task], workers: int
) -> Generator[tuple[int, Result], None, None]:
    """Yield the results as they come, each with the place of its task."""
    if workers == 1:
        yield from ((place, function(task)) for place, task in enumerate(tasks))
        return
    with fresh_processes(workers) as pool:
        places = {pool.submit(function, task): place for place, task in enumerate(tasks)}
        for future in as_completed(places):
            yield places[future], future.result()


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Tell processes started meanwhile to use one thread: the processes are the parallelism."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _progress(title: str, total: int) -> Iterator[Callable[[], None]]:
    """Show on stderr how many are done: a bar in a terminal, now and then a line elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        yield _plain_lines(title, total)
        return
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(title, total=total)
        yield lambda: progress.advance(task)


def _plain_lines(title: str, total: int) -> Callable[[], None]:
    start = due = time.monotonic()
    due += PLAIN_LINE_SECONDS
    done = 0

    def advance() -> None:
        nonlocal done, due
        done += 1
        now = time.monotonic()
        if now >= due:
            due = now + PLAIN_LINE_SECONDS
            print(f"{title}: {done}/{total} after {now - start:.0f} s", file=sys.stderr, flush=True)

    return advance
