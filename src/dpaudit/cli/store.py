"""`dpaudit store`: what is in a store of draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpaudit.cli import options
from dpaudit.cli.failures import refusing

SHOWN = (  # of the header, in this order
    "mechanism",
    "parameters",
    "target",
    "claim",
    "neighbours",
    "finder",
    "tester",
    "alpha",
    "samples",
    "floats",
    "on_error",
    "certify",
    "seed",
)


@click.command("store", short_help="Show what a store of draws holds.")
@click.argument("file", type=options.FileName(to_read=True, folders=False))
@options.as_json("Print it as JSON.")
def store_command(file: Path, as_json: bool) -> None:
    """Show which audit the draws in FILE belong to, how many there are, and what they are for."""
    from dpaudit.auditing import Store, Stream
    from dpaudit.errors import CannotUseStore

    with refusing(CannotUseStore), Store(file, to_read=True) as store:
        header, parts = store.header, store.summary()
    names = {str(int(stream)): stream.name.lower().replace("_", " ") for stream in Stream}
    draws = [
        {"for": names.get(kind, kind), "calls": calls, "draws": count}
        for kind, calls, count in parts
    ]
    if as_json:
        _print_json({"header": header, "draws": draws})
        return
    for name in (one for one in SHOWN if header.get(one) not in (None, "")):
        value = header[name]
        text = ", then ".join(map(str, value)) if isinstance(value, list) else str(value)
        if (name, text) == ("tester", "None"):
            text = "bets"
        if name == "parameters" and text.startswith("<function ") and text.endswith(">"):
            continue  # a function without constants is known by its name
        click.echo(f"{name.replace('_', ' '):<11} {_printable(text)}")
    click.echo()
    for part in draws:
        click.echo(
            f"{part['draws']:>13,} draws in {part['calls']:,} calls: {_printable(str(part['for']))}"
        )
    total = sum(count for _, _, count in parts)
    click.echo(f"{total:>13,} draws in all")


def _printable(text: str) -> str:
    """Without halves of characters, which only a damaged file has."""
    return text.encode(errors="replace").decode()


def _print_json(value: dict[str, Any]) -> None:
    import json

    click.echo(json.dumps(value, indent=2))
