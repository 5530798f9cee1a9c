"""Events that can be put into words, and the search for the one that tells two datasets apart."""

from dpaudit.events.bits import Span, is_zero, spans, words_of
from dpaudit.events.columns import ColumnEvents
from dpaudit.events.expected_bound import ExpectedBound, upper_bound
from dpaudit.events.kinds import (
    Above,
    Below,
    Between,
    Both,
    Equals,
    Event,
    IsNumber,
    IsWord,
    Outside,
    Single,
    comparisons,
    is_member,
)
from dpaudit.events.reading import could_read
from dpaudit.events.rounding import rounded
from dpaudit.events.rule import Rule, rule_from_json, rule_of, singles
from dpaudit.events.search import plainest_event, strongest_event
