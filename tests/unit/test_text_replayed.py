"""How a replay is worded."""

import dataclasses

import pytest

from dpaudit.bounds import epsilon_from_event
from dpaudit.claims import Claim, GaussianDP, PureDP
from dpaudit.neighbours import Pair
from dpaudit.report import replayed, replayed_headline
from dpaudit.results import Counterexample, Replayed, Tally


def seen(hits: int, neighbour_hits: int, draws: int, seed: int) -> Counterexample:
    data, neighbour = (Tally.of(count, draws, alpha=1e-6) for count in (hits, neighbour_hits))
    return Counterexample(
        pair=Pair([1.0], [-1.0]),
        event="output > 1",
        likelier="data",
        data=data,
        neighbour=neighbour,
        delta=0.0,
        epsilon_lower=epsilon_from_event(data.lower, neighbour.upper, 0.0),
        alpha=1e-6,
        seed=(seed, 1),
    )


REFUTED = Replayed(
    mechanism="clipped_sum",
    target="sums.py:clipped_sum",
    claim=PureDP(1.0),
    before=seen(12_000, 1_600, 24_000, 7),
    again=seen(604, 88, 1_217, 8),
)


def test_a_refuting_replay_in_full() -> None:
    assert (
        replayed(REFUTED)
        == """\
REFUTED AGAIN: clipped_sum is not 1-DP: epsilon >= 1.29 (alpha = 1e-06)

  A = [1.0]
  B = [-1.0]
  event       output > 1 (likelier on A)

  on A        604 of 1,217 draws: probability at least 0.424
  on B         88 of 1,217 draws: probability at most 0.117

  The claim allows at most e^1 = 2.72 times.
  Seen: at least 3.65 times, so by this event alone at least
  epsilon 1.29 leaks.
  If the claim held, a replay like this would accuse it with probability
  at most 1e-06.

  replayed    sums.py:clipped_sum
  before      at least epsilon 1.86 leaks, 24,000 draws each
  seed        8"""
    )
    assert str(REFUTED) == replayed(REFUTED)


def test_a_replay_that_does_not_refute_in_full() -> None:
    found = dataclasses.replace(REFUTED, again=seen(600, 300, 1_217, 8), target=None)
    assert (
        replayed(found)
        == """\
NOT REFUTED: clipped_sum, claimed 1-DP, by this event on these draws
  (alpha = 1e-06)

  A = [1.0]
  B = [-1.0]
  event       output > 1 (likelier on A)

  on A        600 of 1,217 draws: probability at least 0.421
  on B        300 of 1,217 draws: probability at most 0.313

  The claim allows at most e^1 = 2.72 times.
  Seen: at least 1.34 times, so by this event alone at least
  epsilon 0.298 leaks.
  This is not a proof of privacy: one event was counted, and nothing was
  searched. Another pair or event, or more draws, may still break the
  claim. To search anew: dpaudit audit.

  replayed    clipped_sum
  before      at least epsilon 1.86 leaks, 24,000 draws each
  seed        8"""
    )


def test_no_difference_shows_nothing() -> None:
    found = dataclasses.replace(REFUTED, again=seen(500, 510, 1_217, 8))
    assert "Seen: no sure difference, so this event alone shows nothing." in replayed(found)
    assert "epsilon >= 0" not in replayed(dataclasses.replace(found, claim=GaussianDP(1.0)))


@pytest.mark.parametrize(
    ("claim", "line"),
    [
        (PureDP(1.0), "REFUTED AGAIN: clipped_sum is not 1-DP: epsilon >= 1.29 (alpha = 1e-06)"),
        (GaussianDP(0.1), "REFUTED AGAIN: clipped_sum is not 0.1-GDP: mu >= 1 (alpha = 1e-06)"),
        (
            PureDP(2.0),
            "NOT REFUTED: clipped_sum, claimed 2-DP, by this event on these draws (alpha = 1e-06)",
        ),
    ],
    ids=str,
)
def test_the_headline_is_one_line(claim: Claim, line: str) -> None:
    assert replayed_headline(dataclasses.replace(REFUTED, claim=claim)) == line
