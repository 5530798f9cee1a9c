"""An event that stands by itself says of any outputs what the event of the search says."""

import json
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit import events
from dpaudit.errors import InvalidAuditFile
from dpaudit.mechanism import as_mechanism
from dpaudit.outputs import MISSING, NAN, Encoder

OUTPUTS: list[Any] = [
    {"count": 3, "tag": "yes", "values": [0.5, 1.5]},
    {"count": float("nan"), "tag": None, "values": [2.5]},
    {"tag": "no", "values": []},
    {"count": float("inf"), "tag": "yes", "values": [0.5, 1.5, 2.5]},
]


def _column(encoder: Encoder, name: str) -> int:
    return encoder.names.index(name)


def _events(encoder: Encoder) -> list[events.Event]:
    count, tag = _column(encoder, "output['count']"), _column(encoder, "output['tag']")
    length, second = (
        _column(encoder, "len(output['values'])"),
        _column(encoder, "output['values'][1]"),
    )
    yes = encoder.codes(tag)["str", "'yes'"]
    return [
        events.Above(count, 2.0),
        events.Below(length, 2.0),
        events.Between(second, 1.0, 2.0),
        events.Outside(length, 1.0, 2.0),
        events.Equals(count, 3.0),
        events.IsNumber(count),
        events.IsWord(tag, yes),
        events.IsWord(count, NAN),
        events.IsWord(second, MISSING),
        events.Both(
            events.IsWord(tag, yes), events.Both(events.Above(count, 1.0), events.IsNumber(second))
        ),
    ]


def test_a_rule_says_what_its_event_says() -> None:
    encoder = Encoder()
    table = encoder.encode(OUTPUTS)
    for event in _events(encoder):
        rule = events.rule_of(event, encoder)
        assert rule.holds(OUTPUTS).tolist() == event.holds(table).tolist(), event


def test_a_rule_does_not_depend_on_what_else_is_asked() -> None:
    """Each output alone: lengths do not vary, other words come first, places are not there."""
    encoder = Encoder()
    table = encoder.encode(OUTPUTS)
    for event in _events(encoder):
        rule = events.rule_of(event, encoder)
        alone = [bool(rule.holds([output])[0]) for output in OUTPUTS]
        assert alone == event.holds(table).tolist(), event
        assert rule.holds(OUTPUTS[::-1]).tolist() == event.holds(table).tolist()[::-1]


def test_a_rule_is_saved_and_read() -> None:
    encoder = Encoder()
    encoder.encode(OUTPUTS)
    for event in _events(encoder):
        rule = events.rule_of(event, encoder)
        assert events.rule_from_json(json.loads(json.dumps(rule.to_json()))) == rule
    infinite = events.Rule(event=events.Above(0, -np.inf), places=("output",), words=())
    assert events.rule_from_json(json.loads(json.dumps(infinite.to_json()))) == infinite


@pytest.mark.parametrize(
    "saved",
    [
        None,
        {"event": ["Above", 0, 1.0], "places": ["output"]},
        {"event": ["Above", 1, 1.0], "places": ["output"], "words": []},
        {"event": ["Near", 0, 1.0], "places": ["output"], "words": []},
        {"event": ["Above", 0], "places": ["output"], "words": []},
        {"event": ["Above", 0, "high"], "places": ["output"], "words": []},
        {"event": 7, "places": ["output"], "words": []},
        {"event": ["Above", 0, 1.0], "places": ["output"], "words": [[0, 5]]},
    ],
)
def test_what_is_no_rule_is_refused(saved: object) -> None:
    with pytest.raises(InvalidAuditFile):
        events.rule_from_json(saved)


def test_the_rule_of_a_counterexample_counts_its_event_again() -> None:
    """Null: the rule counts the event that was certified, so its rate is between the bounds.

    The rates, 0.5 and 0.068, are 6 standard errors of 50,000 draws inside the bounds: false alarms
    below 1e-8. Alternative: the event counted on the other side, 100 standard errors outside.
    """

    def clipped_sum(data: Any, size: int, rng: np.random.Generator) -> Any:
        return np.clip(data, -1, 1).sum() + rng.laplace(scale=1.0, size=size)

    audit = dpaudit.audit(
        clipped_sum,
        dpaudit.PureDP(1.0),
        dpaudit.replace_one(dpaudit.floats(-1, 1), max_records=5),
        rng=7,
    )
    found = audit.counterexample
    assert found is not None
    assert found.rule is not None
    sides = ((found.pair.data, found.data), (found.pair.neighbour, found.neighbour))
    for seed, (data, tally) in enumerate(sides):
        outputs = as_mechanism(clipped_sum).draw(data, 50_000, np.random.default_rng(seed))
        assert tally.lower < found.rule.holds(outputs).mean() < tally.upper
