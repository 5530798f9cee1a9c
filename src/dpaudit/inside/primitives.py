"""`primitive`: a user's own noise function, of which the log density is known."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, ParamSpec, TypeVar

import numpy as np

from dpaudit.inside.outputs import same_value
from dpaudit.inside.recording import refuse
from dpaudit.inside.release import has_noise, recorder_of

P = ParamSpec("P")
R = TypeVar("R")
_PLACED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def primitive(*, log_density: Callable[..., float]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a release of a noise function of your own, `draw(value, ..., rng)`.

    `log_density(output, value, ...)` is the log density of its outputs, or their log probability;
    it gets the parameters of the function in their order, without `rng`. Outside an audit the
    function is called as it is. Inside, its output is recorded on the one dataset and forced on the
    other, and its loss counts the value and the parameters of each side. The generator is the
    parameter called `rng`.

    >>> import dpaudit
    >>> def log_cauchy(output, value, scale):
    ...     return -np.log(np.pi * scale * (1.0 + ((output - value) / scale) ** 2))
    >>> @dpaudit.primitive(log_density=log_cauchy)
    ... def cauchy(value, scale, rng):
    ...     return value + scale * rng.standard_cauchy()
    >>> def noisy_sum(data, rng):
    ...     return cauchy(sum(data), 0.5, rng)
    >>> found = dpaudit.audit_inside(noisy_sum, dpaudit.PureDP(1.0), [([1.0], [])], rng=7)
    >>> print(found.verdict.value, found.worst.release.kernel)
    broken inside cauchy(scale=0.5)
    """
    if not callable(log_density):
        raise TypeError(f"log_density must be a function, got {log_density!r}.")

    def decorate(draw: Callable[P, R]) -> Callable[P, R]:
        signature = _checked_signature(draw, log_density)
        kind = _kind_of(draw, log_density, signature)

        @functools.wraps(draw)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            recorder = recorder_of(given.arguments["rng"])
            if recorder is None:
                return draw(*args, **kwargs)
            value, *rest = (each for name, each in given.arguments.items() if name != "rng")
            if has_noise(value) or any(map(has_noise, rest)):
                recorder.refuse(
                    f"gives {kind.__name__} a number that has noise of the generator in it already."
                )
            made: R = recorder.release(value, kind(_kept(rest)))
            return made

        return called

    return decorate


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Primitive:
    """The kernel of a primitive with its parameters; each primitive has a subclass."""

    parameters: tuple[Any, ...]
    function: ClassVar[Callable[..., Any]]
    density: ClassVar[Callable[..., Any]]
    names: ClassVar[tuple[str, ...]]  # of all parameters, the value first

    def log_density(self, output: Any, input: Any) -> float:
        """What the user's function says."""
        found = np.asarray(type(self).density(output, input, *self.parameters))
        if found.ndim or found.dtype.kind not in "iuf":
            refuse(
                f"log_density of {type(self).__name__} gave {found!r}, not a number. Where the "
                "output is an array, sum over its entries."
            )
        return float(found)

    def draw(self, input: Any, rng: np.random.Generator) -> Any:
        """What the user's function draws."""
        named = dict(zip(self.names, (input, *self.parameters), strict=True))
        order = inspect.signature(type(self).function).parameters
        placed = [rng if name == "rng" else named[name] for name in order if _placed(order[name])]
        by_name = {
            name: rng if name == "rng" else named[name]
            for name in order
            if not _placed(order[name])
        }
        return type(self).function(*placed, **by_name)

    def slack(self, output: Any, input: Any, error: Any) -> float:
        """How far the log density moves where the input does."""
        there = self.log_density(output, input)
        moved = [self.log_density(output, np.add(input, off)) for off in (error, -error)]
        apart = [abs(each - there) for each in moved if np.isfinite(each - there)]
        return max(apart, default=0.0)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return len(other.parameters) == len(self.parameters) and all(
            map(same_value, self.parameters, other.parameters)
        )

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        pairs = zip(self.names[1:], self.parameters, strict=True)
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in pairs)})"


def _kind_of(
    draw: Callable[..., Any], log_density: Callable[..., Any], signature: inspect.Signature
) -> type[_Primitive]:
    """A class of its own, so that no primitive is taken for another."""
    names = tuple(name for name in signature.parameters if name != "rng")
    inside = {
        "function": staticmethod(draw),
        "density": staticmethod(log_density),
        "names": names,
        "__slots__": (),
        "__doc__": draw.__doc__,
    }
    return type(getattr(draw, "__name__", "primitive"), (_Primitive,), inside)


def _checked_signature(
    draw: Callable[..., Any], log_density: Callable[..., Any]
) -> inspect.Signature:
    if not callable(draw):
        raise TypeError(f"primitive decorates a function draw(value, ..., rng), got {draw!r}.")
    signature, name = inspect.signature(draw), getattr(draw, "__name__", repr(draw))
    several = [each.name for each in signature.parameters.values() if each.kind in (2, 4)]
    if several:
        raise TypeError(f"{name} takes *{several[0]}: name every parameter of a primitive.")
    names = [each for each in signature.parameters if each != "rng"]
    if "rng" not in signature.parameters or not names:
        raise TypeError(
            f"{name}{signature} must be draw(value, ..., rng): the private value first, and a "
            "parameter called rng."
        )
    try:
        inspect.signature(log_density).bind("output", *names)
    except TypeError as error:
        raise TypeError(
            f"log_density of {name} must be log_density(output, {', '.join(names)}), but it takes "
            f"{inspect.signature(log_density)}."
        ) from error
    except ValueError:  # some built-in functions say nothing about their parameters
        pass
    return signature


def _placed(parameter: inspect.Parameter) -> bool:
    return parameter.kind in _PLACED


def _kept(parameters: list[Any]) -> tuple[Any, ...]:
    """The parameters, as later changes of an array or a list do not reach."""
    copied = (np.array(p) if isinstance(p, np.ndarray) else p for p in parameters)
    return tuple(list(each) if isinstance(each, list) else each for each in copied)
