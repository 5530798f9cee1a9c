"""Calls made by an executor: threads, processes, or the machines of a cluster.

Calls are asked for ahead of time, several in one task where they are quick, and their outputs are
taken in the order in which the audit wants them. What a call gives depends on its dataset, size and
seed alone, and what it says of the mechanism (that it raises, of what form its arrays are) is taken
note of when its outputs are taken. So an audit is the same whoever makes its calls.

No call is ever left out: if those that end their process were, crashes would choose what counts. A
call whose process died is made again by itself. If it dies again it is the output "crashed" where
it is a single draw, as an error would be; otherwise the audit stops and names the dataset.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.errors import DPAuditError, MechanismDied
from dpaudit.mechanism.calling import Mechanism
from dpaudit.mechanism.calls import Call, Caller, CallsHere
from dpaudit.mechanism.cluster import OnCluster, on_cluster
from dpaudit.mechanism.own_warnings import OwnWarnings
from dpaudit.mechanism.packing import cloudpickle, packed, pickled
from dpaudit.mechanism.processes import OwnProcesses, ProcessDied
from dpaudit.mechanism.worker import Reply, made, work
from dpaudit.outputs import CellReader, CountedOutputs, Outputs, Raised, head_of, short

MAX_WORKERS = 1_000  # processes on one machine
_OVERHEADS = 10.0  # a task lasts about so many times as long as it takes to hand it over
_TASKS_PER_WORKER = 2  # under way: one is worked on, one waits
_MAX_CALLS_PER_TASK = 64
_MAX_DEATHS = 2  # of a call made by itself
_CRASHED = "Crashed"  # the kind of an output in whose place the process died
_FADING = 0.8  # weight that earlier tasks keep in the estimate of the speed


@contextmanager
def caller_for(
    mechanism: Mechanism,
    *,
    workers: int | None = None,
    executor: Any = None,
    isolate: bool = False,
    call_seconds: float | None = None,
) -> Iterator[Caller]:
    """Who makes the calls: this process, processes of our own, or an executor.

    Processes of our own end with the block.

    >>> from dpaudit.mechanism import as_mechanism
    >>> mechanism = as_mechanism(lambda data, size, rng: data[0] + rng.integers(9, size=size))
    >>> call = Call(data=[100], size=3, seed=np.random.SeedSequence(7))
    >>> with ThreadPoolExecutor(2) as threads, caller_for(mechanism, executor=threads) as caller:
    ...     print(caller.ask(call).outputs())
    [108 105 106]
    """
    _check_who(workers, executor, isolate, call_seconds)
    own = OwnWarnings(mechanism.name)
    if executor is None and workers is None and not isolate:
        try:
            yield CallsHere(mechanism, own=own)
        finally:
            own.show()
        return
    ours = OwnProcesses(int(workers or 1), task_seconds=call_seconds) if executor is None else None
    alone = call_seconds is not None
    caller = Workers(mechanism, ours or _as_executor(executor), alone=alone, own=own)
    try:
        yield caller
    finally:
        caller.close()
        if ours is not None:
            ours.shutdown()
        own.show()


def _check_who(workers: Any, executor: Any, isolate: Any, call_seconds: Any) -> None:
    """Refuse what does not go together."""
    whole = isinstance(workers, int | np.integer) and not isinstance(workers, bool)
    if workers is not None and not (whole and 1 <= workers <= MAX_WORKERS):
        raise ValueError(
            f"workers must be a whole number from 1 to {MAX_WORKERS}, got {workers!r}. Leave it "
            "out to make all calls in this process; executor= takes a cluster for more."
        )
    ours = workers is not None or isolate
    if executor is not None and ours:
        raise ValueError(
            "executor= brings workers of its own. Leave it out, or leave out workers= and isolate=."
        )
    if call_seconds is None:
        return
    real = isinstance(call_seconds, int | float) and not isinstance(call_seconds, bool)
    if not (real and 0.0 < call_seconds < math.inf):
        raise ValueError(f"call_seconds must be positive, got {call_seconds!r}.")
    if not ours:
        raise ValueError(
            "call_seconds= ends processes that do not return, so it needs processes of dpaudit's "
            "own: isolate=True, or workers=2."
        )


@dataclass(eq=False, slots=True)
class _Asked:
    """A call that was asked for, and what came of it."""

    owner: Workers
    call: Call
    number: int
    one_by_one: bool = False  # how it was sent
    reply: Reply | None = None
    task: _Task | None = None
    deaths: int = 0  # of processes that worked on it alone

    def outputs(self) -> Outputs:
        received = self.owner.take(self)
        assert not isinstance(received, CountedOutputs), "asked with a reader"
        return received

    def counted(self, reader: CellReader) -> CountedOutputs | Outputs:
        received = self.owner.take(self)
        return received if isinstance(received, CountedOutputs) else reader(received)

    def cancel(self) -> None:
        self.owner.forget(self)


@dataclass(eq=False, slots=True)
class _Task:
    """Calls that were handed over together."""

    future: Future[Any]
    calls: list[_Asked]
    sent: float
    at_once: bool  # a worker was free


class Workers:
    """Hands the calls of one mechanism to an executor, ahead of time and in bundles.

    With `alone` every call is a task of its own.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        executor: Any,
        *,
        alone: bool = False,
        own: OwnWarnings | None = None,
    ) -> None:
        self._mechanism = mechanism
        self._own = own or OwnWarnings(mechanism.name)
        self._executor = executor
        self._alone = alone
        self._here = isinstance(executor, ThreadPoolExecutor)
        self._payload = b"" if self._here else pickled(mechanism)
        self._key = hashlib.sha256(self._payload).hexdigest()
        self._taught = False  # whether some task took the mechanism along
        self.workers = _size_of(executor)
        self._open: dict[int, _Asked] = {}  # whose outputs nobody has taken
        self._queue: deque[_Asked] = deque()
        self._tasks: list[_Task] = []
        self._count = 0
        self._seconds_per_draw: float | None = None
        self._overhead: float | None = None

    def ask(self, call: Call) -> _Asked:
        """Ask for a call; it is made when a worker is free."""
        asked = _Asked(self, call, self._count)
        self._count += 1
        self._open[asked.number] = asked
        self._queue.append(asked)
        self._send_what_fits()
        return asked

    def take(self, asked: _Asked) -> CountedOutputs | Outputs:
        """The outputs of a call that was asked for, once they are there."""
        errors = self._mechanism.errors
        while True:
            while asked.reply is None:
                self._hurry(asked)
            if errors is None or asked.one_by_one == errors.one_by_one:
                break
            self._ask_again()
        self.forget(asked)
        self._send_what_fits()
        return self._noted(asked)

    def forget(self, asked: _Asked) -> None:
        """Nobody wants the outputs of this call any more."""
        self._open.pop(asked.number, None)
        if asked in self._queue:
            self._queue.remove(asked)

    def close(self) -> None:
        """Forget all calls, and stop those that can be stopped."""
        self._open.clear()
        self._queue.clear()
        for task in self._tasks:
            task.future.cancel()
        self._tasks.clear()

    def _noted(self, asked: _Asked) -> CountedOutputs | Outputs:
        """Take note of what a call said of the mechanism, as if it had been made here."""
        reply, mechanism, data = asked.reply, self._mechanism, asked.call.data
        assert reply is not None
        self._own.see(reply.warnings)
        if reply.error is not None:
            raise reply.error
        assert reply.outputs is not None
        shown = head_of(reply.outputs)
        mechanism.note(data, shown, error=reply.first_error, forms=reply.forms)
        return reply.outputs

    def _ask_again(self) -> None:
        """Ask again for what was drawn ahead: since the first error each release is by itself."""
        for asked in self._open.values():
            if asked.task is not None or asked.reply is not None:
                asked.reply, asked.task = None, None
                self._queue.append(asked)
        for task in self._tasks:
            task.future.cancel()
            task.calls = []
        ordered = sorted(self._queue, key=lambda one: one.number)
        self._queue = deque(ordered)

    def _hurry(self, asked: _Asked) -> None:
        """See to it that a call is made next, and wait for it."""
        self._collect()
        if asked.reply is not None:
            return
        if asked.task is None:
            self._queue.remove(asked)
            self._queue.appendleft(asked)
            self._send(self._bundle())
        assert asked.task is not None
        with suppress(CancelledError):
            asked.task.future.exception()

    def _send_what_fits(self) -> None:
        """Hand tasks over while workers have too little to do."""
        self._collect()
        while self._queue and len(self._tasks) < _TASKS_PER_WORKER * self.workers:
            self._send(self._bundle())

    def _bundle(self) -> list[_Asked]:
        """The next calls, as many as make a task worth handing over."""
        calls = [self._queue.popleft()]
        if self._seconds_per_draw is None or self._overhead is None or self._alone:
            return calls
        waiting = sum(one.call.size for one in self._queue) * self._seconds_per_draw
        wanted = min(_OVERHEADS * self._overhead, waiting / self.workers)
        lasts = calls[0].call.size * self._seconds_per_draw
        while (
            self._queue
            and lasts < wanted
            and len(calls) < _MAX_CALLS_PER_TASK
            and not (calls[0].deaths or self._queue[0].deaths)
        ):
            calls.append(self._queue.popleft())
            lasts += calls[-1].call.size * self._seconds_per_draw
        return calls

    def _send(self, calls: list[_Asked]) -> None:
        errors = self._mechanism.errors
        one_by_one = errors is not None and errors.one_by_one
        wanted = [(one.call.data, one.call.size, one.call.seed, one.call.reader) for one in calls]
        task = _Task(Future(), calls, time.perf_counter(), len(self._tasks) < self.workers)
        for one in calls:
            one.task, one.one_by_one = task, one_by_one
        counted = None if errors is None else one_by_one
        job: tuple[Any, ...] = (made, self._mechanism, wanted, counted)
        if not self._here:
            payload = None if self._taught else self._payload
            self._taught = True
            job = (work, self._key, payload, packed(wanted), counted)
        try:
            task.future = self._executor.submit(*job)
        except Exception as error:  # the executor is broken, or was shut down
            task.future.set_exception(error)
        self._tasks.append(task)

    def _collect(self) -> None:
        """Take note of the tasks that are done."""
        for task in [task for task in self._tasks if task.future.done()]:
            self._finish(task)

    def _finish(self, task: _Task) -> None:
        self._tasks.remove(task)
        lost = task.future.cancelled()  # not by us, if somebody still waits for its calls
        error = _Cancelled() if lost else task.future.exception()
        if isinstance(error, ProcessDied):
            self._died(task, str(error))
            return
        if error is not None:
            for one in task.calls:
                one.reply = Reply(error=_no_reply(self._mechanism.name, error))
            return
        replies = task.future.result()
        if replies is None:  # this worker does not know the mechanism yet
            self._taught = False
            self._again(task.calls)
            return
        if isinstance(replies, bytes):
            replies = cloudpickle().loads(replies)
        for one, reply in zip(task.calls, replies, strict=False):
            one.reply = reply
        self._learn_speed(task, sum(reply.seconds for reply in replies))

    def _learn_speed(self, task: _Task, seconds: float) -> None:
        draws = sum(one.call.size for one in task.calls)
        if draws == 0:
            return
        before, now = self._seconds_per_draw, seconds / draws
        self._seconds_per_draw = now if before is None else _FADING * before + (1.0 - _FADING) * now
        if task.at_once:
            overhead = max(time.perf_counter() - task.sent - seconds, 0.0)
            self._overhead = min(self._overhead or overhead, overhead)

    def _again(self, calls: list[_Asked]) -> None:
        """Make these calls next."""
        for one in reversed(calls):
            one.task = None
            if one.number in self._open:
                self._queue.appendleft(one)

    def _died(self, task: _Task, how: str) -> None:
        """A process died: its calls are made again one by one, to see which of them does it."""
        self._taught = False  # the process that takes its place knows nothing
        for one in task.calls:
            one.deaths += 1 if len(task.calls) == 1 else 0
        if len(task.calls) == 1 and task.calls[0].deaths >= _MAX_DEATHS:
            task.calls[0].reply = self._crashed(task.calls[0], how)
            return
        self._again(task.calls)

    def _crashed(self, asked: _Asked, how: str) -> Reply:
        """What a call stands for that died whenever it was made."""
        call, mechanism = asked.call, self._mechanism
        if call.size == 1 and mechanism.errors is not None:
            output = Raised(_CRASHED, f"{mechanism.name} {how}")
            return Reply(outputs=[output], first_error=MechanismDied(f"{mechanism.name} {how}."))
        return Reply(
            error=MechanismDied(
                f"{mechanism.name} {how}, {_MAX_DEATHS} times with the same random numbers, when "
                f"asked for {call.size} outputs on data={short(call.data)}. Without these outputs "
                "the audit cannot go on: leaving them out would choose what counts."
            )
        )


