"""`dpaudit replay`: a saved counterexample, counted again; the exit code is the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpaudit.cli.audit import EXIT_CODES, one_line_errors
from dpaudit.cli.completion import complete_files
from dpaudit.cli.failures import Refusal
from dpaudit.cli.files import read_audit
from dpaudit.cli.options import (
    CLAIMS,
    FileName,
    alpha_option,
    json_option,
    on_error_option,
    one_at_a_time_option,
    quiet_option,
    seed_option,
)
from dpaudit.cli.screen import print_answer, show_replayed
from dpaudit.cli.target import read_claim, read_mechanism
from dpaudit.cli.user_code import user_code

if TYPE_CHECKING:
    from dpaudit.mechanism import Mechanism
    from dpaudit.results import Audit, Counterexample, Replayed


@click.command("replay", short_help="Count the event of a saved counterexample again.")
@click.argument("file", type=FileName(to_read=True))
@click.argument("target", required=False, shell_complete=complete_files)
@click.option(
    "--simplest", is_flag=True, help="Replay the simplest counterexample, if there is one."
)
@click.option("--claim", help=f"Another claim than the saved one: {CLAIMS}")
@alpha_option(default=None, shown="that of the audit")
@click.option(
    "--samples",
    type=click.IntRange(min=2),
    metavar="N",
    help="At most so many draws (80000 if not given; as many as are needed).",
)
@seed_option
@one_at_a_time_option
@on_error_option
@json_option("Print the replay as JSON.")
@quiet_option("Print the verdict's line only.")
@click.pass_context
def replay_command(ctx: click.Context, /, **options: Any) -> None:
    """Count the event of the counterexample in FILE again, on fresh samples.

    FILE is an audit saved with --output. The code is what was audited, imported by the name in
    FILE, or TARGET: a mended version, another library. Nothing is searched, so few draws are
    needed; where the event does not break the claim, another may.

    \b
    Exit codes: 0 not refuted, 1 refuted again, 2 error, 3 undecided (too few
    draws).

    \b
    Example:
      dpaudit audit my_file.py:my_sum --claim eps=1 --records floats:-1:1 \\
        --relation replace-one --output audit.json
      dpaudit replay audit.json my_file.py:my_mended_sum
    """
    with user_code(options["target"] or f"the code of {options['file']}") as answering:
        found = _run(options)
        if options["as_json"]:
            from dpaudit.results import lines_of_json

            print_answer(lines_of_json(found.to_json()), answering.stdout)
        else:
            show_replayed(found, answering.stdout, short=options["quiet"])
    ctx.exit(EXIT_CODES[found.verdict.value])


def _run(options: dict[str, Any]) -> Replayed:
    path: Path = options["file"]
    audit = read_audit(path)
    before = _chosen(audit, path, simplest=options["simplest"])
    claim = audit.claim if options["claim"] is None else read_claim(options["claim"])
    mechanism = _mechanism(audit, options)

    from dpaudit.auditing import replay
    from dpaudit.errors import CannotReplay
    from dpaudit.results import Replayed

    try:
        with one_line_errors():
            again = replay(
                before,
                mechanism,
                claim,
                alpha=audit.alpha if options["alpha"] is None else options["alpha"],
                samples=options["samples"],
                rng=options["seed"],
                on_error=options["on_error"],
            )
    except CannotReplay as error:
        raise Refusal(f"{path}: {error}") from error
    return Replayed(
        mechanism=mechanism.name,
        target=mechanism.target,
        claim=claim,
        before=before,
        again=again,
    )


def _chosen(audit: Audit, path: Path, *, simplest: bool) -> Counterexample:
    """The counterexample to replay; a refusal that says why there is none."""
    if not audit.refuted:
        raise Refusal(
            f"{path}: the audit is {audit.verdict.value}, so it has no counterexample to replay."
        )
    if audit.counterexample is None:
        raise Refusal(
            f"{path}: all draws together refuted the claim, but no single event was certified, so "
            "there is none to count again. Audit its strongest pair with more --samples."
        )
    if simplest and audit.simplest is None:
        raise Refusal(f"{path}: no plainer counterexample was found. Leave out --simplest.")
    return audit.simplest if simplest and audit.simplest is not None else audit.counterexample


def _mechanism(audit: Audit, options: dict[str, Any]) -> Mechanism:
    """The code of TARGET, or what was audited."""
    path, target = options["file"], options["target"]
    if target is not None:
        return read_mechanism(target, one_at_a_time=options["one_at_a_time"])
    if options["one_at_a_time"]:
        raise Refusal("--one-at-a-time goes with a TARGET; the saved one knows how it is called.")
    again = f"Name the code: dpaudit replay {path} module:function"
    if audit.target is None:
        raise Refusal(
            f"{path} does not say where {audit.mechanism} is: it had no name to be imported by, or "
            f"the file is of an older dpaudit. {again}"
        )
    try:
        return read_mechanism(audit.target, one_at_a_time=False)
    except Refusal as error:
        raise Refusal(f"{error.message} {path} names {audit.target}. {again}") from error
