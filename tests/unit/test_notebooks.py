"""The notebooks run from top to bottom, and show what stands in them."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path
from typing import Any

import notebooks
import pytest

import dpaudit

ALL = notebooks.notebooks()
pytestmark = pytest.mark.skipif(not ALL, reason="the source distribution has no documentation")
EACH = pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)


@EACH
def test_the_cells_show_what_stands_in_the_notebook(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    monkeypatch.chdir(tmp_path)  # a notebook may save an audit
    for number, (cell, shown) in enumerate(notebooks.run(notebooks.read(path)), 1):
        assert notebooks.in_words(shown) == notebooks.in_words(cell["outputs"]), f"In[{number}]"


@EACH
def test_a_notebook_is_whole(path: Path) -> None:
    notebook = notebooks.read(path)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len({*ids}) == len(ids)
    counts = [cell["execution_count"] for cell in notebooks.code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1))
    kinds = [kind for cell in notebooks.code_cells(notebook) for kind in kinds_of(cell["outputs"])]
    assert "image/png" in kinds
    assert "text/html" in kinds
    assert path.stat().st_size < 600_000


@EACH
def test_links_of_a_notebook_lead_to_files(path: Path) -> None:
    texts = ["".join(cell["source"]) for cell in notebooks.read(path)["cells"]]
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", "\n".join(texts))
    assert links
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_outputs_are_compared_but_for_pictures_and_time() -> None:
    def said(text: str, page: str) -> list[str]:
        data = {"text/html": [page], "image/png": "..."}
        stream = {"output_type": "stream", "text": [text]}
        return notebooks.in_words([stream, {"output_type": "execute_result", "data": data}])

    first = said("5 draws, 0.3 s\n", "<p>refuted</p><svg><path/></svg>")
    assert first == said("5 draws, 1.2 s\n", "<p>refuted</p><svg>\n</svg>")
    assert first != said("6 draws, 0.3 s\n", "<p>refuted</p><svg><path/></svg>")
    assert first != said("5 draws, 0.3 s\n", "<p>undecided</p><svg><path/></svg>")
    assert first != said("5 draws, 0.3 s\n", "<p>refuted</p>")


def test_a_cell_shows_its_last_value_and_what_it_prints() -> None:
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "source": ["1 / 0"]},
        {"cell_type": "code", "source": ["x = 2\n", "print(x)\n", "x + 1"]},
        {"cell_type": "code", "source": ["print('only')"]},
        {"cell_type": "code", "source": []},
    ]
    shown = [notebooks.in_words(outputs) for _, outputs in notebooks.run({"cells": cells})]
    assert shown == [["text: 2\n", "text/plain: 3"], ["text: only\n"], []]


def test_a_release_in_a_notebook_is_named_by_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of Jupyter's cells have names that say nothing to a reader."""
    file = "/tmp/ipykernel_1/2.py"
    names: dict[str, Any] = {}
    code = "def total(data, rng):\n    return sum(data) + rng.laplace(scale=1.0)\n"
    exec(compile(code, file, "exec"), names)

    def named(name: str) -> tuple[str, str] | None:
        return ("Cell", "In[3]") if name == file else None

    shell = types.SimpleNamespace(compile=types.SimpleNamespace(format_code_name=named))
    near = dpaudit.pairs([([1.0], [0.0])])
    for found, expected in ((shell, "In[3]:2"), (None, "ipykernel_1/2.py:2")):
        python = types.SimpleNamespace(get_ipython=lambda found=found: found)
        monkeypatch.setitem(sys.modules, "IPython", python)
        worst = dpaudit.audit_inside(names["total"], dpaudit.PureDP(0.5), near, rng=1).worst
        assert worst is not None
        assert worst.release.where.endswith(expected)


def kinds_of(outputs: list[dict[str, Any]]) -> list[str]:
    """The kinds of what a cell shows."""
    return [kind for output in outputs for kind in output.get("data", {})]
