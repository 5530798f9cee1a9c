"""`dpaudit compare`: what changed between two sets of audits, and which change fails."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import ANSWER, error_line, run

import dpaudit
from dpaudit import report
from dpaudit.claims import Claim, GaussianDP, Profile, PureDP
from dpaudit.neighbours import Pair
from dpaudit.report import Brief, Change, change_table, is_past_claim, saved_brief, summary
from dpaudit.results import Audit, Evidence, PairRecord, Verdict

RECORD = PairRecord(pair=Pair([0.0], []), samples=2850, log_wealth=0.0, growth=0.0)
QUIET = dataclasses.replace(
    ANSWER,
    mechanism="count",
    lower_bound=0.6,
    evidence=Evidence(trace=((2850, 0.0),), log_wealth=0.0, peak=0.0),
    samples=2850,
    neighbours="add or remove one",
    strongest=RECORD,
    detectable=None,
    history=(RECORD,),
)


def brief(audit: Audit | None, key: str = "audit") -> Brief | None:
    return None if audit is None else saved_brief(audit, key=key)


def changes_between(
    old: Sequence[Audit], new: Sequence[Audit], keys: str = "abc"
) -> tuple[Change, ...]:
    """The changes between audits in files of these names, one letter each."""
    sides = (
        [saved_brief(audit, key=key) for audit, key in zip(each, keys, strict=False)]
        for each in (old, new)
    )
    return report.changes_between(*sides)


def like(name: str, **changes: Any) -> Audit:
    return dataclasses.replace(QUIET, mechanism=name, **changes)


def refuted(name: str, bound: float = 1.8679) -> Audit:
    return like(
        name,
        verdict=Verdict.REFUTED,
        lower_bound=bound,
        tester="HistogramTester",
        evidence=Evidence(trace=((2850, 14.0),), log_wealth=14.0, peak=14.0),
        samples=81_628,
    )


@pytest.mark.parametrize(
    ("old", "new", "word", "worse"),
    [
        (QUIET, QUIET, "same verdict", False),
        (QUIET, like("count", lower_bound=0.9), "same verdict", False),
        (QUIET, like("count", verdict=Verdict.UNDECIDED), "other verdict", False),
        (QUIET, refuted("count"), "now refuted", True),
        (QUIET, refuted("count", 1.0), "now refuted", True),
        (like("count", verdict=Verdict.UNDECIDED), refuted("count"), "now refuted", True),
        (refuted("count"), QUIET, "was refuted", False),
        (refuted("count"), refuted("count", 2.5), "still refuted", False),
        (None, QUIET, "new", False),
        (None, refuted("count"), "new, refuted", True),
        (QUIET, None, "missing", False),
        (refuted("count"), None, "missing", False),
    ],
)
def test_only_a_claim_that_is_newly_broken_is_worse(
    old: Audit | None, new: Audit | None, word: str, worse: bool
) -> None:
    change = Change(old=brief(old), new=brief(new))
    assert (change.word, change.is_worse) == (word, worse)


@pytest.mark.parametrize(
    ("claim", "bound", "past"),
    [
        (PureDP(1.0), 1.0001, True),
        (PureDP(1.0), 1.0, False),
        (GaussianDP(1.0), 1.2, True),
        (GaussianDP(1.0), 0.2, False),
        (Profile(PureDP(1).delta), None, False),
    ],
    ids=str,
)
def test_a_bound_above_the_claim_is_past_it(claim: Claim, bound: float | None, past: bool) -> None:
    assert is_past_claim(like("count", claim=claim, lower_bound=bound)) == past


def test_the_table_in_full() -> None:
    old = [QUIET, like("sum", lower_bound=0.0), refuted("svt", 5.7999)]
    new = [like("median"), refuted("sum"), refuted("svt", 5.7999)]
    changes = changes_between(old, new)
    assert (
        change_table(changes)
        == """\
change         mechanism  verdict      leaks at least   draws
-------------  ---------  -----------  ---------------  ------
now refuted    sum        not refuted  nothing          2850
               1-DP       -> refuted   -> epsilon 1.86  -> 81k
missing        count      not refuted  epsilon 0.6      2850
               1-DP
still refuted  svt        refuted      epsilon 5.79     81k
               1-DP
