"""Errors as outputs: a mechanism that raises on one of two datasets only tells them apart.

A release is one output, or one error in its place. A call for `size` releases that raises only says
that at least one of them did. So releases are then drawn one by one, `size` at a time, until one of
them raises: these are independent releases under the condition that was met. (To draw them once
and take what comes would halve the rare errors, and stretch the ratio of their probabilities.)
From then on every release of the mechanism, on any dataset, is drawn by itself.

A pair on which both sides raise the same error at every draw shows nothing: a search sets it aside
(`FailingPairs`). Its draws were bet on like all others, and whether a pair gets more of them may
depend on all that was seen, so this costs no validity. Errors that differ between the sides are
evidence, but a mechanism that has not given any output yet is more likely called in a wrong way
than leaking. The search then looks for an output first, and ends with the first error if it finds
none, not with a verdict.

What would end the process is an error like others: `sys.exit(0)` in a mechanism must not end a
script as if nothing were wrong with the claim. Only Ctrl-C may end an audit early, and the signal
tells it from a `KeyboardInterrupt` that any code can raise.
"""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Literal, TypeAlias

import numpy as np

from dpaudit.errors import HealthWarning, InvalidOutput, UnexpectedExit
from dpaudit.outputs import DeviceOutputs, Outputs, Raised, checked, short

OnError: TypeAlias = Literal["output", "raise"]

_NEVER_OUTPUTS = (MemoryError, InvalidOutput)  # of the machine, and of how the mechanism is called
_MIN_FAILED_DRAWS = 8  # of each dataset: if all of them raise, it gives nothing but errors
_MAX_FAILING_PAIRS = 64  # without any output, before a search gives up: all edge pairs and some
_MAX_REPEATED_DRAWS = 20_000  # to find the release that raised


