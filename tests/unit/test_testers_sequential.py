"""Sequential testers: against naive loops, on prefixes, on odd outputs, and on the suite."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from dpaudit.architecture import SequentialTester
from dpaudit.arrays import Floats
from dpaudit.claims import ApproxDP, Claim, GaussianDP, PureDP, RenyiDP
from dpaudit.guessing import Samples, in_pairs
from dpaudit.testers import APT, SequentialMMD, apt, levels_of, method_of
from dpaudit.testers.kernels import as_they_are
from dpaudit.testers.sequential_mmd import _Ascent
from dpaudit.testing import check_tester

ALPHA = 0.05
TESTERS: tuple[SequentialTester, ...] = (SequentialMMD(), APT())
sequential = pytest.mark.parametrize("tester", TESTERS, ids=lambda each: type(each).__name__)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def bound(tester: SequentialTester, x: Samples, y: Samples, claim: Claim) -> float:
    return tester.lower_bound(x, y, claim, alpha=ALPHA, rng=rng())


def pairs(tester: SequentialTester, x: Samples, y: Samples, claim: Claim) -> int | None:
    return tester.pairs_until_accused(x, y, claim, alpha=ALPHA, rng=rng())


# All of them


@sequential
def test_an_answer_on_a_prefix_stays(tester: SequentialTester) -> None:
    x, y, claim = rng(0).normal(size=400) * 3.0, rng(1).normal(size=400), PureDP(0.05)
    found = pairs(tester, x, y, claim)
    assert found is not None
    assert found < 300
    for size in (found, found + 1, 2 * found // 2 + 50):
        assert pairs(tester, x[:size], y[: size + 7], claim) == found
        assert bound(tester, x[:size], y[:size], claim) > tester.threshold(claim)
    assert pairs(tester, x[: found - 1], y, claim) is None
    assert bound(tester, x[: found - 1], y, claim) <= tester.threshold(claim)


@sequential
def test_later_words_nan_and_lengths_change_no_earlier_pair(tester: SequentialTester) -> None:
    numbers = rng(0).normal(size=(2, 100)).round(1).tolist()
    late: list[Any] = [["b", math.nan, None, (1.0, 2.0), {"a": 3}] * 4] * 2
    before = bound(tester, numbers[0], numbers[1], PureDP(0.5))
    path = bound(tester, numbers[0] + late[0], numbers[1] + late[1], PureDP(0.5))
    assert path == pytest.approx(before, abs=1e-9) or path > before


@sequential
def test_the_order_of_the_pairs_is_the_one_given_and_rng_is_not_used(
    tester: SequentialTester,
) -> None:
    x, y = rng(0).normal(size=200) + 1.5, rng(1).normal(size=200)
    found = {tester.lower_bound(x, y, PureDP(0.1), alpha=ALPHA, rng=rng(seed)) for seed in range(3)}
    assert len(found) == 1
    assert bound(tester, x[::-1], y[::-1], PureDP(0.1)) not in found


@sequential
@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.zeros(300), np.zeros(300)),
        (np.zeros((300, 3)), np.zeros((300, 3))),
        (["same"] * 300, ["same"] * 300),
        (np.full(300, np.nan), np.full(300, np.nan)),
        (np.full(300, np.inf), np.full(300, np.inf)),
        (np.tile([1e300, -1e300, 5e-324, 0.0], 75), np.tile([5e-324, -1e300, 0.0, 1e300], 75)),
        (np.repeat([1.0, 2.0], 150), np.repeat([1.0, 2.0], 150)),
        ([()] * 300, [()] * 300),
    ],
    ids=["zeros", "rows", "words", "nan", "inf", "huge", "ties", "empty"],
)
def test_outputs_that_tell_nothing_are_no_evidence(
    tester: SequentialTester, x: Samples, y: Samples
) -> None:
    assert bound(tester, x, y, PureDP(0.0)) <= 0.0
    assert pairs(tester, x, y, PureDP(0.0)) is None


@sequential
@pytest.mark.parametrize("scale", [1e-90, 1e90])  # beyond 1e100 outputs are cut
def test_the_scale_of_the_outputs_does_not_matter(tester: SequentialTester, scale: float) -> None:
    x, y, claim = rng(0).normal(size=300) + 2.0, rng(1).normal(size=300), PureDP(0.05)
    found = pairs(tester, x, y, claim)
    assert found is not None
    assert pairs(tester, scale * x, scale * y, claim) == found


@sequential
def test_wrong_settings_are_refused(tester: SequentialTester) -> None:
    for alpha in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="alpha must be in"):
            tester.lower_bound([0.0] * 9, [1.0] * 9, PureDP(1.0), alpha=alpha, rng=rng())
    kind: Any = type(tester)
    for name in ("burn_in", "most_pairs"):
        with pytest.raises(ValueError, match=f"{name} must be a whole number >= 1, got 0"):
            kind(**{name: 0})


# The sequential MMD test


def naive_log_wealth(x: Floats, y: Floats, tau: float, burn_in: int) -> list[float]:
    """The log wealth after every pair, by the definition: functions as lists of their terms."""
    seen = np.concatenate([x[:burn_in], y[:burn_in]])
    gaps = [abs(a - b) for i, a in enumerate(seen) for b in seen[:i] if a != b]
    width = float(np.median(gaps))

    def k(a: float, b: float) -> float:
        return math.exp(-((a - b) ** 2) / (2 * width**2))

    terms: list[tuple[float, float]] = []  # of f: weights and centres
    log_wealth, stake, curvature, gradients = 0.0, 0.0, 1.0, 1e-4
    path = [0.0] * burn_in
    for a, b in zip(x[burn_in:].tolist(), y[burn_in:].tolist(), strict=True):
        payoff = sum(w * (k(c, a) - k(c, b)) for w, c in terms) - tau
        log_wealth += math.log(1.0 + stake * payoff)
        path.append(log_wealth)
        slope = payoff / (1.0 + stake * payoff)
        curvature += slope**2
        stake += 2.0 / (2.0 - math.log(3.0)) * slope / curvature
        stake = min(max(stake, 0.0), 1.0 / (8.0 + 4.0 * tau))
        gradients += 2.0 - 2.0 * k(a, b)
        step = math.sqrt(2.0 / gradients)
        terms += [(step, a), (-step, b)]
        norm = math.sqrt(sum(v * w * k(c, d) for v, c in terms for w, d in terms))
        shrink = min(1.0, (1.0 - 1e-6) / norm)
        terms = [(w * shrink, c) for w, c in terms]
    return path


def test_the_wealth_is_that_of_the_naive_loop() -> None:
    x, y, claim = 1.5 * rng(0).laplace(size=60), rng(1).laplace(size=60), ApproxDP(0.1, 0.01)
    tester = SequentialMMD(burn_in=8)
    tau = math.sqrt(2.0) * (math.exp(0.1) - 1.0 + 0.02) / (math.exp(0.1) + 1.0)
    naive = naive_log_wealth(x, y, tau, 8)
    for size in (8, 9, 20, 60):
        expected = max(naive[:size]) - math.log(1.0 / ALPHA)
        assert bound(tester, x[:size], y[:size], claim) == pytest.approx(expected, abs=1e-7)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = 2.0 * rng(0).normal(size=150), rng(1).normal(size=150)
    found = bound(SequentialMMD(), x, y, PureDP(0.1))
    for block in (1, 7, 1000):
        monkeypatch.setattr("dpaudit.testers.sequential_mmd._BLOCK", block)
        assert bound(SequentialMMD(), x, y, PureDP(0.1)) == pytest.approx(found, abs=1e-9)


def test_no_witness_leaves_the_ball_and_no_wealth_grows_faster_than_it_may() -> None:
    """Words that always tell the sides: `f(x) - f(y)` rises to root 2 and never above."""
    x, y, claim = ["a"] * 2_000, ["b"] * 2_000, PureDP(0.1)
    tau = math.sqrt(2.0) * math.tanh(0.05)
    most = math.log1p((math.sqrt(2.0) - tau) / (8.0 + 4.0 * tau))
    one, more = (bound(SequentialMMD(), x[:n], y[:n], claim) for n in (300, 400))
    assert 0.99 * 100 * most < more - one <= 100 * most


@pytest.mark.parametrize("size", [1e-9, 1e-8, 1e-7, 1e-3, 1.0])
def test_rounding_lets_no_witness_leave_the_ball(size: float) -> None:
    """Gradients as small as their rounding errors, which come in kernels near 1."""
    gradients = size * rng(0).normal(size=(500, 3)) + size
    gradients[250:] *= 0.5 / np.linalg.norm(gradients[250:], axis=1, keepdims=True)
    products = gradients @ gradients.T + 4e-16 * rng(1).uniform(-1.0, 1.0, size=(500, 500))
    ascent = _Ascent(500)
    for start in range(0, 500, 50):
        assert len(list(ascent.gains(products[start : start + 50, : start + 50]))) == 50
        assert np.linalg.norm(ascent._weights @ gradients) <= 1.0


def test_a_wealth_beyond_doubt_ends_the_test_and_alpha_still_counts() -> None:
    x, y = ["a"] * 5_000, ["b"] * 5_000
    bounds = [
        SequentialMMD().lower_bound(x, y, PureDP(0.1), alpha=alpha, rng=rng())
        for alpha in (0.5, 1e-9, 1e-300)
    ]
    assert 100.0 < bounds[0] + math.log(2.0) < 101.0
    assert bounds[0] - bounds[1] == pytest.approx(math.log(0.5e9))
    assert 0.0 < bounds[2] < 1.0


def test_pairs_beyond_the_most_are_not_looked_at() -> None:
    x, y = rng(0).normal(size=300) + 2.0, rng(1).normal(size=300)
    found = pairs(SequentialMMD(), x, y, PureDP(0.05))
    assert found is not None
    assert pairs(SequentialMMD(most_pairs=found), x, y, PureDP(0.05)) == found
    assert pairs(SequentialMMD(most_pairs=found - 1), x, y, PureDP(0.05)) is None


def test_the_sequential_mmd_test_passes_the_suite() -> None:
    assert method_of(SequentialMMD()).refutes
    check_tester(
        SequentialMMD(), claims=[PureDP(1.0), GaussianDP(0.5), RenyiDP(2.0, 0.5)], runs=6, draws=300
    )


def test_a_bandwidth_must_be_positive() -> None:
    with pytest.raises(ValueError, match="bandwidth must be a number > 0, got 0"):
        SequentialMMD(bandwidth=0.0)


# APT


def test_what_each_pair_says_is_the_naive_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Densities of earlier outputs only, at the bandwidth of the pairs before the block."""
    x, y = rng(0).normal(size=40) * 2.0, rng(1).normal(size=40)
    rows = in_pairs(x, y, most=40)
    start, stop = 10, 25
    past = np.concatenate([x[:start], y[:start]])
    low, high = np.quantile(past, [0.25, 0.75])
    width = 0.9 * min(float(past.std()), float(high - low) / 1.34) * 20 ** (-1 / 5)
    found = apt._log_ratios(as_they_are(rows), start, stop)
    for pair in range(start, stop):
        for side, at in enumerate((x[pair], y[pair])):
            sums = [
                0.1 + sum(math.exp(-((at - c) ** 2) / (2 * width**2)) for c in one[:pair])
                for one in (x, y)
            ]
            expected = math.log(sums[0] / sums[1])
            assert found[pair - start, side] == pytest.approx(expected, abs=1e-9)


