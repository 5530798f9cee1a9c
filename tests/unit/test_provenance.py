"""Where an audit comes from: its code, its commit, its time; and what a reader sees of it."""

from __future__ import annotations

import functools
import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run
from reported import REFUTED, refuted
from saved_audits import REFUTED as SAVED

import dpaudit
from dpaudit.errors import InvalidAuditFile
from dpaudit.integrations import load_mechanism
from dpaudit.mechanism import (
    NO_CODE,
    as_mechanism,
    audited_code,
    digest_of_source,
    name_with_parameters,
    one_at_a_time,
)
from dpaudit.mechanism.git import commit_of
from dpaudit.report import report_page
from dpaudit.results import Provenance, audit_from_json
from dpaudit.zoo import LaplaceCount

MADE = Provenance(
    started="2026-01-31T12:00:00.250Z",
    ended="2026-01-31T12:00:01.484Z",
    code=replace(NO_CODE, function="a" * 64, module="b" * 64, package="lib 1.0"),
    machine="Linux 6.1, x86_64, 2 cores",
)


# --- names ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Clipped:
    low: float
    high: float = 1.0
    salt: int = field(default=3, repr=False)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Any:
        return np.clip(data, self.low, self.high).sum() + rng.laplace(size=size)

    def release(self, data: Any, rng: np.random.Generator) -> Any:
        return self(data, 1, rng)[0]


class Client:
    """As clients of libraries are: a plain object that keeps what it was made with."""

    def __init__(self, epsilon: float, d: int, mapper: Any = None, rng: Any = None) -> None:
        self.epsilon, self.d, self.mapper, self.rng = epsilon, d, mapper, rng
        self.computed = 7

    def __call__(self, data: Any, size: int) -> list[int]:
        return [self.d] * size

    @classmethod
    def fixed(cls, data: Any, size: int) -> list[int]:
        return [0] * size


def plain(data: Any, size: int, rng: Any, scale: float = 1.0, also: Any = None) -> list[int]:
    return [0] * size


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (plain, "plain"),
        (LaplaceCount(1.0), "LaplaceCount"),
        (LaplaceCount(0.25), "LaplaceCount(epsilon=0.25)"),
        (Clipped(0.0), "Clipped(low=0.0)"),
        (Clipped(0.0, 2.0, 4), "Clipped(low=0.0, high=2.0)"),
        (Client(1, d=8), "Client(epsilon=1, d=8)"),
        (Client(np.float64(0.5), d=8), "Client(epsilon=0.5, d=8)"),
        (Client(1, 8, lambda item: item), "Client(epsilon=1, d=8)"),
        (Client(1, 8, plain), "Client(epsilon=1, d=8, mapper=plain)"),
        (Client(1, 8, object()), "Client(epsilon=1, d=8)"),  # the repr of which is an address
        (Client(1, 8, rng=np.random.default_rng(1)), "Client(epsilon=1, d=8)"),
        (Client(1, 8, "x" * 90), f"Client(epsilon=1, d=8, mapper='{'x' * 17}...{'x' * 18}')"),
        (Client.fixed, "fixed"),
        (Clipped(0.0).__call__, "Clipped(low=0.0).__call__"),
        (functools.partial(plain, scale=2.0), "plain(scale=2.0)"),
        (functools.partial(Clipped(0.5), rng=np.random.default_rng(1)), "Clipped(low=0.5)"),
        (one_at_a_time(Clipped(0.5).release), "Clipped(low=0.5).release"),
        (one_at_a_time(functools.partial(plain, size=1)), "plain(size=1)"),
    ],
)
def test_a_name_has_the_parameters_that_are_not_the_defaults(function: Any, name: str) -> None:
    assert name_with_parameters(function) == name


def test_long_parameters_are_shortened() -> None:
    many = Client(np.arange(2_000), list(range(10_000)), dict.fromkeys(range(99), "y" * 50))  # type: ignore[arg-type]
    assert len(name_with_parameters(many)) < 120
    assert name_with_parameters(many).endswith("...)")


def test_a_parameter_without_a_repr_is_left_out() -> None:
    class Mute:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    assert name_with_parameters(Client(1, 8, Mute())) == "Client(epsilon=1, d=8)"


