"""`dpaudit audit`: one mechanism, one claim, one relation; the exit code is the verdict."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from dpaudit.cli import options
from dpaudit.cli.failures import Refusal, refusing, user_code
from dpaudit.cli.screen import followed, refuse_output, show
from dpaudit.cli.target import of_search, read_claim, read_neighbours, read_subject

if TYPE_CHECKING:
    from dpaudit.results import Audit

_SECONDS_TO_CONNECT = 10.0
EXIT_CODES = {"not refuted": 0, "refuted": 1, "undecided": 3, "suspected": 3}


@click.command("audit", short_help="Audit a mechanism: refuted, not refuted or undecided.")
@options.target(required=True)
@options.claim("The claim, unless TARGET brings one")
@of_search
@options.tester
@options.alpha()
@options.count(
    "--trials",
    "For a batch test: how many pairs to try (default: every --pair, or 20 of a search).",
    least=1,
)
@options.count("--samples", "The largest number of draws (default 300000).", least=1)
@options.positive("--seconds", "Stop after S seconds.")
@options.certify
@options.seed
@options.floats
@options.one_at_a_time
@options.on_error
@options.workers
@options.dask
@options.isolate
@options.call_seconds
@options.store
@options.output
@options.as_json("Print the audit as JSON.")
@options.quiet
@click.pass_context
def audit_command(ctx: click.Context, /, **values: Any) -> None:
    """Audit TARGET, named pkg.module:function, file.py:function or file.py:Class(epsilon=1).method.

    The function draws `size` outputs for one dataset: f(data, size, rng) or f(data, size). A
    dpaudit.Subject brings its own claim and neighbours, and so does an object of a library that
    dpaudit knows, such as an OpenDP measurement or a diffprivlib mechanism. Options override them.

    \b
    Exit codes: 0 not refuted, 1 refuted, 2 error, 3 undecided, suspected.

    \b
    Example:
      dpaudit audit dpaudit.zoo:ClippedSum --claim eps=1 \\
        --records floats:-1:1 --relation replace-one
    """
    answer(ctx, values, lambda: _run(values))


def answer(ctx: click.Context, values: dict[str, Any], run: Callable[[], Audit]) -> NoReturn:
    """Show and save the audit that `run` gives, as the options say, and end with its verdict."""
    output: Path | None = values["output"]
    if output is not None:
        refuse_output(output)
    name = values.get("target") or "a file of outputs"
    with user_code(name) as (stdout, ctrl_c):
        with _health_warnings_kept() as kept:
            audit = run()
        if audit.interrupted and not ctrl_c.pressed:
            raise Refusal(
                f"{name} raised KeyboardInterrupt, and nobody pressed Ctrl-C. It stopped before "
                "a verdict: let the search and the mechanism run, or raise an ordinary error."
            )
        for message in kept:
            if message not in audit.warnings:  # which the report lists
                click.echo(f"warning: {message}", err=True)
        show(audit, stdout, as_json=values["as_json"], short=values["quiet"])
        if output is not None:
            with refusing(OSError, "--output: the audit above could not be saved: ", end="."):
                audit.save(output)
    ctx.exit(EXIT_CODES[audit.verdict.value])


@contextmanager
def _health_warnings_kept() -> Iterator[list[str]]:
    """Keep health warnings out of the line of progress. Other warnings are shown at once."""
    from dpaudit.errors import HealthWarning, SlowMechanism

    kept: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always", HealthWarning)
        show = warnings.showwarning

        def keep(message: Any, category: type[Warning], *args: Any, **kwargs: Any) -> None:
            if issubclass(category, SlowMechanism):
                click.echo(f"warning: {message}", err=True)  # now: the end may be far
            elif issubclass(category, HealthWarning):
                kept.append(str(message))
            else:
                show(message, category, *args, **kwargs)

        warnings.showwarning = keep
        yield kept


def one_line_errors() -> AbstractContextManager[None]:
    """Turn errors about what was asked, or about outputs, into refusals without a traceback."""
    from dpaudit import errors

    expected = (
        errors.CannotUseStore,
        errors.DependentDraws,
        errors.InvalidCanaries,
        errors.InvalidMechanism,
        errors.InvalidOutput,
        errors.InvalidSamples,
        errors.MechanismDied,
        errors.Underpowered,
        errors.UnexpectedExit,
        errors.UnsupportedClaim,
    )
    return refusing(expected)


def _run(values: dict[str, Any]) -> Audit:
    claim = None if values["claim"] is None else read_claim(values["claim"])
    neighbours = read_neighbours(values)
    tester = options.read_tester(values["tester"], values["trials"])
    settings: dict[str, Any] = {} if tester is None else {"tester": tester}
    settings |= {
        name: values[name] for name in ("alpha", "samples", "seconds", "on_error", "certify")
    }
    settings |= {"floats": options.read_floats(values), "rng": values["seed"]}
    settings |= _where(values)
    one_at_a_time = values["one_at_a_time"]
    subject = read_subject(values["target"], claim, neighbours, one_at_a_time=one_at_a_time)

    from dpaudit.auditing import audit

    finder, symbol = values["finder"] or "auto", getattr(subject.claim, "symbol", None)
    following = nullcontext(None) if values["quiet"] else followed(symbol)
    asked = (subject.mechanism, subject.claim, subject.neighbours)
    with one_line_errors(), following as progress, _cluster(values["dask"]) as client:
        if client is not None:
            settings["executor"] = client
        found: Audit = audit(*asked, finder=finder, progress=progress or False, **settings)
    return found


def _where(values: dict[str, Any]) -> dict[str, Any]:
    """Where the calls are made and kept, as far as the options say; refused if they clash."""
    ours = values["workers"] is not None or values["isolate"]
    if values["dask"] is not None and ours:
        raise Refusal("--dask brings workers of its own. Leave out --workers and --isolate.")
    if values["call_seconds"] is not None and not ours:
        raise Refusal("--call-seconds needs --isolate or --workers: it ends processes of ours.")
    given = {name: values[name] for name in ("workers", "isolate", "call_seconds", "store")}
    return {name: value for name, value in given.items() if value not in (None, False)}


@contextmanager
def _cluster(address: str | None) -> Iterator[Any]:
    """A client of a Dask scheduler; None without an address."""
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise Refusal("--dask needs dask.distributed: pip install 'dpaudit[dask]'.") from error
    with refusing((OSError, ValueError), f"--dask {address}: "):
        client = Client(address, timeout=_SECONDS_TO_CONNECT)
    with client:
        yield client
