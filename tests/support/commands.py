"""The command line in a test: run a command, and read its one line of an error."""

from click.testing import CliRunner, Result

from dpaudit.cli import main


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="dpaudit")


def error_line(result: Result) -> str:
    """The one line of an error: no usage text, no traceback."""
    assert result.exit_code == 2, result.output
    assert result.output.startswith("Error: ")
    assert result.output.count("\n") == 1, result.output
    return result.output.removeprefix("Error: ").rstrip("\n")
