"""`dpaudit mechanisms`: the zoo, as a table or one by one."""

from __future__ import annotations

import difflib
import textwrap
from typing import TYPE_CHECKING

import click

from dpaudit.cli.completion import complete_mechanisms
from dpaudit.cli.failures import Refusal
from dpaudit.cli.screen import WIDTH, console

if TYPE_CHECKING:
    from dpaudit.claims import ApproxDP, PureDP, RenyiDP
    from dpaudit.domains import Domain
    from dpaudit.zoo import ZooEntry

WIDEST = 120  # of the table, in a wide terminal
WIDE = 110  # from here on there is room for the bugs


@click.command("mechanisms", short_help="List the honest and broken mechanisms to try it on.")
@click.argument("name", required=False, shell_complete=complete_mechanisms)
def mechanisms_command(name: str | None) -> None:
    """List the zoo of honest and broken mechanisms, or show the one called NAME in full."""
    from dpaudit.zoo import ROOMS, ZOO

    if name is None:
        _table([room.ENTRIES for room in ROOMS])
        return
    by_lower = {known.lower(): entry for known, entry in ZOO.items()}
    if name.lower() not in by_lower:
        close = difflib.get_close_matches(name.lower(), by_lower, n=3)
        hint = f"Did you mean {', '.join(by_lower[each].name for each in close)}?" if close else ""
        raise Refusal(f"no mechanism {name!r}. {hint or 'See: dpaudit mechanisms'}")
    _one(by_lower[name.lower()])


def _table(rooms: list[tuple[ZooEntry, ...]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    screen = console()
    wide = screen.width >= WIDE
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    table.width = min(screen.width, WIDEST) if wide else None
    table.add_column("name", no_wrap=True)
    table.add_column("claim", no_wrap=True)
    table.add_column("keeps\nit")
    table.add_column("true\nepsilon", justify="right", no_wrap=True)
    if wide:
        table.add_column("bug")
    for entries in rooms:
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
    """The command that audits it, or the Python where a command cannot say it."""
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
    """The options of its neighbours, on two lines; None where there are none that say it."""
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
    text = _domain(domain)
    at_least = f" --min-records {least}" if least != fewest else ""
    sizes = f"--max-records {most}{at_least}"
    return None if text is None else (f"--records {text} --relation {name}", sizes)


def _domain(domain: Domain) -> str | None:
    from dpaudit.domains import FloatRange, IntegerRange

    match domain:
        case FloatRange(low=low, high=high):
            return f"floats:{low:.12g}:{high:.12g}"
        case IntegerRange(low=low, high=high):
            return f"integers:{low}:{high}"
    return None


def _claim(claim: PureDP | ApproxDP | RenyiDP) -> str:
    """The claim as the option `--claim` reads it."""
    fields = claim.to_json().items()
    named = [(name.replace("epsilon", "eps"), value) for name, value in fields if name != "kind"]
    return ",".join(f"{name}={str(value).removesuffix('.0')}" for name, value in named)
