"""What proposes the pairs to audit: ask for a pair, tell how much it showed.

One file per finder; a new one adds its file here and its name to `FINDERS`.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dpaudit.finders.auto import AutoFinder
from dpaudit.finders.evolve import EvolveFinder
from dpaudit.finders.finder import Finder, Resumable
from dpaudit.finders.fixed import FixedFinder
from dpaudit.finders.gp import GaussianProcessFinder
from dpaudit.finders.grid import GridFinder
from dpaudit.finders.memory import Memory
from dpaudit.finders.optuna import OptunaFinder
from dpaudit.finders.random import RandomFinder
from dpaudit.finders.spread import SpreadFinder
from dpaudit.neighbours import Relation

__all__ = ["FINDERS", "Finder", "Memory", "Resumable", "make_finder"]


class Maker(Protocol):
    """What makes a finder: its class."""

    def __call__(
        self, relation: Relation, rng: np.random.Generator, memory: Memory | None = None
    ) -> Finder: ...


FINDERS: dict[str, Maker] = {
    "auto": AutoFinder,
    "evolve": EvolveFinder,
    "fixed": FixedFinder,
    "gp": GaussianProcessFinder,
    "grid": GridFinder,
    "optuna": OptunaFinder,
    "random": RandomFinder,
    "spread": SpreadFinder,
}

NO_VIZIER = (
    "there is no finder 'vizier': the Gaussian-process designer of google-vizier does not run with "
    "the JAX that its own extra installs. finder='gp' is the same idea (a batched Gaussian-process "
    "bandit) and needs nothing more; finder='optuna' brings the samplers of Optuna."
)


def make_finder(
    name: str, relation: Relation, rng: np.random.Generator, *, repeat: bool = False
) -> Finder:
    """The finder of this name, searching this relation; with `repeat` a pair may come again.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import replace_one
    >>> finder = make_finder("auto", replace_one(floats(0, 1)), np.random.default_rng(7))
    >>> print(finder.ask())
    data=[1.0], neighbour=[0.0]
    """
    if name == "vizier":
        raise ValueError(NO_VIZIER)
    if name not in FINDERS:
        known = ", ".join(repr(known) for known in sorted(FINDERS))
        raise ValueError(f"finder must be one of {known}, got {name!r}.")
    return FINDERS[name](relation, rng, Memory(repeat=repeat))
