"""What an assertion keeps, tries again and forgets, without pytest; and its share of alpha."""

import dataclasses
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from counts import most_accusations, power

import dpaudit
from dpaudit import Audit, Pair, PrivacyViolation, PureDP, Verdict
from dpaudit.report import Row, run_table
from dpaudit.results import REPLAY
from dpaudit.testing import NEXT_SETTINGS, AssertionSettings, Effort, KeptCounterexample, file_name
from dpaudit.zoo import RandomizedResponse

ONE = PureDP(1.0)
BITS = [([1], [0])]


@contextmanager
def a_run(folder: Path, **given: Any) -> Iterator[list[Any]]:
    """A test run; the audits that it was told of."""
    told: list[Any] = []
    token = NEXT_SETTINGS.set(
        lambda: AssertionSettings(
            test="test_bit#1",
            folder=folder / ".dpaudit",
            note=lambda judgement: told.extend(judgement.audits),
            **given,
        )
    )
    try:
        yield told
    finally:
        NEXT_SETTINGS.reset(token)


def kept_of(folder: Path, neighbours: Any = BITS) -> KeptCounterexample:
    turn = AssertionSettings(test="test_bit#1", folder=folder / ".dpaudit")
    found = KeptCounterexample.of(turn, "RandomizedResponse", ONE, neighbours, ())
    assert found is not None
    return found


@pytest.fixture(scope="module")
def refuted() -> Audit:
    return dpaudit.audit(RandomizedResponse(3.0), ONE, BITS, rng=7)


def test_what_was_kept_is_counted_on_draws_that_no_audit_made(
    tmp_path: Path, refuted: Audit
) -> None:
    """With the same rng as the audit that found it: its own draws would prove nothing new."""
    kept_of(tmp_path).write(refuted)
    with a_run(tmp_path) as told, pytest.raises(PrivacyViolation) as caught:
        dpaudit.assert_private(RandomizedResponse(3.0), ONE, BITS, rng=7)
    (audit,) = told
    assert audit == caught.value.audit
    assert (audit.tester, audit.alpha) == (REPLAY, 0.5e-6)
    assert audit.counterexample is not None
    assert refuted.counterexample is not None
    assert (audit.counterexample.seed, refuted.counterexample.seed) == ((7, 8), (7, 1))
    assert caught.value.kept == kept_of(tmp_path).shown


def test_a_replay_has_no_say_in_what_is_counted_next(tmp_path: Path, refuted: Audit) -> None:
    kept = kept_of(tmp_path)
    kept.write(refuted)
    before = kept.path.read_bytes()
    for _ in range(2):
        with a_run(tmp_path), pytest.raises(PrivacyViolation):
            dpaudit.assert_private(RandomizedResponse(3.0), ONE, BITS, rng=7)
    assert kept.path.read_bytes() == before


def test_what_was_kept_of_the_bits_of_floats_is_tried_where_these_are_looked_at(
    tmp_path: Path,
) -> None:
    def noisy_sum(data: Any, size: int, rng: np.random.Generator) -> Any:
        return float(sum(data)) + rng.laplace(size=size)

    sums = [([1.0], [0.0])]
    asked: dict[str, Any] = {"samples": 5_000, "rng": 7}
    kept = KeptCounterexample.of(
        AssertionSettings(test="test_bit#1", folder=tmp_path / ".dpaudit"),
        "noisy_sum",
        ONE,
        sums,
        (),
    )
    assert kept is not None
    kept.write(dpaudit.audit(noisy_sum, ONE, sums, floats="bits", **asked))
    with a_run(tmp_path) as told, pytest.raises(PrivacyViolation, match="floating-point finding"):
        dpaudit.assert_private(noisy_sum, ONE, sums, floats="bits", **asked)
    assert [(audit.tester, audit.floats) for audit in told] == [(REPLAY, "bits")]
    with a_run(tmp_path) as told:
        dpaudit.assert_private(noisy_sum, ONE, sums, **asked)
    assert [(audit.tester, audit.floats) for audit in told] == [("BettingTester", "real")]


