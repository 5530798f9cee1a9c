"""One transcript: the releases of a run on the one dataset, and their loss against the other.

The code runs at least five times. It is recorded on `data`; run again there with every release
forced, it must do the same bit for bit; run plainly there, with the same noise as plain numbers, it
must give the same output. Then it is replayed on `neighbour`, and run plainly there, too. So code
that looks at the type of its noise, keeps state, or draws from somewhere else is refused instead of
misread.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.errors import CannotFollow
from dpaudit.inside import libraries
from dpaudit.inside.lines import where_raised
from dpaudit.inside.noise.generator import FollowedGenerator
from dpaudit.inside.noise.losses import ReleaseLoss, loss_between, losses_of_noise
from dpaudit.inside.noise.noisy import Noisy, as_noisy
from dpaudit.inside.outputs import Laid, is_noisy, same_kernel, same_noisy, same_value
from dpaudit.inside.recording import (
    Answer,
    OtherReleases,
    Recorder,
    Released,
    error_of,
    recording,
)
from dpaudit.inside.sampling import hidden_samples, samples_of
from dpaudit.mechanism import Mechanism, exits_as_errors
from dpaudit.neighbours import Pair

TOLERANCE = 1e-7  # of the loss of a release, beside the rounding of its inputs


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
        """The loss of the whole transcript: the sum of those of its releases."""
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


def transcript_of(
    mechanism: Mechanism,
    pair: Pair,
    rng: np.random.Generator,
    *,
    reveal: bool = False,
    steered: bool = False,
    aims: tuple[tuple[Any, Any], ...] = (),
) -> Transcript:
    """Record on `pair.data`, replay on `pair.neighbour`; CannotFollow if that cannot be done.

    With `reveal`, noisy numbers that are used in a way that is not followed count as released. With
    `steered`, comparisons that hardly ever end one way do so more often, and outputs are those of
    several that tell most, if `aims` says what the neighbour is likely to put into each release:
    the loss of such a transcript is exact, too, but it happens more often than in the code.

    >>> from dpaudit.mechanism import as_mechanism
    >>> noisy = as_mechanism(lambda data, size, rng: sum(data) + rng.laplace(scale=0.5, size=size))
    >>> transcript = transcript_of(noisy, Pair([1.0], []), np.random.default_rng(0))
    >>> print(transcript.loss, transcript.largest.input, transcript.largest.neighbour_input)
    2.0 1.0 0.0
    """
    if not isinstance(mechanism, Mechanism):
        raise TypeError(
            f"transcript_of needs a mechanism, got {type(mechanism).__name__}. Make one by "
            "dpaudit.mechanism.as_mechanism."
        )
    (coins,) = rng.bit_generator.seed_seq.spawn(1)  # type: ignore[attr-defined] # of a default_rng
    kept: dict[str, Any] = {"noise": rng, "reveal": reveal, "coin_seed": coins}
    with hidden_samples(pair) as hidden:
        recorded = _run(mechanism, pair.data, Recorder(**kept, steered=steered, aims=aims))
        first = recorded.recorder
        forced: dict[str, Any] = {
            "forced": tuple(first.releases),
            "forced_answers": tuple(first.answers),
        }

        def replay(data: Any) -> _Run:
            return _run(mechanism, data, Recorder(**kept, **forced))

        _check_same(recorded, replay(pair.data))
        _check_plain(mechanism, pair.data, recorded)
        replayed = replay(pair.neighbour)
        if replayed.recorder.differs is None:
            checked = replayed
            if first.answers:  # what is forced does not fit the noise that was drawn
                checked = _run(mechanism, pair.neighbour, Recorder(**kept))
            _check_plain(mechanism, pair.neighbour, checked)
        hidden.marginalise(recorded, replayed, replay)
    return _compared(pair, recorded, replayed)


def _run(mechanism: Mechanism, data: Any, recorder: Recorder) -> _Run:
    """Run the code once. Errors are outcomes; what cannot be followed is raised."""
    rng, before, known = FollowedGenerator(recorder), _elsewhere(), libraries.imported()
    output, raised, place = None, None, ""
    try:
        with (
            recording(recorder),
            samples_of(data),
            libraries.hooked(recorder),
            exits_as_errors(mechanism.name),
        ):
            output = Laid.of(mechanism.call_once(data, rng), recorder)
    except (OtherReleases, CannotFollow):
        if recorder.refused is None and recorder.differs is None:
            raise
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"
        place = where_raised(error.__traceback__)
    if libraries.imported() != known:  # by this run, in which it was not followed
        return _run(mechanism, data, recorder.again())
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
        and len(first.answers) == len(second.answers)
        and first.atoms.same(second.atoms)
        and all(map(_same_release, first.releases, second.releases))
        and all(map(_same_answer, first.answers, second.answers))
        and _kind_of_error(one) == _kind_of_error(other)
    )
    if one.output is not None and other.output is not None:
        same = same and one.output.same(other.output)
    if not same:
        raise CannotFollow(
            f"{_first_place(one)}: a second run on the same data, with the same releases, did "
            "something else. It draws from elsewhere, or keeps state from run to run."
        )


def _first_place(run: _Run) -> str:
    """The first line that released or drew something."""
    places = [one.where for one in run.recorder.releases] + [
        call.where for call in run.recorder.atoms.calls
    ]
    return places[0] if places else "unknown place"


def _same_answer(one: Answer, other: Answer) -> bool:
    return one.kind == other.kind and same_noisy(one.value, other.value)


def _same_release(one: Released, other: Released) -> bool:
    return same_kernel(one.kernel, other.kernel) and same_value(one.input, other.input)


def _check_plain(mechanism: Mechanism, data: Any, run: _Run) -> None:
    """Refuse code that does something else with plain numbers than it did with followed ones."""
    recorder, drawn = run.recorder, run.recorder.atoms.drawn.copy()
    again = recorder.again()
    again.forced, again.forced_answers = tuple(recorder.releases), ()
    again.plainly = drawn
    plain = _run(mechanism, data, again)
    if run.raised is not None and _kind_of_error(plain) != _kind_of_error(run):
        raise CannotFollow(f"{run.raised_where}: {run.raised}. A plain run does not raise it.")
    same = (
        _kind_of_error(plain) == _kind_of_error(run)
        and plain.recorder.differs is None
        and len(plain.recorder.releases) == len(recorder.releases)
        and all(map(_same_release, plain.recorder.releases, recorder.releases))
        and plain.recorder.atoms.count == len(drawn)
    )
    if run.output is not None and plain.output is not None:
        same = same and run.output.gives(plain.output, drawn)
    if not same:
        raise CannotFollow(
            f"{_first_place(run)}: a plain run with the same noise gives another output. The code "
            "looks at what its noise is, or uses it in a way that is not followed."
        )


def _kind_of_error(run: _Run) -> str | None:
    return None if run.raised is None else run.raised.partition(":")[0]


def _compared(pair: Pair, recorded: _Run, replayed: _Run) -> Transcript:
    """The losses of all releases, or what differs."""
    ours, theirs = recorded.recorder.releases, replayed.recorder.releases
    explicit = list(map(_explicit, ours, theirs))
    losses, tolerance = [loss for loss, _ in explicit], math.fsum(off for _, off in explicit)
    differs = replayed.recorder.differs or _difference(recorded, replayed)
    if differs is None:
        found = losses_of_noise(
            recorded.recorder, replayed.recorder, _noisy_leaves(recorded, replayed)
        )
        losses += found.losses
        tolerance += found.tolerance
        differs = found.differs
    made = len(ours) + len(recorded.recorder.atoms.calls) + len(recorded.recorder.answers)
    tolerance += TOLERANCE * made
    if math.isnan(tolerance):
        tolerance = math.inf  # nothing is known of the loss
    return Transcript(pair=pair, releases=tuple(losses), tolerance=tolerance, differs=differs)


def _noisy_leaves(recorded: _Run, replayed: _Run) -> list[tuple[Noisy, Noisy]]:
    """The noisy numbers of the output, on both sides."""
    if recorded.output is None or replayed.output is None:
        return []
    made = []
    for ours, theirs in zip(recorded.output.leaves, replayed.output.leaves, strict=True):
        if is_noisy(ours):
            places = np.flatnonzero(ours.noisy)
            made.append((ours.picked(places), theirs.picked(places)))
    return made


def _difference(recorded: _Run, replayed: _Run) -> str | None:
    """What the two runs did differently, beside their losses."""
    sides = recorded.raised, replayed.raised
    if _kind_of_error(recorded) != _kind_of_error(replayed):
        run = recorded if recorded.raised is not None else replayed
        return f"{run.raised_where}: {run.raised}, on one of the two datasets only"
    first, second = recorded.recorder, replayed.recorder
    for before, after in ((first.releases, second.releases), (first.answers, second.answers)):
        if len(before) > len(after):
            return f"{before[len(after)].where}: one release less on the other dataset"
    if sides[0] is not None:
        return None
    assert recorded.output is not None
    assert replayed.output is not None
    if recorded.output.form != replayed.output.form:
        return "the output has another form on the other dataset"
    for ours, theirs in zip(recorded.output.leaves, replayed.output.leaves, strict=True):
        differs = _differing_leaf(ours, theirs)
        if differs is not None:
            return differs
    return None


def _differing_leaf(ours: Any, theirs: Any) -> str | None:
    if isinstance(ours, Noisy) or isinstance(theirs, Noisy):
        one, other = as_noisy(ours), as_noisy(theirs)
        if not np.array_equal(one.noisy, other.noisy):
            return "a number of the output has noise on one of the two datasets only"
        with np.errstate(invalid="ignore"):  # what noise has left behind may differ by rounding
            near = np.abs(one.base - other.base) <= one.off + other.off
        left = ~one.noisy & ~near
        ours, theirs = one.base[left], other.base[left]
    if same_value(ours, theirs):
        return None
    if isinstance(ours, np.ndarray):
        apart = [not same_value(a, b) for a, b in zip(ours.flat, theirs.flat, strict=True)]
        place = int(np.argmax(apart)) if any(apart) else 0
        ours, theirs = ours.flat[place].item(), theirs.flat[place].item()
    shown = repr(ours)[:40], repr(theirs)[:40]
    return f"the output holds {shown[0]} or {shown[1]}, and no release explains that"


def _explicit(ours: Released, theirs: Released) -> tuple[ReleaseLoss, float]:
    """The loss of an explicit release, and how far it may be off."""
    loss = loss_between(
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
