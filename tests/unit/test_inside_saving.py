"""An audit inside comes back equal from its file; a file that contradicts itself is refused."""

import copy
import json
import math
import pickle
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reported import broken_inside, cannot_follow, noisy_model, refuted

import dpaudit
from dpaudit import ApproxDP, GaussianDP, InsideAudit, InsideVerdict, PureDP
from dpaudit.domains import Unsaved
from dpaudit.errors import InvalidAuditFile
from dpaudit.inside import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Geometric,
    Laplace,
    PermuteAndFlip,
    RandomizedResponse,
    ReleaseLoss,
    Vector,
    inside_from_json,
)
from dpaudit.results import audit_from_json, load

Rng = np.random.Generator
ONE: list[Any] = [([1.0], [0.0])]


def noisy_sum(data: Any, rng: Rng) -> object:
    return np.sum(data) + rng.normal(scale=1.0)


def told_exactly(data: Any, rng: Rng) -> object:
    noise = rng.normal()
    return np.sum(data) + noise, noise


def other_form(data: Any, rng: Rng) -> object:
    return [each + rng.laplace() for each in data]


def made(verdict: InsideVerdict) -> InsideAudit:
    match verdict:
        case InsideVerdict.BROKEN_INSIDE:
            return broken_inside()
        case InsideVerdict.CANNOT_FOLLOW:
            return cannot_follow()
        case InsideVerdict.UNDECIDED:
            return dpaudit.audit_inside(other_form, PureDP(1.0), [([1.0], [])], rng=7)
    return dpaudit.audit_inside(noisy_sum, ApproxDP(2.0, 0.1), ONE, rng=7, transcripts=60)


def with_kernel(kernel: Any) -> dict[str, Any]:
    """A saved audit whose largest release has this kernel on both sides."""
    found = broken_inside()
    assert found.worst is not None
    one = replace(found.worst.release, kernel=kernel, neighbour_kernel=kernel)
    others = [each for each in found.worst.releases if each is not found.worst.release]
    return replace(found, worst=replace(found.worst, releases=(one, *others))).to_json()


# --- there and back -------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", InsideVerdict, ids=lambda verdict: verdict.name)
def test_every_verdict_comes_back_equal(verdict: InsideVerdict, tmp_path: Path) -> None:
    found = made(verdict)
    assert found.verdict is verdict
    found.save(tmp_path / "inside.json")
    back = dpaudit.load(tmp_path / "inside.json")
    assert isinstance(back, InsideAudit)
    assert back == found
    assert str(back) == str(found)
    assert back.mechanism is None
    assert inside_from_json(json.loads(json.dumps(found.to_json()))) == found


def test_arrays_and_kernels_come_back_as_they_were(tmp_path: Path) -> None:
    found = broken_inside()
    found.save(tmp_path / "inside.json")
    back = dpaudit.load(tmp_path / "inside.json")
    assert isinstance(back, InsideAudit)
    assert back.worst is not None
    assert found.worst is not None
    assert len(back.worst.releases) == len(found.worst.releases) == 3
    for ours, theirs in zip(found.worst.releases, back.worst.releases, strict=True):
        assert ours.kernel == theirs.kernel
        assert type(ours.kernel) is type(theirs.kernel)
        np.testing.assert_array_equal(ours.input, theirs.input)
        np.testing.assert_array_equal(ours.output, theirs.output)


@pytest.mark.parametrize(
    "kernel",
    [
        Laplace(0.5),
        Gaussian(2.0),
        DiscreteLaplace(1.0),
        DiscreteGaussian(2.0),
        Geometric(0.5),
        ExponentialMechanism(epsilon=1.0, sensitivity=2.0),
        PermuteAndFlip(epsilon=1.0),
        RandomizedResponse(epsilon=1.0, categories=3),
        Vector((Laplace(1.0), Vector((Gaussian(2.0),)))),
        None,
    ],
    ids=str,
)
def test_every_kernel_comes_back(kernel: Any) -> None:
    back = inside_from_json(with_kernel(kernel))
    assert back.worst is not None
    assert any(each.kernel == kernel for each in back.worst.releases)


