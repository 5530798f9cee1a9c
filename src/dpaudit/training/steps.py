"""Audits of a training step by step: a fair coin for each step, its canary inserted or not.

The claim is that of one step given everything released before it, which is what accountants
compose. Then the payoffs of the steps multiply whatever the mechanism does with its past, and a
training loop can stop at the first step that refutes (docs/mathematics.md, section 12).

A step is also looked at beside its history. What is left of an earlier observation without its
canary is noise; if the noise comes again, the difference shows the canary bare. So some hands see
the observation itself, others its difference to the noise of the last step, of the first step, and
to the mean of all noise so far.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from dpaudit.architecture import Claim
from dpaudit.arrays import Floats, Labels
from dpaudit.auditing import entropy_of
from dpaudit.errors import InvalidSamples
from dpaudit.results import Audit, Finding, Null
from dpaudit.training.conclusion import Audited, Seen, concluded
from dpaudit.training.gaussian_hand import GaussianHand
from dpaudit.training.hands import GuessingHand, Hands, Trace
from dpaudit.training.independent import check_settings, checked_canaries

TEST, SOURCE = "one wealth over steps", "Ville 1939"
_DIGITS = 5  # of a difference: what a float of 32 bits still tells of two equal noises
_EARLIER_SHARE = 0.15  # of the wealth, for each of the three views beside the history
_GAUSSIAN_SHARE, _FREE_SHARE = 0.4, 0.2  # for the Gaussian form, with its noise known or not
_EARLIER = 3

Together = Literal["averaged", "independent"]


class StepAudit:
    """An audit that sees a training step by step and says at each step what it has found.

    `observations` are in units of `shift`, the difference that an inserted canary makes. `noise` is
    the standard deviation of an observation without its canary, if it is known and the mean is 0.

    A step may have several canaries, each with a coin of its own. Their payoffs are averaged; with
    `together="independent"` they multiply, which only holds if their noise is independent.

    `coin` is the chance that a canary is inserted. If it is not one half, some observations are
    left out, chosen by `rng`, so that the others have a fair coin: where a batch drawn with
    probability `coin` is the label, this is the coin.

    >>> from dpaudit.claims import GaussianDP
    >>> rng = np.random.default_rng(0)
    >>> audit, same = StepAudit(GaussianDP(1.0), alpha=1e-6), rng.normal()
    >>> for step in range(200):  # the noise of the first step comes again and again
    ...     inserted = rng.random() < 0.5
    ...     if audit.see(same + inserted, inserted).refuted:
    ...         break
    >>> audit.finding.null.value, step < 100
    ('this claim for every step, given all before it', True)
    """

    def __init__(
        self,
        claim: Claim,
        *,
        alpha: float = 1e-6,
        noise: float | None = None,
        shift: float = 1.0,
        coin: float = 0.5,
        together: Together = "averaged",
        rng: np.random.Generator | int | None = None,
    ) -> None:
        check_settings(claim, alpha, noise)
        _check_coin(coin, shift, together)
        averaged = together == "averaged"
        form = _FREE_SHARE if noise is None else _GAUSSIAN_SHARE
        known = None if noise is None else noise / abs(shift)
        hands = [(form, GaussianHand(claim, noise=known, averaged=averaged))]
        plain = 1.0 - form - _EARLIER * _EARLIER_SHARE
        guessing = [(share, GuessingHand(claim, averaged=averaged)) for share in _shares(plain)]
        self._hands = Hands(claim, alpha, [*hands, *guessing], averaged=averaged)
        self._shift, self._coin = shift, coin
        self._together: Together = together
        self._rng = np.random.default_rng(rng)
        self._steps = 0
        self._first = self._last = self._sum = np.empty(0)

    def see(self, observation: Any, inserted: Any) -> Finding:
        """Bet on one step and learn it; what has been found so far.

        `observation` is a number and `inserted` a truth value, or both are arrays with one entry
        for each canary of the step: as many at every step.
        """
        self.play(*checked_canaries(np.atleast_1d(observation), np.atleast_1d(inserted)))
        return self.finding

    def play(self, numbers: Floats, labels: Labels) -> None:
        """Bet on one step, given as checked arrays, and learn it."""
        if self._steps and len(numbers) != len(self._first):
            raise InvalidSamples(
                f"every step needs as many canaries as the first, {len(self._first)}, "
                f"got {len(numbers)} at step {self._steps + 1}."
            )
        numbers = numbers / self._shift
        kept = self._kept(labels)
        self._steps += 1
        if kept.any():
            views = [None if view is None else view[kept] for view in self._views(numbers)]
            self._hands.see(views, labels[kept], draws=self._steps)
        noise = numbers - labels
        self._first, self._sum = (
            (noise, noise) if self._steps == 1 else (self._first, self._sum + noise)
        )
        self._last = noise

    @property
    def refuted(self) -> bool:
        """Whether a step has refuted the claim."""
        return self._hands.refuted

    @property
    def finding(self) -> Finding:
        """What has been found so far."""
        averaged = self._together == "averaged" or len(self._first) == 1
        null = Null.EVERY_STEP if averaged else Null.INDEPENDENT_CANARIES
        return self._hands.finding(test=TEST, source=SOURCE, null=null)

    @property
    def trace(self) -> Trace:
        """The log-wealth over the steps."""
        return self._hands.trace

    def _views(self, numbers: Floats) -> list[Floats | None]:
        """What each hand sees: functions of the observation that the steps before have fixed."""
        if self._steps == 1:
            return [numbers, numbers, None, None, None]
        mean = self._sum / (self._steps - 1)
        earlier = [np.round(numbers - noise, _DIGITS) for noise in (self._last, self._first, mean)]
        return [numbers, numbers, *earlier]

    def _kept(self, labels: Labels) -> Labels:
        """Which canaries are bet on, so that their coin is fair: all of the rarer side."""
        if self._coin == 0.5:
            return np.ones(len(labels), dtype=np.bool_)
        rarer = min(self._coin, 1.0 - self._coin)
        some = self._rng.random(len(labels)) < rarer / (1.0 - rarer)
        return np.asarray(some | (labels == (self._coin < 0.5)))


def compare_steps(
    observations: Any,
    inserted: Any,
    claim: Claim,
    *,
    alpha: float = 1e-6,
    noise: float | None = None,
    shift: float = 1.0,
    coin: float = 0.5,
    together: Together = "averaged",
    name: str = "the training",
    rng: np.random.Generator | int | None = None,
) -> Audit:
    """Audit a training whose observations are all there: a `StepAudit` that sees every step.

    `observations` has one entry for each step, the observation along the canary of that step, and
    `inserted` whether it was there, tossed fairly for each step. With `k` canaries a step both have
    the shape `(steps, k)`. If every step keeps `claim` given everything before it, that is refuted
    with probability at most `alpha`. The audit stops at the step that refutes.

    >>> from dpaudit.claims import GaussianDP
    >>> rng = np.random.default_rng(0)
    >>> inserted = rng.random(1000) < 0.5
    >>> observations = inserted + 0.5 * rng.normal(size=1000)  # half the noise that is claimed
    >>> audit = compare_steps(observations, inserted, GaussianDP(1.0), noise=1.0, rng=7)
    >>> audit.refuted, audit.samples < 1000, audit.training.null.name
    (True, True, 'EVERY_STEP')
    """
    seed = entropy_of(rng)
    settings: dict[str, Any] = {"noise": noise, "shift": shift, "coin": coin, "together": together}
    found, trace, steps = bet_on_steps(
        observations, inserted, claim, alpha=alpha, rng=seed, **settings
    )
    audited = Audited(
        name=name,
        claim=claim,
        alpha=float(alpha),
        what="observations of steps",
        neighbours="a canary in a step, or none",
        seed=seed,
    )
    numbers, labels = checked_canaries(observations, inserted)
    seen = Seen(scores=numbers[:steps], bits=labels[:steps])
    return concluded(audited, [seen], [found], trace=trace)


def bet_on_steps(
    observations: Any, inserted: Any, claim: Claim, **settings: Any
) -> tuple[Finding, Trace, int]:
    """What a `StepAudit` finds, the wealth over the steps, and how many it saw: it stops early."""
    numbers, labels = checked_canaries(observations, inserted)
    if numbers.ndim > 2:
        raise InvalidSamples(
            f"observations must have the shape (steps,) or (steps, canaries), got {numbers.shape}."
        )
    audit, steps = StepAudit(claim, **settings), 0
    for observation, label in zip(numbers, labels, strict=True):
        audit.play(np.atleast_1d(observation), np.atleast_1d(label))
        steps += 1
        if audit.refuted:
            break
    return audit.finding, audit.trace, steps


def _shares(plain: float) -> tuple[float, ...]:
    """The shares of the hands that guess: of the observation, and beside the history."""
    return (plain, *[_EARLIER_SHARE] * _EARLIER)


def _check_coin(coin: Any, shift: Any, together: Any) -> None:
    if not 0.0 < coin < 1.0:
        raise ValueError(f"coin must be a probability between 0 and 1, got {coin!r}.")
    if shift == 0.0 or not np.isfinite(shift):
        raise ValueError(f"shift must be a number other than 0, got {shift!r}.")
    if together not in ("averaged", "independent"):
        raise ValueError(f'together must be "averaged" or "independent", got {together!r}.')
