"""Why two datasets are no neighbours, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpaudit.domains import Domain, canonical, refinable
from dpaudit.errors import InvalidDomain
from dpaudit.neighbours.pair import Pair, Slot
from dpaudit.neighbours.slots import interleaved, is_shared

SIDES = ("data", "neighbour")
OTHERWISE = "they are not neighbours in this relation"
ALIKE = "the two datasets are the same to a mechanism"

Records = tuple[list[Any], list[Any]]


def records_of(domain: Domain, pair: Pair) -> Records | str:
    """The records of both datasets, or why they cannot be read or are none of the domain."""
    read: list[list[Any]] = []
    for name, data in zip(SIDES, (pair.data, pair.neighbour), strict=True):
        try:
            read.append(domain.unpack(data))
        except InvalidDomain as error:
            return _sentence(error)
        except Exception as error:  # the inverse of a map may raise anything
            return f"{name} cannot be read as records of {domain}: {_sentence(error)}"
    for records in read:
        for record in records:
            if (reason := refinable(domain).why_not(record)) is not None:
                return reason
    return read[0], read[1]


def against_size(records: Records, least: int, most: int) -> str | None:
    """Why the datasets are too small or too large; None if they are not."""
    for name, one in zip(SIDES, records, strict=True):
        if len(one) > most:
            return f"{name} has {counted(len(one), 'record')}, at most {most} are allowed"
        if len(one) < least:
            return f"{name} has {counted(len(one), 'record')}, at least {least} are needed"
    return None


def against_replacing(records: Records, most: int) -> str | None:
    """Why one dataset is not the other with at most so many records replaced."""
    data, neighbour = records
    if len(data) != len(neighbour):
        return (
            f"data has {counted(len(data), 'record')} and neighbour {len(neighbour)}: where "
            "records are replaced, both have as many"
        )
    changed = sum(not is_shared(Slot(*both)) for both in zip(data, neighbour, strict=True))
    return _too_many(changed, most)


def against_adding(records: Records, most: int) -> str | None:
    """Why one dataset is not the other with at most so many records added or removed."""
    data, neighbour = records
    slots = interleaved(data, neighbour, len(data) + len(neighbour))
    assert slots is not None
    return _too_many(sum(not is_shared(slot) for slot in slots), most)


def _too_many(changed: int, most: int) -> str | None:
    if changed == 0:
        return ALIKE
    if changed > most:
        return f"the datasets differ in {counted(changed, 'record')}, at most {most} may differ"
    return None


def against_equal(pair: Pair) -> str | None:
    """That nothing differs; None if something does."""
    return ALIKE if canonical(pair.data) == canonical(pair.neighbour) else None


def first_of(reasons: Sequence[str | None]) -> str:
    """The first reason there is."""
    return next((reason for reason in reasons if reason is not None), OTHERWISE)


def counted(number: int, what: str) -> str:
    """The number with its noun.

    >>> counted(1, "record"), counted(2, "record")
    ('1 record', '2 records')
    """
    return f"{number} {what}{'s' if number != 1 else ''}"


def _sentence(error: Exception) -> str:
    return (str(error) or type(error).__name__).removesuffix(".")
