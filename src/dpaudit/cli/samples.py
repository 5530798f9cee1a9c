"""`dpaudit samples`: outputs already drawn, in two files; the exit code is the verdict."""

from __future__ import annotations

import csv
import io
import json
import os
import zlib
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile, is_zipfile

import click

from dpaudit.cli import options
from dpaudit.cli.audit import answer, one_line_errors
from dpaudit.cli.failures import Refusal
from dpaudit.cli.target import read_claim

if TYPE_CHECKING:
    from dpaudit.results import Audit

MAX_HEADER_BYTES = 10_100  # at the start of a file: NumPy itself reads 10,000
MAX_AXIS_ENTRIES = 2**40  # also where another axis has none
MAX_UNPACKED_BYTES = 1_100  # for each byte of an archive: DEFLATE reaches 1,032


@click.command("samples", short_help="Audit outputs that were drawn before, from two files.")
@click.argument("outputs", type=options.FileName(to_read=True))
@click.argument("neighbour_outputs", type=options.FileName(to_read=True))
@options.claim("The claim", required=True)
@options.tester
@options.alpha()
@options.seed
@options.floats
@options.output
@options.as_json("Print the audit as JSON.")
@options.quiet
@click.pass_context
def samples_command(ctx: click.Context, /, **values: Any) -> None:
    """Audit the outputs of a mechanism on two neighbouring datasets, one file for each.

    \b
    A file holds independent outputs, one after another:
      .npy, .npz  one array, the outputs along its first axis
      .csv, .txt  one output per line, of numbers and words
      .json       a list

    \b
    Exit codes: 0 not refuted, 1 refuted, 2 error, 3 undecided, suspected.

    \b
    Example:
      dpaudit samples with_me.npy without_me.npy --claim eps=1
    """
    answer(ctx, values, lambda: _run(values))


def _run(values: dict[str, Any]) -> Audit:
    claim, floats = read_claim(values["claim"]), options.read_floats(values)
    tester = options.read_tester(values["tester"])
    outputs, neighbour_outputs = read_both(values["outputs"], values["neighbour_outputs"])

    from dpaudit.auditing import compare_samples

    settings = {"tester": tester, "alpha": values["alpha"], "rng": values["seed"]}
    with one_line_errors():
        return compare_samples(outputs, neighbour_outputs, claim, **settings, floats=floats)


def read_both(path: Path, neighbour_path: Path) -> tuple[Any, Any]:
    """The outputs in two files, read by one rule for both."""
    return _without_headers(_read_file(path), _read_file(neighbour_path))


def read_table(path: Path) -> list[list[Any]]:
    """The lines of a file, each a list of cells."""
    found = _read_file(path)
    rows = found.tolist() if hasattr(found, "tolist") else list(found)
    return [list(row) if isinstance(row, list | tuple) else [row] for row in rows]