def test_the_set_chosen_is_the_best_of_all() -> None:
    scores = rng(0).normal(size=(50, 2)) + np.array([1.0, 0.0])
    levels = np.array([[0.0, 0.3], [0.5, 0.2], [1.0, 0.05]])
    chosen = apt._chosen(scores, levels)
    best = float(np.mean(chosen.distances(scores)))
    for level, delta in levels.tolist():
        for threshold in np.append(scores.ravel(), [-9.0, 9.0]).tolist():
            other = apt._Chosen(threshold=threshold, level=level, delta=delta)
            assert np.mean(other.distances(scores)) <= best + 1e-12


@pytest.mark.parametrize(
    "claim", [PureDP(0.0), PureDP(0.7), ApproxDP(1.0, 0.1), GaussianDP(1.0)], ids=str
)
def test_on_the_curve_of_the_claim_the_distance_is_0(claim: Claim) -> None:
    """The errors of the best test of the pair on the claim: no level says they lie below."""
    if isinstance(claim, GaussianDP):
        cuts = np.linspace(-3.0, 4.0, 29)
        normal = NormalDist()
        errors = [(normal.cdf(cut - claim.mu), normal.cdf(-cut)) for cut in cuts]
    else:
        assert isinstance(claim, PureDP | ApproxDP)
        likely = (1.0 - claim.delta(1e3)) / (1.0 + math.exp(-claim.epsilon))
        unlikely = likely * math.exp(-claim.epsilon)
        errors = [(unlikely, unlikely), (1.0 - claim.delta(1e3), 0.0), (0.0, 1.0)]
    for level, delta in levels_of(claim):
        weight = math.exp(level)
        found = [(1.0 - delta - missed - weight * hit) / (1 + weight) for missed, hit in errors]
        assert max(found) <= 1e-12
        assert max(found) > -0.02


