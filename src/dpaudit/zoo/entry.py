"""A mechanism of the zoo with what is known of it, and what entries have in common."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from dpaudit.claims import ApproxDP, PureDP, RenyiDP
from dpaudit.domains import floats
from dpaudit.neighbours import Pair, Relation, add_or_remove_one, query_answers

DP_AUDITORIUM = "Kong, Medina, Ribero and Syed 2023, DP-Auditorium, section 6.1"
SIX_RECORDS = partial(add_or_remove_one, floats(0, 1), max_records=6)
TEN_ANSWERS = partial(query_answers, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooEntry:
    """A mechanism of the zoo, what it claims and what is true.

    `true_epsilon` is the least epsilon that holds in the claim's own terms (at its delta, or at its
    order) for the pairs of `neighbours()`, and where the source bounds neither the length nor the
    range of data, for all; infinite if none holds, None if it is not known in closed form. `pair`
    shows the bug, or is a hard one for a mechanism that has none; it is one of `neighbours()`.
    """

    name: str
    factory: Callable[[], Callable[..., npt.NDArray[np.generic]]]
    claim: PureDP | ApproxDP | RenyiDP
    keeps_claim: bool
    true_epsilon: float | None
    bug: str
    source: str
    pair: Pair
    neighbours: Callable[[], Relation]


def pair_of(data: Sequence[float], neighbour: Sequence[float]) -> Pair:
    """Give two datasets of floats.

    >>> print(pair_of([0, 1], [0]))
    data=[0.0, 1.0], neighbour=[0.0]
    """
    return Pair(np.array(data, dtype=np.float64), np.array(neighbour, dtype=np.float64))


COUNT_PAIR = pair_of([1], [])