def test_a_kernel_of_the_user_comes_back_as_its_repr() -> None:
    @dataclass(frozen=True)
    class Own:
        scale: float

    back = inside_from_json(with_kernel(Own(2.0)))
    assert back.worst is not None
    [text] = [each.kernel for each in back.worst.releases if isinstance(each.kernel, Unsaved)]
    assert "Own(scale=2.0)" in repr(text)
    assert inside_from_json(back.to_json()) == back  # and then stays


@pytest.mark.parametrize("claim", [GaussianDP(1.0), PureDP(1.0)], ids=str)
def test_an_infinite_loss_comes_back(claim: Any) -> None:
    found = dpaudit.audit_inside(told_exactly, claim, ONE, rng=1)
    assert found.worst is not None
    assert found.worst.loss == math.inf
    assert "Infinity" not in json.dumps(found.to_json())
    assert inside_from_json(found.to_json()) == found


def test_one_load_reads_both_kinds_and_that_of_results_says_so(tmp_path: Path) -> None:
    refuted().save(tmp_path / "draws.json")
    assert dpaudit.load(tmp_path / "draws.json") == refuted()
    broken_inside().save(tmp_path / "inside.json")
    with pytest.raises(InvalidAuditFile, match=r"kind 'inside'.*dpaudit.load reads both"):
        load(tmp_path / "inside.json")
    with pytest.raises(InvalidAuditFile, match="kind 'inside'"):
        audit_from_json(broken_inside().to_json())


def test_a_loaded_result_is_confirmed_with_the_mechanism_it_is_given() -> None:
    back = inside_from_json(broken_inside().to_json())
    with pytest.raises(ValueError, match=r"confirm\(mechanism=...\).* It was one_at_a_time"):
        back.confirm(samples=1_000)
    audit, ours = (
        found.confirm(mechanism=given, samples=20_000)
        for found, given in ((back, noisy_model), (broken_inside(), None))
    )
    assert audit.verdict is ours.verdict
    assert audit.evidence == ours.evidence
    assert audit.rng_seed == back.rng_seed


def test_it_can_be_sent_to_another_process_whatever_the_code_is() -> None:
    def local(data: Any, rng: Rng) -> object:
        return np.sum(data) + rng.laplace(scale=0.1)

    found = dpaudit.audit_inside(local, PureDP(1.0), ONE, rng=1)
    violation = dpaudit.PrivacyViolation("broken", found)
    sent = pickle.loads(pickle.dumps(violation))
    assert sent.audit == found
    assert sent.audit.mechanism is None


def test_two_results_differ_where_what_they_say_differs() -> None:
    found = broken_inside()
    assert found != replace(found, alpha=0.5)
    assert found == replace(found, seconds=99.0, mechanism=None)
    assert found != "broken inside"


# --- what is refused ------------------------------------------------------------------------------


