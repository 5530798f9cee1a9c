"""`dpaudit report`: saved audits as pages to read in a browser."""

from __future__ import annotations

from pathlib import Path

import click

from dpaudit.cli.failures import Refusal
from dpaudit.cli.files import read_audit, readable_audits, refuse_output
from dpaudit.cli.options import FileName

EXTRA = "pip install 'dpaudit[report]'"


@click.command("report", short_help="Make a page of a saved audit, or of a folder of them.")
@click.argument("path", metavar="FILE|DIR", type=FileName(to_read=True))
@click.option(
    "-o",
    "--output",
    type=FileName(),
    metavar="OUT",
    help="Where to write: for FILE a page (FILE with .html at its end), for DIR a folder "
    "(DIR/report).",
)
def report_command(path: Path, output: Path | None) -> None:
    """Make one page of the audit in FILE, or an index and a page each of the audits in DIR.

    FILE was saved with --output; of DIR every .json file is taken, and one that cannot be read is
    named and left out. The pages need no network.
    What was written is printed; writing it is no verdict, so the exit code is 0.

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
    try:
        from dpaudit.report import write_report

        write_report(audit, page)
    except (ImportError, OSError) as error:
        raise _unwritten(page, error) from error
    return page


def _suite(folder: Path, output: Path | None) -> Path:
    audits = readable_audits(folder)
    site = folder / "report" if output is None else output
    if site.exists() and not site.is_dir():
        raise Refusal(f"--output: {site} is a file; the pages of a folder need a folder.")
    try:
        from dpaudit.report import write_suite

        site.mkdir(parents=True, exist_ok=True)
        write_suite(list(audits.values()), site)
    except (ImportError, OSError) as error:
        raise _unwritten(site, error) from error
    return site / "index.html"


def _unwritten(place: Path, error: ImportError | OSError) -> Refusal:
    """Why there are no pages: the extra is not installed, or the place cannot be written to."""
    if isinstance(error, OSError):
        return Refusal(f"{place} cannot be written: {error.strerror or error}.")
    words = str(error)
    return Refusal(words if EXTRA in words else f"pages need an extra ({words}). Get it: {EXTRA}")
