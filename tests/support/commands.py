"""The command line in a test: run a command, and read its one line of an error."""

import inspect
from typing import Any

from click.testing import CliRunner, Result

from dpaudit.cli import main


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="dpaudit")


def run_apart(*arguments: str) -> Result:
    """The same with `stdout` and `stderr` apart, which click 8.1 mixes unless it is told."""
    mixes = "mix_stderr" in inspect.signature(CliRunner).parameters
    options: dict[str, Any] = {"mix_stderr": False} if mixes else {}
    return CliRunner(**options).invoke(main, arguments, prog_name="dpaudit")


def error_line(result: Result) -> str:
    """The one line of an error: no usage text, no traceback."""
    said = result.output or result.stderr
    assert result.exit_code == 2, said
    assert said.startswith("Error: ")
    assert said.count("\n") == 1, said
    return said.removeprefix("Error: ").rstrip("\n")
