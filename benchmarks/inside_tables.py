"""The tables of docs/inside.md, from the CSVs of `experiments/inside`."""

from __future__ import annotations

from experiment_tables import Line


def inside_identity(lines: list[Line]) -> list[list[str]]:
    """The mean of `exp(-L)` for every kind of release."""
    rows = [
        [
            line["release"],
            f"{float(line['largest']):.2f}",
            f"{float(line['mean']):.4f}",
            f"{float(line['error']):.4f}",
            f"{float(line['off']):.1f}",
        ]
        for line in lines
    ]
    return [["release", "largest loss", "mean of exp(-L)", "standard error", "errors off"], *rows]


def inside_zoo(lines: list[Line]) -> list[list[str]]:
    """The verdicts inside and outside on the zoo: how many of each, correct and broken apart."""
    names = ["broken inside", "not refuted", "undecided", "cannot follow"]
    rows = []
    for kept, title in (("no", "break their claim"), ("yes", "keep their claim")):
        own = [line for line in lines if line["keeps_claim"] == kept]
        counts = [sum(line["inside"].startswith(name) for line in own) for name in names]
        within = [int(line["transcripts"]) for line in own if line["inside"] == names[0]]
        confirmed = sum("refuted" in line["confirmed"].replace("not refuted", "") for line in own)
        outside = sum("refuted" in line["outside"].replace("not refuted", "") for line in own)
        few = f"{counts[0]} ({sum(count <= 400 for count in within)} within 400 transcripts)"
        rest = [*map(str, counts[1:]), str(confirmed), str(outside)]
        rows.append([f"{len(own)} that {title}", few, *rest])
    return [["mechanisms", *names, "refuted by confirm()", "refuted by the black box"], *rows]


def inside_diffprivlib(lines: list[Line]) -> list[list[str]]:
    """Audits inside of what diffprivlib is known to do wrong or right, and the black box beside."""
    rows = []
    for line in lines:
        draws = f"{int(line['draws']):,}" if line["draws"] else "-"
        box = line["black_box"] or "-"
        spent = line["black_box_seconds"]
        rows.append(
            [
                line["label"],
                line["kind"],
                f"{line['broken_inside']} of {line['audits']}",
                f"{line['informative']} of {line['pairs']}",
                f"{float(line['transcripts']):g} ({line['most_transcripts']})",
                f"{float(line['seconds']):.3f} s",
                box if line["kind"] == "tree" or box == "-" else f"{box}, {draws}",
                f"{float(spent):.1f} s" if spent else "-",
            ]
        )
    heads = ["row", "kind", "broken inside", "pairs with a loss", "transcripts", "time"]
    return [[*heads, "by outputs, draws", "time"], *rows]


def inside_sgd(lines: list[Line]) -> list[list[str]]:
    """DP-SGD with bugs: transcripts and draws, and what they took."""
    heads = ["training", "features", "bug", "broken inside", "transcripts", "CPU seconds"]
    rows = [
        [
            "NumPy" if line["library"] == "numpy" else "Opacus",
            f"{int(line['features']):,}",
            line["bug"],
            f"{line['broken']} of {line['runs']}",
            f"{float(line['transcripts']):,.0f}",
            f"{float(line['seconds']):.2f}",
            f"{line['refuted']} of {line['runs']}",
            f"{float(line['draws']):,.0f}",
            f"{float(line['output_seconds']):.1f}",
            f"{float(line['ratio']):,.1f}",
        ]
        for line in lines
    ]
    return [[*heads, "output refuted", "draws", "CPU seconds", "ratio"], *rows]


def inside_validity(lines: list[Line]) -> list[list[str]]:
    """Tight mechanisms, followed, and how often they were accused."""
    rows = [
        [line["mechanism"], line["audits"], line["transcripts"], line["accused"], line["limit"]]
        for line in lines
    ]
    return [["mechanism, claim", "audits", "transcripts each", "accused", "limit"], *rows]


def inside_synthesizers(lines: list[Line]) -> list[list[str]]:
    """Synthesizers, broken and right."""
    rows = [
        [
            line["synthesizer"],
            "right" if line["right"] == "yes" else "broken",
            f"{line['broken']} of {line['runs']}",
            f"{float(line['transcripts']):,.0f}",
            f"{float(line['seconds']):.3f}",
            f"{line['refuted']} of {line['runs']}",
            f"{float(line['draws']):,.0f}",
            f"{float(line['output_seconds']):.1f}",
        ]
        for line in lines
    ]
    heads = ["synthesizer", "it is", "broken inside", "transcripts", "CPU seconds"]
    return [[*heads, "output refuted", "draws", "CPU seconds"], *rows]
