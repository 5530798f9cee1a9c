"""Errors as outputs: a mechanism that raises on one dataset only has told the two apart.

A release is one output, or one error in its place. What is counted must be independent releases,
and a call for `size` of them that raises does not say which of them did. It raises exactly if at
least one release does. So releases are then drawn one by one, `size` at a time, until at least one
of them raises: that gives `size` independent releases under the condition that was met, and the
call, whichever way it went, has given `size` independent releases. (To draw them once and take
what comes would halve the errors that are rare, and so stretch the ratio of their probabilities.)
From then on every release of the mechanism, on any dataset, is drawn by itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from dpaudit.health import HealthWarning
from dpaudit.returned import InvalidOutput, Outputs, Raised, checked, short

OnError: TypeAlias = Literal["output", "raise"]
ON_ERROR: tuple[OnError, ...] = ("output", "raise")

_NEVER_OUTPUTS = (MemoryError, InvalidOutput)  # of the machine, and of how the mechanism is called
_ENOUGH = 8  # draws of either dataset: if all raise, the mechanism is not private but broken
_AGAIN = 20_000  # draws, at most, to find the release that raised


def check_on_error(on_error: object) -> None:
    """Refuse what is not one of the two words."""
    if on_error not in ON_ERROR:
        raise ValueError(
            f'on_error must be "output" or "raise", got {on_error!r}. "output" counts an error as '
            'an output if the mechanism does not always raise, "raise" ends with the first.'
        )


@dataclass(slots=True, kw_only=True, eq=False)
class ErrorsAsOutputs:
    """Draws outputs, errors among them, and says once that there were some.

    An error flies if the machine or the way of calling is at fault, or if nothing but errors came
    from two datasets: a mechanism that always fails tells nothing. `one_by_one` is whether each
    release is drawn by itself.

    >>> errors = ErrorsAsOutputs(name="second")
    >>> second = [4.0][1:]
    >>> errors.draw([4.0], 2, whole=lambda: [second[0]] * 2, single=lambda: second[0])
    [raises IndexError, raises IndexError]
    """

    name: str
    one_by_one: bool = False
    _first: tuple[Raised, Any] | None = field(default=None, init=False, repr=False)
    _only_errors: list[tuple[Any, int]] = field(default_factory=list, init=False, repr=False)
    _gave_output: bool = field(default=False, init=False, repr=False)
    _told: bool = field(default=False, init=False, repr=False)

    def draw(
        self, data: Any, size: int, *, whole: Callable[[], Outputs], single: Callable[[], object]
    ) -> Outputs:
        """Give `size` releases on `data`: by one call of `whole`, or by calls of `single`."""
        if self.one_by_one:
            outputs = checked(self._releases(data, size, single), size, self.name)
        else:
            try:
                outputs = whole()
                self._gave_output = True
            except Exception as error:
                outputs = self._instead(error, data, size, single)
                self.one_by_one = True
        self._tell()
        return outputs

    def _instead(
        self, error: Exception, data: Any, size: int, single: Callable[[], object]
    ) -> list[object]:
        """So many releases, given that at least one of them raises."""
        found = self._caught(error, data)
        if size == 1:
            return [found]
        for _ in range(max(_AGAIN // size, 1)):
            outputs = self._releases(data, size, single)
            if any(isinstance(output, Raised) for output in outputs):
                return outputs
        error.add_note(
            f"{self.name} raised this when asked for {size} outputs, but not when asked for one, "
            f"over and over again. So it cannot be said which output it stands for. If it is a "
            f"rare one, draw one output a call: dpaudit.one_at_a_time."
        )
        raise error

    def _releases(self, data: Any, size: int, single: Callable[[], object]) -> list[object]:
        outputs: list[object] = []
        for _ in range(size):
            try:
                outputs.append(single())
                self._gave_output = True
            except Exception as error:
                outputs.append(self._caught(error, data))
                if not self._gave_output:
                    self._fly_if_nothing_else(error, data)
        return outputs

    def _caught(self, error: Exception, data: Any) -> Raised:
        if isinstance(error, _NEVER_OUTPUTS):
            raise error
        found = Raised.of(error)
        if self._first is None:
            self._first = found, data
        return found

    def _fly_if_nothing_else(self, error: Exception, data: Any) -> None:
        """Raise an error if enough draws of each of two datasets have given nothing but errors."""
        before = sum(count for known, count in self._only_errors if known is data)
        others = [(known, count) for known, count in self._only_errors if known is not data]
        self._only_errors = [*others[-1:], (data, before + 1)]
        counts = [count for _, count in self._only_errors]
        if len(counts) == 2 and min(counts) >= _ENOUGH:
            error.add_note(
                f"{self.name} raised at each of {sum(counts)} draws, on two datasets. An error is "
                f"counted as an output only where not every draw raises."
            )
            raise error

    def _tell(self) -> None:
        """Say once that there are errors among the outputs, and which was the first."""
        if self._told or self._first is None or not self._gave_output:
            return
        self._told = True
        found, data = self._first
        warnings.warn(
            f'Errors are counted as outputs (on_error="raise" ends with the first). The first of '
            f"{self.name}: {found.kind} on {short(data)}: {short(found.message)}",
            HealthWarning,
            stacklevel=4,
        )