class _Cancelled(Exception):
    """A task was cancelled, and not by us: Dask does so with all of them when it gives up."""

    def __init__(self) -> None:
        super().__init__("the task was cancelled")


def _no_reply(name: str, error: BaseException) -> DPAuditError:
    what = str(error) if isinstance(error, _Cancelled) else f"{type(error).__name__}: {error}"
    died = MechanismDied(
        f"{name} gave no answer from the executor: {what.rstrip('. ')}. Its worker or scheduler "
        "may have died, or a package may be missing there. With workers=2, dpaudit starts "
        "processes of its own and says which dataset ends them; with store=, the same audit goes "
        "on where it stood."
    )
    died.__cause__ = error
    return died


def _as_executor(executor: Any) -> Any:
    """The executor itself, or one for a Dask client."""
    found = on_cluster(executor)
    if found is not None:
        return found
    if isinstance(executor, Executor) or callable(getattr(executor, "submit", None)):
        return executor
    raise TypeError(
        "executor must be a concurrent.futures.Executor or a Dask client, got "
        f"{short(executor)}. For processes on this machine: workers=2."
    )


def _size_of(executor: Any) -> int:
    """How many calls an executor makes at once, as far as it says."""
    most = getattr(executor, "_max_workers", None)
    if isinstance(most, int):
        return most
    return executor.threads if isinstance(executor, OnCluster) else os.cpu_count() or 1
