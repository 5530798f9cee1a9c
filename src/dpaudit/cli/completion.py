"""`dpaudit completion`: the script that lets a shell complete our commands, options and names."""

from __future__ import annotations

import ast
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_DPAUDIT_COMPLETE"  # click's name for it
START_FILES = {"bash": "~/.bashrc", "zsh": "~/.zshrc"}


@click.command("completion", short_help="Print the script that completes dpaudit in a shell.")
@click.argument("shell", type=click.Choice(SHELLS))
def completion_command(shell: str) -> None:
    """Print the script by which SHELL completes commands, options and names of dpaudit.

    \b
    Try it in this shell:
      bash, zsh   eval "$(dpaudit completion bash)"   (or zsh)
      fish        dpaudit completion fish | source
    The first lines of the script say how to keep it.
    """
    from dpaudit.cli import main

    kind = get_completion_class(shell)
    assert kind is not None  # click knows all of SHELLS
    click.echo(_instructions(shell))
    click.echo(kind(main, {}, "dpaudit", VARIABLE).source().strip("\n"))


def _instructions(shell: str) -> str:
    if shell == "fish":
        return (
            "# Completion of dpaudit in fish. To keep it:\n"
            "#   dpaudit completion fish > ~/.config/fish/completions/dpaudit.fish"
        )
    return (
        f"# Completion of dpaudit in {shell}. To keep it:\n"
        f"#   dpaudit completion {shell} > ~/.dpaudit-complete.{shell}\n"
        f"#   echo '. ~/.dpaudit-complete.{shell}' >> {START_FILES[shell]}"
    )


def complete_mechanisms(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The names of the zoo that begin so, in upper or lower case."""
    start = incomplete.lower()
    return [CompletionItem(name) for name in zoo_names() if name.lower().startswith(start)]


def complete_files(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Files: a TARGET may be a function in one of them."""
    return [CompletionItem(incomplete, type="file")]


def zoo_names() -> list[str]:
    """The names of the zoo's mechanisms, read from its source: importing it would load numpy."""
    folder = Path(__file__).resolve().parents[1] / "zoo"
    found = []
    for file in folder.glob("[!_]*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                found += [str(name) for name in ast.literal_eval(node.value)]
    return sorted(found)
