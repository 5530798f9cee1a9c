"""Finders, which propose the pairs to audit: ask for a pair, tell how much it showed.

A new finder adds its name to `FINDERS`. `finder.py` has what they share.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np

from dpaudit.architecture import Finder
from dpaudit.domains import shown
from dpaudit.neighbours import FixedPairs, Relation, pairs
from dpaudit.search.auto import START_SHARES, AutoFinder, Shares
from dpaudit.search.evolve import EvolveFinder, Mutations
from dpaudit.search.finder import Memory, fingerprint
from dpaudit.search.gp import Bandit, Features, GaussianProcessFinder, Surrogate
from dpaudit.search.grid import FixedFinder, GridFinder
from dpaudit.search.optuna import OptunaFinder
from dpaudit.search.spread import RandomFinder, ShuffledOptions, SpreadChooser, SpreadFinder, Strata

FINDERS: dict[str, Callable[[Relation, np.random.Generator], Finder]] = {
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


def make_finder(name: str, relation: Relation, rng: np.random.Generator) -> Finder:
    """The finder of this name, searching this relation.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import replace_one
    >>> finder = make_finder("auto", replace_one(floats(0, 1)), np.random.default_rng(7))
    >>> print(finder.ask())
    data=[1.0], neighbour=[0.0]
    """
    check_finder(name)
    return FINDERS[name](relation, rng)


def check_finder(finder: Any) -> None:
    """Refuse anything but the name of a finder, or a finder.

    >>> check_finder("evolv")
    Traceback (most recent call last):
    ValueError: finder must be one of 'auto', ..., got 'evolv'. Did you mean 'evolve'?
    """
    if not isinstance(finder, str):
        if _is_finder(finder):
            return
        raise TypeError(
            f"finder must be a name, or an object with ask() and tell(pair, score), "
            f"got {shown(finder)}."
        )
    if finder == "vizier":
        raise ValueError(NO_VIZIER)
    if finder not in FINDERS:
        close = difflib.get_close_matches(finder, FINDERS, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        known = ", ".join(repr(known) for known in sorted(FINDERS))
        raise ValueError(f"finder must be one of {known}, got {finder!r}.{hint}")


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
        return neighbours
    if not isinstance(neighbours, Relation) or isinstance(neighbours, type):
        raise TypeError(
            f"neighbours must be a relation such as replace_one(floats(0, 1)), a list of pairs, or "
            f"an object with ask() and tell(pair, score), got {shown(neighbours)}."
        )
    if isinstance(finder, str):
        return make_finder(finder, neighbours, rng)
    check_finder(finder)
    return finder


def _is_finder(given: Any) -> TypeGuard[Finder]:
    """Whether an object has the two methods of a finder. A class has them, but is not yet one."""
    methods = (getattr(given, name, None) for name in ("ask", "tell"))
    return not isinstance(given, type) and all(map(callable, methods))


def _refuse(finder: Any, reason: str) -> None:
    if finder != "auto":
        raise ValueError(f"{reason}: leave out finder={finder!r}.")
