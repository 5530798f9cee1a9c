"""The tables of the experiments, as rows of text for the documentation."""

from __future__ import annotations

import math

Line = dict[str, str]


def table2(lines: list[Line]) -> list[list[str]]:
    """Trials until found: for each mechanism and finder the paper's by tester, then ours.

    Not every finder was run with every tester.
    """
    cells = {(line["mechanism"], line["finder"], line["tester"]): line for line in lines}
    ours = list(dict.fromkeys(line["tester"] for line in lines))
    theirs = [tester for tester in ours if tester != "betting"]  # the paper has no bets

    def trials(mechanism: str, finder: str, tester: str, column: str) -> str:
        figure = cells.get((mechanism, finder, tester), {}).get(column)
        return f"{float(figure):.1f}" if figure else "-"

    def draws(line: Line) -> str:
        return f"{float(line['mean_draws']):,.0f}" if line["mean_draws"] else "never"

    rows = [
        [
            mechanism,
            finder,
            *(trials(mechanism, finder, tester, "paper_trials") for tester in theirs),
            *(trials(mechanism, finder, tester, "mean_trials") for tester in ours),
            draws(cells[mechanism, finder, "betting"]),
        ]
        for mechanism in dict.fromkeys(line["mechanism"] for line in lines)
        for finder in dict.fromkeys(line["finder"] for line in lines)
    ]
    heads = [*(f"paper: {tester}" for tester in theirs), *(f"ours: {tester}" for tester in ours)]
    return [["mechanism", "finder", *heads, "draws: betting"], *rows]


def table1(lines: list[Line]) -> list[list[str]]:
    """Detections of ten by size, the paper's and ours, and what can be asked of each tester."""
    cells: dict[tuple[str, str, str], list[Line]] = {}
    for line in lines:
        cells.setdefault((line["mechanism"], line["epsilon"], line["tester"]), []).append(line)
    testers = list(dict.fromkeys(tester for *_, tester in cells if tester != "betting"))

    def detected(own: list[Line]) -> str:
        paper, ours = (
            " ".join(line[key] or "-" for line in own) for key in ("paper_detected", "detected")
        )
        return f"{paper} → {ours}, {own[-1]['state']}"

    def bets(line: Line) -> str:
        after = f" after {float(line['mean_draws']):,.0f}" if line["mean_draws"] else ""
        return f"{line['detected']}{after}, {line['state']}"

    rows = []
    for mechanism, epsilon in dict.fromkeys((line["mechanism"], line["epsilon"]) for line in lines):
        (line,) = cells[mechanism, epsilon, "betting"]
        rows.append(
            [
                mechanism,
                line["claim"],
                f"{float(line['excess']):.2g}",
                "-" if line["floor"] == "inf" else f"{float(line['floor']):,.0f}",
                bets(line),
                *(detected(cells[mechanism, epsilon, each]) for each in testers),
            ]
        )
    heads = ["mechanism", "claim", "excess", "floor", "betting: ours"]
    return [[*heads, *(f"{each}: paper → ours" for each in testers)], *rows]


def false_positives(lines: list[Line]) -> list[list[str]]:
    """Accusations of the honest by tester; the last row has all of them and what alpha allows."""
    testers = list(dict.fromkeys(line["tester"] for line in lines))
    cells = {(line["mechanism"], line["tester"]): line for line in lines}
    rows = [
        [
            mechanism,
            cells[mechanism, testers[0]]["claim"],
            *(
                f"{cells[mechanism, each]['refuted']} of {cells[mechanism, each]['runs']}"
                for each in testers
            ),
        ]
        for mechanism in dict.fromkeys(line["mechanism"] for line in lines)
    ]

    def total(key: str, tester: str) -> float:
        return sum(float(line[key]) for line in lines if line["tester"] == tester)

    last = [f"{total('refuted', each):.0f} of {total('runs', each):.0f}" for each in testers]
    allowed = f"all; alpha allows {total('promised', testers[0]):g} on average"
    return [["mechanism", "claim", *testers], *rows, [allowed, "", *last]]


def running_time(lines: list[Line]) -> list[list[str]]:
    """Mean seconds of a trial by tester and size."""
    sizes = list(dict.fromkeys(int(line["draws_a_side"]) for line in lines))
    seconds = {
        (line["tester"], line["device"], int(line["draws_a_side"])): line["mean_seconds"]
        for line in lines
    }

    def cell(text: str) -> str:
        return f"{float(text):.2f} s" if text else "not measured"

    rows = [
        [tester, device, *(cell(seconds[tester, device, size]) for size in sizes)]
        for tester, device in dict.fromkeys((line["tester"], line["device"]) for line in lines)
    ]
    return [["tester", "device", *(f"{size:,} a side" for size in sizes)], *rows]


