"""What brings its own claim and neighbours, and what the parts of a library mean, on stand-ins."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from commands import error_line, run

import dpaudit
from dpaudit.claims import ZCDP, ApproxDP, PureDP
from dpaudit.domains import categories, floats, integers
from dpaudit.errors import InvalidMechanism
from dpaudit.integrations import (
    any_float,
    any_integer,
    as_subject,
    brought_by,
    diffprivlib,
    from_dp_accounting,
    from_multi_freq_ldpy,
    from_opendp,
    from_pipeline_dp,
    from_pure_ldp,
    from_python_dp,
    load_mechanism,
    load_target,
    needed,
    neighbours_of,
    one_way_answers,
    tumult,
    whole_answers,
)
from dpaudit.integrations.opendp import claim_of
from dpaudit.mechanism import as_mechanism
from dpaudit.neighbours import add_or_remove_one, group, query_answers, replace_one

PEOPLE = add_or_remove_one(floats(0, 1), max_records=3)


def count(data: Any, size: int, rng: np.random.Generator) -> Any:
    return len(data) + rng.laplace(size=size)


SUBJECT = dpaudit.Subject(mechanism=count, claim=PureDP(1.0), neighbours=PEOPLE)
TOO_MUCH = dpaudit.Subject(mechanism=count, claim=PureDP(0.1), neighbours=PEOPLE)


def test_a_subject_is_all_that_an_audit_needs() -> None:
    alone = dpaudit.audit(TOO_MUCH, rng=7)
    assert alone.refuted
    same = dpaudit.audit(count, PureDP(0.1), PEOPLE, rng=7)
    assert (alone.samples, alone.lower_bound) == (same.samples, same.lower_bound)


def test_what_is_given_wins_over_what_is_brought() -> None:
    assert not dpaudit.audit(TOO_MUCH, PureDP(1.0), samples=20_000, rng=7).refuted
    elsewhere = dpaudit.audit(TOO_MUCH, neighbours=[([0.5], [0.7])], samples=5_000, rng=7)
    assert not elsewhere.refuted
    assert elsewhere.neighbours == "1 given pair"


def test_an_assertion_takes_a_subject() -> None:
    with pytest.raises(dpaudit.PrivacyViolation, match=r"count is not 0\.1-DP"):
        dpaudit.assert_private(TOO_MUCH, rng=7)
    assert not dpaudit.assert_private(SUBJECT, samples=20_000, rng=7).refuted


@pytest.mark.parametrize(
    ("arguments", "what"),
    [((), "claim"), ((PureDP(1.0),), "neighbours"), ((None, PEOPLE), "claim")],
)
def test_what_nobody_brings_is_asked_for(arguments: tuple[Any, ...], what: str) -> None:
    for judge in (dpaudit.audit, dpaudit.assert_private):
        with pytest.raises(TypeError, match=f"count brings no {what} of its own. Pass {what}="):
            judge(count, *arguments)


def test_a_library_is_recognised_without_being_imported() -> None:
    class Measurement(SimpleNamespace):
        __module__, __qualname__ = "opendp.mod", "Measurement"

        def __call__(self, data: Any) -> float:
            return float(sum(data))

    class Renamed(Measurement):
        __module__, __qualname__ = "mine", "Renamed"

    for kind in (Measurement, Renamed):
        found = brought_by(kind(**vars(_measurement())))
        assert found is not None
        assert found.claim == PureDP(2.0)
    assert brought_by(count) is None
    assert brought_by(SUBJECT) is SUBJECT


def test_a_subject_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("subjects_for_test.py").write_text(
        "import dpaudit\n"
        "def count(data, size, rng):\n"
        "    return len(data) + rng.laplace(size=size)\n"
        "people = dpaudit.add_or_remove_one(dpaudit.floats(0, 1), max_records=3)\n"
        "claim = dpaudit.PureDP(0.1)\n"
        "subject = dpaudit.Subject(mechanism=count, claim=claim, neighbours=people)\n"
    )
    target = "subjects_for_test.py:subject"
    assert isinstance(load_target(target), dpaudit.Subject)
    assert load_mechanism(target).target == target
    refuted = run("audit", target, "--seed", "7", "--output", "audit.json")
    assert refuted.exit_code == 1, refuted.output
    assert dpaudit.load("audit.json").target == target
    assert run("replay", "audit.json", "--seed", "1").exit_code == 1
    kept = run("audit", target, "--claim", "eps=1", "--seed", "7", "--samples", "20000")
    assert kept.exit_code == 0, kept.output
    pair = run("audit", target, "--pair", "[[0.1], [0.2]]", "--seed", "7", "--samples", "5000")
    assert "1 given pair" in pair.output
    bare = run("audit", "subjects_for_test.py:count")
    assert bare.exit_code == 2
    assert "say what is promised: --claim eps=1, or a TARGET that brings its claim." in bare.output
    message = error_line(run("audit", "subjects_for_test.py:count", "--claim", "1"))
    assert message.startswith("say which datasets are neighbours: --relation ")


def test_as_subject_leaves_its_argument_as_it_is() -> None:
    changed = as_subject(SUBJECT, PureDP(3.0), None)
    assert changed.claim == PureDP(3.0)
    assert SUBJECT.claim == PureDP(1.0)


def test_whole_answers_keep_norm_and_range() -> None:
    for norm in (1, 2, np.inf):
        found = list(whole_answers(3, 4, norm=norm, low=0, high=20).edge_pairs())
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
    for pair in one_way_answers(4, 0.5).edge_pairs():
        moves = pair.neighbour - pair.data
        assert np.all(moves >= 0)
        assert moves.max() == 0.5


@pytest.mark.parametrize(
    ("measure", "bound", "claim"),
    [
        ("MaxDivergence", 1.5, PureDP(1.5)),
        ("ZeroConcentratedDivergence", 0.5, ZCDP(0.5)),
        ("Approximate<MaxDivergence>", (1.0, 1e-6), ApproxDP(1.0, 1e-6)),
        ("FixedSmoothedMaxDivergence", (1.0, 1e-6), ApproxDP(1.0, 1e-6)),
    ],
)
def test_a_measure_is_a_claim(measure: str, bound: Any, claim: dpaudit.claims.Claim) -> None:
    assert claim_of(measure, bound) == claim


def test_a_curve_is_a_profile() -> None:
    profile = claim_of("SmoothedMaxDivergence", SimpleNamespace(delta=PureDP(1.0).delta))
    assert profile.delta(0.5) == PureDP(1.0).delta(0.5)
    renyi = claim_of("RenyiDivergence", lambda order: 0.1 * order)  # that of 0.1-zCDP
    assert ZCDP(0.1).delta(1.0) <= renyi.delta(1.0) <= 1.1 * ZCDP(0.1).delta(1.0)
    loose = claim_of("Approximate<ZeroConcentratedDivergence>", (0.1, 1e-3))
    assert loose.delta(1.0) == ZCDP(0.1).delta(1.0) + 1e-3
    with pytest.raises(InvalidMechanism, match="no claim for the measure UserDivergence"):
        claim_of("UserDivergence", 1.0)


@pytest.mark.parametrize(
    ("metric", "domain", "distance", "neighbours"),
    [
        ("SymmetricDistance", "f64 0 10", 1, add_or_remove_one(floats(0, 10), max_records=5)),
        (
            "SymmetricDistance",
            "f64 0 10",
            2,
            group(add_or_remove_one(floats(0, 10), max_records=5), 2),
        ),
        (
            "SymmetricDistance",
            "f64 0 10 size=4",
            2,
            replace_one(floats(0, 10), min_records=4, max_records=4),
        ),
        ("ChangeOneDistance", "i32 0 9", 1, replace_one(integers(0, 9), max_records=5)),
        ("HammingDistance", "i32", 1, replace_one(integers(-1000, 1000), max_records=5)),
        ("InsertDeleteDistance", "u8", 1, add_or_remove_one(integers(0, 100), max_records=5)),
        ("DiscreteDistance", "bool", 1, replace_one(categories(False, True), max_records=1)),
        ("AbsoluteDistance<f64>", "f64 atom", 2.0, query_answers(1, 2)),
        ("L1Distance<f64>", "f64", 1.0, query_answers(3, norm=1)),
        ("L2Distance<f64>", "f64 size=5", 1.0, query_answers(5, norm=2)),
        ("opendp::metrics::LInfDistance<f64>", "f64 0 9", 1.0, query_answers(3, low=0, high=9)),
        ("L1Distance<i32>", "i32", 2, whole_answers(3, 2, norm=1)),
    ],
)
def test_a_metric_is_a_relation(metric: str, domain: str, distance: float, neighbours: Any) -> None:
    found = neighbours_of(_metric(metric), _domain(domain), distance, records=None, max_records=5)
    assert found == neighbours


def test_scores_that_move_one_way_are_not_moved_apart() -> None:
    class Monotonic:
        type = "LInfDistance<f64>"

        def __repr__(self) -> str:
            return "LInfDistance(monotonic, T=f64)"

    found = neighbours_of(Monotonic(), _domain("f64"), 1.0, records=None, max_records=5)
    assert found == one_way_answers(3, 1.0)


def test_numbers_without_bounds_are_odd_too() -> None:
    with_nan = neighbours_of(
        _metric("SymmetricDistance"), _domain("f64 nan"), 1, records=None, max_records=5
    )
    without = neighbours_of(
        _metric("SymmetricDistance"), _domain("f64"), 1, records=None, max_records=5
    )
    assert with_nan.contains(dpaudit.Pair(np.array([np.nan]), np.array([])))
    assert not without.contains(dpaudit.Pair(np.array([np.nan]), np.array([])))
    assert without.contains(dpaudit.Pair(np.array([np.inf]), np.array([])))


@pytest.mark.parametrize(
    ("metric", "domain", "distance", "message"),
    [
        ("SymmetricDistance", "String", 1, "what a record of .* may be is not known. Say so"),
        ("SymmetricDistance", "f64 size=4", 1, "must be at least 2: from_opendp"),
        ("FrameDistance", "f64", 1, "no neighbours for the metric"),
    ],
)
def test_what_is_not_known_is_said(metric: str, domain: str, distance: float, message: str) -> None:
    with pytest.raises(InvalidMechanism, match=message):
        neighbours_of(_metric(metric), _domain(domain), distance, records=None, max_records=5)


def test_a_measurement_gets_lists_and_its_own_type_of_distance() -> None:
    measurement = _measurement()
    subject = from_opendp(measurement, 3)
    assert subject.claim == PureDP(6.0)
    drawn = as_mechanism(subject.mechanism).draw(np.array([1.0, 2.0]), 4, np.random.default_rng(0))
    assert list(drawn) == [3.0] * 4
    with pytest.raises(InvalidMechanism, match=r"d_in must be a whole number for u32, got 1\.5"):
        from_opendp(measurement, 1.5)
    query = SimpleNamespace(resolve=lambda: measurement, _d_in=2)
    assert from_opendp(query).claim == PureDP(4.0)
    with pytest.raises(InvalidMechanism, match="needs a measurement of OpenDP, got"):
        from_opendp(count)


@pytest.mark.parametrize(
    ("name", "parts", "neighbours"),
    [
        ("Laplace", {"sensitivity": 2}, query_answers(1, 2)),
        (
            "LaplaceTruncated",
            {"sensitivity": 1, "lower": 0, "upper": 5},
            query_answers(1, low=0, high=5),
        ),
        ("Geometric", {"sensitivity": 1}, whole_answers(1, 1, norm=np.inf)),
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
            one_way_answers(2, 3.0),
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
    subject = diffprivlib.from_diffprivlib(shift)
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
        ("AbsoluteDifference", "NumpyIntegerDomain", 2, whole_answers(1, 2, norm=np.inf)),
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
    subject = tumult.from_tumult(measurement)
    assert subject.claim == ApproxDP(0.5, 0.5)
    assert subject.neighbours == whole_answers(2, 1, norm=1)
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


def _metric(kind: str) -> Any:
    return SimpleNamespace(type=kind)


def _domain(words: str) -> Any:
    """Such as "f64 0 10 size=4": numbers between 0 and 10, four of them."""
    kind, *rest = words.split()
    bounds = tuple(float(word) if kind[0] == "f" else int(word) for word in rest if word.isdigit())
    sizes = [int(word.removeprefix("size=")) for word in rest if word.startswith("size=")]
    atom = SimpleNamespace(
        carrier_type=kind, type=f"AtomDomain<{kind}>", bounds=bounds or None, nan="nan" in rest
    )
    if kind == "bool" or "atom" in rest:
        return atom
    return SimpleNamespace(
        type=f"VectorDomain<{atom.type}>", element_domain=atom, size=sizes[0] if sizes else None
    )


class _Called(SimpleNamespace):
    def __call__(self, data: Any) -> float:
        assert type(data) is list
        return float(sum(data))


def _measurement() -> Any:
    return _Called(
        input_domain=_domain("f64 0 10"),
        input_metric=_metric("SymmetricDistance"),
        input_distance_type="u32",
        output_measure=SimpleNamespace(type="MaxDivergence"),
        map=lambda distance: 2.0 * distance,
    )
