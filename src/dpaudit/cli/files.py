"""Audit files as arguments: one file, or a folder of them; what is wrong with one in one line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpaudit.cli.failures import Refusal

if TYPE_CHECKING:
    from dpaudit.results import Audit


def read_audit(path: Path) -> Audit:
    """The audit in a file."""
    from dpaudit.errors import InvalidAuditFile
    from dpaudit.results import load

    try:
        return load(path)
    except FileNotFoundError as error:
        raise Refusal(f"there is no file {str(path)!r}.") from error
    except InvalidAuditFile as error:
        raise Refusal(" ".join(str(error).split())) from error
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror}.") from error


def refuse_output(path: Path) -> None:
    """Refuse to write where something is that is not a plain file, or where there is no folder."""
    refuse_special_output(path)
    folder = path.absolute().parent
    if not folder.is_dir():
        raise Refusal(f"--output: there is no folder {str(folder)!r}.")


def refuse_special_output(path: Path) -> None:
    """Refuse to put a file in the place of a device, a pipe or a folder."""
    from dpaudit.report import refuse_special_file

    try:
        refuse_special_file(path)
    except FileExistsError as error:
        raise Refusal(f"--output: {error}") from error
    except (OSError, ValueError) as error:  # a name that no file can have
        raise Refusal(f"--output: {str(path)!r} cannot be written: {error}.") from error
    if any(_is_open_as(path, descriptor) for descriptor in (1, 2)):
        raise Refusal(f"--output: {path} is what this command prints to. Name another file.")


def read_audits(path: Path) -> dict[Path, Audit]:
    """The audits of a folder's .json files, in the order of their names; of a file, its own."""
    files = _files(path) if path.is_dir() else [path]
    return {file: read_audit(file) for file in files}


def readable_audits(folder: Path) -> dict[Path, Audit]:
    """The audits of a folder's .json files; what cannot be read is named on stderr and left out."""
    found: dict[Path, Audit] = {}
    for file in _files(folder):
        try:
            found[file] = read_audit(file)
        except Refusal as error:
            click.echo(f"left out: {error.message}", err=True)
    if not found:
        raise Refusal(f"there is no audit in the folder {str(folder)!r} that can be read.")
    return found


def _files(folder: Path) -> list[Path]:
    files = sorted(folder.glob("*.json"))
    if not files:
        raise Refusal(f"there is no audit in the folder {str(folder)!r}: no file ends in .json.")
    return files


def _is_open_as(path: Path, descriptor: int) -> bool:
    """Whether a file is one of our standard streams, such as /dev/stdout."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:
        return False
