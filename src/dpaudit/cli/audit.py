"""`dpaudit audit`: one mechanism, one claim, one relation; the exit code is the verdict."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpaudit.cli.failures import Refusal, with_notes
from dpaudit.cli.screen import following, show_audit
from dpaudit.cli.target import (
    RELATIONS,
    Neighbourhood,
    read_claim,
    read_mechanism,
    read_neighbours,
)

if TYPE_CHECKING:
    from dpaudit.evidence import Audit

EXIT_CODES = {"not refuted": 0, "refuted": 1, "undecided": 3}


@click.command("audit", short_help="Audit a mechanism: refuted, not refuted or undecided.")
@click.argument("target")
@click.option(
    "--claim", required=True, help="eps=1 | eps=1,delta=1e-6 | mu=1 | rho=0.1 | order=2,eps=0.5"
)
@click.option("--relation", type=click.Choice(RELATIONS), help="Which datasets are neighbours.")
@click.option(
    "--records",
    metavar="DOMAIN",
    help="What a record may be: floats:LOW:HIGH | integers:LOW:HIGH | categories:A,B,C | "
    "vectors:LENGTH:LOW:HIGH",
)
@click.option(
    "--max-records", type=int, metavar="N", help="The largest dataset (10 records if not given)."
)
@click.option("--min-records", type=int, metavar="N", help="The smallest dataset.")
@click.option("--length", type=int, metavar="N", help="For query-answers: how many answers.")
@click.option(
    "--sensitivity",
    type=float,
    metavar="S",
    help="For query-answers: how far an answer may move (1).",
)
@click.option(
    "--pair",
    "pairs",
    multiple=True,
    metavar="JSON",
    help="Only this pair, such as '[[0], [0, 1]]'; may be repeated.",
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=1e-6,
    show_default=True,
    metavar="A",
    help="The chance of accusing a mechanism that keeps its claim.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    metavar="N",
    help="At most so many draws (300000 if not given).",
)
@click.option(
    "--seconds", type=click.FloatRange(min=0, min_open=True), metavar="S", help="At most so long."
)
@click.option(
    "--seed", type=click.IntRange(min=0), metavar="N", help="The same seed gives the same audit."
)
@click.option(
    "--one-at-a-time", is_flag=True, help="TARGET gives one output a call: f(data) or f(data, rng)."
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Save the audit as JSON.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the audit as JSON.")
@click.option("--quiet", is_flag=True, help="Print the verdict's line only, and no progress.")
@click.pass_context
def audit_command(ctx: click.Context, /, **options: Any) -> None:
    """Audit TARGET, a mechanism named pkg.module:function or file.py:function.

    The function draws `size` outputs for one dataset: f(data, size, rng) or f(data, size).

    \b
    Exit codes: 0 not refuted, 1 refuted, 2 error, 3 undecided.

    \b
    Example:
      dpaudit audit dpaudit.mechanisms:ClippedSum --claim eps=1 \\
        --records floats:-1:1 --relation replace-one
    """
    output: Path | None = options["output"]
    if output is not None and not output.absolute().parent.is_dir():
        raise Refusal(f"--output: there is no folder {str(output.absolute().parent)!r}.")
    audit = _run(options)
    _show(audit, as_json=options["as_json"], quiet=options["quiet"])
    if output is not None:
        _save(audit, output)
    ctx.exit(EXIT_CODES[audit.verdict.value])


def _run(options: dict[str, Any]) -> Audit:
    claim = read_claim(options["claim"])
    names = Neighbourhood.__slots__
    neighbours = read_neighbours(Neighbourhood(**{name: options[name] for name in names}))
    mechanism = read_mechanism(options["target"], one_at_a_time=options["one_at_a_time"])

    from dpaudit.auditing import audit
    from dpaudit.mechanism import InvalidMechanism
    from dpaudit.returned import InvalidOutput

    quiet = nullcontext() if options["quiet"] else following(getattr(claim, "symbol", None))
    try:
        with _health_warnings_later() as later, quiet as progress:
            found: Audit = audit(
                mechanism,
                claim,
                neighbours,
                alpha=options["alpha"],
                samples=options["samples"],
                seconds=options["seconds"],
                rng=options["seed"],
                progress=progress,
            )
    except (InvalidMechanism, InvalidOutput) as error:
        raise Refusal(with_notes(error)) from error
    for message in later:
        if message not in found.warnings:
            click.echo(f"warning: {message}", err=True)
    return found


@contextmanager
def _health_warnings_later() -> Iterator[list[str]]:
    """Keep health warnings out of the progress line; the report lists them.

    Other warnings are the user's own and are shown as ever.
    """
    from dpaudit.mechanism import HealthWarning

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


def _show(audit: Audit, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        from dpaudit.evidence.saving import audit_text

        click.echo(audit_text(audit), nl=False)
    else:
        show_audit(audit, short=quiet)


def _save(audit: Audit, path: Path) -> None:
    try:
        audit.save(path)
    except OSError as error:
        raise Refusal(f"--output: the audit above could not be saved: {error}.") from error
