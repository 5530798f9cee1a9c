"""Commands on saved audits: `dpaudit compare` (old and new ones) and `dpaudit report` (pages)."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpaudit.cli import options
from dpaudit.cli.failures import Refusal, refusing
from dpaudit.cli.screen import WIDTH, refuse_output

if TYPE_CHECKING:
    from dpaudit.results import Audit

WORSE = 1
INSTALL_REPORT = "pip install 'dpaudit[report]'"


def read_audit(path: Path) -> Audit:
    """The audit in a file."""
    from dpaudit.errors import InvalidAuditFile
    from dpaudit.results import load

    try:
        return load(path)
    except FileNotFoundError as error:
        raise Refusal(f"there is no file {str(path)!r}.") from error
    except InvalidAuditFile as error:
        raise Refusal(" ".join(str(error).split())) from error
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror}.") from error


def _audit_files(path: Path) -> list[Path]:
    """The .json files of a folder, by name; a file is its own."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise Refusal(f"there is no audit in the folder {str(path)!r}: no file ends in .json.")
    return files


@click.command("compare", short_help="Compare saved audits, old and new; fail if any got worse.")
@click.argument("old", type=options.FileName(to_read=True))
@click.argument("new", type=options.FileName(to_read=True))
@options.as_json("Print the changes as JSON.")
@click.pass_context
def compare_command(ctx: click.Context, old: Path, new: Path, as_json: bool) -> None:
    """Compare the audits in OLD and in NEW: two files, or two folders of .json files.

    Audits are matched by mechanism and claim. An audit got worse if NEW shows that its claim does
    not hold (the claim is refuted, or the certified bound is above it) and OLD does not show that,
    or has no such audit. A claim that was refuted before and still is does not count as worse.

    \b
    Exit codes: 0 nothing got worse, 1 something did, 2 error.

    \b
    Example:
      dpaudit compare audits-of-main/ audits/
    """
    from dpaudit.errors import AmbiguousAudits
    from dpaudit.report import change_table, changes_between, summary

    before, now = (list(map(read_audit, _audit_files(path))) for path in (old, new))
    with refusing(AmbiguousAudits):
        changes = changes_between(before, now)
    if as_json:
        click.echo(json.dumps({"changes": [change.to_json() for change in changes]}, indent=1))
    else:
        click.echo(f"{change_table(changes)}\n\n{textwrap.fill(summary(changes), WIDTH)}")
    ctx.exit(WORSE if any(change.is_worse for change in changes) else 0)


@click.command("report", short_help="Make a page of a saved audit, or pages of a folder of them.")
@click.argument("path", metavar="FILE|DIR", type=options.FileName(to_read=True))
@click.option(
    "-o",
    "--output",
    type=options.FileName(),
    metavar="OUT",
    help="Where to write: a page for FILE (default: FILE, but ending in .html), a folder for DIR "
    "(default: DIR/report).",
)
def report_command(path: Path, output: Path | None) -> None:
    """Make a page of the audit in FILE, or an index and one page for each audit in DIR.

    FILE is an audit saved with --output. In DIR every .json file is read; those that cannot be
    read are named and left out. The pages need no network. The command prints where it wrote them.
    The exit code is 0, whatever the verdicts, or 2 for an error.

    \b
    Example:
      dpaudit report audit.json -o audit.html
    """
    written = _suite(path, output) if path.is_dir() else _page(path, output)
    click.echo(str(written))


def _page(file: Path, output: Path | None) -> Path:
    audit = read_audit(file)
    page = file.with_suffix(".html") if output is None else output
    if page.is_dir():
        page = page / file.with_suffix(".html").name
    if page.resolve() == file.resolve():
        raise Refusal(f"--output: {page} is the audit itself. Name a page, such as audit.html.")
    refuse_output(page)
    with _writing(page):
        from dpaudit.report import write_report

        write_report(audit, page)
    return page


def _suite(folder: Path, output: Path | None) -> Path:
    audits = _readable_audits(folder)
    site = folder / "report" if output is None else output
    if site.exists() and not site.is_dir():
        raise Refusal(f"--output: {site} is a file; the pages of a folder need a folder.")
    with _writing(site):
        from dpaudit.report import write_suite

        site.mkdir(parents=True, exist_ok=True)
        write_suite(audits, site)
    return site / "index.html"


def _readable_audits(folder: Path) -> list[Audit]:
    """The audits of a folder's .json files; what cannot be read is named on stderr."""
    found = []
    for file in _audit_files(folder):
        try:
            found.append(read_audit(file))
        except Refusal as error:
            click.echo(f"left out: {error.message}", err=True)
    if not found:
        raise Refusal(f"there is no audit in the folder {str(folder)!r} that can be read.")
    return found


@contextmanager
def _writing(place: Path) -> Iterator[None]:
    """Refuse where pages cannot be written: no extra, no room, no permission."""
    try:
        yield
    except OSError as error:
        raise Refusal(f"{place} cannot be written: {error.strerror or error}.") from error
    except ImportError as error:
        words = str(error)
        if INSTALL_REPORT not in words:
            words = f"pages need an extra ({words}). Get it: {INSTALL_REPORT}"
        raise Refusal(words) from error
