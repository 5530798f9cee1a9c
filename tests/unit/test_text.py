"""The words of a verdict, as a user reads them: at most 72 columns, never more than was proved."""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest

from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, Profile, PureDP, RenyiDP
from dpaudit.neighbours import Pair
from dpaudit.report import (
    apart,
    dataset,
    failure,
    headline,
    lower,
    one_line,
    progress_line,
    render,
    upper,
)
from dpaudit.results import Audit, Counterexample, Evidence, PairRecord, Progress, Tally, Verdict

PAIR = Pair(np.array([1.0]), np.array([-1.0]))
REFUTED = Audit(
    mechanism="clipped_sum",
    claim=PureDP(1.0),
    verdict=Verdict.REFUTED,
    lower_bound=1.80999,
    counterexample=Counterexample(
        pair=PAIR,
        event="output > 0.773",
        likelier="data",
        data=Tally(hits=4012, draws=10000, lower=0.37774, upper=0.4251),
        neighbour=Tally(hits=641, draws=10000, lower=0.0533, upper=0.07401),
        delta=0.0,
        epsilon_lower=math.log(0.37774 / 0.07401),
        alpha=1e-6,
        seed=(7, 0, 3),
    ),
    evidence=Evidence(trace=((24000, 14.2),), log_wealth=14.2, peak=14.2),
    samples=44000,
    seconds=1.234,
    alpha=1e-6,
    rng_seed=7,
    pairs_tried=1,
    neighbours="replace one of at most 5 records of floats(-1, 1)",
    strongest=PairRecord(pair=PAIR, samples=24000, log_wealth=14.2, growth=6e-4),
    detectable=None,
    forecast=None,
    history=(),
    warnings=(),
    interrupted=False,
    version="0.1.0",
)
NOT_REFUTED = dataclasses.replace(
    REFUTED,
    mechanism="laplace_count",
    verdict=Verdict.NOT_REFUTED,
    lower_bound=0.96,
    counterexample=None,
    evidence=Evidence(trace=((300000, -0.4),), log_wealth=-0.4, peak=1.1),
    samples=300000,
    seconds=83.0,
    pairs_tried=24,
    neighbours="add or remove one of at most 6 records of floats(0, 1)",
    strongest=PairRecord(
        pair=Pair(np.array([1.0]), np.array([])), samples=9000, log_wealth=0.2, growth=1e-5
    ),
    detectable=1.0931,
)
UNDECIDED = dataclasses.replace(
    NOT_REFUTED,
    verdict=Verdict.UNDECIDED,
    lower_bound=0.97,
    evidence=Evidence(trace=((300000, 8.6),), log_wealth=8.6, peak=8.7),
    detectable=None,
    forecast=41000,
)
AUDITS = (REFUTED, NOT_REFUTED, UNDECIDED)


def changed(audit: Audit, **changes: Any) -> Audit:
    return dataclasses.replace(audit, **changes)


def with_event(audit: Audit, **changes: Any) -> Audit:
    assert audit.counterexample is not None
    return changed(audit, counterexample=dataclasses.replace(audit.counterexample, **changes))


# --- whole reports --------------------------------------------------------------------------------


def test_a_refuted_audit_in_full() -> None:
    assert (
        render(REFUTED)
        == """\
REFUTED: clipped_sum is not 1-DP: epsilon >= 1.8 (alpha = 1e-06)

  data        [1.0]
  neighbour   [-1.0]
  event       output > 0.773 (likelier on data)

  on data      4,012 of 10,000 draws: probability at least 0.377
  on neighbour   641 of 10,000 draws: probability at most 0.0741

  The claim allows at most e^1 = 2.72 times.
  Seen: at least 5.1 times, so this event alone shows epsilon >= 1.63.
  If the claim held, an audit like this would accuse it with probability
  at most 1e-06.

  searched    replace one of at most 5 records of floats(-1, 1);
              1 pair tried
  cost        44,000 draws, 1.2 s
  seed        7; the event's draws: (7, 0, 3)"""
    )


