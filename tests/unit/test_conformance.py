"""The conformance suite passes valid testers and names the rule that another one breaks."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpaudit.bounds import proportion_lower, proportion_upper
from dpaudit.claims import ZCDP, ApproxDP, Claim, GaussianDP, Profile, PureDP, RenyiDP, Scalable
from dpaudit.errors import UnsupportedClaim
from dpaudit.guessing import Samples
from dpaudit.testers import Method, MMDTester, SequentialTester, from_dp_auditorium, method_of
from dpaudit.testing import check_tester, tight_pairs
from dpaudit.testing.conformance import CLAIMS


class Valid:
    """The event "the first number is above 1/2"; total variation bounds it for every claim."""

    def lower_bound(
        self,
        outputs: Samples,
        neighbour_outputs: Samples,
        claim: Claim,
        *,
        alpha: float,
        rng: np.random.Generator,
    ) -> float:
        self.threshold(claim)
        sides = [np.asarray(side, dtype=float) for side in (outputs, neighbour_outputs)]
        hits = [int(np.sum(side.reshape(len(side), -1)[:, 0] > 0.5)) for side in sides]
        return proportion_lower(hits[0], len(outputs), alpha / 2) - proportion_upper(
            hits[1], len(neighbour_outputs), alpha / 2
        )

    def threshold(self, claim: Claim) -> float:
        return claim.delta(0.0)

    def __repr__(self) -> str:
        return type(self).__name__


def check(tester: Any, **settings: Any) -> None:
    """The suite in short: one claim, few runs."""
    short: dict[str, Any] = {"claims": [PureDP(1.0)], "without": ["words"], "runs": 40}
    check_tester(tester, **short | settings)


def test_a_tester_of_ones_own_passes() -> None:
    check_tester(Valid(), without=["words"])


def test_the_mmd_tester_passes() -> None:
    check_tester(MMDTester(), claims=[PureDP(1.0), GaussianDP(0.5)], runs=8)
    check_tester(MMDTester(bound="hoeffding", kernel="laplacian"), runs=6)


class AccusesAlways(Valid):
    def lower_bound(self, *args: Any, alpha: float, rng: np.random.Generator) -> float:
        return super().lower_bound(*args, alpha=alpha, rng=rng) + 2.0


class PlugIn(Valid):
    """Takes the estimate for the bound: accuses half of the time."""

    def lower_bound(self, *args: Any, alpha: float, rng: np.random.Generator) -> float:
        return super().lower_bound(*args, alpha=0.999, rng=rng)


class GivesNaN(Valid):
    def lower_bound(self, *args: Any, alpha: float, rng: np.random.Generator) -> float:
        return math.nan


class GivesInfinity(Valid):
    def lower_bound(self, *args: Any, alpha: float, rng: np.random.Generator) -> float:
        return math.inf


class GivesArrays(Valid):
    def lower_bound(self, *args: Any, alpha: float, rng: np.random.Generator) -> Any:
        return np.array([super().lower_bound(*args, alpha=alpha, rng=rng)])


class IgnoresAlpha(Valid):
    def lower_bound(self, *args: Any, alpha: float, rng: np.random.Generator) -> float:
        return super().lower_bound(*args, alpha=0.05, rng=rng)


class Sorts(Valid):
    def lower_bound(self, *args: Any, alpha: float, rng: np.random.Generator) -> float:
        args[1].sort()
        return super().lower_bound(*args, alpha=alpha, rng=rng)


class NeverRefutes(Valid):
    def lower_bound(self, *args: Any, alpha: float, rng: np.random.Generator) -> float:
        return alpha - 1.0


class GlobalNumpy(Valid):
    def lower_bound(self, *args: Any, alpha: float, rng: np.random.Generator) -> float:
        noise = np.random.random()  # noqa: NPY002 -- the bug
        return super().lower_bound(*args, alpha=alpha, rng=rng) - 1e-9 * noise


class GlobalPython(Valid):
    def lower_bound(self, *args: Any, alpha: float, rng: np.random.Generator) -> float:
        random.shuffle([1, 2, 3])
        return super().lower_bound(*args, alpha=alpha, rng=rng)


class FreshGenerator(Valid):
    def lower_bound(self, *args: Any, alpha: float, rng: np.random.Generator) -> float:
        noise = np.random.default_rng().random()
        return super().lower_bound(*args, alpha=alpha, rng=rng) - 1e-9 * noise


class FallingThreshold(Valid):
    def threshold(self, claim: Claim) -> float:
        assert isinstance(claim, Scalable)
        return 1.0 / claim.strength


class InfiniteThreshold(Valid):
    def threshold(self, claim: Claim) -> float:
        return math.inf


class SkipsNaN(Valid):
    def lower_bound(self, *args: Any, alpha: float, rng: np.random.Generator) -> float:
        sides = [np.asarray(side, dtype=float) for side in args[:2]]
        data, neighbour = (np.append(side[~np.isnan(side)], 1.0) for side in sides)
        return super().lower_bound(data, neighbour, args[2], alpha=alpha, rng=rng)


class NeedsEqualSizes(Valid):
    def lower_bound(self, *args: Any, alpha: float, rng: np.random.Generator) -> float:
        if len(args[0]) > 5_000 and len(args[0]) != len(args[1]):
            raise RuntimeError("sizes differ")
        return super().lower_bound(*args, alpha=alpha, rng=rng)


class DividesByZero(Valid):
    def lower_bound(self, *args: Any, alpha: float, rng: np.random.Generator) -> float:
        share = 1e-300 / len(args[0])
        return super().lower_bound(*args, alpha=alpha, rng=rng) - share


class SupportsNothing(Valid):
    def threshold(self, claim: Claim) -> float:
        raise UnsupportedClaim("none")


class NoThreshold:
    lower_bound = Valid.lower_bound


class StatesAWord(Valid):
    method = "exact"


class Sequential:
    """Bets on "the data's output is above 1/2 and the neighbour's is not", pair by pair."""

    method = Method(source="Ville 1939", guarantee="exact")

    def gains(self, sides: tuple[Samples, Samples], claim: Claim) -> Any:
        first, second = (
            np.asarray(side, dtype=float).reshape(len(side), -1)[:, 0] > 0.5 for side in sides
        )
        size = min(len(first), len(second))
        return first[:size].astype(float) - second[:size] - claim.delta(0.0)

    def log_wealth(self, *sides: Samples, claim: Claim) -> Any:
        return np.cumsum(np.log1p(0.4 * self.gains((sides[0], sides[1]), claim)))

    def pairs_until_accused(self, *args: Any, alpha: float, rng: np.random.Generator) -> int | None:
        above = self.log_wealth(*args[:2], claim=args[2]) >= math.log(1.0 / alpha)
        return int(np.argmax(above)) + 1 if above.any() else None

    def lower_bound(self, *args: Any, alpha: float, rng: np.random.Generator) -> float:
        peak = self.log_wealth(*args[:2], claim=args[2]).max(initial=-1.0)
        return float(peak + 1e-9 - math.log(1.0 / alpha))

    def threshold(self, claim: Claim) -> float:
        return 0.0

    __repr__ = Valid.__repr__


class CountsFromZero(Sequential):
    def pairs_until_accused(self, *args: Any, **more: Any) -> int | None:
        found = super().pairs_until_accused(*args, **more)
        return None if found is None else 0


class NeverSaysWhen(Sequential):
    def pairs_until_accused(self, *args: Any, **more: Any) -> int | None:
        return None


class SaysWhenAllAreSeen(Sequential):
    """It stakes more where the last pair will show a leak."""

    def log_wealth(self, *sides: Samples, claim: Claim) -> Any:
        gains = self.gains((sides[0], sides[1]), claim)
        share = 0.2 if len(gains) == 0 or gains[-1] < 0.5 else 0.4
        return np.cumsum(np.log1p(share * gains))


BROKEN: dict[Callable[[], Any], str] = {
    AccusesAlways: "it accuses randomized response, which keeps 1-DP, in 40 of 40 runs at alpha",
    PlugIn: r"it accuses randomized response, which keeps 1-DP, in [123]\d of 40 runs",
    GivesNaN: "lower_bound must never give NaN",
    GivesInfinity: r"lower_bound gave \+inf",
    GivesArrays: r"lower_bound must give a float, got array\(",
    IgnoresAlpha: "it ignores alpha: its bound is 0.9",
    Sorts: "it changed the outputs it was given",
    NeverRefutes: "it does not find a gross leak: always 0.0 on one side and always 1.0",
    GlobalNumpy: "it draws from the global random state",
    GlobalPython: "it draws from the global random state",
    FreshGenerator: "the same rng must give the same bound, got ",
    FallingThreshold: "its threshold falls from 10.0 for 0.1-DP to 2.0 for 0.5-DP",
    InfiniteThreshold: "threshold must give a finite float, got inf for 0.1-DP",
    SkipsNaN: "it does not find a gross leak against 0.1-DP, given as NaN",
    NeedsEqualSizes: "it fails on unequal sizes: RuntimeError: sizes differ",
    DividesByZero: "of 0 outputs it makes a ZeroDivisionError",
    SupportsNothing: "it supports none of the claims it is asked about: 1-DP",
    NoThreshold: "it has no threshold",
    StatesAWord: "its method is 'exact'; state it on the class as dpaudit.testers.Method",
    CountsFromZero: "pairs_until_accused gave 0 of 400 pairs; give a whole number from 1 to",
    NeverSaysWhen: "says that it accuses never, and its lower bound is .* let the bound exceed",
    SaysWhenAllAreSeen: r"it looks ahead: it accuses after \d+ pairs, and .* where only outputs",
}


@pytest.mark.parametrize(
    ("broken", "why"), BROKEN.items(), ids=[broken.__name__ for broken in BROKEN]
)
def test_a_broken_tester_fails_for_the_right_reason(broken: Callable[[], Any], why: str) -> None:
    """`PlugIn` accuses at least half of the time: more than 12 of 40 with probability 0.99."""
    with pytest.raises(AssertionError, match=f"does not conform: .*{why}"):
        check(broken())


def test_a_sequential_tester_passes_if_it_looks_only_at_the_past() -> None:
    assert isinstance(Sequential(), SequentialTester)
    check(Sequential(), runs=20)


def test_only_an_exact_tester_must_be_valid_at_its_alpha() -> None:
    class PlugInInTheLimit(PlugIn):
        method = Method(source="", guarantee="asymptotic")

    class Heuristic(IgnoresAlpha):
        method = Method(source="", guarantee="none")

    class AsymptoticAndIgnoresAlpha(IgnoresAlpha):
        method = Method(source="", guarantee="asymptotic")

    check(Heuristic())
    with pytest.raises(AssertionError, match="it ignores alpha"):
        check(PlugInInTheLimit())
    with pytest.raises(AssertionError, match="it ignores alpha"):
        check(AsymptoticAndIgnoresAlpha())


def test_what_a_tester_states_is_what_it_is_taken_for() -> None:
    assert method_of(Sequential()) is Sequential.method
    assert method_of(Valid()).refutes  # as its author promises
    assert method_of(Valid()).assumptions
    with pytest.raises(TypeError, match=r"method of StatesAWord must be a dpaudit.testers.Method"):
        method_of(StatesAWord())
    with pytest.raises(ValueError, match="guarantee must be one of 'exact', 'asymptotic', 'none'"):
        Method(source="", guarantee="likely")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="assumptions must be a tuple of sentences"):
        Method(source="", guarantee="exact", assumptions="One.")  # type: ignore[arg-type]


def test_words_are_refused_only_by_name() -> None:
    with pytest.raises(AssertionError, match=r'it fails on words: ValueError: .*without=\["words"'):
        check(Valid(), without=[])
    with pytest.raises(AssertionError, match="vectors are to be left out, but it answered them"):
        check(Valid(), without=["words", "vectors"])
    with pytest.raises(ValueError, match=r"without may name vectors, words, NaN, got 'integers'"):
        check(Valid(), without=["integers"])


def test_a_tester_is_not_asked_about_claims_it_does_not_support() -> None:
    class PureOnly(Valid):
        def threshold(self, claim: Claim) -> float:
            if not isinstance(claim, PureDP):
                raise UnsupportedClaim("pure DP only")
            return super().threshold(claim)

    check(PureOnly(), claims=[ApproxDP(1.0, 1e-5), PureDP(1.0)], runs=5)


def test_any_claim_can_be_asked_about() -> None:
    check(Valid(), claims=[Profile(PureDP(0.5).delta, name="mine")], runs=5)


def test_a_wrapped_tester_can_be_checked() -> None:
    class Theirs:
        def estimate_lower_bound(self, samples1: Any, samples2: Any, beta: float) -> float:
            return Valid().lower_bound(
                samples1, samples2, PureDP(1.0), alpha=beta, rng=np.random.default_rng(0)
            )

        def reject_property(self, lower_bound: float) -> bool:
            return lower_bound > PureDP(1.0).delta(0.0)

    check(from_dp_auditorium(Theirs()), runs=10)


def two_sided_delta(p: list[float], q: list[float], epsilon: float) -> float:
    """The hockey-stick divergence of two discrete distributions, in the worse direction."""
    return max(
        sum(max(a - math.exp(epsilon) * b, 0.0) for a, b in pairs)
        for pairs in (list(zip(p, q, strict=True)), list(zip(q, p, strict=True)))
    )


class Recorder:
    """A generator that only keeps the chances it is asked to draw with."""

    chances: list[float]

    def choice(self, count: int, *, size: int, p: list[float]) -> Any:
        assert len(p) == count
        self.chances = p
        return np.zeros(size)


def chances(draw: Callable[..., Any]) -> list[float]:
    recorder = Recorder()
    draw(1, recorder)
    return recorder.chances


@pytest.mark.parametrize("claim", [PureDP(0.1), PureDP(3.0), ApproxDP(1.0, 0.01)], ids=str)
def test_tight_pairs_lie_on_their_claim(claim: PureDP | ApproxDP) -> None:
    """Read off the chances that the discrete pairs hand to the generator."""
    for pair in tight_pairs(claim, draws=1_000):
        if pair.name == "the Laplace mechanism":
            continue
        p, q = chances(pair.data), chances(pair.neighbour)
        assert math.isclose(sum(p), 1.0)
        delta = two_sided_delta(p, q, claim.epsilon)
        assert math.isclose(delta, claim.delta(claim.epsilon), abs_tol=1e-12)
        ratios = [a / b for a, b in zip(p, q, strict=True) if min(a, b) > 0.0]
        assert math.isclose(max(ratios), math.exp(claim.epsilon))


@pytest.mark.parametrize(
    ("claim", "shift"),
    [(GaussianDP(0.7), 0.7), (ZCDP(0.5), 1.0), (RenyiDP(4.0, 2.0), 1.0)],
    ids=["gaussian", "zcdp", "renyi"],
)
def test_gaussian_pairs_have_the_shift_of_their_claim(claim: Claim, shift: float) -> None:
    (pair,) = tight_pairs(claim, draws=1_000)
    data, neighbour = (draw(5, np.random.default_rng(0)) for draw in (pair.data, pair.neighbour))
    assert (data - neighbour).tolist() == pytest.approx([shift] * 5)


def test_every_default_claim_has_a_pair_on_it() -> None:
    for claim in CLAIMS:
        assert "ignores its data" not in tight_pairs(claim, draws=100)[0].name
