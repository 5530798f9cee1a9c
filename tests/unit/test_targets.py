"""Targets that make objects: what they may say, what is refused, and that nothing is evaluated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import error_line, run

import dpaudit
from dpaudit.errors import InvalidMechanism
from dpaudit.integrations import load_mechanism, parse_target
from dpaudit.integrations.naming import Called, Named

CODE = """
class Sum:
    def __init__(self, shift=10.0, *, words=(), table=None):
        self.shift, self.words, self.table = shift, words, table

    def release(self, data, size, rng):
        return [data[0] + self.shift] * size

    def once(self, data):
        return data[0] + self.shift

    @staticmethod
    def plain(data, size):
        return [data[0]] * size

class Needs:
    def __init__(self, shift):
        self.shift = shift

    def release(self, data, size):
        return [data[0] + self.shift] * size

class Broken:
    def __init__(self, epsilon):
        raise TypeError("inside")

def made(shift):
    return Sum(shift)

shared = Sum(1.0)
EPSILON = 1.0
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forget_modules: None) -> Path:
    (tmp_path / "sums_for_targets.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("attribute", "output"),
    [
        ("Sum(2).release", 3.0),
        ("Sum(shift=-2.5).release", -1.5),
        ("Sum(2, words=['a:b', \"c)\"], table={'x': 1}).release", 3.0),
        ("Sum.release", 11.0),  # of an object made without arguments
        ("Sum.plain", 1.0),
        ("Sum(3).plain", 1.0),
        ("shared.release", 2.0),
        ("made(4).release", 5.0),
        (" Sum( shift = 2 ) . release ", 3.0),
    ],
)
def test_a_method_of_an_object_is_a_mechanism(attribute: str, output: float) -> None:
    for place in ("sums_for_targets.py", "sums_for_targets"):
        text = f"{place}:{attribute}"
        mechanism = load_mechanism(text)
        assert mechanism.target == text
        drawn = mechanism.draw([1.0], 2, np.random.default_rng(0))
        np.testing.assert_array_equal(drawn, [output] * 2)
    once = load_mechanism("one_at_a_time(sums_for_targets.py:Sum(2).once)")
    assert list(once.draw([1.0], 2, np.random.default_rng(0))) == [3.0, 3.0]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        ("Sum(__import__('os').getcwd()).release", r"only plain values .*getcwd\(\)"),
        ("Sum(EPSILON).release", "only plain values .*got EPSILON"),
        ("Sum([x for x in (1, 2)]).release", "only plain values"),
        ("Sum(**{'shift': 1}).release", r"without \*\*"),
        ("Sum(*[1]).release", "only plain values"),
        ("Sum(2)['release']()", "names and calls only"),
        ("(lambda: 1)()", "names and calls only"),
        ("Sum(2).relaese", "an object of Sum has no attribute 'relaese'. Did you mean release"),
        ("Sum(2)", r"is not callable"),
        ("Sum", r"is not callable.* Name a method: .*:Sum\.once, .*:Sum\.release\."),
        ("Sum(2)(3)", r"cannot be called. Leave out \(3\)"),
        ("Sum(scale=2).release", r"Sum\(scale=2\) cannot be called \(.*'scale'\)"),
        ("Needs.release", r"cannot be called without arguments .*such as Needs\(epsilon=1\)"),
        ("Sum((2)).release)", r"named module:function"),
        (f"Sum({'-' * 5000}1).release", r"named module:function"),
        (f"Sum({'[' * 900}{']' * 900}).release", r"only plain values|named module:function"),
    ],
)
def test_what_a_target_may_not_say(attribute: str, words: str) -> None:
    with pytest.raises(InvalidMechanism, match=words):
        load_mechanism(f"sums_for_targets.py:{attribute}")


@pytest.mark.usefixtures("here")
def test_an_error_inside_a_constructor_is_the_user_s() -> None:
    with pytest.raises(TypeError, match="inside"):
        load_mechanism("sums_for_targets.py:Broken(1).release")


def test_a_target_is_read_from_left_to_right() -> None:
    target = parse_target("C:/a (b)/f.py:A(1, x='y:z').b(2).c")
    assert target.place == "C:/a (b)/f.py"
    first, second = (step for step in target.steps if isinstance(step, Called))
    assert first == Called((1,), (("x", "y:z"),), ("1", "x='y:z'"))
    assert second.values == (2,)
    assert [step.name for step in target.steps if isinstance(step, Named)] == ["A", "b", "c"]


@pytest.mark.usefixtures("here")
def test_a_saved_audit_does_not_choose_a_call() -> None:
    target = "sums_for_targets.py:Sum(2).release"
    found = dpaudit.audit(
        load_mechanism(target), dpaudit.PureDP(1.0), [([1.0], [0.0])], samples=2_000, rng=1
    )
    assert found.refuted
    found.save("audit.json")
    words = error_line(run("replay", "audit.json"))
    assert f"names {target}, which makes a call. Check it" in words
    assert words.endswith(f"dpaudit replay audit.json '{target}'")
    assert run("replay", "audit.json", target).exit_code == 1


# --- tables ---------------------------------------------------------------------------------------

TABLE = "tables(age=integers:0:120, city=categories:Ulm,Bonn, form=columns)"


def test_a_table_is_named_on_the_command_line(here: Path) -> None:
    (here / "counts_for_targets.py").write_text(
        "def count(data, size, rng):\n"
        "    assert set(data) == {'age', 'city'}\n"
        "    return data['city'].count('Ulm') + rng.laplace(scale=0.25, size=size)\n"
    )
    start = ("audit", "counts_for_targets.py:count", "--claim", "eps=1", "--records", TABLE)
    rows = '[[{"age": 3, "city": "Ulm"}], [{"age": 3, "city": "Bonn"}]]'
    for search in (("--relation", "replace-one", "--max-records", "2"), ("--pair", rows)):
        done = run(*start, *search, "--seed", "1", "--samples", "20000", "--on-error", "raise")
        assert done.exit_code == 1, done.output
        assert "'Ulm'" in done.output
    other = '[[{"age": 3, "city": "Köln"}], []]'
    assert "is not one of tables(" in error_line(run(*start, "--pair", other))