def test_the_message_of_a_failed_test_in_full() -> None:
    """The verdict in other words, what an audit says after it, and what to do."""
    _, shown = render(REFUTED).split("\n\n", 1)
    assert failure(REFUTED).split("\n") == [
        "clipped_sum is not 1-DP: epsilon >= 1.8",
        "",
        *shown.split("\n"),
        "",
        "  replay      rng=7 makes the same audit again",
        "  pin         @dpaudit.example([1.0], [-1.0]) on the test tries this",
        "              pair first, every time",
    ]


def test_the_message_of_a_failed_test_without_an_event_or_with_long_data() -> None:
    alone = failure(dataclasses.replace(REFUTED, counterexample=None))
    assert "no single event was certified" in alone
    assert "@dpaudit.example([1.0], [-1.0])" in alone  # the strongest pair
    nothing = failure(dataclasses.replace(REFUTED, counterexample=None, strongest=None))
    assert "example" not in nothing
    long = Pair(np.arange(100.0), np.arange(99.0))
    record = PairRecord(pair=long, samples=1, log_wealth=0.0, growth=0.0)
    text = failure(dataclasses.replace(REFUTED, counterexample=None, strongest=record))
    assert "these lines on the test try this pair first, every time:\n    @dpaudit.example(" in text
    assert "98.0, 99.0,\n        ],\n" in text  # all of it, not elided
    assert max(map(len, text.splitlines())) <= 72
    longer = Pair(np.arange(5000.0), np.arange(4999.0))
    record = PairRecord(pair=longer, samples=1, log_wealth=0.0, growth=0.0)
    text = failure(dataclasses.replace(REFUTED, counterexample=None, strongest=record))
    assert "cannot be pinned by a line to paste: its datasets are too long" in " ".join(
        text.split()
    )
    within = failure(dataclasses.replace(REFUTED, lower_bound=None))
    assert within.startswith("clipped_sum is not 1-DP: epsilon > 1\n")


def test_a_not_refuted_audit_in_full() -> None:
    assert (
        render(NOT_REFUTED)
        == """\
NOT REFUTED: laplace_count, claimed 1-DP: epsilon >= 0.96 certified
  (alpha = 1e-06)

  This is not a proof of privacy: a pair that was not tried, or a
  smaller excess, may still break the claim.

  The strongest pair:
  data        [1.0]
  neighbour   []
  certified   epsilon >= 0.96: no smaller epsilon holds
  detectable  an epsilon of 1.1 or more on this pair would have been
              refuted (an estimate)

  searched    add or remove one of at most 6 records of floats(0, 1);
              24 pairs tried
  cost        300,000 draws, 1 min 23 s
  seed        7"""
    )


def test_an_undecided_audit_in_full() -> None:
    assert (
        render(UNDECIDED)
        == """\
UNDECIDED: laplace_count, claimed 1-DP: epsilon >= 0.97 certified so far
  (alpha = 1e-06)

  The evidence leans against the claim: e-value 5.43e+03, where a
  refutation needs 1e+06.
  About 41,000 more draws would decide it (an estimate).

  The strongest pair:
  data        [1.0]
  neighbour   []

  searched    add or remove one of at most 6 records of floats(0, 1);
              24 pairs tried
  cost        300,000 draws, 1 min 23 s
  seed        7"""
    )


def test_an_event_that_is_likelier_on_the_neighbour() -> None:
    assert REFUTED.counterexample is not None
    audit = with_event(
        REFUTED,
        likelier="neighbour",
        data=REFUTED.counterexample.neighbour,
        neighbour=REFUTED.counterexample.data,
    )
    assert """\
  event       output > 0.773 (likelier on neighbour)

  on data        641 of 10,000 draws: probability at most 0.0741
  on neighbour 4,012 of 10,000 draws: probability at least 0.377
""" in render(audit)


def test_a_claim_with_a_delta_says_so() -> None:
    audit = with_event(changed(REFUTED, claim=ApproxDP(1, 1e-5)), delta=1e-5)
    assert """\
  The claim allows at most e^1 = 2.72 times (plus delta = 1e-05).
  Seen: at least 5.1 times (less delta), so this event alone shows
  epsilon >= 1.63.
""" in render(audit)


