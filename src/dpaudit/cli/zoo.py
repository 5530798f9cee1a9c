"""`dpaudit mechanisms`, the zoo as a table or one by one, and `dpaudit demo`, two of it audited."""

from __future__ import annotations

import ast
import difflib
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from dpaudit.cli.failures import Refusal
from dpaudit.cli.screen import WIDTH, console, followed, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpaudit.claims import ApproxDP, PureDP, RenyiDP
    from dpaudit.results import Audit
    from dpaudit.zoo import ZooEntry

MAX_TABLE_COLUMNS = 120
MIN_COLUMNS_FOR_BUGS = 110  # of the terminal
DEMO_SAMPLES = 100_000
DEMO_SEED = 7
DEMO = {
    "ClippedSum": "a sum of numbers in [-1, 1] with noise for a change of 1. It claims 1-DP, "
    "but replacing a record can change the sum by 2.",
    "LaplaceCount": "a count with Laplace noise. It claims 1-DP and keeps it, just.",
}
NEXT = """\
Next:
  dpaudit mechanisms              honest and broken mechanisms to audit
  dpaudit audit --help            audit one of your own:

    dpaudit audit my_file.py:my_function --claim eps=1 \\
      --records floats:0:1 --relation add-or-remove-one

  In Python:

    audit = dpaudit.audit(my_function, dpaudit.PureDP(1.0),
                          dpaudit.add_or_remove_one(dpaudit.floats(0, 1)))
    print(audit)"""


@click.command("demo", short_help="Audit a broken and an honest mechanism, to see how it looks.")
@click.pass_context
def demo_command(ctx: click.Context) -> None:
    """Audit a mechanism that breaks its claim and one that keeps it.

    The exit code is 0 if the verdicts are as expected, else 1.
    """
    from dpaudit.auditing import audit
    from dpaudit.zoo import ZOO

    as_expected = True
    for number, (name, introduction) in enumerate(DEMO.items(), start=1):
        entry, title = ZOO[name], f"{number}. {name}:"
        words = textwrap.fill(f"{title} {introduction}", WIDTH)
        click.echo(words.replace(title, click.style(title, bold=True), 1) + "\n")
        asked = (entry.factory(), entry.claim, entry.neighbours())
        with followed(entry.claim.symbol) as progress:
            found: Audit = audit(*asked, samples=DEMO_SAMPLES, rng=DEMO_SEED, progress=progress)
        show(found)
        click.echo()
        as_expected &= found.verdict.value == ("not refuted" if entry.keeps_claim else "refuted")
    click.echo(NEXT)
    ctx.exit(0 if as_expected else 1)


