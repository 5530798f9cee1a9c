"""The values an audit is made of: verdict, counterexample, evidence, history.

Numbers stay as they were computed; `report/text.py` rounds them to the safe side and words them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from dpaudit.bounds import proportion_anytime, proportion_lower, proportion_upper
from dpaudit.claims import Claim, Scalable, refutes, strength_of_event
from dpaudit.events import Rule
from dpaudit.neighbours import Pair
from dpaudit.outputs import FloatView
from dpaudit.report import Plots, headline, notebook_cell, render
from dpaudit.results.method import Method
from dpaudit.results.provenance import Provenance
from dpaudit.results.result import Result
from dpaudit.results.training import TrainingEvidence

LEANING = math.log(10.0)  # log-wealth from which an audit calls itself undecided
_MAX_EXPONENT = 700.0  # e^this is about the largest float
REPLAY = "Replay"  # the tester of an audit that counts a known counterexample again
TRAINING = "Training"  # and of one that compares canaries of a training


class Verdict(Enum):
    """What an audit says of a claim. There is no word for "it holds": no audit can show that.

    A claim is suspected where the tester that accuses it has no finite-sample guarantee.
    """

    REFUTED = "refuted"
    SUSPECTED = "suspected"
    NOT_REFUTED = "not refuted"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How often an event happened on one side, with certified bounds on its probability.

    The bounds are for a number of draws that was fixed beforehand, unless they hold `anytime`: then
    the clock may have decided when to stop.

    >>> tally = Tally.of(30, 100, alpha=0.04)
    >>> print(tally.rate, round(tally.lower, 3), round(tally.upper, 3))
    0.3 0.198 0.418
    """

    hits: int
    draws: int
    lower: float
    upper: float
    anytime: bool = False

    @classmethod
    def of(cls, hits: int, draws: int, *, alpha: float, anytime: bool = False) -> Tally:
        """Bounds from counts; those of two sides hold together with probability `1 - alpha`."""
        if anytime:
            lower, upper = proportion_anytime(hits, draws, alpha / 2)
        else:  # four bounds, two on each side
            lower = proportion_lower(hits, draws, alpha / 4)
            upper = proportion_upper(hits, draws, alpha / 4)
        return cls(hits=hits, draws=draws, lower=lower, upper=upper, anytime=anytime)

    @property
    def rate(self) -> float:
        """The share of the draws; NaN if there were none."""
        return self.hits / self.draws if self.draws else math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputHistogram:
    """How often outputs of both sides fell where, at one place of the output.

    `edges` divide the numbers into bins; the first and the last reach to infinity. `values` are the
    texts of what was counted one by one: numbers, words, "other". The counts are those of the bins,
    then those of the values; `data_hits` and `neighbour_hits` count the outputs in the event.

    >>> histogram = OutputHistogram(
    ...     place="output",
    ...     edges=(),
    ...     values=("'yes'", "'no'"),
    ...     data=(70, 30),
    ...     neighbour=(20, 80),
    ...     data_hits=(70, 0),
    ...     neighbour_hits=(20, 0),
    ... )
    >>> histogram.bins, sum(histogram.data)
    (0, 100)
    """

    place: str
    edges: tuple[float, ...]
    values: tuple[str, ...]
    data: tuple[int, ...]
    neighbour: tuple[int, ...]
    data_hits: tuple[int, ...]
    neighbour_hits: tuple[int, ...]

    @property
    def bins(self) -> int:
        """How many of the counts are of bins; the others are of values."""
        return max(len(self.edges) - 1, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterexample:
    """Two neighbouring datasets and an event that is too likely on one of them.

    The bounds were certified on fresh draws and hold together with probability at least
    `1 - alpha`. `seed` (entropy, then spawn key) makes the same draws again, unless a limit of
    seconds sized the calls. `epsilon_lower` is what this event alone shows at `delta`; all draws of
    the audit together may show more. `rule` is the event as a test of outputs,
    `rule.holds(outputs)`, and `outputs` are histograms of the fresh draws for a figure; files of an
    older dpaudit have neither.
    """

    pair: Pair
    event: str
    likelier: Literal["data", "neighbour"]
    data: Tally
    neighbour: Tally
    delta: float
    epsilon_lower: float
    alpha: float
    seed: tuple[int, ...]
    rule: Rule | None = None
    outputs: tuple[OutputHistogram, ...] = ()

    @property
    def likely(self) -> Tally:
        """The tally on the side where the event is likelier."""
        return self.data if self.likelier == "data" else self.neighbour

    @property
    def unlikely(self) -> Tally:
        """The tally on the other side."""
        return self.neighbour if self.likelier == "data" else self.data

    def breaks(self, claim: Claim) -> bool:
        """Whether this event alone shows that a claim does not hold."""
        return refutes(claim, self.likely.lower, self.unlikely.upper)

    def strength_lower(self, claim: Scalable) -> float:
        """What this event alone shows of the parameter of a claim: epsilon, mu or rho."""
        return strength_of_event(claim, self.likely.lower, self.unlikely.upper)

    def delta_lower(self, epsilon: float) -> float:
        """The delta that this event shows at `epsilon`: `P(event) - e^epsilon Q(event)` at least.

        The four bounds hold together, for the event and its complement, and so do all differences.
        """
        data, neighbour = self.data, self.neighbour
        times = math.exp(min(epsilon, _MAX_EXPONENT))
        return max(
            0.0,
            data.lower - times * neighbour.upper,
            neighbour.lower - times * data.upper,
            (1.0 - data.upper) - times * (1.0 - neighbour.lower),
            (1.0 - neighbour.upper) - times * (1.0 - data.lower),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The wealth of the bets against the claim, as natural logarithms.

    `trace` lists (samples so far, log-wealth). Under the claim the wealth is a supermartingale that
    starts at 1, so its last value is an e-value, and by Ville's inequality (1939) the inverse of
    its largest value is a p-value, whenever the audit stopped.

    `peak` is the largest log-wealth that the claim and every level below it all reached, also
    between two points of the trace. The claim is refuted together with all levels below it or not
    at all, so it was refuted if and only if `peak >= log(1/alpha)`. A level below the claim has at
    least 0.6 of the claim's wealth (`betting/account.py`), so `peak` is at least
    `log_wealth - log(1/0.6)`.

    >>> evidence = Evidence(trace=((100, 1.2), (200, 2.0)), log_wealth=2.0, peak=3.0)
    >>> print(round(evidence.e_value, 3), round(evidence.p_value, 3))
    7.389 0.05
    """

    trace: tuple[tuple[int, float], ...]
    log_wealth: float
    peak: float

    @property
    def is_leaning(self) -> bool:
        """Whether the evidence points against the claim.

        Under the claim this happens with probability at most a tenth.
        """
        return self.log_wealth >= LEANING

    @property
    def e_value(self) -> float:
        """The wealth now; infinite where a float cannot hold it."""
        try:
            return math.exp(self.log_wealth)
        except OverflowError:
            return math.inf

    @property
    def p_value(self) -> float:
        """`min(1, 1 / largest wealth)`: valid at any time."""
        return math.exp(-max(self.peak, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class PairRecord:
    """One line of the search: a pair, its draws, the nats it earned, and its growth per draw."""

    pair: Pair
    samples: int
    log_wealth: float
    growth: float


def most_draws(records: Iterable[PairRecord | None]) -> int:
    """The most draws that any of these pairs got."""
    return max((record.samples for record in records if record is not None), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a running audit stands: `samples` draws of `budget`, `seconds` of `limit`, if any."""

    pairs: int
    samples: int
    budget: int | None
    seconds: float
    limit: float | None = None
    lower_bound: float | None
    log_wealth: float
    alpha: float
    pair: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Audit(Result):
    """What an audit found, what it searched and what it cost. `print(audit)` says it in words.

    `lower_bound` is certified in the claim's own parameter (epsilon, mu or rho; None for a
    `Profile`, which has none), `delta_lower` in delta. `counterexample` is None unless the claim
    was refuted; `simplest` is a simpler one that still breaks the claim, if one was found (its own
    bounds hold with probability `1 - alpha`). `strongest` is the pair that showed most.
    `detectable` estimates the least strength that the draws spent on it would have refuted,
    `forecast` how many more draws would decide an undecided audit. The same call with
    `rng=rng_seed` gives the same audit. `target` is the text that imports the mechanism again
    (`pkg.module:function`; None where there is none), `software` lists the versions it ran on.
    `outputs` are histograms of what the strongest pair gave, if no counterexample has any. `floats`
    is "bits" where the rounding of floats was looked at too, otherwise "real". `training` is there
    if a training was audited by canaries (`dpaudit.training`): what was seen, and under which
    assumption each bound holds. `provenance` says when the audit ran, on which code and machine;
    None in files of an older dpaudit. Audits that differ in nothing else are equal. `method` says
    where the tester comes from, what it assumes and what it guarantees; None for a replay or a
    training, and in files of an older dpaudit.
    """

    mechanism: str
    claim: Claim
    verdict: Verdict
    lower_bound: float | None
    counterexample: Counterexample | None
    simplest: Counterexample | None = None
    tester: str = "BettingTester"
    method: Method | None = None
    evidence: Evidence
    samples: int
    seconds: float
    alpha: float
    rng_seed: tuple[int, ...] | int
    pairs_tried: int
    neighbours: str
    strongest: PairRecord | None
    detectable: float | None
    forecast: int | None
    history: tuple[PairRecord, ...]
    warnings: tuple[str, ...]
    interrupted: bool
    version: str
    target: str | None = None
    software: tuple[tuple[str, str], ...] = ()
    outputs: tuple[OutputHistogram, ...] = ()
    floats: FloatView = "real"
    training: TrainingEvidence | None = None
    provenance: Provenance | None = field(default=None, compare=False)

    @property
    def refuted(self) -> bool:
        """Whether the claim was refuted. False does not mean that it holds."""
        return self.verdict is Verdict.REFUTED

    @property
    def suspected(self) -> bool:
        """Whether a tester without a finite-sample guarantee accused the claim, and no more."""
        return self.verdict is Verdict.SUSPECTED

    @property
    def is_replay(self) -> bool:
        """Whether it only counted a known counterexample again."""
        return self.tester == REPLAY

    @property
    def most_draws(self) -> int:
        """The most draws that any pair got."""
        return most_draws((*self.history, self.strongest))

    @property
    def symbol(self) -> str | None:
        """What `lower_bound` bounds: "epsilon", "mu" or "rho"; None for a claim without one."""
        return self.claim.symbol if isinstance(self.claim, Scalable) else None

    @property
    def epsilon_lower(self) -> float | None:
        """The certified lower bound on epsilon, at the claim's delta (or Rényi order).

        None for claims in another parameter (mu, rho) and for a `Profile`: see `lower_bound`.
        """
        return self.lower_bound if self.symbol == "epsilon" else None

    @property
    def delta_lower(self) -> float | None:
        """The certified lower bound on delta, at the claim's epsilon; 0 if nothing was certified.

        It holds together with `epsilon_lower`. None for claims without an epsilon and a delta.
        """
        from dpaudit.results.verdicts import delta_of

        return delta_of(self)

    def __str__(self) -> str:
        return render(self)

    def __repr__(self) -> str:
        return f"<Audit {headline(self)}>"

    def to_json(self) -> dict[str, object]:
        """The audit as plain JSON values.

        Only "seconds" and "provenance" differ between equal audits.
        """
        from dpaudit.results.saving import audit_to_json

        return audit_to_json(self)

    @property
    def plot(self) -> Plots:
        """The figures of the audit: `audit.plot.curve()`, `.outputs()`, `.evidence()`, ..."""
        return Plots(self)

    def _repr_html_(self) -> str:
        return notebook_cell(self)
