"""`dpaudit compare`: saved audits, old and new; it fails where a certified bound rose too far."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import click

from dpaudit.cli.failures import Refusal
from dpaudit.cli.files import read_audits
from dpaudit.cli.options import FileName, json_option
from dpaudit.cli.screen import WIDTH

WORSE = 1


@click.command("compare", short_help="Compare saved audits, old and new; fail where it got worse.")
@click.argument("old", type=FileName(to_read=True))
@click.argument("new", type=FileName(to_read=True))
@json_option("Print the changes as JSON.")
@click.pass_context
def compare_command(ctx: click.Context, old: Path, new: Path, as_json: bool) -> None:
    """Compare the audits in OLD and in NEW: two files, or two folders of .json files.

    Audits are matched by mechanism and claim. It got worse where NEW shows that a claim does not
    hold (it is refuted, or the certified bound is above the claim) and OLD did not, or has no such
    audit. What was refuted before and still is does not fail a comparison.

    \b
    Exit codes: 0 nothing got worse, 1 something did, 2 error.

    \b
    Example:
      dpaudit compare audits-of-main/ audits/
    """
    from dpaudit.errors import AmbiguousAudits
    from dpaudit.report import change_table, changes_between, summary

    before, now = (list(read_audits(path).values()) for path in (old, new))
    try:
        changes = changes_between(before, now)
    except AmbiguousAudits as error:
        raise Refusal(str(error)) from error
    if as_json:
        found = [change.to_json() for change in changes]
        click.echo(json.dumps({"changes": found}, indent=1))
    else:
        click.echo(f"{change_table(changes)}\n\n{textwrap.fill(summary(changes), WIDTH)}")
    ctx.exit(WORSE if any(change.is_worse for change in changes) else 0)
