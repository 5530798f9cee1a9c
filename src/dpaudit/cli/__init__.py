"""The command line. Its help loads nothing heavy: each command imports what it needs when it runs.

Exit codes are verdicts: 0 not refuted, 1 refuted or broken inside, 2 an error, 3 undecided or
suspected. So nothing else may leave with 1, the code that Python and click give to a crash and to
Ctrl-C.
"""

from typing import Any

import click

from dpaudit._version import __version__
from dpaudit.cli.audit import audit_command
from dpaudit.cli.export import export_command
from dpaudit.cli.failures import ERROR, INTERRUPTED, discard_stdout, end_answers, show_failure
from dpaudit.cli.inside import inside_command
from dpaudit.cli.replay import replay_command
from dpaudit.cli.samples import samples_command
from dpaudit.cli.saved import compare_command, report_command
from dpaudit.cli.store import store_command
from dpaudit.cli.training import training_command
from dpaudit.cli.verify import verify_command
from dpaudit.cli.write import write_command
from dpaudit.cli.zoo import demo_command, mechanisms_command


class Commands(click.Group):
    """The group of commands, of which none can end like a refutation by accident."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit):
            raise
        except (KeyboardInterrupt, click.Abort):
            click.echo("Interrupted.", err=True)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:  # whoever read our output went away
            discard_stdout()
            ctx.exit(ERROR)
        except SystemExit:  # of a library: we end otherwise
            ctx.exit(ERROR)
        except Exception as error:
            show_failure(error)
            ctx.exit(ERROR)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dpaudit", message="%(prog)s %(version)s")
def main() -> None:
    """Bet against a privacy claim with the mechanism's own outputs.

    An audit gives a certified counterexample, or the largest privacy loss it could certify. Begin
    with `dpaudit demo`.
    """


def program() -> None:
    """Run the command line as a process of its own, which says nothing after its answer."""
    try:
        main(prog_name="dpaudit")
    finally:
        end_answers()


for command in (
    audit_command,
    compare_command,
    demo_command,
    export_command,
    inside_command,
    mechanisms_command,
    replay_command,
    report_command,
    samples_command,
    store_command,
    training_command,
    verify_command,
    write_command,
):
    main.add_command(command)
