"""`@dpaudit.example`: pairs that a test, or a mechanism, has tried first."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from dpaudit.neighbours import Pair, fitted

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_PINNED: ContextVar[tuple[Pair, ...]] = ContextVar("pinned pairs", default=())
_PINNED_ATTRIBUTE = "dpaudit_examples"


def example(
    data: Any, neighbour: Any
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Pin a pair of datasets to a test, or to a mechanism: it is tried first, every time.

    For a counterexample that should never come back. Several can be pinned.

    >>> import numpy as np, dpaudit
    >>> @dpaudit.example([1.0], [-1.0])
    ... def test_sum_is_private():
    ...     dpaudit.assert_private(
    ...         lambda data, size, rng: sum(data) + rng.laplace(scale=2.0, size=size),
    ...         dpaudit.PureDP(1.0),
    ...         dpaudit.replace_one(dpaudit.floats(-1, 1), max_records=3),
    ...         samples=20_000,
    ...         rng=7,
    ...     )
    >>> test_sum_is_private()
    """
    pair = Pair(data, neighbour)

    def pin(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @functools.wraps(function)
        def pinned(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            token = _PINNED.set((*_PINNED.get(), pair))
            try:
                return function(*args, **kwargs)
            finally:
                _PINNED.reset(token)

        setattr(pinned, _PINNED_ATTRIBUTE, (pair, *getattr(function, _PINNED_ATTRIBUTE, ())))
        return pinned

    return pin


def pinned_pairs(mechanism: object) -> tuple[Pair, ...]:
    """The pairs pinned to the running test, then those pinned to a mechanism; each once."""
    found = (*_PINNED.get(), *getattr(mechanism, _PINNED_ATTRIBUTE, ()))
    return tuple({pair.key(): pair for pair in found}.values())


def belonging(pinned: tuple[Pair, ...], neighbours: Any) -> tuple[Pair, ...]:
    """The pinned pairs as the relation makes them; an error if one does not belong to it."""
    remedy = (
        " Mend the pin, or the relation. A pin on a test holds for all assertions in it; one on a "
        "mechanism for all assertions about it."
    )
    what = "a pair pinned with @dpaudit.example"
    made = [fitted(neighbours, pair, what=what, remedy=remedy) for pair in pinned]
    return tuple({pair.key(): pair for pair in made}.values())  # two pins may make one pair
