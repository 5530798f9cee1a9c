"""Shell completion: what is offered, in which shells, and that nothing heavy is loaded for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from commands import run

from dpaudit.cli.completion import SHELLS, zoo_names
from dpaudit.zoo import ZOO

PROBE = """
import sys
from dpaudit.cli import main
try:
    main(sys.argv[1:], prog_name="dpaudit")
except SystemExit:
    pass
print([name for name in ("numpy", "scipy", "sklearn") if name in sys.modules], file=sys.stderr)
"""


def completed(*words: str) -> tuple[list[str], str]:
    """What bash is offered for the last word, and the heavy packages that were loaded for it."""
    line = {"COMP_WORDS": " ".join(("dpaudit", *words)), "COMP_CWORD": str(len(words))}
    result = subprocess.run(
        [sys.executable, "-c", PROBE],
        env={**os.environ, **line, "_DPAUDIT_COMPLETE": "bash_complete"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return result.stdout.split(), result.stderr.strip()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("com",), ["plain,compare", "plain,completion"]),
        (("audit", "x", "--rel"), ["plain,--relation"]),
        (("audit", "x", "--relation", "re"), ["plain,replace-one"]),
        (("audit", "x", "--finder", "g"), ["plain,grid", "plain,gp"]),
        (("audit", "x", "--tester", "h"), ["plain,histogram", "plain,hockey-stick"]),
        (("audit", "my"), ["file,my"]),
        (("replay", "au"), ["file,au"]),
        (("replay", "audit.json", "my"), ["file,my"]),
        (("report", "au"), ["file,au"]),
        (("mechanisms", "svt"), [f"plain,SVT{number}" for number in range(1, 7)]),
        (("mechanisms", "no-such"), []),
        (("completion", ""), [f"plain,{shell}" for shell in SHELLS]),
    ],
    ids=" ".join,
)
def test_what_is_offered_is_offered_without_numpy(
    words: tuple[str, ...], offered: list[str]
) -> None:
    assert completed(*words) == (offered, "[]")


@pytest.mark.parametrize(
    "arguments", [(), ("--help",), ("replay", "--help"), ("completion", "fish")], ids=" ".join
)
def test_help_and_the_script_load_nothing_heavy(arguments: tuple[str, ...]) -> None:
    result = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert result.stderr.splitlines()[-1] == "[]"
    assert "dpaudit" in result.stdout + result.stderr


def test_every_command_can_be_asked_for_help() -> None:
    from dpaudit.cli import main

    for name in main.commands:
        result = run(name, "--help")
        assert result.exit_code == 0
        assert max(map(len, result.output.splitlines())) <= 80, name


def test_the_names_of_the_zoo_are_those_of_the_zoo() -> None:
    assert zoo_names() == sorted(ZOO)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_one_that_the_shell_can_read(shell: str) -> None:
    result = run("completion", shell)
    assert result.exit_code == 0
    assert result.output.startswith(f"# Completion of dpaudit in {shell}. To keep it:\n")
    assert "_DPAUDIT_COMPLETE" in result.output
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n"], input=result.stdout, text=True, check=True, timeout=60)


def test_an_unknown_shell_is_refused() -> None:
    result = run("completion", "csh")
    assert result.exit_code == 2
    assert "'bash', 'zsh', 'fish'" in result.output
