"""Which commit a folder is of, and whether its tree has changed since. Without git there is none.

Git is asked once per process and folder. Two seconds are enough for it, or nothing is known.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_SECONDS = 2.0
_SCRIPT = ".py"
_OID = "# branch.oid "


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, and whether the tree was `clean`: nothing changed, every Python file known."""

    name: str
    clean: bool


@cache
def commit_of(folder: Path) -> Commit | None:
    """The commit of the git tree that a folder lies in; None if it lies in none, or is ignored."""
    if not any((parent / ".git").exists() for parent in (folder, *folder.parents)):
        return None  # quicker than to ask git
    status = asked(folder, "status", "--porcelain=v2", "--branch", "--untracked-files=all")
    if status is None or asked(folder, "check-ignore", "--quiet", ".") is not None:
        return None
    lines = status.splitlines()
    names = [line.removeprefix(_OID) for line in lines if line.startswith(_OID)]
    if not names or names[0] == "(initial)":
        return None
    changed = [line for line in lines if not line.startswith(("# ", "? "))]
    unknown = [
        line for line in lines if line.startswith("? ") and line.strip('"').endswith(_SCRIPT)
    ]
    return Commit(names[0], clean=not changed and not unknown)


def asked(folder: Path, *words: str) -> str | None:
    """What a git command prints in a folder; None if it fails, or there is no git."""
    # of the folder alone, whatever hook we were called by, and without a lock
    settings = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", "-C", os.fspath(folder), *words],
            capture_output=True,
            check=False,
            env={**settings, "GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
