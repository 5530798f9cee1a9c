"""`assert_private(..., inside=True)`: what fails a test, what warns, and what stays green."""

import pickle
import re
from typing import Any

import numpy as np
import pytest
from projects import Project, lines_between

import dpaudit
from dpaudit import HealthWarning, InsideAudit, InsideVerdict, PrivacyViolation, PureDP
from dpaudit.errors import CannotFollow, InvalidRelation

REPLACED = dpaudit.replace_one(dpaudit.floats(-1, 1), max_records=5)
Rng = np.random.Generator


def clipped_sum(data: Any, rng: Rng) -> Any:
    return np.clip(data, -1, 1).sum() + rng.laplace(scale=1.0)


def test_what_is_broken_inside_fails_with_the_line_both_inputs_and_the_loss() -> None:
    with pytest.raises(PrivacyViolation) as caught:
        dpaudit.assert_private(clipped_sum, PureDP(1.0), REPLACED, inside=True, rng=7)
    lines = str(caught.value).splitlines()
    assert lines[0] == "clipped_sum breaks 1-DP inside: loss 2"
    assert max(map(len, lines)) <= 72
    said = " ".join(str(caught.value).split())
    for words in (
        "test_inside_asserting.py:",
        ": loss 2, the largest",
        "in on A 1",
        "in on B -1",
        "whether the output shows it is another question, which confirm() asks",
        "rng=7 makes the same transcripts again",
    ):
        assert words in said, words
    found = caught.value.audit
    assert isinstance(found, InsideAudit)
    assert found.confirm(samples=40_000).verdict is dpaudit.Verdict.REFUTED
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_what_keeps_its_claim_comes_back() -> None:
    found = dpaudit.assert_private(clipped_sum, PureDP(2.0), REPLACED, inside=True, rng=7)
    assert isinstance(found, InsideAudit)
    assert found.verdict is InsideVerdict.NOT_REFUTED


def test_code_that_cannot_be_followed_fails() -> None:
    def beta(data: Any, rng: Rng) -> Any:
        return np.sum(data) + rng.beta(1.0, 1.0)

    with pytest.raises(CannotFollow, match=r"beta cannot be audited inside, so this test checks"):
        dpaudit.assert_private(beta, PureDP(1.0), REPLACED, inside=True, rng=7)


def test_what_is_undecided_warns_at_the_line_of_the_test() -> None:
    def constant(data: Any, rng: Rng) -> Any:
        return rng.laplace(scale=1.0)

    with pytest.warns(HealthWarning, match="undecided inside: constant") as warned:
        found = dpaudit.assert_private(constant, PureDP(1.0), REPLACED, inside=True, rng=7)
    assert found.verdict is InsideVerdict.UNDECIDED
    assert [one.filename for one in warned] == [__file__]


def leaks_at(record: float) -> Any:
    def release(data: Any, rng: Rng) -> Any:
        noise = rng.laplace(scale=0.1 if record in data else 4.0)
        return np.sum(data) + noise

    return release


def test_a_pinned_pair_is_tried_first_and_must_belong() -> None:
    needle = 0.123456789

    @dpaudit.example([needle], [0.5])
    def pinned(code: Any) -> Any:
        return dpaudit.assert_private(code, PureDP(1.0), REPLACED, inside=True, rng=7)

    with pytest.raises(PrivacyViolation) as caught:
        pinned(leaks_at(needle))
    found = caught.value.audit
    assert isinstance(found, InsideAudit)
    assert found.worst is not None
    assert found.worst.pair.data.tolist() in ([needle], [0.5])
    assert found.neighbours == "1 given pair"
    assert pinned(leaks_at(7.0)).alpha == 0.5e-6
    dpaudit.assert_private(leaks_at(needle), PureDP(1.0), REPLACED, inside=True, rng=7)

    @dpaudit.example([needle], [50.0])
    def elsewhere() -> Any:
        return dpaudit.assert_private(clipped_sum, PureDP(2.0), REPLACED, inside=True)

    with pytest.raises(InvalidRelation, match=r"50.0 is not in"):
        elsewhere()