@dataclass(slots=True, kw_only=True, eq=False)
class ErrorsAsOutputs:
    """Draws outputs, errors among them, and says once that there were some.

    An error is raised if the machine or the way of calling is at fault. It is raised too if two
    datasets gave nothing but errors, unless a search that tries other datasets sets
    `raises_without_output` to False. With `one_by_one` each release is drawn by itself.

    >>> errors = ErrorsAsOutputs(name="second")
    >>> second = [4.0][1:]
    >>> errors.draw([4.0], 2, whole=lambda: [second[0]] * 2, single=lambda: second[0])
    [raises IndexError, raises IndexError]
    """

    name: str
    one_by_one: bool = False
    raises_without_output: bool = True
    gave_output: bool = field(default=False, init=False)
    first_error: Exception | None = field(default=None, init=False, repr=False)
    first_data: Any = field(default=None, init=False, repr=False)  # on which it was raised
    _only_errors: list[tuple[Any, int]] = field(default_factory=list, init=False, repr=False)
    _told: bool = field(default=False, repr=False)

    def draw(
        self,
        data: Any,
        size: int,
        *,
        whole: Callable[[], DeviceOutputs | Outputs],
        single: Callable[[], object],
    ) -> DeviceOutputs | Outputs:
        """Give `size` releases on `data`: by one call of `whole`, or by calls of `single`."""
        outputs: DeviceOutputs | Outputs
        if self.one_by_one:
            outputs = checked(self._releases(data, size, single), size, self.name)
        else:
            try:
                outputs = whole()
                self.gave_output = True
            except Exception as error:
                outputs = self._instead(error, data, size, single)
                self.one_by_one = True
        self._tell()
        return outputs

    def _instead(
        self, error: Exception, data: Any, size: int, single: Callable[[], object]
    ) -> list[object]:
        """Give `size` releases, given that at least one of them raises."""
        found = self._caught(error, data)
        if size == 1:
            return [found]
        for _ in range(max(_MAX_REPEATED_DRAWS // size, 1)):
            outputs = self._releases(data, size, single)
            if any(isinstance(output, Raised) for output in outputs):
                return outputs
        error.add_note(
            f"{self.name} raised this when asked for {size} outputs, but not when asked again and "
            f"again for one. So nobody can say which output it stands for. If it is a rare one, "
            f"draw one output a call: dpaudit.one_at_a_time."
        )
        raise error

    def _releases(self, data: Any, size: int, single: Callable[[], object]) -> list[object]:
        outputs: list[object] = []
        for _ in range(size):
            try:
                outputs.append(single())
                self.gave_output = True
            except Exception as error:
                outputs.append(self._caught(error, data))
                if self.raises_without_output and not self.gave_output:
                    self._raise_if_nothing_else(error, data)
        return outputs

    def _caught(self, error: Exception, data: Any) -> Raised:
        if isinstance(error, _NEVER_OUTPUTS):
            raise error
        if self.first_error is None:
            self.first_error, self.first_data = error, data
        return Raised.of(error)

    def _raise_if_nothing_else(self, error: Exception, data: Any) -> None:
        """Raise an error if enough draws of each of two datasets gave nothing but errors."""
        before = sum(count for known, count in self._only_errors if known is data)
        others = [(known, count) for known, count in self._only_errors if known is not data]
        self._only_errors = [*others[-1:], (data, before + 1)]
        counts = [count for _, count in self._only_errors]
        if len(counts) == 2 and min(counts) >= _MIN_FAILED_DRAWS:
            error.add_note(
                f"{self.name} raised at each of {sum(counts)} draws, on two datasets. An error is "
                f"counted as an output only where not every draw raises."
            )
            raise error

    def note(self, data: Any, outputs: Outputs, error: Exception | None) -> None:
        """Take note of outputs on `data` that were not drawn here; `error` was their first."""
        raised = [one for one in outputs if type(one) is Raised] if type(outputs) is list else []
        if raised:
            self.one_by_one = True
            error = error or raised[0].as_error()
            if self.first_error is None:
                self.first_error, self.first_data = error, data
            if self.raises_without_output and not self.gave_output and len(raised) == len(outputs):
                for _ in raised:
                    self._raise_if_nothing_else(error, data)
        self.gave_output |= len(raised) < len(outputs)
        self._tell()

    def _tell(self) -> None:
        """Say once that there are errors among the outputs, and which was the first."""
        if self._told or self.first_error is None or not self.gave_output:
            return
        self._told = True
        found = Raised.of(self.first_error)
        warnings.warn(
            f'Errors are counted as outputs (on_error="raise" ends with the first). The first of '
            f"{self.name}: {found.kind} on {short(self.first_data)}: {short(found.message)}",
            HealthWarning,
            stacklevel=4,
        )


@dataclass(slots=True, eq=False)
class _Seen:
    """How many draws of either side of a pair were made, and which errors they raised."""

    data: int = 0
    neighbour: int = 0
    errors: set[Raised] | None = field(default_factory=set)  # None once there was an output


class FailingPairs:
    """The pairs of a search on which both sides raised at every draw.

    Such a pair is set aside if its errors are all the same. If they differ it waits until some
    dataset gives an output: then it is a pair like others. Without `errors` (`on_error` is
    "raise", or there is one pair only) nothing is ever set aside.

    >>> failing = FailingPairs(ErrorsAsOutputs(name="fit"))
    >>> failing.see(0, [Raised("ValueError", "too few")] * 16, data=8, neighbour=8)
    >>> failing.is_fruitless(0), failing.shows_nothing(0), failing.waits_for_output
    (True, True, True)
    """

    def __init__(self, errors: ErrorsAsOutputs | None) -> None:
        self._sets_aside = errors is not None
        self._errors = ErrorsAsOutputs(name="") if errors is None else errors
        self._errors.raises_without_output = False
        self._seen: dict[int, _Seen] = {}
        self._fruitless: set[int] = set()  # pairs that raised throughout, whatever came later
        self._aside: set[int] = set()
        self._first: tuple[Raised, str] | None = None

    def see(self, number: int, outputs: Outputs, *, data: int, neighbour: int) -> None:
        """Take note of some draws of the pair of this number."""
        if not self._sets_aside:
            return
        seen = self._seen.setdefault(number, _Seen())
        seen.data += data
        seen.neighbour += neighbour
        output = isinstance(outputs, np.ndarray) or any(type(one) is not Raised for one in outputs)
        seen.errors = None if output or seen.errors is None else {*seen.errors, *outputs}
        if self._errors_of(number):
            self._fruitless.add(number)

    def is_fruitless(self, number: int) -> bool:
        """Whether more draws of this pair are of no use now."""
        found = self._errors_of(number)
        return len(found) == 1 or (bool(found) and self.waits_for_output)

    def shows_nothing(self, number: int) -> bool:
        """Whether both sides of this pair raise one and the same error."""
        return len(self._errors_of(number)) == 1

    def _errors_of(self, number: int) -> set[Raised]:
        """The errors of a pair that raised at every draw of both sides, and often enough."""
        seen = self._seen.get(number, _Seen())
        enough = min(seen.data, seen.neighbour) >= _MIN_FAILED_DRAWS
        return seen.errors if enough and seen.errors is not None else set()

    def set_aside(self, number: int, pair: object) -> None:
        """Give up a pair that shows nothing."""
        self._aside.add(number)
        if self._first is None:
            (error,) = self._errors_of(number)
            self._first = error, str(pair)
        del self._seen[number]

    @property
    def any_error(self) -> bool:
        """Whether any draw has raised."""
        return self._errors.first_error is not None

    @property
    def waits_for_output(self) -> bool:
        """Whether pairs raised throughout, and no dataset has given an output."""
        return bool(self._fruitless) and not self._errors.gave_output

    @property
    def is_hopeless(self) -> bool:
        """Whether too many pairs gave nothing but errors to go on."""
        return self.waits_for_output and len(self._fruitless) >= _MAX_FAILING_PAIRS

    def raise_if_fruitless(self, tried: int, draws: int, *, refuted: bool) -> None:
        """Raise the first error if it is all that came of (nearly) all pairs that were tried."""
        aside = len(self._aside)
        nearly_all = aside >= _MAX_FAILING_PAIRS and tried - aside <= 1 and not refuted
        error = self._errors.first_error
        if error is not None and (self.waits_for_output or nearly_all):
            self._first = None  # the error says it all
            error.add_note(
                f"{self._errors.name} raised at each draw on both sides of "
                f"{len(self._fruitless)} of {tried} pairs, {draws} draws in all. This is the first "
                f"error. An error is counted as an output only where not every draw raises. Mend "
                f"the mechanism, or leave out the data that it cannot take (min_records=..., "
                f"domain.filter(...))."
            )
            where = short(self._errors.first_data)
            error.add_note(f"while drawing outputs from {self._errors.name} on data={where}")
            raise error

    def warn(self, tried: int) -> None:
        """Say how many of the pairs that were tried were set aside, if any."""
        if self._first is None:
            return
        found, pair = self._first
        warnings.warn(
            f"{len(self._aside)} of {tried} pairs raised the same error at each draw on both "
            f"sides: they show nothing, and were not searched further. The first: {found.kind} on "
            f"{pair}: {short(found.message)}",
            HealthWarning,
            stacklevel=3,
        )


@dataclass(slots=True)
class CtrlC:
    """Whether the signal of Ctrl-C came."""

    pressed: bool = False


@contextmanager
def watched_ctrl_c() -> Iterator[CtrlC]:
    """Notice Ctrl-C, and leave it to the handler there was before.

    Python hands signals to its main thread only, so there is nothing to notice in another.

    >>> import signal
    >>> with watched_ctrl_c() as ctrl_c:
    ...     try:
    ...         signal.raise_signal(signal.SIGINT)
    ...     except KeyboardInterrupt:
    ...         print(ctrl_c.pressed)
    True
    """
    seen = CtrlC()
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield seen
        return

    def noticed(number: int, frame: FrameType | None) -> None:
        seen.pressed = True
        before(number, frame)

    signal.signal(signal.SIGINT, noticed)
    try:
        yield seen
    finally:
        if signal.getsignal(signal.SIGINT) is noticed:
            signal.signal(signal.SIGINT, before)


@contextmanager
def exits_as_errors(culprit: str) -> Iterator[None]:
    """Turn what would end the process into an `UnexpectedExit`, unless Ctrl-C was pressed.

    >>> with exits_as_errors("noisy_sum"):
    ...     raise SystemExit(0)
    Traceback (most recent call last):
    dpaudit.errors.UnexpectedExit: noisy_sum raised SystemExit(0), which ends a process. ...
    """
    with watched_ctrl_c() as ctrl_c:
        try:
            yield
        except (SystemExit, KeyboardInterrupt, GeneratorExit) as error:
            if ctrl_c.pressed:
                raise
            raise UnexpectedExit(
                f"{culprit} raised {error!r}, which ends a process. An audit ends with a verdict "
                "only: return outputs, or raise an ordinary error."
            ) from error
