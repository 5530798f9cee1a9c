"""What one run of the audited code leaves behind: its noise, its releases, where it was refused.

A run is a recording, on the first dataset, or a replay, in which every explicit release is forced
to the recorded output. While it lasts, `current()` is its recorder: refusals are noted there, so
that code which catches every exception cannot hide one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats
from dpaudit.errors import CannotFollow
from dpaudit.inside.kernels import Kernel, Vector, rounding_of
from dpaudit.inside.lines import where
from dpaudit.inside.noise.laws import SUPPORTS, WHOLE, Noise
from dpaudit.inside.sampled import Sampled

if TYPE_CHECKING:
    from dpaudit.inside.noise.noisy import Noisy
    from dpaudit.inside.sampling import Step

CANDIDATES = 16  # outputs of which the one that tells most is taken, while steered
RARE = 0.02  # a chance; what happens less often is steered to


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """One explicit release: its kernel, its input, its output, and the line that made it."""

    where: str
    kernel: Kernel
    input: Any
    output: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of the generator: the kind of its noise, the line, and which noises it made."""

    where: str
    kind: str
    first: int
    count: int


class Atoms:
    """All noise that the generator gave in one run: in the order of its calls, one row for each.

    `scale` is that of its kind (for "geometric" the probability); `drawn` counts in a recording.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.count = 0
        self._scale, self._drawn = np.empty(16), np.empty(16)
        self._call = np.empty(16, dtype=np.int64)

    def add(self, where: str, kind: str, scales: Floats, drawn: Floats) -> int:
        """Note a call; the number of its first noise is returned."""
        first, last = self.count, self.count + drawn.size
        while last > len(self._scale):
            self._scale, self._drawn = (
                np.resize(self._scale, 2 * last),
                np.resize(self._drawn, 2 * last),
            )
            self._call = np.resize(self._call, 2 * last)
        self._scale[first:last] = np.broadcast_to(scales, drawn.shape).ravel()
        self._drawn[first:last] = drawn.ravel()
        self._call[first:last] = len(self.calls)
        self.calls.append(Call(where=where, kind=kind, first=first, count=drawn.size))
        self.count = last
        return first

    @property
    def scale(self) -> Floats:
        return self._scale[: self.count]

    @property
    def drawn(self) -> Floats:
        return self._drawn[: self.count]

    @property
    def call(self) -> npt.NDArray[np.int64]:
        return self._call[: self.count]

    @property
    def kind(self) -> npt.NDArray[np.str_]:
        """The kind of every noise."""
        kinds = np.asarray([call.kind for call in self.calls], dtype=np.str_)
        return kinds[self.call] if self.calls else np.empty(0, dtype=np.str_)

    def same(self, other: Atoms) -> bool:
        """Whether another run drew noise of the same kinds and scales."""
        kinds = [(call.kind, call.count) for call in self.calls]
        return kinds == [(call.kind, call.count) for call in other.calls] and bool(
            np.array_equal(self.scale, other.scale, equal_nan=True)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Something that the code learned of its noise: the outcome of a comparison, or the numbers.

    "above" asks of every entry whether it is above 0 (`strict`) or at least 0; "largest" asks
    of every row for the place of its largest entry; "number" is the numbers themselves.
    """

    where: str
    kind: str
    value: Noisy
    outcome: npt.NDArray[Any]
    strict: bool = False


class OtherReleases(Exception):
    """A replay releases something else than was recorded. It ends the replay."""


