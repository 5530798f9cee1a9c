"""How floats are rounded: as columns, as events in words and in code, and only where asked for."""

import json
from typing import Any

import numpy as np
import pytest

from dpaudit import events
from dpaudit.outputs import ABOUT_BITS, MAX_BITS, MISSING, NAN, Encoder, bits_of
from dpaudit.report import event_code

OUTPUTS = [
    *(0.0, -0.0, 0.75, -0.75, 0.1, -0.3, 1 / 3, 2.0**60, 5e-324, 1.5e-310, 1e308),
    *(float(np.float32(0.1)), 1.0 + 2.0**-52, float("nan"), float("inf"), float("-inf")),
]


def shown(event: events.Event) -> str:
    encoder = Encoder(floats="bits")
    encoder.encode(OUTPUTS)
    return event.words(encoder)


@pytest.mark.parametrize(
    "outputs",
    [np.arange(5), np.array([True, False]), [1, 2, 3], ["a", None], [[1, 2], [3]]],
    ids=["integers", "booleans", "a list of integers", "words", "lists"],
)
def test_what_is_not_a_float_is_untouched(outputs: Any) -> None:
    plain, bits = Encoder(), Encoder(floats="bits")
    first, second = plain.encode(outputs), bits.encode(outputs)
    assert bits.names == plain.names
    np.testing.assert_array_equal(second.numbers, first.numbers)


def test_floats_keep_their_column_and_get_four_more() -> None:
    plain, bits = Encoder(), Encoder(floats="bits")
    first, second = plain.encode(OUTPUTS), bits.encode(OUTPUTS)
    assert plain.names == ("output",)
    assert bits.names == ("output", *(f"{about}(output)" for about in ABOUT_BITS))
    np.testing.assert_array_equal(second.numbers[:, 0], first.numbers[:, 0])
    np.testing.assert_array_equal(second.codes()[:, 0], first.codes()[:, 0])
    finite = np.isfinite(OUTPUTS)
    assert np.all(second.codes()[finite, 1:] == -1)
    assert np.all(second.codes()[~finite, 1:] == MISSING)


def test_a_float32_is_seen_inside_a_float64() -> None:
    """Null: the last 29 bits of a float64 are 0 with probability 2^-29; false alarms below 1e-50.

    Alternative: float32 noise, which has at most 24 bits for sure; power 1.
    """
    noise = np.random.default_rng(0).laplace(size=10_000)
    assert np.all(bits_of(noise.astype(np.float32).astype(np.float64))["width"] <= 24)
    assert np.mean(bits_of(noise)["width"] > 24) > 0.999


def test_columns_of_bits_stay_where_floats_are_followed_by_integers() -> None:
    encoder = Encoder(floats="bits")
    encoder.encode([0.5])
    table = encoder.encode([8])
    assert table.numbers.tolist() == [[8.0, 3.0, 3.0, 1.0, 0.0]]


def test_a_whole_number_among_floats_has_bits_too() -> None:
    encoder = Encoder(floats="bits")
    table = encoder.encode([{"sum": 0}, {"sum": 0.75}])
    assert table.numbers[:, 1].tolist() == [1024.0, -2.0]


