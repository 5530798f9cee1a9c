"""The code of a notebook of the documentation, and what it shows.

    python tests/support/notebooks.py             # every notebook

The cells of a notebook run in order, in this process, and share their names. As in Jupyter, the
value of a last line that is an expression is shown. Run as a script this writes what the cells show
into the notebooks; the tests compare the two. Pictures are not compared, since every Matplotlib
draws them a little differently.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pages

ROOT = pages.ROOT
_PICTURE = re.compile(r"<svg.*?</svg>", re.DOTALL)
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)


def notebooks() -> list[Path]:
    """The notebooks; none in a source distribution."""
    return sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def read(path: Path) -> dict[str, Any]:
    """A notebook as JSON."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells with code, in order."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def run(notebook: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Run the code of a notebook: each cell, and what it shows."""
    names: dict[str, Any] = {"__name__": "notebook"}
    for number, cell in enumerate(code_cells(notebook), 1):
        written = io.StringIO()
        with contextlib.redirect_stdout(written):
            shown = _value(ast.parse("".join(cell["source"])), f"In[{number}]", names)
        printed = pages.without_provenance(written.getvalue())
        yield cell, [*_stream(printed), *_result(shown, number)]


def _value(code: ast.Module, name: str, names: dict[str, Any]) -> Any:
    """Run the code; the value of its last line, if that is an expression."""
    last = code.body.pop() if code.body and isinstance(code.body[-1], ast.Expr) else None
    exec(compile(code, name, "exec"), names)
    if last is None:
        return None
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), name, "eval"), names)


def _stream(text: str) -> Iterator[dict[str, Any]]:
    if text:
        yield {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}


def _result(value: Any, number: int) -> Iterator[dict[str, Any]]:
    if value is None:
        return
    data: dict[str, Any] = {"text/plain": [repr(value)]}
    metadata = {}
    if hasattr(value, "_repr_png_"):
        picture, size = value._repr_png_()
        data["image/png"] = base64.b64encode(picture).decode()
        metadata["image/png"] = size
    elif (page := value._repr_html_() if hasattr(value, "_repr_html_") else None) is not None:
        data["text/html"] = page.splitlines(keepends=True)
    yield {
        "data": data,
        "execution_count": number,
        "metadata": metadata,
        "output_type": "execute_result",
    }


def in_words(outputs: list[dict[str, Any]]) -> list[str]:
    """What outputs say, less pictures, styles and the time it took."""
    said = []
    for output in outputs:
        data = output.get("data", {"text": output.get("text")})
        for kind, content in sorted(data.items()):
            text = "".join(content) if kind != "image/png" else "a picture"
            text = _STYLE.sub("", _PICTURE.sub("a picture", text))
            said.append(f"{kind}: {pages.without_seconds(text)}")
    return said


def main() -> None:
    """Write what the cells show into the notebooks, where their words have changed."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # what a notebook saves
        for path in notebooks():
            notebook = read(path)
            for number, (cell, shown) in enumerate(run(notebook), 1):
                cell["execution_count"] = number
                if in_words(shown) != in_words(cell["outputs"]):
                    cell["outputs"] = shown
            text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
