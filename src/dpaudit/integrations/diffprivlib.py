"""diffprivlib: mechanisms, tools and models, each with the claim of its own epsilon and delta.

They draw from the audit's `rng`, so that an audit can be repeated; a seed that the object was given
is not used.
"""

import copy
import inspect
from collections.abc import Iterator
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.claims import PureDP
from dpaudit.domains import Domain, categories, floats
from dpaudit.errors import InvalidMechanism
from dpaudit.integrations import building
from dpaudit.mechanism import Subject, name_with_parameters, shown_coins
from dpaudit.neighbours import Relation, add_or_remove_one, replace_one
from dpaudit.outputs import short

_WHOLE = ("Geometric", "GeometricFolded", "GeometricTruncated", "GaussianDiscrete")
_SCORED = ("Exponential", "PermuteAndFlip")
_LABELLED = ("ExponentialCategorical", "ExponentialHierarchical")  # any two labels are neighbours
_ADDING = ("histogram", "histogramdd", "histogram2d")  # one record more or less moves one bin by 1
_NOT_LEARNED = ("n_features_in_", "n_samples_seen_", "n_iter_", "classes_", "labels_")


def from_diffprivlib(
    thing: Any, *, records: Domain | None = None, max_records: int = 10, **settings: Any
) -> Subject:
    """Make a subject of a mechanism, a tool or a model of diffprivlib.

    A mechanism claims its epsilon and delta for two values its sensitivity apart; the scores of the
    exponential mechanism are the data. A tool (`diffprivlib.tools.mean`) is called with the
    `settings`, and claims their epsilon when one record of `bounds` (or `range`) is replaced; a
    histogram, when one is added or removed. A model (an unfitted estimator) is fitted on
    `max_records` records, and its output is what it has learned; `records` describes them: vectors,
    or `dpaudit.records(x=dpaudit.vectors(...), y=...)` for a supervised model.

    >>> import dpaudit
    >>> from diffprivlib.mechanisms import Laplace
    >>> subject = dpaudit.integrations.from_diffprivlib(Laplace(epsilon=0.5, sensitivity=2))
    >>> print(str(subject).replace("; ", chr(10)))
    Laplace(epsilon=0.5, sensitivity=2.0): 0.5-DP
    1 query answer in [-2, 4], each moving by at most 2
    """
    name = type(thing).__name__
    if inspect.isfunction(thing):
        return _of_tool(thing, records, max_records, settings)
    is_mechanism = callable(getattr(thing, "randomise", None))
    if not is_mechanism and not (callable(getattr(thing, "fit", 0)) and hasattr(thing, "epsilon")):
        raise InvalidMechanism(
            f"from_diffprivlib needs a mechanism, a tool or an unfitted model, got {short(thing)}. "
            "A mechanism is made first: Laplace(epsilon=1, sensitivity=1)."
        )
    if settings:
        raise InvalidMechanism(f"{name} has its settings already; leave out {', '.join(settings)}.")
    if not is_mechanism:
        return _of_model(thing, records, max_records)
    release = partial(_chosen if name in _SCORED else _randomised, thing)
    claim = building.stated_claim(thing.epsilon, thing.delta)
    said = name_with_parameters(thing)
    return building.released(said, release, claim, neighbours_of(name, thing))


def neighbours_of(name: str, thing: Any) -> Relation:
    """The values that a mechanism of this name must not tell apart."""
    if name in _SCORED:
        return building.answers(len(thing.utility), thing.sensitivity, one_way=thing.monotonic)
    if name == "Binary":
        return replace_one(categories(thing.value0, thing.value1), max_records=1)
    if name in _LABELLED:
        return replace_one(categories(*thing._domain_values), max_records=1)
    if not hasattr(thing, "sensitivity") or name == "Bingham":
        raise InvalidMechanism(
            f"from_diffprivlib knows no neighbours for {name}. Write the mechanism as a function: "
            "f(data, size, rng), and say which data are neighbours."
        )
    low, high = getattr(thing, "lower", None), getattr(thing, "upper", None)
    return building.answers(1, thing.sensitivity, whole=name in _WHOLE, low=low, high=high)


