"""How a mechanism is called, and what it is called.

A mechanism is any callable that gives `size` independent outputs for one dataset. `as_mechanism`
reads from its signature how to call it. Each call gets a copy of the data, and what comes back is
checked, so that the rest of the package sees a numeric array or a list with one output per draw.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, get_args

import numpy as np

from dpaudit.errors import InvalidMechanism
from dpaudit.mechanism.errors_as_outputs import ErrorsAsOutputs, OnError, exits_as_errors
from dpaudit.mechanism.naming import name_of, name_with_parameters, target_of
from dpaudit.outputs import (
    ArrayForms,
    CellReader,
    CountedOutputs,
    DeviceOutputs,
    Outputs,
    brought_here,
    checked,
    readable_copy,
    short,
)

# The names of parameters that get the random generator, and of those that get the number of draws.
RNG_NAMES = frozenset({"rng", "generator", "random_generator", "random_state", "prng", "gen"})
SIZE_NAMES = frozenset({"size", "n", "draws", "samples", "n_samples", "num_samples", "n_draws"})
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

ONE_AT_A_TIME = "one_at_a_time({})"  # the target of a function that gives one output a call


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """A named function `(data, size, rng)` that gives `size` independent outputs.

    Made by `as_mechanism`. `draw` hands the function a copy of the data, so that one call cannot
    corrupt the next. `target` is the text by which it can be imported again, if there is one.
    Without `errors`, an error of the function is raised.

    >>> mechanism = as_mechanism(lambda data, size, rng: sum(data) + rng.laplace(size=size))
    >>> mechanism.draw([1.0, 2.0], 4, np.random.default_rng(0)).shape
    (4,)
    """

    name: str
    function: Callable[[Any, int, np.random.Generator], object]
    target: str | None = None
    errors: ErrorsAsOutputs | None = None
    forms: ArrayForms | None = None

    def draw(self, data: Any, size: int, rng: np.random.Generator) -> Outputs:
        """Give `size` outputs on `data`: a numeric array with the draws first, or a list."""
        return self._here(self._drawn(data, size, rng))

    def count(
        self, data: Any, size: int, rng: np.random.Generator, reader: CellReader
    ) -> CountedOutputs | Outputs:
        """Give the same, counted where they lie."""
        return reader(self._drawn(data, size, rng))

    def _drawn(self, data: Any, size: int, rng: np.random.Generator) -> DeviceOutputs | Outputs:
        if size < 1:
            raise ValueError(f"size must be at least 1, got {size!r}.")
        try:
            with exits_as_errors(self.name):
                if self.errors is None:
                    return self._called(data, size, rng)
                whole = partial(self._called, data, size, rng)
                single = partial(self._release, data, rng)
                return self.errors.draw(data, size, whole=whole, single=single)
        except Exception as error:
            error.add_note(f"while drawing {size} outputs from {self.name} on data={short(data)}")
            raise

    def note(
        self,
        data: Any,
        outputs: Outputs,
        *,
        error: Exception | None = None,
        forms: ArrayForms | None = None,
    ) -> None:
        """Take note of outputs that were not drawn here, as if they had been.

        `error` is the first of the errors among them, `forms` those of the arrays they came in.
        """
        if self.forms is not None:
            if forms is None:
                self.forms.see(outputs, self.name)
            else:
                self.forms.take_over(forms, self.name)
        if self.errors is not None:
            self.errors.note(data, outputs, error)

    def _called(self, data: Any, size: int, rng: np.random.Generator) -> DeviceOutputs | Outputs:
        result = self.function(_own_copy(data), size, rng)
        there = DeviceOutputs.of(result, size)
        if there is not None:
            return there
        result = brought_here(result)
        if self.forms is not None:
            self.forms.see(result, self.name)
        return checked(result, size, self.name)

    def call_once(self, data: Any, rng: np.random.Generator) -> object:
        """Give what the user's function returns for one draw, as it is."""
        one = _one_at_a_time_in(self.function)
        call = self.function if one is None else one.call
        return call(_own_copy(data), 1, rng)

    def _release(self, data: Any, rng: np.random.Generator) -> object:
        one = _one_at_a_time_in(self.function)
        if one is not None:
            return one.release(data, rng)
        return self._here(self._called(data, 1, rng))[0]

    def _here(self, outputs: DeviceOutputs | Outputs) -> Outputs:
        """Outputs that were copied from an accelerator, if they lay there."""
        if not isinstance(outputs, DeviceOutputs):
            return outputs
        copied = outputs.here()
        if self.forms is not None:
            self.forms.see(copied, self.name)
        return copied


