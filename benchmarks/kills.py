"""Audits whose processes are killed at random moments, and run again: do they end the same?

    python benchmarks/kills.py

Every kill has an audit of its own. A call during which the process of the audit died twice ends the
audit, by design; so no audit is killed twice. Needs Linux or macOS, and dask.distributed.
"""

from __future__ import annotations

import argparse
import mmap
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from killed_audits import MAX_SECONDS, PRELOADED, PROCESSES, SEED, Audited, audit, cluster, wait
from tables import RESULTS, Column, number, save, show

MAX_MISSES = 20  # kills that came too late, before one that did not


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What is killed, and when."""

    name: str
    victim: str  # "audit", "worker" or "scheduler"
    workers: int | None = None
    starting: bool = False  # counted from the start of the process, not from its first call
    writing: bool = False  # not before the next write into the store
    between: tuple[float, float] = (0.0, 1.0)  # when, in lengths of an undisturbed audit

    @property
    def on_cluster(self) -> bool:
        return self.victim == "scheduler"


KINDS = (
    Kind(name="the audit", victim="audit"),
    Kind(name="the audit, as it starts", victim="audit", starting=True, between=(0.0, 0.3)),
    Kind(name="the audit, in a write", victim="audit", writing=True, between=(0.0, 0.8)),
    Kind(name="one of two workers", victim="worker", workers=2),
    Kind(name="the audit, two workers", victim="audit", workers=2),
    Kind(name="a Dask scheduler", victim="scheduler"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Killed:
    """One kill, and what came of the audit."""

    under_way: int  # calls that had begun and not ended
    not_kept: int  # calls that had begun and were not in the store
    intents: int
    in_write: bool
    stopped: bool  # whether the audit had to be run again
    finished: bool
    equal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Summed:
    """All kills of a kind: a line of the table and of the CSV."""

    killed: str
    kills: int
    kills_in_calls: int
    calls_under_way: int
    calls_not_kept: int
    intents: int
    kills_in_writes: int
    run_again: int
    finished: int
    equal: int
    missed: int


class Kills:
    """Kills audits of one kind at seeded moments."""

    def __init__(self, kind: Kind, folder: Path) -> None:
        self.kind = kind
        self.folder = folder
        self.missed = 0
        self._random = random.Random(f"{SEED} {kind.name}")
        self._whole: dict[float, tuple[str, float]] = {}

    def killed(self, count: int) -> Iterator[Killed]:
        """Kill so many audits: in turns one whose claim holds, and one whose does not."""
        for place in range(count):
            scale = (2.0, 1.0)[place % 2]
            for turn in range(MAX_MISSES):
                found = self._kill(self._fresh(f"{place}-{turn}", scale))
                if found is not None:
                    yield found
                    break
                self.missed += 1

    def _fresh(self, name: str, scale: float) -> Audited:
        folder = self.folder / name
        folder.mkdir()
        (folder / "calls.log").touch()
        (folder / "mark").write_bytes(b"\0")
        return Audited(folder=folder, scale=scale, workers=self.kind.workers)

    def _undisturbed(self, scale: float) -> tuple[str, float]:
        """What comes of an audit that nobody kills, and its seconds from the first call on."""
        if scale not in self._whole:
            asked = self._fresh(f"whole-{scale}", scale)
            with self._where(asked) as (address, _):
                process = self._started(asked, address)
                wait(lambda: bool(asked.lines()), process)
                began = time.monotonic()
                wait(asked.result.exists, process)
                seconds = time.monotonic() - began
                process.join()
            self._whole[scale] = asked.result.read_text(), seconds
        return self._whole[scale]

    @contextmanager
    def _where(self, asked: Audited) -> Iterator[tuple[str | None, int]]:
        if not self.kind.on_cluster:
            yield None, 0
            return
        with cluster(asked.folder) as found:
            yield found

    def _started(self, asked: Audited, address: str | None) -> Any:
        process = PROCESSES.Process(target=audit, args=(asked, address))
        process.start()
        return process

    def _kill(self, asked: Audited) -> Killed | None:
        """Kill once, and run the audit to its end; None if it ended before."""
        kind, whole = self.kind, self._undisturbed(asked.scale)
        with self._where(asked) as (address, scheduler):
            process = self._started(asked, address)
            if not kind.starting and not wait(lambda: bool(asked.lines()), process):
                raise RuntimeError(f"an audit ended with {process.exitcode} before it was killed")
            time.sleep(self._random.uniform(*kind.between) * whole[1])
            if kind.writing and not _at_a_write(asked, process):
                return None
            if asked.result.exists() or not process.is_alive():
                process.join()
                return None
            begun = asked.lines()
            victims = {"audit": process.pid, "scheduler": scheduler}
            if kind.victim == "worker":
                victims["worker"] = self._random.choice(sorted({one for one, _ in begun}))
            os.kill(victims[kind.victim] or 0, signal.SIGKILL)
            if kind.victim == "audit":
                process.join()
            at_kill = self._at_kill(asked, stopped=kind.victim == "audit")
            process.join(MAX_SECONDS)
            if process.is_alive():
                process.kill()
                raise TimeoutError(f"{kind.name}: the audit hangs since the kill, {asked.folder}")
        stopped = not asked.result.exists()
        if stopped:
            with self._where(asked) as (address, _):
                again = self._started(asked, address)
                again.join(MAX_SECONDS)
                again.kill()
        finished = asked.result.exists()
        equal = finished and asked.result.read_text() == whole[0]
        return Killed(**at_kill, stopped=stopped, finished=finished, equal=equal)

    def _at_kill(self, asked: Audited, *, stopped: bool) -> dict[str, Any]:
        """What was under way. The store of an audit that goes on cannot be looked at."""
        open_calls: Counter[int] = Counter()
        lines = asked.lines()
        for process, what in lines:
            open_calls[process] += 1 if what == "began" else -1
        begun = sum(what == "began" for _, what in lines)
        return {
            "under_way": sum(open_calls.values()),
            "intents": asked.intents() if stopped and not asked.workers else 0,
            "not_kept": begun - asked.kept() if stopped else sum(open_calls.values()),
            "in_write": stopped and asked.mark.read_bytes() == b"\1",
        }


def _at_a_write(asked: Audited, process: Any) -> bool:
    """Wait for the next write into the store; False if there is none."""
    with asked.mark.open("r+b") as file:
        mark = mmap.mmap(file.fileno(), 1)
    while not mark[0]:
        if asked.result.exists() or not process.is_alive():
            return False
        for _ in range(1_000):
            if mark[0]:
                break
    return True


def summed(kind: Kind, kills: Sequence[Killed], missed: int) -> Summed:
    """The line of a kind."""
    return Summed(
        killed=kind.name,
        kills=len(kills),
        kills_in_calls=sum(one.under_way > 0 for one in kills),
        calls_under_way=sum(one.under_way for one in kills),
        calls_not_kept=sum(one.not_kept for one in kills),
        intents=sum(one.intents for one in kills),
        kills_in_writes=sum(one.in_write for one in kills),
        run_again=sum(one.stopped for one in kills),
        finished=sum(one.finished for one in kills),
        equal=sum(one.equal for one in kills),
        missed=missed,
    )


COLUMNS: list[Column[Summed]] = [
    Column("killed", lambda row: row.killed, "left"),
    Column("kills", lambda row: number(row.kills)),
    Column("in\ncalls", lambda row: number(row.kills_in_calls)),
    Column("calls\nopen", lambda row: number(row.calls_under_way)),
    Column("calls\nlost", lambda row: number(row.calls_not_kept)),
    Column("intents", lambda row: number(row.intents)),
    Column("in\nwrites", lambda row: number(row.kills_in_writes)),
    Column("run\nagain", lambda row: number(row.run_again)),
    Column("finished", lambda row: number(row.finished)),
    Column("equal", lambda row: number(row.equal)),
]
NOTES = (
    "in calls, in writes: kills while a call was under way, or the store was being written to.\n"
    "calls open: under way at the kill; calls lost: begun, and not in the store.\n"
    "equal: all of the audit is that of an undisturbed run, but the seconds."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Audits that are killed, and run again.")
    parser.add_argument("--kills", type=int, default=50, help="of each kind")
    parser.add_argument("--rows", nargs="+", help="only kinds whose name has one of these in it")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder for the results")
    options = parser.parse_args(arguments)
    kinds = [one for one in KINDS if any(part in one.name for part in options.rows or [""])]
    if not kinds:
        parser.error(f"no kind has any of {options.rows} in its name")
    PROCESSES.set_forkserver_preload(PRELOADED)
    rows = []
    for kind in kinds:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            kills, start = Kills(kind, Path(folder)), time.monotonic()
            found = list(kills.killed(options.kills))
            rows.append(summed(kind, found, kills.missed))
        seconds = time.monotonic() - start
        print(f"{kind.name}: {len(found)} kills, {seconds:.0f} s", file=sys.stderr, flush=True)
    show("Killed and run again", COLUMNS, rows, NOTES)
    save(rows, folder=options.results, name="kills", complete=options.rows is None)
    return 0 if all(row.equal == row.kills == options.kills for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
