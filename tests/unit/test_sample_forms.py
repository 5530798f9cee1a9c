"""Outputs in hand: every form they come in, and what is no sample."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from compared import BATCH, QUICK, laplace, name_of

import dpaudit
from dpaudit import PureDP, Verdict, compare_samples
from dpaudit.auditing import in_hand
from dpaudit.errors import InvalidSamples
from dpaudit.neighbours import NO_DATASETS

Floats = npt.NDArray[np.float64]

# --- every form of outputs ------------------------------------------------------------------------


N = 420
FORMS: dict[str, tuple[Any, Any]] = {
    "numbers": (np.zeros(N), np.ones(N)),
    "integers": (np.zeros(N, dtype=np.int64), np.ones(N, dtype=np.int8)),
    "booleans": (np.zeros(N, dtype=bool), np.ones(N, dtype=bool)),
    "lists": ([0] * N, [1] * N),
    "tuple": ((0.0,) * N, [1.0] * N),
    "unequal sizes": (np.zeros(N), np.ones(2 * N)),
    "one column": (np.zeros((N, 1)), np.ones(N)),
    "vectors": (np.zeros((N, 3)), np.ones((N, 3))),
    "vectors in lists": ([[0.0, 1.0]] * N, [[1.0, 1.0]] * N),
    "words": (["no"] * N, ["yes"] * N),
    "arrays of words": (np.array(["no"] * N), np.array(["yes"] * N)),
    "NaN on one side": (np.full(N, np.nan), np.ones(N)),
    "some NaN on one side": (np.where(np.arange(N) % 2, np.nan, 1.0), np.ones(N)),
    "inf on one side": (np.where(np.arange(N) % 2, np.inf, 1.0), np.ones(N)),
    "None on one side": ([None, 1.0] * (N // 2), [1.0] * N),
    "mixed objects": ([{"a": 1}, "b"] * (N // 2), [{"a": 2}, "b"] * (N // 2)),
    "other shapes": (np.zeros((N, 2)), np.zeros((N, 3))),
    "numbers and vectors": (np.zeros((N, 2)), np.zeros(N)),
    "numbers and words": (np.zeros(N), ["a"] * N),
    "complex": (np.full(N, 1j), np.full(N, 1.0 + 0j)),
}


WIDE = ("complex", "mixed objects", "numbers and vectors", "other shapes", "vectors in lists")


@pytest.mark.parametrize("form", FORMS)
def test_a_batch_tester_finds_a_leak_in_every_form(form: str) -> None:
    for outputs, others in (FORMS[form], FORMS[form][::-1]):
        found = compare_samples(
            outputs, others, PureDP(0.1), tester=dpaudit.testers.HistogramTester(), rng=1
        )
        assert found.verdict is Verdict.REFUTED
        assert found.counterexample is not None


# Bets on several columns take longer, and all that is wide is dealt alike: one of them will do.
@pytest.mark.parametrize("form", [form for form in FORMS if form not in WIDE])
@pytest.mark.filterwarnings("ignore::dpaudit.HealthWarning")
def test_bets_find_a_leak_in_every_form(form: str) -> None:
    """Null: a total or half leak is refuted; the hardest, half NaN, held for 30 of 30 other seeds.

    Alternative: a form whose values are taken for one another; never refuted, caught always.
    """
    outputs, others = (side[:150] for side in FORMS[form])
    found = compare_samples(outputs, others, PureDP(0.1), rng=1)
    assert found.verdict is Verdict.REFUTED
    assert found.counterexample is not None


def _halved(values: list[Any]) -> tuple[list[Any], list[Any]]:
    return values[::2], values[1::2]


def test_an_array_of_texts_beside_one_of_numbers_is_refused() -> None:
    numbers, texts = np.arange(50) % 3, np.array([*map(str, range(49)), "none"])
    for outputs, others in ((numbers, texts), (texts, numbers)):
        with pytest.raises(InvalidSamples, match="even numbers become texts: pass lists"):
            compare_samples(outputs, others, PureDP(1.0))


HONEST: dict[str, tuple[Any, Any]] = {
    "one column against none": (laplace(N).reshape(N, 1), laplace(N, seed=1)),
    "one column in lists": ([[x] for x in laplace(N)], laplace(N, seed=1)),
    "integers against floats": (np.arange(N) % 5, (np.arange(N) % 5).astype(float)),
    "large integers": (2**60 + np.arange(N) % 5, [2**60 + i % 5 for i in range(N)]),
    "a list against an array": (laplace(N).tolist(), laplace(N, seed=1)),
    "constant": (np.zeros(N), np.zeros(N)),
    "a constant word": (["same"] * N, ["same"] * N),
    "words never seen twice": _halved([f"word {i}" for i in range(2 * N)]),
    "numbers and words": ([1.0, "a", None] * (N // 3), [1.0, "a", None] * (N // 3)),
    "50 dimensions": (
        np.random.default_rng(0).normal(size=(200, 50)),
        np.random.default_rng(1).normal(size=(200, 50)),
    ),
    "NaN on both sides": (
        np.where(np.arange(N) % 3, np.nan, laplace(N)),
        np.where(np.arange(N) % 3, np.nan, laplace(N, seed=1)),
    ),
    "unequal sizes": (laplace(N), laplace(3 * N, seed=1)),
}


SLOWER = ("50 dimensions", "unequal sizes")  # and tested where the testers are


@pytest.mark.parametrize(
    ("tester", "form"),
    [(one, form) for one in [None, *BATCH] for form in HONEST if form not in SLOWER]
    + [(dpaudit.testers.HistogramTester(), form) for form in SLOWER],
    ids=lambda value: value if isinstance(value, str) else name_of(value),
)
@pytest.mark.filterwarnings("ignore::dpaudit.HealthWarning")
def test_the_form_alone_accuses_nobody(form: str, tester: Any) -> None:
    """Null: both sides have one distribution (or the same values); accused with 1e-6 at most.

    Wealth of 10 or more has probability at most 0.1 under the null; the seed is fixed.
    Alternative: a form that tells the sides apart, a total leak; caught always.
    """
    outputs, others = HONEST[form]
    if tester is None:  # a form that accuses does so at once
        outputs, others = outputs[:40], others[:40]
    found = compare_samples(outputs, others, PureDP(1.0), tester=tester, rng=1)
    assert found.verdict is (Verdict.UNDECIDED if tester is None else Verdict.NOT_REFUTED)
    assert found.evidence.log_wealth < math.log(10.0)  # it is undecided for lack of draws only


def test_other_shapes_are_warned_of() -> None:
    with pytest.warns(dpaudit.HealthWarning, match="gave numbers of shape"):
        found = compare_samples(np.zeros((60, 2)), np.zeros((60, 3)), PureDP(0.1), rng=1)
    assert "a leak, or a mistake" in found.warnings[0]


# --- what cannot be compared ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([], "must hold at least 2 outputs, got 0"),
        (np.zeros((0, 3)), "must hold at least 2 outputs, got 0"),
        ([1.0], "must hold at least 2 outputs, got 1"),
        (np.zeros((1, 5)), "must hold at least 2 outputs, got 1"),
        (1.0, "must be an array or a list with one output per draw, got float"),
        (None, "must be an array or a list with one output per draw, got NoneType"),
        (np.array(1.0), "must be an array or a list with one output per draw, got ndarray"),
        ("words", "must be an array or a list with one output per draw, got str"),
        (b"bytes", "must be an array or a list with one output per draw, got bytes"),
        ({"a": 1, "b": 2}, "must be an array or a list with one output per draw, got dict"),
        ({1, 2, 3}, "must be an array or a list with one output per draw, got set"),
        (iter([1, 2]), "must be an array or a list with one output per draw, got list_iterator"),
        (list, "must be an array or a list with one output per draw, got type"),
    ],
)
@pytest.mark.parametrize("tester", QUICK, ids=name_of)
def test_what_is_no_sample_is_refused_by_name(wrong: Any, message: str, tester: Any) -> None:
    with pytest.raises(InvalidSamples, match=rf"^outputs {message}"):
        compare_samples(wrong, [1.0, 2.0], PureDP(1.0), tester=tester)
    with pytest.raises(ValueError, match=rf"^neighbour_outputs {message}"):
        compare_samples([1.0, 2.0], wrong, PureDP(1.0), tester=tester)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"claim": 1.0}, TypeError, "claim must be a claim"),
        ({"alpha": 0.0}, ValueError, "alpha must be between 0 and 1, got 0.0"),
        ({"alpha": "small"}, ValueError, "alpha must be between 0 and 1"),
        ({"rng": -1}, ValueError, "rng must be a Generator"),
        ({"tester": "histogram"}, TypeError, "tester must be a BettingTester, got 'histogram'"),
        (
            {"tester": dpaudit.testers.MMDTester},
            TypeError,
            "tester must be a BettingTester, got <class",
        ),
    ],
)
def test_a_wrong_argument_is_refused_by_name_and_value(
    wrong: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        compare_samples(
            **{"outputs": [1, 2], "neighbour_outputs": [1, 2], "claim": PureDP(1.0), **wrong}
        )


def test_samples_are_read_into_one_form() -> None:
    assert (NO_DATASETS.data, NO_DATASETS.neighbour) == ("outputs", "neighbour_outputs")
    first, second = in_hand([[1, 2], (3, 4)], np.zeros((2, 2)))
    assert isinstance(first, np.ndarray)
    assert isinstance(second, np.ndarray)
    assert first.dtype == second.dtype == np.float64
    assert first.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert in_hand([[1], [2, 3]], [["a"], ["b"]]) == ([[1], [2, 3]], [["a"], ["b"]])
    assert in_hand(np.ma.masked_equal([1, 2], 2), [0, 1])[0] == [1, None]
