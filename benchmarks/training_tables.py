"""The tables of trainings that are audited by canaries, from the CSVs of `experiments/training`."""

from __future__ import annotations

import math

from experiment_tables import Line


def independent_canaries(lines: list[Line]) -> list[list[str]]:
    """Canaries until refuted beside the floor and the published figure."""
    rows = [
        [
            f"{float(line['claim']):g}-GDP",
            "known" if line["noise_known"] == "yes" else "learned",
            f"{line['refuted']} of {line['runs']}",
            f"{float(line['canaries']):,.0f}",
            f"{int(line['floor']):,}",
            f"{int(line['apt']):,}" if line["apt"] else "-",
        ]
        for line in lines
        if float(line["alpha"]) == 0.05
    ]
    return [["claim", "noise", "refuted", "canaries", "floor", "APT (2026)"], *rows]


def one_run_validity(lines: list[Line]) -> list[list[str]]:
    """How often each test was wrong on mechanisms exactly on their claim, in per cent."""
    tests = ("error recursion", "right guesses", "stopped wealth", "3 runs")
    cells: dict[tuple[str, str, str], dict[str, str]] = {}
    for line in lines:
        cell = cells.setdefault((line["mechanism"], line["claim"], line["canaries"]), {})
        cell[line["test"]] = f"{100 * float(line['share']):.1f} %"
    rows = [
        [name, claim, f"{int(canaries):,}", *(cell.get(test, "-") for test in tests)]
        for (name, claim, canaries), cell in cells.items()
    ]
    return [["canaries that are", "claim", "canaries", *tests], *rows]


def independent_validity(lines: list[Line]) -> list[list[str]]:
    """How often bets on independent canaries refuted a claim that holds."""
    rows = [
        [
            line["mechanism"],
            line["claim"],
            f"{int(line['canaries']):,}",
            line["runs"],
            f"{100 * float(line['share']):.1f} %",
        ]
        for line in lines
    ]
    return [["canaries", "claim", "how many", "runs", "refuted"], *rows]


def one_run_power(lines: list[Line]) -> list[list[str]]:
    """Median bounds of one run with independent Gaussian canaries."""
    rows = [
        [
            f"{float(line['mu']):g} ({float(line['epsilon']):.2f})",
            f"{int(line['canaries']):,}",
            f"{math.floor(100 * float(line['mu_lower'])) / 100:.2f}",
            f"{math.floor(100 * float(line['epsilon_if_gaussian'])) / 100:.2f}",
            *(
                f"{math.floor(100 * float(line[test])) / 100:.2f}"
                for test in ("error_recursion", "right_guesses", "stopped_wealth")
            ),
        ]
        for line in lines
    ]
    heads = ["true mu (epsilon)", "canaries", "mu at least", "epsilon if Gaussian"]
    return [[*heads, "error recursion", "right guesses", "stopped wealth"], *rows]


def training_claims(lines: list[Line]) -> list[list[str]]:
    """What is certified of correct trainings at each claim."""
    rows = [
        [
            f"{float(line['epsilon']):g}",
            f"{float(line['noise']):.2f}",
            line["runs"],
            f"{math.floor(100 * float(line['any_mechanism'])) / 100:.2f}",
            line["any_refuted"],
            f"{math.floor(100 * float(line['independent'])) / 100:.2f}",
            line["independent_refuted"],
        ]
        for line in lines
    ]
    heads = ["claimed epsilon", "noise", "trainings", "any mechanism", "refuted"]
    return [[*heads, "if independent", "refuted"], *rows]


def wide_resnet(lines: list[Line]) -> list[list[str]]:
    """The full-size training: bounds under both nulls by either score."""
    rows = [
        [
            line["bug"],
            "final weights" if line["score"] == "weights" else "noisy gradients",
            f"{float(line['claim_epsilon']):.2f}",
            f"{math.floor(100 * float(line['epsilon_any'])) / 100:.2f}",
            line["refuted_any"],
            f"{math.floor(100 * float(line['epsilon_independent'])) / 100:.2f}",
            f"yes, after {line['canaries_until']}" if line["canaries_until"] else "no",
        ]
        for line in lines
    ]
    heads = ["bug", "score", "claimed epsilon", "any mechanism", "refuted"]
    return [[*heads, "if independent", "refuted"], *rows]
