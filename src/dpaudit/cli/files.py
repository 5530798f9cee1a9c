"""Audit files as arguments: one file, or a folder of them; what is wrong with one in one line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpaudit.cli.failures import Refusal

if TYPE_CHECKING:
    from dpaudit.evidence import Audit


def read_audit(path: Path) -> Audit:
    """The audit in a file."""
    from dpaudit.evidence import InvalidAuditFile, load

    try:
        return load(path)
    except FileNotFoundError as error:
        raise Refusal(f"there is no file {str(path)!r}.") from error
    except InvalidAuditFile as error:
        raise Refusal(str(error)) from error
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror}.") from error


def read_audits(path: Path) -> dict[Path, Audit]:
    """The audits of a folder's .json files, in the order of their names; of a file, its own."""
    if not path.is_dir():
        return {path: read_audit(path)}
    files = sorted(path.glob("*.json"))
    if not files:
        raise Refusal(f"there is no audit in the folder {str(path)!r}: no file ends in .json.")
    return {file: read_audit(file) for file in files}
