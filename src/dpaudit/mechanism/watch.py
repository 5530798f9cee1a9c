"""What every call of a mechanism is checked for: do its draws differ, and are they independent?

Every bound and every bet takes the draws of a call for independent. A mechanism that repeats its
noise, adds the same noise to a whole call or counts its calls would be accused although each of its
outputs alone keeps the claim. Two checks look for it (docs/mathematics.md, section 9):

- Two neighbouring draws of a call, and a third from another call on the same dataset. If they are
  independent, the second is closer to the first than the third is in half of the cases (ties left
  out), whatever the outputs are. Each draw is in one such comparison at most.
- An event, counted call by call: its hits must not come in clusters.

Both are e-values. Independent draws are stopped with probability at most `FALSE_ALARM` by each of
them, over a whole audit: the n-th look has the share `1 / (n (n + 1))`.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

import numpy as np

from dpaudit.arrays import Counts, Floats, Labels
from dpaudit.bounds import coin_evidence, dispersion_evidence
from dpaudit.errors import DependentDraws, HealthWarning
from dpaudit.mechanism.labelling import LabelledOutputs
from dpaudit.outputs import MISSING, Encoder, Outputs, Raised, Table, rows, without_addresses

FALSE_ALARM = 1e-9
SIDE_NAMES = ("data", "neighbour")  # the second part of the key of a dataset
_MAX_BATCH_DRAWS = 2_048  # looked at in a batch; in a single call a quarter of them
_MAX_DATASETS = 64  # remembered: memory does not grow with the pairs
_MIN_EQUAL_DRAWS = 64  # before a mechanism is called constant
_MAX_FROZEN_DRAWS = 1_024  # of a call, compared with the next call's
_MIN_FROZEN_NATS = 41.0  # exp(-41) < 2e-18: equal by chance is excluded
_SEARCHED_EVENTS = 1e4  # about how many a search chooses from: the price of using earlier calls
_MAX_COMPARISONS = 256  # of two calls
_MAX_KEPT_CALLS, _MAX_KEPT_DRAWS = 64, 64  # of a dataset, to count an event on that comes later
_LN_2 = math.log(2.0)  # nats: the most that one comparison can add
_MAX_KEPT_CELLS = 4_096  # of a table; a wide one has fewer rows

Calls: TypeAlias = Sequence[tuple[int, int]]  # hits and draws
_Value = TypeVar("_Value")


@contextmanager
def noting(notes: list[str]) -> Iterator[None]:
    """Note what health warnings say, each once, and warn of it; pass on other warnings.

    >>> notes: list[str] = []
    >>> with warnings.catch_warnings(action="ignore"):
    ...     for _ in range(2):
    ...         with noting(notes):
    ...             warnings.warn("odd", HealthWarning)
    >>> notes
    ['odd']
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HealthWarning)
        yield
    for warning in caught:
        text, kind = str(warning.message), warning.category
        if not issubclass(kind, HealthWarning):
            warnings.warn_explicit(warning.message, kind, warning.filename, warning.lineno)
        elif text not in notes:
            notes.append(text)
            warnings.warn(text, HealthWarning, stacklevel=4)