@pytest.mark.slow
def test_what_is_exactly_on_its_claim_fails_at_most_in_a_share_alpha(
    tmp_path: Path, refuted: Audit
) -> None:
    """A kept counterexample, a pinned pair and a search together, each with a third of alpha.

    Null: a run fails with probability at most alpha = 0.3. Of 100 more than 53 fail with
    probability below 1e-6. Alternative: if each part spent all of alpha, a run would fail with
    probability 0.65 = 1 - 0.7^3, and be caught with probability 0.99.
    """
    alpha, runs, failed = 0.3, 100, 0

    @dpaudit.example([1], [0])
    def check(seed: int) -> None:
        mechanism = RandomizedResponse(1.0)
        dpaudit.assert_private(mechanism, ONE, BITS, alpha=alpha, samples=60, rng=seed)

    for seed in range(runs):
        kept_of(tmp_path).write(refuted)
        with a_run(tmp_path) as told:
            try:
                check(seed)
            except PrivacyViolation:
                failed += 1
        assert {audit.alpha for audit in told} == {alpha / 3}
        assert told[0].tester == REPLAY
    assert failed <= most_accusations(runs, alpha, false_alarm=1e-6)
    assert power(runs, alpha, 0.65, false_alarm=1e-6) >= 0.99


def test_only_an_audit_that_ends_not_refuted_forgets(tmp_path: Path, refuted: Audit) -> None:
    kept = kept_of(tmp_path)
    kept.write(refuted)
    undecided = dataclasses.replace(refuted, verdict=Verdict.UNDECIDED)
    stopped = dataclasses.replace(refuted, verdict=Verdict.NOT_REFUTED, interrupted=True)
    for audit in (undecided, stopped):
        assert kept.update(audit) is None
        assert kept.read() == refuted.counterexample
    assert kept.update(dataclasses.replace(refuted, verdict=Verdict.NOT_REFUTED)) is None
    assert kept.read() is None
    assert not kept.path.exists()