def as_mechanism(function: Callable[..., object] | Mechanism) -> Mechanism:
    """Make a `Mechanism` of a callable `f(data, size, rng)` or `f(data, size)`.

    How to call it is read from its signature; further parameters need defaults. A third parameter
    without a default gets the generator, whatever its name; otherwise a parameter called `rng` (or
    `generator`, `random_state`, ...) gets it, wherever it stands. A callable without a signature
    is called as `f(data, size)`.

    >>> def noisy_sum(data, size):
    ...     return [sum(data)] * size
    >>> as_mechanism(noisy_sum).name
    'noisy_sum'
    """
    if isinstance(function, Mechanism):
        return function
    name = name_of(function)
    if inspect.isclass(function):
        raise InvalidMechanism(f"{name} is a class. Pass an instance of it: {name}(...).")
    if not callable(function):
        raise InvalidMechanism(
            f"a mechanism must be callable as f(data, size, rng) or f(data, size), "
            f"got {short(function)}."
        )
    target = target_of(function)
    if target is None and isinstance(function, _OneAtATime):
        inner = target_of(function.function)
        target = None if inner is None else ONE_AT_A_TIME.format(inner)
    return Mechanism(
        name=name_with_parameters(function), function=_adapted(function, name), target=target
    )


def with_errors(function: Callable[..., object] | Mechanism, on_error: OnError) -> Mechanism:
    """Make the mechanism of one audit, which treats errors as `on_error` says.

    >>> with_errors(lambda data, size: [1 / len(data)] * size, "raise").errors is None
    True
    """
    if on_error not in get_args(OnError):
        raise ValueError(
            f'on_error must be "output" or "raise", got {on_error!r}. "output" counts an error as '
            'an output if the mechanism does not always raise, "raise" ends with the first.'
        )
    mechanism = replace(as_mechanism(function), errors=None, forms=ArrayForms())
    if on_error == "raise":
        return mechanism
    singly = _one_at_a_time_in(mechanism.function) is not None
    return replace(mechanism, errors=ErrorsAsOutputs(name=mechanism.name, one_by_one=singly))


def one_at_a_time(function: Callable[..., object]) -> Callable[[Any, int, Any], list[object]]:
    """Make a mechanism of `f(data)` or `f(data, rng)` that gives one output at each call.

    Slower than a function that draws `size` outputs at once, by a Python call per draw.

    >>> @one_at_a_time
    ... def flip(data, rng):
    ...     return data[0] ^ (rng.random() < 0.25)
    >>> len(flip([True], 5, np.random.default_rng(0)))
    5
    """
    if not callable(function):
        raise InvalidMechanism(
            f"one_at_a_time needs a callable f(data) or f(data, rng), got {short(function)}."
        )
    if isinstance(function, _OneAtATime):
        raise InvalidMechanism(
            f"{function.__name__} is wrapped in one_at_a_time already. Wrap it once."
        )
    return _OneAtATime(function)