def sample_size(lines: list[Line]) -> list[list[str]]:
    """By draws a side: the mean certified epsilon on the fixed pair, the trials of a search."""
    sizes = sorted({int(line["draws_a_side"]) for line in lines})
    kinds = list(
        dict.fromkeys((line["mechanism"], line["finder"], line["tester"]) for line in lines)
    )

    def cell(line: Line | None) -> str:
        if line is None:
            return ""
        if line["mean_epsilon"]:
            return f"{float(line['mean_epsilon']):.2f}"
        return f"{float(line['mean_trials']):.1f}" if int(line["found"]) else "never"

    rows = []
    for kind in kinds:
        own = {
            int(line["draws_a_side"]): line
            for line in lines
            if (line["mechanism"], line["finder"], line["tester"]) == kind
        }
        exact = next(iter(own.values()))["exact_epsilon"]
        shown = f"epsilon (exact: {float(exact):.2f})" if exact else "trials"
        rows.append([*kind, shown, *(cell(own.get(size)) for size in sizes)])
    return [["mechanism", "pairs", "tester", "shown", *(f"{size:,}" for size in sizes)], *rows]


def scaled_gd(lines: list[Line]) -> list[list[str]]:
    """One line for each scale: the truth, then by tester what was certified and refuted."""
    cells = {(line["scale"], line["tester"]): line for line in lines}
    testers = list(dict.fromkeys(line["tester"] for line in lines))
    rows = []
    for scale in dict.fromkeys(line["scale"] for line in lines):
        own = [cells[scale, tester] for tester in testers]
        draws = own[0]["mean_draws"]
        rows.append(
            [
                f"{float(scale):g}",
                f"{float(own[0]['true_divergence']):.2f}",
                *(f"{float(line['mean_bound']):.2f}" for line in own),
                *(f"{line['refuted']} of {line['audits']}" for line in own),
                f"{float(draws):,.0f}" if draws else "-",
                own[0]["paper_refuted"],
            ]
        )
    heads = ["scale", "true divergence", *(f"certified: {tester}" for tester in testers)]
    heads += [f"refuted: {tester}" for tester in testers]
    return [[*heads, f"draws: {testers[0]}", "refuted in the paper"], *rows]


def peers(lines: list[Line]) -> list[list[str]]:
    """One line for each mechanism: the truth, theirs, and what was certified by draws."""
    cells = {(line["row"], int(line["samples"])): line for line in lines}
    sizes = sorted({int(line["samples"]) for line in lines})

    def shown(value: str) -> str:
        number = float(value or 0.0)
        return "inf" if math.isinf(number) else f"{number:.3g}" if number else "none"

    def measured(line: Line) -> str:
        median = shown(line["median"])
        if int(line["runs"]) == 1:
            return median
        return f"{median} ({shown(line['lowest'])} to {shown(line['highest'])})"

    rows = []
    for row in dict.fromkeys(line["row"] for line in lines):
        own = [cells[row, size] for size in sizes]
        theirs = (own[0]["true_epsilon"], own[0]["sniper_best"], own[0]["sniper_200m"])
        rows.append([row, *map(shown, theirs), *map(measured, own)])
    heads = ["mechanism", "true", "DP-Sniper, 2.3 M draws, best of 3", "DP-Sniper, 200 M draws"]
    return [[*heads, *(f"ours, {size / 1e6:g} M draws" for size in sizes)], *rows]


def sniper_figures(lines: list[Line]) -> list[list[str]]:
    """Our DP-Sniper beside theirs: the least and the most that the runs of a row certified."""

    def between(low: str, high: str) -> str:
        return f"{float(low):.3g} to {float(high):.3g}" if low else "none"

    rows = [
        [
            line["row"],
            f"{float(line['true_epsilon']):.3g}",
            between(line["their_lowest"], line["their_highest"]),
            between(line["lowest"], line["highest"]),
            between(line["lowest_reversed"], line["highest_reversed"]),
        ]
        for line in lines
    ]
    heads = ["mechanism", "true", "theirs, three seeds", f"ours, {lines[0]['runs']} seeds"]
    return [[*heads, "ours, sides exchanged"], *rows]


def floats(lines: list[Line]) -> list[list[str]]:
    """One line for each source of noise: what its bits showed, the bound rounded down."""
    rows = [
        [
            line["mechanism"].replace(",", f" {line['version']},", 1),
            line["claim"],
            f"{line['refuted']} of {line['audits']}",
            f"{float(line['mean_draws']):,.0f}",
            f"{math.floor(100 * float(line['least_epsilon'])) / 100:.2f}",
            line["event"] or "-",
        ]
        for line in lines
    ]
    heads = ["mechanism", "claim", "refuted", "draws: mean", "certified epsilon: least", "event"]
    return [heads, *rows]


