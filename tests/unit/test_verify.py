"""`dpaudit verify`: a genuine audit holds, line by line, and forged ones do not."""

from __future__ import annotations

import copy
import json
import math
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import error_line, run_apart
from reported import broken_inside, noisy_model, not_refuted

import dpaudit
from dpaudit.bounds import epsilon_from_event
from dpaudit.errors import InvalidAuditFile
from dpaudit.integrations import load_mechanism
from dpaudit.mechanism.git import commit_of
from dpaudit.results import Audit, Tally, load

Saved = dict[str, Any]
Change = Callable[[Saved], object]
SOURCE = '''"""A sum that is 2-DP for records in [-1, 1]."""


def my_sum(data, size, rng):
    return sum(data) + rng.laplace(size=size)


def mended(data, size, rng):
    return my_sum(data, size, rng) + rng.laplace(scale=3.0, size=size)
'''


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A git tree of one commit, with an audit of its code beside it."""
    folder = tmp_path_factory.mktemp("audited")
    (folder / "verified_sum.py").write_text(SOURCE)
    for words in (
        ("init", "--quiet"),
        ("add", "verified_sum.py"),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "first"),
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    commit_of.cache_clear()
    dpaudit.audit(
        load_mechanism(f"{folder}/verified_sum.py:my_sum"),
        dpaudit.PureDP(1.0),
        dpaudit.pairs([([1.0], [-1.0])]),
        samples=40_000,
        rng=7,
    ).save(folder / "audit.json")
    yield folder
    commit_of.cache_clear()


@pytest.fixture(scope="module")
def genuine(place: Path) -> Saved:
    return dict(json.loads((place / "audit.json").read_text()))


def put(form: Any, path: str, value: object) -> None:
    *way, last = (int(key) if key.isdigit() else key for key in path.split("."))
    for key in way:
        form = form[key]
    form[last] = value


def setting(path: str, value: object) -> Change:
    return lambda form: put(form, path, value)


# --- what a genuine audit says --------------------------------------------------------------------


def test_a_genuine_audit_holds_line_by_line(place: Path) -> None:
    result = run_apart("verify", f"{place}/audit.json", f"{place}/verified_sum.py:my_sum")
    assert result.exit_code == 0, result.output
    found = dpaudit.verify(place / "audit.json", load_mechanism(f"{place}/verified_sum.py:my_sum"))
    assert found.holds
    held = [check.name for check in found.checks if check.holds]
    assert held == [
        *("numbers", "evidence", "verdict", "counterexample", "bounds", "forecast", "dates"),
        *("name", "function", "module", "commit", "event"),
    ]
    assert [check.name for check in found.checks if check.holds is None] == ["package"]
    assert found.digest == load(place / "audit.json").digest
    assert f"sha256 {found.digest}" in result.output
    quiet = run_apart("verify", f"{place}/audit.json", "--quiet").output
    assert quiet == f"HOLDS: 7 checks of {place}/audit.json\n"


def test_without_the_code_nothing_of_it_is_run_or_compared(place: Path) -> None:
    found = json.loads(run_apart("verify", f"{place}/audit.json", "--json").output)
    assert found["holds"] is True
    unknown = [check["name"] for check in found["checks"] if check["holds"] is None]
    assert unknown == ["code", "event"]


# --- forgeries ------------------------------------------------------------------------------------


def more_hits(form: Saved) -> None:
    """More hits, with every number that follows from them."""
    found = form["counterexample"]
    likely, other = found["likelier"], "neighbour" if found["likelier"] == "data" else "data"
    draws = found[likely]["draws"]
    tally = Tally.of(draws - 10, draws, alpha=found["alpha"], anytime=found[likely]["anytime"])
    found[likely] |= {"hits": tally.hits, "lower": tally.lower, "upper": tally.upper}
    found["epsilon_lower"] = epsilon_from_event(tally.lower, found[other]["upper"], 0.0)
    found["outputs"] = []
    form["lower_bound"] = found["epsilon_lower"]
    form["delta_lower"] = _read(form).delta_lower


def another_pair(form: Saved) -> None:
    for pair in (form["counterexample"]["pair"], form["history"][0]["pair"]):
        pair["neighbour"] = pair["data"]


def another_event(form: Saved) -> None:
    """What is nearly certain on both sides, in the rule and in words."""
    found = form["counterexample"]
    kind, place, _ = found["rule"]["event"]
    far = 50.0 if kind == "Below" else -50.0
    found["rule"]["event"] = [kind, place, far]
    found["event"] = f"output {'<' if kind == 'Below' else '>'} {far:g}"
    found["outputs"] = []


def years_ago(form: Saved) -> None:
    for name in ("started", "ended"):
        text = form["provenance"][name]
        form["provenance"][name] = f"{int(text[:4]) - 3}{text[4:]}"


def _read(form: Saved) -> Audit:
    from dpaudit.results import as_saved

    return as_saved(copy.deepcopy(form)).audit


ALONE: dict[str, tuple[str, Change]] = {  # the part that does not hold, and what was changed
    "verdict": ("verdict", setting("verdict", "not refuted")),
    "alpha": ("verdict", setting("alpha", 1e-12)),
    "draws of the audit": ("numbers", setting("samples", 10)),
    "claim": ("bounds", setting("claim.epsilon", 1.9)),
    "bound": ("bounds", setting("lower_bound", 1.99)),
    "delta": ("bounds", setting("delta_lower", 0.9)),
    "hits": ("counterexample", setting("counterexample.data.hits", 1)),
    "draws of the event": ("counterexample", setting("counterexample.data.draws", 10**4)),
    "bound of a side": ("counterexample", setting("counterexample.data.lower", 0.9)),
    "epsilon of the event": ("counterexample", setting("counterexample.epsilon_lower", 1.99)),
    "alpha of the event": ("counterexample", setting("counterexample.alpha", 1e-9)),
    "event": ("counterexample", setting("counterexample.event", "output > 12345")),
    "no event": ("bounds", setting("counterexample", None)),
    "seed": ("counterexample", setting("rng_seed", 8)),
    "seed of the event": ("counterexample", setting("counterexample.seed", [8, 1])),
    "peak": ("evidence", setting("evidence.peak", 400.0)),
    "trace": ("evidence", setting("evidence.trace", [])),
    "growth of a pair": ("evidence", setting("history.0.growth", 9.0)),
    "draws of a pair": ("evidence", setting("history.0.samples", 10**9)),
    "pairs": ("numbers", setting("pairs_tried", 0)),
    "forecast": ("forecast", setting("forecast", 100)),
    "seconds": ("dates", setting("seconds", 3600.0)),
    "end": ("dates", setting("provenance.ended", "2031-01-01T00:00:00.000Z")),
    "outputs": ("counterexample", setting("counterexample.outputs.0.data.0", 10**6)),
}
WITH_CODE: dict[str, tuple[str, Change]] = {
    "counts, and all that follows": ("event", more_hits),
    "pair": ("event", another_pair),
    "event, and its rule": ("event", another_event),
    "name": ("name", setting("mechanism", "another_sum")),
    "function": ("function", setting("provenance.code.function", "0" * 64)),
    "module": ("module", setting("provenance.code.module", "0" * 64)),
    "package": ("package", setting("provenance.code.package", "another 1.0")),
    "commit": ("commit", setting("provenance.code.commit", "0" * 40)),
    "no commit": ("commit", setting("provenance.code.commit", "--help")),
    "both dates": ("commit", years_ago),
}


def verified(place: Path, form: Saved, *more: str) -> tuple[int, dict[str, bool | None]]:
    (place / "forged.json").write_text(json.dumps(form))
    result = run_apart("verify", f"{place}/forged.json", "--json", *more)
    assert result.exit_code in (0, 1), result.stderr
    checks = json.loads(result.output)["checks"]
    return result.exit_code, {check["name"]: check["holds"] for check in checks}


def test_there_are_more_than_twenty_forgeries() -> None:
    assert len(ALONE) + len(WITH_CODE) >= 20


@pytest.mark.parametrize("forgery", ALONE)
def test_a_forgery_shows_in_the_file_alone(place: Path, genuine: Saved, forgery: str) -> None:
    part, change = ALONE[forgery]
    form = copy.deepcopy(genuine)
    change(form)
    code, checks = verified(place, form)
    assert (code, checks[part]) == (1, False)


@pytest.mark.parametrize("forgery", WITH_CODE)
def test_a_forgery_shows_beside_the_code(place: Path, genuine: Saved, forgery: str) -> None:
    """And not without it: these files contradict nothing."""
    part, change = WITH_CODE[forgery]
    form = copy.deepcopy(genuine)
    change(form)
    assert verified(place, form)[0] == 0
    code, checks = verified(place, form, f"{place}/verified_sum.py:my_sum", "--seed", "1")
    assert (code, checks[part]) == (1, False)


def test_other_code_does_not_hold(place: Path, genuine: Saved) -> None:
    code, checks = verified(place, genuine, f"{place}/verified_sum.py:mended", "--seed", "1")
    assert code == 1
    assert [name for name, holds in checks.items() if holds is False] == [
        *("name", "function", "event")
    ]


def test_a_commit_with_another_module_does_not_hold(place: Path, genuine: Saved) -> None:
    """The tree is said to have been clean, and git has another text at this commit."""
    form, file = copy.deepcopy(genuine), place / "verified_sum.py"
    empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # the empty tree, which every git knows
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    made = subprocess.run(
        ["git", *who, "commit-tree", empty, "-m", "x"], cwd=place, check=True, capture_output=True
    )
    form["provenance"]["code"]["commit"] = made.stdout.decode().strip()
    assert verified(place, form, f"{file}:my_sum", "--seed", "1")[1]["commit"] is False
    form["provenance"]["code"]["clean"] = False
    assert verified(place, form, f"{file}:my_sum", "--seed", "1")[1]["commit"] is True


def test_the_digest_tells_any_other_file(place: Path, genuine: Saved) -> None:
    form = {**genuine, "delta_lower": 0.9}
    (place / "forged.json").write_text(json.dumps(form))
    same = place / "same.json"
    same.write_text(json.dumps(genuine, indent=3))  # written otherwise, it says the same
    digests = [
        dpaudit.verify(file).digest for file in (place / "audit.json", same, place / "forged.json")
    ]
    assert digests[0] == digests[1] != digests[2]


# --- other audits ---------------------------------------------------------------------------------


def test_an_audit_that_refuted_nothing_has_no_event(tmp_path: Path) -> None:
    not_refuted().save(tmp_path / "audit.json")
    found = dpaudit.verify(tmp_path / "audit.json")
    assert found.holds
    assert found.checks[-1].said == "there is no counterexample to replay"


def test_an_audit_inside_holds_and_a_forged_one_does_not(tmp_path: Path) -> None:
    path = tmp_path / "inside.json"
    broken_inside().save(path)
    found = dpaudit.verify(path, noisy_model, rng=1)
    assert found.holds, str(found)
    assert {"losses", "dates", "function", "transcript"} <= {
        check.name for check in found.checks if check.holds
    }

    def honest(data: Any, rng: np.random.Generator) -> Any:
        return rng.laplace()

    other = {check.name: check.holds for check in dpaudit.verify(path, honest, rng=1).checks}
    assert (other["function"], other["transcript"]) == (False, False)
    form = json.loads(path.read_text())
    for place, value in (("loss", 0.25), ("seconds", 900.0), ("verdict", "not refuted")):
        path.write_text(json.dumps({**form, place: value}))
        assert not dpaudit.verify(path).holds


def test_an_older_file_is_checked_without_its_code(place: Path, genuine: Saved) -> None:
    form = {name: value for name, value in genuine.items() if name != "provenance"}
    checks = verified(place, {**form, "schema": 6}, f"{place}/verified_sum.py:my_sum")[1]
    assert (checks["dates"], checks["code"], checks["event"]) == (None, None, True)


@pytest.mark.parametrize(
    "change",
    [
        setting("alpha", math.pi),
        setting("alpha", 0),
        setting("counterexample.data.draws", 0),
        setting("evidence.peak", {"$float": "nan"}),
        setting("lower_bound", {"$float": "inf"}),
        setting("provenance.started", ""),
    ],
)
def test_numbers_of_nothing_do_not_hold(place: Path, genuine: Saved, change: Change) -> None:
    form = copy.deepcopy(genuine)
    change(form)
    assert verified(place, form)[0] == 1


def test_what_is_no_audit_is_an_error(place: Path, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"schema": 8}')
    assert "no field" in error_line(run_apart("verify", str(tmp_path / "a.json")))
    assert "there is no file" in error_line(run_apart("verify", "nowhere.json"))
    words = error_line(run_apart("verify", f"{place}/audit.json", "--one-at-a-time"))
    assert words == "--one-at-a-time goes with a TARGET."
    with pytest.raises(InvalidAuditFile):
        dpaudit.verify(tmp_path / "a.json")
