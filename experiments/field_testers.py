"""The testers of the table, and one run of some of them on the same outputs of a row."""

from __future__ import annotations

import functools
import importlib
import os
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import numpy as np

from dpaudit import testers
from dpaudit.auditing import compare_samples
from dpaudit.claims import Claim
from dpaudit.errors import HealthWarning, Underpowered
from dpaudit.outputs import Outputs
from dpaudit.testers import BatchTester, BettingTester, Method, SequentialTester, TwoSidedTest
from dpaudit.testers import method_of as stated_method

Samples: TypeAlias = tuple[Outputs, Outputs]
State: TypeAlias = Literal["accused", "not accused", "underpowered", "does not apply", "error"]

BETTING = "betting"
# A tester of the table: its name there, its name in `dpaudit.testers`, and its settings. One line
# more is one column more.
FIELD: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (BETTING, "BettingTester", {}),
    ("histogram", "HistogramTester", {}),
    ("histogram, Gilbert-McMillan", "HistogramTester", {"bound": "gilbert-mcmillan"}),
    ("hockey-stick", "HockeyStickTester", {}),
    ("hockey-stick, Hoeffding", "HockeyStickTester", {"bound": "hoeffding"}),
    ("Rényi", "RenyiTester", {}),
    ("Rényi, Chernoff", "RenyiTester", {"bound": "chernoff"}),
    ("MMD", "MMDTester", {}),
    ("MMD, paper's rule", "MMDTester", {"rule": "paper"}),
    ("StatDP", "StatDP", {}),
    ("DP-Sniper", "DPSniper", {}),
    ("Delta-Siege", "DeltaSiege", {}),
    ("nearest neighbours", "NearestNeighbours", {}),
    ("sequential MMD", "SequentialMMD", {}),
    ("APT", "APT", {}),
    ("kernel Rényi", "KernelRenyi", {}),
    ("privacy loss bounds", "PrivacyLossBounds", {}),
    ("finite outputs", "FiniteOutputs", {}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one run of a tester said, and what it cost.

    `strength` is what it certified in the claim's own parameter. `draws`, of a tester that may stop
    early, are those of both sides until it accused. `ratio` is its time over that of the bets on
    the same outputs, in the same process just before; both without drawing.
    """

    state: State
    note: str = ""
    strength: float | None = None
    draws: int | None = None
    seconds: float | None = None
    ratio: float | None = None


def names() -> list[str]:
    """The testers of the field."""
    return [name for name, _, _ in FIELD]


@functools.cache
def tester_named(name: str) -> BettingTester | BatchTester:
    """A tester of the field by its name, or anybody's by `module:Name`.

    >>> tester_named("hockey-stick, Hoeffding").bound
    'hoeffding'
    """
    for known, kind, settings in FIELD:
        if name == known:
            made: BettingTester | BatchTester = getattr(testers, kind)(**settings)
            return made
    module, colon, attribute = name.partition(":")
    if not colon:
        listed = ", ".join(known for known, _, _ in FIELD)
        raise ValueError(f"a tester is module:Name or one of {listed}; got {name!r}.")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    found = getattr(importlib.import_module(module), attribute)
    own: BatchTester = found() if isinstance(found, type) else found
    if not testers.is_batch_tester(own):
        raise TypeError(f"{name} has not the methods lower_bound and threshold of a batch tester.")
    return own


def method_named(name: str) -> Method:
    """Where a tester comes from, and what its accusations are worth."""
    return stated_method(tester_named(name))


def look(
    samples: Samples, claim: Claim, wanted: tuple[str, ...], *, alpha: float, entropy: int
) -> dict[str, Outcome]:
    """Hand the same outputs to the bets and to every wanted tester, each with the same seeds.

    >>> rng = np.random.default_rng(0)
    >>> from dpaudit import PureDP
    >>> noise = rng.laplace(size=(2, 2_000))
    >>> told = look((3.0 + noise[0], noise[1]), PureDP(1.0), ("MMD",), alpha=0.05, entropy=1)
    >>> told["betting"].state, told["betting"].draws < 100, told["MMD"].draws
    ('accused', True, None)
    """
    found = {BETTING: _timed(BETTING, samples, claim, alpha, entropy)}
    unit = found[BETTING].seconds
    for name in wanted:
        if name != BETTING:
            found[name] = _timed(name, samples, claim, alpha, entropy, unit)
    return found


def _timed(
    name: str,
    samples: Samples,
    claim: Claim,
    alpha: float,
    entropy: int,
    unit: float | None = None,
) -> Outcome:
    """One tester, with its seconds of the processor."""
    start = time.process_time()
    try:
        tester = tester_named(name)
        if isinstance(tester, BettingTester):
            state, strength, draws = bet(samples, claim, alpha=alpha, entropy=entropy)
        else:
            state, strength = examine(tester, samples, claim, alpha=alpha, entropy=entropy)
            draws = None
        seconds = time.process_time() - start
        if state == "accused" and isinstance(tester, SequentialTester):
            draws = draws_until(tester, samples, claim, alpha=alpha, entropy=entropy)
    except Underpowered as error:
        return Outcome(state="underpowered", note=str(error))
    except (TypeError, ValueError) as error:  # as a tester refuses claims and outputs
        return Outcome(state="does not apply", note=f"{type(error).__name__}: {error}")
    except Exception as error:
        return Outcome(state="error", note=f"{type(error).__name__}: {error}")
    return Outcome(
        state=state,
        strength=strength,
        draws=draws,
        seconds=seconds,
        ratio=1.0 if name == BETTING else seconds / unit if unit else None,
    )


def bet(
    samples: Samples, claim: Claim, *, alpha: float, entropy: int
) -> tuple[State, float | None, int | None]:
    """Audit two samples as anybody does: verdict, certified bound, and draws until the verdict.

    One output in twenty, and all that come after the verdict, certify an event for the bound.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HealthWarning)  # of an output that is always None
        audit = compare_samples(*samples, claim, alpha=alpha, rng=entropy)
    if audit.refuted:
        return "accused", audit.lower_bound, audit.evidence.trace[-1][0]
    return "not accused", audit.lower_bound, None


def examine(
    tester: BatchTester, samples: Samples, claim: Claim, *, alpha: float, entropy: int
) -> tuple[State, float | None]:
    """Both directions at half of alpha each, as an audit does; the verdict and the bound."""
    test = TwoSidedTest(tester, claim)
    test.refuse_if_powerless(*map(len, samples), alpha=alpha)
    outcome = test.both(*samples, alpha=alpha, seeds=_seeds(entropy))
    return ("accused" if outcome.accused else "not accused"), outcome.strength_lower


def draws_until(
    tester: SequentialTester, samples: Samples, claim: Claim, *, alpha: float, entropy: int
) -> int | None:
    """The draws of both sides until the first direction accuses, each at half of alpha."""
    pairs = [
        tester.pairs_until_accused(*sides, claim, alpha=alpha / 2, rng=np.random.default_rng(seed))
        for sides, seed in zip((samples, samples[::-1]), _seeds(entropy), strict=True)
    ]
    return min((2 * each for each in pairs if each is not None), default=None)


def _seeds(entropy: int) -> tuple[np.random.SeedSequence, np.random.SeedSequence]:
    first, second = np.random.SeedSequence(entropy).spawn(2)
    return first, second
