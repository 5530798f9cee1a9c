"""Local mechanisms: one person's answer, made noisy before it is sent; four right, one wrong.

Data are one record, a whole number from 0 to `categories - 1`; neighbours hold any two of them.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpaudit.claims import PureDP
from dpaudit.domains import integers
from dpaudit.errors import InvalidMechanism
from dpaudit.neighbours import Pair, replace_one
from dpaudit.zoo.checks import require_positive
from dpaudit.zoo.entry import ZooEntry

Bits = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class RandomizedResponse:
    """The bit `data[0]`, flipped with probability `1 / (1 + e^epsilon)`: exactly `epsilon`-DP.

    It is the extremal pair of pure differential privacy. Warner (1965), "Randomized response: a
    survey technique for eliminating evasive answer bias".

    >>> RandomizedResponse(99.0)([1], 3, np.random.default_rng(0)).tolist()
    [1, 1, 1]
    """

    epsilon: float = 1.0
    name: ClassVar[str] = "RandomizedResponse"

    def __post_init__(self) -> None:
        require_positive(self.name, epsilon=self.epsilon)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        flipped = rng.random(size) < flip_chance(self.epsilon)
        return np.where(flipped, 1 - int(data[0]), int(data[0]))


@dataclass(frozen=True, slots=True)
class KaryRandomizedResponse:
    """The category itself, or any of the others alike: exactly `epsilon`-DP.

    It is kept with probability `e^epsilon / (e^epsilon + k - 1)`, where `k` is the number of
    categories. Kairouz, Oh and Viswanath (2014), "Extremal mechanisms for local differential
    privacy".

    >>> KaryRandomizedResponse(99.0)([2], 3, np.random.default_rng(0)).tolist()
    [2, 2, 2]
    """

    epsilon: float = 1.0
    categories: int = 4
    name: ClassVar[str] = "KaryRandomizedResponse"

    def __post_init__(self) -> None:
        check(self.name, self.epsilon, self.categories)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        own = category_of(self.name, data, self.categories)
        kept = rng.random(size) < 1 / (1 + (self.categories - 1) * math.exp(-self.epsilon))
        other = rng.integers(self.categories - 1, size=size)
        return np.where(kept, own, other + (other >= own))


@dataclass(frozen=True, slots=True)
class SymmetricUnaryEncoding:
    """One bit per category, only one's own set, each flipped alike: exactly `epsilon`-DP.

    Two bits differ between neighbours, so each has half of the budget: it stays as it is with
    probability `p = e^(epsilon/2) / (e^(epsilon/2) + 1)`. Wang, Blocki, Li and Jha (2017), "Locally
    differentially private protocols for frequency estimation", symmetric unary encoding.

    >>> SymmetricUnaryEncoding(99.0)([2], 2, np.random.default_rng(0)).tolist()
    [[0, 0, 1, 0], [0, 0, 1, 0]]
    """

    epsilon: float = 1.0
    categories: int = 4
    name: ClassVar[str] = "SymmetricUnaryEncoding"

    def __post_init__(self) -> None:
        check(self.name, self.epsilon, self.categories)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Bits:
        own = category_of(self.name, data, self.categories)
        q = flip_chance(self.epsilon / 2)
        return noisy_unary(own, self.categories, size, rng, p=1 - q, q=q)


@dataclass(frozen=True, slots=True)
class OptimisedUnaryEncoding:
    """One bit per category: one's own is a fair coin, the others are seldom set.

    The others are set with probability `q = 1 / (e^epsilon + 1)`, which estimates rare categories
    best: exactly `epsilon`-DP, `(1/2) / q` for the one bit times `(1 - q) / (1/2)` for the other.
    Wang, Blocki, Li and Jha (2017), "Locally differentially private protocols for frequency
    estimation", optimized unary encoding.

    >>> OptimisedUnaryEncoding(99.0)([2], 2, np.random.default_rng(0))[:, [0, 1, 3]].tolist()
    [[0, 0, 0], [0, 0, 0]]
    """

    epsilon: float = 1.0
    categories: int = 4
    name: ClassVar[str] = "OptimisedUnaryEncoding"

    def __post_init__(self) -> None:
        check(self.name, self.epsilon, self.categories)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Bits:
        own = category_of(self.name, data, self.categories)
        return noisy_unary(own, self.categories, size, rng, p=0.5, q=flip_chance(self.epsilon))


@dataclass(frozen=True, slots=True)
class UnaryEncodingWholeEpsilon:
    """`SymmetricUnaryEncoding` with the whole epsilon on every bit: exactly `2 * epsilon`-DP.

    The bit of the old category and the bit of the new one both change, and each costs epsilon.

    >>> UnaryEncodingWholeEpsilon(99.0)([2], 2, np.random.default_rng(0)).tolist()
    [[0, 0, 1, 0], [0, 0, 1, 0]]
    """

    epsilon: float = 1.0
    categories: int = 4
    name: ClassVar[str] = "UnaryEncodingWholeEpsilon"

    def __post_init__(self) -> None:
        check(self.name, self.epsilon, self.categories)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Bits:
        own = category_of(self.name, data, self.categories)
        q = flip_chance(self.epsilon)
        return noisy_unary(own, self.categories, size, rng, p=1 - q, q=q)


def check(name: str, epsilon: float, categories: int) -> None:
    """Refuse parameters with which there is nothing to hide, or nothing to hide it."""
    require_positive(name, epsilon=epsilon)
    if categories < 2:
        raise InvalidMechanism(f"{name} needs at least 2 categories, got {categories!r}.")


def category_of(name: str, data: Any, categories: int) -> int:
    """Give the one record, or refuse it: a category too many would show in every output.

    >>> category_of("KaryRandomizedResponse", [4], 4)
    Traceback (most recent call last):
        ...
    ValueError: KaryRandomizedResponse of 4 categories takes a record from 0 to 3, got 4.
    """
    own = int(data[0])
    if not 0 <= own < categories:
        takes = f"takes a record from 0 to {categories - 1}, got {own}."
        raise ValueError(f"{name} of {categories} categories {takes}")
    return own


def flip_chance(epsilon: float) -> float:
    """Give `1 / (1 + e^epsilon)`: how often a bit is flipped that costs `epsilon`.

    >>> flip_chance(math.log(3))
    0.25
    """
    odds = math.exp(-epsilon)  # not e^epsilon, which overflows
    return odds / (1 + odds)


def noisy_unary(
    own: int, categories: int, size: int, rng: np.random.Generator, *, p: float, q: float
) -> Bits:
    """Give rows of one bit per category: one's own is set with probability `p`, others with `q`.

    >>> noisy_unary(1, 3, 2, np.random.default_rng(0), p=1.0, q=0.0).tolist()
    [[0, 1, 0], [0, 1, 0]]
    """
    chances = np.where(np.arange(categories) == own, p, q)
    return (rng.random((size, categories)) < chances).astype(np.int8)


_BIT = partial(replace_one, integers(0, 1), max_records=1)
_FOUR_CATEGORIES = partial(replace_one, integers(0, 3), max_records=1)
_ONE_AND_ZERO = Pair(np.array([1]), np.array([0]))
_UNARY = "Wang, Blocki, Li and Jha 2017, Locally differentially private protocols"

ENTRIES = (
    ZooEntry(
        name="RandomizedResponse",
        factory=RandomizedResponse,
        claim=PureDP(1.0),
        keeps_claim=True,
        true_epsilon=1.0,
        bug="",
        source="Warner 1965, Randomized response",
        pair=_ONE_AND_ZERO,
        neighbours=_BIT,
    ),
    ZooEntry(
        name="KaryRandomizedResponse",
        factory=KaryRandomizedResponse,
        claim=PureDP(1.0),
        keeps_claim=True,
        true_epsilon=1.0,
        bug="",
        source="Kairouz, Oh and Viswanath 2014, Extremal mechanisms for local differential "
        "privacy, k-ary randomized response",
        pair=_ONE_AND_ZERO,
        neighbours=_FOUR_CATEGORIES,
    ),
    ZooEntry(
        name="SymmetricUnaryEncoding",
        factory=SymmetricUnaryEncoding,
        claim=PureDP(1.0),
        keeps_claim=True,
        true_epsilon=1.0,
        bug="",
        source=f"{_UNARY}, symmetric unary encoding",
        pair=_ONE_AND_ZERO,
        neighbours=_FOUR_CATEGORIES,
    ),
    ZooEntry(
        name="OptimisedUnaryEncoding",
        factory=OptimisedUnaryEncoding,
        claim=PureDP(1.0),
        keeps_claim=True,
        true_epsilon=1.0,
        bug="",
        source=f"{_UNARY}, optimized unary encoding",
        pair=_ONE_AND_ZERO,
        neighbours=_FOUR_CATEGORIES,
    ),
    ZooEntry(
        name="UnaryEncodingWholeEpsilon",
        factory=UnaryEncodingWholeEpsilon,
        claim=PureDP(1.0),
        keeps_claim=False,
        true_epsilon=2.0,
        bug="Every bit is flipped with the whole epsilon; two bits change with the category.",
        source=f"a slip in the symmetric unary encoding of {_UNARY}",
        pair=_ONE_AND_ZERO,
        neighbours=_FOUR_CATEGORIES,
    ),
)
