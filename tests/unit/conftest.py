"""What unit tests share."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from commands import FakeAudit


@pytest.fixture
def forget_modules(tmp_path: Path) -> Iterator[None]:
    """Modules and folders of the test that Python came to know are unknown again after it."""
    path = list(sys.path)
    yield
    sys.path[:] = path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAudit]:
    """The audit that the command line calls, replaced."""
    module: Any = ModuleType("dpaudit.auditing")
    module.audit = FakeAudit()
    monkeypatch.setitem(sys.modules, "dpaudit.auditing", module)
    path = list(sys.path)
    yield module.audit
    sys.path[:] = path  # a target's folder was put there
