"""A claim that is broken by its delta: the event that shows it, the number and the words."""

from dataclasses import replace

import numpy as np
import pytest
from reported import REFUTED
from scipy import stats

from dpaudit.bounds import epsilon_from_event
from dpaudit.claims import ApproxDP, GaussianDP
from dpaudit.errors import InvalidAuditFile
from dpaudit.events import strongest_event
from dpaudit.outputs import Encoder
from dpaudit.report import failure, headline, render
from dpaudit.results import Audit, Counterexample, Tally, audit_from_json

CLAIM = ApproxDP(1.0, 0.001)


def with_counts(hits: int, other: int, draws: int = 20_000) -> Audit:
    """A refuted audit whose event has these hits on A and on B."""
    assert REFUTED.counterexample is not None
    data, neighbour = (Tally.of(each, draws, alpha=1e-6) for each in (hits, other))
    epsilon = epsilon_from_event(data.lower, neighbour.upper, 0.001)
    found: Counterexample = replace(
        REFUTED.counterexample, data=data, neighbour=neighbour, delta=0.001, epsilon_lower=epsilon
    )
    bound = max(1.0, epsilon)
    return replace(REFUTED, claim=CLAIM, counterexample=found, lower_bound=bound, samples=4 * draws)


def test_delta_is_what_both_bounds_show() -> None:
    audit = with_counts(200, 0)
    found = audit.counterexample
    assert found is not None
    expected = found.data.lower - np.e * found.neighbour.upper
    assert audit.delta_lower == pytest.approx(expected)
    assert 0.001 < expected < 0.01


def test_delta_is_never_above_that_of_any_pair_within_the_bounds() -> None:
    """The corners of the box of both probabilities hold the least `sup_A P(A) - e Q(A)`."""
    for hits, other in ((200, 0), (9_000, 1_000), (19_990, 15_000), (50, 40)):
        found = with_counts(hits, other).counterexample
        assert found is not None
        sides = [(one.lower, one.upper) for one in (found.data, found.neighbour)]
        for p in sides[0]:
            for q in sides[1]:
                both = ((p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p))
                assert found.delta_lower(1.0) <= max(0.0, *(a - np.e * b for a, b in both)) + 1e-12


def test_a_refutation_shows_the_claims_own_delta_at_least() -> None:
    assert with_counts(60, 0).delta_lower == 0.001
    assert replace(with_counts(200, 0), counterexample=None).delta_lower == 0.001
    sharpened = replace(with_counts(200, 0), lower_bound=1.05)  # a certificate of its own
    assert sharpened.delta_lower == 0.001
    assert replace(with_counts(200, 0), claim=GaussianDP(1.0)).delta_lower is None


def test_an_event_never_seen_on_the_other_side_is_said_as_delta() -> None:
    audit = with_counts(200, 0)
    line = "clipped_sum is not (1, 0.001)-DP: delta >= 0.00478 at epsilon 1"
    assert headline(audit) == f"REFUTED: {line} (alpha = 1e-06)"
    assert " ".join(failure(audit).split("\n\n")[0].split()) == line
    assert """\
  The claim allows at most e^1 = 2.72 times (plus delta = 0.001).
  Seen: at least 0.00478 more than that many times, so by this event
  alone delta is at least 0.00478 at epsilon 1.
""" in render(audit)


def test_an_event_seen_on_both_sides_is_said_as_epsilon() -> None:
    audit = with_counts(9_000, 1_000)
    assert "(1, 0.001)-DP: epsilon >= 2" in headline(audit)
    assert "Its delta is at least 0.2" in render(audit).replace("\n  ", " ")


def test_a_saved_delta_is_derived_again() -> None:
    audit = replace(with_counts(200, 0), strongest=None, history=())
    saved = audit.to_json()
    assert saved["delta_lower"] == audit.delta_lower
    assert audit_from_json(saved).delta_lower == audit.delta_lower
    with pytest.raises(InvalidAuditFile, match="contradicts itself: delta is at least"):
        audit_from_json({**saved, "delta_lower": 0.02})
    with pytest.raises(InvalidAuditFile, match="no field 'delta_lower'"):
        audit_from_json({name: value for name, value in saved.items() if name != "delta_lower"})


@pytest.mark.parametrize("draws", [2_000, 24_000, 200_000])
def test_the_rare_side_of_a_thresholded_count_is_chosen(draws: int) -> None:
    """A number in 14 of 4,500 outputs on one side and in none on the other, whatever the draws.

    An event search by epsilon alone takes "output = None" where too few draws certify the other.
    """
    encoder = Encoder()
    numbers = stats.norm(20, 3).ppf(np.arange(1, 15) / 15).tolist()
    rows = encoder.encode([None, None, *numbers])
    ones, zeros = [4_486.0, 0.0, *[1.0] * 14], [0.0, 4_500.0, *[0.0] * 14]
    event, from_data = strongest_event(
        rows, ones, zeros, epsilon=1.0, delta=0.001, draws=draws, alpha=1e-6
    )
    assert event.words(encoder) == "output is a finite number"
    assert from_data