def test_the_shares_of_all_epochs_sum_to_alpha() -> None:
    """The band is read off, and turned back into the share of alpha that its epoch spends."""
    tester = APT(burn_in=50)
    spent = 0.0
    for epoch in range(60):
        first = math.ceil(50 * 1.5**epoch) + 1
        counted = first - 10
        band = -tester._lower(0.0, counted - 1.0, first, 0.05)  # variance 1
        z = band * counted / math.sqrt(50 * 1.5 ** (epoch + 1) - 10)
        spent += 2.0 * (1.0 - NormalDist().cdf(z))
    assert 0.98 * 0.05 < spent <= 0.05


def test_apt_suspects_and_passes_the_suite() -> None:
    assert method_of(APT()).guarantee == "asymptotic"
    claims = [PureDP(1.0), GaussianDP(0.5), ApproxDP(1.0, 0.01)]
    check_tester(APT(most_pairs=300), claims=claims, runs=6, draws=300)


def test_apt_finds_a_violation_that_only_the_level_of_the_claim_shows() -> None:
    """Rare outputs that give one side away: total variation is within what the claim allows."""
    x, y = (rng(seed).random(600) < chance for seed, chance in ((0, 0.3), (1, 0.0)))
    assert pairs(APT(), x, y, PureDP(1.0)) is not None
    assert pairs(SequentialMMD(), x, y, PureDP(1.0)) is None
