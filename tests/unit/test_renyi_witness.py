"""The parts of the Rényi tester: scores, cuts, the bounds on their means, and networks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpaudit.bounds import mean_lower, mean_upper
from dpaudit.guessing import network
from dpaudit.outputs import Encoder, stack
from dpaudit.testers import Certifier
from dpaudit.testers.renyi_witness import Cut, best_cut, chebyshev, depths_of, gains, log_mean

NEEDS_TORCH = "the neural testers need torch: pip install 'dpaudit[neural]'"


def test_gains_and_their_logs_undo_each_other() -> None:
    for rate, depth in ((0.1, 1e-3), (1.0, 2.0), (64.0, 0.3), (0.5, 40.0)):
        h = np.linspace(-depth, 0.0, 7)
        shares = gains(h, rate, depth)
        assert shares[0] == 0.0
        assert shares[-1] == 1.0
        assert log_mean(shares, rate, depth) == pytest.approx(rate * h, abs=1e-6)
    assert log_mean(0.0, 100.0, 100.0) == -math.inf


@pytest.mark.parametrize("order", [1.01, 2.0, 64.0, 1e6])
@pytest.mark.parametrize("bound", ["betting", "bernstein", "chernoff"])
def test_no_cut_gives_nan(order: float, bound: str) -> None:
    for draws in (2, 50, 3_000):
        certifier = Certifier(order, bound, 0.05, draws, draws)
        for depth in depths_of(order)[[0, -1]]:
            for low, high in ((-depth, -depth), (0.0, -depth), (-depth, 0.0), (0.0, 0.0)):
                held = (np.full(draws, low), np.full(draws, high))
                found = certifier.certified(held, held, float(depth))
                assert not math.isnan(found)
                assert found <= certifier.reach() + 1e-6
        cut, expected = best_cut((np.ones(9), np.zeros(9)), order, certifier.expected(9, 9))
        assert not math.isnan(expected)
        assert cut.depth > 0.0


@pytest.mark.parametrize("bound", ["betting", "bernstein"])
def test_each_mean_is_bounded_at_half_of_alpha(bound: str) -> None:
    rng = np.random.default_rng(11)
    order, depth = 3.0, 1.2
    h, other, guess = -depth * rng.random((3, 2_000))
    least_u, least_v = math.exp(-(order - 1) * depth), math.exp(-order * depth)
    u, v = np.exp((order - 1) * h), np.exp(order * other)
    before_u, before_v = np.exp((order - 1) * guess), np.exp(order * guess)
    shares = [(u - least_u) / (1 - least_u), (v - least_v) / (1 - least_v)]
    before = [(before_u - least_u) / (1 - least_u), (before_v - least_v) / (1 - least_v)]
    lower = mean_lower(shares[0], 0.01, bound=bound, guess=before[0])
    upper = mean_upper(shares[1], 0.01, bound=bound, guess=before[1])
    first = math.log(least_u + (1 - least_u) * lower)
    expected = order / (order - 1) * first - math.log(least_v + (1 - least_v) * upper)
    certifier = Certifier(order, bound, 0.02, 2_000, 2_000)
    found = certifier.certified((h, other), (guess, guess), depth)
    assert found == pytest.approx(expected, abs=1e-8)


def test_chernoff_as_corrected() -> None:
    """By hand, with `|h| <= C`; void where either error is too large."""
    order, c, draws, alpha = 1.5, 0.5, 50_000, 0.05
    h = np.where(np.arange(draws) % 2 == 0, c, -c)
    u, v = np.exp((order - 1) * h), np.exp(order * h)
    log = math.log(2 / alpha)
    eta1 = math.sqrt(3 * math.exp(2 * (order - 1) * c) * log / draws)
    eta2 = math.sqrt(2 * math.exp(2 * order * c) * log / draws)
    factor = order / (order - 1)
    expected = factor * math.log(u.mean() / (1 + eta1)) - math.log(v.mean() / (1 - eta2))
    shifted = h - c  # the divergence is the same for h and h - C
    certifier = Certifier(order, "chernoff", alpha, draws, draws)
    found = certifier.certified((shifted, shifted), (shifted, shifted), 2 * c)
    assert found == pytest.approx(expected, abs=1e-8)
    few = Certifier(order, "chernoff", alpha, 20, 20)
    assert few.certified((shifted[:20], shifted[:20]), (shifted, shifted), 2 * c) == -math.inf


def test_the_cut_is_the_best_of_a_plain_search() -> None:
    """Against scores as they are, in a loop over the same cuts."""
    rng = np.random.default_rng(12)
    scores = (rng.integers(0, 6, 300) / 2.0, rng.integers(-3, 4, 400) / 2.0)
    certifier = Certifier(2.0, "bernstein", 0.05, 5_000, 5_000)
    cut, expected = best_cut(scores, 2.0, certifier.expected(300, 400))
    most = -math.inf
    for slope in (0.5, 1.0, 2.0, 8.0):
        for top in np.unique(np.concatenate(scores)):
            for depth in depths_of(2.0):
                trial = Cut(slope=slope, top=float(top), depth=float(depth))
                u = gains(trial(scores[0]), 1.0, trial.depth)
                v = gains(trial(scores[1]), 2.0, trial.depth)
                moments = [(np.array([x.mean()]), np.array([x.var()])) for x in (u, v)]
                value = certifier.expected(300, 400)(moments[0], moments[1], np.array([depth]))
                most = max(most, float(value[0]))
    assert expected == pytest.approx(most, rel=1e-9)
    assert cut.depth in depths_of(2.0)


def test_scores_approach_the_log_of_the_ratio() -> None:
    rng = np.random.default_rng(13)
    encoder = Encoder()
    data, neighbour = (encoder.encode(shift + rng.normal(size=20_000)) for shift in (1.0, 0.0))
    (scorer,) = chebyshev(data, neighbour, 12)
    points = np.linspace(-1.5, 2.5, 9)
    assert scorer(encoder.encode(points)) == pytest.approx(points - 0.5, abs=0.25)


def test_categories_have_coefficients_of_their_own() -> None:
    encoder = Encoder()
    data = encoder.encode(["a"] * 800 + ["b"] * 200 + [7.0] * 1000)
    neighbour = encoder.encode(["a"] * 200 + ["b"] * 800 + [7.0] * 1000)
    scorer = chebyshev(data, neighbour, 3)[-1]
    scores = scorer(encoder.encode(["a", "b", 7.0, "never seen"]))
    assert scores == pytest.approx([math.log(4), -math.log(4), 0.0, 0.0], abs=0.1)


# Networks


def test_features_of_outputs() -> None:
    encoder = Encoder()
    table = encoder.encode([*np.linspace(-1.0, 1.0, 41).tolist(), *["no"] * 9, *[5.0] * 30])
    standard = network.Standard.of(table)
    rows = network.features(table, standard)
    assert rows.dtype == np.float32
    assert rows.shape == (80, 4)  # a distance, a rank, a word, a repeated number
    assert (np.diff(rows[:41, :2], axis=0) > 0).all()
    assert (rows[41:, :2] == 0).all()
    assert (rows[41:50, 2] == 1).all()
    assert (rows[50:, 3] == 1).all()
    far = network.features(encoder.encode([1e300, -1e300, math.nan]), standard)
    assert np.isfinite(far).all()
    nothing = Encoder().encode([])
    assert network.features(nothing, network.Standard(())).shape == (0, 1)


def test_a_network_wants_both_sides_and_a_known_loss() -> None:
    pytest.importorskip("torch", reason=NEEDS_TORCH)
    rows, labels = np.zeros((4, 1), dtype=np.float32), np.array([True, True, False, False])
    with pytest.raises(ValueError, match="got rows of one"):
        network.train(rows[:2], labels[:2], seed=0)
    with pytest.raises(ValueError, match="loss must be 'logistic' or a function, got 'hinge'"):
        network.train(rows, labels, loss="hinge", seed=0)
    with pytest.raises(ValueError, match="weights belong to the logistic loss"):
        network.train(rows, labels, np.ones(4), loss=lambda a, b: a, seed=0)


def test_a_network_learns_the_log_of_the_ratio() -> None:
    pytest.importorskip("torch", reason=NEEDS_TORCH)
    rng = np.random.default_rng(14)
    encoder = Encoder()
    data, neighbour = (encoder.encode(shift + rng.normal(size=6_000)) for shift in (1.0, 0.0))
    both = stack([data, neighbour])
    standard = network.Standard.of(both)
    rows, labels = network.features(both, standard), np.arange(len(both)) < len(data)
    points = np.linspace(-1.0, 2.0, 7)
    asked = network.features(encoder.encode(points), standard)
    plain = network.train(rows, labels, seed=1, device="cpu", max_epochs=12)
    assert plain.scores(asked) == pytest.approx(points - 0.5, abs=0.4)
    weights = np.where(labels, 3.0, 1.0)
    heavier = network.train(rows, labels, weights, seed=1, device="cpu", max_epochs=12)
    assert heavier.scores(asked) == pytest.approx(points - 0.5 + math.log(3.0), abs=0.4)
    bounded = network.train(rows, labels, seed=1, device="cpu", reach=0.5, max_epochs=12)
    assert np.abs(bounded.scores(asked)).max() <= 0.5
