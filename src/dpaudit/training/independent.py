"""Canaries of one run that are independent: every canary is one draw with a fair label.

Under independence the payoffs of canaries multiply, as those of draws do, and any claim can be
tested. What is refuted is "this claim *and* independent canaries": a mechanism may keep the claim
for every canary and still let their scores depend on each other, and then this test errs
(docs/mathematics.md, section 12).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit.architecture import Claim
from dpaudit.arrays import Floats, Labels
from dpaudit.auditing import check_arguments
from dpaudit.errors import InvalidSamples
from dpaudit.results import Finding, Null
from dpaudit.training.gaussian_hand import GaussianHand
from dpaudit.training.hands import GuessingHand, Hands, Trace

TEST, SOURCE = "one wealth over canaries", "Ville 1939"
_GAUSSIAN_SHARE = 0.8  # of the wealth, where the noise is known: the form is as good as known
_FREE_SHARE = 0.5  # where it is not
_LOOK = 64  # the wealth is looked at whenever the past has grown by one in so many


def independent(
    scores: Any,
    bits: Any,
    claim: Claim,
    alpha: float = 0.05,
    *,
    noise: float | None = None,
    rng: np.random.Generator | int | None = None,
    runs: int = 1,
) -> tuple[Finding, Trace]:
    """Bet on the canaries of one run, one after the other, as if they were independent.

    `scores` holds one number per canary, higher where it seems to have taken part; `bits` whether
    it did, tossed fairly. `noise` is the standard deviation of the score of a canary that is out,
    if it is known and their mean is 0, as for a canary with a coordinate of its own. A mechanism
    that keeps `claim` with independent canaries is refuted with probability at most `alpha`,
    whenever one stops; the lower bound errs with the same probability.

    The canaries are bet on in an order that is shuffled with `rng`: an order that depends on the
    scores would tell about the bits. A bet depends on the score of its canary and on the canaries
    before it, never on those to come. Several `runs` of equal length may stand one after the other;
    each is shuffled by itself, so the bets on the first do not depend on how many follow.

    >>> rng = np.random.default_rng(0)
    >>> bits = rng.random(1000) < 0.5
    >>> scores = rng.normal(size=1000) + 1.4 * bits
    >>> from dpaudit.claims import GaussianDP
    >>> finding, trace = independent(scores, bits, GaussianDP(0.7), noise=1.0, rng=1)
    >>> finding.refuted, finding.null.value, trace.refuted_after < 300
    (True, 'this claim and independent canaries', True)
    """
    numbers, labels = checked_canaries(scores, bits)
    check_settings(claim, alpha, noise)
    shuffled, size = np.random.default_rng(rng), len(numbers) // runs
    order = np.concatenate([run * size + shuffled.permutation(size) for run in range(runs)])
    numbers, labels = numbers[order], labels[order]
    share = _FREE_SHARE if noise is None else _GAUSSIAN_SHARE
    hands = Hands(
        claim,
        alpha,
        [(share, GaussianHand(claim, noise=noise)), (1.0 - share, GuessingHand(claim))],
    )
    seen = 0
    while seen < len(numbers):
        some = slice(seen, seen + max(1, seen // _LOOK))
        seen = min(some.stop, len(numbers))
        hands.see([numbers[some]] * 2, labels[some], draws=seen)
    return hands.finding(test=TEST, source=SOURCE, null=Null.INDEPENDENT_CANARIES), hands.trace


def checked_canaries(scores: Any, bits: Any) -> tuple[Floats, Labels]:
    """Scores as finite numbers and bits as truth values, in one shape; InvalidSamples if not.

    >>> checked_canaries([0.5, 2], [0, 1])
    (array([0.5, 2. ]), array([False,  True]))
    """
    numbers, labels = np.asarray(scores, dtype=np.float64), np.asarray(bits)
    if numbers.shape != labels.shape or numbers.ndim == 0:
        raise InvalidSamples(
            f"every canary needs one score and one bit, got shapes {numbers.shape} and "
            f"{labels.shape}. Pass arrays of the same shape."
        )
    if not np.isfinite(numbers).all():
        raise InvalidSamples(
            f"scores must be finite, got {numbers[~np.isfinite(numbers)][0]!r}. Replace what is "
            "not a number by a rule that does not look at the bits."
        )
    if not np.isin(labels, (0, 1)).all():
        raise InvalidSamples(f"bits must be 0 or 1, got {labels[~np.isin(labels, (0, 1))][0]!r}.")
    return numbers, labels.astype(np.bool_)


def check_settings(claim: Any, alpha: Any, noise: Any) -> None:
    """Refuse what is no claim, no probability or no standard deviation."""
    check_arguments(claim, alpha)
    if noise is not None and not (noise > 0.0 and np.isfinite(noise)):
        raise ValueError(f"noise must be a standard deviation > 0, got {noise!r}. Or leave it out.")
