"""A headless Chromium for the whole run, and axe-core where it is installed.

`make test-browser` installs what is needed and lets nothing be skipped. Elsewhere the tests are
skipped, with the reason, where the browser or the packages are not there.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

AXE = Path(sys.prefix) / "axe" / "node_modules" / "axe-core" / "axe.min.js"
OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # in a container Chromium may have no sandbox of its own
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
)


def _without(what: str) -> NoReturn:
    """Skip, or fail where the browser was asked for."""
    reason = f"{what}: make test-browser installs what it can"
    if os.environ.get("DPAUDIT_BROWSER") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, driven by selenium."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        _without("no chromium or no chromedriver on the path")
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        _without("selenium is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for option in OPTIONS:
        options.add_argument(option)
    found = webdriver.Chrome(options=options, service=Service(driver))
    yield found
    found.quit()


@pytest.fixture(scope="session")
def program() -> Callable[..., str]:
    """Finds the first of some programs, or skips the test."""

    def find(*names: str) -> str:
        found = next(filter(None, map(shutil.which, names)), None)
        if found is None:
            _without(f"no {' or '.join(names)} on the path")
        return found

    return find


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core."""
    if not AXE.exists():
        _without("axe-core is not installed")
    return AXE.read_text(encoding="utf-8")
