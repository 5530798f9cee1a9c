"""The command line in a test: run a command, read its one line of an error, fake the audit."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from click.testing import CliRunner, Result

from dpaudit import __version__
from dpaudit.claims import PureDP
from dpaudit.cli import main
from dpaudit.neighbours import Pair
from dpaudit.results import Audit, Evidence, PairRecord, Progress, Verdict

ANSWER = Audit(
    mechanism="ClippedSum",
    claim=PureDP(1.0),
    verdict=Verdict.NOT_REFUTED,
    lower_bound=0.9,
    counterexample=None,
    evidence=Evidence(trace=((10, 0.5),), log_wealth=0.5, peak=0.5),
    samples=1000,
    seconds=0.5,
    alpha=1e-6,
    rng_seed=7,
    pairs_tried=2,
    neighbours="replace one of at most 5 records of floats(-1, 1)",
    strongest=PairRecord(
        pair=Pair(np.array([1.0]), np.array([-1.0])), samples=1000, log_wealth=0.5, growth=5e-4
    ),
    detectable=1.2,
    forecast=None,
    history=(),
    warnings=(),
    interrupted=False,
    version=__version__,
)
TARGET = "dpaudit.zoo:ClippedSum"
RECORDS = ("--records", "floats:-1:1", "--relation", "replace-one")
GOOD = ("audit", TARGET, "--claim", "eps=1", *RECORDS)


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


class FakeAudit:
    """Stands in for `dpaudit.auditing.audit`: keeps what it is given, and gives an answer."""

    def __init__(self) -> None:
        self.answer: Callable[[], Audit] = lambda: ANSWER
        self.mechanism: Any = None
        self.claim: Any = None
        self.neighbours: Any = None
        self.options: dict[str, Any] = {}
        self.progress: list[Progress] = []

    def __call__(self, mechanism: Any, claim: Any, neighbours: Any, **options: Any) -> Audit:
        self.mechanism, self.claim, self.neighbours = mechanism, claim, neighbours
        self.options = options
        for progress in self.progress:
            options["progress"](progress)
        return self.answer()
