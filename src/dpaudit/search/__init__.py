"""What proposes the pairs to audit: ask for a pair, tell how much it showed.

One file per finder; a new one adds its file here and its name to `FINDERS`.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from dpaudit.domains import shown
from dpaudit.neighbours import FixedPairs, Relation, pairs
from dpaudit.search.auto import AutoFinder
from dpaudit.search.evolve import EvolveFinder
from dpaudit.search.features import Features
from dpaudit.search.finder import Finder, Resumable
from dpaudit.search.fixed import FixedFinder
from dpaudit.search.gp import Bandit, GaussianProcessFinder
from dpaudit.search.grid import GridFinder
from dpaudit.search.memory import Memory, fingerprint
from dpaudit.search.mutations import Mutations
from dpaudit.search.optuna import OptunaFinder
from dpaudit.search.random import RandomFinder
from dpaudit.search.shares import Shares
from dpaudit.search.spread import SpreadChooser, SpreadFinder
from dpaudit.search.strata import Rounds, Strata
from dpaudit.search.surrogate import Surrogate


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


def as_finder(neighbours: Any, finder: str | Finder, rng: np.random.Generator) -> Finder:
    """What proposes the pairs: a finder by its name, or the user's own.

    A user's own finder may also take the place of `neighbours`. A list of pairs is tried in its
    order.

    >>> own = as_finder([([1.0], [])], "auto", np.random.default_rng(0))
    >>> print(own.ask(), own.ask())
    data=[1.0], neighbour=[] None
    """
    if isinstance(neighbours, (list, tuple)):
        neighbours = pairs(neighbours)
    if isinstance(neighbours, FixedPairs):
        _refuse(finder, "a list of pairs is tried in its order")
        return make_finder("fixed", neighbours, rng)
    if _is_finder(neighbours):
        _refuse(finder, f"{type(neighbours).__name__} is a finder itself")
        own: Finder = neighbours
        return own
    if isinstance(neighbours, Relation) and not isinstance(neighbours, type):
        return make_finder(finder, neighbours, rng) if isinstance(finder, str) else _checked(finder)
    raise TypeError(
        f"neighbours must be a relation such as replace_one(floats(0, 1)), a list of pairs, or an "
        f"object with ask() and tell(pair, score), got {shown(neighbours)}."
    )


def _is_finder(given: Any) -> bool:
    """Whether an object has the two methods of a finder. A class has them, but is not yet one."""
    methods = (getattr(given, name, None) for name in ("ask", "tell"))
    return not isinstance(given, type) and all(map(callable, methods))


def _checked(finder: Any) -> Finder:
    if not _is_finder(finder):
        raise TypeError(
            f"finder must be a name, or an object with ask() and tell(pair, score), "
            f"got {shown(finder)}."
        )
    own: Finder = finder
    return own


def _refuse(finder: Any, reason: str) -> None:
    if finder != "auto":
        raise ValueError(f"{reason}: leave out finder={finder!r}.")