def test_a_wide_output_shows_the_bits_of_its_first_places() -> None:
    encoder = Encoder(floats="bits")
    encoder.encode(np.full((2, 100), 0.1))
    assert sum(name.startswith("grain(") for name in encoder.names) == MAX_BITS
    assert "grain(output[15])" in encoder.names
    assert "output[99]" in encoder.names


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (events.Below(1, -52.5), "output is not a multiple of 2^-52"),
        (events.Below(1, -52.0), "output is not a multiple of 2^-52"),
        (events.Above(1, -52.0), "output is a multiple of 2^-51"),
        (events.Equals(1, -55.0), "output is a multiple of 2^-55 but not of 2^-54"),
        (events.Between(1, -56.0, -53.0), "output is a multiple of 2^-55 but not of 2^-53"),
        (
            events.Outside(1, -53.0, 0.5),
            "output is not a multiple of 2^-53 or output is a multiple of 2^1",
        ),
        (events.Equals(1, 1024.0), "output = 0"),
        (events.Above(1, 1000.5), "output is a multiple of 2^1001"),
        (events.Below(1, 1023.5), "output is not 0"),
        (events.Above(1, -2000.0), "output is a finite number"),
        (events.Below(2, -1074.5), "output = 0"),
        (events.Below(2, -3.5), "|output| < 2^-3"),
        (events.Above(2, -3.5), "|output| >= 2^-3"),
        (events.Equals(2, -1.0), "2^-1 <= |output| < 2^0"),
        (events.Below(3, 24.5), "output is a float32 (it has at most 24 significant bits)"),
        (events.Above(3, 24.5), "output is not a float32 (it has more than 24 significant bits)"),
        (events.Above(3, 50.0), "output has more than 50 significant bits"),
        (events.Between(3, 2.5, 7.0), "output has 3 to 6 significant bits"),
        (events.Equals(4, 6.0), "the last 4 bits of output are 0110"),
        (events.Above(4, 6.0), "the last 4 bits of output are 0111 to 1111"),
        (events.IsNumber(1), "output is a finite number"),
        (events.IsWord(1, MISSING), "output is not a finite number"),
        (events.Above(0, 0.5), "output > 0.5"),
        (events.IsWord(0, NAN), "output = NaN"),
        (
            events.Both(events.Outside(1, -53.0, 0.5), events.Above(0, 0.5)),
            "(output is not a multiple of 2^-53 or output is a multiple of 2^1) and output > 0.5",
        ),
    ],
)
def test_events_about_bits_are_said_in_plain_words(event: events.Event, words: str) -> None:
    assert shown(event) == words


@pytest.mark.parametrize("column", range(1, 5))
@pytest.mark.parametrize(
    "make",
    [
        lambda column, at: events.Above(column, at),
        lambda column, at: events.Below(column, at),
        lambda column, at: events.Equals(column, at),
        lambda column, at: events.Between(column, at - 3.0, at + 1.5),
        lambda column, at: events.Outside(column, at - 3.5, at + 2.0),
        lambda column, _: events.IsNumber(column),
    ],
    ids=["above", "below", "equals", "between", "outside", "number"],
)
def test_the_rule_and_its_code_say_what_the_event_says(column: int, make: Any) -> None:
    encoder = Encoder(floats="bits")
    table = encoder.encode(OUTPUTS)
    for at in sorted(set(table.numbers[np.isfinite(OUTPUTS), column].tolist())):
        event = make(column, at)
        rule = events.rule_of(event, encoder)
        hits = event.holds(table).tolist()
        assert events.rule_from_json(json.loads(json.dumps(rule.to_json()))) == rule
        assert rule.holds(OUTPUTS).tolist() == hits, at
        source = event_code(rule)
        if source is None:  # an event that no float is in
            assert not any(hits)
            continue
        names: dict[str, Any] = {}
        exec(source, names)
        assert [names["happened"](output) for output in OUTPUTS] == hits, (at, source)


def test_a_rule_asks_whole_numbers_too() -> None:
    """A mended mechanism may give integers where there were floats."""
    encoder = Encoder(floats="bits")
    encoder.encode(OUTPUTS)
    rule = events.rule_of(events.Above(1, -1.0), encoder)
    assert rule.holds(np.array([3, 4])).tolist() == [True, True]
    assert rule.holds(["three", 0.5, 3]).tolist() == [False, False, True]


def test_other_events_are_said_as_ever() -> None:
    encoder = Encoder()
    encoder.encode([[0.5, "this or that"], [2.5, "no"]])
    word = events.IsWord(1, encoder.codes(1)["str", "'this or that'"])
    event = events.Both(events.Both(events.Outside(0, 1.0, 2.0), word), events.Above(0, 0.1))
    assert event.words(encoder) == (
        "(output[0] < 1 or output[0] > 2) and output[1] = 'this or that' and output[0] > 0.1"
    )


def test_only_what_a_real_number_does_not_have_is_a_floating_point_finding() -> None:
    encoder = Encoder(floats="bits")
    encoder.encode(OUTPUTS)
    about = [
        events.rule_of(events.Above(column, 0.5), encoder).is_about_floats for column in range(5)
    ]
    assert about == [False, True, False, True, True]  # value, grain, magnitude, width, last bits
    assert events.rule_of(
        events.Both(events.Above(0, 0.5), events.Below(1, -52.5)), encoder
    ).is_about_floats