def zoo_names() -> list[str]:
    """The names of the zoo's mechanisms, read from its source: importing it would load numpy."""
    folder = Path(__file__).resolve().parents[1] / "zoo"
    return sorted(
        str(name)
        for file in folder.glob("[!_]*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        for name in ast.literal_eval(node.value)
    )


def _complete(ctx: click.Context, param: click.Parameter, start: str) -> list[CompletionItem]:
    """The names of the zoo that begin so, in upper or lower case."""
    return [CompletionItem(name) for name in zoo_names() if name.lower().startswith(start.lower())]


@click.command("mechanisms", short_help="List honest and broken mechanisms to try dpaudit on.")
@click.argument("name", required=False, shell_complete=_complete)
def mechanisms_command(name: str | None) -> None:
    """List the zoo of honest and broken mechanisms, or show the one called NAME in full."""
    from dpaudit.zoo import GROUPS, ZOO

    if name is None:
        _table(GROUPS)
        return
    by_lower = {known.lower(): entry for known, entry in ZOO.items()}
    if name.lower() not in by_lower:
        close = difflib.get_close_matches(name.lower(), by_lower, n=3)
        hint = f"Did you mean {', '.join(by_lower[each].name for each in close)}?" if close else ""
        raise Refusal(f"no mechanism {name!r}. {hint or 'See: dpaudit mechanisms'}")
    _one(by_lower[name.lower()])


def _table(groups: Sequence[tuple[ZooEntry, ...]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    screen = console()
    wide = screen.width >= MIN_COLUMNS_FOR_BUGS
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    table.width = min(screen.width, MAX_TABLE_COLUMNS) if wide else None
    table.add_column("name", no_wrap=True)
    table.add_column("claim", no_wrap=True)
    table.add_column("keeps\nit")
    table.add_column("true\nepsilon", justify="right", no_wrap=True)
    if wide:
        table.add_column("bug")
    for entries in groups:
        for entry in entries:
            keeps, epsilon = _truth(entry)
            verdict = Text(keeps, style="" if entry.keeps_claim else "bold red")
            cells = (entry.name, str(entry.claim), verdict, epsilon)
            table.add_row(*cells, *([entry.bug] if wide else []), end_section=entry is entries[-1])
    screen.print(table)
    screen.print("One in full, with its bug and how to audit it: dpaudit mechanisms NAME")


def _one(entry: ZooEntry) -> None:
    rows = [
        ("claim", str(entry.claim)),
        *zip(("keeps it", "true epsilon"), _truth(entry), strict=True),
        ("bug", entry.bug or "none"),
        ("source", entry.source),
        ("neighbours", entry.neighbours().describe()),
        ("pair", str(entry.pair)),
    ]
    click.echo(click.style(entry.name, bold=True))
    for label, text in rows:
        margin = f"  {label:<14}"
        lines = textwrap.wrap(text, WIDTH - len(margin)) or [""]
        click.echo(margin + f"\n{' ' * len(margin)}".join(lines))
    click.echo("\nAudit it:")
    click.echo(_command(entry))


def _truth(entry: ZooEntry) -> tuple[str, str]:
    """Whether it keeps its claim, and the epsilon that does hold."""
    from dpaudit.bounds import round_up

    epsilon = entry.true_epsilon
    shown = "unknown" if epsilon is None else f"{round_up(epsilon, 5):.5g}"
    return "yes" if entry.keeps_claim else "no", shown


def _command(entry: ZooEntry) -> str:
    """The command that audits it, or the Python where a command cannot express it."""
    options = _options(entry)
    if not isinstance(entry.factory, type) or options is None:
        return (
            f'  entry = dpaudit.zoo.ZOO["{entry.name}"]\n'
            "  dpaudit.audit(entry.factory(), entry.claim, entry.neighbours())"
        )
    start, claim = f"  dpaudit audit dpaudit.zoo:{entry.name}", _claim(entry.claim)
    lines = [f"{start} --claim {claim}"]
    if len(lines[0]) > WIDTH - 2:
        lines = [start, f"--claim {claim}"]
    return " \\\n    ".join([*lines, *options])


def _options(entry: ZooEntry) -> tuple[str, str] | None:
    """The options for its neighbours, on two lines; None where options cannot express them."""
    from dpaudit.domains import FloatRange, IntegerRange
    from dpaudit.neighbours import AddOrRemove, QueryAnswers, Replace, query_answers

    match entry.neighbours():
        case QueryAnswers(length=length, sensitivity=moved) as answers:
            if answers != query_answers(length, moved):
                return None
            return "--relation query-answers", f"--length {length} --sensitivity {moved:.12g}"
        case Replace(domain=domain, max_records=most, min_records=least, apart=1):
            name, fewest = "replace-one", 1
        case AddOrRemove(domain=domain, max_records=most, min_records=least, apart=1):
            name, fewest = "add-or-remove-one", 0
        case _:
            return None
    match domain:
        case FloatRange(low=low, high=high):
            records = f"floats:{low:.12g}:{high:.12g}"
        case IntegerRange(low=low, high=high):
            records = f"integers:{low}:{high}"
        case _:
            return None
    at_least = f" --min-records {least}" if least != fewest else ""
    return f"--records {records} --relation {name}", f"--max-records {most}{at_least}"


def _claim(claim: PureDP | ApproxDP | RenyiDP) -> str:
    """The claim as the option `--claim` reads it."""
    fields = claim.to_json().items()
    named = [(name.replace("epsilon", "eps"), value) for name, value in fields if name != "kind"]
    return ",".join(f"{name}={str(value).removesuffix('.0')}" for name, value in named)