@dataclass(slots=True, kw_only=True)
class Recorder:
    """The noise and the releases of one run. With `forced`, releases give recorded outputs."""

    noise: np.random.Generator
    forced: tuple[Released, ...] | None = None
    forced_answers: tuple[Answer, ...] = ()
    reveal: bool = False
    steered: bool = False
    aims: tuple[tuple[Kernel, Any], ...] = ()  # by release: what the other dataset had before
    plainly: Floats | None = None  # in a plain run: the noise that it gives as plain numbers
    atoms: Atoms = field(default_factory=Atoms)
    answers: list[Answer] = field(default_factory=list)
    looked_at: set[int] = field(default_factory=set)  # noise that was compared, while steered
    coin_seed: np.random.SeedSequence = field(default_factory=partial(np.random.SeedSequence, 0))
    releases: list[Released] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)  # hidden samples taken
    refused: str | None = None
    differs: str | None = None
    coins: np.random.Generator = field(init=False)  # of `shown_coins`: the same in every run

    def __post_init__(self) -> None:
        self.coins = np.random.default_rng(self.coin_seed)

    def again(self) -> Recorder:
        """A recorder for the same run once more."""
        return Recorder(
            noise=self.noise,
            forced=self.forced,
            forced_answers=self.forced_answers,
            reveal=self.reveal,
            steered=self.steered,
            aims=self.aims,
            plainly=self.plainly,
            coin_seed=self.coin_seed,
        )

    def refuse(self, what: str) -> NoReturn:
        """Note what cannot be followed, and where; the first one counts."""
        said = f"{where()}: {what}"
        self.refused = self.refused or said
        raise CannotFollow(said)

    def release(self, value: Any, kernel: Kernel) -> Any:
        """Draw and record an output, or force the recorded one."""
        line, place = where(), len(self.releases)
        if self.forced is None:
            output = self._drawn(value, kernel, place)
        else:
            output = self._forced_output(kernel, line, place)
        kept = _frozen_copy(value), _frozen_copy(output)
        self.releases.append(Released(where=line, kernel=kernel, input=kept[0], output=kept[1]))
        return _frozen_copy(output)

    def _drawn(self, value: Any, kernel: Kernel, place: int) -> Any:
        """An output of the kernel; while steered, the one of several that tells most.

        What tells most is judged by what the other dataset put into this release in an earlier
        transcript. Any output that can happen shows an exact loss.
        """
        output = kernel.draw(value, self.noise)
        if (
            not self.steered
            or place >= len(self.aims)
            or type(self.aims[place][0]) is not type(kernel)
        ):
            return output
        other, given = self.aims[place]
        drawn = [output, *(kernel.draw(value, self.noise) for _ in range(CANDIDATES - 1))]
        try:
            losses = [kernel.log_density(o, value) - other.log_density(o, given) for o in drawn]
        except (TypeError, ValueError, IndexError):  # what was put in had another shape
            return output
        return max(zip(losses, drawn, strict=True), key=lambda each: abs(each[0]))[1]

    def compared(self, value: Noisy, *, strict: bool) -> npt.NDArray[np.bool_]:
        """Whether each entry is above 0: drawn in a recording, forced in a replay."""
        known = self._known_answer("above", value)
        if known is None and self.steered:
            self._steer(value)
        numbers = self._now(value) if known is None else value.base
        outcome = np.asarray(numbers > 0.0 if strict else numbers >= 0.0)
        if known is not None:  # where neither side has noise, nothing is forced
            outcome = np.where(value.noisy | known.value.noisy, known.outcome, outcome)
        self._note(value)
        self.answers.append(
            Answer(where=where(), kind="above", value=value, outcome=outcome, strict=strict)
        )
        return outcome

    def largest(self, rows: Noisy) -> npt.NDArray[np.int64]:
        """The place of the largest entry of every row."""
        known = self._known_answer("largest", rows)
        outcome: npt.NDArray[np.int64] = np.argmax(self._now(rows), axis=-1)
        self._note(rows)
        if known is not None:
            free = ~(rows.noisy | known.value.noisy).any(axis=-1)
            outcome = np.where(free, np.argmax(rows.base, axis=-1), known.outcome)
        self.answers.append(Answer(where=where(), kind="largest", value=rows, outcome=outcome))
        return outcome

    def revealed(self, value: Noisy) -> Floats:
        """The numbers themselves, which count as released."""
        known = self._known_answer("number", value)
        outcome = self._now(value)
        self._note(value)
        if known is not None:
            free = ~(value.noisy | known.value.noisy)
            outcome = np.where(free, value.base, known.outcome)
        self.answers.append(Answer(where=where(), kind="number", value=value, outcome=outcome))
        return outcome

    def _known_answer(self, kind: str, value: Noisy) -> Answer | None:
        """The recorded answer that this one must repeat; None in a recording."""
        if self.forced is None:
            return None
        line, place = where(), len(self.answers)
        if place >= len(self.forced_answers):
            self.differs = f"{line}: looks at its noise once more than on the other dataset"
        elif (self.forced_answers[place].kind, self.forced_answers[place].value.shape) != (
            kind,
            value.shape,
        ):
            self.differs = f"{line}: looks at its noise in another way than on the other dataset"
        else:
            return self.forced_answers[place]
        raise OtherReleases(self.differs)

    def _now(self, value: Noisy) -> Floats:
        """The numbers with the noise that was drawn."""
        return value_with(value, self.atoms.drawn)

    def _note(self, value: Noisy) -> None:
        """Keep in mind which noise an answer rests on, which must not be steered any more."""
        if self.steered:
            self.looked_at.update(value.atoms[value.factors != 0.0].tolist())

    def _steer(self, value: Noisy) -> None:
        """In every other comparison that hardly ever ends one way, draw noise that ends it so."""
        single = (value.factors != 0.0).sum(axis=-1) == 1
        for entry in np.argwhere(single & np.isfinite(value.base)):
            at = tuple(entry)
            column = int(np.argmax(value.factors[at] != 0.0))
            atom, factor = int(value.atoms[at][column]), float(value.factors[at][column])
            if atom not in self.looked_at:  # a later comparison must not change earlier answers
                self.looked_at.add(atom)
                self._steer_one(atom, -float(value.base[at]) / factor)

    def _steer_one(self, atom: int, edge: float) -> None:
        kind, scale = (
            self.atoms.calls[int(self.atoms.call[atom])].kind,
            float(self.atoms.scale[atom]),
        )
        if kind in WHOLE:
            return
        noise = Noise(kind, scale)
        chances = float(np.exp(noise.log_below(edge))), float(np.exp(noise.log_above(edge)))
        if not 0.0 < min(chances) < RARE or self.noise.random() < 0.5:
            return
        low, high = SUPPORTS.get(kind, (-math.inf, math.inf))
        far = self.noise.exponential(scale)
        if chances[0] < chances[1]:
            self.atoms.drawn[atom] = edge - (
                far if math.isinf(low) else (edge - low) * self.noise.random()
            )
        else:
            self.atoms.drawn[atom] = edge + (
                far if math.isinf(high) else (high - edge) * self.noise.random()
            )

    def _forced_output(self, kernel: Kernel, line: str, place: int) -> Any:
        assert self.forced is not None
        if place >= len(self.forced):
            self.differs = f"{line}: one release more than on the other dataset"
        elif type(self.forced[place].kernel) is not type(kernel):
            kinds = type(self.forced[place].kernel).__name__, type(kernel).__name__
            self.differs = f"{line}: {kinds[0]} on the one dataset, {kinds[1]} on the other"
        if self.differs is not None:
            raise OtherReleases(self.differs)
        return self.forced[place].output


