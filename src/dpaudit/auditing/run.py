"""One run: what an audit is about, what it may spend, and how it ends.

Every way to audit (bets, trials of a batch tester, samples in hand) is a `Procedure`: it searches,
certifies what it found, and says what it found. `concluded` is the frame around all of them.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, Protocol

import numpy as np

from dpaudit._version import __version__ as VERSION  # noqa: N812 -- a constant
from dpaudit.architecture import Source
from dpaudit.auditing.budget import Budget
from dpaudit.auditing.certifying_draws import CERTIFY, Certify
from dpaudit.auditing.pace import Pace
from dpaudit.auditing.rounds import Rounds
from dpaudit.claims import Claim
from dpaudit.mechanism import (
    AuditedCode,
    Call,
    Caller,
    CallsHere,
    CountedBatch,
    LabelledOutputs,
    PendingBatch,
    Watch,
    ask_labelled,
    audited_code,
    noting,
)
from dpaudit.neighbours import Pair
from dpaudit.outputs import FLOAT_VIEWS, CellReader, Encoder, FloatView, Outputs, Table
from dpaudit.results import (
    Audit,
    Counterexample,
    Evidence,
    Method,
    OutputHistogram,
    PairRecord,
    Progress,
    Provenance,
    Verdict,
    forecast_of,
    software_in_use,
    verdict_of,
)
from dpaudit.testers import BettingTester, Trials, is_batch_tester

MAX_HISTORY = 2_000  # pairs that a result lists


class Stream(IntEnum):
    """What random numbers are for. Each stream is a child of the audit's seed."""

    TEST = 0  # the draws that are bet on, or tested
    CERTIFY = 1  # the fresh draws that certify an event
    FINDER = 2
    CHOOSE = 3  # more draws to choose the event by
    TESTER = 4  # what a batch tester tosses itself
    SHUFFLE = 5  # the order of outputs that were already drawn
    SHRINK = 6  # draws that look for a simpler pair
    CERTIFY_SIMPLEST = 7
    REPLAY = 8  # with the keys (side, draws before)
    SHRINK_SHUFFLE = 8  # with the key (look): no draw of a replay has such a seed
    PROBE = 9  # draws that show how fast the mechanism is
    LOOK = 10  # draws that show whether a pair gives anything but errors


