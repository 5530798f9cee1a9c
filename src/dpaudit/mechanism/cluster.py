"""Tasks on a Dask cluster, each of which ends: with an answer, or with a reason why there is none.

Dask has an executor of its own. But when the scheduler is lost while an answer is on its way, the
future of that executor never ends, and neither would an audit that waits for it.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor, Future, InvalidStateError
from contextlib import suppress
from typing import Any

_LOOK_SECONDS = 1.0  # between two looks whether the client still has its scheduler
_GONE = frozenset({"closing", "closed"})  # what a client is when it has given its scheduler up


class LostCluster(Exception):
    """The client has lost its scheduler."""


class OnCluster(Executor):
    """An executor that hands tasks to a Dask client, with the options of `Client.submit`."""

    def __init__(self, client: Any, **options: Any) -> None:
        self._client = client
        self._options = {"pure": False, **options}

    @property
    def threads(self) -> int:
        """How many tasks the cluster works on at once, now."""
        return max(int(sum(self._client.nthreads().values())), 1)

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        """Hand a task over."""
        task = self._client.submit(function, *arguments, **named, **self._options)
        future: Future[Any] = Future()

        def cancel(done: Future[Any]) -> None:
            if done.cancelled():
                with suppress(Exception):  # the client may be closed
                    task.cancel()

        future.add_done_callback(cancel)
        self._client.loop.add_callback(self._bring, task, future)
        return future

    async def _bring(self, task: Any, future: Future[Any]) -> None:
        """Wait for a task, and pass on what came of it."""
        answer = asyncio.ensure_future(self._client.gather(task, asynchronous=True))
        try:
            while not (await asyncio.wait({answer}, timeout=_LOOK_SECONDS))[0]:
                if self._client.status in _GONE:
                    answer.cancel()
                    raise LostCluster("the client has lost its scheduler")
            result = answer.result()
        except BaseException as error:
            with suppress(InvalidStateError):  # it was cancelled
                future.set_exception(error)
        else:
            with suppress(InvalidStateError):
                future.set_result(result)


def on_cluster(executor: Any) -> OnCluster | None:
    """The executor for a Dask client, or for an executor of Dask; None for anything else."""
    if callable(getattr(executor, "get_executor", None)):
        return OnCluster(executor)
    client = getattr(executor, "_client", None)
    if callable(getattr(client, "get_executor", None)):
        return OnCluster(client, **getattr(executor, "_kwargs", {}))
    return None