def test_the_name_of_an_audit_and_of_a_subject_has_them() -> None:
    near = dpaudit.pairs([([1.0], [])])
    found = dpaudit.audit(LaplaceCount(0.5), dpaudit.PureDP(0.5), near, samples=200, rng=1)
    assert found.mechanism == "LaplaceCount(epsilon=0.5)"
    subject = dpaudit.Subject(
        mechanism=LaplaceCount(0.5), claim=dpaudit.PureDP(0.5), neighbours=near
    )
    assert str(subject).startswith("LaplaceCount(epsilon=0.5): 0.5-DP; ")


# --- the code -------------------------------------------------------------------------------------

SOURCE = (
    "SCALE = 2.0\n\ndef my_sum(data, size, rng):\n    return sum(data) + rng.laplace(size=size)\n"
)


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    command = ["git", *who, *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Path]:
    """A git tree with one commit."""
    git(tmp_path, "init", "--quiet")
    (tmp_path / "my_file.py").write_text(SOURCE)
    git(tmp_path, "add", "my_file.py")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    commit_of.cache_clear()
    yield tmp_path
    commit_of.cache_clear()


def test_the_digests_are_those_of_the_sources(tree: Path, forget_modules: None) -> None:
    code = audited_code(load_mechanism(f"{tree}/my_file.py:my_sum"))
    assert code.module == hashlib.sha256(SOURCE.encode()).hexdigest()
    assert code.function == hashlib.sha256(SOURCE[SOURCE.index("def") :].encode()).hexdigest()
    assert (code.commit, code.clean) == (git(tree, "rev-parse", "HEAD").strip(), True)
    assert code.package is None


@pytest.mark.parametrize(
    ("file", "clean"), [("my_file.py", False), ("new.py", False), ("new.txt", True)]
)
def test_a_tree_with_changes_is_not_clean(tree: Path, file: str, clean: bool) -> None:
    (tree / file).write_text("# changed\n")
    found = commit_of(tree)
    assert found is not None
    assert found.clean is clean


def test_what_git_ignores_is_in_no_commit(tree: Path) -> None:
    (tree / ".gitignore").write_text("built/\n")
    (tree / "built").mkdir()
    assert commit_of(tree / "built") is None
    assert commit_of(tree) is not None


def test_git_is_asked_once_for_a_folder(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = commit_of(tree)
    monkeypatch.setenv("PATH", "")
    assert first is not None
    assert commit_of(tree) is first


def test_no_git_is_no_error(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert commit_of(tree) is None
    bare = tree / "bare"
    bare.mkdir()
    git_folder = tree / ".git"
    git_folder.rename(tree / "was")
    assert commit_of(bare) is None


def test_an_empty_repository_has_no_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    assert commit_of(tmp_path) is None


def test_samples_and_builtins_have_no_code() -> None:
    assert audited_code(object()) == NO_CODE
    assert audited_code(as_mechanism(max)).function is None
    names: dict[str, Any] = {"__name__": "typed_in"}
    exec("def typed(data, size): return [0] * size", names)
    assert audited_code(names["typed"]) == NO_CODE


def test_the_code_is_that_of_the_object_inside() -> None:
    """A package, its version, and the class of the object, however it is wrapped."""
    mechanisms = pytest.importorskip("diffprivlib.mechanisms")
    subject = dpaudit.integrations.from_diffprivlib(mechanisms.Laplace(epsilon=0.5, sensitivity=2))
    code = audited_code(subject.mechanism)
    assert re.fullmatch(r"diffprivlib \d+\.\d+.*", str(code.package))
    assert code.commit is None
    module = sys.modules["diffprivlib.mechanisms.laplace"]
    assert code.module == digest_of_source(Path(str(module.__file__)).read_text())
    for wrapped in (functools.partial(plain, scale=2.0), one_at_a_time(lambda data: plain)):
        assert audited_code(as_mechanism(wrapped)).module == audited_code(plain).module
    assert audited_code(as_mechanism(functools.partial(plain, scale=2.0))) == audited_code(plain)


# --- audits ---------------------------------------------------------------------------------------


def test_audits_of_one_code_differ_in_their_times_alone(tmp_path: Path) -> None:
    """Here, in a store, from a store, and in workers: the same audit of the same code."""
    settings: dict[str, Any] = {"samples": 2_000, "rng": 3}
    near, threads = dpaudit.pairs([([1.0], [])]), ThreadPoolExecutor(2)
    made = [
        dpaudit.audit(LaplaceCount(0.5), dpaudit.PureDP(0.5), near, **settings, **more)
        for more in (
            {},
            {"store": tmp_path / "a"},
            {"store": tmp_path / "a"},
            {"executor": threads},
        )
    ]
    threads.shutdown()
    places = set()
    for found in made:
        assert found == replace(made[0], seconds=found.seconds)
        assert found.provenance is not None
        places.add((found.provenance.code, found.provenance.machine))
    ((code, _),) = places
    assert code == audited_code(LaplaceCount(0.5))


def test_the_times_are_of_the_audit() -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    near = dpaudit.pairs([([1.0], [])])
    found = dpaudit.audit(LaplaceCount(), dpaudit.PureDP(1.0), near, samples=200, rng=1)
    assert found.provenance is not None
    assert before <= found.provenance.start <= found.provenance.end <= datetime.now(UTC)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"started": "2020-01-01T00:00:00.000Z"}, "and not "),
        ({"ended": "yesterday"}, "which are no times"),
        ({"ended": "2020-01-01T00:00:00.000"}, "which are no times"),
        ({"started": "2999-01-01T00:00:00.000Z", "ended": "2999-01-01T00:00:00.000Z"}, "future"),
    ],
)
def test_dates_that_do_not_agree_do_not_load(changes: dict[str, Any], words: str) -> None:
    audit = replace(SAVED, seconds=0.0 if "future" in words else 1.234, provenance=MADE)
    if "future" not in words:
        assert audit_from_json(audit.to_json()).provenance == MADE
    made = replace(audit, provenance=replace(MADE, **changes))
    with pytest.raises(InvalidAuditFile, match=words):
        audit_from_json(made.to_json())


