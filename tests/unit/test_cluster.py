"""Tasks of a Dask client end, whatever becomes of the scheduler. The client is one of our own."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import Any

import pytest

from dpaudit.mechanism.cluster import LostCluster, OnCluster, on_cluster


class Loop:
    """Runs each callback in a thread of its own."""

    def add_callback(self, function: Any, *given: Any) -> None:
        threading.Thread(target=lambda: asyncio.run(function(*given)), daemon=True).start()


class Task:
    cancelled = False

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def cancel(self) -> None:
        self.cancelled = True


class Client:
    """Answers at once, never, or with an error."""

    status = "running"
    loop = Loop()

    def __init__(self, *, never: bool = False) -> None:
        self.never = never
        self.options: dict[str, Any] = {}
        self.tasks: list[Task] = []

    def nthreads(self) -> dict[str, int]:
        return {"one": 2, "other": 1}

    def get_executor(self) -> None:
        raise NotImplementedError

    def submit(self, function: Any, *given: Any, **options: Any) -> Task:
        self.options = options
        try:
            self.tasks.append(Task(function(*given)))
        except OSError as error:
            self.tasks.append(Task(error))
        return self.tasks[-1]

    async def gather(self, task: Task, *, asynchronous: bool) -> Any:
        assert asynchronous
        if self.never:
            await asyncio.sleep(60.0)
        if isinstance(task.answer, OSError):
            raise task.answer
        return task.answer


def submitted(client: Client, *given: Any) -> Future[Any]:
    executor = on_cluster(client)
    assert isinstance(executor, OnCluster)
    assert executor.threads == 3
    return executor.submit(*given)


def test_an_answer_is_passed_on() -> None:
    client = Client()
    assert submitted(client, sum, [1, 2]).result(timeout=10.0) == 3
    assert client.options == {"pure": False}


def test_so_is_an_answer_that_was_lost_on_its_way() -> None:
    def lost() -> None:
        raise OSError("the stream is closed")

    with pytest.raises(OSError, match="the stream is closed"):
        submitted(Client(), lost).result(timeout=10.0)


def test_a_task_ends_with_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpaudit.mechanism.cluster._LOOK_SECONDS", 0.02)
    client = Client(never=True)
    future = submitted(client, sum, [1, 2])
    client.status = "closed"
    with pytest.raises(LostCluster):
        future.result(timeout=10.0)


def test_a_task_that_is_cancelled_is_cancelled_on_the_cluster() -> None:
    client = Client(never=True)
    assert submitted(client, sum, [1, 2]).cancel()
    assert client.tasks[0].cancelled


def test_an_executor_of_dask_keeps_its_options() -> None:
    class Executor:
        _client = Client()
        _kwargs = {"workers": ["one"]}  # noqa: RUF012

    found = on_cluster(Executor())
    assert found is not None
    found.submit(sum, [1, 2])
    assert Executor._client.options == {"pure": False, "workers": ["one"]}
    assert on_cluster(threading) is None
