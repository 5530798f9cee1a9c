"""A page as a PDF, printed by a headless Chromium or Chrome, if there is one on the path."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from dpaudit.errors import CannotPrint
from dpaudit.report.showing import one_line

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "chrome-headless-shell",
    "microsoft-edge",
    "msedge",
)
BY_HAND = (
    'Make the page as HTML, open it in any browser, choose "Print" and there "Save as PDF": it is '
    "laid out for paper."
)
_OPTIONS = (
    "--headless",
    "--disable-gpu",
    "--disable-dev-shm-usage",  # containers have little of it
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-sync",
    "--no-first-run",
    "--no-pdf-header-footer",
)
_NO_SANDBOX = "--no-sandbox"  # in containers there is none to have; a page runs no script
MAX_PRINTING_SECONDS = 120.0
_MAX_SAID = 200


def find_browser() -> str:
    """The path of a browser that can print."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise CannotPrint(
            f"a PDF is printed by Chromium or Chrome, and none is on the path. {BY_HAND}"
        )
    return found


def as_pdf(page: str, *, beside: str | os.PathLike[str]) -> bytes:
    """A page as a PDF.

    Drafts lie in a folder next to the file `beside`, where browsers may read them: some see no
    other process's temporary files. The folder is gone afterwards, whatever happens.
    """
    browser, home = find_browser(), Path(os.path.realpath(beside)).parent
    with tempfile.TemporaryDirectory(
        prefix="dpaudit-draft-", dir=home, ignore_cleanup_errors=True
    ) as drafts:
        folder = Path(drafts)
        source, goal, said = (folder / name for name in ("page.html", "page.pdf", "errors.txt"))
        source.write_bytes(page.encode("utf-8", "xmlcharrefreplace"))
        command = [
            browser,
            *_OPTIONS,
            f"--user-data-dir={folder / 'profile'}",
            f"--print-to-pdf={goal}",
        ]
        ended = ""
        for more in ((), (_NO_SANDBOX,)):
            ended = _run([*command, *more, source.as_uri()], said)
            if goal.is_file() and _is_whole(printed := goal.read_bytes()):
                return printed
        words = one_line(said.read_text(encoding="utf-8", errors="replace"), _MAX_SAID)
        raise CannotPrint(f"{browser} made no PDF: {ended}{words and f' ({words})'}. {BY_HAND}")


def _is_whole(printed: bytes) -> bool:
    return printed.startswith(b"%PDF-") and b"%%EOF" in printed[-1024:]


def _run(command: list[str], said: Path) -> str:
    """Run a browser to its end, which is said; it never outlives this call."""
    with said.open("wb") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,  # it has children; Ctrl-C comes to us alone
        )
        try:
            return f"it ended with {process.wait(MAX_PRINTING_SECONDS)}"
        except subprocess.TimeoutExpired:
            return f"it took longer than {MAX_PRINTING_SECONDS:.0f} seconds"
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