new            median     not refuted  epsilon 0.6      2850
               1-DP"""
    )
    assert summary(changes) == (
        "Worse: 1 audit, where it is shown that the claim does not hold, which was not shown "
        "before. Refuted before and still: 1 audit."
    )
    same = changes_between(old, old)
    assert summary(same).startswith("Nothing got worse; that is not a proof of privacy.")


def test_claims_are_told_apart() -> None:
    both = [QUIET, like("count", claim=PureDP(2.0))]
    assert [change.word for change in changes_between(both, both)] == ["same verdict"] * 2
    assert len(changes_between(both[:1], both[1:])) == 2


def test_neighbours_tell_apart_what_is_there_twice() -> None:
    both = [QUIET, like("count", neighbours="replace one", samples=10)]
    assert len(changes_between([QUIET], [like("count", neighbours="replace one")])) == 1
    changes = changes_between([QUIET], both)
    assert [change.word for change in changes] == ["same verdict", "new"]
    assert changes[1].audit.neighbours == "replace one"


def test_names_of_files_tell_apart_what_nothing_else_does() -> None:
    """Two audits of one class, with one claim and one relation, ended the comparison once."""
    twins = [QUIET, like("count", samples=10)]
    changes = changes_between(twins, [refuted("count"), like("count", samples=20)])
    assert [(change.word, change.audit.key) for change in changes] == [
        ("now refuted", "a"),
        ("same verdict", "b"),
    ]
    assert [change.word for change in changes_between(twins[:1], twins)] == ["same verdict", "new"]


def test_audits_of_tests_are_matched_by_their_tests() -> None:
    """Whatever the mechanism is called, and although another test audits one of the same name."""
    old = {"test_one-1-0123abcd": QUIET, "test_two-1-4567abcd": like("count", samples=10)}
    new = {"test_two-1-4567abcd": refuted("count"), "test_one-1-0123abcd": like("renamed")}
    sides = [[saved_brief(audit, key=key) for key, audit in each.items()] for each in (old, new)]
    changes = report.changes_between(*sides)
    assert [(change.word, change.audit.name, change.audit.mechanism) for change in changes] == [
        ("now refuted", "test_two", "count"),
        ("same verdict", "test_one", "renamed"),
    ]
    assert changes[0].to_json()["test"] == "test_two"
    assert change_table(changes[:1]).splitlines()[-1].split() == ["test_two"]


def test_audits_inside_are_compared_too(tmp_path: Path) -> None:
    broken, quiet = save(tmp_path / "broken"), save(tmp_path / "quiet")
    for folder, scale in ((broken, 1.0), (quiet, 4.0)):

        def noisy_sum(data: Any, rng: np.random.Generator, scale: float = scale) -> Any:
            return np.clip(data, -1, 1).sum() + rng.laplace(scale=scale)

        pair = dpaudit.pairs([([1.0], [-1.0])])
        found = dpaudit.audit_inside(noisy_sum, PureDP(1.0), pair, transcripts=4, rng=1)
        found.save(Path(folder) / "noisy.json")
    worse = run("compare", quiet, broken)
    assert worse.exit_code == 1, worse.output
    assert "-> broken inside" in worse.output
    assert run("compare", broken, broken).exit_code == 0


def save(folder: Path, **audits: Audit) -> str:
    folder.mkdir()
    for name, audit in audits.items():
        audit.save(folder / f"{name}.json")
    return str(folder)


def test_a_newly_refuted_claim_fails(tmp_path: Path) -> None:
    old = save(tmp_path / "old", a=QUIET, b=like("sum"))
    new = save(tmp_path / "new", a=QUIET, c=refuted("sum"))
    result = run("compare", old, new)
    assert result.exit_code == 1, result.output
    assert "now refuted" in result.output
    assert "\x1b" not in result.output
    assert run("compare", new, old).exit_code == 0
    assert run("compare", old, old).exit_code == 0


def test_files_are_compared_and_told_as_json(tmp_path: Path) -> None:
    save(tmp_path / "old", a=QUIET)
    save(tmp_path / "new", a=refuted("count"))
    result = run("compare", *(str(tmp_path / name / "a.json") for name in ("old", "new")), "--json")
    assert result.exit_code == 1
    assert json.loads(result.output) == {
        "changes": [
            {
                "mechanism": "count",
                "claim": "1-DP",
                "neighbours": "add or remove one",
                "change": "now refuted",
                "worse": True,
                "old": {
                    "verdict": "not refuted",
                    "lower_bound": 0.6,
                    "alpha": 1e-6,
                    "samples": 2850,
                },
                "new": {
                    "verdict": "refuted",
                    "lower_bound": 1.8679,
                    "alpha": 1e-6,
                    "samples": 81_628,
                },
            }
        ]
    }


def test_what_cannot_be_compared_is_said(tmp_path: Path) -> None:
    good = save(tmp_path / "good", a=QUIET)
    empty = save(tmp_path / "empty")
    assert "no file ends in .json" in error_line(run("compare", good, empty))
    assert "there is no file" in error_line(run("compare", good, str(tmp_path / "gone")))
    (tmp_path / "good" / "z.json").write_text("{}")
    assert "z.json: this dpaudit reads audits" in error_line(run("compare", good, good))
