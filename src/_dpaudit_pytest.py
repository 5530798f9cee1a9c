"""The pytest plugin: one effort and one seed for all assertions of a run, and what they found.

It lies beside the package because pytest loads it at the start of every run, whatever is tested:
it loads neither numpy nor scipy nor scikit-learn before an assertion does.
"""

from __future__ import annotations

import argparse
import itertools
import secrets
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dpaudit.testing import (
    DEFAULT_PROFILE,
    NEXT_SETTINGS,
    PROFILES,
    AssertionSettings,
    Effort,
    file_name,
    seed_of,
)

if TYPE_CHECKING:
    from dpaudit.results import Audit

FOLDER = ".dpaudit"  # in pytest's rootdir
SETTINGS = pytest.StashKey["Settings"]()
FOUND = pytest.StashKey["Found"]()
OUTER = pytest.StashKey[Callable[[], AssertionSettings]]()  # the settings around a test
SEED = "dpaudit_seed"
VIOLATION = "dpaudit.PrivacyViolation: "  # as pytest begins the message of one
_NEW_SEED_EACH_RUN = {"nightly"}  # profiles that would learn nothing from the last run's numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What all assertions of a run share."""

    profile: str
    seed: int
    kept: Path
    report: Path | None

    @property
    def effort(self) -> Effort:
        return PROFILES[self.profile]

    def __str__(self) -> str:
        effort = f"{self.effort.samples:,} draws, alpha {self.effort.alpha:g}"
        return f"{self.profile} ({effort}), --dpaudit-seed={self.seed}"


@dataclass(frozen=True, slots=True)
class Found:
    """What the assertions of a test found: rows of the summary, files, problems."""

    rows: list[tuple[str, ...]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def taken(self) -> dict[str, list[Any]]:
        """Take it out as plain values, which a report can carry."""
        parts: dict[str, list[Any]] = {
            "rows": self.rows,
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
    parser.addini("dpaudit_profile", f"one of {', '.join(PROFILES)}", default=DEFAULT_PROFILE)


def _seed(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"must be a whole number >= 0, got {text!r}")
    return number


def pytest_configure(config: pytest.Config) -> None:
    """Read the options before anything is collected."""
    profile = config.getoption("dpaudit_profile") or config.getini("dpaudit_profile")
    if profile not in PROFILES:
        known = ", ".join(PROFILES)
        raise pytest.UsageError(f"dpaudit_profile must be one of {known}, got {profile!r}.")
    seed = config.getoption("dpaudit_seed")
    if seed is None:
        given = getattr(config, "workerinput", {})  # to a worker of xdist, by its controller
        drawn = secrets.randbits(32) if profile in _NEW_SEED_EACH_RUN else 0
        seed = given.get(SEED, drawn)
    folder = config.getoption("dpaudit_report")
    settings = Settings(
        profile=profile,
        seed=seed,
        kept=config.rootpath / FOLDER,
        report=None if folder is None else config.invocation_params.dir / folder,
    )
    config.stash[SETTINGS] = settings
    config.pluginmanager.register(Run(settings), "dpaudit-run")


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
        self._rows: list[tuple[str, tuple[str, ...]]] = []  # with the test, to sort by
        self._files: list[tuple[str, str]] = []
        self._problems: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Number the assertions of a test from 1, also when it runs again."""
        item.stash[FOUND] = found = Found()
        item.stash[OUTER] = NEXT_SETTINGS.get()
        numbers = itertools.count(1)
        NEXT_SETTINGS.set(
            lambda: _settings_for(self._settings, f"{item.nodeid}#{next(numbers)}", found)
        )

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
        self._rows += [(report.nodeid, tuple(row)) for row in found["rows"]]
        self._files += [(report.nodeid, file) for file in found["files"]]
        self._problems += found["problems"]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the pages of all audits, once: not in the workers of xdist."""
        folder = self._settings.report
        if folder is None or not self._files or hasattr(session.config, "workerinput"):
            return
        try:
            write_pages([file for _, file in sorted(self._files)], folder)
        except (ImportError, OSError, ValueError) as error:  # there is still the JSON
            self._problems.append(f"no pages were written: {error}")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show all audits of the run, one line each, in an order that does not depend on timing."""
        if not self._rows:
            return
        from dpaudit.report import Row, run_table

        terminalreporter.section("dpaudit")
        ordered = sorted(self._rows, key=lambda entry: entry[0])
        for line in run_table([Row(*row) for _, row in ordered]):
            terminalreporter.write_line(line)
        if self._settings.report is not None:
            terminalreporter.write_line(f"saved in {self._settings.report}")
        for problem in sorted(self._problems):
            terminalreporter.write_line(f"warning: {problem}")


def _summarise(report: pytest.TestReport) -> None:
    """Shorten a violation to its verdict in the list of failures, which CI shows in full."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None and crash.message.startswith(VIOLATION):
        crash.message = crash.message.removeprefix(VIOLATION).partition("\n")[0]


def _settings_for(settings: Settings, test: str, found: Found) -> AssertionSettings:
    def note(audits: Sequence[Audit]) -> None:
        from dpaudit.report import row_of

        found.rows.append(tuple(row_of(audits)))
        if settings.report is not None:
            try:
                file = settings.report / f"{file_name(test)}.json"
                file.parent.mkdir(parents=True, exist_ok=True)
                audits[-1].save(file)
                found.files.append(str(file))
            except OSError as error:  # a full disk is no reason for a test to fail
                found.problems.append(f"an audit could not be saved: {error}")

    return AssertionSettings(
        effort=settings.effort,
        test=test,
        seed=seed_of(settings.seed, test),
        folder=settings.kept,
        note=note,
        warn=found.problems.append,
    )


def write_pages(files: Sequence[str], folder: Path) -> None:
    """Write a page for each saved audit, and an index of them."""
    from dpaudit.report import write_suite
    from dpaudit.results import load

    write_suite([load(file) for file in files], folder)
