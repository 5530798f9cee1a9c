"""`dpaudit training`: scores of canaries, one file a run; the exit code is the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpaudit.cli import options
from dpaudit.cli.audit import answer, one_line_errors
from dpaudit.cli.failures import Refusal
from dpaudit.cli.samples import read_table
from dpaudit.cli.target import read_claim

if TYPE_CHECKING:
    from dpaudit.results import Audit
    from dpaudit.training import Canaries

NAMES = ("id", "score", "included")  # of the columns
_MAX_ID = 2**53


@click.command("training", short_help="Audit a training by the scores of its canaries, from files.")
@click.argument("scores", type=options.FileName(to_read=True), nargs=-1, required=True)
@options.claim("What the training claims, when a canary is added or removed", required=True)
@click.option(
    "--canaries",
    type=options.FileName(to_read=True),
    metavar="FILE",
    help="The plan that dpaudit.training.canaries(...).save wrote.",
)
@options.choice(
    "--assume",
    *("nothing", "independent"),
    words="What the bounds may rest on: nothing, or canaries that do nothing to each other.",
)
@options.flag("--steps", words="SCORES holds observations of steps, and the claim is that of one.")
@options.positive(
    "--noise", "The standard deviation of the score of a canary that is out, if known."
)
@options.count(
    "--planned", "Runs that were planned before the first; else as many as there are.", least=1
)
@options.alpha(default=0.05)
@options.seed
@options.output
@options.as_json("Print the audit as JSON.")
@options.quiet
@click.pass_context
def training_command(ctx: click.Context, /, **values: Any) -> None:
    """Audit a training by the scores of its canaries: one file for each run.

    \b
    A file (.csv, .txt, .npy, .npz, .json) has a line for each canary:
      score, included   included is 1 or 0: whether it was in
      id, score         with --canaries, which knows what was in
      score             with --canaries, in the order of the ids
    A header with these names may put the columns in another order.

    \b
    Exit codes: 0 not refuted, 1 refuted, 2 error, 3 undecided.

    \b
    Example:
      dpaudit training scores.csv --canaries plan.json --claim eps=8,delta=1e-5
    """
    answer(ctx, {**values, "target": None}, lambda: _run(values))


def _run(values: dict[str, Any]) -> Audit:
    claim = read_claim(values["claim"])
    with one_line_errors():
        plan = _plan(values["canaries"])
        runs = [_run_of(path, plan, run) for run, path in enumerate(values["scores"])]

        from dpaudit import training

        settings: dict[str, Any] = {"alpha": values["alpha"], "rng": values["seed"]}
        settings |= {"noise": values["noise"], "name": values["scores"][0].name}
        if values["steps"]:
            if len(runs) > 1 or values["assume"] != "nothing" or values["planned"] is not None:
                raise Refusal("--steps takes one file, and neither --assume nor --planned.")
            return training.compare_steps(*runs[0], claim, **settings)
        settings["assume"] = values["assume"]
        if len(runs) == 1 and values["planned"] in (None, 1):
            return training.one_run(*runs[0], claim, **settings)
        return training.several_runs(runs, claim, planned=values["planned"], **settings)


def _plan(path: Path | None) -> Canaries | None:
    if path is None:
        return None
    from dpaudit.training import load_canaries

    try:
        return load_canaries(path)
    except FileNotFoundError as error:
        raise Refusal(f"there is no file {str(path)!r}.") from error
    except (OSError, RecursionError, MemoryError) as error:
        raise Refusal(
            f"{path} cannot be read: {' '.join(str(error).split()).rstrip('.')}."
        ) from error


def _run_of(path: Path, plan: Canaries | None, run: int) -> tuple[Any, Any]:
    """The scores of one run, and its bits or its plan."""
    columns = _columns(path, plan)
    if plan is None:
        if set(columns) != {"score", "included"}:
            raise Refusal(
                f"{path}: without --canaries each line must hold a score and whether the canary "
                f"was included (1 or 0), got {' and '.join(columns)}."
            )
        return columns["score"], columns["included"]
    if "included" in columns:
        raise Refusal(
            f"{path}: its column 'included' and --canaries may contradict. Leave out one."
        )
    own = plan if run == 0 else plan.fresh(plan.run + run)
    if "id" not in columns:
        return columns["score"], own
    ids = columns["id"]
    if any(not (0 <= each < _MAX_ID and each == int(each)) for each in ids) or len(set(ids)) < len(
        ids
    ):
        raise Refusal(f"{path}: ids must be whole numbers, each of them once.")
    return dict(zip(map(int, ids), columns["score"], strict=True)), own


def _columns(path: Path, plan: Canaries | None) -> dict[str, list[float]]:
    """The columns of a file by name."""
    rows = read_table(path)
    names: list[str] = []
    if rows and all(isinstance(cell, str) for cell in rows[0]):
        names = [cell.strip().lower() for cell in rows[0]]
        rows = rows[1:]
        if len(set(names)) < len(names) or "score" not in names or not set(names) <= {*NAMES}:
            shown = ", ".join(map(options.short_text, names))
            raise Refusal(f"{path}: a header may name {', '.join(NAMES)}, got {shown}.")
    width = len(rows[0]) if rows else 0
    names = names or {
        1: ["score"],
        2: ["score", "included"] if plan is None else ["id", "score"],
    }.get(width, [])
    if not rows or not names:
        raise Refusal(f"{path}: each line must hold a score, and {NAMES[2]} or {NAMES[0]}.")
    for number, row in enumerate(rows, 1):
        if len(row) != len(names) or not all(_is_number(cell) for cell in row):
            raise Refusal(f"{path}: line {number} must hold {len(names)} numbers.")
    return {name: [float(row[at]) for row in rows] for at, name in enumerate(names)}


def _is_number(cell: object) -> bool:
    return isinstance(cell, int | float) and (not isinstance(cell, int) or abs(cell) < _MAX_ID)
