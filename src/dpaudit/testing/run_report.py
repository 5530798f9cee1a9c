"""What a test run leaves behind for other programs and for the next run: exports and baselines."""

from __future__ import annotations

import inspect
import json
import os
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dpaudit.inside import load
from dpaudit.report import (
    Brief,
    annotation,
    as_json,
    badge,
    brief_of,
    change_table,
    changes_between,
    markdown,
    sarif,
    summary,
    write_suite,
    write_whole,
)
from dpaudit.testing.run_settings import Judgement

_SCHEMA = 1  # of baselines
_WIDTH = 80  # columns
_NAME = re.compile(r"[\w-][\w.-]{0,99}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The audits of a run in brief, kept under a name for later runs to be compared with.

    >>> Baseline.named("../main", Path(".dpaudit"))
    Traceback (most recent call last):
    ValueError: a baseline is named with letters, digits, '.', '-' and '_', got '../main'.
    """

    path: Path

    @classmethod
    def named(cls, name: str, folder: Path) -> Baseline:
        """The baseline of this name; `ValueError` if it can be none."""
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"a baseline is named with letters, digits, '.', '-' and '_', got {name!r}."
            )
        return cls(folder / "baselines" / f"{name}.json")

    def save(self, briefs: Sequence[Brief]) -> None:
        """Keep the audits of a run, in the place of those kept before."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        audits = [asdict(brief) for brief in briefs]
        write_whole(self.path, as_json({"schema": _SCHEMA, "audits": audits}))

    def read(self) -> list[Brief]:
        """The audits that were kept; `ValueError` says what is wrong with the file."""
        try:
            saved = json.loads(self.path.read_text(encoding="utf-8"))
            if saved["schema"] != _SCHEMA:
                raise ValueError(f"it has schema {saved['schema']!r}, not {_SCHEMA}")
            return [Brief(**audit) for audit in saved["audits"]]
        except FileNotFoundError as error:
            raise ValueError(
                f"there is no baseline {self.path.stem!r}. Make one: "
                f"pytest --dpaudit-save={self.path.stem}"
            ) from error
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise ValueError(f"the baseline {self.path} cannot be read: {error}.") from error

    def compared(self, briefs: Sequence[Brief]) -> tuple[str, bool]:
        """What changed since then, in words, and whether anything got worse."""
        changes = changes_between(self.read(), briefs)
        worse = any(change.is_worse for change in changes)
        return f"{change_table(changes)}\n\n{textwrap.fill(summary(changes), _WIDTH)}", worse


def write_exports(briefs: Sequence[Brief], places: Mapping[str, Path | None]) -> list[str]:
    """Write SARIF, a badge and a summary, each where there is a place for it; what went wrong."""
    problems = []
    for name, path in places.items():
        if path is None:
            continue
        try:
            if name == "summary":  # other steps of the job write there too
                with path.open("a", encoding="utf-8") as file:
                    file.write(markdown(briefs))
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, {"sarif": sarif, "badge": badge}[name](briefs))
        except OSError as error:  # a full disk is no reason for a test run to fail
            problems.append(f"{path} could not be written: {error}")
    return problems


def annotations_of(briefs: Sequence[Brief], environ: Mapping[str, str] = os.environ) -> list[str]:
    """The lines that mark the tests in GitHub's view of a change; none elsewhere."""
    if environ.get("GITHUB_ACTIONS") != "true":
        return []
    return [line for brief in briefs if (line := annotation(brief))]


def in_repository(file: Path, root: Path, environ: Mapping[str, str] = os.environ) -> str:
    """The path of a file from the root of the repository, or else from that of the tests."""
    for base in (environ.get("GITHUB_WORKSPACE"), root):
        if base and file.is_relative_to(base):
            return file.relative_to(base).as_posix()
    return file.as_posix()


def brief_of_test(
    judgement: Judgement, key: str, name: str, path: Path, first: int, root: Path
) -> Brief:
    """What an assertion found in brief, with the line of the test's file that asked.

    That is the `first` line of the test if a helper in another file asked.
    """
    line, frame = first, inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_filename == str(path):
            line = frame.f_lineno
            break
        frame = frame.f_back
    brief = brief_of(
        judgement.audits,
        key=key,
        name=name,
        problem=judgement.problem,
        fails=judgement.fails,
        says=judgement.says,
        expected=judgement.expected,
    )
    return replace(brief, file=in_repository(path, root), line=line)


def write_pages(files: Sequence[Path]) -> None:
    """Write a page for each saved audit beside it, and an index of them in each folder."""
    for folder in sorted({file.parent for file in files}):
        here = [file for file in files if file.parent == folder]
        write_suite([load(file) for file in here], folder, names=[file.stem for file in here])


def properties_of(brief: Brief, number: int) -> list[tuple[str, Any]]:
    """The properties of a test for JUnit's XML, those of its second audit with a 2."""
    start = "dpaudit" if number == 1 else f"dpaudit-{number}"
    values = {
        "mechanism": brief.mechanism,
        "claim": brief.claim,
        "verdict": brief.verdict,
        "lower_bound": brief.lower_bound,
        "certified": brief.certified,
        "draws": brief.draws,
    }
    return [(f"{start}.{name}", value) for name, value in values.items() if value is not None]
