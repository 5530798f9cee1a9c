"""Events that can be put into words, and the search for the one that tells two datasets apart."""

from dpaudit.architecture import Event
from dpaudit.events.candidates import ColumnEvents, ExpectedBound, upper_bound
from dpaudit.events.kinds import (
    Above,
    Below,
    Between,
    Both,
    Equals,
    IsNumber,
    IsWord,
    Outside,
    Single,
    Span,
    comparisons,
    is_member,
    is_zero,
    singles,
    spans,
)
from dpaudit.events.rule import Rule, could_read, rule_from_json, rule_of
from dpaudit.events.search import EventSearch, plainest_event, rounded, strongest_event
