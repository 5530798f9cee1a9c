"""Signatures are understood, data is safe, and errors say what was running."""

import functools
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import pytest

from dpaudit.errors import InvalidMechanism
from dpaudit.mechanism import as_mechanism, one_at_a_time

SIZE = 6


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


# --- signatures -----------------------------------------------------------------------------------


def with_rng(data: Any, size: int, rng: np.random.Generator) -> Any:
    return data[0] + rng.normal(size=size)


def with_any_third_name(data: Any, size: int, r: np.random.Generator) -> Any:
    return with_rng(data, size, r)


def with_default_rng(data: Any, size: int, generator: np.random.Generator | None = None) -> Any:
    assert generator is not None
    return with_rng(data, size, generator)


def with_keyword_rng(data: Any, size: int, *, rng: np.random.Generator) -> Any:
    return with_rng(data, size, rng)


def with_late_rng(data: Any, size: int, scale: float = 1.0, rng: Any = None) -> Any:
    assert scale == 1.0
    return with_rng(data, size, rng)


def with_size_default(data: Any, n: int = 1, random_state: Any = None) -> Any:
    return with_rng(data, n, random_state)


def with_size_last(data: Any, rng: np.random.Generator, size: int) -> Any:
    return with_rng(data, size, rng)


def with_positional_only(data: Any, size: int, rng: np.random.Generator, /) -> Any:
    return with_rng(data, size, rng)


def with_stars(*args: Any) -> Any:
    return with_rng(*args)


def with_stars_and_rng(data: Any, size: int, *args: Any, rng: Any) -> Any:
    assert args == ()
    return with_rng(data, size, rng)


def with_epsilon(data: Any, epsilon: float, size: int, rng: np.random.Generator) -> Any:
    assert epsilon == 2.0
    return with_rng(data, size, rng)


@functools.wraps(with_rng)
def decorated(*args: Any) -> Any:
    return with_rng(*args)


class Shifted:
    """Callable as an object, through a method and through a class method."""

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Any:
        return with_rng(data, size, rng)

    def method(self, data: Any, size: int, rng: np.random.Generator) -> Any:
        return with_rng(data, size, rng)

    @classmethod
    def class_method(cls, data: Any, size: int, *, rng: np.random.Generator) -> Any:
        return with_rng(data, size, rng)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (with_rng, "with_rng"),
        (with_any_third_name, "with_any_third_name"),
        (with_default_rng, "with_default_rng"),
        (with_keyword_rng, "with_keyword_rng"),
        (with_late_rng, "with_late_rng"),
        (with_size_default, "with_size_default"),
        (with_size_last, "with_size_last"),
        (with_positional_only, "with_positional_only"),
        (with_stars, "with_stars"),
        (with_stars_and_rng, "with_stars_and_rng"),
        (decorated, "with_rng"),
        (Shifted(), "Shifted"),
        (Shifted().method, "method"),
        (Shifted.class_method, "class_method"),
        (functools.partial(with_epsilon, epsilon=2.0), "with_epsilon(epsilon=2.0)"),
        (functools.partial(with_late_rng, scale=1.0), "with_late_rng(scale=1.0)"),
        (lambda data, size, rng: with_rng(data, size, rng), "<lambda>"),
    ],
)
def test_the_generator_arrives_however_it_is_asked_for(
    function: Callable[..., object], name: str
) -> None:
    mechanism = as_mechanism(function)
    assert mechanism.name == name
    expected = 5.0 + rng().normal(size=SIZE)
    np.testing.assert_array_equal(mechanism.draw([5.0], SIZE, rng()), expected)


def test_the_papers_signature_gets_data_and_size() -> None:
    def release(data: list[int], size: int, *, scale: float = 1.0) -> list[float]:
        return [data[0] * scale] * size

    np.testing.assert_array_equal(as_mechanism(release).draw([7], 3, rng()), [7.0, 7.0, 7.0])


def test_a_callable_without_a_signature_gets_data_and_size() -> None:
    function = mock.Mock(side_effect=lambda data, size: data * size)
    function.__signature__ = "none"  # inspect.signature raises a TypeError for this
    function.name = "builtin"
    np.testing.assert_array_equal(as_mechanism(function).draw([7], 3, rng()), [7, 7, 7])


def test_a_mechanism_stays_itself() -> None:
    mechanism = as_mechanism(with_rng)
    assert as_mechanism(mechanism) is mechanism


def test_a_name_attribute_names_the_mechanism() -> None:
    @dataclass(frozen=True)
    class Named:
        name: str = "my mechanism"

        def __call__(self, data: Any, size: int) -> list[int]:
            return [0] * size

    assert as_mechanism(Named()).name == "my mechanism"


def one_output(data: Any) -> Any:
    return data[0]


@pytest.mark.parametrize(
    "function",
    [
        one_output,
        lambda data, rng: 0,
        lambda data, rng=None: 0,
        lambda data, sigma=1.0: 0,
        lambda: 0,
        lambda data, *, rng: 0,
    ],
)
def test_one_output_per_call_asks_for_a_wrapper(function: Callable[..., object]) -> None:
    with pytest.raises(InvalidMechanism, match=r"wrap it: dpaudit\.one_at_a_time\("):
        as_mechanism(function)


@pytest.mark.parametrize(
    "function",
    [
        lambda data, size, rng, epsilon: 0,
        lambda data, size, *, epsilon: 0,
    ],
)
def test_an_unbound_parameter_is_named(function: Callable[..., object]) -> None:
    with pytest.raises(InvalidMechanism, match=r"no value for epsilon.*partial\(.*epsilon=\.\.\."):
        as_mechanism(function)


