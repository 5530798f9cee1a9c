"""How outputs are drawn: signatures, copies of the data, checked outputs.

A mechanism is any callable that gives `size` independent outputs for one dataset. This room finds
out once how to call it, gives it a copy of the data at every call, and checks what comes back, so
that everything above sees one thing: a numeric array or a list, one output per draw.
"""

import copy
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpaudit.errors import InvalidMechanism, InvalidOutput, WrongLength
from dpaudit.mechanism.errors_as_outputs import ErrorsAsOutputs, OnError, check_on_error
from dpaudit.mechanism.exits import exits_as_errors
from dpaudit.mechanism.naming import ONE_AT_A_TIME, name_of, target_of
from dpaudit.outputs import ArrayForms, Outputs, checked, readable_copy, short

__all__ = [
    "RNG_NAMES",
    "SIZE_NAMES",
    "InvalidMechanism",
    "InvalidOutput",
    "Mechanism",
    "Outputs",
    "WrongLength",
    "as_mechanism",
    "one_at_a_time",
    "with_errors",
]

# What a parameter may be called to be taken for the random generator, or for the number of draws.
RNG_NAMES = frozenset({"rng", "generator", "random_generator", "random_state", "prng", "gen"})
SIZE_NAMES = frozenset({"size", "n", "draws", "samples", "n_samples", "num_samples", "n_draws"})
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """A named function `(data, size, rng)` that gives `size` independent outputs.

    Made by `as_mechanism`. `draw` hands the function a copy of the data, so that one call cannot
    corrupt the next, and checks that the outputs lie on the first axis. `target` is the text that
    finds it again, None where there is none. Without `errors`, an error flies.

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
        if size < 1:
            raise ValueError(f"size must be at least 1, got {size!r}.")
        try:
            with exits_as_errors(self.name):
                if self.errors is None:
                    return self._called(data, size, rng)
                return self.errors.draw(
                    data,
                    size,
                    whole=lambda: self._called(data, size, rng),
                    single=lambda: self._release(data, rng),
                )
        except Exception as error:
            error.add_note(f"while drawing {size} outputs from {self.name} on data={short(data)}")
            raise

    def _called(self, data: Any, size: int, rng: np.random.Generator) -> Outputs:
        result = self.function(_own_copy(data), size, rng)
        if self.forms is not None:
            self.forms.see(result, self.name)
        return checked(result, size, self.name)

    def _release(self, data: Any, rng: np.random.Generator) -> object:
        one = _one_at_a_time_in(self.function)
        return self._called(data, 1, rng)[0] if one is None else one.release(data, rng)


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


def as_mechanism(function: Callable[..., object] | Mechanism) -> Mechanism:
    """Make a `Mechanism` of a callable `f(data, size, rng)` or `f(data, size)`.

    How to call it is read once from its signature; further parameters need defaults. A third
    parameter without a default gets the generator, whatever its name; otherwise a parameter
    called `rng` (or `generator`, `random_state`, ...) gets it, wherever it stands. A callable
    without a signature is called as `f(data, size)`.

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
    return Mechanism(name=name, function=_adapted(function, name), target=_target_of(function))


def with_errors(function: Callable[..., object] | Mechanism, on_error: OnError) -> Mechanism:
    """Make the mechanism of one audit, with what is to be done when it raises.

    >>> with_errors(lambda data, size: [1 / len(data)] * size, "raise").errors is None
    True
    """
    check_on_error(on_error)
    mechanism = replace(as_mechanism(function), errors=None, forms=ArrayForms())
    if on_error == "raise":
        return mechanism
    singly = _one_at_a_time_in(mechanism.function) is not None
    return replace(mechanism, errors=ErrorsAsOutputs(name=mechanism.name, one_by_one=singly))


def _target_of(function: Callable[..., object]) -> str | None:
    """Say how to import a callable again, or the function that it calls once for each draw."""
    own = target_of(function)
    if own is not None or not isinstance(function, _OneAtATime):
        return own
    inner = target_of(function.function)
    return None if inner is None else ONE_AT_A_TIME.format(inner)


