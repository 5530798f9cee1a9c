"""The page of an audit inside, and what stands in its table of releases."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reported import NASTY, broken_inside, cannot_follow, refuted

import dpaudit
from dpaudit import InsideAudit, PureDP
from dpaudit.inside import Laplace, ReleaseLoss, release
from dpaudit.report import inside_page, shown_release, shown_releases, write_suite
from dpaudit.report.figures.releases import RELEASES

Rng = np.random.Generator


def told_exactly(data: Any, rng: Rng) -> object:
    noise = rng.normal()
    return np.sum(data) + noise, noise


def many_releases(data: Any, rng: Rng) -> object:
    return [release(float(np.sum(data)) / (1 + step), Laplace(4.0), rng) for step in range(300)]


@cache
def found_of(name: str) -> InsideAudit:
    near = dpaudit.pairs([([1.0], [0.0])])
    match name:
        case "broken inside":
            return broken_inside()
        case "cannot follow":
            return cannot_follow()
        case "infinite":
            return dpaudit.audit_inside(told_exactly, dpaudit.GaussianDP(1.0), near, rng=1)
        case "many":
            return dpaudit.audit_inside(many_releases, PureDP(0.01), near, rng=1)
    return dpaudit.audit_inside(many_releases, PureDP(99.0), near, rng=1, transcripts=6)


NAMES = ("broken inside", "cannot follow", "infinite", "many", "not refuted")


@cache
def page_of(name: str) -> str:
    return inside_page(found_of(name))


def said(page: str) -> str:
    text = re.sub(r"<(style|svg).*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())


def of_loss(loss: float, **changes: Any) -> ReleaseLoss:
    values: dict[str, Any] = {"where": "sum.py:3", "kernel": Laplace(1.0)}
    values |= {
        "neighbour_kernel": Laplace(1.0),
        "input": 1.0,
        "neighbour_input": 0.0,
        "output": 0.5,
        "loss": loss,
    }
    return ReleaseLoss(**values | changes)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_whole_and_fit_for_screen_readers(name: str) -> None:
    page = page_of(name)
    assert not re.search(r"(src|href)=\"(?!#|data:,)", page)
    assert "<script" not in page
    levels = [int(level) for level in re.findall(r"<h(\d)", page)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert page.count("<table") == page.count("<caption") == page.count("</table>")
    assert all("scope=" in cell for cell in re.findall(r"<th[ >][^>]*>", page))
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert len(page) < 250_000


@pytest.mark.parametrize("name", NAMES)
def test_a_page_says_what_a_transcript_does_not(name: str) -> None:
    words = said(page_of(name))
    assert "Only the black box on this pair, confirm(), refutes the output." in words
    assert "draws only from the generator" in words
    assert f"rng={found_of(name).rng_seed}" in words
    assert "is private" not in words


def test_the_page_of_what_is_broken_has_every_release_with_both_inputs() -> None:
    words, found = said(page_of("broken inside")), broken_inside()
    assert found.worst is not None
    assert "Broken inside" in words
    assert "whether the output shows it is another question" in words
    for text in (
        found.worst.release.where,
        "Laplace(scale=2.0)",
        "Laplace(scale=9.0)",
        "1 of 2,000 entries differ, first [1000]:",
        "(2,000 in all)",
        "none: one loss decides",
        "times as likely on A as on B" if found.worst.loss > 0 else "as likely on B as on A",
    ):
        assert text in words, text
    assert page_of("broken inside").count('role="img"') == 1


def test_the_page_of_what_cannot_be_followed_says_why_and_has_no_table() -> None:
    words = said(page_of("cannot follow"))
    assert "uses rng.beta, which is not followed" in words
    assert "The releases of the worst transcript" not in words


def test_an_infinite_loss_is_said_and_drawn() -> None:
    words = said(page_of("infinite"))
    assert "cannot be released on" in words
    assert "infinite" in words
    assert "infinite" in re.findall(r"<svg.*?</svg>", page_of("infinite"), re.DOTALL)[0]


def test_of_many_releases_those_of_the_largest_loss_are_shown() -> None:
    worst = found_of("many").worst
    assert worst is not None
    assert len(worst.releases) == 300
    shown, left_out = shown_releases(worst.releases)
    assert len(shown) == 20
    assert [one.number for one in shown] == sorted(one.number for one in shown)
    least = min(abs(one.loss) for one in shown)
    others = set(range(1, 301)) - {one.number for one in shown}
    assert max(abs(worst.releases[number - 1].loss) for number in others) <= least
    assert left_out.startswith("280 more releases of smaller loss, ")
    assert left_out in said(page_of("many"))


def test_what_users_wrote_is_text_and_nothing_else() -> None:
    found = found_of("broken inside")
    assert found.worst is not None
    one = replace(found.worst.release, where=NASTY, input=NASTY, neighbour_input=[NASTY] * 40)
    worst = replace(found.worst, releases=(one,), differs=NASTY)
    page = inside_page(replace(found, name=NASTY, reason=NASTY, worst=worst, neighbours=NASTY))
    assert "<script>alert" not in page
    assert "<b>" not in page
    assert "&lt;script&gt;alert" in page


def test_a_suite_has_both_kinds(tmp_path: Path) -> None:
    index = write_suite([refuted(), broken_inside(), cannot_follow()], tmp_path)
    words = said(index.read_text(encoding="utf-8"))
    counted = "1 refuted, 0 not refuted, 0 undecided, 1 broken inside, 1 cannot follow."
    assert f"3 audits: {counted}" in words
    assert "noisy_model" in words
    assert (tmp_path / "002-noisy-model.html").exists()


def test_the_same_result_has_the_same_page(tmp_path: Path) -> None:
    broken_inside().report(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page_of("broken inside")


# --- one release ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        (np.zeros(13), np.eye(1, 13, 6)[0], "1 of 13 entries differ, first [6]: 0 on A, 1 on B"),
        (np.zeros((4, 5)), np.zeros((5, 4)), "of shape (4, 5) on A and (5, 4) on B"),
        (np.full(20, np.nan), np.full(20, np.nan), ""),
        ([0.0] * 13, [*[0.0] * 12, math.nan], "1 of 13 entries differ, first [12]: 0 on A, nan"),
        ([1.0, 2.0], [1.0, 3.0], ""),  # short: both are shown whole
        (1.0, 2.0, ""),
        (["a"] * 20, ["b"] * 20, ""),
        ([[1.0], [1.0, 2.0]], [[1.0], [1.0]], ""),
    ],
    ids=str,
)
def test_long_inputs_say_where_they_differ(ours: Any, theirs: Any, words: str) -> None:
    shown = shown_release(1, of_loss(1.0, input=ours, neighbour_input=theirs))
    assert shown.apart.startswith(words)
    assert bool(shown.apart) is bool(words)


def test_noise_is_said_of_both_sides_where_it_differs() -> None:
    other = shown_release(1, of_loss(1.0, neighbour_kernel=Laplace(2.0)))
    assert other.noise == "Laplace(scale=1.0) on A, Laplace(scale=2.0) on B"
    assert shown_release(1, of_loss(0.0, kernel=None, neighbour_kernel=None)).noise == (
        "known already"
    )


@pytest.mark.parametrize(
    "losses", [(2.0, -1.0), (-2.0, -1.0), (math.inf, 1.0), (0.0,), tuple([0.1] * 40)]
)
def test_every_kind_of_loss_is_drawn(losses: tuple[float, ...]) -> None:
    pytest.importorskip("matplotlib")
    found = found_of("broken inside")
    assert found.worst is not None
    worst = replace(found.worst, releases=tuple(map(of_loss, losses)))
    for claim in (PureDP(0.0), dpaudit.ApproxDP(1.0, 1e-5), dpaudit.ZCDP(0.1)):
        one = replace(found, worst=worst, claim=claim)
        [panel] = RELEASES.draw(one).axes
        bars: list[Any] = list(panel.patches)
        widths = [bar.get_width() for bar in bars]
        assert len(widths) == min(len(losses), 20)
        assert all(math.isfinite(width) for width in widths)
        signs = [math.copysign(1.0, loss) if loss else 0.0 for loss in losses[:20]]
        assert [float(np.sign(width)) for width in widths] == signs
        assert "number 1" in RELEASES.alt(one)
