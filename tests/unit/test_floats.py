"""`floats="bits"`: noise that is added in floats is refuted for how it is rounded, and so said."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from commands import error_line, run

import dpaudit
from dpaudit import ApproxDP, Audit, PureDP
from dpaudit.errors import InvalidAuditFile
from dpaudit.results import audit_from_json
from dpaudit.zoo import Geometric, Snapping

Noise = Callable[[np.random.Generator, int], npt.NDArray[np.float64]]

ADDED = dpaudit.add_or_remove_one(dpaudit.floats(0, 1), max_records=3)
REPLACED = dpaudit.replace_one(dpaudit.floats(0, 1), max_records=3)
PAIR = dpaudit.pairs([([1.0], [0.0])])
ONE_MORE = dpaudit.pairs([([1.0], [])])
GRID = 2.0**-20


def plus(noise: Noise) -> Any:
    """A sum plus noise, in floats."""

    def noisy_sum(data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        return float(sum(data)) + noise(rng, size)

    return noisy_sum


laplace = plus(lambda rng, size: rng.laplace(size=size))
gaussian = plus(lambda rng, size: rng.normal(size=size))
float32 = plus(lambda rng, size: rng.laplace(size=size).astype(np.float32).astype(np.float64))


def on_a_grid(data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    return np.asarray(np.round(laplace(data, size, rng) / GRID) * GRID)


@pytest.fixture(scope="module")
def refuted() -> Audit:
    return dpaudit.audit(laplace, PureDP(1.0), REPLACED, samples=200_000, rng=7, floats="bits")


def test_naive_laplace_noise_is_refuted_by_the_grid_it_leaves(refuted: Audit) -> None:
    """Null: noise on a fixed grid, accused with probability at most 1e-6.

    Alternative: naive noise; found in these words, with this bound, for 40 of 40 other seeds.
    """
    found = refuted.counterexample
    assert found is not None
    assert found.event == "output is not a multiple of 2^-53"
    assert refuted.epsilon_lower is not None
    assert refuted.epsilon_lower > 5.0
    assert found.unlikely.hits == 0
    assert refuted.floats == "bits"


@pytest.mark.parametrize(
    ("mechanism", "claim", "neighbours", "event"),
    [
        (gaussian, ApproxDP(4.4, 1e-5), ADDED, "output is not a multiple of 2^-53"),
        (
            float32,
            PureDP(1.0),
            ADDED,
            "output is not a float32 (it has more than 24 significant bits)",
        ),
    ],
    ids=["gaussian", "float32 noise"],
)
def test_other_naive_noise_is_refuted_too(
    mechanism: Any, claim: dpaudit.claims.Claim, neighbours: Any, event: str
) -> None:
    audit = dpaudit.audit(mechanism, claim, neighbours, samples=100_000, rng=7, floats="bits")
    assert audit.counterexample is not None
    assert audit.counterexample.event == event
    assert audit.epsilon_lower is not None
    assert audit.epsilon_lower > 5.0


@pytest.mark.parametrize(
    ("mechanism", "neighbours"),
    [(on_a_grid, PAIR), (Snapping(), ONE_MORE)],
    ids=["rounded to a coarse grid", "snapping"],
)
@pytest.mark.parametrize("seed", range(2))
def test_noise_on_a_fixed_grid_is_not_refuted(mechanism: Any, neighbours: Any, seed: int) -> None:
    """Null: the claim holds to the last bit; false alarms at most alpha, 1e-6 each.

    Alternative: noise on a grid that depends on the data, which the tests above refute.
    """
    audit = dpaudit.audit(
        mechanism, PureDP(1.0), neighbours, samples=6_000, rng=seed, floats="bits"
    )
    assert not audit.refuted


def test_an_audit_of_integers_is_the_same() -> None:
    audits = [
        dpaudit.audit(Geometric(), PureDP(1.0), ONE_MORE, samples=5_000, rng=7, floats=floats)
        for floats in ("real", "bits")
    ]
    assert not audits[0].refuted
    assert replace(audits[1], seconds=audits[0].seconds, floats="real") == audits[0]


def test_a_float_is_a_real_number_unless_asked(refuted: Audit) -> None:
    """Null: the claim holds for real numbers; false alarms at most alpha, 1e-6.

    Alternative: bits that are looked at unasked. The test of an assertion gives the power.
    """
    audit = dpaudit.audit(laplace, PureDP(1.0), PAIR, samples=20_000, rng=7)
    assert not audit.refuted
    assert audit.floats == "real"


def test_the_report_says_that_it_is_about_floats(refuted: Audit) -> None:
    text = " ".join(str(refuted).split())
    assert "This is a floating-point finding" in text
    assert "Mironov 2012" in text
    assert "Remedies: the snapping mechanism (dpaudit.zoo.Snapping), or discrete" in text
    assert "floats the audit also looked at their rounding" in text
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    from dpaudit.report import report_page

    page = report_page(refuted)
    assert "This is a floating-point finding" in page
    assert "abs(output) % 2.0**-53 &gt; 0" in page
    assert "lowest set bit of output, as a power of 2" in page


def test_a_finding_about_values_is_not_worded_as_one_about_floats() -> None:
    """All outputs are on one grid, and too far apart.

    Null: values that leak, and bits that do not; so worded for 40 of 40 other seeds.
    Alternative: a finding by bits first, which is worded otherwise for sure; power 1.
    """
    neighbours = dpaudit.pairs([([4.0], [0.0])])
    audit = dpaudit.audit(on_a_grid, PureDP(1.0), neighbours, samples=20_000, rng=7, floats="bits")
    assert audit.counterexample is not None
    assert audit.counterexample.rule is not None
    assert not audit.counterexample.rule.is_about_floats
    assert "floating-point" not in str(audit)


def test_a_replay_counts_the_same_bits(refuted: Audit) -> None:
    found = audit_from_json(json.loads(json.dumps(refuted.to_json()))).counterexample
    assert found is not None
    assert dpaudit.replay(found, laplace, PureDP(1.0), rng=8).breaks(PureDP(1.0))
    mended = dpaudit.replay(found, on_a_grid, PureDP(1.0), rng=8)
    assert not mended.breaks(PureDP(1.0))
    assert (mended.data.hits, mended.neighbour.hits) == (0, 0)


def test_the_setting_is_saved_and_older_files_lack_it(refuted: Audit) -> None:
    saved = refuted.to_json()
    assert audit_from_json(saved) == refuted
    assert audit_from_json({name: saved[name] for name in saved if name != "floats"}).floats == (
        "real"
    )
    with pytest.raises(InvalidAuditFile, match="floats must be one of real, bits, got 'double'"):
        audit_from_json({**saved, "floats": "double"})


def test_samples_in_hand_are_compared_by_their_bits() -> None:
    """Null: real numbers keep the claim; false alarms at most alpha, 1e-6.

    Alternative: their bits do not; refuted for 40 of 40 other seeds.
    """
    noise = np.random.default_rng(0).laplace(size=(2, 20_000))
    real, bits = (
        dpaudit.compare_samples(1.0 + noise[0], noise[1], PureDP(1.0), rng=7, floats=floats)
        for floats in ("real", "bits")
    )
    assert not real.refuted
    assert bits.refuted
    assert bits.counterexample is not None
    assert bits.counterexample.rule is not None
    assert bits.counterexample.rule.is_about_floats


def test_measured_by_its_bits_epsilon_has_no_end() -> None:
    measured = [
        dpaudit.measure_epsilon(
            laplace, [1.0], [0.0], alpha=1e-6, samples=50_000, rng=7, floats=floats
        )
        for floats in ("real", "bits")
    ]
    assert measured[0].epsilon_lower < 1.0
    assert measured[1].epsilon_lower > 4.0


def test_a_simpler_pair_is_found_by_its_bits() -> None:
    """Null: a pair that keeps the claim is kept with probability at most 1e-6.

    Alternative: a pair of one record leaks by its bits; found for 40 of 40 other seeds.
    """
    found = dpaudit.shrink(
        laplace,
        PureDP(1.0),
        ([0.5, 0.25, 1.0], [0.5, 0.25, 0.0]),
        REPLACED,
        samples=40_000,
        rng=7,
        floats="bits",
    )
    assert found is not None
    assert len(found.pair.data) == 1
    assert found.rule is not None
    assert found.rule.is_about_floats


def test_an_assertion_passes_it_on() -> None:
    with pytest.raises(dpaudit.PrivacyViolation, match="floating-point finding"):
        dpaudit.assert_private(laplace, PureDP(1.0), PAIR, samples=20_000, rng=7, floats="bits")


@pytest.mark.parametrize("call", [dpaudit.audit, dpaudit.assert_private])
def test_what_is_no_way_to_look_at_floats_is_refused(call: Any) -> None:
    with pytest.raises(ValueError, match='floats must be "real" or "bits", got \'double\''):
        call(laplace, PureDP(1.0), PAIR, floats="double")
    with pytest.raises(ValueError, match="floats='bits' needs the tester that bets, got Histogram"):
        call(laplace, PureDP(1.0), PAIR, floats="bits", tester=dpaudit.testers.HistogramTester())


def test_the_command_line_asks_for_it(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).laplace(size=(2, 10_000))
    for name, outputs in (("with.npy", 1.0 + noise[0]), ("without.npy", noise[1])):
        np.save(tmp_path / name, outputs)
    files = str(tmp_path / "with.npy"), str(tmp_path / "without.npy")
    real, bits = (
        run("samples", *files, "--claim", "eps=1", "--seed", "7", "--floats", floats)
        for floats in ("real", "bits")
    )
    assert real.exit_code != 1
    assert bits.exit_code == 1
    assert "floating-point finding" in bits.output
    target = ("audit", "dpaudit.zoo:LaplaceCount", "--claim", "eps=1")
    pair = ("--pair", "[[0], []]", "--samples", "20000", "--seed", "7")
    assert run(*target, *pair, "--floats", "bits").exit_code == 1
    wrong = run(*target, *pair, "--floats", "bits", "--tester", "histogram")
    assert error_line(wrong).startswith("--floats bits goes with --tester betting only")
