"""Batches are labelled right and reproducible; paired draws share their random numbers."""

import time
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from dpaudit.errors import HealthWarning
from dpaudit.mechanism import (
    Call,
    CallsHere,
    LabelledOutputs,
    Mechanism,
    as_mechanism,
    draw_labelled,
    draw_paired,
)
from dpaudit.neighbours import Pair


def seed(number: int = 0) -> np.random.SeedSequence:
    return np.random.SeedSequence(number)


def with_rng(data: Any, size: int, rng: np.random.Generator) -> Any:
    return data[0] + rng.normal(size=size)


def tagged(data: list[int], size: int) -> np.ndarray[Any, Any]:
    return data[0] + np.arange(size)


def check_interleaved(batch: LabelledOutputs, size: int) -> None:
    """Each side's outputs are its draws 0, 1, 2, ... in order, and stand where its labels are."""
    assert len(batch.outputs) == len(batch.labels) == size
    outputs = np.array(batch.outputs)
    hits = int(batch.labels.sum())
    np.testing.assert_array_equal(outputs[batch.labels], 1_000_000 + np.arange(hits))
    np.testing.assert_array_equal(outputs[~batch.labels], np.arange(size - hits))


def test_outputs_stand_where_their_labels_are() -> None:
    pair = Pair([1_000_000], [0])
    batch = draw_labelled(as_mechanism(tagged), pair, 1000, seed())
    assert isinstance(batch.outputs, np.ndarray)
    assert batch.labels.dtype == np.bool_
    check_interleaved(batch, 1000)

    objects = as_mechanism(lambda data, size: [Decimal(int(x)) for x in tagged(data, size)])
    batch = draw_labelled(objects, pair, 1000, seed())
    assert isinstance(batch.outputs, list)
    check_interleaved(batch, 1000)


def test_labels_are_fair() -> None:
    """Null: fair tosses; the threshold is 6.3 standard deviations, so false alarms are below 1e-9.

    Alternative: a label that comes up in 52 % of the tosses; power above 1 - 1e-9.
    """
    labels = draw_labelled(as_mechanism(tagged), Pair([1], [0]), 100_000, seed()).labels
    assert abs(labels.mean() - 0.5) < 0.01


def test_rows_stay_whole() -> None:
    mechanism = as_mechanism(lambda data, size: np.tile(data, (size, 1)))
    batch = draw_labelled(mechanism, Pair([1.0, 2.0], [3.0, 4.0]), 50, seed())
    expected = np.where(batch.labels[:, None], [1.0, 2.0], [3.0, 4.0])
    np.testing.assert_array_equal(batch.outputs, expected)


def test_integers_beside_floats_become_floats() -> None:
    mechanism = as_mechanism(lambda data, size: np.full(size, data[0]))
    batch = draw_labelled(mechanism, Pair([1], [0.5]), 50, seed())
    np.testing.assert_array_equal(batch.outputs, np.where(batch.labels, 1.0, 0.5))


@pytest.mark.parametrize("draw", [draw_labelled, draw_paired])
def test_the_same_seed_gives_the_same_batch_and_stays_as_it_was(
    draw: Callable[..., LabelledOutputs],
) -> None:
    mechanism, pair, root = as_mechanism(with_rng), Pair([1.0], [0.0]), seed(5)
    first, second = (draw(mechanism, pair, 100, root) for _ in range(2))
    np.testing.assert_array_equal(first.outputs, second.outputs)
    np.testing.assert_array_equal(first.labels, second.labels)
    assert root.n_children_spawned == 0
    other = draw(mechanism, pair, 100, seed(6))
    assert not np.array_equal(first.outputs, other.outputs)
    call = Call(data=[1.0], size=100, seed=root)
    sides = [CallsHere(mechanism).ask(call).outputs() for _ in range(2)]
    np.testing.assert_array_equal(sides[0], sides[1])


def test_labels_and_sides_have_the_three_children_of_the_seed() -> None:
    labels, data, neighbour = map(np.random.default_rng, seed(5).spawn(3))
    batch = draw_labelled(as_mechanism(with_rng), Pair([1.0], [0.0]), 100, seed(5))
    outputs = np.asarray(batch.outputs)
    np.testing.assert_array_equal(batch.labels, labels.integers(0, 2, size=100, dtype=np.bool_))
    hits = int(batch.labels.sum())
    np.testing.assert_array_equal(outputs[batch.labels], with_rng([1.0], hits, data))
    np.testing.assert_array_equal(outputs[~batch.labels], with_rng([0.0], 100 - hits, neighbour))


