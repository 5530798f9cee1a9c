"""Errors as outputs: a mechanism that raises on one dataset only has told the two apart.

A release is one output, or one error in its place. What is counted must be independent releases,
and a call for `size` of them that raises does not say which of them did. It raises exactly if at
least one release does. So releases are then drawn one by one, `size` at a time, until at least one
of them raises: that gives `size` independent releases under the condition that was met, and the
call, whichever way it went, has given `size` independent releases. (To draw them once and take
what comes would halve the errors that are rare, and so stretch the ratio of their probabilities.)
From then on every release of the mechanism, on any dataset, is drawn by itself.

A pair on which both sides raise the same error at every draw shows nothing: a search sets it aside
and goes on (`RaisingPairs`). Its draws were bet on like all others, and whether a pair gets more of
them may depend on all that was seen, so this costs no validity. Where the errors of the two sides
differ, they are evidence, but of a mechanism that works: as long as no dataset at all has given an
output, the mechanism is more likely to be called in a wrong way than to leak, and the search looks
for an output first. If there is none to be found, it ends with the first error, not with a verdict.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from dpaudit.errors import HealthWarning, InvalidOutput
from dpaudit.outputs import Outputs, Raised, checked, short

OnError: TypeAlias = Literal["output", "raise"]
ON_ERROR: tuple[OnError, ...] = ("output", "raise")

_NEVER_OUTPUTS = (MemoryError, InvalidOutput)  # of the machine, and of how the mechanism is called
_ENOUGH = 8  # draws of either dataset: if all raise, the mechanism is not private but broken
_FRUITLESS_PAIRS = 64  # without a single output, before a search gives up: all edge pairs and some
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
    from two datasets: a mechanism that always fails tells nothing. A search tries other datasets
    instead: it sets `flies` to False. `one_by_one` is whether each release is drawn by itself.

    >>> errors = ErrorsAsOutputs(name="second")
    >>> second = [4.0][1:]
    >>> errors.draw([4.0], 2, whole=lambda: [second[0]] * 2, single=lambda: second[0])
    [raises IndexError, raises IndexError]
    """

    name: str
    one_by_one: bool = False
    flies: bool = True
    gave_output: bool = field(default=False, init=False)
    first_error: Exception | None = field(default=None, init=False, repr=False)
    _first: tuple[Raised, Any] | None = field(default=None, init=False, repr=False)
    _only_errors: list[tuple[Any, int]] = field(default_factory=list, init=False, repr=False)
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
                self.gave_output = True
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
                self.gave_output = True
            except Exception as error:
                outputs.append(self._caught(error, data))
                if self.flies and not self.gave_output:
                    self._fly_if_nothing_else(error, data)
        return outputs

    def _caught(self, error: Exception, data: Any) -> Raised:
        if isinstance(error, _NEVER_OUTPUTS):
            raise error
        found = Raised.of(error)
        if self._first is None:
            self._first, self.first_error = (found, data), error
        return found

    def where(self) -> str:
        """Where the first error came from."""
        assert self._first is not None
        return f"while drawing outputs from {self.name} on data={short(self._first[1])}"

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
        if self._told or self._first is None or not self.gave_output:
            return
        self._told = True
        found, data = self._first
        warnings.warn(
            f'Errors are counted as outputs (on_error="raise" ends with the first). The first of '
            f"{self.name}: {found.kind} on {short(data)}: {short(found.message)}",
            HealthWarning,
            stacklevel=4,
        )


@dataclass(slots=True, eq=False)
class _Seen:
    """What the draws of one pair have given so far: how many of each side, and which errors."""

    data: int = 0
    neighbour: int = 0
    output: bool = False
    errors: set[Raised] = field(default_factory=set)

    def add(self, outputs: Outputs, *, data: int, neighbour: int) -> None:
        """Add so many draws of either side."""
        self.data += data
        self.neighbour += neighbour
        if self.output:
            return
        self.output = not isinstance(outputs, list) or any(
            type(one) is not Raised for one in outputs
        )
        if self.output:
            self.errors.clear()  # nobody asks any more
        else:
            self.errors.update(outputs)

    @property
    def only_raised(self) -> bool:
        """Whether both sides raised at every draw, of which there are enough."""
        return not self.output and min(self.data, self.neighbour) >= _ENOUGH


