"""Commands on saved audits: `dpaudit compare` (old and new ones) and `dpaudit report` (pages)."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpaudit.cli import options
from dpaudit.cli.failures import Refusal
from dpaudit.cli.screen import WIDTH, refuse_output

if TYPE_CHECKING:
    from dpaudit.inside import InsideAudit
    from dpaudit.results import Audit

WORSE = 1
INSTALL_REPORT = "pip install 'dpaudit[report]'"


def read_audit(path: Path) -> Audit:
    """The audit by draws in a file."""
    from dpaudit.results import load

    found: Audit = _read(path, load)
    return found


def read_either(path: Path) -> Audit | InsideAudit:
    """The audit in a file, by draws or inside."""
    from dpaudit.inside import load

    found: Audit | InsideAudit = _read(path, load)
    return found


def _read(path: Path, load: Callable[[Path], Any]) -> Any:
    with reading(path):
        return load(path)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Refuse a file that cannot be read, or is no audit."""
    from dpaudit.errors import InvalidAuditFile

    try:
        yield
    except FileNotFoundError as error:
        raise Refusal(f"there is no file {str(path)!r}.") from error
    except InvalidAuditFile as error:
        raise Refusal(" ".join(str(error).split())) from error
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror}.") from error


def audit_files(path: Path) -> list[Path]:
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

    Audits of a pytest run are matched by their tests, others by mechanism and claim. An audit got
    worse if NEW shows that its claim does not hold (the claim is refuted, or the certified bound is
    above it) and OLD does not show that, or has no such audit. A claim that was refuted before and
    still is does not count as worse.

    \b
    Exit codes: 0 nothing got worse, 1 something did, 2 error.

    \b
    Example:
      dpaudit compare audits-of-main/ audits/
    """
    from dpaudit.report import change_table, changes_between, saved_brief, summary

    before, now = (
        [saved_brief(read_either(file), key=file.stem) for file in audit_files(path)]
        for path in (old, new)
    )
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
@click.option(
    "--pdf",
    type=options.FileName(),
    metavar="OUT",
    help="Print the page of FILE to OUT, which ends in .pdf. Needs Chromium or Chrome on the path.",
)
@click.option("--auditor", metavar="NAME", help="Who audited; it stands on the pages.")
@click.option("--purpose", metavar="TEXT", help="Why; it stands on the pages.")
def report_command(
    path: Path, output: Path | None, pdf: Path | None, auditor: str | None, purpose: str | None
) -> None:
    """Make a page of the audit in FILE, or an index and one page for each audit in DIR.

    FILE is an audit saved with --output. In DIR every .json file is read; those that cannot be
    read are named and left out. The pages need no network. With --pdf the page is printed, and HTML
    is written only where -o asks for it. The command prints where it wrote them. The exit code is
    0, whatever the verdicts, or 2 for an error.

    \b
    Examples:
      dpaudit report audit.json -o audit.html
      dpaudit report audit.json --pdf audit.pdf
    """
    said = {"auditor": auditor, "purpose": purpose}
    if pdf is not None:
        _refuse_pdf(path, pdf)
        click.echo(str(_page(path, pdf, said, option="--pdf")))
        if output is None:
            return
    written = _suite(path, output, said) if path.is_dir() else _page(path, output, said)
    click.echo(str(written))


def _refuse_pdf(path: Path, pdf: Path) -> None:
    if path.is_dir():
        raise Refusal(f"--pdf: {path} is a folder, and a PDF is the page of one audit: name it.")
    if pdf.suffix.lower() != ".pdf":
        raise Refusal(f"--pdf: the name {str(pdf)!r} does not end in .pdf.")


def _page(
    file: Path, output: Path | None, said: dict[str, str | None], *, option: str = "--output"
) -> Path:
    audit = read_either(file)
    page = file.with_suffix(".html") if output is None else output
    if page.is_dir() and option == "--output":
        page = page / file.with_suffix(".html").name
    if page.resolve() == file.resolve():
        raise Refusal(f"{option}: {page} is the audit itself. Name a page, such as audit.html.")
    refuse_output(page, option=option)
    with _writing(page):
        from dpaudit.report import write_report

        write_report(audit, page, **said)
    return page


def _suite(folder: Path, output: Path | None, said: dict[str, str | None]) -> Path:
    found = _readable_audits(folder)
    site = folder / "report" if output is None else output
    if site.exists() and not site.is_dir():
        raise Refusal(f"--output: {site} is a file; the pages of a folder need a folder.")
    with _writing(site):
        from dpaudit.report import name_of_test, write_suite

        site.mkdir(parents=True, exist_ok=True)
        names = (
            [file.stem for file in found] if all(name_of_test(file.stem) for file in found) else ()
        )
        write_suite(found.values(), site, names=names, **said)
    return site / "index.html"


def _readable_audits(folder: Path) -> dict[Path, Audit | InsideAudit]:
    """The audits of a folder's .json files; what cannot be read is named on stderr."""
    found: dict[Path, Audit | InsideAudit] = {}
    for file in audit_files(folder):
        try:
            found[file] = read_either(file)
        except Refusal as error:
            click.echo(f"left out: {error.message}", err=True)
    if not found:
        raise Refusal(f"there is no audit in the folder {str(folder)!r} that can be read.")
    return found


@contextmanager
def _writing(place: Path) -> Iterator[None]:
    """Refuse where pages cannot be written: no extra, no browser, no room, no permission."""
    from dpaudit.errors import CannotPrint

    try:
        yield
    except CannotPrint as error:
        raise Refusal(f"{place}: {error}") from error
    except OSError as error:
        raise Refusal(f"{place} cannot be written: {error.strerror or error}.") from error
    except ImportError as error:
        words = str(error)
        if INSTALL_REPORT not in words:
            words = f"pages need an extra ({words}). Get it: {INSTALL_REPORT}"
        raise Refusal(words) from error