def test_a_pin_that_shows_nothing_is_said_although_the_search_goes_on() -> None:
    @dpaudit.example([0.5], [0.5, 0.25])
    def pinned() -> Any:
        more = dpaudit.add_or_remove_one(dpaudit.floats(-1, 1), max_records=3)
        return dpaudit.assert_private(zero_if_two, PureDP(1.0), more, inside=True, rng=7)

    def zero_if_two(data: Any, rng: Rng) -> Any:
        total = 0.0 if len(data) in (1, 2) and data[0] == 0.5 else np.clip(data, -1, 1).sum()
        return total + rng.laplace(scale=3.0)

    with pytest.warns(HealthWarning, match="every loss was 0"):
        assert pinned().verdict is InsideVerdict.NOT_REFUTED


def test_options_of_draws_do_not_go_with_it() -> None:
    options: dict[str, Any]
    for options in ({"samples": 100}, {"floats": "bits"}, {"seconds": 1.0}):
        with pytest.raises(TypeError, match=f"inside=True does not go with {next(iter(options))}"):
            dpaudit.assert_private(clipped_sum, PureDP(2.0), REPLACED, inside=True, **options)
    with pytest.raises(TypeError, match="brings no claim"):
        dpaudit.assert_private(clipped_sum, inside=True)


def test_a_subject_brings_claim_and_neighbours() -> None:
    subject = dpaudit.Subject(mechanism=clipped_sum, claim=PureDP(1.0), neighbours=REPLACED)
    with pytest.raises(PrivacyViolation):
        dpaudit.assert_private(subject, inside=True)
    assert dpaudit.audit_inside(subject, rng=7).broken
    assert not dpaudit.audit_inside(subject, PureDP(2.0), rng=7).broken
    with pytest.raises(TypeError, match="brings no neighbours"):
        dpaudit.audit_inside(clipped_sum, PureDP(1.0))


# --- in a run of pytest ---------------------------------------------------------------------------

TESTS = """
import numpy as np
import dpaudit

NEAR = dpaudit.replace_one(dpaudit.floats(-1, 1), max_records=3)

def noisy(data, rng):
    return np.clip(data, -1, 1).sum() + rng.laplace(scale=1.0)

def test_broken():
    dpaudit.assert_private(noisy, dpaudit.PureDP(1.0), NEAR, inside=True)

def test_right():
    dpaudit.assert_private(noisy, dpaudit.PureDP(2.0), NEAR, inside=True)

def test_draws():
    answers = dpaudit.zoo.RandomizedResponse(1.0)
    dpaudit.assert_private(answers, dpaudit.PureDP(1.0), [([1], [0])], samples=200)
"""


def test_the_summary_and_the_pages_of_a_run_have_both_kinds(project: Project) -> None:
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    project.write(test_both=TESTS)
    result = project.run_apart("--dpaudit-report=audits")
    result.assert_outcomes(failed=1, passed=2)
    _, *rows = lines_between(result, f"{'=' * 35} dpaudit", "saved in")
    assert [re.split(" {2,}", row)[1][:3] for row in rows] == ["noi", "Ran", "noi"]
    assert "broken inside" in rows[0]
    assert "  loss 1." in rows[0]
    assert all(len(row) <= 80 for row in rows)
    result.stdout.no_fnmatch_line("warning: *")
    result.stdout.fnmatch_lines(["FAILED * - noisy breaks 1-DP inside: loss 1.*"])
    index = (project.path / "audits" / "index.html").read_text(encoding="utf-8")
    assert "0 refuted, 2 not refuted, 0 undecided, 1 broken inside." in index
    assert len(list((project.path / "audits").glob("*.html"))) == 4
    assert not (project.path / ".dpaudit" / "kept").exists()
