"""Outputs on an accelerator. Where there is none, CPU tensors are taken for ones that lie there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from elsewhere import told_apart

import dpaudit
from dpaudit.auditing import shard_size
from dpaudit.errors import WrongLength
from dpaudit.mechanism import as_mechanism
from dpaudit.outputs import (
    MAX_COUNTED,
    MAX_COUNTED_ON_DEVICE,
    CellReader,
    CountedOutputs,
    DeviceOutputs,
    tensors,
)

torch = pytest.importorskip("torch")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PAIR = dpaudit.pairs([(["me"], [])])


@pytest.fixture(autouse=True)
def every_tensor_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    if DEVICE == "cpu":
        monkeypatch.setattr(tensors, "on_device", lambda value: isinstance(value, torch.Tensor))


def generator(rng: np.random.Generator) -> Any:
    return torch.Generator(device=DEVICE).manual_seed(int(rng.integers(2**63)))


def laplace_count(data: Any, size: int, rng: np.random.Generator) -> Any:
    """Exactly 1-DP where one record is added."""
    noise = torch.empty((2, size), dtype=torch.float64, device=DEVICE).exponential_(
        generator=generator(rng)
    )
    return len(data) + noise[0] - noise[1]


def same(one: CountedOutputs, other: CountedOutputs) -> None:
    for name in ("cells", "low", "high", "repeated", "times"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.head, other.head)
    assert (one.words, one.size, one.reader) == (other.words, other.size, other.reader)
    assert (one.on_device, other.on_device) == (True, False)


@pytest.mark.parametrize(
    "outputs",
    [
        np.array([0.5, -3.0, 0.5, 9.0, 1.0, np.nan, -np.nan, np.inf, -np.inf, -np.inf]),
        np.array([0.0, -0.0, 1.0, -0.0], dtype=np.float32),
        np.array([np.nan, np.nan]),
        np.array([np.inf]),
        np.full(700, 2.5),
        np.arange(-400, 400) // 3,
        np.array([3, 3, 200], dtype=np.uint8),
        np.random.default_rng(7).normal(size=5_000).astype(np.float16),
        np.random.default_rng(7).normal(size=5_000),
    ],
    ids=lambda outputs: f"{outputs.dtype}-{len(outputs)}",
)
def test_a_tensor_is_counted_as_the_same_array_is(outputs: Any) -> None:
    edges = np.array([-1.0, 0.0, 1.0, 2.5])
    reader = CellReader(edges, least=-2.0, most=2.0, known=np.array([1.0]))
    here, there = reader(outputs), reader(DeviceOutputs(torch.as_tensor(outputs, device=DEVICE)))
    assert isinstance(here, CountedOutputs)
    assert isinstance(there, CountedOutputs)
    same(there, here)


def test_integers_that_a_float_cannot_hold_come_as_they_are() -> None:
    reader = CellReader(np.zeros(1), least=0.0, most=0.0)
    outputs = reader(DeviceOutputs(torch.tensor([2**60, 2**60 + 1], device=DEVICE)))
    assert isinstance(outputs, np.ndarray)
    assert outputs.tolist() == [2**60, 2**60 + 1]


@pytest.mark.parametrize(
    ("result", "outputs"),
    [
        (torch.arange(3), [0, 1, 2]),
        (torch.tensor([0.5, 1.0, 2.0], dtype=torch.bfloat16), [0.5, 1.0, 2.0]),
        (torch.tensor([0.5, 1.0, 2.0], requires_grad=True), [0.5, 1.0, 2.0]),
        (torch.zeros((3, 2)), [[0.0, 0.0]] * 3),
        (torch.tensor([True, False, True]), [True, False, True]),
        ([torch.tensor([1.0]), torch.tensor([2.0]), torch.tensor([3.0])], [[1.0], [2.0], [3.0]]),
    ],
    ids=["whole", "bfloat16", "with gradient", "vectors", "booleans", "list of tensors"],
)
def test_tensors_are_copied_where_they_must_be_seen(result: Any, outputs: Any) -> None:
    result = [one.to(DEVICE) for one in result] if type(result) is list else result.to(DEVICE)
    drawn = as_mechanism(lambda data, size: result).draw([], 3, np.random.default_rng(0))
    assert np.asarray(drawn).tolist() == outputs


def test_a_wrong_length_is_told_as_for_any_array() -> None:
    one_short = as_mechanism(lambda data, size: torch.zeros(size - 1, device=DEVICE))
    with pytest.raises(WrongLength, match="must return 9 outputs, got shape"):
        one_short.draw([], 9, np.random.default_rng(0))


def audit(mechanism: Any, **options: Any) -> dpaudit.Audit:
    options = {"samples": 500_000, "rng": 7, **options}
    return dpaudit.audit(mechanism, dpaudit.PureDP(1.0), PAIR, **options)


def test_an_audit_of_tensors_is_that_of_arrays_as_long_as_shards_are_small(tmp_path: Any) -> None:
    def as_arrays(data: Any, size: int, rng: np.random.Generator) -> Any:
        return laplace_count(data, size, rng).cpu().numpy()

    expected = told_apart(audit(as_arrays))
    found = told_apart(audit(laplace_count))
    names = {"mechanism": found["mechanism"], "target": found["target"]}
    assert found == {**expected, **names}
    store = tmp_path / "audit.sqlite"
    assert told_apart(audit(laplace_count, store=store)) == found
    assert told_apart(audit(laplace_count, store=store)) == found
    assert told_apart(audit(laplace_count, workers=2)) == found


def test_shards_grow_once_outputs_are_counted_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a few large calls are left where an array would be drawn in many."""
    sizes: list[int] = []

    def watched(data: Any, size: int, rng: np.random.Generator) -> Any:
        sizes.append(size)
        return laplace_count(data, size, rng)

    monkeypatch.setattr("dpaudit.guessing.rows.MAX_COUNTED", 2**14)
    found = audit(watched, samples=3_000_000)
    assert not found.refuted
    assert max(sizes) > 2**17
    here = CellReader(np.zeros(1), least=0.0, most=0.0)
    there = CellReader(np.zeros(1), least=0.0, most=0.0, shard=MAX_COUNTED_ON_DEVICE)
    assert shard_size(10**12, here) == MAX_COUNTED
    assert shard_size(10**12, there) == MAX_COUNTED_ON_DEVICE


def test_a_leak_of_tensors_is_found() -> None:
    audited = audit(lambda data, size, rng: laplace_count([*data, *data], size, rng))
    assert audited.refuted
    assert audited.counterexample is not None
