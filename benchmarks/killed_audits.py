"""Audits in processes of their own, alone, with workers or on a cluster: `kills.py` kills them."""

from __future__ import annotations

import asyncio
import json
import mmap
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import dpaudit
from dpaudit.arrays import Floats
from dpaudit.auditing import Store

SEED = 20_261_119
CALL_SECONDS = 0.004
SAMPLES = 1_200
LOST_SECONDS = 0.5  # after which a Dask client gives a scheduler up
MAX_SECONDS = 60.0  # of any process: more is a hang
RECORDS = dpaudit.replace_one(dpaudit.floats(-1, 1), max_records=3)
PROCESSES = get_context("forkserver")
PRELOADED = ["distributed", "dpaudit.auditing", "scipy.optimize"]
OWN = {"seconds", "provenance", "mechanism"}  # differs in every run: its time, its folder


@dataclass(frozen=True, slots=True)
class LoggedSum:
    """A clipped sum that waits at every call, and writes down when a call begins and ends."""

    log: str
    scale: float  # 2 keeps the claim, 1 breaks it

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Floats:
        self.write("began")
        time.sleep(CALL_SECONDS)
        outputs: Floats = np.clip(data, -1, 1).sum() + rng.laplace(scale=self.scale, size=size)
        self.write("ended")
        return outputs

    def write(self, what: str) -> None:
        """Add a line, in one piece, also when other processes do so too."""
        file = os.open(self.log, os.O_WRONLY | os.O_APPEND)
        os.write(file, f"{os.getpid()} {what}\n".encode())
        os.close(file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """An audit in a folder of its own: its store, the log of its calls, what came of it."""

    folder: Path
    scale: float
    workers: int | None = None

    @property
    def store(self) -> Path:
        return self.folder / "audit.sqlite"

    @property
    def log(self) -> Path:
        return self.folder / "calls.log"

    @property
    def mark(self) -> Path:
        """One byte: whether the store is being written to."""
        return self.folder / "mark"

    @property
    def result(self) -> Path:
        return self.folder / "result.json"

    def lines(self) -> list[tuple[int, str]]:
        """The process and the event of every line of the log."""
        words = (line.split() for line in self.log.read_text().splitlines())
        return [(int(process), what) for process, what in words]

    def kept(self) -> int:
        """The calls that are in the store."""
        with suppress(dpaudit.errors.CannotUseStore), Store(self.store, to_read=True) as store:
            return sum(calls for _, calls, _ in store.summary())
        return 0

    def intents(self) -> int:
        """The calls that the process was about to make, by what it wrote into the store."""
        with suppress(sqlite3.Error):
            base = sqlite3.connect(self.store)
            (count,) = base.execute("SELECT count(*) FROM intents").fetchone()
            base.close()
            return int(count)
        return 0


def audit(asked: Audited, address: str | None) -> None:
    """In a process of its own: run the audit, and write what came of it, or what went wrong."""
    os.dup2(os.open(asked.folder / "errors", os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    with asked.mark.open("r+b") as file:
        mark = mmap.mmap(file.fileno(), 1)
    write = Store.write

    def marked(store: Store, *given: Any) -> None:
        mark[0] = 1
        write(store, *given)
        mark[0] = 0

    setattr(Store, "write", marked)  # noqa: B010
    mechanism = LoggedSum(str(asked.log), asked.scale)
    with _client(address) as executor:
        found = dpaudit.audit(
            mechanism,
            dpaudit.PureDP(1.0),
            RECORDS,
            samples=SAMPLES,
            rng=SEED,
            workers=asked.workers,
            executor=executor,
            store=asked.store,
        )
        whole = {name: value for name, value in found.to_json().items() if name not in OWN}
        draft = asked.result.with_suffix(".draft")
        draft.write_text(json.dumps(whole, sort_keys=True))
        draft.replace(asked.result)


@contextmanager
def _client(address: str | None) -> Iterator[Any]:
    if address is None:
        yield None
        return
    import dask
    from distributed import Client

    dask.config.set({"distributed.comm.timeouts.connect": LOST_SECONDS})
    client = Client(address, set_as_default=False)
    try:
        yield client
    finally:
        client.close(timeout=LOST_SECONDS)


def schedule(file: Path) -> None:
    """In a process of its own: be a Dask scheduler."""
    from distributed import Scheduler

    async def run() -> None:
        async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
            draft = file.with_suffix(".draft")
            draft.write_text(scheduler.address)
            draft.replace(file)
            await scheduler.finished()

    _quietly(run)


def serve(address: str) -> None:
    """In a process of its own: be a Dask worker with one thread."""
    from distributed import Worker

    async def run() -> None:
        async with Worker(address, nthreads=1, dashboard=False) as worker:
            await worker.finished()

    _quietly(run)


def _quietly(run: Callable[[], Any]) -> None:
    """Dask says a lot about a scheduler that is gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    asyncio.run(run())


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, int]]:
    """The address of a scheduler with two workers, and its process."""
    file = folder / "scheduler"
    file.unlink(missing_ok=True)
    scheduler = PROCESSES.Process(target=schedule, args=(file,))
    started = [scheduler]
    scheduler.start()
    try:
        wait(file.exists, scheduler)
        address = file.read_text()
        for _ in range(2):
            worker = PROCESSES.Process(target=serve, args=(address,))
            worker.start()
            started.append(worker)
        assert scheduler.pid is not None
        yield address, scheduler.pid
    finally:
        for process in started:
            process.kill()
            process.join()


def wait(until: Callable[[], bool], process: Any) -> bool:
    """Wait for something that a process does; False if it ended before."""
    deadline = time.monotonic() + MAX_SECONDS
    while not until():
        if not process.is_alive():
            return until()
        if time.monotonic() > deadline:
            raise TimeoutError(f"nothing happened for {MAX_SECONDS:g} s")
        time.sleep(0.001)
    return True
