"""`dpaudit audit`: one mechanism, one claim, one relation; the exit code is the verdict."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import click

from dpaudit.cli.completion import complete_files
from dpaudit.cli.failures import Refusal, with_notes
from dpaudit.cli.files import refuse_output
from dpaudit.cli.options import (
    FiniteFloat,
    answer_options,
    claim_option,
    floats_option,
    on_error_option,
    one_at_a_time_option,
    read_floats,
    read_trials,
    seed_option,
    tester_options,
)
from dpaudit.cli.screen import following, print_answer, show_audit
from dpaudit.cli.target import (
    FINDERS,
    RELATIONS,
    Neighbourhood,
    read_claim,
    read_neighbours,
    read_subject,
    read_target,
)
from dpaudit.cli.user_code import user_code

if TYPE_CHECKING:
    from dpaudit.results import Audit

EXIT_CODES = {"not refuted": 0, "refuted": 1, "undecided": 3}


@click.command("audit", short_help="Audit a mechanism: refuted, not refuted or undecided.")
@click.argument("target", shell_complete=complete_files)
@claim_option(required=False)
@click.option("--relation", type=click.Choice(RELATIONS), help="Which datasets are neighbours.")
@click.option(
    "--records",
    metavar="DOMAIN",
    help="What a record may be: floats:LOW:HIGH | integers:LOW:HIGH | categories:A,B,C | "
    "vectors:LENGTH:LOW:HIGH | dates:FIRST:LAST | texts:A,B,C; with +odd at the end, also NaN, "
    "values out of range and the like.",
)
@click.option(
    "--max-records", type=int, metavar="N", help="The largest dataset (10 records if not given)."
)
@click.option("--min-records", type=int, metavar="N", help="The smallest dataset.")
@click.option("--length", type=int, metavar="N", help="For query-answers: how many answers.")
@click.option(
    "--sensitivity",
    type=FiniteFloat(),
    metavar="S",
    help="For query-answers: how far an answer may move (1).",
)
@click.option(
    "--group",
    type=int,
    metavar="K",
    help="Neighbours are up to K records apart; the claim is then that of the group.",
)
@click.option("--finder", type=click.Choice(FINDERS), help="How pairs are searched (auto).")
@click.option(
    "--pair",
    "pairs",
    multiple=True,
    metavar="JSON",
    help="Only this pair, such as '[[0], [0, 1]]'; may be repeated.",
)
@tester_options
@click.option(
    "--trials",
    type=click.IntRange(min=1),
    metavar="N",
    help="For a batch test: so many pairs (all of --pair, or 20 of a search).",
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    metavar="N",
    help="At most so many draws (300000 if not given).",
)
@click.option(
    "--seconds", type=FiniteFloat(min=0, min_open=True), metavar="S", help="At most so long."
)
@seed_option
@floats_option
@one_at_a_time_option
@on_error_option
@answer_options
@click.pass_context
def audit_command(ctx: click.Context, /, **options: Any) -> None:
    """Audit TARGET, a mechanism named pkg.module:function or file.py:function.

    The function draws `size` outputs for one dataset: f(data, size, rng) or f(data, size). A
    dpaudit.Subject, or an object of a library that dpaudit knows (a measurement of OpenDP, a
    mechanism of diffprivlib), brings its claim and its neighbours; options win over them.

    \b
    Exit codes: 0 not refuted, 1 refuted, 2 error, 3 undecided.

    \b
    Example:
      dpaudit audit dpaudit.zoo:ClippedSum --claim eps=1 \\
        --records floats:-1:1 --relation replace-one
    """
    answer(ctx, options, lambda: _run(options))


def answer(ctx: click.Context, options: dict[str, Any], run: Callable[[], Audit]) -> NoReturn:
    """Show and save the audit that `run` gives, as the options say, and end with its verdict."""
    output: Path | None = options["output"]
    if output is not None:
        refuse_output(output)
    culprit = options.get("target") or "a file of outputs"
    with user_code(culprit) as answering:
        audit = run()
        if audit.interrupted and not answering.ctrl_c.pressed:
            raise Refusal(
                f"{culprit} raised KeyboardInterrupt, and nobody pressed Ctrl-C. It stopped before "
                "a verdict: let the search and the mechanism run, or raise an ordinary error."
            )
        _show(audit, answering.stdout, as_json=options["as_json"], quiet=options["quiet"])
        if output is not None:
            _save(audit, output)
    ctx.exit(EXIT_CODES[audit.verdict.value])


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn errors about what was asked, or about outputs, into refusals without a traceback."""
    from dpaudit.errors import (
        DependentDraws,
        InvalidMechanism,
        InvalidOutput,
        InvalidSamples,
        Underpowered,
        UnexpectedExit,
        UnsupportedClaim,
    )

    try:
        yield
    except (
        DependentDraws,
        InvalidMechanism,
        InvalidOutput,
        InvalidSamples,
        UnexpectedExit,
        Underpowered,
        UnsupportedClaim,
    ) as error:
        raise Refusal(with_notes(error)) from error


@contextmanager
def health_warnings_later() -> Iterator[list[str]]:
    """Keep health warnings out of the progress line; the report lists them.

    Other warnings are the user's own and are shown as ever.
    """
    from dpaudit.errors import HealthWarning

    found: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always", HealthWarning)
        show = warnings.showwarning

        def later(message: Any, category: type[Warning], *args: Any, **kwargs: Any) -> None:
            if issubclass(category, HealthWarning):
                found.append(str(message))
            else:
                show(message, category, *args, **kwargs)

        warnings.showwarning = later
        yield found


def _run(options: dict[str, Any]) -> Audit:
    claim = None if options["claim"] is None else read_claim(options["claim"])
    asked = Neighbourhood(**{name: options[name] for name in Neighbourhood.__slots__})
    neighbours = read_neighbours(asked) if asked.given() else None
    tester, floats = read_trials(options["tester"], options["trials"]), read_floats(options)
    target = read_target(options["target"], one_at_a_time=options["one_at_a_time"])
    subject = read_subject(target, claim, neighbours)

    from dpaudit.auditing import audit

    chosen: dict[str, Any] = {} if tester is None else {"tester": tester}
    symbol = getattr(subject.claim, "symbol", None)
    quiet = nullcontext() if options["quiet"] else following(symbol)
    with one_line_errors(), health_warnings_later() as later, quiet as progress:
        found: Audit = audit(
            subject.mechanism,
            subject.claim,
            subject.neighbours,
            **chosen,
            finder=options["finder"] or "auto",
            alpha=options["alpha"],
            samples=options["samples"],
            seconds=options["seconds"],
            rng=options["seed"],
            floats=floats,
            on_error=options["on_error"],
            progress=progress,
        )
    show_later(later, found)
    return found


def show_later(messages: list[str], audit: Audit) -> None:
    """Say the health warnings that the report does not list."""
    for message in messages:
        if message not in audit.warnings:
            click.echo(f"warning: {message}", err=True)


def _show(audit: Audit, stdout: TextIO, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        from dpaudit.results import audit_text

        print_answer(audit_text(audit), stdout)
    else:
        show_audit(audit, stdout, short=quiet)


def _save(audit: Audit, path: Path) -> None:
    try:
        audit.save(path)
    except OSError as error:
        raise Refusal(f"--output: the audit above could not be saved: {error}.") from error
