"""The live line: where somebody watches, one at a time; silent in logs, tests and where told."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit.inside import InsideProgress
from dpaudit.report import counts_followed, followed, in_terminal, inside_line
from dpaudit.report.live import XDIST

PAIR = [([1.0], [0.0])]


def noisy(data: Any, size: int, rng: np.random.Generator) -> Any:
    return data[0] + rng.laplace(size=size)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


Watch = Callable[[], Terminal]


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """Makes standard error a terminal, once the test runs: pytest replaces it before."""
    for name, value in (("TERM", "xterm"), ("COLUMNS", "100")):
        monkeypatch.setenv(name, value)
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", XDIST):
        monkeypatch.delenv(name, raising=False)

    def watched() -> Terminal:
        screen = Terminal()
        monkeypatch.setattr(sys, "stderr", screen)
        return screen

    return watched


def audited(**options: Any) -> None:
    dpaudit.audit(noisy, dpaudit.PureDP(1.0), PAIR, samples=2_000, rng=1, **options)


def measured(**options: Any) -> None:
    dpaudit.measure_epsilon(noisy, [1.0], [0.0], samples=2_000, rng=1, **options)


def followed_inside(**options: Any) -> dpaudit.InsideAudit:
    def one(data: Any, rng: np.random.Generator) -> Any:
        return data[0] + rng.laplace()

    claim = options.pop("claim", dpaudit.PureDP(2.0))
    return dpaudit.audit_inside(one, claim, PAIR, transcripts=40, rng=1, **options)


SHOWN = {
    audited: " of 2000 draws, ",
    measured: " of 2000 draws, ",
    followed_inside: " of 40 transcripts, ",
}


@pytest.mark.parametrize("run", SHOWN)
def test_a_terminal_shows_a_line_and_takes_it_away(watch: Watch, run: Any) -> None:
    terminal = watch()
    run()
    text = terminal.getvalue()
    assert SHOWN[run] in text
    assert text.endswith("\x1b[2K")  # the line is erased
    assert max(len(line) for line in text.replace("\r", "\n").splitlines()) < 120


@pytest.mark.parametrize("run", SHOWN)
def test_silence(watch: Watch, monkeypatch: pytest.MonkeyPatch, run: Any) -> None:
    terminal = watch()
    run(progress=False)
    run(progress=lambda *told: None)
    assert terminal.getvalue() == ""
    monkeypatch.setenv("TERM", "dumb")
    run()
    assert terminal.getvalue() == ""
    log = io.StringIO()
    monkeypatch.setenv("FORCE_COLOR", "1")  # as continuous integration sets it
    monkeypatch.setattr(sys, "stderr", log)
    run()
    assert log.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", None)  # a program without a console
    run()
    with pytest.raises(TypeError, match="progress must be a function, False for silence"):
        run(progress=True)


def test_an_audit_inside_tells_what_its_transcripts_showed() -> None:
    told: list[InsideProgress] = []
    found = followed_inside(progress=told.append)
    assert found == followed_inside(progress=False)
    first = told[0]
    assert (first.transcripts, first.budget, first.pairs) == (1, 40, 1)
    assert first.allowed == 2.0
    assert found.worst is not None
    assert all(one.largest <= abs(found.worst.loss) for one in told if one.largest is not None)
    line = inside_line(replace(first, transcripts=10, seconds=2.0, largest=1.0, pair=""))
    assert line == "10 of 40 transcripts, 5/s, 6.0 s left, largest loss 1 of 2 allowed, pair 1"
    told.clear()
    followed_inside(progress=told.append, claim=dpaudit.ApproxDP(1.0, 1e-5))
    assert inside_line(told[0], width=200).endswith(f"evidence 0%, pair 1: {told[0].pair}")


def test_one_of_two_audits_is_shown(watch: Watch) -> None:
    watch()
    with followed(None, "epsilon") as first, followed(None, "epsilon") as second:
        assert first is not None
        assert second is None
    with counts_followed(None) as third:
        assert third is not None


def test_what_is_printed_elsewhere_stays_there(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch()
    file = io.StringIO()
    monkeypatch.setattr(sys, "stdout", file)
    with in_terminal() as (show, width):
        assert show is not None
        assert width == 77
        print("an answer")
    assert file.getvalue() == "an answer\n"


def test_a_notebook_updates_one_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Cell:
        def update(self, made: dict[str, str], *, raw: bool) -> None:
            shown.append(made["text/plain"])

    def display(made: dict[str, str], *, raw: bool, display_id: bool) -> Cell:
        shown.append(made["text/plain"])
        return Cell()

    shell = SimpleNamespace(kernel=object())
    module, inner = ModuleType("IPython"), ModuleType("IPython.display")
    vars(module)["get_ipython"] = lambda: shell
    vars(inner)["display"] = display
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", inner)
    audited()
    assert shown[0] == "drawing"
    assert " of 2000 draws" in shown[1]
    assert shown[-1] == ""
    shown.clear()
    shell.kernel = None  # IPython in a terminal, and here its output is captured
    audited()
    assert shown == []