def test_a_class_is_not_a_mechanism() -> None:
    with pytest.raises(InvalidMechanism, match=r"Shifted is a class. Pass an instance"):
        as_mechanism(Shifted)


@pytest.mark.parametrize("wrong", [3, "laplace", None, [1]])
def test_what_cannot_be_called_is_not_a_mechanism(wrong: Any) -> None:
    with pytest.raises(InvalidMechanism, match=r"must be callable as f\(data, size, rng\)"):
        as_mechanism(wrong)
    with pytest.raises(InvalidMechanism, match=r"one_at_a_time needs a callable"):
        one_at_a_time(wrong)


def test_a_function_is_wrapped_once() -> None:
    with pytest.raises(InvalidMechanism, match=r"noisy_bit is wrapped in one_at_a_time already"):
        one_at_a_time(one_at_a_time(noisy_bit))


def test_mechanisms_can_be_pickled() -> None:
    for function in (with_rng, with_keyword_rng, one_at_a_time(noisy_bit), decorated_bit):
        mechanism = as_mechanism(function)
        again = pickle.loads(pickle.dumps(mechanism))
        assert again.name == mechanism.name
        np.testing.assert_array_equal(
            again.draw([1.0], SIZE, rng()), mechanism.draw([1.0], SIZE, rng())
        )


# --- one at a time --------------------------------------------------------------------------------


def noisy_bit(data: Any, rng: np.random.Generator) -> bool:
    """Flip a bit."""
    return bool(data[0]) ^ bool(rng.random() < 0.25)


@one_at_a_time
def decorated_bit(data: Any, rng: np.random.Generator) -> bool:
    return noisy_bit(data, rng)


@pytest.mark.parametrize(
    "function",
    [
        noisy_bit,
        lambda data, r: noisy_bit(data, r),
        lambda data, rng=None: noisy_bit(data, rng),
        lambda data, *, rng: noisy_bit(data, rng),
        lambda data, scale=1.0, rng=None: noisy_bit(data, rng),
    ],
)
def test_one_at_a_time_passes_the_generator(function: Callable[..., object]) -> None:
    outputs = as_mechanism(one_at_a_time(function)).draw([1], 50, rng())
    generator = rng()
    np.testing.assert_array_equal(outputs, [noisy_bit([1], generator) for _ in range(50)])


def test_one_at_a_time_refuses_what_it_cannot_call() -> None:
    def several(data: Any, size: int, rng: Any) -> Any:
        return rng.random(size)

    def scaled(data: Any, rng: Any, *, scale: float, shift: float = 0.0) -> Any:
        return rng.random() * scale + shift

    for function, missing in ((several, "rng"), (scaled, "scale")):
        with pytest.raises(InvalidMechanism, match=rf"\(data, rng\): no value for {missing}\. If"):
            one_at_a_time(function)


def test_one_at_a_time_without_a_generator() -> None:
    outputs = one_at_a_time(lambda data: (data[0], "a"))([4], 3, rng())
    assert outputs == [(4, "a")] * 3


def test_one_at_a_time_keeps_the_functions_name() -> None:
    wrapped: Any = one_at_a_time(noisy_bit)
    assert wrapped.__name__ == "noisy_bit"
    assert wrapped.__doc__ == "Flip a bit."
    assert wrapped.__module__ == noisy_bit.__module__
    assert repr(wrapped) == "one_at_a_time(noisy_bit)"
    assert as_mechanism(wrapped).name == "noisy_bit"


def test_one_at_a_time_gives_every_call_its_own_data() -> None:
    assert one_at_a_time(lambda data: data.pop())([1, 2], 3, rng()) == [2, 2, 2]


def test_vectors_one_at_a_time_become_a_matrix() -> None:
    vectors = as_mechanism(one_at_a_time(lambda data, rng: data + rng.normal(size=2)))
    outputs = vectors.draw(np.zeros(2), 4, rng())
    np.testing.assert_array_equal(outputs, rng().normal(size=(4, 2)))


# --- the data and the errors of the mechanism -----------------------------------------------------


@pytest.mark.parametrize(
    "data", [[3, 1], np.array([3, 1]), {"a": [3, 1]}, np.array([[3], [1]], dtype=object)]
)
def test_a_mechanism_cannot_corrupt_the_data(data: Any) -> None:
    def vandal(data: Any, size: int) -> list[int]:
        records = data["a"] if isinstance(data, dict) else data
        records[0] = 99
        return [0] * size

    def deep_vandal(data: Any, size: int) -> list[int]:
        for record in data:
            if isinstance(record, list):
                record.append(99)
        return [0] * size

    before = repr(data)
    for mechanism in (vandal, deep_vandal):
        as_mechanism(mechanism).draw(data, SIZE, rng())
    assert repr(data) == before


def test_errors_of_the_mechanism_say_what_was_running() -> None:
    def divide(data: list[int], size: int) -> list[float]:
        return [1 / data[0]] * size

    with pytest.raises(ZeroDivisionError) as caught:
        as_mechanism(divide).draw([0], 12, rng())
    assert caught.value.__notes__ == ["while drawing 12 outputs from divide on data=[0]"]
    with pytest.raises(ZeroDivisionError) as caught:
        as_mechanism(divide).draw([0] * 1000, 12, rng())
    assert len(caught.value.__notes__[0]) < 300


def test_a_size_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match=r"size must be at least 1, got 0"):
        as_mechanism(with_rng).draw([1.0], 0, rng())
