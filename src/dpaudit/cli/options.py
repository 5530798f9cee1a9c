"""The options that commands share, and the types of their values."""

from __future__ import annotations

import math
import os
import re
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

MAX_QUOTED_CHARACTERS = 80  # of what was typed, in an error
CLAIMS = "eps=1 | eps=1,delta=1e-6 | mu=1 | rho=0.1 | order=2,eps=0.5"
BETTING = "betting"
# The batch testers of dpaudit.testers that need no argument, by class.
TESTER_CLASSES = (
    "HistogramTester",
    "HockeyStickTester",
    "RenyiTester",
    "MMDTester",
    "StatDP",
    "DPSniper",
    "DeltaSiege",
    "NearestNeighbours",
    "SequentialMMD",
    "APT",
    "KernelRenyi",
    "PrivacyLossBounds",
    "FiniteOutputs",
)


def name_of_tester(tester: str) -> str:
    """How `--tester` calls the tester of a class.

    >>> [name_of_tester(each) for each in ("HockeyStickTester", "MMDTester", "DPSniper", "StatDP")]
    ['hockey-stick', 'mmd', 'dp-sniper', 'stat-dp']
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", tester)
    return words.lower().removesuffix("-tester")


TESTERS = {name_of_tester(each): each for each in TESTER_CLASSES}


class FileName(click.Path):
    """A file that may exist or not; what cannot be a file's name is refused, and so is a device.

    Reading a device may never end, and writing a file in its place would destroy it.
    """

    def __init__(self, *, to_read: bool = False, folders: bool = True) -> None:
        super().__init__(dir_okay=folders, path_type=Path)
        self.to_read = to_read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            mode = os.stat(value).st_mode
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            mode = 0
        except (OSError, ValueError) as error:  # too long, or with characters that no name has
            why = error.strerror if isinstance(error, OSError) else error
            self.fail(f"{short_text(value)} cannot be the name of a file: {why}.", param, ctx)
        if self.to_read and (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)):
            self.fail(f"{short_text(value)} is a device. Name a file.", param, ctx)
        return super().convert(value, param, ctx)


class FiniteFloat(click.FloatRange):
    """A number in a range, neither NaN nor infinite."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number.", param, ctx)
        return number


class Address(click.types.StringParamType):
    """Where a Dask scheduler listens: tcp://HOST:PORT."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not re.fullmatch(r"(\w+://)?([\w.-]+|\[[\da-fA-F:.]+\]):\d{1,5}", value):
            wanted = "an address such as tcp://HOST:8786"
            self.fail(f"must be {wanted}, got {short_text(value)}.", param, ctx)
        return value


def short_text(value: object) -> str:
    """The beginning of what was typed, in one line of plain characters."""
    shown = ascii(str(value))
    return shown if len(shown) <= MAX_QUOTED_CHARACTERS else f"{shown[:MAX_QUOTED_CHARACTERS]}..."


def target(*, required: bool) -> Callable[[Command], Command]:
    """TARGET, the user's code, which may be in a file."""
    return click.argument("target", required=required, shell_complete=click.Path().shell_complete)


def claim(words: str, *, required: bool = False) -> Callable[[Command], Command]:
    """What the mechanism claims: `--claim`."""
    return click.option("--claim", required=required, help=f"{words}: {CLAIMS}")


def alpha(
    *, default: float | None = 1e-6, show_default: str | bool = True
) -> Callable[[Command], Command]:
    """How sure a refutation is: `--alpha`."""
    return click.option(
        "--alpha",
        type=FiniteFloat(0, 1, min_open=True, max_open=True),
        default=default,
        show_default=show_default,
        metavar="A",
        help="The largest chance of refuting a claim that holds.",
    )


def flag(*names: str, words: str) -> Callable[[Command], Command]:
    """An option that is there or not."""
    return click.option(*names, is_flag=True, help=words)


def as_json(words: str) -> Callable[[Command], Command]:
    """For other programs: `--json`."""
    return flag("--json", "as_json", words=words)


def count(
    name: str,
    words: str,
    *,
    least: int | None = None,
    most: int | None = None,
    metavar: str = "N",
) -> Callable[[Command], Command]:
    """A whole number, from `least` to `most`."""
    kind = int if least is None else click.IntRange(min=least, max=most)
    return click.option(name, type=kind, metavar=metavar, help=words)


def positive(name: str, words: str) -> Callable[[Command], Command]:
    """A finite number S above 0."""
    return click.option(name, type=FiniteFloat(min=0, min_open=True), metavar="S", help=words)


def choice(name: str, *choices: str, words: str) -> Callable[[Command], Command]:
    """One of these words, by default the first."""
    kind, default = click.Choice(choices), choices[0]
    return click.option(name, type=kind, default=default, show_default=True, help=words)


tester = click.option(
    "--tester",
    type=click.Choice((BETTING, *TESTERS)),
    default=BETTING,
    show_default=True,
    metavar="NAME",
    help="How to test outputs: bet on them as they come, or run a batch test on all at once: "
    f"{', '.join(TESTERS)}.",
)
seed = count("--seed", "The same seed gives the same result (rng= in Python).", least=0)
floats = choice(
    "--floats",
    *("real", "bits"),
    words="Read floats as real numbers, or as bits, which also tests how they are rounded.",
)
certify = choice(
    "--certify",
    *("fast", "sharp"),
    words="After a refutation: as many draws as the counterexample is worth, or 80000 and more.",
)
quiet = flag("--quiet", words="Print only the line with the verdict, and no progress.")
one_at_a_time = flag(
    "--one-at-a-time", words="TARGET returns one output per call: f(data) or f(data, rng)."
)
on_error = choice(
    "--on-error",
    *("output", "raise"),
    words="If TARGET raises an error, count it as an output (unless every draw raises), or stop.",
)
workers = count("--workers", "Make the calls of TARGET in N processes.", least=1, most=1_000)
dask = click.option(
    "--dask",
    type=Address(),
    metavar="SCHEDULER",
    help="Make them on a Dask cluster: tcp://HOST:8786.",
)
isolate = flag("--isolate", words="Make them in a process of its own, which may crash.")
transcripts = count(
    "--transcripts", "The most recordings (default 400 for a pure claim, else 2000).", least=1
)
call_seconds = positive(
    "--call-seconds", "End calls that take longer, with --isolate or --workers."
)
store = click.option(
    "--store",
    type=FileName(folders=False),
    metavar="FILE",
    help="Keep every draw in FILE: the same command goes on where it was killed.",
)
output = click.option(
    "--output",
    type=FileName(folders=False),
    metavar="FILE",
    help="Save the audit to FILE, as JSON.",
)


def read_tester(name: str, trials: int | None = None) -> BatchTester | Trials | None:
    """The tester of `--tester`, with as many trials as `--trials` says; None for bets."""
    if name == BETTING:
        if trials is None:
            return None
        raise Refusal(
            f"--trials does not go with --tester {BETTING}, which shares its draws out among the "
            "pairs by what they have shown. Leave it out."
        )
    from dpaudit import testers

    batch: BatchTester = getattr(testers, TESTERS[name])()
    return batch if trials is None else testers.Trials(batch, count=trials)


def read_floats(values: dict[str, Any]) -> FloatView:
    """What `--floats` says, if it goes with `--tester`."""
    view: FloatView = values["floats"]
    if view != "real" and values["tester"] != BETTING:
        raise Refusal(
            f"--floats {view} goes with --tester {BETTING} only, got {values['tester']}. "
            "Leave out one of them."
        )
    return view
