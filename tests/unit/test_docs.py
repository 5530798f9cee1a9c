"""The code in the documentation runs as it stands there, and prints what stands under it."""

import re
from pathlib import Path

import pages
import pytest

import dpaudit

ROOT = pages.ROOT
# A mechanism that raises is spoken of on one page, and an audit warns of it; libraries warn too.
_OF_LIBRARIES = [
    pytest.mark.filterwarnings(f"ignore:{words}")
    for words in ("Secure RNG turned off", "Full backward hook is firing", "optax.global_norm")
]
# An option of SciPy that scikit-learn still gives.
_OF_L_BFGS = [pytest.mark.filterwarnings("ignore:scipy.optimize. The `disp`")]
WARNS = {
    "docs/reports/diffprivlib-logistic-norm.md": _OF_L_BFGS,
    "docs/reports/diffprivlib-rare-class.md": _OF_L_BFGS,
    "docs/outputs.md": [pytest.mark.filterwarnings("default::dpaudit.HealthWarning")],
    "docs/libraries.md": _OF_LIBRARIES,
    "docs/training.md": _OF_LIBRARIES,
}
PAGES = [
    pytest.param(page, id=name, marks=WARNS.get(name, []))
    for page in pages.pages()
    for name in [page.relative_to(ROOT).as_posix()]
]
REFERENCE, GALLERY = ROOT / "docs" / "reference", ROOT / "docs" / "gallery"
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

pytestmark = pytest.mark.skipif(
    not REFERENCE.exists(), reason="the source distribution has no documentation"
)


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_prints_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a page may save an audit
    for block, printed in pages.run(page.read_text(encoding="utf-8"), str(page)):
        said = "" if block.printed is None else block.printed
        assert pages.without_seconds(printed) == pages.without_seconds(said), f"line {block.line}"


def test_what_is_printed_is_compared_but_for_the_time() -> None:
    page = '```python\nprint("5 draws, 0.3 s")\n```\n```text\n5 draws, 1.2 s\n```\n'
    ((block, printed),) = pages.run(page, "page.md")
    assert block.printed is not None
    assert printed != block.printed
    assert pages.without_seconds(printed) == pages.without_seconds(block.printed)
    assert pages.filled(page, "page.md") == page
    assert pages.filled(page.replace("5 draws, 1", "6 draws, 1"), "page.md") != page


def test_the_pieces_of_a_page_share_their_names_and_know_their_lines() -> None:
    page = "# Title\n```python\nx = 1\n```\ntext\n```python\nprint(x / 0)\n```\n"
    with pytest.raises(ZeroDivisionError) as caught:
        list(pages.run(page, "page.md"))
    assert caught.traceback[-1].lineno == 6  # counted from 0


def test_what_needs_a_library_runs_where_it_is_installed() -> None:
    page = "<!-- needs: {} -->\n```python\nprint(1)\n```\n```text\n1\n```\n"
    assert [printed for _, printed in pages.run(page.format("math"), "page.md")] == ["1\n"]
    assert list(pages.run(page.format("no_such_library"), "page.md")) == []


def test_every_public_name_is_in_the_reference_once() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md"))
    named = re.findall(r"^\.\. auto\w+:: dpaudit\.(\w+)(?:\(\))?$", text, re.MULTILINE)
    assert sorted(named) == sorted(set(dpaudit.__all__) - {"__version__"})


def test_the_table_of_testers_says_what_their_classes_say() -> None:
    text = (ROOT / "docs" / "testers.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| (exact|asymptotic|none) \|$", text, re.MULTILINE))
    testers = vars(dpaudit.testers)
    stated = {
        name: kind.method.guarantee
        for name, kind in testers.items()
        if isinstance(getattr(kind, "method", None), dpaudit.testers.Method)
    }
    assert {name: rows.get(name) for name in stated} == stated


@pytest.mark.parametrize(
    "page", [page for page in TEXTS if page.exists()], ids=lambda page: page.stem
)
def test_links_lead_to_files(page: Path) -> None:
    """Also outside the site, where Sphinx does not look."""
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
