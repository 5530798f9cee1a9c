"""`dpaudit write`: a first pytest file for a mechanism, with what its code says of itself."""

from __future__ import annotations

from pathlib import Path

import click

from dpaudit.cli.completion import complete_files
from dpaudit.cli.failures import Refusal
from dpaudit.cli.files import refuse_special_output
from dpaudit.cli.options import FileName
from dpaudit.cli.screen import print_answer
from dpaudit.cli.user_code import user_code


@click.command("write", short_help="Write a pytest file that audits a mechanism.")
@click.argument("target", shell_complete=complete_files)
@click.option(
    "-o",
    "--output",
    type=FileName(folders=False),
    metavar="FILE",
    help="Write it to FILE, such as test_my_sum.py, instead of printing it.",
)
@click.option("--force", is_flag=True, help="Write over FILE if it is there.")
def write_command(target: str, output: Path | None, force: bool) -> None:
    """Write a pytest file that audits TARGET: pkg.module:function or file.py:function.

    The claim, the records and the relation are guessed from the names and defaults of parameters
    (epsilon, delta, rho, mu, sensitivity, lower, upper, bounds), annotations and the docstring.
    Comments say what each guess comes from; what cannot be guessed is a TODO that fails the test.

    \b
    Example:
      dpaudit write my_file.py:my_sum -o test_my_sum.py
      pytest test_my_sum.py
    """
    if output is not None:
        refuse_special_output(output)
        if output.exists() and not force:
            raise Refusal(f"--output: {output} is there already. Add --force to write over it.")
    with user_code(target) as answering:
        text = _text(target)
        if output is None:
            print_answer(text, answering.stdout)
            return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Refusal(f"--output: {output} cannot be written: {error.strerror}.") from error
    left = text.count('"TODO: ')
    todo = f" ({left} to be filled in: look for TODO)" if left else ""
    click.echo(f"Wrote {output}{todo}. Read its guesses, then run: pytest {output}", err=True)


def _text(target: str) -> str:
    from dpaudit.errors import InvalidMechanism, UnexpectedExit
    from dpaudit.testing import pytest_file, read_signature

    try:
        return pytest_file(read_signature(target))
    except (InvalidMechanism, UnexpectedExit) as error:
        raise Refusal(str(error)) from error
