"""`dpaudit.audit_inside`: follow the releases of a mechanism over a search of pairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpaudit.architecture import Finder
from dpaudit.auditing import check_arguments, entropy_of
from dpaudit.claims import Claim
from dpaudit.errors import CannotFollow, InvalidMechanism
from dpaudit.inside.bets import (
    Direction,
    bets_on,
    epsilon_of_pure,
    forbids_infinite,
    log_mean,
    wanted,
)
from dpaudit.inside.found import InsideAudit, InsideVerdict, WorstTranscript
from dpaudit.inside.transcripts import Transcript, transcript_of
from dpaudit.mechanism import Mechanism, as_mechanism, one_at_a_time
from dpaudit.neighbours import Pair
from dpaudit.search import as_finder, fingerprint

PURE_TRANSCRIPTS, TRANSCRIPTS = 400, 2000  # if not given: pure claims, all others
MAX_TOLERANCE = 0.05  # of a loss: beyond it, rounding hides what the transcript shows
_PURE_LOOK, _LOOK = 2, 6  # transcripts of a pair before the next one, half of them on either side
_LEANING = math.log(10.0)  # under the claim, evidence gets there once in ten audits at most
_LARGEST_SCORE = 1e6

_NO_RELEASE = (
    "no release was followed. Noise must come from the generator that the code is given, or from "
    "dpaudit.inside.release."
)
_NO_LOSS = (
    "every loss was 0 up to rounding: nothing that was released depends on the data of these pairs."
)
_ROUNDED = "the inputs of the releases are so large beside their noise that rounding hides the loss"


def audit_inside(
    mechanism: Callable[..., object] | Mechanism,
    claim: Claim,
    neighbours: Any,
    *,
    finder: str | Finder = "auto",
    transcripts: int | None = None,
    alpha: float = 1e-6,
    rng: np.random.Generator | int | None = None,
) -> InsideAudit:
    """Record the releases of a run on one dataset, replay them on its neighbour, add up the loss.

    The loss of a transcript is exact, so a pure claim is broken by a single one and any other by
    bets on losses, with error at most `alpha` over the whole audit. `mechanism` is `f(data, rng)`,
    or `f(data, size, rng)` asked for one output. Noise is followed through sums and multiples of
    numbers and arrays; for other noise use `dpaudit.inside.release`. What is not followed ends the
    audit with the verdict `CANNOT_FOLLOW`, the file and the line. `transcripts` bounds the
    recordings: 400 for a pure claim and 2 000 for any other, if not given. What is broken inside
    is not refuted by that: `confirm()` asks the black box about the output.

    >>> import dpaudit
    >>> def noisy_sum(data, rng):
    ...     return np.clip(data, 0, 2).sum() + rng.laplace(scale=1.0)
    >>> found = dpaudit.audit_inside(noisy_sum, dpaudit.PureDP(1.0), [([2.0], [0.0])], rng=7)
    >>> print(found.verdict.value, found.worst.loss)
    broken inside 2.0
    """
    check_arguments(claim, alpha)
    most, entropy = _most(transcripts, claim), entropy_of(rng)
    seed = np.random.SeedSequence(entropy, spawn_key=(0,))
    run = _Run(
        mechanism=_called_once(mechanism),
        claim=claim,
        alpha=alpha,
        most=most,
        entropy=entropy,
        finder=as_finder(neighbours, finder, np.random.default_rng(seed)),
        directions=(Direction(bets_on(claim)), Direction(bets_on(claim))),
    )
    run.search()
    return run.result()


def _most(transcripts: int | None, claim: Claim) -> int:
    """How many recordings there may be."""
    if transcripts is None:
        return PURE_TRANSCRIPTS if epsilon_of_pure(claim) is not None else TRANSCRIPTS
    if isinstance(transcripts, bool) or not isinstance(transcripts, int) or transcripts < 1:
        raise ValueError(f"transcripts must be a whole number >= 1, got {transcripts!r}.")
    return transcripts


def _called_once(function: Callable[..., object] | Mechanism) -> Mechanism:
    """A mechanism of a function that takes a number of draws, or of one that gives one output."""
    try:
        return as_mechanism(function)
    except InvalidMechanism:
        if isinstance(function, type) or not callable(function):
            raise
        return as_mechanism(one_at_a_time(function))


@dataclass(slots=True, kw_only=True)
class _Run:
    """An audit inside while it goes on."""

    mechanism: Mechanism
    claim: Claim
    alpha: float
    most: int
    entropy: int
    finder: Finder
    directions: tuple[Direction, Direction]  # recorded on `data`, and on `neighbour`
    made: int = 0
    released: int = 0
    vague: int = 0
    tried: int = 0
    telling: dict[str, list[int]] = field(default_factory=dict)  # by pair: transcripts each way
    worst: Transcript | None = None
    broken: bool = False
    peak: float = 0.0
    unfollowed: str | None = None
    differs: Transcript | None = None

    def search(self) -> None:
        """Look at pairs for half of the transcripts, then at the best one for the rest."""
        look = _PURE_LOOK if epsilon_of_pure(self.claim) is not None else _LOOK
        best: tuple[float, Pair] | None = None
        while self._going and self.made + look <= max(look, self.most // 2):
            pair = self.finder.ask()
            if pair is None:
                break
            self.tried += 1
            score = self._look(pair, look)
            if not self._going:
                return
            self.finder.tell(pair, score)
            if best is None or score > best[0]:
                best = score, pair
        while best is not None and self._going:
            self._look(best[1], look)

    @property
    def _going(self) -> bool:
        return not self.broken and self.unfollowed is None and self.made < self.most

    def _look(self, pair: Pair, count: int) -> float:
        """Some transcripts of a pair, one side and the other; what they showed is its score."""
        losses = []
        mark = fingerprint(pair)
        for turn in range(count):
            if not self._going:
                break
            side = turn % 2
            seed = np.random.SeedSequence(self.entropy, spawn_key=(1, self.made))
            ordered = pair.swapped() if side else pair
            try:
                found = transcript_of(self.mechanism, ordered, np.random.default_rng(seed))
            except CannotFollow as error:
                self.unfollowed = str(error)
                break
            self.made += 1
            losses.append(abs(found.loss))
            self._note(found, mark, side)
        largest = min(max(losses, default=0.0), _LARGEST_SCORE)
        return largest + 100.0 * max(each.growth(mark) for each in self.directions)

    def _note(self, found: Transcript, mark: str, side: int) -> None:
        """Enter a transcript: where a replay did otherwise, its loss is not known and counts 0."""
        self.released += len(found.releases)
        if found.differs is not None:
            self.differs = self.differs or found
        epsilon = epsilon_of_pure(self.claim)
        known = found.differs is None
        sure = found.loss - found.tolerance if known else -math.inf
        hidden = found.tolerance > MAX_TOLERANCE
        self.vague += hidden
        if known and not hidden and abs(found.loss) > found.tolerance:
            self.telling.setdefault(mark, [0, 0])[side] += 1
        if epsilon is not None:
            self.broken = known and abs(found.loss) - found.tolerance > epsilon
        else:
            self.directions[side].see(mark, sure)
            wealth = log_mean(*(each.log_wealth for each in self.directions))
            self.peak = max(self.peak, wealth)
            infinite = sure == math.inf and forbids_infinite(self.claim)
            self.peak = math.inf if infinite else self.peak
            self.broken = infinite or wealth >= math.log(1.0 / self.alpha)
        self._keep_worst(found)
        if self.broken and found.largest is not None:
            self.worst = found  # the one that decided

    def _keep_worst(self, found: Transcript) -> None:
        """The largest loss; one that a replay did not finish only where there is no other."""
        if found.largest is None or (found.differs is not None and self.worst is not None):
            return
        before = self.worst
        if before is None or before.differs is not None or abs(found.loss) > abs(before.loss):
            self.worst = found

    def result(self) -> InsideAudit:
        """The verdict, and what it rests on."""
        verdict, reason = self._verdict()
        return InsideAudit(
            name=self.mechanism.name,
            claim=self.claim,
            verdict=verdict,
            reason=reason,
            worst=None if self.worst is None else _as_worst(self.worst),
            differs=None if self.differs is None else self.differs.pair,
            transcripts=self.made,
            pairs_tried=self.tried,
            log_wealth=self.peak,
            alpha=self.alpha,
            rng_seed=self.entropy,
            mechanism=self.mechanism,
        )

    def _verdict(self) -> tuple[InsideVerdict, str]:
        if self.broken:
            return InsideVerdict.BROKEN_INSIDE, ""
        if self.unfollowed is not None:
            return InsideVerdict.CANNOT_FOLLOW, self.unfollowed
        reason = self._why_undecided()
        return (InsideVerdict.UNDECIDED, reason) if reason else (InsideVerdict.NOT_REFUTED, "")

    def _why_undecided(self) -> str:
        if self.differs is not None:
            return f"{self.differs.differs}. Ask confirm() whether the output shows it."
        if self.made == 0:
            return "no pair was proposed."
        if self.released == 0:
            return _NO_RELEASE
        needed = wanted(self.claim, self.alpha)
        most = max((max(each) for each in self.telling.values()), default=0)
        if most == 0:
            return f"{_ROUNDED}." if self.vague else _NO_LOSS
        if most < needed:
            return (
                f"{most} telling transcripts of one pair and direction are too few: even a leak "
                f"without limit needs {needed}."
            )
        if self.peak >= _LEANING:
            return "the evidence leans against the claim. More transcripts may decide it."
        return ""


def _as_worst(found: Transcript) -> WorstTranscript:
    assert found.largest is not None
    return WorstTranscript(
        pair=found.pair,
        loss=found.loss,
        tolerance=found.tolerance,
        release=found.largest,
        releases=len(found.releases),
    )
