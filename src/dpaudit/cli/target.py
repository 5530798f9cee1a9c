"""What is audited: the mechanism, the claim and the neighbours that a command line names."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dpaudit.cli.failures import Refusal, refusing
from dpaudit.cli.options import Command, count, positive, short_text

if TYPE_CHECKING:
    from dpaudit.claims import Claim
    from dpaudit.domains import Domain
    from dpaudit.mechanism import Mechanism, Subject
    from dpaudit.neighbours import AddOrRemove, QueryAnswers, Relation, Replace

RELATIONS = ("replace-one", "add-or-remove-one", "query-answers")
FINDERS = ("auto", "spread", "random", "grid", "evolve", "gp", "optuna")
SIZES = ("max_records", "min_records")
OF_ANY_RELATION = ("relation", "group", "finder")
SEARCH_OPTIONS = (*OF_ANY_RELATION, "records", *SIZES, "length", "sensitivity", "pairs")
EXAMPLES = {"length": "--length 10", "records": "--records floats:-1:1"}
NO_NEIGHBOURS = f"say which datasets are neighbours: --relation {'|'.join(RELATIONS)}, or --pair."
NO_CLAIM = "say what is claimed: --claim eps=1, or a TARGET that brings its claim."
MAX_NESTED_LISTS = 30  # in a pair; NumPy allows 32
TOO_DEEP = f"--pair: more than {MAX_NESTED_LISTS} lists inside each other. Name a plainer pair."
MAX_COUNT = 1_000_000  # answers, or records of the smallest dataset
MAX_DATASET_NUMBERS = 10_000_000  # in the smallest dataset: 80 MB

Found = TypeVar("Found")

_SEARCH = (
    click.option("--relation", type=click.Choice(RELATIONS), help="Which datasets are neighbours."),
    click.option(
        "--records",
        metavar="DOMAIN",
        help="What a record may be: floats:LOW:HIGH | integers:LOW:HIGH | categories:A,B,C | "
        "vectors:LENGTH:LOW:HIGH | dates:FIRST:LAST | texts:A,B,C | 'tables(NAME=DOMAIN, "
        "NAME=DOMAIN)'. Append +odd to add NaN, values out of range and the like.",
    ),
    count("--max-records", "Records in the largest dataset (default 10)."),
    count("--min-records", "Records in the smallest dataset."),
    count("--length", "For query-answers: the number of answers."),
    positive("--sensitivity", "For query-answers: how far an answer may move (default 1)."),
    count(
        "--group",
        "Neighbours differ in up to K records, and the claim is for such a group.",
        metavar="K",
    ),
    click.option(
        "--finder", type=click.Choice(FINDERS), help="How to search pairs (default auto)."
    ),
    click.option(
        "--pair",
        "pairs",
        multiple=True,
        metavar="JSON",
        help="Try only this pair, such as '[[0], [0, 1]]'. May be given several times.",
    ),
)


def of_search(command: Command) -> Command:
    """The options that say which datasets are neighbours, and how pairs of them are searched."""
    for option in reversed(_SEARCH):
        command = option(command)
    return command


def read_claim(text: str) -> Claim:
    """The claim of `--claim`."""
    from dpaudit.claims import parse_claim
    from dpaudit.errors import InvalidClaim

    with refusing(InvalidClaim, "--claim: "):
        return parse_claim(text)


def read_mechanism(text: str, *, one_at_a_time: bool) -> Mechanism:
    """The mechanism of TARGET; `--one-at-a-time` says that it returns one output per call."""
    from dpaudit.integrations import load_mechanism

    return _loaded(load_mechanism, text, one_at_a_time)


def read_either_form(text: str, *, one_at_a_time: bool) -> Mechanism | Subject:
    """What TARGET is, which may return several outputs or one per call."""
    from dpaudit.inside import of_either_form
    from dpaudit.integrations import load_target

    return _loaded(partial(load_target, make=of_either_form), text, one_at_a_time)


def read_subject(
    text: str,
    claim: Claim | None,
    neighbours: Relation | None,
    *,
    one_at_a_time: bool,
    make: Callable[[Any], Mechanism] | None = None,
) -> Subject:
    """What is audited: TARGET with the claim and neighbours of the options, or those it brings."""
    from dpaudit.integrations import as_subject, brought_by, load_target
    from dpaudit.mechanism import as_mechanism

    load = partial(load_target, make=make or as_mechanism)
    target = _loaded(load, text, one_at_a_time)
    if brought_by(target) is None:
        if claim is None:
            raise click.UsageError(NO_CLAIM)
        if neighbours is None:
            raise Refusal(NO_NEIGHBOURS)
    return as_subject(target, claim, neighbours)


def _loaded(load: Callable[[str], Found], text: str, one_at_a_time: bool) -> Found:
    from dpaudit.errors import InvalidMechanism, UnexpectedExit
    from dpaudit.mechanism import ONE_AT_A_TIME

    try:
        return load(ONE_AT_A_TIME.format(text) if one_at_a_time else text)
    except (InvalidMechanism, UnexpectedExit) as error:
        hint = " (Here: --one-at-a-time.)" if "one_at_a_time" in str(error) else ""
        if hint and one_at_a_time:
            hint = " (Here: leave out --one-at-a-time.)"
        raise Refusal(f"{error}{hint}") from error


def read_neighbours(values: dict[str, Any]) -> Relation | None:
    """The relation that the options name, or the pairs of `--pair`; None if they name none."""
    given = {name: values[name] for name in SEARCH_OPTIONS if values[name] not in (None, ())}
    if not given:
        return None
    _refuse_what_does_not_belong(given)

    from dpaudit.errors import InvalidDomain, InvalidRelation
    from dpaudit.neighbours import group

    named = "--pair: " if "pairs" in given else "--records: "
    with refusing(InvalidRelation), refusing(InvalidDomain, named):
        if "pairs" in given:
            return _listed(given)
        found = _relation(given)
        return group(found, given["group"]) if "group" in given else found


def _refuse_what_does_not_belong(given: dict[str, Any]) -> None:
    """Refuse an option that would be ignored, and counts too large to try."""
    relation = given.get("relation")
    kind = f"--relation {relation}"
    if "pairs" in given:
        kind, needed, allowed = "--pair", "pairs", {"records"}
    elif relation is None:
        raise Refusal(NO_NEIGHBOURS)
    elif relation == "query-answers":
        needed, allowed = "length", {*OF_ANY_RELATION, "sensitivity"}
    else:
        needed, allowed = "records", {*OF_ANY_RELATION, *SIZES}
    if needed not in given:
        raise Refusal(f"{kind} needs --{needed}, such as {EXAMPLES[needed]}.")
    for name in sorted(given.keys() - {needed} - allowed):
        raise Refusal(f"--{name.replace('_', '-')} does not go with {kind}. Leave it out.")
    for name in ("length", "min_records"):
        if given.get(name, 0) > MAX_COUNT:
            option = f"--{name.replace('_', '-')}"
            raise Refusal(f"{option} must be at most {MAX_COUNT:,}, got {given[name]:,}.")


def _relation(given: dict[str, Any]) -> AddOrRemove | Replace | QueryAnswers:
    import numpy as np

    from dpaudit.domains import parse_domain
    from dpaudit.neighbours import add_or_remove_one, query_answers, replace_one

    if given["relation"] == "query-answers":
        return query_answers(given["length"], given.get("sensitivity", 1.0))
    domain = parse_domain(given["records"])
    records = max(given.get("min_records", 1), 1)
    numbers = records * int(np.size(domain.edges()[0]))
    if numbers > MAX_DATASET_NUMBERS:
        raise Refusal(
            f"a dataset has at most {MAX_DATASET_NUMBERS:,} numbers here, and {records:,} records "
            f"of {domain} have {numbers:,}. Take fewer, or shorter vectors."
        )
    sizes = {name: given[name] for name in SIZES if name in given}
    relation = replace_one if given["relation"] == "replace-one" else add_or_remove_one
    return relation(domain, **sizes)


def _listed(given: dict[str, Any]) -> Relation:
    from dpaudit.domains import parse_domain
    from dpaudit.neighbours import Pair, pairs

    domain = parse_domain(given["records"]) if "records" in given else None
    found = []
    for text in given["pairs"]:
        try:
            listed = json.loads(text)
            depth = _depth(listed)
        except RecursionError:
            depth = MAX_NESTED_LISTS + 1
        except ValueError as error:
            raise Refusal(f"--pair: {text!r} is not JSON: {error}.") from error
        if depth > MAX_NESTED_LISTS:
            raise Refusal(TOO_DEEP)
        if not isinstance(listed, list) or len(listed) != 2:
            raise Refusal(f"--pair: two datasets are needed, such as [[0], [0, 1]], got {text}.")
        found.append(Pair(*(_dataset(data, domain, text) for data in listed)))
    return pairs(found)


def _depth(value: Any) -> int:
    """How many lists and objects are inside each other."""
    if not isinstance(value, list | dict):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_depth, inner), default=0)


def _dataset(data: Any, domain: Domain | None, text: str) -> Any:
    """What the domain makes of the records; without one, a list of numbers is a float array."""
    import numpy as np

    from dpaudit.domains import Tables
    from dpaudit.errors import InvalidDomain

    try:
        if domain is not None:
            rows = domain.inner if isinstance(domain, Tables) else domain
            records = rows.unpack(data)  # JSON has the rows of a table, whatever its form
            for record in records:
                if not domain.contains(record):
                    raise Refusal(f"--pair: {record!r} is not one of {domain}.")
            return domain.dataset(records)
        if isinstance(data, list) and all(type(entry) in (int, float) for entry in data):
            return np.array(data, dtype=np.float64)
        return data
    except InvalidDomain:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise Refusal(f"--pair: {short_text(text)} cannot be read: {error}.") from error
