"""The records of a pair: the extreme ones, and random ones in the patterns in which bugs show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dpaudit.domains import Domain, canonical

TRIES = 100  # draws of another record before an edge is taken


def told_apart(domain: Domain, records: Iterable[Any]) -> list[Any]:
    """The records, but of those that a mechanism cannot tell apart (by a map) only the first."""
    found: dict[str, Any] = {}
    for record in records:
        found.setdefault(_seen(domain, record), record)
    return list(found.values())


def edges_told_apart(domain: Domain) -> list[Any]:
    """The edges of a domain that a mechanism can tell apart."""
    return told_apart(domain, domain.edges())


def edge_sizes(fewest: int, most: int) -> list[int]:
    """The sizes in which edge pairs are tried: the three smallest and the biggest."""
    return sorted({size for size in (fewest, fewest + 1, fewest + 2, most) if size <= most})


def random_size(fewest: int, most: int, rng: np.random.Generator) -> int:
    """Log-uniform: small datasets are the likely ones, the biggest still turn up."""
    return min(most, int(fewest * ((most + 1) / fewest) ** rng.random()))


def random_records(domain: Domain, count: int, rng: np.random.Generator) -> list[Any]:
    """All equal, of two values, or each drawn anew (half of the time)."""
    kind = rng.integers(4)
    if kind == 0:
        return [domain.draw(rng)] * count
    if kind == 1:
        values = [domain.draw(rng), domain.draw(rng)]
        return [values[which] for which in rng.integers(2, size=count)]
    return [domain.draw(rng) for _ in range(count)]


def random_differing(
    domain: Domain, others: Sequence[Any], count: int, rng: np.random.Generator
) -> list[Any]:
    """Records that will differ: sometimes the first repeats another one of the dataset."""
    repeats = len(others) > 0 and rng.random() < 0.25
    first = others[0] if repeats else domain.draw(rng)
    return [first, *(domain.draw(rng) for _ in range(count - 1))]


def another(domain: Domain, record: Any, rng: np.random.Generator) -> Any:
    """A random record that a mechanism can tell from this one."""
    seen = _seen(domain, record)
    for _ in range(TRIES):
        if _seen(domain, drawn := domain.draw(rng)) != seen:
            return drawn
    return next(edge for edge in domain.edges() if _seen(domain, edge) != seen)


def _seen(domain: Domain, record: Any) -> str:
    return canonical(domain.dataset([record]))
