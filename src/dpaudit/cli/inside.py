"""`dpaudit inside`: the releases in a mechanism's code; the exit code is the verdict."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpaudit.cli import options
from dpaudit.cli.audit import one_line_errors
from dpaudit.cli.failures import refusing, user_code
from dpaudit.cli.screen import inside_followed, print_answer, refuse_output, show
from dpaudit.cli.target import of_search, read_claim, read_neighbours, read_subject

if TYPE_CHECKING:
    from dpaudit.inside import InsideAudit
    from dpaudit.results import Audit

EXIT_CODES = {"not refuted": 0, "broken inside": 1, "undecided": 3, "cannot follow": 3}
REFUTED = 1


@click.command("inside", short_help="Audit the releases inside of a mechanism's code.")
@options.target(required=True)
@options.claim("The claim, unless TARGET brings one")
@of_search
@options.transcripts
@options.alpha()
@options.seed
@options.one_at_a_time
@options.flag("--reveal", words="Count numbers with noise that are used otherwise as released.")
@options.flag("--confirm", words="Then ask the black box whether the output shows it, too.")
@options.output
@options.as_json("Print the audit as JSON.")
@options.quiet
@click.pass_context
def inside_command(ctx: click.Context, /, **values: Any) -> None:
    """Follow the releases inside of TARGET, named pkg.module:function or file.py:function.

    The function is f(data, rng), or f(data, size, rng) asked for one output. Its noise is recorded
    on one dataset and replayed on the neighbour, so the privacy loss of that run is exact. Broken
    inside: the releases break the claim. Only --confirm asks whether the output shows it.

    \b
    Exit codes: 0 not refuted, 1 broken inside (or refuted by --confirm), 2 error,
    3 undecided, or the code cannot be followed.

    \b
    Example:
      dpaudit inside dpaudit.zoo:ClippedSum --claim eps=1 \\
        --records floats:-1:1 --relation replace-one
    """
    output: Path | None = values["output"]
    if output is not None:
        refuse_output(output)
    with user_code(values["target"]) as (stdout, _):
        found = _run(values)
        confirmed = _confirmed(found) if values["confirm"] else None
        _show(found, confirmed, stdout, values)
        if output is not None:
            with refusing(OSError, "--output: the audit above could not be saved: ", end="."):
                found.save(output)
    refuted = confirmed is not None and confirmed.refuted
    ctx.exit(REFUTED if refuted else EXIT_CODES[found.verdict.value])


def _run(values: dict[str, Any]) -> InsideAudit:
    claim = None if values["claim"] is None else read_claim(values["claim"])
    neighbours, name = read_neighbours(values), values["target"]

    from dpaudit.inside import audit_inside, of_either_form

    single: bool = values["one_at_a_time"]
    subject = read_subject(name, claim, neighbours, one_at_a_time=single, make=of_either_form)
    settings: dict[str, Any] = {name: values[name] for name in ("transcripts", "alpha", "reveal")}
    settings |= {"finder": values["finder"] or "auto", "rng": values["seed"]}
    following = nullcontext(None) if values["quiet"] else inside_followed()
    with one_line_errors(), following as progress:
        return audit_inside(subject, progress=progress or False, **settings)


def _confirmed(found: InsideAudit) -> Audit | None:
    """What the black box says about the pair; None where there is no pair to ask about."""
    if found.pair is None:
        click.echo("--confirm: there is no pair to ask about.", err=True)
        return None
    with one_line_errors():
        return found.confirm()


def _show(found: InsideAudit, confirmed: Audit | None, stdout: Any, values: dict[str, Any]) -> None:
    """Print the result, and what the black box says of it."""
    short, as_json = values["quiet"], values["as_json"]
    if as_json and values["confirm"]:
        from dpaudit.results import lines_of_json

        black_box = None if confirmed is None else confirmed.to_json()
        both = {"inside": found.to_json(), "confirmed": black_box}
        print_answer(lines_of_json(both), stdout)
        return
    show(found, stdout, as_json=as_json, short=short)
    if confirmed is not None:
        if not short:
            print_answer("\nThe black box on this pair:\n\n", stdout)
        show(confirmed, stdout, short=short)
