"""`dpaudit replay`: a saved counterexample, tested again; the exit code is the verdict."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpaudit.cli import options
from dpaudit.cli.audit import EXIT_CODES, one_line_errors
from dpaudit.cli.failures import Refusal, refusing, user_code
from dpaudit.cli.saved import read_audit
from dpaudit.cli.screen import show
from dpaudit.cli.target import read_claim, read_mechanism

if TYPE_CHECKING:
    from dpaudit.mechanism import Mechanism
    from dpaudit.results import Audit, Counterexample, Replayed


@click.command("replay", short_help="Count the event of a saved counterexample again.")
@click.argument("file", type=options.FileName(to_read=True))
@options.target(required=False)
@options.flag("--simplest", words="Replay the simplest counterexample instead.")
@options.claim("A claim to test instead of the saved one")
@options.alpha(default=None, show_default="that of the audit")
@options.count(
    "--samples",
    "The largest number of draws (default 80000; it stops when it has enough).",
    least=2,
)
@options.seed
@options.one_at_a_time
@options.on_error
@options.as_json("Print the replay as JSON.")
@options.quiet
@click.pass_context
def replay_command(ctx: click.Context, /, **values: Any) -> None:
    """Count the event of the counterexample in FILE again, on fresh draws.

    FILE is an audit saved with --output. The command draws from the code that was audited, which it
    imports by the name in FILE, or from TARGET, such as a mended version. It searches nothing, so
    it needs few draws. If this event does not break the claim, another may.

    \b
    Exit codes: 0 not refuted, 1 refuted again, 2 error,
    3 undecided (too few draws).

    \b
    Example:
      dpaudit audit my_file.py:my_sum --claim eps=1 --records floats:-1:1 \\
        --relation replace-one --output audit.json
      dpaudit replay audit.json my_file.py:my_mended_sum
    """
    with user_code(values["target"] or f"the code of {values['file']}") as (stdout, _):
        found = _run(values)
        show(found, stdout, as_json=values["as_json"], short=values["quiet"])
    ctx.exit(EXIT_CODES[found.verdict.value])


def _run(values: dict[str, Any]) -> Replayed:
    path: Path = values["file"]
    audit = read_audit(path)
    before = _chosen(audit, path, simplest=values["simplest"])
    claim = audit.claim if values["claim"] is None else read_claim(values["claim"])
    mechanism = _mechanism(audit, values)

    from dpaudit.auditing import replay
    from dpaudit.errors import CannotReplay
    from dpaudit.results import Replayed

    alpha = audit.alpha if values["alpha"] is None else values["alpha"]
    settings = {"alpha": alpha, "samples": values["samples"], "on_error": values["on_error"]}
    with refusing(CannotReplay, f"{path}: "), one_line_errors():
        again = replay(before, mechanism, claim, rng=values["seed"], **settings)
    name, target = mechanism.name, mechanism.target
    return Replayed(mechanism=name, target=target, claim=claim, before=before, again=again)


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


def _mechanism(audit: Audit, values: dict[str, Any]) -> Mechanism:
    """The code of TARGET, or what was audited."""
    path, target = values["file"], values["target"]
    if target is not None:
        return read_mechanism(target, one_at_a_time=values["one_at_a_time"])
    if values["one_at_a_time"]:
        raise Refusal("--one-at-a-time goes with a TARGET; the saved one knows how it is called.")
    again = f"Name the code: dpaudit replay {path} module:function"
    if audit.target is None:
        raise Refusal(
            f"{path} does not say where {audit.mechanism} is: it had no name to be imported by, or "
            f"the file is of an older dpaudit. {again}"
        )
    if "(" in audit.target.removeprefix("one_at_a_time("):
        raise Refusal(  # a file from elsewhere should not choose what is called, and with what
            f"{path} names {audit.target}, which makes a call. Check it, then name the code: "
            f"dpaudit replay {path} {shlex.quote(audit.target)}"
        )
    try:
        return read_mechanism(audit.target, one_at_a_time=False)
    except Refusal as error:
        raise Refusal(f"{error.message} {path} names {audit.target}. {again}") from error
