"""Claims come back from what was saved, and are read from a command line."""

import json
import math
import pickle
from typing import Any

import pytest

import dpaudit.claims
from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, Profile, PureDP, RenyiDP
from dpaudit.errors import InvalidClaim


@pytest.mark.parametrize(
    "claim",
    [PureDP(1.0), ApproxDP(1.0, 1e-6), RenyiDP(2.0, 0.5), ZCDP(0.1), GaussianDP(1.0)],
    ids=str,
)
def test_saved_claims_come_back(claim: Any) -> None:
    saved = json.loads(json.dumps(claim.to_json()))
    assert dpaudit.claims.claim_from_json(saved) == claim


@pytest.mark.parametrize("source", [GaussianDP(1.0), GaussianDP(8.0), ZCDP(0.01), PureDP(2.0)])
def test_a_saved_profile_comes_back_as_an_upper_bound(source: Any) -> None:
    claim = Profile(source.delta, name="pld")
    saved = json.loads(json.dumps(claim.to_json()))
    loaded = dpaudit.claims.claim_from_json(saved)
    assert str(loaded) == "privacy profile 'pld'"
    stop = saved["points"][-1][0]
    for step in range(301):
        level = 1.5 * stop * step / 300
        assert loaded.delta(level) >= claim.delta(level) * (1 - 1e-12)
        if saved["points"][0][0] <= level <= stop:
            assert loaded.delta(level) <= claim.delta(level) + 3e-3
    for level, delta in saved["points"]:
        assert loaded.delta(level) == pytest.approx(delta, rel=1e-12)


def test_a_loaded_profile_saves_as_it_was() -> None:
    saved = Profile(GaussianDP(1.0).delta).to_json()
    loaded: Any = dpaudit.claims.claim_from_json(saved)
    assert loaded.to_json() == saved
    assert dpaudit.claims.claim_from_json(loaded.to_json()) == loaded
    assert pickle.loads(pickle.dumps(loaded)) == loaded
    assert len(loaded.tangents(8)) == 8


def test_chords_are_straight_in_e_to_the_epsilon() -> None:
    points = [[math.log(2), 0.4], [math.log(4), 0.2]]
    loaded = dpaudit.claims.claim_from_json({"kind": "Profile", "name": None, "points": points})
    assert loaded.delta(math.log(3)) == pytest.approx(0.3)
    assert loaded.delta(math.log(1.5)) == pytest.approx(0.7)  # from delta(0) <= 1
    assert loaded.delta(0.0) == 1.0
    assert loaded.delta(9.0) == 0.2
    far = dpaudit.claims.claim_from_json(
        {"kind": "Profile", "name": None, "points": [[0, 0.5], [2000, 0.0]]}
    )
    assert far.delta(1000.0) == 0.5


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        ({}, "kind must be one of ApproxDP, .*, got None"),
        ({"kind": "Unknown", "epsilon": 1.0}, "got 'Unknown'"),
        ({"kind": ["PureDP"]}, "kind must be one of"),
        ({"kind": "PureDP"}, "a saved PureDP must have exactly epsilon, got nothing"),
        ({"kind": "PureDP", "epsilon": 1.0, "delta": 0.1}, "got epsilon, delta"),
        ({"kind": "PureDP", "epsilon": "1"}, "epsilon must be a number >= 0, got '1'"),
        ({"kind": "ApproxDP", "epsilon": 1.0, "delta": 2.0}, "delta must be in"),
        ({"kind": "Profile", "points": [[0, 1]]}, "exactly name, points"),
        ({"kind": "Profile", "name": 3, "points": [[0, 1]]}, "text or null, got 3"),
        ({"kind": "Profile", "name": None, "points": []}, "points, got"),
        ({"kind": "Profile", "name": None, "points": "01"}, "points, got '01'"),
        ({"kind": "Profile", "name": None, "points": [[0]]}, r"\[epsilon, delta\], got \[0\]"),
        ({"kind": "Profile", "name": None, "points": ["01"]}, "got '01'"),
        ({"kind": "Profile", "name": None, "points": [[0, -1]]}, "delta must be >= 0, got -1"),
        ({"kind": "Profile", "name": None, "points": [[1, 0.5], [1, 0.4]]}, "must increase"),
        ({"kind": "Profile", "name": None, "points": [[0, 0.1], [1, 0.4]]}, "not increase"),
        ([], "a JSON object, got"),
    ],
)
def test_a_damaged_saved_claim_is_refused(saved: Any, message: str) -> None:
    with pytest.raises(InvalidClaim, match=message):
        dpaudit.claims.claim_from_json(saved)


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("1", PureDP(1.0)),
        ("eps=1", PureDP(1.0)),
        ("epsilon=1", PureDP(1.0)),
        (" EPS = 0.5 ", PureDP(0.5)),
        ("eps=1,delta=1e-6", ApproxDP(1.0, 1e-6)),
        ("delta=1e-6, epsilon=1", ApproxDP(1.0, 1e-6)),
        ("order=2,eps=0.5", RenyiDP(2.0, 0.5)),
        ("rho=0.1", ZCDP(0.1)),
        ("mu=1", GaussianDP(1.0)),
    ],
)
def test_claims_on_the_command_line(text: str, claim: Claim) -> None:
    assert dpaudit.claims.parse_claim(text) == claim


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot read ''"),
        ("strong", "cannot read 'strong'"),
        ("eps=one", "cannot read 'eps=one'"),
        ("eps=", "cannot read 'eps='"),
        ("eps=1,epsilon=2", "epsilon is given twice"),
        ("1,2", "epsilon is given twice"),
        ("delta=1e-6", "no claim is made of delta"),
        ("rho=0.1,mu=1", "no claim is made of rho, mu"),
        ("gamma=1", "no claim is made of gamma"),
    ],
)
def test_an_unreadable_claim_lists_the_accepted_forms(text: str, message: str) -> None:
    with pytest.raises(InvalidClaim, match=message) as caught:
        dpaudit.claims.parse_claim(text)
    forms = ("eps=1", "eps=1,delta=1e-6", "order=2,eps=0.5", "rho=0.1", "mu=1")
    assert all(form in str(caught.value) for form in forms)


def test_a_readable_claim_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidClaim, match=r"epsilon must be >= 0, got -1\.0"):
        dpaudit.claims.parse_claim("eps=-1")
    with pytest.raises(InvalidClaim, match="epsilon must be a number >= 0, got nan"):
        dpaudit.claims.parse_claim("eps=nan")
