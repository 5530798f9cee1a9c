"""`floats="bits"` with outputs of every form: each float has its bits, and nothing else has any."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import dpaudit
from dpaudit import Audit, PureDP
from dpaudit.outputs import Encoder, Raised
from dpaudit.report import event_code

CLAIM = PureDP(1.0)
PAIR = dpaudit.pairs([([1.0], [0.0])])
TOLD = pytest.mark.filterwarnings("ignore:Errors are counted:dpaudit.HealthWarning")


@dataclass(frozen=True)
class Release:
    total: float
    records: int = 3


def noisy(data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    return float(sum(data)) + rng.laplace(size=size)


def in_form(form: Callable[[float], Any]) -> Any:
    """A mechanism whose outputs are noisy sums in some form."""

    def released(data: Any, size: int, rng: np.random.Generator) -> list[Any]:
        return [form(number) for number in noisy(data, size, rng).tolist()]

    return released


def frame(number: float) -> Any:
    return pytest.importorskip("pandas").DataFrame({"group": ["a", "b"], "sum": [0.5, number]})


def odd_values(number: float) -> float | None:
    if abs(number) < 2.0:
        return number
    return None if number > 3.0 else float("nan") if number > 0 else float("-inf")


def audited(mechanism: Any, samples: int = 20_000) -> Audit:
    return dpaudit.audit(mechanism, CLAIM, PAIR, samples=samples, rng=7, floats="bits")


@pytest.mark.parametrize(
    ("form", "place"),
    [
        (lambda number: {"count": number, "records": 3}, "output['count']"),
        (lambda number: [[number], "a"], "output[0][0]"),
        (Release, "output.total"),
        (frame, "output['sum'][1]"),
        (odd_values, "output"),
        (lambda number: {"sum": max(0, number)}, "output['sum']"),
        (lambda number: {"sum": number + 0.5j}, "output['sum'].real"),
    ],
    ids=["dicts", "lists", "objects", "frames", "odd values", "floats and integers", "complex"],
)
def test_each_float_has_its_bits_under_the_name_of_its_place(form: Any, place: str) -> None:
    """Null: noise on a fixed grid, accused with probability at most 1e-6.

    Alternative: naive noise in each form; found for 6 of 6 other seeds, and for this one in frames.
    """
    mechanism = in_form(form)
    audit = audited(mechanism, 4_000 if form is frame else 20_000)
    found = audit.counterexample
    assert found is not None
    assert found.event == f"{place} is not a multiple of 2^-53"
    assert found.rule is not None
    assert found.rule.is_about_floats
    outputs = mechanism([0.0], 200, np.random.default_rng(3))
    names: dict[str, Any] = {}
    exec(event_code(found.rule) or "", names)
    happened = [names["happened"](output) for output in outputs]
    assert happened == found.rule.holds(outputs).tolist()
    assert 0 < sum(happened) < 200
    assert not names["happened"](None)


def test_an_array_of_float32_has_the_grid_of_float32() -> None:
    def noisy32(data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.float32]:
        return np.float32(sum(data)) + rng.laplace(size=(size, 2)).astype(np.float32)

    audit = audited(noisy32)
    assert audit.counterexample is not None
    assert audit.counterexample.event in {
        f"output[{column}] is not a multiple of 2^-24" for column in range(2)
    }


@TOLD
def test_an_output_that_is_an_error_has_no_bits() -> None:
    @dpaudit.one_at_a_time
    def fails_above(data: Any, rng: np.random.Generator) -> float:
        number = float(sum(data)) + rng.laplace()
        if number > 2.0:
            raise OverflowError("more than two")
        return float(number)

    found = audited(fails_above).counterexample
    assert found is not None
    assert found.event == "output is not a multiple of 2^-53"
    assert found.rule is not None
    assert found.rule.holds([Raised("OverflowError", "more than two"), 0.1]).tolist() == [
        False,
        True,
    ]


@TOLD
def test_an_error_that_tells_the_datasets_apart_is_said_first() -> None:
    @dpaudit.one_at_a_time
    def fails_on_ones(data: Any, rng: np.random.Generator) -> float:
        if sum(data) > 0 and rng.random() < 0.5:
            raise ValueError("a one")
        return float(rng.integers(8)) / 8

    audit = audited(fails_on_ones, 10_000)
    assert audit.counterexample is not None
    assert audit.counterexample.event == "raises ValueError"
    assert "floating-point" not in str(audit)


def test_sets_lengths_and_words_have_no_bits() -> None:
    encoder = Encoder(floats="bits")
    encoder.encode([{"set": {0.5, 1.5}, "text": "a"}, {"set": set(), "text": None}, {}])
    assert not any(name.startswith("grain(") for name in encoder.names)


def test_a_subject_is_asked_for_its_bits() -> None:
    subject = dpaudit.Subject(mechanism=noisy, claim=CLAIM, neighbours=PAIR)
    audit = dpaudit.audit(subject, samples=10_000, rng=7, floats="bits")
    assert audit.refuted
    assert audit.floats == "bits"
    with pytest.raises(dpaudit.PrivacyViolation, match="floating-point finding"):
        dpaudit.assert_private(subject, samples=10_000, rng=7, floats="bits")
    assert not dpaudit.audit(subject, samples=10_000, rng=7).refuted