def test_a_claim_without_one_ratio_compares_probabilities() -> None:
    audit = with_event(
        changed(REFUTED, claim=GaussianDP(1), lower_bound=1.41),
        delta=0.05,
        epsilon_lower=math.log((0.37774 - 0.05) / 0.07401),
    )
    assert render(audit).startswith(
        "REFUTED: clipped_sum is not 1-GDP: mu >= 1.41 (alpha = 1e-06)\n"
    )
    # N(1, 1) has at most 0.328 above the point that N(0, 1) passes with probability 0.07401
    assert """\
  With at most 0.0741 on neighbour, the claim allows at most 0.328 on
  data.
  Seen: at least 0.377, so this event alone shows
  epsilon >= 1.48 at delta = 0.05.
""" in render(audit)


@pytest.mark.parametrize("claim", [PureDP(2), ApproxDP(2, 0.01), GaussianDP(2), ZCDP(2)], ids=str)
def test_an_event_within_the_claim_is_not_passed_off_as_its_refutation(claim: Claim) -> None:
    weak = "It stays within the claim; all draws together do not."
    assert weak in render(changed(REFUTED, claim=claim))
    assert weak not in render(REFUTED)


def test_a_refutation_without_an_event_says_so() -> None:
    text = render(changed(REFUTED, counterexample=None))
    assert "All draws together refute the claim; no single event was certified." in text
    assert "The strongest pair:\n  data        [1.0]\n" in text


def test_an_event_without_fresh_draws_has_no_seed() -> None:
    assert render(with_event(REFUTED, seed=())).endswith("\n  seed        7")


def test_an_interrupted_audit_says_so() -> None:
    for audit in AUDITS:
        assert "Interrupted: this is what was found until then." in render(
            changed(audit, interrupted=True)
        )
        assert "nterrupt" not in render(audit)


def test_warnings_are_listed_but_do_not_flood() -> None:
    warnings = tuple(f"number {each}: " + "careful " * 50 for each in range(5))
    text = render(changed(NOT_REFUTED, warnings=warnings))
    assert "  warning     number 0: careful careful" in text
    assert "number 2" in text
    assert "number 3" not in text
    assert text.endswith("\n              and 2 more warnings")
    assert len(text.splitlines()) < 35


def test_too_few_draws_are_said_with_those_needed() -> None:
    poor = Evidence(trace=(), log_wealth=-math.inf, peak=0.0)
    none: dict[str, Any] = {"evidence": poor, "strongest": None, "history": ()}
    text = render(changed(UNDECIDED, **none, forecast=88))
    assert (
        "Too few draws for a verdict: no pair got more than 0. Even a total leak would need about "
        "44 draws on a pair, so a verdict takes at least 88 on one. "
        "About 88 more draws on one pair would decide it (an estimate)."
    ) in " ".join(text.split())
    assert "strongest" not in text
    assert "leans" not in text
    text = render(changed(UNDECIDED, **none, claim=PureDP(2_000.0), forecast=None))
    assert (
        "The claim allows so much that no number of draws could refute it. "
        "More draws may decide it."
    ) in " ".join(text.split())


def test_no_epsilon_is_detectable_under_a_claim_with_a_delta() -> None:
    assert "detectable" in render(NOT_REFUTED)
    assert "detectable" in render(changed(NOT_REFUTED, claim=ApproxDP(1, 0)))
    assert "detectable" not in render(changed(NOT_REFUTED, claim=ApproxDP(1, 1e-6)))
    assert "detectable" not in render(changed(NOT_REFUTED, claim=GaussianDP(1)))


