"""What the objects of other libraries mean, on stand-ins for them; OpenDP has its own file."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit.claims import ApproxDP, PureDP
from dpaudit.domains import categories, integers
from dpaudit.errors import InvalidMechanism
from dpaudit.integrations import (
    answers,
    any_float,
    any_integer,
    diffprivlib,
    from_diffprivlib,
    from_dp_accounting,
    from_multi_freq_ldpy,
    from_pipeline_dp,
    from_pure_ldp,
    from_python_dp,
    from_tumult,
    needed,
    tumult,
)
from dpaudit.mechanism import as_mechanism
from dpaudit.neighbours import add_or_remove_one, group, query_answers, replace_one


def test_whole_answers_keep_norm_and_range() -> None:
    for norm in (1, 2, np.inf):
        found = list(answers(3, 4, norm=norm, low=0, high=20, whole=True).edge_pairs())
        sizes = [np.linalg.norm(pair.data - pair.neighbour, ord=norm) for pair in found]
        assert max(sizes) == 4
        assert min(sizes) > 0
        for pair in found:
            assert pair.data.dtype == pair.neighbour.dtype == np.int64
            assert pair.data.min() >= 0
            assert pair.neighbour.max() <= 20
    spread = [(pair.data - pair.neighbour).tolist() for pair in found]
    assert [-4, -4, -4] in spread


def test_answers_that_move_one_way() -> None:
    for pair in answers(4, 0.5, one_way=True).edge_pairs():
        moves = pair.neighbour - pair.data
        assert np.all(moves >= 0)
        assert moves.max() == 0.5


@pytest.mark.parametrize(
    ("name", "parts", "neighbours"),
    [
        ("Laplace", {"sensitivity": 2}, query_answers(1, 2)),
        (
            "LaplaceTruncated",
            {"sensitivity": 1, "lower": 0, "upper": 5},
            query_answers(1, low=0, high=5),
        ),
        ("Geometric", {"sensitivity": 1}, answers(1, 1, whole=True)),
        (
            "Binary",
            {"value0": "no", "value1": "yes"},
            replace_one(categories("no", "yes"), max_records=1),
        ),
        (
            "Exponential",
            {"utility": [1, 0], "sensitivity": 3, "monotonic": False},
            query_answers(2, 3),
        ),
        (
            "PermuteAndFlip",
            {"utility": [1, 0], "sensitivity": 3, "monotonic": True},
            answers(2, 3.0, one_way=True),
        ),
    ],
)
def test_values_that_a_mechanism_of_diffprivlib_must_not_tell_apart(
    name: str, parts: dict[str, Any], neighbours: Any
) -> None:
    assert diffprivlib.neighbours_of(name, SimpleNamespace(**parts)) == neighbours


def test_a_mechanism_of_diffprivlib_gets_plain_numbers_and_our_generator() -> None:
    class Shift(SimpleNamespace):
        def randomise(self, value: Any) -> float:
            assert type(value) is float
            return value + float(self._rng.random_sample())

    shift = Shift(epsilon=1.0, delta=0.25, sensitivity=1, _rng=None)
    subject = from_diffprivlib(shift)
    assert subject.claim == ApproxDP(1.0, 0.25)
    release = as_mechanism(subject.mechanism)
    drawn = [release.draw(np.zeros(1), 3, np.random.default_rng(5)) for _ in range(2)]
    assert list(drawn[0]) == list(drawn[1])
    assert len(set(drawn[0])) == 3
    assert shift._rng is None
    with pytest.raises(InvalidMechanism, match="no neighbours for Vector"):
        diffprivlib.neighbours_of("Vector", SimpleNamespace())


def test_an_algorithm_of_python_dp_gets_the_values_of_every_partition() -> None:
    algorithm = SimpleNamespace(
        quick_result=lambda values: sum(values),
        dtype="int",
        epsilon=1.0,
        delta=0.0,
        l0_sensitivity=2,
        linf_sensitivity=3,
    )
    subject = from_python_dp(algorithm, records=integers(0, 9), max_records=4)
    users = dpaudit.lists(integers(0, 9), min_length=6, max_length=6)
    assert (subject.claim, subject.neighbours) == (
        PureDP(1.0),
        add_or_remove_one(users, max_records=4),
    )
    release = as_mechanism(subject.mechanism)
    data = [[1, 2, 3, 10, 20, 30], [4, 5, 6, 40, 50, 60]]
    drawn = release.draw(data, 2, np.random.default_rng(0))
    assert np.asarray(drawn).tolist() == [[21, 210], [21, 210]]
    assert np.asarray(release.draw([], 1, np.random.default_rng(0))).tolist() == [[0, 0]]
    algorithm.l0_sensitivity = algorithm.linf_sensitivity = "Not set"
    algorithm.dtype = "float"
    assert from_python_dp(algorithm).neighbours == add_or_remove_one(any_float(), max_records=10)


def test_partitions_of_python_dp_are_looked_at_until_all_are_kept() -> None:
    selection = SimpleNamespace(
        should_keep=lambda users: users > 2,
        probability_of_keep=lambda users: min(1.0, users / 3),
        max_partitions_contributed=2,
        epsilon=1.0,
        delta=0.25,
    )
    subject = from_python_dp(selection)
    assert subject.claim == ApproxDP(1.0, 0.25)
    assert subject.neighbours.describe() == "3 given pairs"
    assert subject.neighbours.contains(dpaudit.Pair([2, 2], [3, 3]))
    drawn = as_mechanism(subject.mechanism).draw([2, 3], 1, np.random.default_rng(0))
    assert np.asarray(drawn).tolist() == [[False, True]]


@pytest.mark.parametrize(
    ("metric", "domain", "distance", "neighbours"),
    [
        ("AbsoluteDifference", "NumpyFloatDomain", "1/2", query_answers(1, 0.5)),
        ("AbsoluteDifference", "NumpyIntegerDomain", 2, answers(1, 2, whole=True)),
        ("SumOf", "PandasSeriesDomain", 1, query_answers(3, norm=1)),
        ("RootSumOfSquared", "PandasSeriesDomain", 1, query_answers(3, norm=2)),
        (
            "SymmetricDifference",
            "PandasSeriesDomain",
            2,
            group(add_or_remove_one(any_float(nan=False, infinite=False), max_records=5), 2),
        ),
        ("HammingDistance", "NumpyIntegerDomain", 1, replace_one(any_integer(), max_records=5)),
    ],
)
def test_a_metric_of_tumult_is_a_relation(
    metric: str, domain: str, distance: Any, neighbours: Any
) -> None:
    found = tumult.neighbours_of(
        _named(metric, inner_metric=_named("AbsoluteDifference")),
        _tumult_domain(domain),
        distance,
        records=None,
        max_records=5,
    )
    assert found == neighbours


def test_a_measurement_of_tumult_gets_what_its_domain_asks_for() -> None:
    exact = SimpleNamespace(to_float=lambda round_up: 0.5 if round_up else 0.25)
    measurement = _named(
        "Measurement",
        input_domain=_named(
            "ListDomain", element_domain=_tumult_domain("NumpyIntegerDomain"), length=2
        ),
        input_metric=_named("SumOf", inner_metric=_named("AbsoluteDifference")),
        output_measure=_named("ApproxDP"),
        is_interactive=False,
        privacy_function=lambda distance: (exact, exact),
        answer=lambda data: [type(value).__name__ for value in data],
    )
    subject = from_tumult(measurement)
    assert subject.claim == ApproxDP(0.5, 0.5)
    assert subject.neighbours == answers(2, 1, norm=1, whole=True)
    drawn = as_mechanism(subject.mechanism).draw(np.array([3, 4]), 1, np.random.default_rng(0))
    assert list(drawn) == [["int64", "int64"]]
    with pytest.raises(InvalidMechanism, match="no claim for the measure UserDP"):
        tumult.claim_of("UserDP", 1.0)
    domain = _tumult_domain("NumpyFloatDomain")
    with pytest.raises(InvalidMechanism, match="no neighbours for the metric"):
        tumult.neighbours_of(_named("IfGroupedBy"), domain, 1, records=None, max_records=5)


def test_a_pipeline_is_read_when_its_budgets_are_known() -> None:
    made: list[Any] = []

    def accountant(epsilon: float, delta: float) -> Any:
        budget = SimpleNamespace(total=(epsilon, delta), finalized=False)
        budget.compute_budgets = lambda: setattr(budget, "finalized", True)
        made.append(budget)
        return budget

    def counts_and_shops(rows: Any, budget: Any) -> Any:
        shops = sorted({row["shop"] for row in rows})
        return ((shop, budget.finalized) for shop in shops), iter(shops)

    visits = dpaudit.records(privacy_id=integers(1, 9), shop=categories("a", "b"))
    subject = from_pipeline_dp(
        counts_and_shops, epsilon=1.0, delta=0.5, records=visits, accountant=accountant
    )
    assert subject.claim == ApproxDP(1.0, 0.5)
    assert subject.neighbours == dpaudit.add_or_remove_user(visits, "privacy_id", min_users=1)
    rows = [{"privacy_id": 1, "shop": "b"}, {"privacy_id": 2, "shop": "a"}]
    drawn = as_mechanism(subject.mechanism).draw(rows, 2, np.random.default_rng(0))
    assert list(drawn) == [({"a": True, "b": True}, {"a", "b"})] * 2
    assert [budget.total for budget in made] == [(1.0, 0.5)] * 2
    pure = from_pipeline_dp(counts_and_shops, epsilon=1.0, delta=0.0, records=visits)
    assert pure.claim == PureDP(1.0)
    wrong: Any = 3
    with pytest.raises(InvalidMechanism, match=r"a function build\(rows, accountant\), got 3"):
        from_pipeline_dp(wrong, epsilon=1.0, delta=0.0, records=visits)


def test_a_client_reports_one_item() -> None:
    client = SimpleNamespace(epsilon=0.5, d=4, privatise=lambda item: (item, type(item).__name__))
    subject = from_pure_ldp(client)
    assert (subject.claim, subject.neighbours) == (
        PureDP(0.5),
        replace_one(integers(1, 4), max_records=1),
    )
    drawn = as_mechanism(subject.mechanism).draw(np.array([3]), 2, np.random.default_rng(0))
    assert list(drawn) == [(3, "int")] * 2


def test_a_client_function_keeps_its_settings() -> None:
    def ask(value: int, k: int, epsilon: float, optimal: bool = True) -> tuple[Any, ...]:
        return value, k, epsilon, optimal

    subject = from_multi_freq_ldpy(ask, k=4, epsilon=0.5, optimal=False)
    drawn = as_mechanism(subject.mechanism).draw(np.array([3]), 1, np.random.default_rng(0))
    assert list(drawn) == [(3, 4, 0.5, False)]


def test_an_accountant_is_a_claim() -> None:
    curve = PureDP(1.0).delta
    for accounted in (
        SimpleNamespace(get_delta=curve),
        SimpleNamespace(get_delta_for_epsilon=curve),
    ):
        assert from_dp_accounting(accounted, name="mine").delta(0.5) == curve(0.5)
    with pytest.raises(dpaudit.errors.InvalidClaim, match="an accountant or a DpEvent, got 3"):
        from_dp_accounting(3)


def test_a_missing_library_says_how_to_install_it() -> None:
    with pytest.raises(ImportError, match=r"pip install 'dpaudit\[some-extra\]'"):
        needed("no_such_library.part", "some-extra")


class _Answering(SimpleNamespace):
    def __call__(self, data: Any) -> Any:
        return self.answer(data)


def _named(kind: str, **parts: Any) -> Any:
    """An object of a class of this name."""
    return type(kind, (_Answering,), {})(**parts)


def _tumult_domain(kind: str) -> Any:
    if kind == "PandasSeriesDomain":
        return _named(kind, element_domain=_tumult_domain("NumpyFloatDomain"))
    if kind == "NumpyIntegerDomain":
        return _named(kind, carrier_type=np.int64)
    return _named(kind, carrier_type=np.float64, allow_nan=False, allow_inf=False)
