"""`dpaudit export`: what saved audits say, for programs: SARIF, a badge, Markdown."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpaudit.cli import options
from dpaudit.cli.failures import Refusal
from dpaudit.cli.saved import audit_files, read_either
from dpaudit.cli.screen import refuse_output

if TYPE_CHECKING:
    from dpaudit.report import Brief

_FORMS = ("sarif", "badge", "markdown")


@click.command("export", short_help="Write saved audits as SARIF, as a badge, or as Markdown.")
@click.argument("path", metavar="FILE|DIR", type=options.FileName(to_read=True))
@options.choice(
    "--as",
    *_FORMS,
    words="SARIF 2.1.0 for code scanning, a badge for shields.io, or a table in Markdown.",
)
@click.option(
    "-o",
    "--output",
    type=options.FileName(folders=False),
    metavar="OUT",
    help="Where to write (default: print it).",
)
def export_command(path: Path, output: Path | None, **values: str) -> None:
    """Write what the audit in FILE, or all audits in DIR, say, for other programs.

    In SARIF a refuted claim is an error, an undecided or suspected one a warning; audits that are
    not refuted are left out. Run it where the code is: a result points to the file of the
    mechanism, if it is found there, and else to the audit. The exit code is 0, whatever the
    verdicts, or 2 for an error.

    \b
    Example:
      dpaudit export audits/ --as sarif -o dpaudit.sarif
    """
    from dpaudit import report

    briefs = [_brief(file) for file in audit_files(path)]
    text: str = getattr(report, values["as"])(briefs)
    if output is None:
        click.echo(text, nl=False)
        return
    if output.resolve() in {file.resolve() for file in audit_files(path)}:
        raise Refusal(f"--output: {output} is an audit itself. Name another file.")
    refuse_output(output)
    try:
        report.write_whole(output, text)
    except OSError as error:
        raise Refusal(f"{output} cannot be written: {error.strerror or error}.") from error
    click.echo(str(output))


def _brief(file: Path) -> Brief:
    from dpaudit.report import saved_brief

    audit = read_either(file)
    brief = saved_brief(audit, key=file.stem)
    place, line = _place_of(audit.target) or (file, None)
    root = Path.cwd()
    if place.resolve().is_relative_to(root):
        place = place.resolve().relative_to(root)
    return replace(brief, file=place.as_posix(), line=line)


def _place_of(target: str | None) -> tuple[Path, int | None] | None:
    """The file below the working folder that a target names, and the line; nothing is imported.

    A target is `file.py:function` or `package.module:function`.
    """
    module, _, name = (target or "").removeprefix("one_at_a_time(").removesuffix(")").partition(":")
    if not module or module.startswith(("/", ".")):
        return None
    beside = Path(module.replace(".", "/") + ".py")
    wanted = (Path(module),) if module.endswith(".py") else (beside, Path("src") / beside)
    try:
        file = next((each for each in wanted if each.is_file()), None)
    except (OSError, ValueError):  # no name of a file
        return None
    return None if file is None else (file, _line_of(file, name))


def _line_of(file: Path, name: str) -> int | None:
    """The line where a file defines a function or a class of this name; None if it does not."""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return None
    nodes: list[ast.stmt] = tree.body
    line = None
    for part in name.partition("(")[0].split("."):
        defined = (
            node
            for node in nodes
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part
        )
        node = next(defined, None)
        if node is None:
            break
        nodes, line = node.body, node.lineno
    return line