def edited(found: InsideAudit, **changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(found.to_json()), **changes}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"verdict": "not refuted"}, "the verdict is 'not refuted', and a loss breaks the claim"),
        ({"verdict": "refuted"}, "verdict must be one of broken inside, not refuted"),
        ({"claim": {"epsilon": 50.0, "kind": "PureDP"}}, "and a loss does not break the claim"),
        ({"loss": 0.25}, "and not 0.25"),
        ({"loss": None}, "and not None"),
        ({"reason": "why"}, "with a reason"),
        ({"alpha": 0.0}, "alpha must be in"),
        ({"alpha": {"$float": "nan"}}, "alpha must be in"),
        ({"seconds": -1.0}, "seconds must be finite"),
        ({"log_wealth": 3.0}, "a pure claim has no wealth"),
        ({"log_wealth": {"$float": "nan"}}, "log-wealth must be at least 0"),
        ({"transcripts": 0}, "a transcript was recorded, among 0"),
        ({"transcripts": -1}, "transcripts must be a whole number >= 0"),
        ({"schema": 3}, "got 'inside' and 3"),
        ({"schema": True}, "got 'inside' and True"),
        ({"kind": "outside"}, "got 'outside' and 2"),
        ({"kind": ["inside"]}, "Was it saved by another version?"),
        ({"more": 1}, "unknown field 'more'"),
        ({"worst": None}, "the losses of the releases make None"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_file_that_was_edited_is_refused(changes: dict[str, Any], words: str) -> None:
    inside_from_json(edited(broken_inside()))  # as it was, it is read
    with pytest.raises(InvalidAuditFile) as caught:
        inside_from_json(edited(broken_inside(), **changes))
    assert words in str(caught.value)


@pytest.mark.parametrize("name", sorted(broken_inside().to_json()))
def test_a_file_with_a_field_less_is_refused(name: str) -> None:
    saved = edited(broken_inside())
    del saved[name]
    with pytest.raises(InvalidAuditFile):
        inside_from_json(saved)


def test_losses_of_releases_must_add_up() -> None:
    saved: Any = edited(broken_inside())
    saved["worst"]["releases"][0]["loss"] += 0.125
    with pytest.raises(InvalidAuditFile, match="the losses of the releases make"):
        inside_from_json(saved)
    saved["worst"]["releases"] = []
    with pytest.raises(InvalidAuditFile, match="the losses of the releases make None"):
        inside_from_json({**saved})
    with pytest.raises(InvalidAuditFile, match="the worst transcript has no release"):
        inside_from_json({**saved, "loss": None})


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_evidence_and_verdict_must_agree_where_the_claim_is_not_pure(epsilon: float) -> None:
    claim = ApproxDP(epsilon, 1e-5 if epsilon < 1.0 else 0.1)
    found = dpaudit.audit_inside(noisy_sum, claim, ONE, rng=3, transcripts=400)
    assert found.broken is (epsilon < 1.0)
    inside_from_json(found.to_json())
    wealth = 1.0 if found.broken else 20.0
    with pytest.raises(InvalidAuditFile, match="with a log-wealth of"):
        inside_from_json(edited(found, log_wealth=wealth))
    with pytest.raises(InvalidAuditFile, match="without an infinite loss"):
        inside_from_json(edited(found, log_wealth={"$float": "inf"}))


@pytest.mark.parametrize(
    "kernel",
    [
        {"kernel": "Laplace"},
        {"kernel": "Laplace", "scale": -1.0},
        {"kernel": "Laplace", "scale": 1.0, "more": 2},
        {"kernel": "Nobody", "scale": 1.0},
        {"kernel": "Kernel"},
        {"kernel": "ReleaseLoss"},
        {"kernel": ["Laplace"], "scale": 1.0},
        {"kernel": "Vector", "kernels": {"kernels": 3}},
        {"kernel": "Vector", "kernels": {"kernels": [3]}},
        3,
        "Laplace(1.0)",
        {"$tuple": []},
    ],
    ids=str,
)
def test_a_kernel_that_is_none_is_refused(kernel: Any) -> None:
    saved: Any = edited(broken_inside())
    saved["worst"]["releases"][0]["kernel"] = kernel
    with pytest.raises(InvalidAuditFile):
        inside_from_json(saved)


@pytest.mark.parametrize("text", ["", "[]", "3", '{"kind": "inside"}', '{"kind": NaN}', "{"])
def test_a_file_that_is_none_is_refused_by_name(text: str, tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text(text)
    with pytest.raises(InvalidAuditFile, match=r"odd\.json"):
        dpaudit.load(tmp_path / "odd.json")


def test_a_release_is_a_plain_value() -> None:
    found = broken_inside()
    assert found.worst is not None
    assert isinstance(found.worst.release, ReleaseLoss)
    assert found.worst.loss == math.fsum(each.loss for each in found.worst.releases)
