"""What is audited, and where: the TARGET, the claim and the neighbours of a command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dpaudit.cli.failures import Refusal
from dpaudit.cli.options import short_text

if TYPE_CHECKING:
    from dpaudit.claims import Claim
    from dpaudit.domains import Domain
    from dpaudit.mechanism import Mechanism, Subject
    from dpaudit.neighbours import AddOrRemove, QueryAnswers, Relation, Replace

RELATIONS = ("replace-one", "add-or-remove-one", "query-answers")
FINDERS = ("auto", "spread", "random", "grid", "evolve", "gp", "optuna")
MOST_RECORDS = 10  # unless --max-records says otherwise
NO_NEIGHBOURS = f"say which datasets are neighbours: --relation {'|'.join(RELATIONS)}, or --pair."
NO_CLAIM = "say what is promised: --claim eps=1, or a TARGET that brings its claim."
MOST_NESTED = 30  # lists inside each other in a pair; NumPy allows 32
_TOO_DEEP = f"--pair: more than {MOST_NESTED} lists inside each other. Name a plainer pair."
MOST_COUNT = 1_000_000  # answers, or records of the smallest dataset
MOST_NUMBERS = 10_000_000  # in the smallest dataset: 80 MB
EXAMPLES = {"length": "--length 10", "records": "--records floats:-1:1"}

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """The options that say which pairs are neighbours; None where an option was not given."""

    relation: str | None
    records: str | None
    max_records: int | None
    min_records: int | None
    length: int | None
    sensitivity: float | None
    group: int | None
    finder: str | None
    pairs: tuple[str, ...]

    def given(self) -> set[str]:
        """The names of the options that were given."""
        return {name for name in self.__slots__ if getattr(self, name) not in (None, ())}


def read_claim(text: str) -> Claim:
    """The claim of `--claim`."""
    from dpaudit.claims import parse_claim
    from dpaudit.errors import InvalidClaim

    try:
        return parse_claim(text)
    except InvalidClaim as error:
        raise Refusal(f"--claim: {error}") from error


def read_mechanism(text: str, *, one_at_a_time: bool) -> Mechanism:
    """The mechanism of TARGET; with `--one-at-a-time` a function that gives one output a call."""
    from dpaudit.integrations import load_mechanism

    return _loaded(load_mechanism, text, one_at_a_time)


def read_target(text: str, *, one_at_a_time: bool) -> Mechanism | Subject:
    """What TARGET names: a mechanism, or one that brings its claim and its neighbours."""
    from dpaudit.integrations import load_target

    return _loaded(load_target, text, one_at_a_time)


def _loaded(load: Callable[[str], Found], text: str, one_at_a_time: bool) -> Found:
    from dpaudit.errors import InvalidMechanism, UnexpectedExit
    from dpaudit.mechanism import ONE_AT_A_TIME

    try:
        return load(ONE_AT_A_TIME.format(text) if one_at_a_time else text)
    except UnexpectedExit as error:
        raise Refusal(str(error)) from error
    except InvalidMechanism as error:
        hint = " (Here: --one-at-a-time.)" if "one_at_a_time" in str(error) else ""
        raise Refusal(f"{error}{hint}") from error


def read_subject(
    target: Mechanism | Subject, claim: Claim | None, neighbours: Relation | None
) -> Subject:
    """What is audited: the options where they were given, else what TARGET brings."""
    from dpaudit.integrations import as_subject, brought_by

    if brought_by(target) is None:
        if claim is None:
            raise click.UsageError(NO_CLAIM)
        if neighbours is None:
            raise Refusal(NO_NEIGHBOURS)
    return as_subject(target, claim, neighbours)


def read_neighbours(options: Neighbourhood) -> Relation:
    """The relation of `--relation` and its options, or the pairs of `--pair`."""
    from dpaudit.errors import InvalidDomain, InvalidRelation
    from dpaudit.neighbours import group

    _refuse_what_does_not_belong(options)
    for name in ("length", "min_records"):
        count = getattr(options, name)
        if count is not None and count > MOST_COUNT:
            raise Refusal(
                f"--{name.replace('_', '-')} must be at most {MOST_COUNT:,}, got {count:,}."
            )
    try:
        if options.pairs:
            return _listed(options)
        found = _answers(options) if options.relation == "query-answers" else _records(options)
        return found if options.group is None else group(found, options.group)
    except InvalidDomain as error:
        raise Refusal(f"{'--pair' if options.pairs else '--records'}: {error}") from error
    except InvalidRelation as error:
        raise Refusal(str(error)) from error


def _refuse_what_does_not_belong(options: Neighbourhood) -> None:
    """An option that would be ignored is a misunderstanding: say so before drawing anything."""
    if options.pairs:
        needed, kind = {"pairs"}, "--pair"
        allowed = {"records"}
    elif options.relation is None:
        raise Refusal(NO_NEIGHBOURS)
    elif options.relation == "query-answers":
        needed, kind = {"length"}, "--relation query-answers"
        allowed = {"relation", "sensitivity", "group", "finder"}
    else:
        needed, kind = {"records"}, f"--relation {options.relation}"
        allowed = {"relation", "max_records", "min_records", "group", "finder"}
    given = options.given()
    for name in sorted(needed - given):
        raise Refusal(f"{kind} needs --{name}, such as {EXAMPLES[name]}.")
    for name in sorted(given - needed - allowed):
        raise Refusal(f"--{name.replace('_', '-')} does not go with {kind}. Leave it out.")


def _records(options: Neighbourhood) -> AddOrRemove | Replace:
    from dpaudit.neighbours import add_or_remove_one, replace_one

    domain = _domain(options)
    _refuse_what_is_too_large(domain, options.min_records or 1)
    most = MOST_RECORDS if options.max_records is None else options.max_records
    if options.relation == "replace-one":
        least = 1 if options.min_records is None else options.min_records
        return replace_one(domain, max_records=most, min_records=least)
    least = 0 if options.min_records is None else options.min_records
    return add_or_remove_one(domain, max_records=most, min_records=least)


def _refuse_what_is_too_large(domain: Domain, records: int) -> None:
    """Refuse datasets that nobody has the memory for, before one is made."""
    import numpy as np

    numbers = records * int(np.size(domain.edges()[0]))
    if numbers > MOST_NUMBERS:
        raise Refusal(
            f"a dataset has at most {MOST_NUMBERS:,} numbers here, and {records:,} records of "
            f"{domain} have {numbers:,}. Take fewer, or shorter vectors."
        )


def _answers(options: Neighbourhood) -> QueryAnswers:
    from dpaudit.neighbours import query_answers

    assert options.length is not None
    sensitivity = 1.0 if options.sensitivity is None else options.sensitivity
    return query_answers(options.length, sensitivity)


def _listed(options: Neighbourhood) -> Relation:
    from dpaudit.neighbours import Pair, pairs

    domain = None if options.records is None else _domain(options)
    found = []
    for text in options.pairs:
        try:
            listed = json.loads(text)
        except RecursionError as error:
            raise Refusal(_TOO_DEEP) from error
        except ValueError as error:
            raise Refusal(f"--pair: {text!r} is not JSON: {error}.") from error
        if not isinstance(listed, list) or len(listed) != 2:
            raise Refusal(f"--pair: two datasets are needed, such as [[0], [0, 1]], got {text}.")
        if _depth(listed) > MOST_NESTED:
            raise Refusal(_TOO_DEEP)
        found.append(Pair(*(_readable(data, domain, text) for data in listed)))
    return pairs(found)


def _depth(value: Any) -> int:
    """How many lists and objects are inside each other, at most."""
    level, depth = [value], 0
    while level:
        inner = [entry for entry in level if isinstance(entry, list | dict)]
        depth += bool(inner)
        level = [
            child
            for entry in inner
            for child in (entry.values() if isinstance(entry, dict) else entry)
        ]
    return depth


def _readable(data: Any, domain: Domain | None, text: str) -> Any:
    """A dataset, or a refusal that says why it is none."""
    from dpaudit.errors import InvalidDomain

    try:
        return _dataset(data, domain)
    except InvalidDomain:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise Refusal(f"--pair: {short_text(text)} cannot be read: {error}.") from error


def _dataset(data: Any, domain: Domain | None) -> Any:
    """What the domain makes of the records; without one, a list of numbers is a float array."""
    import numpy as np

    if domain is not None:
        records = domain.unpack(data)
        for record in records:
            if not domain.contains(record):
                raise Refusal(f"--pair: {record!r} is not one of {domain}.")
        return domain.dataset(records)
    if isinstance(data, list) and all(type(entry) in (int, float) for entry in data):
        return np.array(data, dtype=np.float64)
    return data


def _domain(options: Neighbourhood) -> Domain:
    from dpaudit.domains import parse_domain

    assert options.records is not None
    return parse_domain(options.records)
