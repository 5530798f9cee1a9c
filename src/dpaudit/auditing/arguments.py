"""What a user may pass to an audit: checked before anything is drawn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpaudit.claims import Claim
from dpaudit.outputs import FLOAT_VIEWS
from dpaudit.testers import BettingTester, Trials, is_batch_tester


def entropy_of(rng: np.random.Generator | int | None) -> int:
    """One whole number that the audit can be repeated from."""
    if rng is None:
        fresh = np.random.SeedSequence().entropy
        assert isinstance(fresh, int)
        return fresh
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    if not (_is_whole(rng) and rng >= 0):
        raise ValueError(f"rng must be a Generator, a whole number >= 0 or None, got {rng!r}.")
    return int(rng)


def _is_whole(number: Any) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def _is_real(number: Any) -> bool:
    return isinstance(number, float | np.floating) or _is_whole(number)


def check_arguments(claim: Any, alpha: Any, tester: Any) -> None:
    """Refuse what cannot be meant, before anything is drawn."""
    if not isinstance(claim, Claim):
        raise TypeError(f"claim must be a claim such as dpaudit.PureDP(1.0), got {claim!r}.")
    check_alpha(alpha)
    if not isinstance(tester, BettingTester | Trials | None) and not is_batch_tester(tester):
        raise TypeError(
            f"tester must be a BettingTester, got {tester!r}. Or give one that tests a batch at a "
            "time: dpaudit.testers.HistogramTester(), or any object with lower_bound and threshold."
        )


def check_alpha(alpha: Any) -> None:
    """Refuse what is no probability of an error."""
    if not (_is_real(alpha) and 0.0 < alpha < 1.0):
        raise ValueError(f"alpha must be between 0 and 1, got {alpha!r}. Try 1e-6.")


def check_floats(floats: Any, tester: Any = None) -> None:
    """Refuse what is no way to look at floats, or not one of this tester's."""
    if floats not in FLOAT_VIEWS:
        raise ValueError(
            f'floats must be "real" or "bits", got {floats!r}. "bits" also looks at how floats '
            'are rounded; with "real" a float is a real number.'
        )
    if floats != "real" and not isinstance(tester, BettingTester | None):
        raise ValueError(
            f"floats={floats!r} needs the tester that bets, got {tester!r}. Leave out one of them."
        )


def check_budget(samples: Any, seconds: Any) -> None:
    """Refuse what is no number of draws or of seconds."""
    if samples is not None and not (_is_whole(samples) and samples >= 1):
        raise ValueError(f"samples must be a whole number >= 1, got {samples!r}.")
    if seconds is not None and not (_is_real(seconds) and 0.0 < seconds < math.inf):
        raise ValueError(f"seconds must be positive, got {seconds!r}. Leave it out for no limit.")
