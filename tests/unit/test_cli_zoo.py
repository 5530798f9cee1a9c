"""`dpaudit mechanisms` and `dpaudit demo`: the zoo, shown and audited."""

import dataclasses
import shlex

import pytest
from commands import ANSWER, FakeAudit, error_line, run

from dpaudit.claims import PureDP
from dpaudit.mechanism import as_mechanism
from dpaudit.results import Audit, Verdict
from dpaudit.zoo import ZOO

# --- the demo -------------------------------------------------------------------------------------


def test_the_demo_audits_a_broken_and_an_honest_mechanism(fake: FakeAudit) -> None:
    seen = []

    def answer() -> Audit:
        seen.append((fake.mechanism.name, fake.claim, fake.options["rng"]))
        verdict = Verdict.REFUTED if len(seen) == 1 else Verdict.NOT_REFUTED
        return dataclasses.replace(ANSWER, verdict=verdict)

    fake.answer = answer
    result = run("demo")
    assert result.exit_code == 0, result.output
    assert seen == [("ClippedSum", PureDP(1.0), 7), ("LaplaceCount", PureDP(1.0), 7)]
    assert max(map(len, result.output.splitlines())) <= 80
    assert "\x1b" not in result.output


def test_a_demo_that_goes_wrong_says_so_by_its_exit_code(fake: FakeAudit) -> None:
    assert run("demo").exit_code == 1


# --- the zoo --------------------------------------------------------------------------------------


def test_the_zoo_is_a_table_of_80_columns() -> None:
    result = run("mechanisms")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert max(map(len, lines)) <= 80
    for name, entry in ZOO.items():
        (row,) = (line for line in lines if line.split()[:1] == [name])
        assert str(entry.claim) in row
        assert f" {'yes' if entry.keeps_claim else 'no'} " in row


@pytest.mark.parametrize("name", ZOO)
def test_a_mechanism_is_shown_with_the_way_to_audit_it(fake: FakeAudit, name: str) -> None:
    result = run("mechanisms", name.lower())
    assert result.exit_code == 0
    assert max(map(len, result.output.splitlines())) <= 80
    shown, _, way = result.output.partition("Audit it:\n")
    assert str(ZOO[name].claim) in shown
    if way.strip().startswith("dpaudit "):
        command = shlex.split(way.replace("\\\n", " "))
        assert run(*command[1:]).exit_code == 0
        assert as_mechanism(fake.mechanism).name == name
    else:
        assert f'ZOO["{name}"]' in way
        return
    assert fake.claim == ZOO[name].claim
    assert fake.neighbours == ZOO[name].neighbours()
    assert fake.mechanism.function.function == ZOO[name].factory()


def test_an_unknown_mechanism_is_refused_with_a_hint() -> None:
    assert error_line(run("mechanisms", "staircas")) == (
        "no mechanism 'staircas'. Did you mean Staircase?"
    )
    assert error_line(run("mechanisms", "zzz")) == "no mechanism 'zzz'. See: dpaudit mechanisms"