def _adapted(function: Callable[..., object], name: str) -> _Call:
    """Read from the signature where the size and the generator go."""
    parameters = _parameters(function)
    if parameters is None:
        return _Call(function, ("data", "size"), ())
    ordered = [p for p in parameters if p.kind in _POSITIONAL]
    by_place = _by_place(parameters, ordered)
    by_name = [p for p in parameters if p.kind is p.KEYWORD_ONLY or p in ordered[len(by_place) :]]
    keywords = {}
    for value, names in (("size", SIZE_NAMES), ("rng", RNG_NAMES)):
        fitting = [p.name for p in by_name if p.name in names and p.kind is not p.POSITIONAL_ONLY]
        if value not in by_place and fitting:
            keywords[fitting[0]] = value
    if "size" not in {*by_place, *keywords.values()}:
        raise InvalidMechanism(
            f"{name} takes no number of draws: it must be callable as f(data, size, rng) or "
            f"f(data, size). If each call gives one output, wrap it: "
            f"dpaudit.one_at_a_time({name})."
        )
    left = [*ordered[len(by_place) :], *(p for p in by_name if p not in ordered)]
    missing = [p.name for p in left if p.default is p.empty and p.name not in keywords]
    if missing:
        raise InvalidMechanism(
            f"{name} needs more than (data, size, rng): no value for {', '.join(missing)}. "
            f"Bind it: functools.partial({name}, {missing[0]}=...)."
        )
    return _Call(function, by_place, tuple(keywords.items()))


def _by_place(
    parameters: list[inspect.Parameter], ordered: list[inspect.Parameter]
) -> tuple[str, ...]:
    """Say what the leading parameters get: those without a default, and those whose name fits."""
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


class _OneAtATime:
    """A callable `f(data)` or `f(data, rng)` repeated once per draw."""

    def __init__(self, function: Callable[..., object]) -> None:
        parameters = _parameters(function) or []
        ordered = [p for p in parameters if p.kind in _POSITIONAL]
        by_name = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY or p in ordered[2:]]
        self.function = function
        self._rng_second = len(ordered) > 1 and (
            ordered[1].default is inspect.Parameter.empty or ordered[1].name in RNG_NAMES
        )
        self._rng_name = next((name for name in by_name if name in RNG_NAMES), None)
        self.__name__ = name_of(function)
        self.__qualname__ = getattr(function, "__qualname__", self.__name__)
        self.__module__ = getattr(function, "__module__", __name__)
        self.__doc__ = getattr(function, "__doc__", None)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> list[object]:
        return [self.release(data, rng) for _ in range(size)]

    def release(self, data: Any, rng: np.random.Generator) -> object:
        """Give one output: a copy, for the next call may change the original."""
        if self._rng_second:
            output = self.function(_own_copy(data), rng)
        elif self._rng_name is not None:
            output = self.function(_own_copy(data), **{self._rng_name: rng})
        else:
            output = self.function(_own_copy(data))
        return readable_copy(output, self.__name__)

    def __repr__(self) -> str:
        return f"one_at_a_time({self.__name__})"

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickle by name where this is a decorated function, as Python does with functions."""
        if getattr(sys.modules.get(self.__module__), self.__qualname__, None) is self:
            return str(self.__qualname__)
        return one_at_a_time, (self.function,)


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
    return _OneAtATime(function)


def _one_at_a_time_in(function: Callable[..., object]) -> _OneAtATime | None:
    """The function that gives one output a call, where a mechanism is made of one."""
    inner = function.function if isinstance(function, _Call) else None
    return inner if isinstance(inner, _OneAtATime) else None


def _own_copy(data: Any) -> Any:
    plain = type(data) is np.ndarray and not data.dtype.hasobject
    return data.copy() if plain else copy.deepcopy(data)
