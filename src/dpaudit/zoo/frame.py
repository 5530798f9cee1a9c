"""What the mechanisms of the zoo share: a base that checks parameters, and an entry for each."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats
from dpaudit.claims import ApproxDP, PureDP, RenyiDP
from dpaudit.domains import floats
from dpaudit.errors import InvalidMechanism
from dpaudit.neighbours import Pair, Relation, add_or_remove_one, query_answers


@dataclass(frozen=True, slots=True)
class Allowed:
    """The values that a parameter may have: a test, and the words for an error."""

    test: Callable[[Any], bool]
    words: str


Positive = Annotated[float, Allowed(lambda value: 0 < value < math.inf, "a positive {}")]
Fraction = Annotated[float, Allowed(lambda value: 0 < value < 1, "0 < {} < 1")]
AtLeastOne = Annotated[int, Allowed(lambda value: value >= 1, "{} >= 1")]


@dataclass(frozen=True, slots=True)
class ZooMechanism:
    """A frozen value, called as `(data, size, rng)`; its annotations say what parameters may be."""

    name: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.name = cls.__name__

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            for allowed in getattr(field.type, "__metadata__", ()):
                if not allowed.test(value):
                    needed = allowed.words.format(field.name)
                    raise InvalidMechanism(f"{self.name} needs {needed}, got {value!r}.")
        self.check()

    def check(self) -> None:
        """Refuse parameters that do not fit together."""

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[Any]:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class EpsilonMechanism(ZooMechanism):
    """A mechanism whose first parameter is the epsilon that it claims.

    >>> EpsilonMechanism(-1.0)
    Traceback (most recent call last):
        ...
    dpaudit.errors.InvalidMechanism: EpsilonMechanism needs a positive epsilon, got -1.0.
    """

    epsilon: Positive = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooEntry:
    """A mechanism of the zoo, what it claims and what is true.

    `true_epsilon` is the least epsilon that holds in the claim's own terms (at its delta, or at its
    order) for the pairs of `neighbours()`, and where the source bounds neither the length nor the
    range of data, for all; infinite if none holds, None if it is not known in closed form. `pair`
    is one of `neighbours()`. It shows the bug, or is a hard one for a mechanism without a bug.
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


Shown = tuple[Pair, Callable[[], Relation]]  # a pair, and the neighbours that it is one of


def entry(
    factory: Callable[[], ZooMechanism],
    shown: Shown,
    *,
    source: str,
    bug: str = "",
    claim: PureDP | ApproxDP | RenyiDP | None = None,
    true_epsilon: float | Literal["claimed"] | None = "claimed",
) -> ZooEntry:
    """Build an entry. Left out, the claim is that of the mechanism's epsilon, and it is exact."""
    mechanism: Any = factory()
    claimed = PureDP(mechanism.epsilon) if claim is None else claim
    return ZooEntry(
        name=mechanism.name,
        factory=factory,
        claim=claimed,
        keeps_claim=bug == "",
        true_epsilon=claimed.epsilon if true_epsilon == "claimed" else true_epsilon,
        bug=bug,
        source=source,
        pair=shown[0],
        neighbours=shown[1],
    )


def pair_of(data: Sequence[float], neighbour: Sequence[float]) -> Pair:
    """Give two datasets of floats.

    >>> print(pair_of([0, 1], [0]))
    data=[0.0, 1.0], neighbour=[0.0]
    """
    return Pair(np.array(data, dtype=np.float64), np.array(neighbour, dtype=np.float64))


def with_laplace(numbers: Any, scale: float, size: int, rng: np.random.Generator) -> Floats:
    """Give every number its own Laplace noise, in every draw: one row per draw."""
    exact = np.asarray(numbers, dtype=np.float64)
    return exact + rng.laplace(scale=scale, size=(size, len(exact)))


SIX_RECORDS = partial(add_or_remove_one, floats(0, 1), max_records=6)
ONE_RECORD_MORE = (pair_of([1], []), SIX_RECORDS)
FIVE_ANSWERS = partial(query_answers, 5)
TEN_ANSWERS = partial(query_answers, 10)

DP_AUDITORIUM = "Kong, Medina, Ribero and Syed 2023, DP-Auditorium, section 6.1"
