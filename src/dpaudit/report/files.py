"""Files that are written whole or not at all."""

from __future__ import annotations

import glob
import os
import secrets
import stat
import time
from contextlib import suppress
from pathlib import Path

_DRAFT = ".dpaudit-draft"  # how the name of a draft ends
_MAX_DRAFT_NAME = 40  # characters that it has of the file's own: a long name must not get longer
_LEFT_BEHIND_SECONDS = 3_600.0  # nobody writes for so long: the process was killed


def refuse_special_file(path: str | os.PathLike[str]) -> None:
    """Raise if there is something at this place that is not a plain file, such as a device."""
    if not os.path.exists(path) or os.path.isfile(path):  # a link to nothing does no harm
        return
    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
    }
    kind = kinds.get(stat.S_IFMT(os.stat(path).st_mode), "no plain file")
    raise FileExistsError(
        f"{os.fspath(path)} is {kind}, which a file would replace. Name a plain file, or one that "
        "is not there yet."
    )


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file: to a draft first, so that a crash loses nothing.

    Each writer has a draft of its own. So several may write to one path at once, and the last one
    wins. A draft of a process that was killed is removed the next time, once it is an hour old.
    """
    refuse_special_file(path)
    goal = Path(os.path.realpath(path))  # a link stays a link
    start = f".{goal.name[:_MAX_DRAFT_NAME]}."
    _remove_left_behind(goal.parent, start)
    draft = goal.with_name(f"{start}{secrets.token_hex(8)}{_DRAFT}")
    try:
        # Half of a character is written as its number, as HTML does; JSON is ASCII anyway.
        if isinstance(content, str):
            content = content.encode("utf-8", "xmlcharrefreplace")
        with draft.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(goal)
    finally:
        draft.unlink(missing_ok=True)


def _remove_left_behind(folder: Path, start: str) -> None:
    """Remove old drafts whose names start in this way."""
    with suppress(OSError, ValueError):
        for draft in folder.glob(f"{glob.escape(start)}*{_DRAFT}"):
            if time.time() - draft.stat().st_mtime > _LEFT_BEHIND_SECONDS:
                draft.unlink()
