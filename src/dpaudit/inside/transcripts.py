"""One transcript: the releases of a run on the one dataset, and their loss against the other.

The code runs five times. It is recorded on `data`; run again there with every release forced, it
must do the same bit for bit; run plainly there, with the same noise as plain numbers, it must give
the same output. Then it is replayed on `neighbour`, symbolically and plainly. So code that looks at
the type of its noise, keeps state, or draws from somewhere else is refused instead of misread.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.errors import CannotFollow
from dpaudit.inside.generator import FollowedGenerator
from dpaudit.inside.laws import Law, Side
from dpaudit.inside.outputs import Laid, is_noisy, plain_of, same_value
from dpaudit.inside.recording import (
    OtherReleases,
    Recorder,
    Released,
    error_of,
    recording,
    where_raised,
)
from dpaudit.mechanism import Mechanism, exits_as_errors
from dpaudit.neighbours import Pair

TOLERANCE = 1e-7  # of the loss of a release, beside the rounding of its inputs
_SAME_AGAIN = 1e-9  # of the size of a number that is released again with the same noise


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseLoss:
    """One release on both datasets: what went in, under which noise, what came out, its loss.

    `where` is the line that drew the noise. A `kernel` of None is noise that was known already.
    """

    where: str
    kernel: Any
    neighbour_kernel: Any
    input: Any
    neighbour_input: Any
    output: Any
    loss: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """All releases of one run, recorded on `pair.data` and replayed on `pair.neighbour`.

    `loss` is exact up to `tolerance`. `differs` says what the replay did otherwise, if anything: no
    loss explains it, so it is left to the black box.
    """

    pair: Pair
    releases: tuple[ReleaseLoss, ...]
    tolerance: float
    differs: str | None = None

    @property
    def loss(self) -> float:
        """The sum of the losses; infinite if one is."""
        each = [release.loss for release in self.releases]
        return math.inf if math.inf in each else math.fsum(each)

    @property
    def largest(self) -> ReleaseLoss | None:
        """The release with the largest loss, either way."""
        return max(self.releases, key=lambda release: abs(release.loss), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """What a run gave: an output, or the error that it raised, or a replay that ended early."""

    recorder: Recorder
    output: Laid | None = None
    raised: str | None = None
    raised_where: str = ""


def transcript_of(mechanism: Mechanism, pair: Pair, rng: np.random.Generator) -> Transcript:
    """Record on `pair.data`, replay on `pair.neighbour`; CannotFollow if that cannot be done.

    >>> from dpaudit.mechanism import as_mechanism
    >>> noisy = as_mechanism(lambda data, size, rng: sum(data) + rng.laplace(scale=0.5, size=size))
    >>> transcript = transcript_of(noisy, Pair([1.0], []), np.random.default_rng(0))
    >>> print(transcript.loss, transcript.largest.input, transcript.largest.neighbour_input)
    2.0 1.0 0.0
    """
    recorded = _run(mechanism, pair.data, Recorder(noise=rng))
    forced = tuple(recorded.recorder.releases)
    again = _run(mechanism, pair.data, Recorder(noise=rng, forced=forced))
    _check_same(recorded, again)
    _check_plain(mechanism, pair.data, recorded, forced)
    replayed = _run(mechanism, pair.neighbour, Recorder(noise=rng, forced=forced))
    if replayed.recorder.differs is None:
        _check_plain(mechanism, pair.neighbour, replayed, forced)
    return _compared(pair, recorded, replayed)


def _run(
    mechanism: Mechanism,
    data: Any,
    recorder: Recorder,
    given: tuple[float, ...] | None = None,
) -> _Run:
    """Run the code once. Errors are outcomes; what cannot be followed is raised."""
    rng, before = FollowedGenerator(recorder, given), _elsewhere()
    output, raised, place = None, None, ""
    try:
        with recording(recorder), exits_as_errors(mechanism.name):
            output = Laid.of(mechanism.call_once(data, rng), recorder)
    except (OtherReleases, CannotFollow):
        if recorder.refused is None and recorder.differs is None:
            raise
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"
        place = where_raised(error.__traceback__)
    if recorder.refused is not None:
        raise CannotFollow(recorder.refused)
    if _elsewhere() != before:
        raise CannotFollow(
            f"{mechanism.name}: draws from random or np.random, which are not followed. Draw from "
            "the generator that it is given."
        )
    return _Run(recorder=recorder, output=output, raised=raised, raised_where=place)


def _elsewhere() -> tuple[Any, ...]:
    """The state of the generators that belong to nobody."""
    state: Any = np.random.get_state(legacy=False)  # noqa: NPY002 -- looked at, not used
    inner = state["state"]
    key = inner["key"].tobytes() if "key" in inner else repr(inner)
    return random.getstate(), key, inner.get("pos"), state["has_gauss"]


def _check_same(one: _Run, other: _Run) -> None:
    """Refuse code that does not do the same again on the same data with the same releases."""
    first, second = one.recorder, other.recorder
    same = (
        second.differs is None
        and len(first.releases) == len(second.releases)
        and len(first.atoms) == len(second.atoms)
        and all(
            (a.kind, a.scale) == (b.kind, b.scale)
            for a, b in zip(first.atoms, second.atoms, strict=True)
        )
        and all(map(_same_release, first.releases, second.releases))
        and _kind_of_error(one) == _kind_of_error(other)
    )
    if one.output is not None and other.output is not None:
        same = same and one.output.same(other.output)
    if not same:
        places = [one.where for one in first.releases] + [atom.where for atom in first.atoms]
        place = places[0] if places else "unknown place"
        raise CannotFollow(
            f"{place}: a second run on the same data, with the same releases, did something else. "
            "It draws from elsewhere, or keeps state from run to run."
        )


def _same_release(one: Released, other: Released) -> bool:
    return one.kernel == other.kernel and same_value(one.input, other.input)


def _check_plain(mechanism: Mechanism, data: Any, run: _Run, forced: tuple[Released, ...]) -> None:
    """Refuse code that does something else with plain numbers than it did with followed ones."""
    values = tuple(atom.drawn for atom in run.recorder.atoms)
    plain = _run(mechanism, data, Recorder(noise=run.recorder.noise, forced=forced), values)
    if run.raised is not None and _kind_of_error(plain) != _kind_of_error(run):
        raise CannotFollow(f"{run.raised_where}: {run.raised}. A plain run does not raise it.")
    same = (
        _kind_of_error(plain) == _kind_of_error(run)
        and plain.recorder.differs is None
        and len(plain.recorder.releases) == len(run.recorder.releases)
        and all(map(_same_release, plain.recorder.releases, run.recorder.releases))
        and len(plain.recorder.atoms) == len(values)
    )
    if run.output is not None and plain.output is not None:
        same = same and run.output.gives(plain.output, values)
    if not same:
        place = next((atom.where for atom in run.recorder.atoms), mechanism.name)
        raise CannotFollow(
            f"{place}: a plain run with the same noise gives another output. The code looks at "
            "what its noise is, or uses it in a way that is not followed."
        )


def _kind_of_error(run: _Run) -> str | None:
    return None if run.raised is None else run.raised.partition(":")[0]


def _compared(pair: Pair, recorded: _Run, replayed: _Run) -> Transcript:
    """The losses of all releases, or what differs."""
    ours, theirs = recorded.recorder.releases, replayed.recorder.releases
    explicit = list(map(_explicit, ours, theirs))
    losses, tolerance = [loss for loss, _ in explicit], math.fsum(off for _, off in explicit)
    differs = replayed.recorder.differs or _difference(recorded, replayed)
    if differs is None and recorded.output is not None and replayed.output is not None:
        for found, off in _noisy_losses(recorded, replayed):
            if isinstance(found, str):
                differs = differs or found
            else:
                losses.append(found)
                tolerance += off
    counted = len(ours) + recorded.recorder.calls
    tolerance += TOLERANCE * counted
    return Transcript(pair=pair, releases=tuple(losses), tolerance=tolerance, differs=differs)


def _difference(recorded: _Run, replayed: _Run) -> str | None:
    """What the two runs did differently, beside their losses."""
    sides = recorded.raised, replayed.raised
    if _kind_of_error(recorded) != _kind_of_error(replayed):
        run = recorded if recorded.raised is not None else replayed
        return f"{run.raised_where}: {run.raised}, on one of the two datasets only"
    if sides[0] is not None:
        return None
    first, second = recorded.recorder.releases, replayed.recorder.releases
    if len(first) > len(second):
        return f"{first[len(second)].where}: one release less on the other dataset"
    assert recorded.output is not None
    assert replayed.output is not None
    if recorded.output.form != replayed.output.form:
        return "the output has another form on the other dataset"
    for ours, theirs in zip(recorded.output.leaves, replayed.output.leaves, strict=True):
        noisy = is_noisy(ours), is_noisy(theirs)
        if noisy[0] != noisy[1]:
            return "a number of the output has noise on one of the two datasets only"
        if not noisy[0] and not same_value(plain_of(ours), plain_of(theirs)):
            shown = repr(plain_of(ours))[:40], repr(plain_of(theirs))[:40]
            return f"the output holds {shown[0]} or {shown[1]}, and no release explains that"
    return None


def _explicit(ours: Released, theirs: Released) -> tuple[ReleaseLoss, float]:
    """The loss of an explicit release, and how far it may be off."""
    loss = _loss(
        ours.kernel.log_density(ours.output, ours.input),
        theirs.kernel.log_density(ours.output, theirs.input),
        ours.where,
    )
    found = ReleaseLoss(
        where=ours.where,
        kernel=ours.kernel,
        neighbour_kernel=theirs.kernel,
        input=ours.input,
        neighbour_input=theirs.input,
        output=ours.output,
        loss=loss,
    )
    sides = (ours, ours.input), (theirs, theirs.input)
    return found, sum(error_of(side.kernel, ours, value) for side, value in sides)


def _noisy_losses(recorded: _Run, replayed: _Run) -> Iterator[tuple[ReleaseLoss | str, float]]:
    """The losses of the noisy numbers of the output, in one order on both sides."""
    assert recorded.output is not None
    assert replayed.output is not None
    pairs = zip(recorded.output.leaves, replayed.output.leaves, strict=True)
    both = [(one, other) for one, other in pairs if is_noisy(one)]
    sides = Side(recorded.recorder), Side(replayed.recorder)
    counts = [Counter(a for leaves in both for a, _ in leaves[side].terms) for side in (0, 1)]
    for place in sides[0].order([one for one, _ in both]):
        law = sides[0].law(both[place][0], counts[0])
        other = sides[1].law(both[place][1], counts[1], output=law.output)
        if type(law.kernel) is not type(other.kernel):
            yield f"{law.where}: another kind of noise on the other dataset", 0.0
            return
        loss = _loss_of_laws(law, other)
        yield _as_release(law, other, loss), _slack(law, other)


def _loss_of_laws(law: Law, other: Law) -> float:
    if law.kernel is None:  # known noise again: the same number on both, or it is told exactly
        size = abs(law.input) + abs(other.input)
        near = law.error + other.error + _SAME_AGAIN * size
        apart = not same_value(law.input, other.input) and not abs(law.input - other.input) <= near
        return math.inf if apart else 0.0
    return _loss(law.log_density(), other.log_density(), law.where)


def _slack(law: Law, other: Law) -> float:
    return 0.0 if law.kernel is None else law.slack() + other.slack()


def _as_release(law: Law, other: Law, loss: float) -> ReleaseLoss:
    return ReleaseLoss(
        where=law.where,
        kernel=law.kernel,
        neighbour_kernel=other.kernel,
        input=law.input,
        neighbour_input=other.input,
        output=law.output,
        loss=loss,
    )


def _loss(ours: float, theirs: float, place: str) -> float:
    """`log p(o) - log q(o)` of a drawn output."""
    if math.isnan(ours) or math.isnan(theirs) or ours == -math.inf or math.inf in (ours, theirs):
        raise CannotFollow(
            f"{place}: the log density of a release is {ours} on the data it was drawn on, and "
            f"{theirs} on the other. Check log_density of its kernel."
        )
    return ours - theirs
