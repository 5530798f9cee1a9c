"""From a refuting pair to the simplest one that still refutes, certified on fresh draws.

A candidate is kept if an event, chosen on some of its draws, breaks the claim on others. That only
steers the search: what is shown in the end is certified anew, on draws that had no say in anything.
Every step makes a pair strictly simpler to read (fewer records, fewer that differ, equal records,
rounder values), so shrinking ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpaudit.auditing.budget import FITTING_SECONDS, Budget
from dpaudit.auditing.certify import SeenOutputs, certify, certify_on_draws, seen_outputs
from dpaudit.auditing.certifying_draws import CHOOSING_SHARE, MIN_CERTIFYING_DRAWS, FreshDraws
from dpaudit.auditing.run import (
    Run,
    Stream,
    check_arguments,
    check_budget,
    check_floats,
    entropy_of,
)
from dpaudit.claims import Claim, refutes
from dpaudit.domains import canonical, explorable, shown
from dpaudit.events import plainest_event
from dpaudit.mechanism import Mechanism, OnError, with_errors
from dpaudit.neighbours import ABSENT, Pair, Slot, Structured, fitted, is_shared
from dpaudit.outputs import Encoder, FloatView, Outputs
from dpaudit.results import Counterexample

Slots = tuple[Slot, ...]
Cost = tuple[int, int, int, float]

_LOOK_DRAWS = (300, 1_500, 7_500)  # of each side; more only where fewer leave it open
_LOOK_ALPHA = 1e-3  # decides whether a candidate is kept, not whether it is shown
_MIN_DRAWS = 8_000  # fewer are not worth beginning with
_MAX_DRAWS, _MAX_CERTIFYING_DRAWS = 120_000, 40_000
_SEARCH_SHARE = 0.85  # of the seconds; the rest is for the certificate


def shrink(
    mechanism: Callable[..., object] | Mechanism,
    claim: Claim,
    pair: Pair | tuple[Any, Any],
    neighbours: Structured,
    *,
    alpha: float = 1e-6,
    samples: int | None = None,
    seconds: float | None = None,
    rng: np.random.Generator | int | None = None,
    floats: FloatView = "real",
    on_error: OnError = "output",
) -> Counterexample | None:
    """The simplest pair found that still breaks a claim, with an event certified on fresh draws.

    The search starts from a pair that breaks the claim and tries fewer records, equal records,
    zeros, edges and round numbers, as long as an event still breaks the claim. The result is None
    if no event does in the end, not even on the given pair. The bounds of the event hold with
    probability at least `1 - alpha`. `floats`, `on_error` and `rng` are those of `dpaudit.audit`.

    >>> import numpy as np, dpaudit
    >>> def clipped_sum(data, size, rng):
    ...     return np.clip(data, -1, 1).sum() + rng.laplace(size=size)
    >>> found = dpaudit.shrink(
    ...     clipped_sum,
    ...     dpaudit.PureDP(1.0),
    ...     ([0.3, 0.93, -0.2], [0.3, -0.88, -0.2]),
    ...     dpaudit.replace_one(dpaudit.floats(-1, 1)),
    ...     rng=7,
    ... )
    >>> print(found.pair)
    data=[1.0], neighbour=[-1.0]
    """
    check_arguments(claim, alpha)
    check_budget(samples, seconds)
    check_floats(floats)
    start = pair if isinstance(pair, Pair) else Pair(*pair)
    if not isinstance(neighbours, Structured):
        raise TypeError(
            f"shrink needs a relation such as replace_one(floats(0, 1)), got {shown(neighbours)}."
        )
    found = fitted(neighbours, start, what="the pair to shrink")
    run = Run(
        mechanism=with_errors(mechanism, on_error),
        claim=claim,
        alpha=float(alpha),
        budget=Budget(_MAX_DRAWS if samples is None else int(samples), seconds),
        entropy=entropy_of(rng),
        floats=floats,
    )
    shrinker = Shrinker(run, neighbours)
    return shrinker.certify(shrinker.simplest(found))


def simplest(run: Run, found: Counterexample, neighbours: Any) -> Counterexample | None:
    """A simpler counterexample than the one found; None if there is none, or no budget for it."""
    if not isinstance(neighbours, Structured):
        return None
    shrinker = Shrinker(run, neighbours)
    pair = shrinker.simplest(found.pair)
    return None if pair is found.pair else shrinker.certify(pair)


class Shrinker:
    """Makes a refuting pair simpler, with what is left of a budget."""

    def __init__(self, run: Run, relation: Structured) -> None:
        self._run = run
        self._relation = relation
        left = max(run.budget.affordable(), 0)
        self._certifying = min(left // 3, _MAX_CERTIFYING_DRAWS)
        self._end = run.budget.spent + min(left, _MAX_DRAWS) - self._certifying
        self._is_worth_it = left >= _MIN_DRAWS
        self._looks = 0

    def simplest(self, pair: Pair) -> Pair:
        """Take the first simpler pair that still refutes, and again, until none does."""
        if not self._is_worth_it:
            return pair
        budget, rejected = self._run.budget, set[str]()
        while True:
            for candidate in simpler_pairs(self._relation, pair):
                key = candidate.key()
                if key in rejected:
                    continue
                if budget.spent >= self._end or budget.timely(1, key=key, by=_SEARCH_SHARE) == 0:
                    return pair
                if self._refutes(candidate):
                    pair = candidate
                    break
                rejected.add(key)
            else:
                return pair

    def certify(self, pair: Pair) -> Counterexample | None:
        """An event that breaks the claim on a pair, on fresh draws; None if there is none."""
        choosing = int(self._certifying * CHOOSING_SHARE) // 2
        outputs = self._draw(pair, choosing)
        if min(map(len, outputs)) == 0:
            return None
        most = self._certifying // 2 - choosing
        least = min(MIN_CERTIFYING_DRAWS, most) if self._run.certify == "fast" else most
        found = certify_on_draws(
            self._run,
            self._seen(pair, outputs),
            draws=FreshDraws(least=least, most=most),
            stream=Stream.CERTIFY_SIMPLEST,
            choose=plainest_event,
        )
        return found if found is not None and found.breaks(self._run.claim) else None

    def _refutes(self, pair: Pair) -> bool:
        """Whether an event breaks the claim on this pair, as far as a few draws can tell."""
        budget, claim = self._run.budget, self._run.claim
        for size in _LOOK_DRAWS:
            if budget.spent + 2 * size > self._end:
                return False
            chosen, held_out = self._draw(pair, size // 2), self._draw(pair, size - size // 2)
            if min(map(len, (*chosen, *held_out))) == 0:
                return False
            seen = self._seen(pair, chosen)
            found = certify(
                replace(seen, sample=seen.sample.thinned(budget.steps(FITTING_SECONDS))),
                claim,
                enumerate(held_out),
                draws=size,
                alpha=_LOOK_ALPHA,
            )
            assert found is not None
            if found.breaks(claim):
                return True
            if not refutes(claim, found.likely.rate, found.unlikely.rate):
                return False
        return False

    def _seen(self, pair: Pair, outputs: tuple[Outputs, Outputs]) -> SeenOutputs:
        rng = self._run.rng(Stream.SHRINK_SHUFFLE, self._looks)
        return seen_outputs(pair, outputs, rng, encoder=Encoder(floats=self._run.floats))

    def _draw(self, pair: Pair, size: int) -> tuple[Outputs, Outputs]:
        look, self._looks = self._looks, self._looks + 1
        fresh = self._run.rounds(pair, size, Stream.SHRINK, look, at_least=1, by=_SEARCH_SHARE)
        return fresh.joined()


def simpler_pairs(relation: Structured, pair: Pair) -> Iterator[Pair]:
    """Pairs of the relation that are simpler than this one, the largest changes first.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import replace_one
    >>> relation = replace_one(floats(-1, 1), max_records=5)
    >>> print(next(simpler_pairs(relation, relation.join([Slot(0.25, 0.25), Slot(0.7, -0.31)]))))
    data=[0.7], neighbour=[-0.31]
    """
    slots = relation.align(pair)
    if slots is None:
        return
    now, seen = cost(relation, slots), {pair.key()}
    for changed in _changes(relation, slots):
        if cost(relation, changed) < now:
            found = relation.join(changed)
            if found is not None and found.key() not in seen:
                seen.add(found.key())
                yield found


def cost(relation: Structured, slots: Sequence[Slot]) -> Cost:
    """What a reader takes in: records, differences, different values, and how plain each is.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import replace_one
    >>> cost(replace_one(floats(-1, 1)), [Slot(0.0, 0.0), Slot(0.0, 1.0)])[:3]
    (2, 1, 2)
    """
    plainness = explorable(relation.domain).plainness
    records = {canonical(record): record for slot in slots for record in _records(slot)}
    return (
        len(slots),
        sum(not is_shared(slot) for slot in slots),
        len(records),
        sum(plainness(record) for slot in slots for record in _records(slot)),
    )


def _changes(relation: Structured, slots: Slots) -> Iterator[Slots]:
    yield from _fewer(slots)
    yield from _taking_over(slots)
    yield from _less_different(slots)
    yield from _more_alike(slots)
    yield from _rounder(relation, slots)


def _fewer(slots: Slots) -> Iterator[Slots]:
    """Without all shared records, a half of them, a quarter, ..., one."""
    shared = [place for place, slot in enumerate(slots) if is_shared(slot)]
    size = len(shared)
    while size > 0:
        for start in range(0, len(shared), size):
            gone = set(shared[start : start + size])
            yield tuple(slot for place, slot in enumerate(slots) if place not in gone)
        size //= 2


def _taking_over(slots: Slots) -> Iterator[Slots]:
    """Without one shared record, which takes the place of a record that differs."""
    for gone, slot in enumerate(slots):
        if is_shared(slot):
            for place, other in enumerate(slots):
                if not is_shared(other):
                    for taken in _replaced(other, slot.data):
                        left = _with(slots, place, taken)
                        yield left[:gone] + left[gone + 1 :]


def _replaced(slot: Slot, record: Any) -> list[Slot]:
    """The slot with another record on one side, where there is one."""
    found = [] if slot.data is ABSENT else [Slot(record, slot.neighbour)]
    return found if slot.neighbour is ABSENT else [*found, Slot(slot.data, record)]


def _less_different(slots: Slots) -> Iterator[Slots]:
    """With one difference less: taken away, or the same record on both sides."""
    for place, slot in enumerate(slots):
        if not is_shared(slot):
            yield slots[:place] + slots[place + 1 :]
            for record in _records(slot):
                yield _with(slots, place, Slot(record, record))


def _more_alike(slots: Slots) -> Iterator[Slots]:
    """With all shared records equal, or one equal to another."""
    found = {canonical(record): record for slot in slots for record in _records(slot)}
    for record in found.values():
        yield tuple(Slot(record, record) if is_shared(slot) else slot for slot in slots)
    for place, slot in enumerate(slots):
        if is_shared(slot):
            for record in found.values():
                yield _with(slots, place, Slot(record, record))


def _rounder(relation: Structured, slots: Slots) -> Iterator[Slots]:
    """With a plainer record: everywhere it stands, on one side, or in one place."""
    simpler = explorable(relation.domain).simpler
    found = {canonical(record): record for slot in slots for record in _records(slot)}
    for key, record in found.items():
        for plain in simpler(record):
            yield tuple(Slot(*(_swapped(side, key, plain) for side in slot)) for slot in slots)
    for place, slot in enumerate(slots):
        if not is_shared(slot):
            for record in _records(slot):
                for plain in simpler(record):
                    yield from (_with(slots, place, one) for one in _replaced(slot, plain))


def _swapped(side: Any, key: str, plain: Any) -> Any:
    return plain if side is not ABSENT and canonical(side) == key else side


def _with(slots: Slots, place: int, slot: Slot) -> Slots:
    return (*slots[:place], slot, *slots[place + 1 :])


def _records(slot: Slot) -> list[Any]:
    """The records of a slot, a shared one once."""
    sides = slot[:1] if is_shared(slot) else slot
    return [side for side in sides if side is not ABSENT]
