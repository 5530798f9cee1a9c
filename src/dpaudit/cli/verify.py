"""`dpaudit verify`: a saved audit checked against itself, and against the code it is of."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from dpaudit.cli import options
from dpaudit.cli.audit import one_line_errors
from dpaudit.cli.failures import Refusal, user_code
from dpaudit.cli.saved import reading
from dpaudit.cli.target import read_either_form

if TYPE_CHECKING:
    from dpaudit.verifying import Verification

DOES_NOT_HOLD = 1


@click.command("verify", short_help="Check a saved audit: its numbers, and its code.")
@click.argument("file", type=options.FileName(to_read=True))
@options.target(required=False)
@options.seed
@options.one_at_a_time
@options.as_json("Print what was checked as JSON.")
@options.quiet
@click.pass_context
def verify_command(ctx: click.Context, /, **values: Any) -> None:
    """Check the audit in FILE, line by line: what holds, and what does not.

    Every number that follows from others is derived again: bounds from counts, epsilon from bounds,
    the verdict from the evidence. With TARGET, its source is compared with the one that was
    audited, and the event is counted again on fresh draws. Without TARGET no code is run. The
    digest at the end is the one on a page of this audit.

    \b
    Exit codes: 0 all holds, 1 something does not, 2 error.

    \b
    Example:
      dpaudit verify audit.json my_file.py:my_sum
    """
    with user_code(values["target"] or str(values["file"])) as (stdout, _):
        found = _run(values)
        if values["as_json"]:
            click.echo(json.dumps(found.to_json(), indent=1), file=stdout)
        else:
            from dpaudit.report import verification_headline

            said = verification_headline(found) if values["quiet"] else str(found)
            click.echo(said, file=stdout)
    ctx.exit(0 if found.holds else DOES_NOT_HOLD)


def _run(values: dict[str, Any]) -> Verification:
    path, target = values["file"], values["target"]
    if target is None and values["one_at_a_time"]:
        raise Refusal("--one-at-a-time goes with a TARGET.")
    from dpaudit.verifying import verify

    mechanism = None
    if target is not None:
        mechanism = read_either_form(target, one_at_a_time=values["one_at_a_time"])
    with reading(path), one_line_errors():
        return verify(path, mechanism, rng=values["seed"])
