"""The field in one table: every published tester on the same outputs, at the same alpha.

    python experiments/field_of_testers.py [--quick | --figure-only]
    python experiments/field_of_testers.py --tester my_module:MyTester

The second adds the column of another tester to the table. Every run of a row draws two arrays, one
of each dataset, and hands the same ones to all testers. Batch testers test both directions with
half of alpha each. Finished runs are kept until all are there, so Ctrl-C loses none of them.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # whose tables and runs are shared

import numpy as np
from field_figure import draw
from field_lines import Line, median, read_lines, report
from field_rows import FieldRow, ceiling, floor, rows
from field_testers import Outcome, look, method_named, names, tester_named
from many_runs import INTERRUPTED, entropy, run_all
from study import Kept, add_options
from tables import save

SEED = 20_261_121
NAME = "field_of_testers"
RESULTS = Path(__file__).parent / "results"
ALPHA = 0.05  # of both directions together


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How many runs of a row there are, and how many draws of a side in each."""

    runs: int = 10
    tight_runs: int = 400
    draws: int = 5_000
    tight_draws: int = 1_000

    def runs_of(self, row: FieldRow) -> int:
        """Runs of a row."""
        return self.tight_runs if row.tight else self.runs

    def draws_of(self, row: FieldRow) -> int:
        """Draws of a side in a run of a row."""
        return self.tight_draws if row.tight else self.draws


MOST_OF_A_NOTE = 200  # characters
QUICK = Sizes(runs=2, tight_runs=4, draws=2_000, tight_draws=500)
QUICK_ROWS = 4  # every fourth row


@dataclass(frozen=True, slots=True, kw_only=True)
class Bout:
    """One run of a row: its testers meet the same outputs. `place` and `turn` decide the seeds."""

    place: int
    turn: int
    draws: int
    alpha: float
    testers: tuple[str, ...]

    def key(self, tester: str) -> str:
        """Under which an outcome is kept."""
        return f"{_rows()[self.place].label} {self.draws} {self.alpha:g} {self.turn} {tester}"


@functools.cache
def _rows() -> list[FieldRow]:
    return rows()


def run(bout: Bout) -> dict[str, Outcome]:
    """Draw once, and ask every tester of a bout."""
    row = _rows()[bout.place]
    seed = entropy(SEED, bout.place, bout.turn)
    samples = row.draw(bout.draws, np.random.default_rng(seed))
    told = look(samples, row.claim, bout.testers, alpha=bout.alpha, entropy=entropy(seed, 1))
    return {tester: told[tester] for tester in bout.testers}


def bouts(
    chosen: Sequence[FieldRow], testers: Sequence[str], sizes: Sizes, alpha: float
) -> list[Bout]:
    """All runs of the rows."""
    return [
        Bout(
            place=row.place,
            turn=turn,
            draws=sizes.draws_of(row),
            alpha=alpha,
            testers=tuple(testers),
        )
        for row in chosen
        for turn in range(sizes.runs_of(row))
    ]