def _of_tool(
    tool: FunctionType, records: Domain | None, max_records: int, settings: dict[str, Any]
) -> Subject:
    name, named = tool.__name__, inspect.signature(tool).parameters
    epsilon = settings["epsilon"] if "epsilon" in settings else named["epsilon"].default
    bounds = settings.get("bounds", settings.get("range"))
    if records is None and bounds is None:
        raise InvalidMechanism(
            f"{name} needs the bounds of its records, or it looks for them in the data, which is a "
            f"leak: from_diffprivlib({name}, bounds=(0, 1))."
        )
    domain = floats(*map(float, np.ravel(np.asarray(bounds)))) if records is None else records
    relation = add_or_remove_one if name in _ADDING else replace_one
    near = relation(domain, min_records=1, max_records=max_records)
    said = name_with_parameters(partial(tool, **settings))
    return building.released(said, partial(_computed, tool, settings), PureDP(epsilon), near)


def _of_model(model: Any, records: Domain | None, size: int) -> Subject:
    name = type(model).__name__
    if records is None:
        raise InvalidMechanism(
            f"say what {name} is fitted on: from_diffprivlib(model, records=dpaudit.vectors(2, 0, "
            "1)), or dpaudit.records(x=dpaudit.vectors(2, 0, 1), y=...) for a supervised model."
        )
    near = replace_one(records, min_records=size, max_records=size)
    said = name_with_parameters(model)
    return building.released(said, partial(_fitted, model), PureDP(model.epsilon), near)


def _randomised(thing: Any, data: Any, rng: np.random.Generator) -> Any:
    """One output on a single value."""
    fresh = copy.copy(thing)
    fresh._rng = _state(rng)
    return fresh.randomise(building.first_value(data))


def _chosen(thing: Any, data: Any, rng: np.random.Generator) -> Any:
    """The candidate that these scores choose."""
    named = inspect.signature(type(thing)).parameters
    kept = {each: getattr(thing, each) for each in named if each not in ("utility", "random_state")}
    return type(thing)(**kept, utility=list(map(float, data)), random_state=_state(rng)).randomise()


def _computed(tool: Any, settings: dict[str, Any], data: Any, rng: np.random.Generator) -> Any:
    """One answer of a tool; of a histogram the counts, since the edges are settings."""
    found = tool(data, **{"random_state": _state(rng), "accountant": _unlimited(), **settings})
    return np.asarray(found[0]) if isinstance(found, tuple) else found


def _fitted(model: Any, data: Any, rng: np.random.Generator) -> Any:
    """The numbers that a fresh copy of the model learns, in the order of its attributes' names."""
    fresh = type(model)(**{**model.get_params(deep=False), "accountant": _unlimited()})
    fresh.set_params(random_state=_state(rng))
    if isinstance(data, list) and data and isinstance(data[0], dict):
        fresh.fit(np.array([row["x"] for row in data]), np.array([row["y"] for row in data]))
    else:
        fresh.fit(np.asarray(data))
    learned = sorted(name for name in vars(fresh) if name.endswith("_") and name[0] != "_")
    kept = [part for name in learned if name not in _NOT_LEARNED for part in _numbers(fresh, name)]
    return np.concatenate([part.astype(np.float64) for part in kept])


def _numbers(fitted: Any, name: str) -> Iterator[NDArray[Any]]:
    """The numbers in an attribute; of a tree its splits and labels, of a forest those of each."""
    value = getattr(fitted, name)
    if name == "estimators_":
        for tree in value:
            yield from _numbers(tree, "tree_")
    elif name == "tree_":
        for part in ("feature", "threshold", "value"):
            yield np.ravel(getattr(value, part))
    elif np.ravel(value).dtype.kind in "fiu":
        yield np.ravel(value)


def _state(rng: np.random.Generator) -> np.random.RandomState:
    return np.random.RandomState(shown_coins(rng).bit_generator)


def _unlimited() -> Any:
    """An accountant for one output: a shared one would count every draw of an audit."""
    return building.needed("diffprivlib.accountant", "diffprivlib").BudgetAccountant()
