"""What an audit inside gives back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import Enum
from functools import partial
from typing import Any

from dpaudit.auditing import audit
from dpaudit.claims import Claim
from dpaudit.errors import InvalidMechanism
from dpaudit.inside.transcripts import ReleaseLoss, Transcript
from dpaudit.mechanism import Mechanism, as_mechanism, one_at_a_time
from dpaudit.neighbours import Pair, pairs
from dpaudit.report import InsidePlots, inside_cell, inside_headline, inside_in_words
from dpaudit.results import Audit, Provenance, Result


def of_either_form(function: Callable[..., object] | Mechanism) -> Mechanism:
    """A mechanism of a function that takes a number of draws, or of one that gives one output."""
    try:
        return as_mechanism(function)
    except InvalidMechanism:
        if isinstance(function, type) or not callable(function):
            raise
        return as_mechanism(one_at_a_time(function))


class InsideVerdict(Enum):
    """What an audit inside says. Only the black box, by `confirm()`, says "refuted"."""

    BROKEN_INSIDE = "broken inside"
    NOT_REFUTED = "not refuted"
    UNDECIDED = "undecided"
    CANNOT_FOLLOW = "cannot follow"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstTranscript(Transcript):
    """The transcript that shows most: its pair, and all of its releases in their order.

    Its losses are those of the output on `pair.data` against `pair.neighbour`, exact up to
    `tolerance` in all. `differs` says what the replay did otherwise, if anything: then the loss of
    the transcript is not known.
    """

    @property
    def release(self) -> ReleaseLoss:
        """The release with the largest loss, either way.

        It says which line drew, what went in on both sides, under which noise, and its own loss.
        """
        return max(self.releases, key=lambda release: abs(release.loss))


@dataclass(frozen=True, slots=True, kw_only=True)
class InsideProgress:
    """Where a running audit inside stands: `transcripts` of `budget`, and what they showed.

    `largest` is the size of the largest loss that is known, if any is. Of a pure claim `allowed` is
    the epsilon, which one loss above it breaks; of others it is None, and the evidence counts.
    """

    pairs: int
    transcripts: int
    budget: int
    seconds: float
    largest: float | None
    allowed: float | None
    log_wealth: float
    alpha: float
    pair: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class InsideAudit(Result):
    """The result of `dpaudit.audit_inside`. `print(found)` says it in words.

    `reason` says why the verdict is not a plain one. `differs` is a pair on which a replay did
    something that no loss explains. `log_wealth` is the evidence where the claim is not pure, as a
    natural logarithm, and 0 for a pure claim, which a single loss breaks. The same call with
    `rng=rng_seed` gives the same result. `reveal` says that noisy numbers which were used in other
    ways count as released. `target` is the text that imports the code again, if there is one.
    `provenance` says when it ran, on which code and machine. `mechanism` is None in a result that
    was loaded from a file.
    """

    name: str
    claim: Claim
    verdict: InsideVerdict
    reason: str
    worst: WorstTranscript | None
    differs: Pair | None
    transcripts: int
    pairs_tried: int
    log_wealth: float
    alpha: float
    rng_seed: int
    neighbours: str
    seconds: float
    version: str
    reveal: bool = False
    target: str | None = None
    software: tuple[tuple[str, str], ...] = ()
    provenance: Provenance | None = None
    mechanism: Mechanism | None = field(default=None, metadata={"saved": False})

    @property
    def e_value(self) -> float:
        """The evidence against a claim that is not pure; at most `1/alpha` by chance."""
        return math.inf if self.log_wealth > 700.0 else math.exp(self.log_wealth)

    @property
    def broken(self) -> bool:
        """Whether the releases break the claim. False does not mean that it holds."""
        return self.verdict is InsideVerdict.BROKEN_INSIDE

    @property
    def pair(self) -> Pair | None:
        """The pair to ask the black box about; None if there is none."""
        if self.worst is not None and (self.differs is None or self.broken):
            return self.worst.pair
        return self.differs

    def confirm(self, *, mechanism: Any = None, **settings: Any) -> Audit:
        """Ask the black box about the pair that was found: only this can refute the output.

        `settings` are those of `dpaudit.audit`, such as `samples`. The releases of a run show more
        than its output does, so the output of code that is broken inside may keep the claim. A
        result that was loaded from a file has no `mechanism`, so it must be given.
        """
        asked = self.mechanism if mechanism is None else of_either_form(mechanism)
        if asked is None:
            known = "" if self.target is None else f" It was {self.target}."
            raise ValueError(
                "a result that was loaded from a file has no mechanism to draw from. Pass it: "
                f"confirm(mechanism=...).{known}"
            )
        if self.pair is None:
            raise ValueError("there is no pair to confirm: no transcript was recorded.")
        return audit(
            asked,
            self.claim,
            pairs([(self.pair.data, self.pair.neighbour)]),
            **{"alpha": self.alpha, "rng": self.rng_seed} | settings,
        )

    def __eq__(self, other: object) -> bool:
        """Whether all that is saved is the same, but for time and place."""
        if not isinstance(other, InsideAudit):
            return NotImplemented
        times: dict[str, object] = {"seconds": 0, "provenance": None}
        return {**self.to_json(), **times} == {**other.to_json(), **times}

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        """It may be sent to another process, where the code is not."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return partial(InsideAudit, **values | {"mechanism": None}), ()

    def __str__(self) -> str:
        return inside_in_words(self)

    def __repr__(self) -> str:
        return f"<InsideAudit {inside_headline(self)}>"

    def to_json(self) -> dict[str, object]:
        """The result as plain JSON values.

        Only "seconds" and "provenance" differ between equal results.
        """
        from dpaudit.inside.saving import inside_to_json

        return inside_to_json(self)

    @property
    def plot(self) -> InsidePlots:
        """The figures of the result: `found.plot.releases()`."""
        return InsidePlots(self)

    def _repr_html_(self) -> str:
        return inside_cell(self)
