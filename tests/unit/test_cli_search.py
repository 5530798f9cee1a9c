"""How a command line says what is searched, and by which finder."""

from __future__ import annotations

import json
from typing import Any

import pytest
from commands import run

from dpaudit.cli.target import FINDERS as NAMES
from dpaudit.search import FINDERS

COUNT = ("audit", "dpaudit.zoo:LaplaceCount", "--claim", "eps=1", "--seed", "1")


def saved(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json", "--samples", "4000")
    assert result.exit_code in (0, 1, 3), result.output
    audit: dict[str, Any] = json.loads(result.stdout)
    return audit


def test_every_finder_can_be_named() -> None:
    assert set(NAMES) == set(FINDERS) - {"fixed"}


@pytest.mark.parametrize("finder", ["auto", "spread", "random", "grid", "evolve", "gp"])
def test_a_finder_is_used(finder: str) -> None:
    relation = ("--relation", "add-or-remove-one", "--records", "floats:0:1")
    audit = saved(*COUNT, *relation, "--finder", finder)
    assert audit["pairs_tried"] > 1


def test_a_group_is_searched_for_the_claim_of_the_group() -> None:
    relation = ("--relation", "add-or-remove-one", "--records", "floats:0:1")
    audit = saved(*COUNT, *relation, "--group", "3")
    assert audit["neighbours"].startswith("groups of at most 3")
    assert audit["verdict"] == "refuted"  # three records move the count by three


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        ("dates:2020-01-01:2021-12-31", "dates(2020-01-01, 2021-12-31)"),
        ("texts:a,b", "texts('a', 'b'"),
        ("floats:0:1+odd", "floats(0, 1)"),
    ],
)
def test_domains_of_real_life_can_be_named(domain: str, words: str) -> None:
    audit = saved(*COUNT, "--relation", "add-or-remove-one", "--records", domain)
    assert words in audit["neighbours"]
    assert audit["verdict"] != "refuted"  # a count does not look at its records


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--pair", "[[0], []]", "--finder", "gp"), "--finder does not go with --pair"),
        (("--pair", "[[0], []]", "--group", "2"), "--group does not go with --pair"),
        (
            ("--relation", "replace-one", "--records", "floats:0:1", "--group", "0"),
            "group needs",
        ),
        (("--relation", "replace-one", "--records", "floats:0:1", "--finder", "best"), "best"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: tuple[str, ...], message: str) -> None:
    result = run(*COUNT, *arguments)
    assert result.exit_code == 2
    assert message in result.output
