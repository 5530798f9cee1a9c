"""What unit tests share."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def forget_modules(tmp_path: Path) -> Iterator[None]:
    """Modules and folders of the test that Python came to know are unknown again after it."""
    path = list(sys.path)
    yield
    sys.path[:] = path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]
