"""What a user asks the command line itself: help, the version, completion in a shell.

None of it loads anything heavy.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from commands import run

from dpaudit import __version__
from dpaudit.cli import main
from dpaudit.cli.zoo import zoo_names
from dpaudit.zoo import ZOO

PROBE = """
import sys
from dpaudit.cli import main
try:
    main(sys.argv[1:], prog_name="dpaudit")
except SystemExit:
    pass
heavy = ("numpy", "scipy", "sklearn", "rich")
print([name for name in heavy if name in sys.modules], file=sys.stderr)
"""


def probed(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process that ends with the heavy packages it loaded."""
    return subprocess.run(
        [sys.executable, "-c", PROBE, *arguments],
        env={**os.environ, "COLUMNS": "80", **variables},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )


def test_the_version() -> None:
    assert run("--version").output == f"dpaudit {__version__}\n"


@pytest.mark.parametrize("arguments", [(), *((name, "--help") for name in main.commands)])
def test_help_fits_in_80_columns_and_loads_nothing_heavy(arguments: tuple[str, ...]) -> None:
    result = probed(*arguments)
    said = (result.stdout + result.stderr).splitlines()
    assert result.stderr.splitlines()[-1] == "[]"
    assert said[0].startswith("Usage: dpaudit")
    assert max(map(len, said)) <= 80


def test_the_seed_is_said_to_be_rng_in_python() -> None:
    for command in ("audit", "samples", "replay"):
        assert "rng= in" in run(command, "--help").output


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("com",), ["plain,compare"]),
        (("audit", "x", "--rel"), ["plain,--relation"]),
        (("audit", "x", "--relation", "re"), ["plain,replace-one"]),
        (("audit", "x", "--finder", "g"), ["plain,grid", "plain,gp"]),
        (("audit", "x", "--tester", "h"), ["plain,histogram", "plain,hockey-stick"]),
        (("audit", "my"), ["file,my"]),
        (("write", "my"), ["file,my"]),
        (("replay", "au"), ["file,au"]),
        (("replay", "audit.json", "my"), ["file,my"]),
        (("report", "au"), ["file,au"]),
        (("mechanisms", "svt"), [f"plain,SVT{number}" for number in range(1, 7)]),
        (("mechanisms", "no-such"), []),
    ],
    ids=" ".join,
)
def test_what_is_offered_is_offered_without_numpy(
    words: tuple[str, ...], offered: list[str]
) -> None:
    line = {"COMP_WORDS": " ".join(("dpaudit", *words)), "COMP_CWORD": str(len(words))}
    result = probed(**line, _DPAUDIT_COMPLETE="bash_complete")
    assert (result.stdout.split(), result.stderr.strip()) == (offered, "[]")


def test_the_names_of_the_zoo_are_those_of_the_zoo() -> None:
    assert zoo_names() == sorted(ZOO)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_the_shell_can_read(shell: str) -> None:
    result = probed(_DPAUDIT_COMPLETE=f"{shell}_source")
    assert result.stderr.splitlines()[-1] == "[]"
    assert "_DPAUDIT_COMPLETE" in result.stdout
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n"], input=result.stdout, text=True, check=True, timeout=60)