class RaisingPairs:
    """The pairs of a search on which both sides raised at every draw.

    Such a pair is set aside where its errors are all the same. Where they differ it waits for an
    output of any other dataset: then it is a pair like others. Without `errors` (`on_error` is
    "raise", or there is one pair only) nothing is ever set aside.

    >>> errors = ErrorsAsOutputs(name="fit")
    >>> raising = RaisingPairs(errors)
    >>> raising.see(0, [Raised("ValueError", "too few")] * 16, data=8, neighbour=8)
    >>> raising.is_fruitless(0), raising.shows_nothing(0), raising.waits_for_output
    (True, True, True)
    """

    def __init__(self, errors: ErrorsAsOutputs | None) -> None:
        self._errors = errors
        self._seen: dict[int, _Seen] = {}
        self._fruitless: set[int] = set()  # pairs that raised throughout, whatever came later
        self._aside: set[int] = set()
        self._first: tuple[Raised, str] | None = None
        if errors is not None:
            errors.flies = False

    def see(self, number: int, outputs: Outputs, *, data: int, neighbour: int) -> None:
        """Take note of some draws of the pair of this number."""
        if self._errors is None:
            return
        seen = self._seen.setdefault(number, _Seen())
        seen.add(outputs, data=data, neighbour=neighbour)
        if seen.only_raised:
            self._fruitless.add(number)

    def is_fruitless(self, number: int) -> bool:
        """Whether more draws of this pair are of no use now."""
        seen = self._seen.get(number)
        if seen is None or not seen.only_raised:
            return False
        return self.waits_for_output or len(seen.errors) == 1

    def shows_nothing(self, number: int) -> bool:
        """Whether both sides of this pair raise one and the same error."""
        seen = self._seen.get(number)
        return seen is not None and seen.only_raised and len(seen.errors) == 1

    def set_aside(self, number: int, pair: object) -> None:
        """Give up a pair that shows nothing."""
        self._aside.add(number)
        if self._first is None:
            (error,) = self._seen[number].errors
            self._first = error, str(pair)
        del self._seen[number]

    @property
    def any_error(self) -> bool:
        """Whether any draw has raised."""
        return self._errors is not None and self._errors.first_error is not None

    @property
    def waits_for_output(self) -> bool:
        """Whether pairs raised throughout, and no dataset at all has given an output."""
        return self._errors is not None and not self._errors.gave_output and bool(self._fruitless)

    @property
    def is_hopeless(self) -> bool:
        """Whether so many pairs gave nothing but errors that there is no point in going on."""
        return self.waits_for_output and len(self._fruitless) >= _FRUITLESS_PAIRS

    def raise_if_fruitless(self, tried: int, draws: int, *, refuted: bool) -> None:
        """Raise the first error if it is all that came of (nearly) all pairs that were tried."""
        aside = len(self._aside)
        nearly_all = aside >= _FRUITLESS_PAIRS and tried - aside <= 1 and not refuted
        error = None if self._errors is None else self._errors.first_error
        if self._errors is not None and error is not None and (self.waits_for_output or nearly_all):
            self._first = None  # the error says it all
            error.add_note(
                f"{self._errors.name} raised at each draw on both sides of "
                f"{len(self._fruitless)} of {tried} pairs, {draws} draws in all. This is the first "
                f"error. An error is counted as an output only where not every draw raises. Mend "
                f"the mechanism, or leave out the data that it cannot take (min_records=..., "
                f"domain.filter(...))."
            )
            error.add_note(self._errors.where())
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
