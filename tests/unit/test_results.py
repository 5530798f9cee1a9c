"""What an audit found is a value: frozen, and printed in one line or as a report."""

import dataclasses
import math

import pytest
from saved_audits import (
    COUNTEREXAMPLE,
    REFUTED,
    UNDECIDED,
)

from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, Profile, PureDP, RenyiDP
from dpaudit.results import (
    Evidence,
    Tally,
    Verdict,
)

# --- values ---------------------------------------------------------------------------------------


def test_no_verdict_says_that_a_claim_holds() -> None:
    assert [verdict.value for verdict in Verdict] == [
        "refuted",
        "suspected",
        "not refuted",
        "undecided",
    ]


def test_values_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        REFUTED.samples = 0  # type: ignore[misc]


def test_refuted_is_only_what_the_verdict_says() -> None:
    assert REFUTED.refuted
    assert not UNDECIDED.refuted


@pytest.mark.parametrize(
    ("claim", "symbol", "epsilon"),
    [
        (PureDP(1), "epsilon", 1.1875),
        (ApproxDP(1, 1e-6), "epsilon", 1.1875),
        (RenyiDP(2, 1), "epsilon", 1.1875),
        (ZCDP(1), "rho", None),
        (GaussianDP(1), "mu", None),
        (Profile(PureDP(1).delta), None, None),
    ],
    ids=str,
)
def test_epsilon_lower_is_for_claims_in_epsilon(
    claim: Claim, symbol: str | None, epsilon: float | None
) -> None:
    audit = dataclasses.replace(REFUTED, claim=claim)
    assert audit.symbol == symbol
    assert audit.epsilon_lower == epsilon
    assert audit.lower_bound == 1.1875


def test_a_counterexample_knows_its_likelier_side() -> None:
    swapped = dataclasses.replace(COUNTEREXAMPLE, likelier="neighbour")
    assert (COUNTEREXAMPLE.likely.hits, COUNTEREXAMPLE.unlikely.hits) == (400, 60)
    assert (swapped.likely.hits, swapped.unlikely.hits) == (60, 400)


def test_the_rate_of_no_draws_is_no_number() -> None:
    assert math.isnan(Tally(hits=0, draws=0, lower=0.0, upper=1.0).rate)


@pytest.mark.parametrize(
    ("log_wealth", "peak", "e_value", "p_value"),
    [
        (math.log(50.0), math.log(200.0), 50.0, 0.005),
        (-2.0, 0.0, math.exp(-2.0), 1.0),
        (-2.0, -1.0, math.exp(-2.0), 1.0),
        (-math.inf, 0.0, 0.0, 1.0),
        (1e6, 1e6, math.inf, 0.0),
    ],
)
def test_the_last_wealth_is_an_e_value_and_the_largest_a_p_value(
    log_wealth: float, peak: float, e_value: float, p_value: float
) -> None:
    evidence = Evidence(trace=(), log_wealth=log_wealth, peak=peak)
    assert evidence.e_value == pytest.approx(e_value)
    assert evidence.p_value == pytest.approx(p_value)


def test_the_repr_is_one_line_and_the_str_the_report() -> None:
    line = "REFUTED: clipped_sum is not 1-DP: epsilon >= 1.18 (alpha = 1e-06)"
    assert repr(REFUTED) == f"<Audit {line}>"
    assert str(REFUTED).splitlines()[0] == line
