"""`dpaudit write`: a first pytest file for a mechanism, guessed from its code."""

from pathlib import Path

import click

from dpaudit.cli import options
from dpaudit.cli.failures import Refusal, refusing, user_code
from dpaudit.cli.screen import print_answer, refuse_output


@click.command("write", short_help="Write a pytest file that audits a mechanism.")
@options.target(required=True)
@click.option(
    "-o",
    "--output",
    type=options.FileName(folders=False),
    metavar="FILE",
    help="Write the test to FILE, such as test_my_sum.py, instead of printing it.",
)
@options.flag("--force", words="Overwrite FILE if it exists.")
def write_command(target: str, output: Path | None, force: bool) -> None:
    """Write a pytest file that audits TARGET: pkg.module:function, file.py:function or a method.

    It guesses the claim, the records and the relation from the names and defaults of parameters
    (epsilon, delta, rho, mu, sensitivity, lower, upper, bounds), from annotations and from the
    docstring. Comments give the source of each guess. What it cannot guess is a TODO that fails
    the test.

    \b
    Example:
      dpaudit write my_file.py:my_sum -o test_my_sum.py
      pytest test_my_sum.py
    """
    if output is not None:
        refuse_output(output)
        if output.exists() and not force:
            raise Refusal(f"--output: {output} exists. Add --force to overwrite it.")
    with user_code(target) as (stdout, _):
        from dpaudit.errors import InvalidMechanism, UnexpectedExit
        from dpaudit.testing import pytest_file, read_signature

        with refusing((InvalidMechanism, UnexpectedExit)):
            text = pytest_file(read_signature(target))
        if output is None:
            print_answer(text, stdout)
            return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Refusal(f"--output: {output} cannot be written: {error.strerror}.") from error
    left = text.count('"TODO: ')
    todo = f" ({left} to be filled in: look for TODO)" if left else ""
    click.echo(f"Wrote {output}{todo}. Read its guesses, then run: pytest {output}", err=True)
