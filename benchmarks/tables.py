"""How a benchmark shows its rows: a table on the screen and a CSV beside the others."""

from __future__ import annotations

import csv
import dataclasses
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from rich import box
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

WIDTH = 100
RESULTS = Path(__file__).parent / "results"

Row = TypeVar("Row")


@dataclasses.dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """A heading, and the text of a row under it."""

    heading: str
    text: Callable[[Row], str]
    justify: Literal["left", "right"] = "right"


def show(title: str, columns: Sequence[Column[Row]], rows: Sequence[Row], notes: str) -> None:
    """Print the rows as a table of at most 100 columns, and below it how to read them."""
    screen = Console()
    width = min(screen.width, WIDTH) if screen.is_terminal else WIDTH
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for column in columns:
        table.add_column(column.heading, justify=column.justify, no_wrap=True)
    for row in rows:
        table.add_row(*(column.text(row) for column in columns))
    console = Console(width=width, highlight=False)
    console.print("", table, "", f"{notes}\n", sep="\n")


def save(
    rows: Sequence[DataclassInstance], *, folder: Path, name: str, complete: bool
) -> Path | None:
    """Write the rows to `name.csv`, or to `name.partial.csv` where rows or runs are lacking.

    So a run that was stopped, or asked for a few rows, never takes the place of a whole one. The
    path is printed.
    """
    if not rows:
        print("Nothing was finished.")
        return None
    path = folder / (f"{name}.csv" if complete else f"{name}.partial.csv")
    folder.mkdir(parents=True, exist_ok=True)
    fields = [field.name for field in dataclasses.fields(rows[0])]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(fields)
        writer.writerows([_cell(getattr(row, field)) for field in fields] for row in rows)
    print(f"Written to {path}")
    return path


def number(value: float | None, digits: int = 0) -> str:
    """Write a number with this many decimals; a dash for none.

    >>> number(1234.56, 1), number(None), number(float("nan"))
    ('1234.6', '-', '-')
    """
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def yes_or_no(value: bool | None) -> str:
    """Write a verdict; a dash where there is none."""
    return "-" if value is None else "yes" if value else "no"


def share_allowed(alpha: float, runs: int) -> float:
    """Give the largest share of false accusations that is luck: alpha and three standard errors."""
    return alpha + 3.0 * math.sqrt(alpha * (1 - alpha) / runs)


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Give the mean and its standard error, which is NaN for a single value.

    >>> mean_and_error([1.0, 3.0])
    (2.0, 1.0)
    """
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return mean, math.nan
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return mean, math.sqrt(variance / count)


def _cell(value: Any) -> Any:
    """Keep six digits: more would only make two runs look different."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return yes_or_no(value)
    return f"{value:.6g}" if isinstance(value, float) else value
