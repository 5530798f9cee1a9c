"""Cells of notebooks in a browser: they fit, and can be read in light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from reported import broken_inside, cannot_follow, of_words, verdicts

WIDTHS = {"desktop": 1280, "phone": 390}
# How Jupyter, VS Code and Sphinx say what their theme is; the last says nothing.
THEMES = {
    "jupyter-light": ('data-jp-theme-light="true"', False),
    "jupyter-dark": ('data-jp-theme-light="false"', True),
    "code-dark": ('class="vscode-dark"', True),
    "sphinx-light": ('data-theme="light"', False),
    "sphinx-dark": ('data-theme="dark"', True),
    "of-the-system": ("", True),
}


@pytest.fixture(scope="session")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a page of cells for each theme."""
    folder = tmp_path_factory.mktemp("cells")
    results: list[Any] = [*verdicts().values(), of_words(), broken_inside(), cannot_follow()]
    shown = "".join(f"<section>{result._repr_html_()}</section>" for result in results)
    for name, (theme, dark) in THEMES.items():
        paper = "#111" if dark else "#fff"
        page = (
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Cells</title>'
            '<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
            f'</head><body {theme} style="background: {paper}"><main>{shown}</main></body></html>'
        )
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return folder


def _open(browser: Any, page: Path, width: int, *, system_is_dark: bool) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    scheme = {"name": "prefers-color-scheme", "value": "dark" if system_is_dark else "light"}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    browser.get_log("browser")  # what an earlier page left
    browser.get(page.as_uri())


@pytest.mark.parametrize("size", WIDTHS)
def test_cells_fit_and_say_nothing_to_the_console(browser: Any, cells: Path, size: str) -> None:
    _open(browser, cells / "sphinx-light.html", WIDTHS[size], system_is_dark=False)
    metrics = browser.execute_cdp_cmd("Page.getLayoutMetrics", {})
    assert metrics["cssContentSize"]["width"] <= WIDTHS[size]
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("name", THEMES)
def test_cells_follow_the_theme_and_can_be_read(
    browser: Any, axe: str, cells: Path, name: str
) -> None:
    """The notebook's theme counts, against that of the system, too."""
    dark = THEMES[name][1]
    _open(
        browser, cells / f"{name}.html", 390, system_is_dark=dark if name[:2] == "of" else not dark
    )
    paper = browser.execute_script(
        "return getComputedStyle(document.querySelector('.dpaudit-cell')).backgroundColor"
    )
    assert paper == ("rgb(20, 25, 31)" if dark else "rgb(255, 255, 254)")
    browser.execute_script(axe)
    found = browser.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
    serious = [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []
    assert "color-contrast" in [one["id"] for one in found["passes"]]
