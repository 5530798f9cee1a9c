"""Records made of parts, each part from its own domain: what `records` and `vectors` share.

At most one part is odd at a time in what is drawn or chosen, or the odd ones would hide each other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dpaudit.domains.chooser import Chooser
from dpaudit.domains.domain import MOST_SIMPLER, ODD_SHARE, one_of
from dpaudit.domains.refinable import Refinable
from dpaudit.domains.showing import canonical

FEW_PARTS = 6  # up to here every part is made simpler alone; beyond, halves and quarters too


def draw_parts(domains: Sequence[Refinable], rng: np.random.Generator) -> list[Any]:
    """Each part drawn; where odd values are let in, half of the time one part is odd."""
    values = [domain.without_odd_values().draw(rng) for domain in domains]
    odd = _odd_places(domains)
    if odd and rng.random() < ODD_SHARE:
        place = one_of(odd, rng)
        values[place] = one_of(domains[place].odd_values(), rng)
    return values


def choose_parts(
    domains: Sequence[Refinable], chooser: Chooser, name: str, labels: Sequence[str]
) -> list[Any]:
    """Each part chosen under its label; `name` asks which one is odd, if odd values are let in."""
    odd = _odd_places(domains)
    which = chooser.one_of(f"{name}#odd", 1 + len(odd)) if odd else 0
    values = []
    for place, (domain, label) in enumerate(zip(domains, labels, strict=True)):
        if which > 0 and odd[which - 1] == place:
            offered = domain.odd_values()
            values.append(offered[chooser.one_of(f"{label}#which", len(offered))])
        else:
            values.append(domain.without_odd_values().choose(chooser, label))
    return values


def join_coordinates(domains: Sequence[Refinable], values: Sequence[Any]) -> tuple[float, ...]:
    """The coordinates of all parts, one after the other."""
    parts = zip(domains, values, strict=True)
    return tuple(itertools.chain.from_iterable(d.coordinates(value) for d, value in parts))


def change_parts(
    domains: Sequence[Refinable], values: Sequence[Any], rng: np.random.Generator
) -> list[Any]:
    """One or a few parts changed, if any part can change."""
    changed = list(values)
    left = int(rng.geometric(0.7))
    for place in rng.permutation(len(changed)).tolist():
        changed[place] = domains[place].near(values[place], rng)
        left -= canonical(changed[place]) != canonical(values[place])
        if left == 0:
            break
    return changed


def simplify_parts(domains: Sequence[Refinable], values: Sequence[Any]) -> list[list[Any]]:
    """All parts simpler at once, then groups of many parts, then single parts, each in turn."""
    options = [domain.simpler(value) for domain, value in zip(domains, values, strict=True)]
    found: dict[str, list[Any]] = {}
    for changes in _changes(domains, values, options):
        candidate = [changes.get(place, value) for place, value in enumerate(values)]
        found.setdefault(canonical(candidate), candidate)
        if len(found) == MOST_SIMPLER:
            break
    return list(found.values())


def spread_parts(domains: Sequence[Refinable], points: int) -> list[tuple[Any, ...]]:
    """At most so many combinations: all of a grid over each part, or some of a finer grid."""
    finest, fitting = max(1, int(points ** (1 / len(domains)))), None
    while finest <= points:
        columns = [domain.grid(finest) for domain in domains]
        if math.prod(map(len, columns)) > points:
            break
        finest, fitting = max(finest + 1, finest * 5 // 4), columns
    if fitting is not None:
        return list(itertools.product(*fitting))
    return _lattice([domain.grid(points) for domain in domains], points)


def _lattice(columns: Sequence[Sequence[Any]], points: int) -> list[tuple[Any, ...]]:
    """A Kronecker sequence over the columns: multiples of the powers of 1/g, g^(d+1) = g + 1.

    Spreads evenly in any dimension, and further points only fill the gaps (Roberts 2018, "The
    unreasonable effectiveness of quasirandom sequences").
    """
    ratio = 1.5
    for _ in range(60):  # a contraction: converges to the last bit
        ratio = (1.0 + ratio) ** (1.0 / (len(columns) + 1))
    steps = [ratio ** -(place + 1) for place in range(len(columns))]
    return [
        tuple(
            column[int((row * step) % 1.0 * len(column))]
            for column, step in zip(columns, steps, strict=True)
        )
        for row in range(1, points + 1)
    ]


def _changes(
    domains: Sequence[Refinable], values: Sequence[Any], options: Sequence[Sequence[Any]]
) -> Iterator[dict[int, Any]]:
    """Which parts become what; the least plain parts first."""
    places = [place for place, offered in enumerate(options) if offered]
    places.sort(key=lambda place: -domains[place].plainness(values[place]))
    for count in (1, 2, 4) if len(places) > FEW_PARTS else (1,):
        size = max(1, math.ceil(len(places) / count))
        for start in range(0, len(places), size):
            yield {place: options[place][0] for place in places[start : start + size]}
    for depth in range(MOST_SIMPLER):
        for place in places:
            if depth < len(options[place]):
                yield {place: options[place][depth]}


def _odd_places(domains: Sequence[Refinable]) -> list[int]:
    return [place for place, domain in enumerate(domains) if domain.odd_values()]
