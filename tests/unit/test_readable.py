"""An output that nobody can read is an error; what can be read is never taken for one."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import dpaudit
from dpaudit import PureDP
from dpaudit.errors import InvalidOutput
from dpaudit.outputs import Encoder, readable_copy

PAIR = dpaudit.pairs([([1], [0])])


class Slots:
    __slots__ = ("_secret",)

    def __init__(self, secret: int) -> None:
        self._secret = secret


class Hidden:
    def __init__(self, secret: int) -> None:
        self._secret = secret

    def answer(self) -> int:
        return self._secret


class Queryable:
    """Answers when it is called, as an interactive mechanism does."""

    def __init__(self, secret: int) -> None:
        self.secret = secret

    def __call__(self) -> int:
        return self.secret

    def __repr__(self) -> str:
        return "Queryable()"


async def later(secret: int) -> int:
    return secret


BEGUN: list[Any] = []


def coroutine(secret: int) -> Any:
    BEGUN.append(later(secret))
    return BEGUN[-1]


def counting(secret: int) -> Any:
    yield secret


UNREADABLE: dict[str, Callable[[int], Any]] = {
    "coroutine": coroutine,
    "generator": counting,
    "map": lambda secret: map(str, [secret]),
    "filter": lambda secret: filter(None, [secret]),
    "zip": lambda secret: zip([secret], [1], strict=True),
    "list_iterator": lambda secret: iter([secret]),
    "function": lambda secret: lambda: secret,
    "partial": lambda secret: functools.partial(int, secret),
    "method": lambda secret: Hidden(secret).answer,
    "Queryable": Queryable,
    "Slots": Slots,
    "Hidden": Hidden,
}
INSIDE: dict[str, Callable[[Any], Any]] = {
    "alone": lambda output: output,
    "in a list": lambda output: [1, output],
    "in a tuple": lambda output: (output,),
    "in a dict": lambda output: {"count": 1, "rest": output},
    "in a field": lambda output: types.SimpleNamespace(inner=output),
    "in a deque": lambda output: collections.deque([output]),
    "in an array": lambda output: np.array([output, None], dtype=object),
}


@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("kind", UNREADABLE)
def test_what_cannot_be_read_is_an_error_that_names_it(kind: str, inside: str) -> None:
    def leak(data: list[int], rng: np.random.Generator) -> Any:
        return INSIDE[inside](UNREADABLE[kind](data[0]))

    def many(data: list[int], size: int, rng: np.random.Generator) -> list[Any]:
        return [leak(data, rng) for _ in range(size)]

    for mechanism in (dpaudit.one_at_a_time(leak), many):
        with pytest.raises(
            InvalidOutput, match=rf"gave an? {kind} as an output, wh.*\. \w+"
        ) as told:
            dpaudit.audit(mechanism, PureDP(1.0), PAIR, samples=2_000, rng=1)
        assert "inside the mechanism" in str(told.value) or "Return" in str(told.value)
    while BEGUN:
        BEGUN.pop().close()


@dataclasses.dataclass
class Release:
    count: int


class Empty:
    pass


class Tensor:
    """Numbers behind `__array__`, with a repr that leaves out most of them."""

    def __init__(self, values: list[float]) -> None:
        self._values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[Any]:
        return np.array(self._values)

    def __repr__(self) -> str:
        return "Tensor(...)"


class Public:
    __slots__ = ("_cache", "count")

    def __init__(self, count: int) -> None:
        self.count, self._cache = count, None


READABLE: dict[str, Callable[[int], Any]] = {
    "class": lambda secret: int if secret else str,
    "range": lambda secret: range(secret),
    "dataclass": Release,
    "slots": Public,
    "namespace": lambda secret: types.SimpleNamespace(count=secret),
    "tensor": lambda secret: Tensor([0.0, float(secret)]),
    "deque": lambda secret: collections.deque([secret]),
    "counter": lambda secret: collections.Counter({"a": secret + 1}),
    "bytes": lambda secret: bytearray([secret]),
    "masked": lambda secret: np.ma.MaskedArray([1.0, 2.0], mask=[bool(secret), False]),
    "keys": lambda secret: {secret: 0}.keys(),
}


@pytest.mark.parametrize("kind", READABLE)
def test_what_can_be_read_tells_the_sides_apart(kind: str) -> None:
    def leak(data: list[int], rng: np.random.Generator) -> Any:
        return READABLE[kind](data[0])

    found = dpaudit.audit(dpaudit.one_at_a_time(leak), PureDP(1.0), PAIR, samples=2_000, rng=1)
    assert found.refuted


def test_an_object_without_a_state_is_a_word() -> None:
    encoder = Encoder()
    table = encoder.encode([readable_copy(Empty(), "f"), readable_copy(object(), "f")])
    types = table.codes()[:, encoder.names.index("type(output)")]
    found = [encoder.word(encoder.names.index("type(output)"), int(code)) for code in types]
    assert found == ["Empty", "object"]


def test_a_list_inside_itself_ends() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert isinstance(readable_copy(loop, "f"), list)


def test_an_awaited_mechanism_is_fine() -> None:
    def awaited(data: list[int], rng: np.random.Generator) -> int:
        return asyncio.run(later(data[0]))

    found = dpaudit.audit(dpaudit.one_at_a_time(awaited), PureDP(1.0), PAIR, samples=400, rng=1)
    assert found.refuted


def test_a_buffer_that_is_filled_again_hides_no_leak() -> None:
    """The true epsilon is 3.3; the second call used to overwrite what the first had given."""
    buffer = np.zeros(100_000)

    def filling(data: list[int], size: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        buffer[:size] = data[0] + rng.laplace(scale=0.3, size=size)
        return buffer[:size]

    assert dpaudit.audit(filling, PureDP(1.0), PAIR, samples=20_000, rng=1).refuted
    found = dpaudit.measure_epsilon(filling, [1], [0], samples=20_000, rng=1)
    assert 2.5 < found.epsilon_lower < 3.4
