"""What runs in a worker: the calls of a task, each as if it were the first.

A worker remembers the mechanisms that it was sent. What a call says of its mechanism travels back
with the outputs, and is taken note of where the audit runs.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from dpaudit.mechanism.calling import Mechanism
from dpaudit.mechanism.errors_as_outputs import ErrorsAsOutputs
from dpaudit.mechanism.own_warnings import Seen
from dpaudit.mechanism.packing import cloudpickle, packed
from dpaudit.mechanism.user_frames import note_frames
from dpaudit.outputs import ArrayForms, CellReader, CountedOutputs, Outputs

Wanted: TypeAlias = tuple[Any, int, np.random.SeedSequence, CellReader | None]  # of a call

_MAX_MECHANISMS = 8  # that a worker remembers


@dataclass(slots=True, kw_only=True)
class Reply:
    """What came of a call."""

    outputs: CountedOutputs | Outputs | None = None
    error: Exception | None = None
    first_error: Exception | None = None  # among the outputs
    forms: ArrayForms = field(default_factory=ArrayForms)
    warnings: list[Seen] = field(default_factory=list)
    seconds: float = 0.0


_known: OrderedDict[str, Mechanism] = OrderedDict()
_known_lock = threading.Lock()


def work(key: str, payload: bytes | None, wanted: bytes, one_by_one: bool | None) -> bytes | None:
    """Make some calls; None where the mechanism is not known here and did not come along."""
    with _known_lock:
        mechanism = _known.get(key)
        if mechanism is None and payload is not None:
            mechanism = _known[key] = cloudpickle().loads(payload)
            while len(_known) > _MAX_MECHANISMS:
                _known.popitem(last=False)
    if mechanism is None:
        return None
    calls: list[Wanted] = cloudpickle().loads(wanted)
    if threading.current_thread() is threading.main_thread():
        with warnings.catch_warnings(record=True, action="default") as caught:
            replies = made(mechanism, calls, one_by_one)
        replies[-1].warnings = [
            (one.category, one.filename, one.lineno, str(one.message)) for one in caught
        ]
    else:  # what catches warnings is shared among threads
        replies = made(mechanism, calls, one_by_one)
    for reply in replies:
        for error in filter(None, (reply.error, reply.first_error)):
            note_frames(error)
    return packed(replies)


def made(mechanism: Mechanism, calls: list[Wanted], one_by_one: bool | None) -> list[Reply]:
    """Make some calls, each as if it were the first."""
    return [_reply(mechanism, wanted, one_by_one) for wanted in calls]


def _reply(mechanism: Mechanism, wanted: Wanted, one_by_one: bool | None) -> Reply:
    data, size, seed, reader = wanted
    errors = None
    if one_by_one is not None:
        errors = ErrorsAsOutputs(
            name=mechanism.name, one_by_one=one_by_one, raises_without_output=False, _told=True
        )
    reply, process = Reply(), os.getpid()
    fresh = replace(mechanism, errors=errors, forms=reply.forms)
    began = time.perf_counter()
    try:
        rng = np.random.default_rng(seed)
        if reader is None:
            reply.outputs = fresh.draw(data, size, rng)
        else:
            reply.outputs = fresh.count(data, size, rng, reader)
    except Exception as error:
        reply.error = _sendable(error)
    if os.getpid() != process:
        os._exit(1)  # the mechanism forked, and this is the child
    reply.seconds = time.perf_counter() - began
    if errors is not None and errors.first_error is not None:
        reply.first_error = _sendable(errors.first_error)
    return reply


def _sendable(error: Exception) -> Exception:
    """The error, or one that says the same where it cannot travel."""
    try:
        again = cloudpickle().loads(cloudpickle().dumps(error))
        if isinstance(again, type(error)):
            return error
    except Exception:  # an error whose class wants other arguments than its message
        pass
    plain = RuntimeError(f"{type(error).__qualname__}: {error}")
    for note in getattr(error, "__notes__", ()):
        plain.add_note(note)
    return plain
