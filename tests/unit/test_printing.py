"""Pages as PDFs: whole or not at all, with a browser or with a word on how to do without."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import error_line, run

import dpaudit
from dpaudit.errors import CannotPrint
from dpaudit.report import as_pdf, pages, printing, write_report

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the browsers here are scripts")

PRINTED = b"%PDF-1.4\nprinted\n%%EOF\n"
GOAL = 'goal=$(for word in "$@"; do echo "$word"; done | sed -n "s/^--print-to-pdf=//p")'
PRINTS = 'printf "%%PDF-1.4\\nprinted\\n%%%%EOF\\n" > "$goal"'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with an audit of samples, whose page is short."""
    monkeypatch.chdir(tmp_path)
    outputs = [0.0, 1.0] * 25
    dpaudit.compare_samples(outputs, outputs, dpaudit.PureDP(1), rng=1, name="one").save("one.json")
    monkeypatch.setattr(pages, "page_text", lambda audit, **more: f"<p>{audit.mechanism}</p>")
    return tmp_path


@pytest.fixture
def browser(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Path]:
    """Puts a browser on the path that does what its lines say, and nothing else beside it."""
    folder = tmp_path_factory.mktemp("browsers")
    tools = folder / "tools"
    tools.mkdir()
    for name in ("sh", "sed", "sleep"):
        for home in os.environ["PATH"].split(os.pathsep):
            if (found := Path(home, name)).exists():
                (tools / name).symlink_to(found)
                break
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{tools}")

    def make(*lines: str) -> Path:
        script = folder / "chromium"
        script.write_text("\n".join(("#!/bin/sh", f'echo "$@" >> {folder}/calls', GOAL, *lines)))
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return folder

    return make


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_name_that_ends_in_pdf_is_printed(here: Path, browser: Any) -> None:
    folder = browser(PRINTS)
    write_report(dpaudit.load("one.json"), here / "audit.PDF")
    assert (here / "audit.PDF").read_bytes() == PRINTED
    assert names(here) == ["audit.PDF", "one.json"]
    [call] = (folder / "calls").read_text().splitlines()
    assert "--headless" in call
    assert "--no-sandbox" not in call
    assert call.endswith("/page.html")


def test_the_command_prints_a_page(here: Path, browser: Any) -> None:
    browser(PRINTS)
    result = run("report", "one.json", "--pdf", "audit.pdf")
    assert (result.exit_code, result.output) == (0, "audit.pdf\n")
    assert (here / "audit.pdf").read_bytes() == PRINTED
    assert names(here) == ["audit.pdf", "one.json"]
    both = run("report", "one.json", "--pdf", "audit.pdf", "-o", "audit.html")
    assert both.output == "audit.pdf\naudit.html\n"
    assert (here / "audit.html").read_text() == "<p>one</p>"


def test_without_a_sandbox_the_browser_is_asked_once_more(here: Path, browser: Any) -> None:
    folder = browser(f'case "$*" in *--no-sandbox*) {PRINTS};; *) exit 1;; esac')
    assert as_pdf("<p>", beside=here / "audit.pdf") == PRINTED
    assert len((folder / "calls").read_text().splitlines()) == 2


def test_without_a_browser_the_command_says_how_to_print(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(here))
    line = error_line(run("report", "one.json", "--pdf", "audit.pdf"))
    assert "printed by Chromium or Chrome, and none is on the path" in line
    assert 'choose "Print" and there "Save as PDF"' in line
    assert names(here) == ["one.json"]
    with pytest.raises(CannotPrint, match="none is on the path"):
        dpaudit.load("one.json").report("audit.pdf")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (("echo no display >&2", "exit 3"), "it ended with 3 (no display"),
        (('printf "%%PDF-1.4\\nhalf" > "$goal"',), "it ended with 0"),
    ],
    ids=["it fails", "half a file"],
)
def test_a_browser_that_fails_leaves_the_old_file(
    here: Path, browser: Any, lines: tuple[str, ...], words: str
) -> None:
    browser(*lines)
    (here / "audit.pdf").write_text("of yesterday")
    line = error_line(run("report", "one.json", "--pdf", "audit.pdf"))
    assert "made no PDF" in line
    assert words in line
    assert "Save as PDF" in line
    assert (here / "audit.pdf").read_text() == "of yesterday"
    assert names(here) == ["audit.pdf", "one.json"]


def is_gone(pid: int) -> bool:
    """Whether a process ended, within seconds: init reaps what was killed."""
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.02)
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_browser_that_hangs_is_ended_with_its_children(
    here: Path, browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = browser("sleep 60 &", f"echo $$ $! > {here}/pids", "wait")
    monkeypatch.setattr(printing, "MAX_PRINTING_SECONDS", 0.3)
    with pytest.raises(CannotPrint, match=r"it took longer than 0 seconds"):
        as_pdf("<p>", beside=here / "audit.pdf")
    assert all(is_gone(int(pid)) for pid in (here / "pids").read_text().split())
    assert folder.exists()
    assert names(here) == ["one.json", "pids"]


def test_ctrl_c_ends_the_browser_and_leaves_nothing(
    here: Path, browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser("sleep 60")
    asked: list[subprocess.Popen[bytes]] = []
    plain = subprocess.Popen.wait

    def wait(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        asked.append(process)
        if len(asked) == 1:
            raise KeyboardInterrupt
        return plain(process, timeout)

    monkeypatch.setattr(subprocess.Popen, "wait", wait)
    result = run("report", "one.json", "--pdf", "audit.pdf")
    assert result.exit_code == 130
    assert "Interrupted." in result.output
    assert asked[0].returncode is not None
    assert names(here) == ["one.json"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((".", "--pdf", "audit.pdf"), "a PDF is the page of one audit"),
        (("one.json", "--pdf", "audit.html"), "does not end in .pdf"),
        (("one.json", "--pdf", "folder.pdf"), "is a folder, which a file would replace"),
        (("one.json", "--pdf", "no/audit.pdf"), "--pdf: there is no folder"),
    ],
)
def test_what_cannot_be_a_pdf_is_said_in_a_line(
    here: Path, arguments: tuple[str, ...], words: str
) -> None:
    (here / "folder.pdf").mkdir()
    assert words in error_line(run("report", *arguments))
