"""`hidden_sample`: Poisson sampling whose coins stay hidden, marginalised exactly.

A call of it starts a step: the releases up to the next call. The coins belong to the records. All
but one record are in both datasets, and keep their coins in every run. The coin of the record that
differs is hidden: runs with this coin turned over show what each step releases with the record and
without it, and the step has the mixture of the two densities (docs/inside.md).

That holds where a step depends on its own coin and on what was released before, not on earlier
coins. So runs in which earlier coins differ must give the same inputs; else the code is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpaudit.arrays import Floats
from dpaudit.errors import CannotFollow
from dpaudit.inside.kernels import Vector
from dpaudit.inside.lines import where
from dpaudit.inside.outputs import Laid, same_kernel, same_value
from dpaudit.inside.places import Places, places_of, size_of
from dpaudit.inside.recording import Recorder, Released
from dpaudit.inside.release import recorder_of
from dpaudit.inside.sampled import Sampled
from dpaudit.neighbours import Pair

_ONE_ON_ONE = 3  # with as many steps, alternate turns do not show every earlier coin


def hidden_sample(n: int, rate: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose each of `n` records with the chance `rate`: a mask, which must stay hidden.

    Outside an audit it is `rng.random(n) < rate`. Inside, `n` must be the number of records of the
    dataset, in their order. The chance that the record which differs is chosen is reckoned into the
    loss of the releases up to the next call (Poisson subsampling: Li, Qardaji and Su 2012).

    >>> hidden_sample(4, 0.5, np.random.default_rng(0))
    array([False,  True,  True,  True])
    """
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
        raise ValueError(f"n must be a whole number of records >= 0, got {n!r}.")
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"rate must be a number from 0 to 1, got {rate!r}.")
    recorder, run = recorder_of(rng), _RUN.get()
    if recorder is None:
        return rng.random(n) < rate
    if run is None:
        return recorder.noise.random(n) < rate
    return run.mask(recorder, int(n), float(rate))


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call of `hidden_sample`; `first` is the place of the first release after it.

    `bit` says whether the record that differs was chosen; None where the dataset has no such one.
    """

    where: str
    rate: float
    first: int
    bit: bool | None


class Run(Protocol):
    """What a run of the code gave."""

    @property
    def recorder(self) -> Recorder: ...
    @property
    def output(self) -> Laid | None: ...
    @property
    def raised(self) -> str | None: ...


@dataclass(slots=True, kw_only=True)
class HiddenSamples:
    """The coins of all hidden samples of a transcript, the same in all of its runs.

    `turned` holds the steps in which the coin of the record that differs is turned over.
    """

    pair: Pair
    coins: list[Floats] = field(default_factory=list)
    places: Places | None = None
    turned: frozenset[int] = frozenset()

    def mask(self, data: Any, recorder: Recorder, n: int, rate: float) -> NDArray[np.bool_]:
        """The mask of the next step in a run on `data`."""
        line, number = where(), len(recorder.steps)
        size = size_of(data)
        if n != size:
            found = "no list of records" if size is None else f"{size} records"
            recorder.refuse(
                f"calls hidden_sample with n={n} on a dataset of {found}. n must be the number of "
                "records of the dataset, all of them, in their order."
            )
        if self.places is None:
            self.places = places_of(self.pair)
        if self.places is None:
            recorder.refuse("uses hidden_sample on datasets that differ in more than one record.")
        if number == len(self.coins):
            self.coins.append(recorder.noise.random(self.places.count))
        side = self.places.data if data is self.pair.data else self.places.neighbour
        mask = self.coins[number][side] < rate
        bit, (place,) = None, np.nonzero(side == self.places.differing)
        if place.size:
            mask[place] ^= number in self.turned and 0.0 < rate < 1.0
            bit = bool(mask[place[0]])
        step = Step(where=line, rate=rate, first=len(recorder.releases), bit=bit)
        recorder.steps.append(step)
        return np.asarray(mask)

    def marginalise(self, recorded: Run, replayed: Run, again: Callable[[Any], Run]) -> None:
        """Put one release for each step into both runs, with the mixture where coins are hidden.

        `again` runs the code on a dataset with all releases forced.
        """
        both = recorded.recorder, replayed.recorder
        if not any(each.steps for each in both):
            return
        for recorder in both:
            _check_no_noise(recorder)
        differs = both[1].differs or _other_steps(*both)
        sides = (recorded, self.pair.data), (replayed, self.pair.neighbour)
        made: list[list[Released]] = []
        for run, data in sides:
            if differs is None and run.raised is None:
                runs = list(self._turned_over(data, run.recorder.steps, again))
                differs = next((said for each in runs if (said := _told(run, each))), None)
                if differs is None:
                    made.append(list(_steps_of([run.recorder, *(r.recorder for r in runs)])))
        both[1].differs = differs
        for place, recorder in enumerate(both):
            recorder.releases[:] = made[place] if len(made) == 2 and differs is None else []

    def _turned_over(
        self, data: Any, steps: Sequence[Step], again: Callable[[Any], Run]
    ) -> Iterator[Run]:
        """Runs that show every step with its coin turned over, after other earlier coins."""
        if all(step.bit is None for step in steps):
            return
        numbers = range(len(steps))
        patterns = [frozenset(numbers[::2])]
        if len(steps) >= _ONE_ON_ONE:  # the coins themselves: half of all other steps
            fair = np.random.default_rng(int(self.coins[0][0] * 2**53)).random(len(steps)) < 0.5
            patterns.append(frozenset(np.nonzero(fair)[0].tolist()))
        for pattern in patterns:
            for turned in (pattern, frozenset(numbers) - pattern):
                self.turned = turned
                try:
                    yield again(data)
                finally:
                    self.turned = frozenset()


@dataclass(frozen=True, slots=True)
class _OneRun:
    hidden: HiddenSamples
    data: Any

    def mask(self, recorder: Recorder, n: int, rate: float) -> NDArray[np.bool_]:
        return self.hidden.mask(self.data, recorder, n, rate)


_TRANSCRIPT: ContextVar[HiddenSamples | None] = ContextVar("dpaudit_hidden", default=None)
_RUN: ContextVar[_OneRun | None] = ContextVar("dpaudit_hidden_run", default=None)


@contextmanager
def hidden_samples(pair: Pair) -> Iterator[HiddenSamples]:
    """Keep the coins of hidden samples for the time of a transcript."""
    hidden = HiddenSamples(pair=pair)
    token = _TRANSCRIPT.set(hidden)
    try:
        yield hidden
    finally:
        _TRANSCRIPT.reset(token)


@contextmanager
def samples_of(data: Any) -> Iterator[None]:
    """Say which dataset the code runs on, for the time of a run."""
    hidden = _TRANSCRIPT.get()
    token = _RUN.set(None if hidden is None else _OneRun(hidden, data))
    try:
        yield
    finally:
        _RUN.reset(token)


def _check_no_noise(recorder: Recorder) -> None:
    if recorder.atoms.count:
        raise CannotFollow(
            f"{recorder.atoms.calls[0].where}: draws noise from the generator in a run with hidden "
            "samples, where it is not followed. Draw it by dpaudit.release."
        )


def _other_steps(ours: Recorder, theirs: Recorder) -> str | None:
    """How the steps of two runs differ."""
    for one, other in zip(ours.steps, theirs.steps, strict=False):
        if one.rate != other.rate:
            return (
                f"{one.where}: samples at the rate {one.rate:g} on the one dataset and "
                f"{other.rate:g} on the other, which the samples of all records show"
            )
        if one.first != other.first:
            return f"{one.where}: another number of releases before a hidden sample"
    if len(ours.steps) != len(theirs.steps):
        longer = max(ours.steps, theirs.steps, key=len)
        least = min(len(ours.steps), len(theirs.steps))
        return f"{longer[least].where}: a hidden sample on one of the two datasets only"
    return None


def _told(run: Run, turned: Run) -> str | None:
    """What a run with coins turned over shows of them, beside the inputs of its releases."""
    recorder, other = run.recorder, turned.recorder
    if other.differs is not None or len(other.releases) != len(recorder.releases):
        return f"{recorder.steps[0].where}: the number or kind of releases tells the hidden sample"
    if turned.raised is not None:
        return f"{recorder.steps[0].where}: {turned.raised}, for some hidden samples only"
    steps = [(step.first, step.rate) for step in recorder.steps]
    if steps != [(step.first, step.rate) for step in other.steps]:
        return f"{recorder.steps[0].where}: the steps themselves depend on the hidden sample"
    if run.output is None or turned.output is None or not run.output.same(turned.output):
        return (
            f"{recorder.steps[0].where}: the output depends on the hidden sample, and no release "
            "explains that"
        )
    return None


def _steps_of(recorders: list[Recorder]) -> Iterator[Released]:
    """One release for each step, of runs that differ in hidden coins only."""
    base = recorders[0]
    firsts = [step.first for step in base.steps]
    _same_inputs([each.releases[: firsts[0]] for each in recorders], base.steps[0])
    yield from base.releases[: firsts[0]]
    ends = [*firsts[1:], len(base.releases)]
    for number, (step, end) in enumerate(zip(base.steps, ends, strict=True)):
        if step.first == end:
            continue
        if step.bit is None:
            yield _together(base.releases[step.first : end])
            continue
        seen: dict[bool, list[list[Released]]] = {True: [], False: []}
        for each in recorders:
            bit = each.steps[number].bit
            assert bit is not None
            seen[bit].append(each.releases[step.first : end])
        for parts in seen.values():
            _same_inputs(parts, step)
        either = seen[False] or seen[True], seen[True] or seen[False]  # at a rate of 0 or 1, one
        yield _mixed(step, *(_together(parts[0]) for parts in either))


def _mixed(step: Step, without: Released, within: Released) -> Released:
    kernel = Sampled(rate=step.rate, without=without.kernel, within=within.kernel)
    return replace(without, kernel=kernel, input=(without.input, within.input))


def _together(releases: Sequence[Released]) -> Released:
    """The releases of a step as one."""
    if len(releases) == 1:
        return releases[0]
    return Released(
        where=releases[0].where,
        kernel=Vector(tuple(each.kernel for each in releases)),
        input=tuple(each.input for each in releases),
        output=tuple(each.output for each in releases),
    )


def _same_inputs(runs: Sequence[Sequence[Released]], step: Step) -> None:
    """Refuse a step that is not the same after other earlier coins."""
    for other in runs[1:]:
        for ours, theirs in zip(runs[0], other, strict=True):
            if not same_kernel(ours.kernel, theirs.kernel) or not same_value(
                ours.input, theirs.input
            ):
                raise CannotFollow(
                    f"{ours.where}: this release depends on a hidden sample before that of "
                    f"{step.where}. State that depends on hidden samples, and that no release "
                    "covers, cannot be followed."
                )