def summary(row: FieldRow, bout: Bout, tester: str, outcomes: Sequence[Outcome]) -> Line:
    """Sum up the runs of a tester on a row."""
    method = method_named(tester)
    answered = [one for one in outcomes if one.seconds is not None]
    silent = [one for one in outcomes if one.seconds is None]
    truth, growth = row.truth(), _growth(row.place)
    strengths = [one.strength for one in answered if one.strength is not None]
    stops = sorted(one.draws for one in outcomes if one.draws is not None)
    return Line(
        group=row.group,
        row=row.name,
        claim=str(row.claim),
        tight=row.tight,
        tester=tester,
        guarantee=method.guarantee,
        source=method.source,
        alpha=bout.alpha,
        draws=bout.draws,
        runs=len(outcomes),
        answered=len(answered),
        accused=sum(one.state == "accused" for one in outcomes),
        state="answered" if answered else silent[0].state,
        note=silent[0].note[:MOST_OF_A_NOTE] if silent else "",
        floor=None if row.tight else floor(growth, bout.alpha),
        ceiling=None if row.tight else ceiling(growth, 2 * bout.draws, bout.alpha),
        truth=truth,
        of_truth=statistics.median(strengths) / truth if strengths and truth else None,
        # The median of all runs: none if half of them were never stopped.
        draws_until=stops[len(outcomes) // 2] if 2 * len(stops) > len(outcomes) else None,
        seconds=median([one.seconds for one in answered]),
        ratio=median([one.ratio for one in answered]),
    )


@functools.cache
def _growth(place: int) -> float:
    return _rows()[place].growth()


def joined(old: Sequence[Line], new: Sequence[Line]) -> list[Line]:
    """The lines of a table and those of other testers, row by row."""
    fresh = {line.tester for line in new}
    kept = [line for line in old if line.tester not in fresh]
    order = {row.label: row.place for row in _rows()}
    lines = [*kept, *new]
    lines.sort(key=lambda line: order.get(f"{line.row}, {line.claim}", len(order)))
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for; 130 if Ctrl-C ended it, 1 if an exact tester is above alpha."""
    options = _options(arguments)
    folder = options.results or (RESULTS / "quick" if options.quick else RESULTS)
    path = folder / f"{NAME}.csv"
    if options.figure_only:
        _draw(path)
        return report(read_lines(path))
    chosen = [row for row in _rows() if _is_chosen(row, options.rows)]
    if options.quick and options.rows is None:
        chosen = chosen[::QUICK_ROWS]
    testers = options.tester or names()
    kept = Kept(folder / f"{NAME}.runs.jsonl", Outcome)
    if options.fresh:
        kept.forget()
    asked = bouts(chosen, testers, _sizes(options), options.alpha)
    known, interrupted = _run(asked, kept, options.workers)
    lines = _summed_up(asked, testers, known)
    complete = not interrupted and options.rows is None
    if options.tester and complete and path.exists():
        lines = joined(read_lines(path), lines)
    if save(lines, folder=folder, name=NAME, complete=complete) == path:
        kept.forget()
        _draw(path)
    return INTERRUPTED if interrupted else report(lines)


def _run(
    asked: Sequence[Bout], kept: Kept[Outcome], workers: int
) -> tuple[dict[str, Outcome], bool]:
    """Run what is not kept yet; all outcomes by their keys."""
    known = kept.read()
    left = []
    for bout in asked:
        missing = tuple(tester for tester in bout.testers if bout.key(tester) not in known)
        if missing:
            left.append(dataclasses.replace(bout, testers=missing))
    if known:
        print(f"{len(asked) - len(left)} runs of {len(asked)} are kept from before.", flush=True)

    def keep(bout: Bout, told: dict[str, Outcome]) -> None:
        for tester, outcome in told.items():
            kept.add(bout.key(tester), outcome)
            known[bout.key(tester)] = outcome

    finished = run_all(run, left, workers=workers, title=NAME, on_result=keep)
    return known, finished.interrupted


def _summed_up(
    asked: Sequence[Bout], testers: Sequence[str], known: dict[str, Outcome]
) -> list[Line]:
    """One line for each row and tester that has outcomes."""
    by_row: dict[int, list[Bout]] = defaultdict(list)
    for bout in asked:
        by_row[bout.place].append(bout)
    lines = []
    for place, own in by_row.items():
        for tester in testers:
            keys = [bout.key(tester) for bout in own]
            outcomes = [known[key] for key in keys if key in known]
            if outcomes:
                lines.append(summary(_rows()[place], own[0], tester, outcomes))
    return lines


def _is_chosen(row: FieldRow, texts: Sequence[str] | None) -> bool:
    return texts is None or any(text in f"{row.group}: {row.label}" for text in texts)


def _sizes(options: argparse.Namespace) -> Sizes:
    """Those that were asked for; the rest as usual, or as in a rehearsal."""
    usual = QUICK if options.quick else Sizes()
    given = {field.name: getattr(options, field.name) for field in dataclasses.fields(Sizes)}
    return dataclasses.replace(usual, **{name: n for name, n in given.items() if n is not None})


def _draw(path: Path) -> None:
    try:
        print(f"Drawn to {draw(path)}")
    except ImportError as error:
        print(f"No figure: {error}", file=sys.stderr)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Every tester on the same outputs.")
    parser.add_argument(
        "--tester", nargs="+", metavar="NAME",
        help="only these, beside what the table has: names of the table, or module:Name",
    )  # fmt: skip
    for field in dataclasses.fields(Sizes):
        parser.add_argument(
            f"--{field.name.replace('_', '-')}", type=int, help=f"(default {field.default})"
        )
    parser.add_argument("--alpha", type=float, default=ALPHA, help=f"(default {ALPHA})")
    add_options(parser, results=None)
    parser.add_argument("--quick", action="store_true", help="a rehearsal: few and small runs")
    parser.add_argument("--fresh", action="store_true", help="forget the runs of a stopped one")
    parser.add_argument("--figure-only", action="store_true", help="show and draw what the CSV has")
    options = parser.parse_args(arguments)
    for name in options.tester or ():
        try:
            tester_named(name)
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            parser.error(str(error))
    if not any(_is_chosen(row, options.rows) for row in _rows()):
        parser.error(f"no row has any of {options.rows} in its label or group.")
    return options


if __name__ == "__main__":
    raise SystemExit(main())
