"""The tables of docs/field-of-testers.md, from the CSV of `experiments/field_of_testers.py`."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from experiment_tables import Line


def field_of_testers(lines: list[Line]) -> list[list[str]]:
    """One line for each tester, the one that detects most first."""
    heads = ["tester", "guarantee", "detected", "rows it applies to", "always", "never"]
    heads += ["certified, of the truth", "draws, of the bets'", "CPU, of the bets'"]
    bets = {_row(line): line for line in lines if line["tester"] == "betting"}
    rows = []
    for tester in ranked(lines):
        own = [line for line in lines if line["tester"] == tester]
        can = [line for line in own if possible(line)]
        applies = [line for line in can if line["state"] == "answered"]
        tight = [line for line in own if line["tight"] == "yes" and line["state"] == "answered"]
        worst = max(tight, key=share, default=None)
        draws = [
            float(line["draws_until"]) / float(bets[_row(line)]["draws_until"])
            for line in can
            if line["draws_until"] and bets.get(_row(line), {}).get("draws_until")
        ]
        rows.append(
            [
                tester,
                own[0]["guarantee"],
                f"{100 * detected(lines, tester):.0f} %",
                f"{len(applies)} of {len(can)}",
                f"{sum(share(line) == 1.0 for line in applies)}",
                f"{sum(share(line) == 0.0 for line in applies)}",
                _middle([line["of_truth"] for line in applies]),
                f"{statistics.median(draws):.2f}" if draws else "-",
                _middle([line["ratio"] for line in own]),
                "-" if worst is None else _of(worst),
                own[0]["source"] or "-",
            ]
        )
    return [[*heads, "worst false accusations", "source"], *rows]


def field_rows(lines: list[Line]) -> list[list[str]]:
    """One line for each false claim: the floor, what anybody can, and detections by tester."""
    testers = ranked(lines)
    cells = {(*_row(line), line["tester"]): line for line in lines if line["tight"] == "no"}
    rows = []
    for row in dict.fromkeys(_row(line) for line in lines if line["tight"] == "no"):
        own = [cells.get((*row, tester)) for tester in testers]
        known = next(line for line in own if line is not None)
        best = 100 * float(known["ceiling"])
        rows.append(
            [
                known["row"],
                known["claim"],
                f"{float(known['floor']):,.0f}",
                "all" if possible(known) else f"nobody can: at most {best:.0f} %",
                *map(_cell, own),
            ]
        )
    return [["mechanism", _runs(cells.values()), "floor", "anybody", *testers], *rows]


def field_tight(lines: list[Line]) -> list[list[str]]:
    """One line for each claim that holds: accusations by tester."""
    testers = ranked(lines)
    tight = [line for line in lines if line["tight"] == "yes"]
    cells = {(*_row(line), line["tester"]): line for line in tight}
    rows = [
        [*row, *(_cell(cells.get((*row, tester))) for tester in testers)]
        for row in dict.fromkeys(map(_row, tight))
    ]
    return [["mechanism", _runs(tight), *testers], *rows]


def ranked(lines: list[Line]) -> list[str]:
    """The testers, the one that detects most first.

    >>> row = {"tight": "no", "floor": "9", "draws": "9", "runs": "2"}
    >>> ranked([{**row, "tester": "a", "accused": "0"}, {**row, "tester": "b", "accused": "1"}])
    ['b', 'a']
    """
    testers = dict.fromkeys(line["tester"] for line in lines)
    return sorted(testers, key=lambda tester: -detected(lines, tester))


def detected(lines: list[Line], tester: str) -> float:
    """The share of detections of a tester, over the rows whose floor is within the draws."""
    own = [share(line) for line in lines if line["tester"] == tester and possible(line)]
    return statistics.fmean(own) if own else 0.0


def possible(line: Line) -> bool:
    """Whether a claim is false and can be refuted reliably with these draws, by anybody."""
    return line["tight"] == "no" and float(line["floor"]) <= 2 * int(line["draws"])


def share(line: Line) -> float:
    """Of the runs that accused."""
    return int(line["accused"]) / int(line["runs"])


def _row(line: Line) -> tuple[str, str]:
    return line["row"], line["claim"]


def _runs(lines: Iterable[Line]) -> str:
    """The heading of the claims, which says of how many runs the accusations are."""
    return f"claim; accusations of {max(int(line['runs']) for line in lines)} runs"


def _of(line: Line) -> str:
    return f"{line['accused']} of {line['runs']}"


def _middle(texts: list[str]) -> str:
    known = [float(text) for text in texts if text]
    return f"{statistics.median(known):.2f}" if known else "-"


def _cell(line: Line | None) -> str:
    """How many runs accused; of a tester without a verdict, why."""
    if line is None:
        return "-"
    return {"does not apply": "-", "underpowered": "cannot", "error": "error"}.get(
        line["state"], line["accused"]
    )