def libraries(lines: list[Line]) -> list[list[str]]:
    """One line for each mechanism of each library; bounds are rounded down, datasets cut short."""
    rows = [
        [
            f"{line['library']} {line['version']}",
            line["function"],
            f"**{line['verdict']}**" if line["verdict"] == "refuted" else line["verdict"],
            _bound(line),
            f"{int(line['draws']):,}",
            line["claim"] + (f"; {line['watched']}" if line["watched"] else ""),
            f"{_code(line['data'])} / {_code(line['neighbour'])}" if line["data"] else "-",
            _code(line["event"]) if line["event"] else "-",
        ]
        for line in lines
    ]
    heads = ["library", "function", "verdict", "certified", "draws", "claim; values of note"]
    return [[*heads, "pair", "event"], *rows]


def libraries_in_short(lines: list[Line]) -> list[list[str]]:
    """One line for each library: how many mechanisms, and how many claims were refuted."""
    rows = []
    for library in dict.fromkeys(line["library"] for line in lines):
        own = [line for line in lines if line["library"] == library]
        refuted = [line for line in own if line["verdict"] == "refuted"]
        rows.append([library, own[0]["version"], f"{len(own)}", f"{len(refuted)}"])
    return [["library", "version", "lines", "refuted"], *rows]


def refuted_table(lines: list[Line]) -> list[list[str]]:
    """One line for each bug and way of looking: when it was refuted, and the bounds of one run."""

    def after(line: Line, kind: str) -> str:
        found = f"{line[kind]} of {line['audits']}"
        draws = line[f"{kind}_draws"]
        return f"{found}, after {float(draws):,.0f}" if draws else found

    def epsilon(figure: str) -> str:
        return f"{math.floor(100 * float(figure)) / 100:.2f}" if figure else "-"

    rows = [
        [
            line["bug"],
            line["seen"],
            f"{int(line['most']):,} {line['unit']}",
            after(line, "loose"),
            after(line, "strict"),
            f"{line['whatever']} of {line['audits']}" if line["whatever"] else "-",
            f"{float(line['claimed']):.2f}",
            epsilon(line["epsilon"]),
            epsilon(line["epsilon_if_gaussian"]),
        ]
        for line in lines
    ]
    alphas = [f"refuted at {float(lines[0][key]):g}" for key in ("loose_alpha", "strict_alpha")]
    heads = ["bug", "seen", "at most", *alphas, f"{alphas[0]}, whatever the canaries do"]
    return [[*heads, "claimed epsilon", "certified", "if independent and Gaussian"], *rows]


def peers_table(lines: list[Line]) -> list[list[str]]:
    """One line for each peer: bounds on simulated scores, and how often it accuses on the claim.

    The latter is told of the sources that were run most often.
    """
    cells = {(line["source"], line["canaries"], line["peer"]): line for line in lines}
    sources = list(dict.fromkeys((line["source"], line["canaries"]) for line in lines))
    claimed = {(line["source"], line["canaries"]): float(line["claimed"]) for line in lines}
    peers = {line["peer"]: line for line in lines}
    bounded = [each for each in sources if each[0].startswith("mu ")]
    most = max(int(line["runs"]) for line in lines)
    often = [each for each in sources if int(cells[*each, lines[0]["peer"]]["runs"]) == most]

    def bound(line: Line | None) -> str:
        return f"{math.floor(100 * float(line['epsilon'])) / 100:.2f}" if line else "-"

    def accused(line: Line | None) -> str:
        if line is None:
            return "-"
        stopped = f", stopped with an error: {line['stopped']}" if line["stopped"] != "0" else ""
        return f"{line['accused']} of {line['runs']}{stopped}"

    rows = [
        [
            name.replace(",", f" {one['version']},", 1),
            one["assumes"],
            *(bound(cells.get((*source, name))) for source in bounded),
            *(accused(cells.get((*source, name))) for source in often),
        ]
        for name, one in peers.items()
    ]
    names = {each: f"{each[0]}, {int(each[1]):,} canaries" for each in sources}
    heads = [f"{names[each]} (true: {claimed[each]:.2f})" for each in bounded]
    heads += [f"accused: {names[each]}" for each in often]
    return [["bound", "assumes", *heads], *rows]


def _bound(line: Line) -> str:
    if not line["certified"]:
        return "-"
    down = math.floor(100 * float(line["certified"])) / 100
    return f"{line['symbol'] or 'epsilon'} {down:.2f}"


def _code(text: str, most: int = 60) -> str:
    """Text as code, cut in the middle where it is long."""
    half = (most - 3) // 2
    return f"`{text if len(text) <= most else text[:half] + '...' + text[-half:]}`"