@dataclass(slots=True, kw_only=True, eq=False)
class Run:
    """Mechanism, claim, alpha, budget, seed and float view, with what is noted on the way.

    `caller` makes the calls of the mechanism: in this process, unless it is given. `warnings`
    collects what the result will list. `encoder` makes tables of outputs, `watch` looks at every
    call.
    """

    mechanism: Source
    claim: Claim
    alpha: float
    budget: Budget
    entropy: int
    floats: FloatView = "real"
    certify: Certify = "fast"
    progress: Callable[[Progress], None] | None = None
    pace: Pace | None = None
    later_samples: tuple[int, ...] = ()  # budgets of later runs of a stored audit
    warnings: list[str] = field(default_factory=list)
    caller: Caller = None  # type: ignore[assignment]  # set below
    encoder: Encoder = field(init=False)
    watch: Watch = field(init=False)
    code: AuditedCode = field(init=False)  # as it is before the first draw

    def __post_init__(self) -> None:
        self.code = audited_code(self.mechanism)
        if self.caller is None:
            self.caller = CallsHere(self.mechanism)
        self.budget.pace = self.pace
        self.encoder = Encoder(floats=self.floats)
        self.watch = Watch(self.mechanism.name, self.encoder)

    def seed(self, stream: Stream, *key: int) -> np.random.SeedSequence:
        """A child of the audit's seed."""
        return np.random.SeedSequence(self.entropy, spawn_key=(int(stream), *key))

    def rng(self, stream: Stream, *key: int) -> np.random.Generator:
        """A generator of a child of the audit's seed."""
        return np.random.default_rng(self.seed(stream, *key))

    def draw(self, data: Any, size: int, seed: np.random.SeedSequence, *, key: Hashable) -> Outputs:
        """Draw outputs on one dataset and pay for them."""
        call = Call(data=data, size=size, seed=seed)
        with self.budget.spending(size, key=key):
            return self.caller.ask(call).outputs()

    def ask_labelled(
        self,
        pair: Pair,
        size: int,
        seed: np.random.SeedSequence,
        *,
        reader: CellReader | None = None,
    ) -> PendingBatch:
        """Ask for labelled outputs of a pair, which are paid for when they are received."""
        name = self.mechanism.name
        return ask_labelled(self.caller, pair, size, seed, name=name, reader=reader)

    def receive(self, number: int, *asked: PendingBatch) -> list[LabelledOutputs]:
        """Receive labelled outputs of a pair, pay for them, and note what looks like a mistake."""
        size = sum(one.size for one in asked)
        with noting(self.warnings), self.budget.spending(size, key=number):
            received = [one.outputs() for one in asked]
        self.warn_if_slow()
        return received

    def warn_if_slow(self) -> None:
        """Warn, once, if the rest will take long and nobody has set a limit."""
        if self.pace is not None:
            self.pace.warn(self.budget.left, self.budget.samples)

    def receive_counted(
        self, number: int, reader: CellReader, *asked: PendingBatch
    ) -> list[CountedBatch]:
        """The same, counted."""
        size = sum(one.size for one in asked)
        with noting(self.warnings), self.budget.spending(size, key=number):
            received = [one.counted(reader) for one in asked]
        self.warn_if_slow()
        return received

    def draw_labelled(
        self, pair: Pair, number: int, size: int, seed: np.random.SeedSequence
    ) -> LabelledOutputs:
        """Ask for labelled outputs and receive them."""
        return self.receive(number, self.ask_labelled(pair, size, seed))[0]

    def read(self, number: int, batch: LabelledOutputs) -> Table:
        """The table of a whole batch, which is watched for draws that depend on each other."""
        with noting(self.warnings):
            table = self.encoder.encode(batch.outputs)
            self.watch.see_batch(number, batch, table)
        return table

    def rounds(self, pair: Pair, draws: int, stream: Stream, *key: int, **more: Any) -> Rounds:
        """Fresh draws of both sides of a pair, in rounds."""
        seed = (self.entropy, int(stream), *key)
        return Rounds(
            caller=self.caller, pair=pair, draws=draws, budget=self.budget, seed=seed, **more
        )

    def tell(self, pair: Pair, *, pairs: int, lower_bound: float | None, log_wealth: float) -> None:
        """Tell of the progress, if somebody wants to know."""
        if self.progress is None:
            return
        self.progress(
            Progress(
                pairs=pairs,
                samples=self.budget.spent,
                budget=self.budget.samples,
                seconds=self.budget.elapsed,
                limit=self.budget.seconds,
                lower_bound=lower_bound,
                log_wealth=log_wealth,
                alpha=self.alpha,
                pair=str(pair),
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a procedure found; the fields are those of `Audit`.

    `suspected` says that a tester accused the claim which cannot refute it.
    """

    evidence: Evidence
    history: tuple[PairRecord, ...]
    strongest: PairRecord | None
    pairs_tried: int
    lower_bound: float | None
    tester: str = "BettingTester"
    method: Method | None = BettingTester.method
    suspected: bool = False
    detectable: float | None = None
    outputs: tuple[OutputHistogram, ...] = ()


class Procedure(Protocol):
    """A way to audit a claim."""

    @property
    def run(self) -> Run: ...

    @property
    def refuted(self) -> bool: ...

    def search(self) -> None:
        """Search until the claim is refuted or the budget is used up."""

    def certify(self) -> Counterexample | None:
        """After a refutation: an event in words, certified on fresh draws, if there is one."""

    def findings(self, found: Counterexample | None) -> Findings:
        """All that was found, given the counterexample."""


def concluded(
    procedure: Procedure,
    neighbours: str,
    simplest: Callable[[Counterexample], Counterexample | None] = lambda found: None,
) -> Audit:
    """Search, certify, simplify, and give the result. Ctrl-C ends it early and loses nothing."""
    interrupted, found, simpler = False, None, None
    try:
        procedure.search()
        if procedure.refuted:
            found = procedure.certify()
        if found is not None:
            simpler = simplest(found)
    except KeyboardInterrupt:
        interrupted = True
    made = result(
        procedure.run, procedure.findings(found), neighbours, found, interrupted=interrupted
    )
    return replace(made, simplest=simpler)


def result(
    run: Run,
    findings: Findings,
    neighbours: str,
    found: Counterexample | None,
    *,
    interrupted: bool = False,
) -> Audit:
    """What was found, as the result of an audit."""
    records = (*findings.history, findings.strongest)
    verdict = verdict_of(run.claim, run.alpha, findings.evidence, records)
    seconds = run.budget.elapsed
    made = Audit(
        mechanism=run.mechanism.name,
        claim=run.claim,
        verdict=Verdict.SUSPECTED if findings.suspected else verdict,
        lower_bound=findings.lower_bound,
        counterexample=found,
        tester=findings.tester,
        method=findings.method,
        evidence=findings.evidence,
        samples=run.budget.spent,
        seconds=seconds,
        alpha=run.alpha,
        rng_seed=run.entropy,
        pairs_tried=findings.pairs_tried,
        neighbours=neighbours,
        strongest=findings.strongest,
        detectable=findings.detectable,
        forecast=None,
        history=findings.history,
        warnings=tuple(run.warnings),
        interrupted=interrupted,
        version=VERSION,
        outputs=findings.outputs,
        target=run.mechanism.target,
        software=software_in_use(),
        floats=run.floats,
        provenance=Provenance.now(run.code, seconds=seconds),
    )
    return replace(made, forecast=forecast_of(made))


# What a user may pass, checked before anything is drawn.


def entropy_of(rng: np.random.Generator | int | None) -> int:
    """One whole number from which the audit can be repeated."""
    if rng is None:
        fresh = np.random.SeedSequence().entropy
        assert isinstance(fresh, int)
        return fresh
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    if not (_is_whole(rng) and rng >= 0):
        raise ValueError(f"rng must be a Generator, a whole number >= 0 or None, got {rng!r}.")
    return int(rng)


def check_arguments(claim: Any, alpha: Any, tester: Any = None) -> None:
    """Refuse anything but a claim, an alpha and a tester."""
    if isinstance(claim, type) and isinstance(claim, Claim):
        raise TypeError(
            f"claim is the class {claim.__name__} itself. Give it its numbers: dpaudit."
            f"{claim.__name__}({_numbers_of(claim)})."
        )
    if not isinstance(claim, Claim):
        raise TypeError(f"claim must be a claim such as dpaudit.PureDP(1.0), got {claim!r}.")
    check_alpha(alpha)
    if not isinstance(tester, BettingTester | Trials | None) and not is_batch_tester(tester):
        raise TypeError(
            f"tester must be a BettingTester, got {tester!r}. Or give one that tests a batch at a "
            "time: dpaudit.testers.HistogramTester(), or any object with lower_bound and threshold."
        )


def _numbers_of(kind: type) -> str:
    """The parameters of a claim's class, each to be given."""
    return ", ".join(f"{name}=..." for name in inspect.signature(kind).parameters)


def check_alpha(alpha: Any) -> None:
    """Refuse anything but a probability between 0 and 1."""
    if not (_is_real(alpha) and 0.0 < alpha < 1.0):
        raise ValueError(f"alpha must be between 0 and 1, got {alpha!r}. Try 1e-6.")


def check_floats(floats: Any, tester: Any = None) -> None:
    """Refuse an unknown view of floats, or one that this tester does not have."""
    if floats not in FLOAT_VIEWS:
        raise ValueError(
            f'floats must be "real" or "bits", got {floats!r}. "bits" also looks at how floats '
            'are rounded; with "real" a float is a real number.'
        )
    if floats != "real" and not isinstance(tester, BettingTester | None):
        raise ValueError(
            f"floats={floats!r} needs the tester that bets, got {tester!r}. Leave out one of them."
        )


def check_certify(certify: Any) -> None:
    """Refuse an unknown way to certify."""
    if certify not in CERTIFY:
        raise ValueError(
            f'certify must be "fast" or "sharp", got {certify!r}. "fast" spends on a certificate '
            'what its event is worth, "sharp" 80 000 draws or more.'
        )


def check_budget(samples: Any, seconds: Any = None) -> None:
    """Refuse anything but a number of draws and a number of seconds."""
    if samples is not None and not (_is_whole(samples) and samples >= 1):
        raise ValueError(f"samples must be a whole number >= 1, got {samples!r}.")
    if seconds is not None and not (_is_real(seconds) and 0.0 < seconds < math.inf):
        raise ValueError(f"seconds must be positive, got {seconds!r}. Leave it out for no limit.")


def _is_whole(number: Any) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)


def _is_real(number: Any) -> bool:
    return isinstance(number, float | np.floating) or _is_whole(number)
