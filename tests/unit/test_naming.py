"""A callable is named so that it can be found again, or not at all."""

import functools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpaudit
from dpaudit.integrations import load_mechanism
from dpaudit.mechanism import as_mechanism, one_at_a_time, target_of
from dpaudit.results import software_in_use
from dpaudit.zoo import LaplaceCount

SOURCE = """
import functools
from dpaudit import one_at_a_time

def release(data, size, rng, scale=1.0):
    return len(data) + rng.laplace(scale=scale, size=size)

def single(data, rng):
    return len(data) + rng.laplace()

@one_at_a_time
def decorated(data, rng):
    return len(data) + rng.laplace()

class Release:
    def __call__(self, data, size, rng):
        return release(data, size, rng)

    @staticmethod
    def static(data, size, rng):
        return release(data, size, rng)

    def bound(self, data, size, rng):
        return release(data, size, rng)

instance = Release()
wide = functools.partial(release, scale=2.0)
named = lambda data, size, rng: release(data, size, rng)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / "named_for_test.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    import named_for_test  # type: ignore[import-not-found]

    yield named_for_test
    del sys.modules["named_for_test"]


@pytest.mark.parametrize("name", ["release", "decorated", "instance", "wide", "named"])
def test_what_a_module_holds_is_found_again(module: Any, name: str) -> None:
    held = getattr(module, name)
    mechanism = as_mechanism(held)
    assert mechanism.target == f"named_for_test:{name}"
    assert load_mechanism(mechanism.target) == mechanism


def test_a_dotted_name_is_found_again(module: Any) -> None:
    assert target_of(module.Release.static) == "named_for_test:Release.static"


def test_one_output_a_call_is_found_again(module: Any) -> None:
    mechanism = as_mechanism(one_at_a_time(module.single))
    assert mechanism.target == "one_at_a_time(named_for_test:single)"
    again = load_mechanism(mechanism.target)
    seeds = (np.random.default_rng(3) for _ in range(2))
    first, second = (
        each.draw([1], 5, rng) for each, rng in zip((mechanism, again), seeds, strict=True)
    )
    np.testing.assert_array_equal(first, second)


def test_what_cannot_be_found_again_has_no_target(module: Any) -> None:
    def closure(data: Any, size: int) -> list[Any]:
        return [module.release] * size

    nameless: list[Callable[..., Any]] = [
        closure,
        lambda data, size: [data] * size,
        functools.partial(module.release, scale=3.0),
        module.Release(),
        module.instance.bound,
        LaplaceCount(epsilon=0.5),
        one_at_a_time(lambda data: data),
    ]
    assert [as_mechanism(function).target for function in nameless] == [None] * len(nameless)


def test_a_replaced_function_is_not_taken_for_its_successor(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = module.release
    monkeypatch.setattr(module, "release", module.single)
    assert target_of(old) is None


def test_what_runs_as_main_has_no_target(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.release, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "release", module.release, raising=False)
    assert target_of(module.release) is None


@pytest.mark.parametrize("tester", [None, dpaudit.testers.HistogramTester()], ids=["bets", "batch"])
def test_an_audit_keeps_the_target_and_the_software(module: Any, tester: Any) -> None:
    neighbours = dpaudit.pairs([([1.0], [])])
    claim = dpaudit.PureDP(0.1)
    audit = dpaudit.audit(module.release, claim, neighbours, tester=tester, samples=2000, rng=1)
    assert audit.target == "named_for_test:release"
    assert audit.software == software_in_use()
    assert dict(audit.software)["numpy"] == np.__version__
    assert json.loads(json.dumps(audit.to_json()))["target"] == audit.target


def test_samples_in_hand_have_no_target() -> None:
    audit = dpaudit.compare_samples(np.arange(50.0), np.arange(50.0), dpaudit.PureDP(1.0), rng=1)
    assert audit.target is None
    assert audit.software == software_in_use()
