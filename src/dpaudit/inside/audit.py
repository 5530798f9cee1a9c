"""`dpaudit.audit_inside`: follow the releases of a mechanism over a search of pairs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from dpaudit.architecture import Finder
from dpaudit.auditing import VERSION, check_arguments, described, entropy_of
from dpaudit.claims import Claim
from dpaudit.errors import CannotFollow
from dpaudit.inside.bets import (
    Direction,
    bets_on,
    epsilon_of_pure,
    forbids_infinite,
    wanted,
)
from dpaudit.inside.found import (
    InsideAudit,
    InsideProgress,
    InsideVerdict,
    WorstTranscript,
    of_either_form,
)
from dpaudit.inside.libraries.hooking import held
from dpaudit.inside.transcripts import Transcript, transcript_of
from dpaudit.integrations import as_subject
from dpaudit.mechanism import Mechanism, Subject, audited_code
from dpaudit.neighbours import Pair, pairs
from dpaudit.report import inside_followed
from dpaudit.results import Provenance, software_in_use
from dpaudit.search import as_finder, check_finder, fingerprint

PURE_TRANSCRIPTS, TRANSCRIPTS = 400, 2000  # if not given: pure claims, all others
MAX_TOLERANCE = 0.05  # of a loss: beyond it, rounding hides what the transcript shows
_PURE_LOOK, _LOOK = 2, 6  # transcripts of a pair before the next one, half of them on either side
_FIRST_LOOK = 2  # transcripts of a new pair: many pairs differ in what they do, not in how often
_FIRST_PAIRS = 10  # looked at before the best one is looked at again
_SIDES_KNOWN = 10  # telling transcripts of either side, before one is recorded more often
_CLEAR_LEAD = 3.0  # nats by which one side may have earned more: then one transcript each is enough
_LEANING = math.log(10.0)  # under the claim, evidence gets there once in ten audits at most
_LARGEST_SCORE = 1e6
_PROGRESS_SECONDS = 0.1  # between two reports of progress

_NO_RELEASE = (
    "no release was followed. Noise must come from the generator that the code is given, or from "
    "dpaudit.release."
)
_NO_LOSS = (
    "every loss was 0 up to rounding: nothing that was released depends on the data of these pairs."
)
_ROUNDED = "the inputs of the releases are so large beside their noise that rounding hides the loss"


def audit_inside(
    mechanism: Callable[..., object] | Mechanism | Subject,
    claim: Claim | None = None,
    neighbours: Any = None,
    *,
    finder: str | Finder = "auto",
    reveal: bool = False,
    transcripts: int | None = None,
    alpha: float = 1e-6,
    rng: np.random.Generator | int | None = None,
    progress: Callable[[InsideProgress], None] | Literal[False] | None = None,
) -> InsideAudit:
    """Record the releases of a run on one dataset, replay them on its neighbour, add up the loss.

    The loss of a transcript is exact, so a pure claim is broken by a single one and any other by
    bets on losses, with error at most `alpha` over the whole audit. `mechanism` is `f(data, rng)`,
    or `f(data, size, rng)` asked for one output. Noise is followed through sums, multiples,
    comparisons, argmax and max. What is not followed ends the audit with the verdict
    `CANNOT_FOLLOW`, the file and the line: use `dpaudit.release` there, or pass `reveal=True`. Then
    a noisy number that is used in another way (rounded, divided by, put into a function) counts as
    released. `transcripts` bounds the recordings: 400 for a pure claim and 2 000 for any other, if
    not given. What is broken inside is not refuted by that: `confirm()` asks the black box about
    the output.

    `claim` and `neighbours` may be left out where `mechanism` brings them: a `dpaudit.Subject`, or
    an object of a library that dpaudit knows.

    A live line shows the progress, as with `dpaudit.audit`, unless `progress` is False, or a
    function: that is called with an `InsideProgress` several times a second.

    >>> import dpaudit
    >>> def noisy_sum(data, rng):
    ...     return np.clip(data, 0, 2).sum() + rng.laplace(scale=1.0)
    >>> found = dpaudit.audit_inside(noisy_sum, dpaudit.PureDP(1.0), [([2.0], [0.0])], rng=7)
    >>> print(found.verdict.value, found.worst.loss)
    broken inside 2.0
    """
    subject = as_subject(mechanism, claim, neighbours)
    claim, neighbours = subject.claim, subject.neighbours
    neighbours = pairs(neighbours) if isinstance(neighbours, list | tuple) else neighbours
    check_arguments(claim, alpha)
    check_finder(finder)
    most, entropy = _most(transcripts, claim), entropy_of(rng)
    seed = np.random.SeedSequence(entropy, spawn_key=(0,))
    run = _Run(
        mechanism=of_either_form(subject.mechanism),
        claim=claim,
        alpha=alpha,
        reveal=reveal,
        most=most,
        entropy=entropy,
        finder=as_finder(neighbours, finder, np.random.default_rng(seed)),
        directions=(Direction(bets_on(claim)), Direction(bets_on(claim))),
    )
    with held(), inside_followed(progress) as told:
        run.search(told)
    return run.result(described(neighbours))


def _most(transcripts: int | None, claim: Claim) -> int:
    """How many recordings there may be."""
    if transcripts is None:
        return PURE_TRANSCRIPTS if epsilon_of_pure(claim) is not None else TRANSCRIPTS
    if isinstance(transcripts, bool) or not isinstance(transcripts, int) or transcripts < 1:
        raise ValueError(f"transcripts must be a whole number >= 1, got {transcripts!r}.")
    return transcripts


_Inputs = tuple[tuple[Any, Any], ...]  # by release: its kernel and what went in


@dataclass(slots=True, kw_only=True)
class _Run:
    """An audit inside while it goes on."""

    mechanism: Mechanism
    claim: Claim
    alpha: float
    reveal: bool
    most: int
    entropy: int
    finder: Finder
    directions: tuple[Direction, Direction]  # recorded on `data`, and on `neighbour`
    started: float = field(default_factory=time.perf_counter)
    told: Callable[[InsideProgress], None] | None = None
    told_next: float = 0.0  # seconds from the start
    made: int = 0
    released: int = 0
    vague: int = 0
    tried: int = 0
    telling: dict[str, list[int]] = field(default_factory=dict)  # by pair: transcripts each way
    seen: dict[str, list[_Inputs]] = field(default_factory=dict)  # by pair, of either dataset
    worst: Transcript | None = None
    broken: bool = False
    peak: float = 0.0
    unfollowed: str | None = None
    differs: Transcript | None = None

    def search(self, told: Callable[[InsideProgress], None] | None) -> None:
        """Look at new pairs and at the best one so far, in turn; at that one alone if it leans."""
        self.told = told
        look = _PURE_LOOK if epsilon_of_pure(self.claim) is not None else _LOOK
        best: dict[str, tuple[float, float, Pair]] = {}
        searched, more = 0, True
        while self._going:
            new = self.finder.ask() if more and self._asks(searched, look) else None
            more = more and (new is not None or not self._asks(searched, look))
            if new is None and not best:
                return
            pair = max(best.values(), key=lambda each: each[:2])[2] if new is None else new
            count = look if new is None else _FIRST_LOOK
            self.tried += new is not None
            score = self._look(pair, count)
            mark = fingerprint(pair)
            best[mark] = sum(each.earned(mark) for each in self.directions), score, pair
            if new is not None:
                searched += count
                if self._going:
                    self.finder.tell(new, score)

    def _asks(self, searched: int, look: int) -> bool:
        """Whether the next look is at a new pair."""
        if searched + look > max(look, self.most // 2) or self._log_wealth >= _LEANING:
            return False
        return searched < _FIRST_PAIRS * _FIRST_LOOK or searched <= self.made - searched

    @property
    def _seconds(self) -> float:
        return time.perf_counter() - self.started

    @property
    def _log_wealth(self) -> float:
        return sum(each.log_wealth for each in self.directions)

    @property
    def _going(self) -> bool:
        return not self.broken and self.unfollowed is None and self.made < self.most

    @property
    def _may_steer(self) -> bool:
        """Any transcript that can happen breaks a pure claim, however rarely it does."""
        return epsilon_of_pure(self.claim) is not None

    def _look(self, pair: Pair, count: int) -> float:
        """Some transcripts of a pair, one side and the other; what they showed is its score."""
        losses = []
        mark = fingerprint(pair)
        for turn in range(count):
            if not self._going:
                break
            side = self._side(mark, turn)
            seed = np.random.SeedSequence(self.entropy, spawn_key=(1, self.made))
            ordered = pair.swapped() if side else pair
            try:
                found = transcript_of(
                    self.mechanism,
                    ordered,
                    np.random.default_rng(seed),
                    reveal=self.reveal,
                    steered=self._may_steer and self.made % 4 >= 2,
                    aims=self.seen[mark][1 - side] if mark in self.seen else (),
                )
            except CannotFollow as error:
                self.unfollowed = str(error)
                break
            self.made += 1
            losses.append(abs(found.loss))
            self._note(found, mark, side)
            self._tell(pair)
            if found.differs is None:
                ours = tuple((one.kernel, one.input) for one in found.releases)
                theirs = tuple(
                    (one.neighbour_kernel, one.neighbour_input) for one in found.releases
                )
                self.seen[mark] = [theirs, ours] if side else [ours, theirs]
        largest = min(max(losses, default=0.0), _LARGEST_SCORE)
        return largest + 100.0 * max(each.growth(mark) for each in self.directions)

    def _tell(self, pair: Pair) -> None:
        """Tell of the progress, if somebody wants to know."""
        if self.told is None or self._seconds < self.told_next:
            return
        self.told_next = self._seconds + _PROGRESS_SECONDS
        worst = self.worst
        self.told(
            InsideProgress(
                pairs=self.tried,
                transcripts=self.made,
                budget=self.most,
                seconds=self._seconds,
                largest=None if worst is None or worst.differs else abs(worst.loss),
                allowed=epsilon_of_pure(self.claim),
                log_wealth=self._log_wealth,
                alpha=self.alpha,
                pair=str(pair),
            )
        )

    def _side(self, mark: str, turn: int) -> int:
        """Which side to record: in turn, or mostly the one that shows much more than the other."""
        growths = [each.growth(mark) for each in self.directions]
        better = int(growths[1] > growths[0])
        seen = min(self.telling.get(mark, [0, 0]))
        earned = [each.earned(mark) for each in self.directions]
        known = _SIDES_KNOWN if abs(earned[0] - earned[1]) < _CLEAR_LEAD else 1
        if seen < known or growths[1 - better] > 0.5 * growths[better]:
            return turn % 2
        return 1 - better if turn % _LOOK == _LOOK - 1 else better

    def _note(self, found: Transcript, mark: str, side: int) -> None:
        """Enter a transcript: where a replay did otherwise, its loss is not known and counts 0."""
        self.released += len(found.releases)
        if found.differs is not None:
            self.differs = self.differs or found
        epsilon = epsilon_of_pure(self.claim)
        known = found.differs is None and math.isfinite(found.tolerance)
        sure = found.loss - found.tolerance if known else -math.inf
        most = found.loss + found.tolerance if known else math.inf
        hidden = found.tolerance > MAX_TOLERANCE
        self.vague += hidden
        if known and not hidden and abs(found.loss) > found.tolerance:
            self.telling.setdefault(mark, [0, 0])[side] += 1
        if epsilon is not None:
            self.broken = known and abs(found.loss) - found.tolerance > epsilon
        else:
            self.directions[side].see(mark, sure, most)
            self.peak = max(self.peak, self._log_wealth)
            infinite = sure == math.inf and forbids_infinite(self.claim)
            self.peak = math.inf if infinite else self.peak
            self.broken = infinite or self._log_wealth >= math.log(1.0 / self.alpha)
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

    def result(self, neighbours: str) -> InsideAudit:
        """The verdict, and what it rests on."""
        seconds = self._seconds
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
            neighbours=neighbours,
            seconds=seconds,
            version=VERSION,
            reveal=self.reveal,
            target=self.mechanism.target,
            software=software_in_use(),
            provenance=Provenance.now(audited_code(self.mechanism), seconds=seconds),
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
    return WorstTranscript(
        pair=found.pair,
        tolerance=found.tolerance,
        releases=found.releases,
        differs=found.differs,
    )