def test_a_side_without_draws_is_not_called() -> None:
    asked = []

    def record(data: Any, size: int) -> list[Any]:
        asked.append((data, size))
        return [data] * size

    labels = [
        draw_labelled(as_mechanism(record), Pair("yes", "no"), 1, seed(n)).labels[0]
        for n in range(20)
    ]
    assert asked == [("yes" if label else "no", 1) for label in labels]
    assert len(set(labels)) == 2


def test_a_million_scalars_are_interleaved_fast() -> None:
    values = np.random.default_rng(0).normal(size=1_000_000)
    mechanism = as_mechanism(lambda data, size: values[:size])
    pair = Pair([1.0], [0.0])
    times = []
    for _ in range(3):
        start = time.perf_counter()
        draw_labelled(mechanism, pair, 1_000_000, seed())
        times.append(time.perf_counter() - start)
    assert min(times) < 0.3  # about 0.02; the machine may be busy


def test_shapes_that_differ_between_the_sides_are_evidence_and_a_warning() -> None:
    mechanism = as_mechanism(lambda data, size: np.zeros((size, len(data))))
    with pytest.warns(HealthWarning, match=r"numbers of shape \(2,\) on data .*shape \(3,\)"):
        batch = draw_labelled(mechanism, Pair([0] * 2, [0] * 3), 100, seed())
    assert batch.outputs == [(0.0,) * (2 if label else 3) for label in batch.labels]

    mechanism = as_mechanism(lambda data, size: np.zeros((size, *data)))
    with pytest.warns(HealthWarning, match=r"numbers of shape \(1, 2\) on data and numbers on its"):
        batch = draw_labelled(mechanism, Pair((1, 2), ()), 100, seed())
    assert batch.outputs == [((0.0, 0.0),) if label else 0.0 for label in batch.labels]


def test_a_string_where_numbers_were_is_evidence_and_a_warning() -> None:
    mechanism = as_mechanism(lambda data, size: data * size)
    with pytest.warns(HealthWarning, match=r"fail.* gave numbers on data and str on its neighbour"):
        batch = draw_labelled(
            Mechanism(name="failing", function=mechanism.function),
            Pair([1], ["error"]),
            100,
            seed(),
        )
    assert batch.outputs == [1 if label else "error" for label in batch.labels]


def test_the_forms_of_a_few_outputs_give_no_warning() -> None:
    """An honest mechanism that says None now and then: on one draw a side, forms differ by luck."""
    mechanism = as_mechanism(lambda data, size: [data[0]] * size)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw_labelled(mechanism, Pair([None], [1.0]), 8, seed())


def test_outputs_that_are_sometimes_none_give_no_warning() -> None:
    mechanism = as_mechanism(lambda data, size: [data[0], *[2.0] * (size - 1)])
    batch = draw_labelled(mechanism, Pair([None], [1.0]), 20, seed())
    assert isinstance(batch.outputs, list)
    assert batch.outputs.count(None) == 1


# --- paired draws ---------------------------------------------------------------------------------


def test_paired_draws_have_the_same_random_numbers_and_stand_in_random_order() -> None:
    """Null: a random order, so the data's share of the first half is hypergeometric.

    Its standard deviation is 0.011: false alarms below 1e-18. Alternative: an order that brings the
    data first in 70 % of the places, or always: power above 0.999.
    """
    batch = draw_paired(as_mechanism(with_rng), Pair([1.0], [0.0]), 1000, seed(5))
    outputs = np.asarray(batch.outputs)
    ours, theirs = outputs[batch.labels], outputs[~batch.labels]
    assert len(ours) == len(theirs) == 1000
    np.testing.assert_allclose(ours - theirs, 1.0)
    assert len(np.unique(theirs)) == 1000
    assert abs(batch.labels[:1000].mean() - 0.5) < 0.1


def test_paired_draws_of_objects_are_a_list() -> None:
    mechanism = as_mechanism(
        lambda data, size, rng: [f"{data} {x}" for x in rng.integers(9, size=size)]
    )
    batch = draw_paired(mechanism, Pair("a", "b"), 50, seed())
    ours, theirs = (
        [text[-1] for text, label in zip(batch.outputs, batch.labels, strict=True) if label == side]
        for side in (True, False)
    )
    assert ours == theirs
