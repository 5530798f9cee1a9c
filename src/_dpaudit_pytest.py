"""The pytest plugin: one effort and one seed for all assertions of a run, and what they found.

It lies beside the package because pytest loads it at the start of every run, whatever is tested:
it loads neither numpy nor scipy nor scikit-learn before an assertion does.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import math
import os
import secrets
from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import pytest

from dpaudit.testing import (
    DEFAULT_PROFILE,
    FAIL_ON,
    NEXT_SETTINGS,
    PROFILES,
    AssertionSettings,
    Effort,
    FailOn,
    Judgement,
    file_name,
    seed_of,
    watched_terminal,
)

if TYPE_CHECKING:
    from dpaudit.report import Brief
    from dpaudit.testing import Baseline

FOLDER = ".dpaudit"  # in pytest's rootdir
SETTINGS = pytest.StashKey["Settings"]()
FOUND = pytest.StashKey["Found"]()
OUTER = pytest.StashKey[Callable[[], AssertionSettings]]()  # the settings around a test
SEED = "dpaudit_seed"
EXPECTED = "expected"  # the folder, in that of the report, of refutations that were asked for
# As pytest begins the message of an assertion of ours.
FAILURES = ("dpaudit.PrivacyViolation: ", "dpaudit.Inconclusive: ")
_FINISHED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
_NEW_SEED_EACH_RUN = {"nightly"}  # profiles that would learn nothing from the last run's numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What all assertions of a run share, and what is to be made of them."""

    profile: str
    effort: Effort
    seed: int
    fail_on: FailOn
    root: Path
    report: Path | None
    exports: dict[str, Path | None]
    save: Baseline | None
    compare: Baseline | None
    terminal: TextIO | None  # where progress is shown

    @property
    def kept(self) -> Path:
        return self.root / FOLDER

    def __str__(self) -> str:
        effort = self.effort
        limits = f"{effort.samples:,} draws, alpha {effort.alpha:g}, at most {effort.seconds:g} s"
        return f"{self.profile} ({limits}), --dpaudit-seed={self.seed}"