def _read_file(path: Path) -> Any:
    """What is in a file, one output after another."""
    readers: dict[str, Callable[[Path], Any]] = {
        ".npy": _read_npy,
        ".npz": _read_npz,
        ".csv": _read_text,
        ".txt": _read_text,
        ".json": _read_json,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise Refusal(f"{path}: outputs are read from {', '.join(readers)} files only.")
    try:
        return reader(path)
    except FileNotFoundError as error:
        raise Refusal(f"there is no file {str(path)!r}.") from error
    except (RecursionError, MemoryError) as error:
        raise Refusal(f"{path} cannot be read: it is too deep or too large.") from error
    except (OSError, EOFError, ValueError, BadZipFile, csv.Error) as error:
        why = " ".join(str(error).split()).rstrip(".")
        raise Refusal(f"{path} cannot be read: {why}.") from error


def _read_json(path: Path) -> Any:
    outputs = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(outputs, list):
        raise ValueError(f"it must hold a list of outputs, got {type(outputs).__name__}")
    return outputs


class _Text(list[Any]):
    """The lines of a text file, each a list of cells, before headers are left out."""


def _read_text(path: Path) -> _Text:
    """Lines of cells; what is no number is a word."""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    lines = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if path.suffix.lower() == ".csv":
        cells = [[cell.strip() for cell in row] for row in csv.reader(lines, skipinitialspace=True)]
    else:
        cells = [line.replace(",", " ").split() for line in lines]
    return _Text([_cell(cell) for cell in row] for row in cells)


def _cell(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _without_headers(first: Any, second: Any) -> tuple[Any, Any]:
    """Both samples without the names of columns. A line of one cell is that cell.

    What one file holds must not change how the other is read, so both are searched for a header
    together: words above nothing but numbers, or the same words above mostly numbers.
    """
    tables = [one for one in (first, second) if isinstance(one, _Text) and one]
    headings = [one[0] for one in tables if _is_words(one[0])]
    rows = [row for one in tables for row in (one[1:] if _is_words(one[0]) else one)]
    cells = [cell for row in rows for cell in row]
    numbers = sum(isinstance(cell, float) for cell in cells)
    same = len(headings) == 2 and headings[0] == headings[1]
    headed = 0 < numbers == len(cells) or (same and 2 * numbers > len(cells))

    def outputs(one: Any) -> Any:
        if not isinstance(one, _Text):
            return one
        below = one[1:] if headed and one and _is_words(one[0]) else one
        return [row[0] if len(row) == 1 else row for row in below]

    return outputs(first), outputs(second)


def _is_words(row: list[float | str]) -> bool:
    return all(isinstance(cell, str) for cell in row)


def _read_npy(path: Path) -> Any:
    with path.open("rb") as file:
        return _read(file, os.fstat(file.fileno()).st_size)


def _read_npz(path: Path) -> Any:
    """The only array in a .npz file."""
    with path.open("rb") as file:
        if not is_zipfile(file):
            raise ValueError("it is no archive of arrays")
        most = MAX_UNPACKED_BYTES * os.fstat(file.fileno()).st_size
        try:
            with ZipFile(file) as archive:
                return _only_array(archive, most)
        except (RuntimeError, zlib.error) as error:  # a password, a way of packing, damage
            raise ValueError(str(error)) from error


def _only_array(archive: ZipFile, most: int) -> Any:
    names = archive.namelist()
    if len(names) != 1:
        shown = ", ".join(name.removesuffix(".npy") for name in names) or "none"
        raise ValueError(f"it must hold one array, got {len(names)} ({shown})")
    size = archive.getinfo(names[0]).file_size
    if size > most:
        raise ValueError(f"it announces {size:,} bytes, more than can be packed in it")
    with archive.open(names[0]) as file:
        return _read(file, size)


def _read(file: Any, size: int) -> Any:
    """The array in a file of this many bytes, if it fits; never a pickle, which can run code."""
    from numpy.lib import format as npy

    start = io.BytesIO(file.read(MAX_HEADER_BYTES))
    try:
        first = npy.read_magic(start) == (1, 0)
        header = npy.read_array_header_1_0(start) if first else npy.read_array_header_2_0(start)
    except Exception as error:  # whatever NumPy raises on nonsense
        raise ValueError(f"it has no header of a NumPy array: {error}") from error
    shape, _, dtype = header
    least, most = min(shape, default=0), max(shape, default=0)
    wanted, left = prod(shape) * dtype.itemsize, size - start.tell()
    if not dtype.hasobject:  # of which nothing is allocated: NumPy says why it loads no pickle
        if least < 0 or most > MAX_AXIS_ENTRIES or not dtype.itemsize:
            raise ValueError(f"its header has the shape {str(shape)[:80]}, which no file can hold")
        if wanted > left:
            raise ValueError(f"its header announces {wanted:,} bytes, but the file has {left:,}")
    file.seek(0)
    return npy.read_array(file, allow_pickle=False)