def test_files_before_schema_7_have_no_provenance() -> None:
    saved = {**refuted().to_json(), "schema": 6}
    del saved["provenance"]
    found = audit_from_json(saved)
    assert found == refuted()
    assert found.provenance is None
    assert "not recorded: the audit was saved by an older dpaudit" in report_page(found)
    assert "audited" not in str(found).split("cost")[1]
    with pytest.raises(ValueError, match="no provenance to add to"):
        found.attributed(auditor="Ada")


# --- what a reader sees ---------------------------------------------------------------------------


def test_the_text_says_when_on_which_code_and_for_whom() -> None:
    audit = replace(REFUTED, provenance=MADE, software=(("python", "3.12.1"),))
    expected = [
        "  audited     2026-01-31 12:00:00 to 12:00:01 UTC",
        "  code        lib 1.0, sha256 aaaaaaaaaaaa",
        "  machine     Linux 6.1, x86_64, 2 cores; python 3.12.1",
    ]
    assert str(audit).splitlines()[-3:] == expected
    of_git = replace(MADE, code=replace(MADE.code, commit="c" * 40, clean=False))
    told = replace(audit, provenance=of_git).attributed(auditor="Ada", purpose="release 2")
    assert str(told).splitlines()[-6:] == [
        expected[0],
        f"{expected[1]},",
        "              commit cccccccccccc (changed since)",
        expected[2],
        "  auditor     Ada",
        "  purpose     release 2",
    ]
    assert told == audit  # it is the same audit


def test_the_page_says_it_and_names_its_file(tmp_path: Path) -> None:
    told = refuted().attributed(auditor="Ada <b>", purpose="release 2")
    told.report(tmp_path / "a.html")
    told.save(tmp_path / "a.json")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    digest = hashlib.sha256((tmp_path / "a.json").read_bytes()).hexdigest()
    assert told.provenance is not None
    for text in (digest, "Ada &lt;b&gt;", "release 2", told.provenance.code.function, " UTC"):
        assert str(text) in page
    assert dpaudit.load(tmp_path / "a.json").provenance == told.provenance
    assert str(dpaudit.load(tmp_path / "a.json")) == str(told)


def test_who_audited_may_be_said_for_the_page_alone(tmp_path: Path) -> None:
    refuted().report(tmp_path / "a.html", auditor="Ada")
    refuted().save(tmp_path / "a.json")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "Ada" in page
    assert "<dt>purpose</dt>" not in page
    assert refuted().digest in page
    assert refuted().digest in run("verify", str(tmp_path / "a.json")).output