# --- headlines ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"claim": GaussianDP(1)}, "is not 1-GDP: mu >= 1.8 "),
        ({"claim": ZCDP(0.5)}, "is not 0.5-zCDP: rho >= 1.8 "),
        ({"claim": RenyiDP(2, 0.5)}, "is not (order 2, 0.5)-Rényi DP: epsilon >= 1.8 "),
        ({"claim": ApproxDP(1, 1e-6)}, "is not (1, 1e-06)-DP: epsilon >= 1.8 "),
        (
            {"claim": Profile(PureDP(1).delta, name="mine"), "lower_bound": None},
            "does not keep privacy profile 'mine' (",
        ),
        ({"lower_bound": 1.0004}, "is not 1-DP: epsilon >= 1.0004 "),
        ({"lower_bound": 1.0}, "is not 1-DP: epsilon > 1 "),
        ({"lower_bound": None}, "is not 1-DP: epsilon > 1 "),
        ({"lower_bound": math.inf}, "is not 1-DP: epsilon >= inf "),
    ],
)
def test_a_refuted_headline_shows_more_than_was_claimed(
    changes: dict[str, Any], words: str
) -> None:
    assert headline(changed(REFUTED, **changes)).startswith(f"REFUTED: clipped_sum {words}")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "1-DP: epsilon >= 0.96 certified (alpha = 1e-06)"),
        ({"claim": GaussianDP(1)}, "1-GDP: mu >= 0.96 certified (alpha = 1e-06)"),
        ({"lower_bound": 0.0}, "1-DP: nothing certified (alpha = 1e-06)"),
        ({"lower_bound": None}, "1-DP: nothing certified (alpha = 1e-06)"),
        ({"claim": Profile(PureDP(1).delta)}, "privacy profile 'delta' (alpha = 1e-06)"),
    ],
)
def test_a_not_refuted_headline_says_what_was_certified(
    changes: dict[str, Any], words: str
) -> None:
    line = headline(changed(NOT_REFUTED, **changes))
    assert line == f"NOT REFUTED: laplace_count, claimed {words}"


def test_a_claim_that_was_not_refuted_is_never_praised() -> None:
    for audit in AUDITS:
        words = render(audit).lower().replace(",", " ").replace(".", " ").split()
        assert not {"passed", "private", "safe", "secure", "ok"} & set(words)


# --- the safe side --------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [1.8999999, 1.9, 0.0123456, 12345.6, 1e-9, 0.1 + 0.2, 99.99, 1.0])
def test_bounds_are_rounded_to_the_safe_side(bound: float) -> None:
    assert float(lower(bound)) <= bound <= float(upper(bound))
    assert float(lower(bound)) == pytest.approx(bound, rel=0.01)
    assert float(upper(bound)) == pytest.approx(bound, rel=0.01)


def test_every_printed_bound_is_on_the_safe_side() -> None:
    audit = changed(
        with_event(
            REFUTED,
            data=Tally(hits=9998, draws=10000, lower=0.9996, upper=0.9996),
            neighbour=Tally(hits=1, draws=10000, lower=0.0, upper=0.0010001),
            epsilon_lower=6.9069,
        ),
        lower_bound=6.9999,
        alpha=0.0500001,
    )
    text = render(audit)
    assert "epsilon >= 6.99 (alpha = 0.0501)" in text
    assert "at least 0.999\n" in text
    assert "at most 0.00101\n" in text
    assert "at least 999 times, so this event alone shows epsilon >= 6.9." in text
    assert "an epsilon of 1.1 or more" in render(NOT_REFUTED)  # 1.0931, rounded up


@pytest.mark.parametrize(("allowed", "seen"), [(2.718, 6.3), (2.71828, 2.7183), (0.1, 0.1 + 1e-12)])
def test_what_is_allowed_and_what_was_seen_stay_apart(allowed: float, seen: float) -> None:
    at_most, at_least = apart(allowed, seen)
    assert allowed <= float(at_most) < float(at_least) <= seen


def test_a_narrow_refutation_does_not_read_as_a_contradiction() -> None:
    audit = with_event(changed(REFUTED, lower_bound=1.0002), epsilon_lower=1.0001)
    text = render(audit)
    assert "e^1 = 2.7183 times." in text
    said = "at least 2.7185 times, so this event alone shows epsilon >= 1.0001."
    assert said in " ".join(text.split())


# --- 80 columns -----------------------------------------------------------------------------------

LONG_DATA = [
    np.arange(100_000.0),
    np.full((500, 3), 1 / 3),
    [{"name": "a" * 300, "age": 7}] * 40,
    [{"name": "a" * 300, "age": 7}],
    "text\nwith lines " * 100,
    (1 / 3,) * 12,
    None,
    {f"field {each}": each for each in range(100)},
    np.float64(0.5),
    np.array(1 / 3),
    [],
]