class _OneAtATime:
    """A callable `f(data)` or `f(data, rng)` repeated once per draw."""

    def __init__(self, function: Callable[..., object]) -> None:
        parameters = _parameters(function) or []
        ordered = [p for p in parameters if p.kind in _POSITIONAL]
        by_name = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY or p in ordered[2:]]
        second = [p for p in ordered[1:2] if p.default is p.empty or p.name in RNG_NAMES]
        named = [(name, "rng") for name in by_name if name in RNG_NAMES and not second][:1]
        self.__name__ = name_with_parameters(function)
        given = {p.name for p in ordered[: 1 + len(second)]} | {name for name, _ in named}
        kinds = (*_POSITIONAL, inspect.Parameter.KEYWORD_ONLY)
        wanted = [p.name for p in parameters if p.default is p.empty and p.kind in kinds]
        missing = [name for name in wanted if name not in given]
        if missing:
            raise InvalidMechanism(
                f"{self.__name__} needs more than (data, rng): no value for {', '.join(missing)}. "
                "If it gives several outputs a call, leave out one_at_a_time."
            )
        self.function = function
        self.call = _Call(function, ("data", "rng")[: 1 + len(second)], tuple(named))
        self.__qualname__ = getattr(function, "__qualname__", self.__name__)
        self.__module__ = getattr(function, "__module__", __name__)
        self.__doc__ = getattr(function, "__doc__", None)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> list[object]:
        return [self.release(data, rng) for _ in range(size)]

    def release(self, data: Any, rng: np.random.Generator) -> object:
        """Give a copy of one output, for the next call may change the original."""
        return readable_copy(self.call(_own_copy(data), 1, rng), self.__name__)

    def __repr__(self) -> str:
        return f"one_at_a_time({self.__name__})"

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickle by name where this is a decorated function, as Python does with functions."""
        if getattr(sys.modules.get(self.__module__), self.__qualname__, None) is self:
            return str(self.__qualname__)
        return one_at_a_time, (self.function,)


@dataclass(frozen=True, slots=True)
class _Call:
    """A user's function with its arguments put where it wants them; can be pickled."""

    function: Callable[..., object]
    positional: tuple[str, ...]
    keywords: tuple[tuple[str, str], ...]

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> object:
        values = {"data": data, "size": size, "rng": rng}
        keywords = {parameter: values[value] for parameter, value in self.keywords}
        return self.function(*(values[value] for value in self.positional), **keywords)


def _one_at_a_time_in(function: Callable[..., object]) -> _OneAtATime | None:
    """The function that gives one output a call, if the mechanism was made of one."""
    inner = function.function if isinstance(function, _Call) else None
    return inner if isinstance(inner, _OneAtATime) else None


def _own_copy(data: Any) -> Any:
    plain = type(data) is np.ndarray and not data.dtype.hasobject
    return data.copy() if plain else copy.deepcopy(data)


def _adapted(function: Callable[..., object], name: str) -> _Call:
    """Read from the signature where the size and the generator go."""
    parameters = _parameters(function)
    if parameters is None:
        return _Call(function, ("data", "size"), ())
    by_place = _by_place(parameters)
    ordered = [p for p in parameters if p.kind in _POSITIONAL][len(by_place) :]
    left = [*ordered, *(p for p in parameters if p.kind is p.KEYWORD_ONLY)]
    keywords = {}
    for value, names in (("size", SIZE_NAMES), ("rng", RNG_NAMES)):
        fitting = [p.name for p in left if p.name in names and p.kind is not p.POSITIONAL_ONLY]
        if value not in by_place and fitting:
            keywords[fitting[0]] = value
    if "size" not in {*by_place, *keywords.values()}:
        raise InvalidMechanism(
            f"{name} takes no number of draws: it must be callable as f(data, size, rng) or "
            f"f(data, size). If each call gives one output, wrap it: "
            f"dpaudit.one_at_a_time({name})."
        )
    missing = [p.name for p in left if p.default is p.empty and p.name not in keywords]
    if missing:
        raise InvalidMechanism(
            f"{name} needs more than (data, size, rng): no value for {', '.join(missing)}. "
            f"Bind it: functools.partial({name}, {missing[0]}=...)."
        )
    return _Call(function, by_place, tuple(keywords.items()))


def _by_place(parameters: list[inspect.Parameter]) -> tuple[str, ...]:
    """Say what the leading parameters get: those without a default, and those whose name fits."""
    ordered = [p for p in parameters if p.kind in _POSITIONAL]
    names = [p.name for p in ordered]
    required = sum(p.default is p.empty for p in ordered)  # defaults come last
    if names[1:2] and names[1] in RNG_NAMES:  # f(data, rng, size); f(data, rng) has no size
        return ("data", "rng", "size") if required > 2 else ("data", "rng")
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        named = any(p.kind is p.KEYWORD_ONLY and p.name in RNG_NAMES for p in parameters)
        return ("data", "size") if named else ("data", "size", "rng")
    if required < 2 and names[1:2] and names[1] in SIZE_NAMES:
        required = 2  # f(data, size=1)
    if required == 2 and names[2:3] and names[2] in RNG_NAMES:
        required = 3  # f(data, size, rng=None)
    return ("data", "size", "rng")[:required]


def _parameters(function: Callable[..., object]) -> list[inspect.Parameter] | None:
    """List a callable's parameters; None if it does not say (some builtins)."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


def inside_of(function: Any) -> Any:
    """What a user gave: the function without our wrappers around it."""
    while isinstance(function, _Call | _OneAtATime):
        function = function.function
    return function
