"""`dpaudit samples`: outputs already drawn, in two files; the exit code is the verdict."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import click

from dpaudit.cli.arrays import read_npy, read_npz
from dpaudit.cli.audit import answer, health_warnings_later, one_line_errors, show_later
from dpaudit.cli.failures import Refusal
from dpaudit.cli.options import (
    FileName,
    answer_options,
    claim_option,
    floats_option,
    read_floats,
    read_tester,
    seed_option,
    tester_options,
)
from dpaudit.cli.target import read_claim

if TYPE_CHECKING:
    from dpaudit.results import Audit


@click.command("samples", short_help="Audit outputs that were drawn before, from two files.")
@click.argument("outputs", type=FileName(to_read=True))
@click.argument("neighbour_outputs", type=FileName(to_read=True))
@claim_option(required=True)
@tester_options
@seed_option
@floats_option
@answer_options
@click.pass_context
def samples_command(ctx: click.Context, /, **options: Any) -> None:
    """Audit the outputs of a mechanism on two neighbouring datasets, one file for each.

    \b
    A file holds independent outputs, one after another:
      .npy, .npz  one array, the outputs along its first axis
      .csv, .txt  one output a line, of numbers and words
      .json       a list

    \b
    Exit codes: 0 not refuted, 1 refuted, 2 error, 3 undecided.

    \b
    Example:
      dpaudit samples with_me.npy without_me.npy --claim eps=1
    """
    answer(ctx, options, lambda: _run(options))


def _run(options: dict[str, Any]) -> Audit:
    claim, floats = read_claim(options["claim"]), read_floats(options)
    tester = read_tester(options["tester"])
    outputs, neighbour_outputs = read_both(options["outputs"], options["neighbour_outputs"])

    from dpaudit.auditing import compare_samples

    with one_line_errors(), health_warnings_later() as later:
        found = compare_samples(
            outputs,
            neighbour_outputs,
            claim,
            tester=tester,
            alpha=options["alpha"],
            rng=options["seed"],
            floats=floats,
        )
    show_later(later, found)
    return found


def read_both(path: Path, neighbour_path: Path) -> tuple[Any, Any]:
    """The outputs in two files, read by one rule for both."""
    return _without_headers(_read_file(path), _read_file(neighbour_path))


def _read_file(path: Path) -> Any:
    """What is in a file, one output after another."""
    readers: dict[str, Callable[[Path], Any]] = {
        ".npy": read_npy,
        ".npz": read_npz,
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
        raise Refusal(f"{path} cannot be read: {str(error).rstrip('.')}.") from error


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
    """Both samples without names of columns. A line of one cell is that cell, line by line.

    What one file holds must not change how the other is read, so a header is looked for in both
    together: words above nothing but numbers, or the same words above mostly numbers.
    """
    files = [one for one in (first, second) if isinstance(one, _Text)]
    headings = [bool(one) and _is_words(one[0]) for one in files]
    firsts = [one[0] for one, words in zip(files, headings, strict=True) if words]
    cells = [
        cell
        for one, words in zip(files, headings, strict=True)
        for row in (one[1:] if words else one)
        for cell in row
    ]
    numbers = sum(isinstance(cell, float) for cell in cells)
    same = len(firsts) == 2 and firsts[0] == firsts[1]
    headed = 0 < numbers == len(cells) or (same and 2 * numbers > len(cells))
    found = []
    for one in (first, second):
        rows = one
        if isinstance(one, _Text):
            rows = one[1:] if headed and one and _is_words(one[0]) else one
            rows = [row[0] if len(row) == 1 else row for row in rows]
        found.append(rows)
    return found[0], found[1]


def _is_words(row: list[float | str]) -> bool:
    return all(isinstance(cell, str) for cell in row)
