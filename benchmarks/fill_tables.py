"""Write the figures of the CSVs into the documentation, between markers `<!-- table: NAME -->`.

    python benchmarks/fill_tables.py

So no figure there is typed by hand; a test checks that the two agree.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path

from experiment_tables import (
    Line,
    false_positives,
    floats,
    libraries,
    libraries_in_short,
    peers,
    peers_table,
    refuted_table,
    running_time,
    sample_size,
    scaled_gd,
    sniper_figures,
    table1,
    table2,
)
from field_tables import field_of_testers, field_rows, field_tight
from inside_tables import (
    inside_diffprivlib,
    inside_identity,
    inside_sgd,
    inside_synthesizers,
    inside_validity,
    inside_zoo,
)
from tables import RESULTS
from training_tables import (
    independent_canaries,
    independent_validity,
    one_run_power,
    one_run_validity,
    training_claims,
    wide_resnet,
)

ROOT = Path(__file__).parents[1]
EXPERIMENTS = ROOT / "experiments" / "results"
TRAININGS = ROOT / "experiments" / "training" / "results"
INSIDE = ROOT / "experiments" / "inside" / "results"
PAGES = tuple(
    page
    for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")))
    if "<!-- table: " in page.read_text(encoding="utf-8")
)


def sequential_figures(lines: list[Line]) -> list[list[str]]:
    """Each tester on the violations for which its authors give a figure."""
    rows = [
        [
            line["tester"],
            line["mechanism"],
            line["claim"].replace("1e-05", "1e-5"),
            line["floor_pairs"],
            f"{float(line['mean_pairs']):.0f} \u00b1 {float(line['standard_error']):.0f}",
            line["published_pairs"] or "-",
            f"{line['accused']} of {line['runs']}",
            f"{100 * float(line['published_share']):.0f} %" if line["published_share"] else "-",
        ]
        for line in lines
    ]
    heads = ["tester", "mechanism", "claim", "floor", "pairs, ours", "pairs, published"]
    return [[*heads, "accused, ours", "accused, published"], *rows]


def efficiency(lines: list[Line]) -> list[list[str]]:
    """Published violations only: the others have no figure to stand beside."""
    heads = ["mechanism", "claimed epsilon", "floor", "sequential MMD (2025)", "APT (2026)"]
    rows = [
        [
            line["mechanism"],
            f"{float(line['claim_strength']):g}",
            line["floor_pairs"],
            line["gonzalez2025_pairs"] or "-",
            line["apt2026_pairs"] or "-",
            f"{float(line['mean_pairs']):.0f}",
            f"{float(line['ratio_to_floor']):.2f}",
            f"{100 * float(line['share_refuted']):.0f} %",
        ]
        for line in lines
        if line["target_ratio"]
    ]
    return [[*heads, "dpaudit", "ratio to floor", "refuted"], *rows]


def floors(lines: list[Line]) -> list[list[str]]:
    """Every row of the suite: draws and ratios at alpha 1e-6, then before, then at 0.05."""
    cells: dict[tuple[str, str], dict[tuple[str, str], Line]] = {}
    for line in lines:
        row = cells.setdefault((line["mechanism"], line["claim"]), {})
        row[f"{float(line['alpha']):g}", line["before"]] = line

    def ratio(line: Line | None) -> str:
        if line is None:
            return "-"
        missed = "" if float(line["share_refuted"]) == 1.0 else " or more"
        return f"{float(line['ratio_to_floor']):.2f}{missed}"

    rows = [
        [
            *named,
            f"{float(own['1e-06', 'no']['floor_draws']):,.0f}",
            f"{float(own['1e-06', 'no']['mean_draws']):,.0f}",
            ratio(own.get(("1e-06", "no"))),
            ratio(own.get(("1e-06", "yes"))),
            ratio(own.get(("0.05", "no"))),
        ]
        for named, own in cells.items()
        if ("1e-06", "no") in own
    ]
    heads = ["mechanism", "claim", "floor", "draws", "ratio", "ratio before", "ratio at 0.05"]
    return [heads, *rows]


def validity(lines: list[Line]) -> list[list[str]]:
    """The share of false accusations, and over how many pairs each audit searched."""
    rows = [
        [
            line["mechanism"],
            line["claim"],
            line["audits"],
            f"{float(line['mean_pairs']):.0f} ({line['fewest_pairs']})",
            f"{100 * float(line['share_refuted']):.2f} %",
        ]
        for line in lines
    ]
    return [["mechanism", "claim", "audits", "pairs: mean (fewest)", "refuted"], *rows]


def false_accusations(lines: list[Line]) -> list[list[str]]:
    """The audits and the files; the CSV has the other ways to ask, too."""
    shares = ("share_refuted_before", "share_refuted", "share_stopped")
    rows = [
        [
            line["mechanism"],
            line["asked_by"],
            line["runs"],
            *(f"{100 * float(line[share]):.1f} %" for share in shares),
        ]
        for line in lines
        if line["asked_by"] in ("audit", "dpaudit samples")
    ]
    heads = ["mechanism", "asked by", "runs", "refuted before", "refuted", "stopped by an error"]
    return [heads, *rows]


def search(lines: list[Line]) -> list[list[str]]:
    """Pairs and draws until found; of honest mechanisms, how many runs accused them."""
    rows = [
        [
            line["mechanism"],
            f"{float(line['claim_epsilon']):g}",
            line["finder"],
            f"{line['found']} of {line['runs']}",
            f"{float(line['mean_pairs']):.1f} ({line['most_pairs']})",
            f"{float(line['mean_draws']):,.0f} ({int(line['most_draws']):,})",
            "keeps its claim" if line["honest"] == "yes" else "broken",
        ]
        for line in lines
    ]
    heads = ["mechanism", "claimed epsilon", "finder", "refuted", "pairs: mean (most)"]
    return [[*heads, "draws: mean (most)", "truth"], *rows]


def speed(lines: list[Line]) -> list[list[str]]:
    """Time as a ratio to drawing, and memory."""
    rows = [
        [
            f"{int(line['draws']):,}",
            f"{float(line['ratio']):.1f}",
            f"{float(line['peak_mib']):.0f} MiB",
        ]
        for line in lines
    ]
    return [["draws", "ratio", "peak memory"], *rows]


def accelerator(lines: list[Line]) -> list[list[str]]:
    """One line for each audit."""
    rows = [
        [
            line["mechanism"],
            line["machine"],
            f"{float(line['draws']):.2g}",
            f"{float(line['seconds']):.1f} s",
            f"{float(line['draws_per_second']):.1e}",
            f"{float(line['ratio']):.1f}",
            line["refuted"],
        ]
        for line in sorted(lines, key=lambda line: (line["mechanism"], line["machine"]))
    ]
    return [["mechanism", "on", "draws", "time", "draws a second", "ratio", "refuted"], *rows]


def batch_validity(lines: list[Line]) -> list[list[str]]:
    """One line for each tester: its largest share over all mechanisms."""
    rows = []
    for tester in dict.fromkeys(line["tester"] for line in lines):
        own = [line for line in lines if line["tester"] == tester]
        worst = max(own, key=lambda line: float(line["share_refuted"]))
        rows.append(
            [
                tester,
                f"{len(own)}",
                worst["runs"],
                f"{100 * float(worst['share_refuted']):.2f} %",
                f"{worst['mechanism']}, {worst['claim']}",
            ]
        )
    return [["tester", "mechanisms", "runs of each", "refuted at most", "on"], *rows]


def batch_speed(lines: list[Line]) -> list[list[str]]:
    """Seconds by tester and size."""
    sizes = list(dict.fromkeys(int(line["draws_a_side"]) for line in lines))
    seconds = {
        (line["tester"], line["device"], int(line["draws_a_side"])): float(line["seconds"])
        for line in lines
    }
    rows = [
        [tester, device, *(f"{seconds[tester, device, size]:.2f} s" for size in sizes)]
        for tester, device in dict.fromkeys((line["tester"], line["device"]) for line in lines)
    ]
    return [["tester", "device", *(f"{size:,} a side" for size in sizes)], *rows]


TABLES: dict[str, Callable[[list[Line]], list[list[str]]]] = {
    "efficiency": efficiency,
    "floors": floors,
    "validity": validity,
    "false_accusations": false_accusations,
    "search": search,
    "speed": speed,
    "accelerator": accelerator,
    "batch_validity": batch_validity,
    "batch_speed": batch_speed,
    "batch_speed_gpu": batch_speed,
    "table2": table2,
    "running_time": running_time,
    "running_time_gpu": running_time,
    "sample_size": sample_size,
    "scaled_gd": scaled_gd,
    "table1": table1,
    "false_positives": false_positives,
    "peers": peers,
    "sequential_figures": sequential_figures,
    "sniper_figures": sniper_figures,
    "floats": floats,
    "independent": independent_canaries,
    "independent_validity": independent_validity,
    "one_run_power": one_run_power,
    "one_run_validity": one_run_validity,
    "inside_diffprivlib": inside_diffprivlib,
    "inside_identity": inside_identity,
    "inside_zoo": inside_zoo,
    "training_claims": training_claims,
    "wide_resnet": wide_resnet,
    "libraries": libraries,
    "libraries_in_short": libraries_in_short,
    "training_refuted": refuted_table,
    "training_peers": peers_table,
    "inside_sgd": inside_sgd,
    "inside_synthesizers": inside_synthesizers,
    "inside_validity": inside_validity,
    "field_of_testers": field_of_testers,
    "field_rows": field_rows,
    "field_tight": field_tight,
}
# Of tables that have not the name of their CSV.
SOURCES = {
    "libraries_in_short": "libraries",
    "floors": "floors_*",
    "field_rows": "field_of_testers",
    "field_tight": "field_of_testers",
    "training_refuted": "refuted",
    "inside_diffprivlib": "diffprivlib_rows",
    "inside_sgd": "sgd",
    "inside_synthesizers": "synthesizers",
    "inside_validity": "sgd_validity",
}


def filled(text: str, results: Path) -> str:
    """The text with every marked table made anew; what `results` lacks is an experiment's."""

    def table(found: re.Match[str]) -> str:
        name = found["name"]
        rows = TABLES[name](_lines(SOURCES.get(name, name), results))
        head, *body = ("| " + " | ".join(map(_cell, row)) + " |" for row in rows)
        rule = "|" + "---|" * len(rows[0])
        return "\n".join([f"<!-- table: {name} -->", head, rule, *body, "<!-- end -->"])

    marked = r"<!-- table: (?P<name>\w+) -->\n.*?<!-- end -->"
    return re.sub(marked, table, text, flags=re.DOTALL)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")  # also in code, where a bar would end the cell


def _lines(name: str, results: Path) -> list[Line]:
    """The lines of the CSV of this name, or of all whole ones in the folder of this name."""
    for folder in (results, EXPERIMENTS, TRAININGS, INSIDE):
        paths = [*folder.glob(f"{name}.csv"), *sorted(folder.glob(f"{name}/*.csv"))]
        whole = [path for path in paths if not path.name.endswith(".partial.csv")]
        if whole:
            return [line for path in whole for line in _read(path)]
    raise FileNotFoundError(f"there is no {name}.csv, nor a folder {name}, in {EXPERIMENTS}.")


def _read(path: Path) -> list[Line]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def main() -> None:
    """Bring the pages up to date."""
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8"), RESULTS), encoding="utf-8")


if __name__ == "__main__":
    main()
