"""The loss of one transcript, release by release: what the followed noise showed on either side."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.errors import CannotFollow
from dpaudit.inside.kernels import DiscreteLaplace, Gaussian, Geometric, Laplace
from dpaudit.inside.noise.facts import Facts, facts_of
from dpaudit.inside.noise.laws import KINDS, WHOLE, Noise
from dpaudit.inside.noise.likelihood import Likelihood, Unfollowed, likelihood_of
from dpaudit.inside.noise.noisy import Ints, Noisy
from dpaudit.inside.recording import Recorder, value_with

_KERNELS: dict[str, Any] = {
    "laplace": Laplace,
    "normal": Gaussian,
    "geometric": Geometric,
    "two-sided": DiscreteLaplace,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseLoss:
    """One release on both datasets: what went in, under which noise, what came out, its loss.

    `where` is the line that released, drew the noise or compared it. A `kernel` of None is noise
    that was known already. Of a release of many numbers, inputs and outputs are arrays.
    """

    where: str
    kernel: Any
    neighbour_kernel: Any
    input: Any
    neighbour_input: Any
    output: Any
    loss: float


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """A release that is the outcome of a comparison: numbers with this noise, above 0 or not.

    `shared` is noise that all numbers of the comparison have, as a noisy threshold is.

    >>> Comparison(Laplace(1.0)), Comparison(Laplace(1.0), shared=Gaussian(2.0))
    (Comparison(Laplace(scale=1.0)), Comparison(Laplace(scale=1.0), shared=Gaussian(scale=2.0)))
    """

    noise: Any
    shared: Any = None

    def __repr__(self) -> str:
        shared = "" if self.shared is None else f", shared={self.shared!r}"
        return f"Comparison({self.noise!r}{shared})"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseLosses:
    """The losses of all that followed noise showed, and how far their sum may be off."""

    losses: list[ReleaseLoss]
    tolerance: float
    differs: str | None = None


def losses_of_noise(
    recorded: Recorder, replayed: Recorder, leaves: list[tuple[Noisy, Noisy]]
) -> NoiseLosses:
    """Compare the log likelihoods of both runs, fact by fact."""
    shown = [value_with(ours, recorded.atoms.drawn) for ours, _ in leaves]
    sides = []
    for recorder, side in ((recorded, 0), (replayed, 1)):
        outputs = [(both[side], number) for both, number in zip(leaves, shown, strict=True)]
        facts = facts_of(recorder.answers, outputs)
        try:
            sides.append((facts, likelihood_of(facts, recorder)))
        except Unfollowed as error:
            calls = recorder.atoms.calls
            place = recorder.answers[0].where if recorder.answers else calls[0].where
            raise CannotFollow(f"{place}: {error}.") from error
    both = _Both(*sides[0], *sides[1], recorded, replayed)
    differs = both.other_noise()
    if differs is not None:
        return NoiseLosses(losses=[], tolerance=0.0, differs=differs)
    losses = [both.release(places) for places in both.releases()]
    tolerance = float(both.ours.slack.sum() + both.theirs.slack.sum())
    return NoiseLosses(losses=losses, tolerance=tolerance)


class _Both:
    """The facts of a recording and of its replay, with their log likelihoods."""

    def __init__(
        self,
        facts: Facts,
        ours: Likelihood,
        other: Facts,
        theirs: Likelihood,
        recorder: Recorder,
        replayed: Recorder,
    ) -> None:
        self.facts, self.other, self.ours, self.theirs = facts, other, ours, theirs
        self.recorder, self.replayed = recorder, replayed
        used = facts.value.factors != 0.0
        self.calls = np.full(facts.value.size, -1)  # which call made the first noise of a fact
        if used.size:
            first = np.argmax(used, axis=-1)[:, None]
            atom = np.take_along_axis(facts.value.atoms, first, axis=-1)[:, 0]
            self.calls = np.where(used.any(axis=-1), recorder.atoms.call[atom], -1)

    def where(self, place: int) -> str:
        """The line that compared, revealed, or drew the noise of an output."""
        source, call = int(self.facts.source[place]), int(self.calls[place])
        if source < len(self.recorder.answers):
            return self.recorder.answers[source].where
        return self.recorder.atoms.calls[call].where if call >= 0 else "unknown place"

    def other_noise(self) -> str | None:
        """What differs if a number has noise, or whole numbers of it, on one side only."""
        least = KINDS.index(WHOLE[0])
        kinds = [side.law[:, 0] for side in (self.ours, self.theirs)]
        sorts = [np.sign(kind + 0.5) + (kind >= least) for kind in kinds]
        apart = np.flatnonzero(self.facts.number & (sorts[0] != sorts[1]))
        if not apart.size:
            return None
        return f"{self.where(int(apart[0]))}: another kind of noise on the other dataset"

    def releases(self) -> Iterator[Ints]:
        """The facts of one release each: of one answer or call, with one noise on either side.

        Facts that share noise are one release, of whatever answers they are.
        """
        known = self.facts.number | (self.ours.law[:, 0] >= 0.0) | (self.theirs.law[:, 0] >= 0.0)
        together = self.ours.first >= 0
        shown = np.flatnonzero(known | together | (self.ours.log != self.theirs.log))
        marks = np.column_stack(
            [self.facts.source, self.calls, self.ours.law, self.theirs.law, self.facts.number]
        )
        marks[together] = 0.0
        marks[together, 0] = -1.0 - self.ours.first[together]
        marks = marks[shown]
        if not shown.size:
            return
        if (marks == marks[0]).all():
            yield shown
            return
        _, first, group = np.unique(marks, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(group.ravel(), kind="stable")
        parts = np.split(shown[order], np.cumsum(np.bincount(group.ravel()))[:-1])
        yield from (parts[place] for place in np.argsort(first))

    def release(self, places: Ints) -> ReleaseLoss:
        """These facts as one release."""
        first = int(places[0])
        number, where = bool(self.facts.number[first]), self.where(first)
        seen = self.facts.seen[places] if number else self.facts.seen[places] > 0.0
        ours, theirs = self.ours.log[places], self.theirs.log[places]
        odd = np.flatnonzero(np.isnan(theirs) | ~np.isfinite(ours) | (theirs == np.inf))
        if odd.size:
            loss_between(float(ours[odd[0]]), float(theirs[odd[0]]), where)
        gone = bool((theirs == -np.inf).any())
        given, other = self.facts.value.base[places], self.other.value.base[places]
        if choice := self._choice(places):
            given, other, seen = choice
        return ReleaseLoss(
            where=where,
            kernel=_kernel(self.ours.law[first], number=number),
            neighbour_kernel=_kernel(self.theirs.law[first], number=number),
            input=_shown(given),
            neighbour_input=_shown(other),
            output=_shown(seen),
            loss=math.inf if gone else math.fsum((ours - theirs).tolist()),
        )

    def _choice(self, places: Ints) -> tuple[Floats, Floats, Any] | None:
        """The scores on both sides, and the place of the largest; None for other facts."""
        sources = set(self.facts.source[places].tolist())
        if len(sources) != 1 or (source := sources.pop()) >= len(self.recorder.answers):
            return None
        answer, same = self.recorder.answers[source], self.replayed.answers[source]
        if answer.kind != "largest" or len(answer.outcome) != 1:
            return None
        return answer.value.base[0], same.value.base[0], answer.outcome


def _kernel(law: Floats, *, number: bool) -> Any:
    """A kernel for a row of `Likelihood.law`; None without noise."""
    kind, scale, shared_kind, shared_scale = law.tolist()
    if kind < 0.0:
        return None
    noise = _noise(int(kind), scale)
    if number:
        return noise
    return Comparison(noise, _noise(int(shared_kind), shared_scale) if shared_kind >= 0.0 else None)


def _noise(kind: int, scale: float) -> Any:
    name = KINDS[kind]
    return _KERNELS[name](scale) if name in _KERNELS else Noise(name, scale)


def _shown(values: Any) -> Any:
    return values.item() if values.size == 1 else values


def loss_between(ours: float, theirs: float, place: str) -> float:
    """`log p(o) - log q(o)` of a drawn output."""
    if math.isnan(ours) or math.isnan(theirs) or ours == -math.inf or math.inf in (ours, theirs):
        raise CannotFollow(
            f"{place}: the log density of a release is {ours} on the data it was drawn on, and "
            f"{theirs} on the other. Check log_density of its kernel."
        )
    return float(ours - theirs)