@dataclass(frozen=True, slots=True)
class Found:
    """What the assertions of a test found: audits in brief, files, problems."""

    briefs: list[dict[str, Any]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def taken(self) -> dict[str, list[Any]]:
        """Take it out as plain values, which a report can carry."""
        parts: dict[str, list[Any]] = {
            "briefs": self.briefs,
            "files": self.files,
            "problems": self.problems,
        }
        moved = {name: [*part] for name, part in parts.items()}
        for part in parts.values():
            part.clear()
        return moved


# --- options --------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options and the setting."""
    group = parser.getgroup("dpaudit", "audits of differential privacy (dpaudit.assert_private)")
    group.addoption(
        "--dpaudit-profile",
        choices=tuple(PROFILES),
        help="effort of each assertion that does not say otherwise (default: dpaudit_profile "
        f"of the ini file, or {DEFAULT_PROFILE})",
    )
    group.addoption(
        "--dpaudit-seed",
        type=_seed,
        metavar="N",
        help="the seed from which, with its name, every test gets its own (default: 0; a new one "
        "each run in the profile nightly)",
    )
    group.addoption(
        "--dpaudit-report", metavar="DIR", help="save every audit of the run in this folder"
    )
    group.addoption(
        "--dpaudit-fail-on",
        choices=FAIL_ON,
        help="what fails an assertion that does not say otherwise: a refuted claim, or also an "
        f"undecided audit (default: dpaudit_fail_on of the ini file, or {FAIL_ON[0]})",
    )
    group.addoption(
        "--dpaudit-seconds",
        type=_seconds,
        metavar="S",
        help="the most seconds of each assertion (default: those of the profile)",
    )
    group.addoption("--dpaudit-sarif", metavar="FILE", help="write what is wrong as SARIF 2.1.0")
    group.addoption("--dpaudit-badge", metavar="FILE", help="write a badge for shields.io, as JSON")
    group.addoption(
        "--dpaudit-save", metavar="NAME", help="keep the audits of the run as this baseline"
    )
    group.addoption(
        "--dpaudit-compare",
        metavar="NAME",
        help="show what changed since this baseline, and fail if an audit got worse",
    )
    parser.addini("dpaudit_fail_on", f"one of {', '.join(FAIL_ON)}", default=FAIL_ON[0])
    parser.addini("dpaudit_profile", f"one of {', '.join(PROFILES)}", default=DEFAULT_PROFILE)


def _seed(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"must be a whole number >= 0, got {text!r}")
    return number


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0.0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number above 0, got {text!r}")
    return number


def pytest_configure(config: pytest.Config) -> None:
    """Read the options before anything is collected."""
    profile = _word(config, "dpaudit_profile", tuple(PROFILES))
    seed = config.getoption("dpaudit_seed")
    if seed is None:
        given = getattr(config, "workerinput", {})  # to a worker of xdist, by its controller
        drawn = secrets.randbits(32) if profile in _NEW_SEED_EACH_RUN else 0
        seed = given.get(SEED, drawn)
    effort, seconds = PROFILES[profile], config.getoption("dpaudit_seconds")
    summary = os.environ.get("GITHUB_STEP_SUMMARY") if _is_on_github() else None
    settings = Settings(
        profile=profile,
        effort=effort if seconds is None else replace(effort, seconds=seconds),
        seed=seed,
        fail_on=_word(config, "dpaudit_fail_on", FAIL_ON),
        root=config.rootpath,
        report=_path(config, config.getoption("dpaudit_report")),
        exports={
            "sarif": _path(config, config.getoption("dpaudit_sarif")),
            "badge": _path(config, config.getoption("dpaudit_badge")),
            "summary": _path(config, summary),
        },
        save=_baseline(config, "dpaudit_save"),
        compare=_baseline(config, "dpaudit_compare"),
        terminal=_terminal(config),
    )
    config.stash[SETTINGS] = settings
    config.pluginmanager.register(Run(settings), "dpaudit-run")


def _word(config: pytest.Config, name: str, known: Sequence[Any]) -> Any:
    """What an option says, or else the ini file: one of a few words."""
    word = config.getoption(name) or config.getini(name)
    if word not in known:
        raise pytest.UsageError(f"{name} must be one of {', '.join(known)}, got {word!r}.")
    return word


def _path(config: pytest.Config, given: str | None) -> Path | None:
    return config.invocation_params.dir / given if given else None


def _baseline(config: pytest.Config, option: str) -> Baseline | None:
    name = config.getoption(option)
    if name is None:
        return None
    from dpaudit.testing import Baseline

    try:
        found = Baseline.named(name, config.rootpath / FOLDER)
        if option == "dpaudit_compare":
            found.read()  # before anything runs
    except ValueError as error:
        raise pytest.UsageError(f"--{option.replace('_', '-')}: {error}") from error
    return found


def _terminal(config: pytest.Config) -> TextIO | None:
    """Where progress is shown; in no worker of xdist, nor between the lines of a live log."""
    has = config.pluginmanager.hasplugin
    logs = has("logging") and (config.getini("log_cli") or config.getoption("log_cli_level"))
    alone = has("terminal") and not logs and not hasattr(config, "workerinput")
    return watched_terminal() if alone else None


def _is_on_github() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give a worker of xdist the seed of the run, which may be new each run."""
    node.workerinput[SEED] = node.config.stash[SETTINGS].seed


def pytest_report_header(config: pytest.Config) -> str:
    """The settings, as options that repeat the run."""
    return f"dpaudit: {config.stash[SETTINGS]}"


# --- the run --------------------------------------------------------------------------------------


class Run:
    """Gives every assertion its settings, and gathers what they found, also from workers."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._outside = NEXT_SETTINGS.get()
        self._briefs: list[tuple[str, dict[str, Any]]] = []  # with the test, to sort by
        self._files: list[tuple[str, str]] = []
        self._problems: list[str] = []
        self._changes = ""

    @property
    def _found(self) -> list[Brief]:
        """All audits of the run, in an order that does not depend on timing."""
        from dpaudit.report import Brief

        return [Brief(**brief) for _, brief in sorted(self._briefs, key=lambda entry: entry[0])]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Number the assertions of a test from 1, also when it runs again."""
        item.stash[FOUND] = found = Found()
        item.stash[OUTER] = NEXT_SETTINGS.get()
        item.user_properties[:] = [
            each for each in item.user_properties if not each[0].startswith("dpaudit")
        ]
        numbers = itertools.count(1)
        NEXT_SETTINGS.set(lambda: _settings_for(self._settings, item, next(numbers), found))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, None, None]:
        """Restore the settings from before: the test may run inside another."""
        try:
            return (yield)
        finally:
            NEXT_SETTINGS.set(item.stash[OUTER])

    def pytest_unconfigure(self) -> None:
        """Restore the settings where Ctrl-C skipped the teardown of a test."""
        NEXT_SETTINGS.set(self._outside)
        if self._settings.terminal is not None:
            with contextlib.suppress(OSError):  # of a terminal that is gone
                self._settings.terminal.close()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach what was found to the report, which xdist carries to its controller."""
        report = yield
        vars(report)["dpaudit"] = item.stash.get(FOUND, Found()).taken()
        _summarise(report)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gather what a test found, wherever it ran."""
        found = getattr(report, "dpaudit", Found().taken())
        self._briefs += [(report.nodeid, brief) for brief in found["briefs"]]
        self._files += [(report.nodeid, file) for file in found["files"]]
        self._problems += found["problems"]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write and compare what the run found, once: not in the workers of xdist."""
        if not self._briefs or hasattr(session.config, "workerinput"):
            return
        from dpaudit.testing import write_exports, write_pages

        settings = self._settings
        self._problems += write_exports(self._found, settings.exports)
        if settings.report is not None:
            try:
                write_pages([Path(file) for _, file in sorted(self._files)])
            except (ImportError, OSError, ValueError) as error:  # there is still the JSON
                self._problems.append(f"no pages were written: {error}")
        if settings.compare is not None:
            self._changes, worse = settings.compare.compared(self._found)
            if worse and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if settings.save is not None and session.exitstatus in _FINISHED:
            try:
                settings.save.save(self._found)
            except OSError as error:
                self._problems.append(f"the baseline could not be saved: {error}")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show all audits of the run, one line each, and what is asked for beyond that."""
        if not self._briefs:
            return
        from dpaudit.report import row_of, run_table
        from dpaudit.testing import annotations_of

        terminalreporter.section("dpaudit")
        lines = run_table([row_of(brief) for brief in self._found])
        if self._settings.report is not None:
            lines.append(f"saved in {self._settings.report}")
        if self._settings.compare is not None:
            since = f"since the baseline {self._settings.compare.path.stem}:"
            lines += ["", since, *self._changes.splitlines()]
        lines += [f"warning: {problem}" for problem in sorted(self._problems)]
        for line in [*lines, *annotations_of(self._found)]:
            terminalreporter.write_line(line)


def _summarise(report: pytest.TestReport) -> None:
    """Shorten a failure of ours to its verdict in the list of failures, which CI shows in full."""
    crash = getattr(report.longrepr, "reprcrash", None)
    for start in FAILURES:
        if crash is not None and crash.message.startswith(start):
            said = crash.message.removeprefix(start).partition("\n\n")[0]
            crash.message = " ".join(said.split())


def _settings_for(
    settings: Settings, item: pytest.Item, number: int, found: Found
) -> AssertionSettings:
    test = f"{item.nodeid}#{number}"

    def note(judgement: Judgement) -> None:
        from dpaudit.testing import brief_of_test, properties_of

        name = item.name if number == 1 else f"{item.name} #{number}"
        key, line = file_name(test), item.location[1]
        first = 1 if line is None else line + 1
        brief = brief_of_test(judgement, key, name, item.path, first, settings.root)
        found.briefs.append(asdict(brief))
        item.user_properties += properties_of(brief, number)
        if settings.report is not None:
            home = settings.report / EXPECTED if judgement.expected else settings.report
            try:
                home.mkdir(parents=True, exist_ok=True)
                judgement.audits[-1].save(home / f"{brief.key}.json")
                found.files.append(str(home / f"{brief.key}.json"))
            except OSError as error:  # a full disk is no reason for a test to fail
                found.problems.append(f"an audit could not be saved: {error}")

    return AssertionSettings(
        effort=settings.effort,
        test=test,
        seed=seed_of(settings.seed, test),
        folder=settings.kept,
        fail_on=settings.fail_on,
        note=note,
        warn=found.problems.append,
        terminal=settings.terminal,
    )
