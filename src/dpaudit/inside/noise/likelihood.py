"""The log likelihood of what one run showed of its noise: numbers, and outcomes of comparisons.

Facts that are alone with their noise have a law of their own. The others are taken one after the
other: a number makes its noise known; what is still unknown after all numbers is an event, alone or
together with others that share one noise.

Both runs of a transcript show the same facts, so their log likelihoods are compared.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats
from dpaudit.inside.kernels import MACHINE, ROUNDINGS
from dpaudit.inside.noise.facts import Facts
from dpaudit.inside.noise.integrals import PRECISION, Given, log_integral
from dpaudit.inside.noise.laws import KINDS, WHOLE, Noise
from dpaudit.inside.noise.noisy import Ints, Noisy
from dpaudit.inside.recording import Atoms, Recorder

SAME_AGAIN = 1e-9  # of the size of a number that is shown again with the same noise
Form = tuple[tuple[int, float], ...]  # noises with factors, the first factor being 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Likelihood:
    """The log likelihood of every fact, and how far each may be off.

    `law` says of every fact which noise it had: the number of its kind in `KINDS` and its scale,
    then those of a shared noise. A fact that was clear from the others has the kind -1. Facts that
    share noise have one likelihood together, which stands at the first of them: `first` says at
    which, and is -1 for all others.
    """

    log: Floats
    slack: Floats
    law: Floats
    first: Ints

    @classmethod
    def unknown(cls, count: int) -> Likelihood:
        """Of facts that were not looked at yet."""
        law = np.tile(np.array([-1.0, 0.0, -1.0, 0.0]), (count, 1))
        alone = np.full(count, -1)
        return cls(log=np.zeros(count), slack=np.zeros(count), law=law, first=alone)

    def note(self, places: Any, noise: Noise, scale: Any, shared: Noise | None = None) -> None:
        """Say which noise facts had, with a scale that counts their factor."""
        self.law[places, 0], self.law[places, 1] = KINDS.index(noise.kind), scale
        if shared is not None:
            self.law[places, 2], self.law[places, 3] = KINDS.index(shared.kind), shared.scale


class Unfollowed(Exception):
    """Noise that is shared in a way that has no formula here."""


def likelihood_of(facts: Facts, recorder: Recorder) -> Likelihood:
    """The log likelihood of the facts of a run; Unfollowed where there is no formula."""
    count = facts.value.size
    made = Likelihood.unknown(count)
    error = facts.value.off
    own = _alone(facts.value, recorder.atoms)
    for kind, places, factor, scale in own:
        _independent(facts, places, factor, Noise(kind, scale), error[places], made)
    taken = np.zeros(count, dtype=bool)
    for _, places, _, _ in own:
        taken[places] = True
    _shared(facts, recorder.atoms, np.flatnonzero(~taken), error, made)
    return made


def _alone(value: Noisy, atoms: Atoms) -> list[tuple[str, Ints, Floats, Floats]]:
    """The facts that share no noise and have a law: by kind, their places, factors and scales."""
    used = value.factors != 0.0
    terms = used.sum(axis=-1)
    if not terms.any():
        return []
    usage = np.bincount(value.atoms[used], minlength=atoms.count)
    unshared = ((usage[value.atoms] == 1) | ~used).all(axis=-1) & (terms > 0)
    kinds, names = np.unique(atoms.kind, return_inverse=True)[::-1]
    found = []
    for number, name in enumerate(names.tolist()):
        pure = unshared & ((kinds[value.atoms] == number) | ~used).all(axis=-1)
        one = np.flatnonzero(pure & (terms == 1))
        column = np.argmax(used[one], axis=-1)
        atom = value.atoms[one, column]
        found.append((name, one, value.factors[one, column], atoms.scale[atom]))
        several = np.flatnonzero(pure & (terms > 1))
        if name == "normal":
            spread = np.where(used, value.factors * atoms.scale[value.atoms], 0.0)[several]
            sigma = np.sqrt(np.square(spread).sum(axis=-1))
            found.append((name, several, np.ones(several.size), sigma))
    return [each for each in found if each[1].size]


def _independent(
    facts: Facts, places: Ints, factor: Floats, noise: Noise, error: Floats, made: Likelihood
) -> None:
    """Facts of independent noise of one kind: `base + factor * noise`, all at once."""
    base, seen, number = facts.value.base[places], facts.seen[places], facts.number[places]
    whole = noise.kind in WHOLE
    with np.errstate(all="ignore"):
        edge = np.where(number, seen - base, -base) / factor
        edge = _whole(edge, seen, base) if whole else edge
        density = noise.log_density(edge) - (0.0 if whole else np.log(np.abs(factor)))
        density = np.where(np.isfinite(seen), density, -np.inf)
        events = not number.all()
        event = _log_event(noise, edge, factor, seen, facts.strict[places]) if events else density
        certain = np.where(number, _equal(seen, base), (base > 0.0) == (seen > 0.0))
        finite = np.isfinite(base)  # what is not finite stays as it is, with any noise
        found = np.where(finite, np.where(number, density, event), np.where(certain, 0.0, -np.inf))
        slack = np.nan_to_num(error / np.abs(factor) * noise.rate(edge))
    made.log[places] = found
    made.slack[places] = np.where(finite, slack, 0.0)
    made.note(places, noise, noise.scale if whole else noise.scale * np.abs(factor))


def _equal(one: Floats, other: Floats) -> npt.NDArray[np.bool_]:
    return np.asarray((one == other) | (np.isnan(one) & np.isnan(other)))


def _whole(edge: Floats, seen: Floats, base: Floats) -> Floats:
    """Whole numbers that the rounding of floats has moved."""
    near = np.rint(edge)
    return np.where(np.abs(edge - near) <= 1e-9 * (1.0 + np.abs(base) + np.abs(seen)), near, edge)


def _log_event(noise: Noise, edge: Floats, factor: Floats, seen: Floats, strict: Any) -> Floats:
    """The log probability that `factor * noise` lies above `factor * edge`, or that it does not."""
    above = (factor > 0.0) == (seen > 0.0)  # of the noise itself
    if noise.kind not in WHOLE:
        return np.where(above, noise.log_above(edge), noise.log_below(edge))
    # Whole numbers can sit on the edge: whether they count depends on the side that was seen.
    counted = np.where(seen > 0.0, ~np.asarray(strict), np.asarray(strict))
    up = np.where(counted, np.ceil(edge) - 1.0, np.floor(edge))
    down = np.where(counted, np.floor(edge), np.ceil(edge) - 1.0)
    return np.where(above, noise.log_above(up), noise.log_below(down))


@dataclass(slots=True)
class _Shared:
    """The facts that share noise, while they are taken one after the other."""

    facts: Facts
    atoms: Atoms
    made: Likelihood
    places: dict[int, set[int]] = field(default_factory=dict)  # by noise: the facts that have it
    known: dict[int, tuple[float, float]] = field(default_factory=dict)  # noises, with errors
    forms: dict[Form, tuple[float, float]] = field(default_factory=dict)  # sums, with errors

    def rest(self, place: int, error: float) -> tuple[float, float, Form]:
        """The plain part of a number, its error, and the noise that is not known yet."""
        value = self.facts.value
        used = np.flatnonzero(value.factors[place])
        atoms, factors = value.atoms[place][used].tolist(), value.factors[place][used].tolist()
        parts, free = [float(value.base[place])], []
        for atom, factor in zip(atoms, factors, strict=True):
            if atom in self.known:
                number, off = self.known[atom]
                parts.append(number * factor)
                error += abs(factor) * off + ROUNDINGS * MACHINE * abs(number * factor)
            else:
                free.append((atom, factor))
        total = math.fsum(parts) if all(map(math.isfinite, parts)) else sum(parts)
        return total, error, tuple(free)


def _shared(facts: Facts, atoms: Atoms, places: Ints, error: Floats, made: Likelihood) -> None:
    """Numbers first, those with least unknown noise before the others; then the events."""
    state = _Shared(facts, atoms, made)
    for place in places.tolist():
        for atom in facts.value.atoms[place][facts.value.factors[place] != 0.0].tolist():
            state.places.setdefault(atom, set()).add(place)
    waiting = [place for place in places.tolist() if facts.number[place]]
    while waiting:
        ready = [place for place in waiting if len(state.rest(place, 0.0)[2]) <= 1] or waiting
        for place in ready:
            _take_number(state, place, float(error[place]))
        taken = set(ready)
        waiting = [place for place in waiting if place not in taken]
    events: dict[Form, list[Seen]] = defaultdict(list)
    for place in places.tolist():
        if not facts.number[place]:
            _take_event(state, place, float(error[place]), events)
    for group in _groups(events):
        _take_group(state, group, events)


def _take_number(state: _Shared, place: int, error: float) -> None:
    """A number: its density, and the noise that it makes known."""
    base, error, free = state.rest(place, error)
    seen, made = float(state.facts.seen[place]), state.made
    if not free or not math.isfinite(base):
        near = error + SAME_AGAIN * (abs(base) + abs(seen))
        same = bool(_equal(np.asarray(seen), np.asarray(base))) or abs(seen - base) <= near
        made.log[place] = 0.0 if same else -math.inf
        return
    form, factor = _form(free)
    if not math.isfinite(seen):
        made.log[place] = -math.inf
        return
    number = (seen - base) / factor
    off = (error + ROUNDINGS * MACHINE * abs(seen)) / abs(factor)
    if form in state.forms:
        known, its = state.forms[form]
        near = its + off + SAME_AGAIN * (abs(known) + abs(number))
        made.log[place] = 0.0 if abs(known - number) <= near else -math.inf
        return
    noise = _law_of(state, form)
    whole = noise.kind in WHOLE
    x = _whole(np.asarray(number), np.asarray(seen), np.asarray(base)) if whole else number
    made.log[place] = float(noise.log_density(x)) - (0.0 if whole else math.log(abs(factor)))
    made.slack[place] = off * float(noise.rate(x))
    made.note(place, noise, float(noise.scale) * (1.0 if whole else abs(factor)))
    if len(form) == 1:
        state.known[form[0][0]] = number, off
    else:
        state.forms[form] = number, off


@dataclass(frozen=True, slots=True)
class Seen:
    """The outcome of a comparison: a sum of noise lies above an edge, or below it."""

    place: int
    edge: float
    above: bool
    inclusive: bool  # of the edge itself
    off: float


def _take_event(state: _Shared, place: int, error: float, events: dict[Form, list[Seen]]) -> None:
    """The outcome of a comparison: clear from what is known, or an event for later."""
    base, error, free = state.rest(place, error)
    above, strict = bool(state.facts.seen[place] > 0.0), bool(state.facts.strict[place])
    form, factor = _form(free) if free else ((), 1.0)
    clear = not free
    if form in state.forms and math.isfinite(base):
        number, off = state.forms[form]
        base, error, clear = base + factor * number, error + abs(factor) * off, True
    if clear or not math.isfinite(base):
        holds = (base > 0.0 if strict else base >= 0.0) == above
        near = state.facts.value.noisy[place] and abs(base) <= error
        state.made.log[place] = 0.0 if holds or near else -math.inf
        return
    events[form].append(
        Seen(place, -base / factor, (factor > 0.0) == above, above != strict, error / abs(factor))
    )


def _form(free: Form) -> tuple[Form, float]:
    """A sum of noise up to its first factor: two numbers of one form know each other."""
    first = free[0][1]
    return tuple((atom, factor / first) for atom, factor in free), first


def _law_of(state: _Shared, form: Form) -> Noise:
    """The law of a sum of noise, where there is a formula and no other fact has a part of it."""
    if len(form) > 1:
        mine = {atom for atom, _ in form}
        for place in {place for atom in mine for place in state.places[atom]}:
            free = state.rest(place, 0.0)[2]
            if mine & {atom for atom, _ in free} and _form(free)[0] != form:
                raise Unfollowed("gives numbers that share noise in a way that is not followed")
    return _law_of_sum(state.atoms, form)


def _law_of_sum(atoms: Atoms, form: Form) -> Noise:
    """The law of independent noise with factors."""
    kinds = [atoms.calls[int(atoms.call[atom])].kind for atom, _ in form]
    scales = [float(atoms.scale[atom]) for atom, _ in form]
    if len(form) == 1:
        return Noise(kinds[0], scales[0])
    if set(kinds) == {"normal"}:
        return Noise("normal", math.hypot(*(s * c for s, (_, c) in zip(scales, form, strict=True))))
    if kinds == ["geometric"] * 2 and form[1][1] == -1.0 and scales[0] == scales[1]:
        return Noise("two-sided", -1.0 / math.log1p(-scales[0]))
    raise Unfollowed(f"adds up {' and '.join(sorted(set(kinds)))} noise, which is not followed")


def _groups(events: dict[Form, list[Seen]]) -> list[list[Form]]:
    """The sums of noise that share some, together."""
    groups: list[tuple[set[int], list[Form]]] = []
    for form in events:
        atoms, together = {atom for atom, _ in form}, [form]
        apart = []
        for group in groups:
            if group[0] & atoms:
                atoms, together = atoms | group[0], together + group[1]
            else:
                apart.append(group)
        groups = [*apart, (atoms, together)]
    return [forms for _, forms in groups]


def _take_group(state: _Shared, group: list[Form], events: dict[Form, list[Seen]]) -> None:
    """The log probability of events that share noise; it stands at the first of them."""
    places, made = sorted(seen.place for form in group for seen in events[form]), state.made
    first = places[0]
    made.first[places] = first
    usage = Counter(atom for form in group for atom, _ in form)
    hubs = [atom for atom, count in usage.items() if count > 1]
    if len(hubs) > 1:
        raise Unfollowed("compares noisy numbers in a chain, which is not followed; use np.argmax")
    if not hubs:
        ((form),) = group
        try:
            noise = _law_of_sum(state.atoms, form)
        except Unfollowed:
            hubs = [form[0][0]]
        else:
            low, high = _interval(noise, events[form])
            edges = [edge for edge in (low, high) if math.isfinite(edge)]
            rate = max((float(noise.rate(edge)) for edge in edges), default=0.0)
            made.log[first] = float(noise.log_within(low, high))
            made.slack[first] = max(seen.off for seen in events[form]) * rate
            made.note(first, noise, noise.scale)
            return
    _integrate(state, hubs[0], group, events, first)


def _integrate(
    state: _Shared, hub: int, group: list[Form], events: dict[Form, list[Seen]], first: int
) -> None:
    """The events of a group, given the one noise that they share."""
    shared = _law_of_sum(state.atoms, ((hub, 1.0),))
    given, off, own = [], PRECISION, shared
    for form in group:
        slope = next(factor for atom, factor in form if atom == hub)
        rest = tuple((atom, factor) for atom, factor in form if atom != hub)
        apart, factor = _form(rest) if rest else ((), 1.0)
        noise = _law_of_sum(state.atoms, apart) if apart else None
        if shared.kind in WHOLE or (noise is not None and noise.kind in WHOLE):
            raise Unfollowed(
                "compares whole numbers of noise with each other, which is not followed"
            )
        low, high = _interval(shared, events[form])
        given.append(Given(slope, factor, noise, low, high))
        scale = abs(slope) * float(shared.scale)
        if noise is not None:
            scale = abs(factor) * float(noise.scale)
            own = Noise(noise.kind, scale)
        off += max(seen.off for seen in events[form]) * (10.0 / scale)
    found = log_integral(shared, given)
    if found is None:
        raise Unfollowed("compares noise in a way whose probability could not be computed")
    state.made.log[first], state.made.slack[first] = found, off
    state.made.note(first, own, own.scale, shared)


def _interval(noise: Noise, outcomes: list[Seen]) -> tuple[float, float]:
    """Where a sum of noise lies by all comparisons of it: above the one edge, up to the other."""
    low, high = -math.inf, math.inf
    for seen in outcomes:
        edge = seen.edge
        if noise.kind in WHOLE:
            near = float(np.rint(edge))
            edge = near if abs(edge - near) <= 1e-9 * (1.0 + abs(edge)) else edge
            below = math.ceil(edge) - 1.0  # the largest whole number that is less
            edge = below if seen.above == seen.inclusive else float(math.floor(edge))
        low, high = (max(low, edge), high) if seen.above else (low, min(high, edge))
    return low, high
