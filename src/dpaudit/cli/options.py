"""The options that commands share, and what they mean."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dpaudit.cli.failures import Refusal

if TYPE_CHECKING:
    from dpaudit.outputs import FloatView
    from dpaudit.testers import BatchTester, Trials

Command = TypeVar("Command", bound=Callable[..., Any])

MOST_SHOWN = 80  # letters of what was typed, in an error
BETTING = "betting"
TESTERS = {  # the public name of each batch tester
    "histogram": "HistogramTester",
    "hockey-stick": "HockeyStickTester",
    "renyi": "RenyiTester",
    "mmd": "MMDTester",
}


class FileName(click.Path):
    """A file that may be there or not; a name that no file can have is refused, and a device.

    Reading a device may never end, and writing a file in its place would be its end.
    """

    def __init__(self, *, to_read: bool = False, folders: bool = True) -> None:
        super().__init__(dir_okay=folders, path_type=Path)
        self.to_read = to_read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            mode = os.stat(value).st_mode
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            mode = 0
        except (OSError, ValueError) as error:  # too long, or with letters that no name has
            why = error.strerror if isinstance(error, OSError) else error
            self.fail(f"{short_text(value)} is no name of a file: {why}.", param, ctx)
        if self.to_read and (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)):
            self.fail(f"{short_text(value)} is a device. Name a file.", param, ctx)
        return super().convert(value, param, ctx)


class FiniteFloat(click.FloatRange):
    """A number in a range, which NaN and the infinities are not."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number.", param, ctx)
        return number


def short_text(value: object) -> str:
    """The beginning of what was typed, in one line of plain letters."""
    shown = ascii(str(value))
    return shown if len(shown) <= MOST_SHOWN else f"{shown[:MOST_SHOWN]}..."


CLAIMS = "eps=1 | eps=1,delta=1e-6 | mu=1 | rho=0.1 | order=2,eps=0.5"


def claim_option(*, required: bool) -> Callable[[Command], Command]:
    """What is promised: `--claim`."""
    brought = "" if required else " (not needed where TARGET brings its own)"
    return click.option("--claim", required=required, help=f"{CLAIMS}{brought}")


def tester_options(command: Command) -> Command:
    """How it is tested: `--tester`, `--alpha`."""
    tester = click.option(
        "--tester",
        type=click.Choice((BETTING, *TESTERS)),
        default=BETTING,
        show_default=True,
        help="How outputs are tested: bets as they come, or one of the tests of a whole batch.",
    )
    return tester(alpha_option(default=1e-6)(command))


def alpha_option(
    *, default: float | None, shown: str | bool = True
) -> Callable[[Command], Command]:
    """How sure a refutation is: `--alpha`."""
    return click.option(
        "--alpha",
        type=FiniteFloat(0, 1, min_open=True, max_open=True),
        default=default,
        show_default=shown,
        metavar="A",
        help="The chance of accusing a mechanism that keeps its claim.",
    )


def seed_option(command: Command) -> Command:
    """What makes it repeatable: `--seed`."""
    return click.option(
        "--seed",
        type=click.IntRange(min=0),
        metavar="N",
        help="The same seed gives the same audit.",
    )(command)


def floats_option(command: Command) -> Command:
    """What a float is: `--floats`."""
    return click.option(
        "--floats",
        type=click.Choice(("real", "bits")),
        default="real",
        show_default=True,
        help="A float is a real number; or bits: how it is rounded is looked at too.",
    )(command)


def answer_options(command: Command) -> Command:
    """What becomes of the answer: `--output`, `--json`, `--quiet`."""
    output = click.option(
        "--output",
        type=FileName(folders=False),
        metavar="FILE",
        help="Save the audit as JSON.",
    )
    as_json = json_option("Print the audit as JSON.")
    quiet = quiet_option("Print the verdict's line only, and no progress.")
    return output(as_json(quiet(command)))


def json_option(words: str) -> Callable[[Command], Command]:
    """For machines: `--json`."""
    return click.option("--json", "as_json", is_flag=True, help=words)


def quiet_option(words: str) -> Callable[[Command], Command]:
    """For scripts: `--quiet`."""
    return click.option("--quiet", is_flag=True, help=words)


def one_at_a_time_option(command: Command) -> Command:
    """How the target is called: `--one-at-a-time`."""
    return click.option(
        "--one-at-a-time",
        is_flag=True,
        help="TARGET gives one output a call: f(data) or f(data, rng).",
    )(command)


def on_error_option(command: Command) -> Command:
    """What becomes of an error of the target: `--on-error`."""
    return click.option(
        "--on-error",
        type=click.Choice(("output", "raise")),
        default="output",
        help="Count an error of TARGET as an output if not every draw raises, or end with it "
        "(output).",
    )(command)


def read_tester(name: str) -> BatchTester | None:
    """The batch tester of `--tester`; None for bets."""
    if name == BETTING:
        return None
    from dpaudit import testers

    tester: BatchTester = getattr(testers, TESTERS[name])()
    return tester


def read_floats(options: dict[str, Any]) -> FloatView:
    """What `--floats` says, if it goes with `--tester`."""
    floats: FloatView = options["floats"]
    if floats != "real" and options["tester"] != BETTING:
        raise Refusal(
            f"--floats {floats} goes with --tester {BETTING} only, got {options['tester']}. "
            "Leave out one of them."
        )
    return floats


def read_trials(name: str, count: int | None) -> BatchTester | Trials | None:
    """The tester of `--tester` with as many trials as `--trials` says; None for bets."""
    tester = read_tester(name)
    if count is None:
        return tester
    if tester is None:
        raise Refusal(
            f"--trials does not go with --tester {BETTING}, which shares its draws out among the "
            "pairs as they promise. Leave it out."
        )
    from dpaudit.testers import Trials

    return Trials(tester, count=count)
