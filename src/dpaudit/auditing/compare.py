"""`dpaudit.compare_samples`: the audit of outputs that were drawn before."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Set
from typing import Any

import numpy as np

from dpaudit.auditing.betting_loop import BettingLoop
from dpaudit.auditing.budget import MAX_CERTIFYING_DRAWS, Budget, one_in_twenty
from dpaudit.auditing.certify import CHOOSING_SHARE, SeenOutputs, certify, seen_of, seen_outputs
from dpaudit.auditing.ledger import Ledger
from dpaudit.auditing.run import (
    Findings,
    Run,
    Stream,
    check_arguments,
    check_floats,
    concluded,
    entropy_of,
)
from dpaudit.claims import Claim
from dpaudit.errors import InvalidSamples
from dpaudit.neighbours import NO_DATASETS
from dpaudit.outputs import (
    CellReader,
    CountedOutputs,
    Encoder,
    FloatView,
    Outputs,
    checked,
    common_dtype,
)
from dpaudit.results import Audit, Counterexample
from dpaudit.search import as_finder
from dpaudit.testers import BatchTester, BettingTester, Trials, TwoSidedTest

OUTPUTS, NEIGHBOUR_OUTPUTS = NO_DATASETS.data, NO_DATASETS.neighbour
_DESCRIPTION = "two samples in hand"


def compare_samples(
    outputs: Any,
    neighbour_outputs: Any,
    claim: Claim,
    *,
    tester: BettingTester | BatchTester | None = None,
    alpha: float = 1e-6,
    rng: np.random.Generator | int | None = None,
    floats: FloatView = "real",
    name: str = "the sampled mechanism",
) -> Audit:
    """Audit outputs of a mechanism on two neighbouring datasets when only the outputs are there.

    `outputs` and `neighbour_outputs` are arrays or lists with one independent output per entry:
    numbers, vectors, words, None, dicts. An `(n, 1)` array is the same as an `(n,)` array; other
    differences of form are evidence. If the mechanism keeps its claim, it is refuted with
    probability at most `alpha`. The same `rng` gives the same audit.

    Scores of the canaries of one training are not independent: `dpaudit.training` is for them.

    By default the outputs are shuffled and bet on, with a fair coin for the side, until the claim
    is refuted or one side is used up; one in twenty is reserved to certify an event. If the sizes
    differ, as much of the larger sample is used as of the smaller. A batch tester, such as
    `dpaudit.testers.HistogramTester()`, gets all outputs at once, for both directions; its event is
    chosen on one half of them and counted on the other. `floats="bits"` also looks at how floats
    are rounded; a file of decimals must then hold all of their digits (17).

    >>> import numpy as np, dpaudit
    >>> noise = np.random.default_rng(0).laplace(size=(2, 2000))
    >>> found = dpaudit.compare_samples(noise[0] + 3.0, noise[1], dpaudit.PureDP(1.0), rng=7)
    >>> print(found.verdict.value, found.counterexample.likelier)
    refuted data
    """
    check_arguments(claim, alpha, tester)
    check_floats(floats, tester)
    if isinstance(tester, Trials):
        raise TypeError(
            "two samples are compared in one trial: give the tester itself, "
            f"{tester.tester!r}, not {tester!r}."
        )
    first, second = in_hand(outputs, neighbour_outputs)
    entropy, bets = entropy_of(rng), isinstance(tester, BettingTester | None)
    seed = np.random.SeedSequence(entropy, spawn_key=(int(Stream.SHUFFLE),))
    samples = SamplesInHand(first, second, np.random.default_rng(seed), name=name)
    run = Run(
        mechanism=samples,
        claim=claim,
        alpha=float(alpha),
        budget=_BudgetInHand(samples) if bets else Budget(samples.left, None),
        entropy=entropy,
        floats=floats,
    )
    if isinstance(tester, BettingTester | None):
        sharpen = tester is not None and tester.after_refuting == "sharpen"
        return concluded(_BetsInHand(run, samples, sharpen=sharpen), _DESCRIPTION)
    return concluded(_TrialInHand(run, samples, tester, (first, second)), _DESCRIPTION)


class SamplesInHand:
    """Both samples, each shuffled once; no output is given out twice.

    >>> samples = SamplesInHand([1.0, 2.0, 3.0], [4.0, 5.0], np.random.default_rng(0))
    >>> len(samples.take(OUTPUTS, 2)), samples.left, samples.left_of_fewer
    (2, 3, 1)
    """

    target = None
    errors = None

    def __init__(
        self,
        outputs: Outputs,
        neighbour_outputs: Outputs,
        rng: np.random.Generator,
        *,
        name: str = "the sampled mechanism",
    ) -> None:
        self.name = name
        self._rng = rng
        self._shuffled = {
            side: _taken(sample, rng.permutation(len(sample)))
            for side, sample in ((OUTPUTS, outputs), (NEIGHBOUR_OUTPUTS, neighbour_outputs))
        }
        self._given = dict.fromkeys(self._shuffled, 0)

    def left_of(self, side: str) -> int:
        """How many outputs of a side are left."""
        return len(self._shuffled[side]) - self._given[side]

    @property
    def left(self) -> int:
        """How many outputs are left, both sides together."""
        return sum(map(self.left_of, self._given))

    @property
    def left_of_fewer(self) -> int:
        """How many are left of the side that has fewer."""
        return min(map(self.left_of, self._given))

    def take(self, side: str, size: int) -> Outputs:
        """The next outputs of a side."""
        if size > self.left_of(side):
            raise ValueError(f"{size} {side} are wanted, but only {self.left_of(side)} are left.")
        start = self._given[side]
        self._given[side] += size
        return self._shuffled[side][start : start + size]

    def draw(self, data: Any, size: int, rng: np.random.Generator) -> Outputs:
        """The next outputs of a side, as if they were drawn; they are random already."""
        return self.take(data, size)

    def count(
        self, data: Any, size: int, rng: np.random.Generator, reader: CellReader
    ) -> CountedOutputs | Outputs:
        """The same, counted."""
        return reader(self.take(data, size))

    def half(self) -> SeenOutputs:
        """Half of the outputs that are left of each side, to choose an event on."""
        data, neighbour = (self.take(side, self.left_of(side) // 2) for side in self._given)
        return seen_outputs(NO_DATASETS, (data, neighbour), self._rng, encoder=Encoder())

    def certify_rest(
        self, seen: SeenOutputs, claim: Claim, *, alpha: float
    ) -> Counterexample | None:
        """Certify an event on all outputs that are left; None if a side has none."""
        draws = self.left_of_fewer
        if draws < 1:
            return None
        rest = [
            (number, self.take(side, self.left_of(side))) for number, side in enumerate(self._given)
        ]
        return certify(seen, claim, rest, draws=draws, alpha=alpha)


class _BudgetInHand(Budget):
    """What is left of two samples, as a budget: fewer than one side has, whatever the coin says.

    So whether a batch is played is settled before its labels are tossed, and the bets stay fair.
    """

    def __init__(self, samples: SamplesInHand) -> None:
        super().__init__(2 * samples.left_of_fewer, None)
        self.reserve = one_in_twenty(self.samples)  # there are no calls that could be too few
        self._in_hand = samples

    def allows(self, wanted: int, *, key: Hashable = None) -> int:
        """How many of the wanted draws any labels would allow, less the reserve."""
        return max(min(wanted, self._in_hand.left_of_fewer - self.reserve // 2), 0)


class _BetsInHand(BettingLoop):
    """Bets on two samples; what was not bet on certifies the event."""

    def __init__(self, run: Run, samples: SamplesInHand, *, sharpen: bool) -> None:
        finder = as_finder([NO_DATASETS], "auto", np.random.default_rng(0))
        super().__init__(run, finder, sharpen=sharpen)
        self._samples = samples

    def certify(self) -> Counterexample | None:
        """Choose the event with the help of some of the rest, and certify it on the others."""
        run, samples, candidate = self.run, self._samples, self.scheduler.strongest
        if candidate is None:
            return None
        most = int(CHOOSING_SHARE * MAX_CERTIFYING_DRAWS)
        if more := min(int(2 * CHOOSING_SHARE * samples.left_of_fewer), most):
            seed = run.seed(Stream.CHOOSE, 0)
            batch = run.draw_labelled(candidate.pair, candidate.number, more, seed)
            candidate.bettor.learn(run.read(candidate.number, batch), batch.labels)
        run.budget.spent += samples.left
        return samples.certify_rest(seen_of(run, candidate), run.claim, alpha=run.alpha)


class _TrialInHand:
    """One trial of a batch tester on two samples, with all of alpha."""

    def __init__(
        self,
        run: Run,
        samples: SamplesInHand,
        tester: BatchTester,
        outputs: tuple[Outputs, Outputs],
    ) -> None:
        self.run = run
        self._samples = samples
        self._outputs = outputs
        self._test = TwoSidedTest(tester, run.claim)
        self._test.refuse_if_powerless(*map(len, outputs), alpha=run.alpha)
        name, method = type(tester).__name__, self._test.method
        self._ledger = Ledger(run.claim, run.alpha, tester=name, method=method)

    @property
    def refuted(self) -> bool:
        return self._ledger.refuted

    def search(self) -> None:
        run = self.run
        seeds = run.seed(Stream.TESTER, 1, 0), run.seed(Stream.TESTER, 1, 1)
        outcome = self._test.both(*self._outputs, alpha=run.alpha, seeds=seeds)
        run.budget.spent = draws = run.budget.samples
        self._ledger.enter(NO_DATASETS, outcome, share=1.0, draws=draws, samples=draws)

    def certify(self) -> Counterexample | None:
        samples, run = self._samples, self.run
        return samples.certify_rest(samples.half(), run.claim, alpha=run.alpha)

    def findings(self, found: Counterexample | None) -> Findings:
        return self._ledger.findings()


def in_hand(outputs: Any, neighbour_outputs: Any) -> tuple[Outputs, Outputs]:
    """Both samples as arrays where they hold numbers, otherwise as lists.

    What tells the sides apart stays; how a sample happens to be stored does not: a single column
    is a plain array, and whole numbers are like any other.

    >>> first, second = in_hand(np.ones((3, 1), dtype=int), [0.5, 1.0])
    >>> first.shape, first.dtype == second.dtype, in_hand(["yes", None], [0, 1])[0]
    ((3,), True, ['yes', None])
    """
    _refuse_if_converted(outputs, neighbour_outputs)
    first, second = (
        _read(outputs, OUTPUTS),
        _read(neighbour_outputs, NEIGHBOUR_OUTPUTS),
    )
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        if {first.shape[1:], second.shape[1:]} == {(), (1,)}:
            first, second = first.reshape(len(first)), second.reshape(len(second))
        # NumPy makes floats of integers where one output is NaN, and complex numbers of floats: of
        # arrays it is not known what their numbers were before, so both are read as the wider.
        stored = all(hasattr(one, "__array__") for one in (outputs, neighbour_outputs))
        dtype = np.result_type(first, second) if stored else common_dtype([first, second])
        if dtype is not None and first.shape[1:] == second.shape[1:]:
            first, second = first.astype(dtype), second.astype(dtype)
    return first, second


def _refuse_if_converted(outputs: Any, neighbour_outputs: Any) -> None:
    """Refuse a text array beside one of numbers: NumPy makes texts of numbers beside one word."""
    given = (outputs, neighbour_outputs)
    arrays = [np.asarray(one) for one in given if hasattr(one, "__array__")]
    kinds = {"number" if one.dtype.kind in "biufc" else one.dtype.kind for one in arrays} - {"O"}
    if len(kinds) > 1:
        raise InvalidSamples(
            f"{OUTPUTS} is an array of {arrays[0].dtype} and {NEIGHBOUR_OUTPUTS} one of "
            f"{arrays[1].dtype}. NumPy gives all outputs in an array one form, beside a single "
            "word even numbers become texts: pass lists, or arrays with dtype=object."
        )


def _read(outputs: Any, name: str) -> Outputs:
    size = _size(outputs)
    if size is None:
        raise InvalidSamples(
            f"{name} must be an array or a list with one output per draw, "
            f"got {type(outputs).__name__}."
        )
    if size < 2:
        raise InvalidSamples(
            f"{name} must hold at least 2 outputs, got {size}. Draw more: each one counts."
        )
    found = checked(outputs, size, name)
    if isinstance(found, list) and set(map(type, found)) <= {list, tuple}:
        return _stacked(found, name)
    return found


def _size(outputs: Any) -> int | None:
    """How many outputs there are; None if the object does not hold them one by one."""
    if isinstance(outputs, str | bytes | Mapping | Set | Iterator | type):
        return None
    try:
        return len(outputs)
    except TypeError:  # no length, or an array without an axis
        return None


def _stacked(vectors: list[Any], name: str) -> Outputs:
    """Vectors of numbers as one array, if they have one length."""
    lengths = set(map(len, vectors))
    if len(lengths) != 1 or lengths == {0}:
        return vectors
    entries = [entry for vector in vectors for entry in vector]
    flat = checked(entries, len(entries), name)
    whole = isinstance(flat, np.ndarray) and flat.ndim == 1 and flat.dtype.kind in "biuf"
    return np.reshape(flat, (len(vectors), -1)) if whole else vectors


def _taken(outputs: Outputs, index: Any) -> Outputs:
    """The outputs at some positions."""
    return outputs[index] if isinstance(outputs, np.ndarray) else [outputs[i] for i in index]