class Watch:
    """Looks at the first draws of every call: are they independent, and do they ever differ?

    `see_batch` and `see_call` raise `DependentDraws` when the draws of a call depend on each
    other, and warn of a seed that is fixed inside a mechanism. `close` warns of a mechanism that
    gave the same output at every draw.

    >>> watch = Watch("forgetful", Encoder())
    >>> watch.see_call("data", [None] * 100)
    >>> with warnings.catch_warnings(record=True, action="always") as said:
    ...     watch.close()
    >>> print(said[0].message)
    forgetful gave None at all of 100 draws: is that what is to be audited?
    """

    def __init__(self, name: str, encoder: Encoder) -> None:
        self.independence = IndependenceCheck(name, lambda: encoder.names)
        self._name = name
        self._encoder = encoder
        self._frozen = FrozenSeedCheck(name)
        self._only: tuple[Table, str] | None = None  # the first row, and the output in words
        self._varies = False
        self._draws = 0

    def see_batch(self, key: Hashable, batch: LabelledOutputs, table: Table) -> None:
        """Look at a labelled batch of the pair `key`, and at its table: a call on either side."""
        labels, outputs = batch.labels[:_MAX_BATCH_DRAWS], batch.outputs[:_MAX_BATCH_DRAWS]
        head = table.take(slice(_MAX_BATCH_DRAWS))
        for side, chosen in zip(SIDE_NAMES, (labels, ~labels), strict=True):
            if isinstance(outputs, list):
                some: Outputs = [one for one, taken in zip(outputs, chosen, strict=True) if taken]
            else:
                some = outputs[chosen]
            self._frozen.see((key, side), some)
            self.independence.see((key, side), head.take(chosen))
        self._look_for_change(outputs, head, len(batch.labels))

    def see_side(self, key: Hashable, side: int, outputs: Outputs, table: Table) -> None:
        """Look at the first outputs of a call on one side (0: data) of the pair `key`."""
        outputs, head = outputs[:_MAX_BATCH_DRAWS], table.take(slice(_MAX_BATCH_DRAWS))
        self._frozen.see((key, SIDE_NAMES[side]), outputs)
        self.independence.see((key, SIDE_NAMES[side]), head)
        self._look_for_change(outputs, head, len(outputs))

    def see_call(self, key: Hashable, outputs: Outputs) -> None:
        """Look at the outputs of one call on the dataset `key`."""
        some = outputs[: _MAX_BATCH_DRAWS // 4]
        head = self._encoder.encode(some)
        self._frozen.see(key, some)
        self.independence.see(key, head)
        self._look_for_change(some, head, len(outputs))

    def refuse_frozen(self) -> None:
        """Raise `DependentDraws` if the same outputs came at two calls: they refute nothing."""
        if self._frozen.found is not None:
            raise DependentDraws(self._frozen.found)

    def close(self) -> None:
        """Warn if every draw gave the same output."""
        if self._only is not None and not self._varies and self._draws >= _MIN_EQUAL_DRAWS:
            warnings.warn(
                f"{self._name} gave {self._only[1]} at all of {self._draws} draws: is that what is "
                "to be audited?",
                HealthWarning,
                stacklevel=2,
            )

    def _look_for_change(self, outputs: Outputs, head: Table, draws: int) -> None:
        if self._varies or len(outputs) == 0:
            return
        self._draws += draws
        if self._only is None:
            self._only = head.take([0]), without_addresses(repr(rows(outputs[:1])[0]))[:60]
        only = self._only[0]
        self._varies = (
            isinstance(outputs[0], Raised)  # there is a warning of it already
            or only.columns != head.columns
            or bool(np.any(head.numbers != only.numbers))
            or bool(np.any(head.codes() != only.codes()))
        )


@dataclass(slots=True)
class FrozenSeedCheck:
    """Notices a mechanism that gives the same outputs at every call: a seed fixed inside it.

    Its draws are then not independent, and no conclusion from them holds. `see` compares the
    first outputs of each call with those of the previous call on the same dataset. m equal draws
    agree by chance with probability `(sum p_i^2)^m` (p_i the frequencies of the values), and count
    as frozen only if that is excluded. So a constant mechanism is never accused.

    >>> check = FrozenSeedCheck("constant")
    >>> check.see("data", np.zeros(500))
    >>> check.see("data", np.zeros(500))
    """

    name: str = "the mechanism"
    found: str | None = field(default=None, init=False)  # what was said of it
    _seen: dict[Hashable, Outputs] = field(default_factory=dict, init=False, repr=False)

    def see(self, key: Hashable, outputs: Outputs) -> None:
        """Compare with the previous call on the dataset `key`, and remember this one."""
        if self.found is not None:
            return
        latest: Outputs = outputs[:_MAX_FROZEN_DRAWS].copy()
        draws = _frozen_draws(self._seen.get(key, []), latest)
        _remember(self._seen, key, latest)
        if draws > 0:
            self._seen.clear()
            self.found = (
                f"{self.name} returned the same {draws} outputs at two calls: is a seed fixed "
                f"inside it? The draws are then not independent and no bound holds. "
                f"Draw from the rng it is given: f(data, size, rng)."
            )
            warnings.warn(self.found, HealthWarning, stacklevel=2)


def _frozen_draws(previous: Outputs, latest: Outputs) -> int:
    """Count the leading draws two calls share, or 0 where they differ or may agree by chance."""
    draws = min(len(previous), len(latest))
    if (
        isinstance(previous, np.ndarray)
        and isinstance(latest, np.ndarray)
        and previous[:draws].tobytes() != latest[:draws].tobytes()
    ):
        return 0  # nearly always; row by row it would take a tenth of an audit's time
    first, second = (_comparable(outputs[:draws]) for outputs in (previous, latest))
    if first != second or draws == 0:
        return 0
    collision = sum((count / draws) ** 2 for count in Counter(first).values())
    return draws if draws * -math.log(collision) >= _MIN_FROZEN_NATS else 0


def _comparable(outputs: Outputs) -> list[object]:
    """Give each output a form that can be compared and counted (NaN equals NaN)."""
    if isinstance(outputs, np.ndarray):
        return [row.tobytes() for row in np.ascontiguousarray(outputs)]
    return [repr(output) for output in outputs]


def _remember(known: dict[Hashable, _Value], key: Hashable, value: _Value) -> None:
    """Put the latest last, and forget the oldest of too many."""
    known.pop(key, None)
    known[key] = value
    if len(known) > _MAX_DATASETS:
        del known[next(iter(known))]


@dataclass(slots=True)
class _Dataset:
    """What was seen of one dataset, call after call."""

    number: int  # in the order of their first call
    thirds: Table | None = None  # of the last call, to be compared with pairs of the next
    # Comparisons by column in which the draws of one call are closer together, or farther apart.
    counts: Counts = field(default_factory=lambda: np.zeros((2, 0), dtype=np.int64))
    calls: deque[Table] = field(default_factory=lambda: deque(maxlen=_MAX_KEPT_CALLS))


class IndependenceCheck:
    """Looks at the calls of one mechanism, dataset by dataset; may raise `DependentDraws`.

    >>> encoder, rng = Encoder(), np.random.default_rng(0)
    >>> check = IndependenceCheck("noisy_sum", lambda: encoder.names)
    >>> for _ in range(50):
    ...     check.see("data", encoder.encode(rng.normal(size=100)))
    >>> try:
    ...     for _ in range(50):
    ...         check.see("neighbour", encoder.encode(np.full(100, rng.normal())))
    ... except DependentDraws as error:
    ...     print(str(error)[:90])
    noisy_sum gives draws that depend on each other: two draws of one call are closer together
    """

    def __init__(self, name: str, names: Callable[[], Sequence[str]]) -> None:
        self._name = name
        self._names = names
        self._datasets: dict[Hashable, _Dataset] = {}
        self._met = 0
        self._counted = 0

    def see(self, key: Hashable, table: Table) -> None:
        """Look at the draws of one call on the dataset `key`."""
        if key not in self._datasets:
            self._met += 1
        dataset = self._datasets.get(key) or _Dataset(self._met)
        _remember(self._datasets, key, dataset)
        most = max(_MAX_KEPT_CELLS // max(table.columns, 1), 8)
        dataset.calls.append(table.take(np.arange(min(len(table), _MAX_KEPT_DRAWS, most))))
        whole = min(len(table) // 3, _MAX_COMPARISONS, most)
        if dataset.thirds is not None and whole > 0:
            self._compare(dataset, table, min(whole, len(dataset.thirds)))
        if whole > 0:
            dataset.thirds = table.take(np.arange(2, 3 * whole, 3))

    def count(self, event: str, *sides: Calls) -> None:
        """Look at how often an event happened in each call, `(hits, draws)`, on each dataset."""
        self._counted += 1
        self._judge(event, sides, price=0.0)

    def count_with_earlier(
        self, event: str, holds: Callable[[Table], Labels], sides: Mapping[Hashable, Calls]
    ) -> None:
        """Count the earlier calls on each `key` too, by which the event was chosen."""
        together = []
        for key, calls in sides.items():
            kept = self._datasets[key].calls if key in self._datasets else ()
            earlier = [(int(np.count_nonzero(holds(table))), len(table)) for table in kept]
            together.append([*(one for one in earlier if one[1] > 0), *calls])
        self._judge(event, together, price=math.log(_SEARCHED_EVENTS))

    def _judge(self, event: str, sides: Sequence[Calls], *, price: float) -> None:
        """Raise if the hits come in clusters; the draws of the sides are independent anyway."""
        evidence = sum(map(dispersion_evidence, sides))
        if evidence >= price + _needed(max(self._counted, 1)):
            self._refuse(f"the event '{event}' comes in clusters: {'; '.join(map(_spread, sides))}")

    def _compare(self, dataset: _Dataset, table: Table, count: int) -> None:
        assert dataset.thirds is not None
        columns = min(dataset.thirds.columns, table.columns)
        first, second = (table.take(slice(start, 3 * count, 3)) for start in (0, 1))
        third = dataset.thirds.take(slice(count)).narrow(columns)
        near = _distances(first.narrow(columns), second.narrow(columns))
        far = _distances(first.narrow(columns), third)
        missing = table.columns - dataset.counts.shape[1]
        if missing > 0:
            dataset.counts = np.pad(dataset.counts, ((0, 0), (0, missing)))
        dataset.counts[:, :columns] += np.count_nonzero([near < far, near > far], axis=1)
        closer, farther = dataset.counts
        if _LN_2 * float(dataset.counts.max()) < _needed(dataset.number):
            return  # too few comparisons, whatever they say
        place = np.arange(1.0, table.columns + 1.0)
        evidence = coin_evidence(closer, farther) - np.log(place * (place + 1.0))
        worst = int(np.argmax(evidence))
        if evidence[worst] >= _needed(dataset.number):
            often, how = max((closer[worst], "closer together"), (farther[worst], "farther apart"))
            self._refuse(
                f"two draws of one call are {how} than draws of two calls in {often} of "
                f"{closer[worst] + farther[worst]} comparisons of {self._names()[worst]}; of "
                "independent draws it would be half"
            )

    def _refuse(self, seen: str) -> None:
        raise DependentDraws(
            f"{self._name} gives draws that depend on each other: {seen}. A verdict needs "
            "independent draws. Draw noise of shape size, so that each output has its own, or give "
            "one output a call: dpaudit.one_at_a_time. If it does that already, it keeps something "
            "from one call to the next."
        )


def _spread(calls: Calls) -> str:
    """Say how unevenly hits are spread over the calls of one dataset."""
    rates = sorted(hits / draws for hits, draws in calls)
    hits, draws = (sum(numbers) for numbers in zip(*calls, strict=True))
    return (
        f"in {100 * rates[0]:.3g} to {100 * rates[-1]:.3g} % of the draws of a call, over "
        f"{len(calls)} calls with {hits} in {draws} draws"
    )


def _needed(number: int) -> float:
    """The evidence that stops an audit at the n-th of several looks: the shares add up to 1."""
    return math.log(number * (number + 1.0)) - math.log(FALSE_ALARM)


def _distances(table: Table, other: Table) -> Floats:
    """How far two outputs are apart, row by row and column by column: infinitely if not alike."""
    apart = np.abs(table.numbers - other.numbers)
    if table.atoms is None and other.atoms is None:
        return apart
    codes, others = table.codes(), other.codes()
    return np.where(codes != others, np.inf, np.where(codes >= MISSING, 0.0, apart))
