"""Events that can be put into words, and the search for the one that tells two datasets apart."""

from dpaudit.events.bits import words_of
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
)
from dpaudit.events.rule import Rule, rule_from_json, rule_of
from dpaudit.events.search import plainest_event, strongest_event

__all__ = [
    "Above",
    "Below",
    "Between",
    "Both",
    "Equals",
    "Event",
    "IsNumber",
    "IsWord",
    "Outside",
    "Rule",
    "plainest_event",
    "rule_from_json",
    "rule_of",
    "strongest_event",
    "words_of",
]