def test_the_quickest_counterexample_is_kept(tmp_path: Path, refuted: Audit) -> None:
    strong = refuted.counterexample
    assert strong is not None
    likely = dataclasses.replace(strong.likely, hits=strong.likely.draws // 4)
    changed: dict[str, Any] = {strong.likelier: likely}
    weaker = dataclasses.replace(strong, event="weaker", **changed)
    for pair in ((strong, weaker), (weaker, strong)):
        kept_of(tmp_path).write(
            dataclasses.replace(refuted, counterexample=pair[0], simplest=pair[1])
        )
        assert kept_of(tmp_path).read() == strong


class Own:
    """A finder of the user's own: nobody can ask it whether a pair is one of neighbours."""

    def ask(self) -> Pair:
        return Pair([1], [0])

    def tell(self, pair: Pair, score: float) -> None:
        pass


def test_what_could_not_be_tried_is_not_kept(tmp_path: Path, refuted: Audit) -> None:
    assert not kept_of(tmp_path, Own()).write(refuted)
    without_event = dataclasses.replace(refuted, counterexample=None)
    assert not kept_of(tmp_path).write(without_event)
    assert refuted.counterexample is not None
    odd = Pair([object()], [0])  # no file can hold it
    found = dataclasses.replace(refuted.counterexample, pair=odd)
    unsaved = dataclasses.replace(refuted, counterexample=found)
    assert not kept_of(tmp_path, dpaudit.pairs([odd])).write(unsaved)
    assert not (tmp_path / ".dpaudit").exists()


def test_a_pair_of_another_relation_is_not_tried(tmp_path: Path, refuted: Audit) -> None:
    kept_of(tmp_path).write(refuted)
    assert kept_of(tmp_path).read() == refuted.counterexample
    assert kept_of(tmp_path, [([1, 1], [0, 1])]).read() is None
    assert kept_of(tmp_path, dpaudit.add_or_remove_one(dpaudit.integers(0, 1))).read() is None


@pytest.mark.parametrize(
    ("neighbours", "reason"),
    [
        ([([1, 1], [0, 1])], "it is none of the 1 given pair"),
        (dpaudit.add_or_remove_one(dpaudit.integers(0, 1)), "the datasets differ in 2 records"),
        (dpaudit.replace_one(dpaudit.integers(0, 9).filter(bool)), "0 does not fit the filter"),
        (dpaudit.replace_one(dpaudit.integers(2, 9)), "1 is not in integers(2, 9)"),
        (dpaudit.replace_one(dpaudit.dates("2020-01-01", "2021-01-01")), "needs a date such as"),
        (dpaudit.replace_one(dpaudit.integers(0, 9).map(str)), "the map has no inverse"),
    ],
)
def test_what_no_longer_belongs_is_dropped_and_spoken_of_once(
    tmp_path: Path, refuted: Audit, neighbours: Any, reason: str
) -> None:
    kept_of(tmp_path).write(refuted)
    said: list[str] = []
    kept = dataclasses.replace(kept_of(tmp_path, neighbours), warn=said.append)
    assert kept.read() is None
    assert kept.read() is None
    (text,) = said
    assert text.startswith("a kept counterexample was dropped: its pair does not belong")
    assert reason in text
    assert not kept.path.exists()


def test_what_is_kept_is_tried_as_the_relation_makes_it(tmp_path: Path, refuted: Audit) -> None:
    """The bits were lists of whole numbers once, and are arrays of floats today."""
    kept_of(tmp_path).write(refuted)
    found = kept_of(tmp_path, dpaudit.replace_one(dpaudit.floats(0, 1))).read()
    assert found is not None
    assert found.pair == Pair(np.array([1.0]), np.array([0.0]))


def test_what_could_not_be_checked_next_time_is_not_kept(tmp_path: Path, refuted: Audit) -> None:
    relation = dpaudit.replace_one(dpaudit.integers(0, 1).map(lambda bit: bit), max_records=1)
    assert refuted.counterexample is not None
    pair = next(relation.edge_pairs())
    assert relation.contains(pair)  # by what it remembers, which no file holds
    found = dataclasses.replace(refuted.counterexample, pair=pair)
    unsure = dataclasses.replace(refuted, counterexample=found, simplest=None)
    assert not kept_of(tmp_path, relation).write(unsure)


@pytest.mark.parametrize("share", np.linspace(0.0, 0.99, 12))
def test_half_a_file_is_never_believed(tmp_path: Path, refuted: Audit, share: float) -> None:
    said: list[str] = []
    kept = dataclasses.replace(kept_of(tmp_path), warn=said.append)
    kept.write(refuted)
    text = kept.path.read_text()
    kept.path.write_text(text[: int(share * len(text))])
    assert kept.read() is None
    assert len(said) == 1
    assert kept.read() is None  # it was set aside
    assert len(said) == 1


def test_ctrl_c_in_an_assertion_ends_the_test(tmp_path: Path) -> None:
    calls: list[int] = []

    def mechanism(data: Any, size: int, rng: np.random.Generator) -> Any:
        calls.append(size)
        if len(calls) > 5:
            signal.raise_signal(signal.SIGINT)  # as Ctrl-C does
        return rng.laplace(size=size)

    with pytest.raises(KeyboardInterrupt):
        dpaudit.assert_private(mechanism, ONE, BITS, rng=7)


def test_a_run_gives_what_an_assertion_does_not_say(tmp_path: Path) -> None:
    effort = Effort(samples=300, alpha=0.01)
    with a_run(tmp_path, effort=effort, seed=5) as told, suppress(PrivacyViolation):
        dpaudit.assert_private(RandomizedResponse(0.1), ONE, BITS)
        dpaudit.assert_private(RandomizedResponse(0.1), ONE, BITS, alpha=0.1, samples=200, rng=6)
    assert [(audit.alpha, audit.rng_seed) for audit in told] == [(0.01, 5), (0.1, 6)]
    assert [audit.samples for audit in told] == [236, 136]


def test_a_smaller_delta_breaks_no_claim_of_a_larger_one(refuted: Audit) -> None:
    """An event of 3-DP shows epsilon 2.9 at delta 0, but is within (1, 0.9)-DP."""
    found = refuted.counterexample
    assert found is not None
    assert found.breaks(dpaudit.PureDP(2.0))
    assert found.breaks(dpaudit.ApproxDP(2.0, 0.01))
    assert not found.breaks(dpaudit.ApproxDP(1.0, 0.9))


# --- names and rows -------------------------------------------------------------------------------


def test_names_of_files_are_short_safe_and_apart() -> None:
    tests = ["a.py::test_x[a/b]#1", "a.py::test_x[a\\b]#1", "b.py::test_x[a/b]#1", "::[é]#1"]
    tests += [
        "a.py::TEST_X[a/b]#1",
        f"a.py::test_{'x' * 300}#1",
        f"a.py::test_{'x' * 300}#2",
        "CON",
    ]
    names = [file_name(test) for test in tests]
    assert len({name.lower() for name in names}) == len(tests)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{9,39}", name) for name in names)
    assert file_name("CON", "laplace", "1-DP") != file_name("CON", "laplace", "2-DP")


def test_a_table_of_long_names_keeps_to_80_columns() -> None:
    long = Row(
        "t" * 99, "m" * 200, "c" * 200, "not refuted", "epsilon " + "1" * 40, "9999", "123456.7"
    )
    short = Row("test_sum", "sum", "1-DP", "refuted", "epsilon 1.86", "81k", "1.1")
    short_line = "test_sum  sum        1-DP   refuted  epsilon 1.86      81k      1.1"
    lines = run_table([long, short])
    assert max(map(len, lines)) <= 80
    assert "m...m" in lines[1]
    assert run_table([short])[1] == short_line