def value_with(value: Noisy, drawn: Floats) -> Floats:
    """The numbers of an array, with these values for the noise."""
    if value.atoms.shape[-1] == 0 or len(drawn) == 0:
        return np.asarray(value.base)
    terms = np.where(value.factors != 0.0, value.factors * drawn[value.atoms], 0.0)
    return np.asarray(value.base + terms.sum(axis=-1))


_CURRENT: ContextVar[Recorder | None] = ContextVar("dpaudit_inside", default=None)


def current() -> Recorder | None:
    """The recorder of the run that is going on, if an audit is."""
    return _CURRENT.get()


@contextmanager
def recording(recorder: Recorder | None) -> Iterator[None]:
    """Make this recorder the current one for the time of a run."""
    token = _CURRENT.set(recorder)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def refuse(what: str) -> NoReturn:
    """Refuse to follow: noted in the run that is going on, and raised."""
    recorder = current()
    if recorder is None:
        raise CannotFollow(f"{where()}: {what}")
    recorder.refuse(what)


def error_of(kernel: Kernel, released: Released, input: Any) -> float:
    """How far the log density of a release may be off by the rounding of its input."""
    return _slack(kernel, released.output, input)


def _slack(kernel: Kernel, output: Any, input: Any) -> float:
    if isinstance(kernel, Sampled):
        sides = zip((kernel.without, kernel.within), input, strict=True)
        return max(_slack(each, output, given) for each, given in sides)
    if isinstance(kernel, Vector):
        return sum(map(_slack, kernel.kernels, output, input))
    try:
        error = rounding_of(input)
    except (TypeError, ValueError):  # no number: nothing to round
        return 0.0
    return kernel.slack(output, input, error)


def _frozen_copy(value: Any) -> Any:
    """A copy that later changes of an array or a list do not reach."""
    if isinstance(value, np.ndarray):
        return value.copy()
    return list(value) if isinstance(value, list) else value
