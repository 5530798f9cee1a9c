"""Results at the end of a notebook's cell: styled in place, and nothing beside them."""

from __future__ import annotations

import pickle
import re
from functools import cache
from html import escape
from typing import Any

import numpy as np
import pytest
from reported import NASTY, broken_inside, cannot_follow, of_words, refuted, verdicts

import dpaudit
from dpaudit.inside import Laplace, release

PNG = b"\x89PNG\r\n"


@cache
def cells() -> dict[str, str]:
    results: dict[str, Any] = {**verdicts(), "words": of_words()}
    results |= {"broken inside": broken_inside(), "cannot follow": cannot_follow()}
    return {name: result._repr_html_() for name, result in results.items()}


NAMES = (*verdicts(), "words", "broken inside", "cannot follow")


def style_of(cell: str) -> str:
    [style] = re.findall(r"<style>(.*?)</style>", cell, re.DOTALL)
    return re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)


@pytest.mark.parametrize("name", NAMES)
def test_a_cell_says_its_verdict_and_styles_only_itself(name: str) -> None:
    cell = cells()[name]
    assert re.search(r'<p class="verdict [a-z-]+">[A-Z][a-z ]+</p>', cell)
    for rule in style_of(cell).split("}")[:-1]:
        selectors, _, _ = rule.partition("{")
        # A comma inside of :is(...) lists themes; any other begins a selector of its own.
        for selector in re.sub(r":is\([^)]*\)", ":is()", selectors).split(","):
            assert ".dpaudit-cell" in selector
    assert not re.search(r"<script|<link|@import|src=|https?://(?!www\.w3\.org)", cell)


@pytest.mark.parametrize("name", NAMES)
def test_a_cell_defines_every_colour_in_light_and_dark(name: str) -> None:
    used = set(re.findall(r"var\((--dpaudit-[\w-]+)", cells()[name]))
    style = style_of(cells()[name])
    both = set(re.findall(r"(--dpaudit-[\w-]+): light-dark\(#\w+, #\w+\);", style))
    assert used - both == {"--dpaudit-mono"}


@pytest.mark.parametrize("name", [*verdicts(), "words"])
def test_a_cell_has_the_main_numbers(name: str) -> None:
    labels = re.findall(r"<dt>(.*?)</dt>", cells()[name])
    certified = "largest privacy loss certified"
    assert labels == ["claim", certified, "false accusation", "draws", "pairs tried"]


def releases_in(cell: str) -> list[str]:
    """The numbers of the releases in the table of a cell."""
    [table] = re.findall(r'<table class="releases">(.*?)</table>', cell, re.DOTALL)
    return re.findall(r'<th scope="row" class="number">(\d+)</th>', table)


def test_a_cell_shows_every_release_of_a_short_transcript() -> None:
    assert releases_in(cells()["broken inside"]) == ["1", "2", "3"]
    assert cells()["broken inside"].count("<svg") == 1
    assert "What was released is 7.38 times as likely on A" in cells()["broken inside"]


def test_a_cell_shows_the_largest_releases_of_a_long_transcript() -> None:
    def halving(data: Any, rng: np.random.Generator) -> object:
        scales = [2.0 ** (step + 1) for step in range(9)]
        return [release(float(np.sum(data)), Laplace(scale), rng) for scale in scales[::-1]]

    near = dpaudit.pairs([([1.0], [0.0])])
    cell = dpaudit.audit_inside(halving, dpaudit.PureDP(9.0), near, rng=1)._repr_html_()
    assert releases_in(cell) == ["4", "5", "6", "7", "8", "9"]
    assert "3 more releases of smaller loss" in cell


def test_a_cell_that_cannot_follow_gives_the_reason_and_no_figure() -> None:
    cell, found = cells()["cannot follow"], cannot_follow()
    assert re.search(r"Reason: .+", cell)
    assert "<svg" not in cell
    with pytest.raises(ValueError, match="No release was recorded"):
        found.plot.releases()


def test_what_users_wrote_is_no_markup_in_a_cell() -> None:
    assert NASTY not in cells()["words"]
    assert escape(NASTY, quote=False)[:30] in cells()["words"]


def test_a_figure_shows_itself_without_pyplot_and_can_be_sent() -> None:
    for figure in (refuted().plot.curve(), broken_inside().plot.releases()):
        picture, shown = figure._repr_png_()  # type: ignore[attr-defined]
        assert picture.startswith(PNG)
        width = int.from_bytes(picture[16:20], "big")
        assert width == 2 * shown["width"]
        again, _ = pickle.loads(pickle.dumps(figure))._repr_png_()
        assert again == picture
