"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path


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


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write a file: to a temporary one first, so that a crash loses nothing."""
    refuse_special_file(path)
    goal = Path(os.path.realpath(path))  # a link stays a link
    draft = goal.with_name(f".{goal.name}.{os.getpid()}.tmp")
    try:
        # Half of a character is written as its number, as HTML does; JSON is ASCII anyway.
        with draft.open("w", encoding="utf-8", errors="xmlcharrefreplace", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(goal)
    finally:
        draft.unlink(missing_ok=True)