@pytest.mark.parametrize("audit", AUDITS, ids=lambda audit: audit.verdict.value)
@pytest.mark.parametrize("data", LONG_DATA, ids=range(len(LONG_DATA)))
def test_reports_keep_to_80_columns_and_about_25_lines(audit: Audit, data: Any) -> None:
    pair = Pair(data, data)
    assert audit.strongest is not None
    audit = changed(
        audit,
        mechanism="a mechanism\nwith a name that " + "goes on " * 30,
        strongest=dataclasses.replace(audit.strongest, pair=pair),
        neighbours="replace one of " + "a_very_long_word" * 20,
        rng_seed=tuple(range(2**100, 2**100 + 4)),
        interrupted=True,
    )
    if audit.counterexample is not None:
        audit = with_event(audit, pair=pair, event="output[0] > 0.1 and " * 20)
    for claim in (audit.claim, Profile(PureDP(1).delta, name="n" * 200)):
        lines = render(changed(audit, claim=claim)).splitlines()
        assert max(map(len, lines)) <= 80
        assert len(lines) <= 34
    assert all(len(render(each).splitlines()) <= 25 for each in AUDITS)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (np.array([1.0, -1.0]), "[1.0, -1.0]"),
        (np.arange(1000), "[0, 1, 2, 3, 4, ..., 995, 996, 997, 998, 999] (1,000 in all)"),
        ([], "[]"),
        (["a" * 60], f"['{'a' * 26}...{'a' * 27}']"),
        ("abc", "'abc'"),
        (np.array(2.5), "2.5"),
    ],
)
def test_a_dataset_is_elided_to_its_width(value: Any, shown: str) -> None:
    assert dataset(value, 60) == shown


@pytest.mark.parametrize("width", range(1, 40))
def test_one_line_is_one_line(width: int) -> None:
    text = one_line("a name\nof many words that goes on", width)
    assert len(text) <= width
    assert "\n" not in text


# --- while it runs --------------------------------------------------------------------------------

PROGRESS = Progress(
    pairs=12,
    samples=48_000,
    budget=300_000,
    seconds=1.23,
    lower_bound=0.8449,
    log_wealth=4.9,
    alpha=1e-6,
    pair="[1.0] | []",
)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {},
            "48k of 300k draws, 39k/s, 6.5 s left, epsilon >= 0.844, evidence 35%, pair 12",
        ),
        (
            {"budget": None, "lower_bound": None, "pair": ""},
            "48k draws, 39k/s, 1.2 s, evidence 35%, pair 12",
        ),
        (
            {"samples": 4, "seconds": 20.0, "limit": 60.0, "lower_bound": None, "pair": ""},
            "4 of 300k draws, 5.0 s each, 20.0 s, 40.0 s left, evidence 35%, pair 12",
        ),
        (
            {"budget": 50_000, "limit": 60.0, "lower_bound": None},  # the draws end before the time
            "48k of 50k draws, 39k/s, 1.2 s, 0.1 s left, evidence 35%, pair 12: [1.0] | []",
        ),
        (
            {"samples": 0, "budget": None, "lower_bound": None, "pair": ""},
            "0 draws, 1.2 s, evidence 35%, pair 12",
        ),
        ({"lower_bound": 0.0, "log_wealth": -math.inf, "pair": ""}, None),
        ({"log_wealth": math.inf, "pair": "x" * 500}, None),
        ({"samples": 10**9, "budget": 10**10, "seconds": 1e6, "pairs": 10**9}, None),
    ],
)
def test_progress_is_one_line_of_80_columns(changes: dict[str, Any], line: str | None) -> None:
    progress = dataclasses.replace(PROGRESS, **changes)
    text = progress_line(progress, symbol="epsilon")
    assert len(text) <= 80
    if line is not None:
        assert text == line
    for width, symbol in itertools.product((20, 77), ("mu", None)):
        assert len(progress_line(progress, symbol=symbol, width=width)) <= width
