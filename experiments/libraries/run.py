"""The mechanisms of one library, each audited with the claim that the library makes for it.

    pip install 'dpaudit[diffprivlib]'
    python experiments/libraries/run.py diffprivlib [--quick | --rows Laplace | --replay]

One line of the CSV for each, and the whole audit as JSON for each claim that is refuted, which
`--replay` counts again on fresh draws. `make audit-libraries` does it for every library, each in an
environment of its own. Most libraries draw from the operating system, so runs differ a little.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # whose tables and runs are shared

from entry import Entry
from study import Study, Task, study_main
from tables import Column, number

import dpaudit
from dpaudit import Audit, Counterexample, Verdict
from dpaudit.domains import shown
from dpaudit.report import lower

SEED = 20_261_123
RESULTS = Path(__file__).parents[1] / "results" / "libraries"
QUICK = 2_000

# The library by the name of its extra: what is installed, and the modules with its entries.
LIBRARIES: dict[str, tuple[str, tuple[str, ...]]] = {
    "opendp": ("opendp", ("opendp_entries",)),
    "diffprivlib": (
        "diffprivlib",
        ("diffprivlib_mechanisms", "diffprivlib_tools", "diffprivlib_models"),
    ),
    "python-dp": ("python-dp", ("python_dp_entries",)),
    "tumult": ("tmlt.core", ("tumult_entries",)),
    "pipeline-dp": ("pipeline-dp", ("pipeline_dp_entries",)),
    "opacus": ("opacus", ("opacus_entries",)),
    "jax-privacy": ("jax-privacy", ("jax_privacy_entries",)),
    "pure-ldp": ("pure-ldp", ("pure_ldp_entries",)),
    "multi-freq-ldpy": ("multi-freq-ldpy", ("multi_freq_ldpy_entries",)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One entry and its number of draws; `place` decides its seeds."""

    place: int
    library: str
    function: str
    samples: int
    rehearsed: bool = False

    @property
    def label(self) -> str:
        return self.function


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one audit ended. `certified` is the bound in the claim's own parameter, `symbol`."""

    version: str
    claim: str
    neighbours: str
    verdict: str
    symbol: str
    certified: float | None
    draws: int
    pairs_tried: int
    data: str
    neighbour: str
    event: str
    saved: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A line of the table and of the CSV."""

    library: str
    version: str
    function: str
    claim: str
    neighbours: str
    watched: str
    verdict: str
    symbol: str
    certified: float | None
    tight: float | None
    draws: int
    pairs_tried: int
    data: str
    neighbour: str
    event: str
    saved: str


def entries_of(library: str) -> dict[str, Entry]:
    """The entries of a library by what a user writes."""
    modules = LIBRARIES[library][1]
    listed: list[Entry] = [each for name in modules for each in _entries(name)]
    found = {entry.function: entry for entry in listed}
    if len(found) < len(listed):
        raise ValueError(f"two entries of {library} have the same name.")
    return found


def _entries(module: str) -> Iterator[Entry]:
    yield from importlib.import_module(module).ENTRIES


def run(task: Task[Line]) -> Outcome:
    """Audit one entry; an audit that refutes is saved beside the CSV."""
    cell = task.cell
    subject = entries_of(cell.library)[cell.function].make()
    audit = dpaudit.audit(subject, samples=cell.samples, rng=task.entropy)
    return Outcome(
        version=version(LIBRARIES[cell.library][0]),
        claim=str(audit.claim),
        neighbours=audit.neighbours,
        verdict=audit.verdict.value,
        symbol=audit.symbol or "",
        certified=_certified(audit),
        draws=audit.samples,
        pairs_tried=audit.pairs_tried,
        saved=_save(audit, cell) if audit.refuted else "",
        **_shown(audit),
    )


def _certified(audit: Audit) -> float | None:
    """The certified bound; of a curve, which has no parameter, the epsilon of the event."""
    if audit.lower_bound is None and audit.counterexample is not None:
        return audit.counterexample.epsilon_lower
    return audit.lower_bound


def _shown(audit: Audit) -> dict[str, str]:
    """The pair and the event: the simplest that refute, or the pair that showed most."""
    found = audit.simplest or audit.counterexample or audit.strongest
    if found is None:
        return {"data": "", "neighbour": "", "event": ""}
    return {
        "data": shown(found.pair.data),
        "neighbour": shown(found.pair.neighbour),
        "event": found.event if isinstance(found, Counterexample) else "",
    }


def _save(audit: Audit, cell: Line) -> str:
    folder = RESULTS / "quick" if cell.rehearsed else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "_", cell.function.lower()).strip("_")
    path = folder / f"{cell.library}-{name}.json"
    audit.save(path)
    return path.name


def summary(cell: Line, outcomes: Sequence[Outcome]) -> Found:
    """The line of one entry, which is audited once."""
    (outcome,) = outcomes
    entry = entries_of(cell.library)[cell.function]
    said = {name: getattr(outcome, name) for name in Outcome.__dataclass_fields__}
    return Found(
        library=cell.library,
        function=cell.function,
        watched=entry.watched,
        tight=entry.tight,
        **said,
    )


COLUMNS: list[Column[Found]] = [
    Column("function", lambda row: row.function, "left"),
    Column("claim", lambda row: row.claim, "left"),
    Column("verdict", lambda row: row.verdict, "left"),
    Column("certified", lambda row: number(row.certified, 2)),
    Column("draws", lambda row: number(row.draws)),
]
NOTES = "certified: a lower bound, in the claim's own parameter. Each entry is audited once."


def study_of(library: str) -> Study[Line, Outcome, Found]:
    """All entries of a library, once each."""
    lines = [
        Line(place=place, library=library, function=entry.function, samples=entry.samples)
        for place, entry in enumerate(entries_of(library).values())
    ]
    return Study(
        name=library,
        title=f"{library}, alpha 1e-06",
        notes=NOTES,
        seed=SEED,
        cells=lines,
        quick=[replace(line, samples=QUICK, rehearsed=True) for line in lines],
        run=run,
        outcome=Outcome,
        summary=summary,
        columns=COLUMNS,
        folder=RESULTS,
        runs=1,
        quick_runs=1,
    )


def replay_all(library: str) -> int:
    """Count every saved counterexample again; 1 if one of them no longer breaks its claim."""
    entries, failed = entries_of(library), False
    for line in _saved_lines(library):
        audit = dpaudit.load(RESULTS / line["saved"])
        assert isinstance(audit, Audit)
        found = audit.counterexample
        assert found is not None
        subject = entries[line["function"]].make()
        again = dpaudit.replay(found, subject.mechanism, audit.claim, alpha=audit.alpha)
        verdict = Verdict.REFUTED if again.breaks(audit.claim) else Verdict.NOT_REFUTED
        print(f"{line['function']}: {verdict.value}, epsilon >= {lower(again.epsilon_lower)}")
        failed |= verdict is not Verdict.REFUTED
    return int(failed)


def _saved_lines(library: str) -> list[dict[str, str]]:
    with (RESULTS / f"{library}.csv").open(newline="", encoding="utf-8") as file:
        return [line for line in csv.DictReader(file) if line["saved"]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Audit a library, or replay what was found in it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("--replay", action="store_true", help="count what was refuted again")
    options, rest = parser.parse_known_args(arguments)
    if options.replay:
        return replay_all(options.library)
    return study_main(study_of(options.library), rest)


if __name__ == "__main__":
    raise SystemExit(main())
