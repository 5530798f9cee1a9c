"""The code in the documentation runs as it is printed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [page for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))) if page.exists()]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")))
]


@pytest.mark.skipif(not BLOCKS, reason="the source distribution has no documentation")
@pytest.mark.parametrize("block", BLOCKS)
def test_the_code_of_a_page_runs(block: str) -> None:
    exec(compile(block, "<documentation>", "exec"), {"__name__": "documentation"})
