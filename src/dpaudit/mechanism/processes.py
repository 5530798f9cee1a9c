"""Processes of our own, each with a thread that hands it one task after the other.

So it is known which task a process was working on when it ended, or took too long. The processes
are fresh ones that import nothing of the program that starts them: no `if __name__ == "__main__"`
is needed, and what the program has open is not theirs.
"""

from __future__ import annotations

import os
import queue
import secrets
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future
from contextlib import suppress
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

from dpaudit.mechanism.packing import cloudpickle, packed

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_KEY = "DPAUDIT_WORKER_KEY"
_LOOK_SECONDS = 0.5  # between two looks whether a process still runs
_START = """
import sys
sys.path[:] = {path!r}
from dpaudit.mechanism.processes import serve
serve({address!r})
"""


class ProcessDied(Exception):
    """A process ended, or was ended, while it worked on a task; says how."""


class OwnProcesses(Executor):
    """An executor of fresh processes. A task whose process dies fails; the others do not notice.

    With `task_seconds` the process of a task that takes longer is ended.

    >>> with OwnProcesses(2) as processes:
    ...     processes.submit(sum, [1, 2, 3]).result()
    6
    """

    def __init__(self, workers: int, *, task_seconds: float | None = None) -> None:
        self._max_workers = workers
        self._task_seconds = task_seconds
        self._tasks: queue.SimpleQueue[tuple[Future[Any], bytes] | None] = queue.SimpleQueue()
        self._workers: list[_Worker] = []
        self._open = 0  # tasks that are not done
        self._lock = threading.Lock()

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        """Hand a task over to the next process that is free; start one if none is."""
        future: Future[Any] = Future()
        self._tasks.put((future, packed((function, arguments, named))))
        with self._lock:
            self._open += 1
            if len(self._workers) < min(self._open, self._max_workers):
                self._workers.append(_Worker(self._tasks, self._task_seconds))
        future.add_done_callback(self._done)
        return future

    def _done(self, future: Future[Any]) -> None:
        with self._lock:
            self._open -= 1

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End all processes, whatever they are doing."""
        for _ in self._workers:
            self._tasks.put(None)
        for worker in self._workers:
            worker.end()


class _Worker(threading.Thread):
    """A process and the thread that talks to it."""

    def __init__(
        self,
        tasks: queue.SimpleQueue[tuple[Future[Any], bytes] | None],
        task_seconds: float | None,
    ) -> None:
        super().__init__(daemon=True)
        self._tasks = tasks
        self._seconds = task_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._line: Connection | None = None
        self._ended = False
        self.start()

    def run(self) -> None:
        while (task := self._tasks.get()) is not None:
            future, wanted = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                failed, answer = cloudpickle().loads(self._answered(wanted))
            except Exception as error:
                future.set_exception(error)
            else:
                (future.set_exception if failed else future.set_result)(answer)

    def end(self) -> None:
        """End the process at once."""
        self._ended = True
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _answered(self, wanted: bytes) -> bytes:
        try:
            line = self._line or self._connected()
            line.send_bytes(wanted)
            if self._has_answered(line):
                return line.recv_bytes()
            how = f"did not return within {self._seconds:g} s"
        except (EOFError, OSError) as error:
            how = str(error) if isinstance(error, _CannotStart) else ""
        process, self._process, self._line = self._process, None, None
        if process is None:
            raise ProcessDied(how or "could not be started")
        if how:
            process.kill()
        code = process.wait()
        raise ProcessDied(how or _ending(code))

    def _has_answered(self, line: Connection) -> bool:
        """Wait for an answer; False if the time is up.

        The line alone does not tell that a process ended: its child processes may hold it open.
        """
        process, left = self._process, self._seconds
        assert process is not None
        end = None if left is None else time.monotonic() + left
        while not line.poll(_LOOK_SECONDS if left is None else min(max(left, 0.0), _LOOK_SECONDS)):
            if process.poll() is not None and not line.poll(0.0):
                raise EOFError
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0.0:
                return False
        return True

    def _connected(self) -> Connection:
        key = secrets.token_bytes(16)
        with Listener(authkey=key) as listener:
            code = _START.format(path=sys.path, address=listener.address)
            environment = {**os.environ, **_ONE_THREAD, _KEY: key.hex()}
            self._process = subprocess.Popen(
                [sys.executable, "-c", code], stdin=subprocess.DEVNULL, env=environment
            )
            if self._ended:
                self._process.kill()
            watching = threading.Thread(target=self._unblock, args=(listener.address, key))
            watching.daemon = True
            watching.start()
            self._line = listener.accept()
        if self._process.poll() is not None:
            raise _CannotStart("could not be started")
        return self._line

    def _unblock(self, address: Any, key: bytes) -> None:
        """If the process ends before it has connected, connect in its place."""
        process = self._process
        if process is not None and process.wait() is not None and self._line is None:
            with suppress(OSError):
                Client(address, authkey=key).close()


class _CannotStart(OSError):
    """A process ended before it was ready."""


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended its process with code {code}"
    try:
        return f"ended its process ({signal.Signals(-code).name})"
    except ValueError:
        return f"ended its process (signal {-code})"


def serve(address: Any) -> None:
    """In a fresh process: work on tasks until the program that started it is gone.

    Ctrl-C is for that program, and print goes to stderr, so that no answer is spoilt.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdin = open(os.devnull)  # noqa: SIM115
    os.dup2(2, 1)
    process = os.getpid()
    try:
        line = Client(address, authkey=bytes.fromhex(os.environ.pop(_KEY)))
    except (OSError, EOFError):
        return
    with line:
        while True:
            try:
                function, arguments, named = cloudpickle().loads(line.recv_bytes())
            except EOFError:
                return
            except Exception as error:
                answer = True, error
            else:
                try:
                    answer = False, function(*arguments, **named)
                except Exception as error:
                    answer = True, error
            if os.getpid() != process:
                os._exit(1)  # the task forked, and this is the child
            line.send_bytes(_sendable(answer))


def _sendable(answer: tuple[bool, Any]) -> bytes:
    try:
        return packed(answer)
    except Exception as error:
        return packed((True, TypeError(f"the answer cannot be sent: {error}")))
