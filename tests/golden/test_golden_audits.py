"""Audits stay the same, draw for draw: every one of them is compared with its committed record."""

import json
import math
from typing import Any

import pytest
from golden_audits import CASES
from golden_records import RECORDS, recorded, software

COMMITTED = json.loads(RECORDS.read_text(encoding="utf-8"))
SAME_SOFTWARE = COMMITTED["software"] == software()
TOLERANCE = 1e-12


def differences(now: Any, before: Any, where: str = "") -> list[str]:
    """Where two records differ; floats may differ by one part in 1e12."""
    if isinstance(now, dict) and isinstance(before, dict) and now.keys() == before.keys():
        return [
            line for key in now for line in differences(now[key], before[key], f"{where}.{key}")
        ]
    if isinstance(now, list) and isinstance(before, list) and len(now) == len(before):
        pairs = enumerate(zip(now, before, strict=True))
        return [line for i, (a, b) in pairs for line in differences(a, b, f"{where}[{i}]")]
    if isinstance(now, float) and isinstance(before, float):
        same = math.isclose(now, before, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    else:
        same = type(now) is type(before) and now == before
    return [] if same else [f"{where}: {now!r}, was {before!r}"]


@pytest.mark.filterwarnings("ignore::dpaudit.HealthWarning")
@pytest.mark.parametrize("name", CASES)
def test_the_audit_is_the_same(name: str) -> None:
    """On the software of the records to 1e-12; on other versions, the verdict."""
    now, before = recorded(CASES[name]()), COMMITTED["audits"][name]
    if SAME_SOFTWARE:
        assert differences(now, before) == []
    else:
        assert now.get("verdict") == before.get("verdict")


def test_there_are_forty_and_a_record_for_each() -> None:
    assert COMMITTED["audits"].keys() == CASES.keys()
    assert len(CASES) >= 40


@pytest.mark.parametrize(
    ("now", "before"),
    [
        (1.0, 1.0 + 1e-11),
        (3, 4),
        (None, 0.0),
        ({"a": 1}, {"b": 1}),
        ([1, 2], [1]),
        ({"a": [1.0, {"b": "x"}]}, {"a": [1.0, {"b": "y"}]}),
        (math.nan, 1.0),
    ],
)
def test_a_difference_is_seen(now: Any, before: Any) -> None:
    assert len(differences(now, before)) == 1
