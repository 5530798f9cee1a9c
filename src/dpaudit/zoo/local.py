"""Local mechanisms: one person's answer, made noisy before it is sent; six right, two wrong.

Data are one record, a whole number; neighbours hold any two of them. Randomized response and unary
encoding take records from 0 to `categories - 1`.

RAPPOR puts a value in a Bloom filter of noisy bits: Erlingsson, Pihur and Korolova (2014), "RAPPOR:
randomized aggregatable privacy-preserving ordinal response". A value sets `hashes` of `bits` bits;
every bit is then answered at random twice over. Outputs are rows of bits. The permanent response
keeps a bit with probability `1 - f` and else tosses a fair coin; the instantaneous response sends a
1 with probability `q` for a 1 and `p` for a 0. Together a bit that is set is sent as 1 with
probability `q* = f (p + q) / 2 + (1 - f) q`, one that is not with `p* = f (p + q) / 2 + (1 - f) p`.
Two filters differ in as many bits that only the one sets as in bits that only the other sets, so
each such couple of bits costs exactly `ln(q* / p*) + ln((1 - p*) / (1 - q*))`. Both terms are alike
where `p + q = 1`. With no position in common there are `hashes` couples: that is the epsilon of the
paper, whatever the hash functions.
"""

import hashlib
import math
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Counts
from dpaudit.domains import integers
from dpaudit.errors import InvalidMechanism
from dpaudit.neighbours import Pair, replace_one
from dpaudit.zoo.frame import Allowed, AtLeastOne, EpsilonMechanism, Fraction, ZooMechanism, entry

__all__ = [
    "KaryRandomizedResponse",
    "OneTimeRappor",
    "OptimisedUnaryEncoding",
    "RandomizedResponse",
    "Rappor",
    "RapporOneHashClaim",
    "SymmetricUnaryEncoding",
    "UnaryEncodingWholeEpsilon",
]

SALT = 3  # the smallest with which the filters of 0 and 1 share exactly one position

Bits = npt.NDArray[np.int8]
AtLeastTwo = Annotated[int, Allowed(lambda value: value >= 2, "{} >= 2")]


@dataclass(frozen=True, slots=True)
class RandomizedResponse(EpsilonMechanism):
    """The bit `data[0]`, flipped with probability `1 / (1 + e^epsilon)`: exactly `epsilon`-DP.

    It is the extremal pair of pure differential privacy. Warner (1965), "Randomized response: a
    survey technique for eliminating evasive answer bias".

    >>> RandomizedResponse(99.0)([1], 3, np.random.default_rng(0)).tolist()
    [1, 1, 1]
    """

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Counts:
        flipped = rng.random(size) < flip_chance(self.epsilon)
        return np.where(flipped, 1 - int(data[0]), int(data[0]))


@dataclass(frozen=True, slots=True)
class KaryRandomizedResponse(EpsilonMechanism):
    """The category itself, or any of the others alike: exactly `epsilon`-DP.

    It is kept with probability `e^epsilon / (e^epsilon + k - 1)`, where `k` is the number of
    categories. Kairouz, Oh and Viswanath (2014), "Extremal mechanisms for local differential
    privacy".

    >>> KaryRandomizedResponse(99.0)([2], 3, np.random.default_rng(0)).tolist()
    [2, 2, 2]
    """

    categories: AtLeastTwo = 4

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Counts:
        own = category_of(self.name, data, self.categories)
        kept = rng.random(size) < 1 / (1 + (self.categories - 1) * math.exp(-self.epsilon))
        other = rng.integers(self.categories - 1, size=size)
        return np.where(kept, own, other + (other >= own))


@dataclass(frozen=True, slots=True)
class SymmetricUnaryEncoding(EpsilonMechanism):
    """One bit per category, only one's own set, each flipped alike: exactly `epsilon`-DP.

    Two bits differ between neighbours, so each has half of the budget: it stays as it is with
    probability `p = e^(epsilon/2) / (e^(epsilon/2) + 1)`. Wang, Blocki, Li and Jha (2017), "Locally
    differentially private protocols for frequency estimation", symmetric unary encoding.

    >>> SymmetricUnaryEncoding(99.0)([2], 2, np.random.default_rng(0)).tolist()
    [[0, 0, 1, 0], [0, 0, 1, 0]]
    """

    categories: AtLeastTwo = 4

    @property
    def chances(self) -> tuple[float, float]:
        """How often one's own bit is set, and how often another."""
        flipped = flip_chance(self.epsilon / 2)
        return 1 - flipped, flipped

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Bits:
        own = category_of(self.name, data, self.categories)
        chances = np.where(np.arange(self.categories) == own, *self.chances)
        return (rng.random((size, self.categories)) < chances).astype(np.int8)


@dataclass(frozen=True, slots=True)
class OptimisedUnaryEncoding(SymmetricUnaryEncoding):
    """One bit per category: one's own is a fair coin, the others are seldom set.

    The others are set with probability `q = 1 / (e^epsilon + 1)`, which estimates rare categories
    best: exactly `epsilon`-DP, `(1/2) / q` for the one bit times `(1 - q) / (1/2)` for the other.
    Wang, Blocki, Li and Jha (2017), "Locally differentially private protocols for frequency
    estimation", optimized unary encoding.

    >>> OptimisedUnaryEncoding(99.0)([2], 2, np.random.default_rng(0))[:, [0, 1, 3]].tolist()
    [[0, 0, 0], [0, 0, 0]]
    """

    @property
    def chances(self) -> tuple[float, float]:
        """How often one's own bit is set, and how often another."""
        return 0.5, flip_chance(self.epsilon)


@dataclass(frozen=True, slots=True)
class UnaryEncodingWholeEpsilon(SymmetricUnaryEncoding):
    """`SymmetricUnaryEncoding` with the whole epsilon on every bit: exactly `2 * epsilon`-DP.

    The bit of the old category and the bit of the new one both change, and each costs epsilon.

    >>> UnaryEncodingWholeEpsilon(99.0)([2], 2, np.random.default_rng(0)).tolist()
    [[0, 0, 1, 0], [0, 0, 1, 0]]
    """

    @property
    def chances(self) -> tuple[float, float]:
        """How often one's own bit is set, and how often another: both cost all of epsilon."""
        flipped = flip_chance(self.epsilon)
        return 1 - flipped, flipped


@dataclass(frozen=True, slots=True)
class OneTimeRappor(ZooMechanism):
    """The filter after a permanent response alone, for values that are asked for only once.

    A differing bit costs `ln((1 - f/2) / (f/2))`: it is `Rappor` with `p = 0` and `q = 1`.
    `epsilon` holds for all values, and two whose filters have no position in common reach it.
    `loss` is what holds for two given values. The default salt is the smallest whole number (from 0
    on) with which the filters of 0 and 1 share exactly one position of four, so that six bits
    differ.

    >>> mechanism = OneTimeRappor()
    >>> print(round(mechanism.epsilon, 4), round(mechanism.loss(1, 0), 4))
    0.8007 0.6005
    >>> mechanism([7], 5, np.random.default_rng(0)).shape
    (5, 20)
    """

    f: Fraction = 0.95
    _: KW_ONLY
    hashes: AtLeastOne = 4
    bits: int = 20
    salt: int = SALT

    def check(self) -> None:
        """Refuse a filter that one value fills."""
        if self.bits <= self.hashes:
            got = f"bits={self.bits!r}, hashes={self.hashes!r}"
            raise InvalidMechanism(f"{self.name} needs more bits than hashes, got {got}.")

    @property
    def chances(self) -> tuple[float, float]:
        """How often a 1 is sent for a bit that is 0 after the permanent response, and for a 1."""
        return 0.0, 1.0

    @property
    def epsilon(self) -> float:
        """The most that two values can cost: the loss without common positions."""
        return self.hashes * couple_cost(self.f, *self.chances)

    def loss(self, value: int, other: int) -> float:
        """The exact epsilon of these two values."""
        return len(self.places(value) - self.places(other)) * couple_cost(self.f, *self.chances)

    def places(self, value: int) -> frozenset[int]:
        """The bits that a value sets."""
        return positions(value, hashes=self.hashes, bits=self.bits, salt=self.salt)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Bits:
        chances = np.full(self.bits, self.f / 2)
        chances[sorted(self.places(data[0]))] = 1 - self.f / 2
        return (rng.random((size, self.bits)) < chances).astype(np.int8)


@dataclass(frozen=True, slots=True)
class Rappor(OneTimeRappor):
    """The filter after a permanent and an instantaneous response, both fresh in every draw.

    >>> mechanism = Rappor()
    >>> print(round(mechanism.epsilon, 5), round(mechanism.loss(1, 0), 5))
    0.40008 0.30006
    >>> mechanism([7], 5, np.random.default_rng(0)).shape
    (5, 20)
    """

    f: Fraction = 0.75
    p: float = 0.45
    q: float = 0.55

    def check(self) -> None:
        """Refuse an instantaneous response that does not send a 1 more often for a 1."""
        OneTimeRappor.check(self)
        if not 0 <= self.p < self.q <= 1:
            raise InvalidMechanism(
                f"{self.name} needs 0 <= p < q <= 1, got p={self.p!r}, q={self.q!r}."
            )

    @property
    def chances(self) -> tuple[float, float]:
        """How often a 1 is sent for a bit that is 0 after the permanent response, and for a 1."""
        return self.p, self.q

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Bits:
        permanent = OneTimeRappor.__call__(self, data, size, rng)
        chances = np.where(permanent == 1, self.q, self.p)
        return (rng.random(permanent.shape) < chances).astype(np.int8)


@dataclass(frozen=True, slots=True)
class RapporOneHashClaim(Rappor):
    """`Rappor` with the epsilon of one hash: right for basic RAPPOR, where a value sets one bit.

    A value in a Bloom filter sets `hashes` bits, so the true epsilon is `hashes` times as large.

    >>> print(round(RapporOneHashClaim().epsilon, 5), round(Rappor().epsilon, 5))
    0.10002 0.40008
    """

    @property
    def epsilon(self) -> float:
        """What it claims, which is wrong: the cost of one hash."""
        return couple_cost(self.f, self.p, self.q)


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


def positions(value: int, *, hashes: int, bits: int, salt: int) -> frozenset[int]:
    """Give the bits that a value sets, as many as there are hashes: a taken one is hashed again.

    >>> sorted(positions(0, hashes=4, bits=20, salt=3))
    [3, 4, 10, 14]
    """
    places, turn = set[int](), 0
    while len(places) < hashes:
        digest = hashlib.blake2b(f"{salt}/{int(value)}/{turn}".encode(), digest_size=8).digest()
        places.add(int.from_bytes(digest, "big") % bits)
        turn += 1
    return frozenset(places)


def couple_cost(f: float, p: float, q: float) -> float:
    """Give `ln(q* / p*) + ln((1 - p*) / (1 - q*))`: the loss of two bits that differ either way.

    >>> print(round(couple_cost(0.75, 0.45, 0.55), 5), round(2 * math.log(0.5125 / 0.4875), 5))
    0.10002 0.10002
    """

    def mixed(kept: float, turned: float) -> float:
        return (1 - f / 2) * kept + f / 2 * turned

    # 1 - p* and 1 - q* are mixed likewise, so that nothing cancels where f is small.
    sent = math.log(mixed(q, p) / mixed(p, q))
    return sent + math.log(mixed(1 - p, 1 - q) / mixed(1 - q, 1 - p))


_ONE_OR_ZERO = Pair(np.array([1]), np.array([0]))
_ONE_RECORD = partial(replace_one, max_records=1)
_BIT = _ONE_OR_ZERO, partial(_ONE_RECORD, integers(0, 1))
_FOUR_CATEGORIES = _ONE_OR_ZERO, partial(_ONE_RECORD, integers(0, 3))
_NOTHING_IN_COMMON = Pair(np.array([9]), np.array([0])), partial(_ONE_RECORD, integers(0, 9))
_UNARY = "Wang, Blocki, Li and Jha 2017, Locally differentially private protocols"
_RAPPOR = "Erlingsson, Pihur and Korolova 2014, RAPPOR"

ENTRIES = (
    entry(RandomizedResponse, _BIT, source="Warner 1965, Randomized response"),
    entry(
        KaryRandomizedResponse,
        _FOUR_CATEGORIES,
        source="Kairouz, Oh and Viswanath 2014, Extremal mechanisms for local differential "
        "privacy, k-ary randomized response",
    ),
    entry(SymmetricUnaryEncoding, _FOUR_CATEGORIES, source=f"{_UNARY}, symmetric unary encoding"),
    entry(OptimisedUnaryEncoding, _FOUR_CATEGORIES, source=f"{_UNARY}, optimized unary encoding"),
    entry(
        UnaryEncodingWholeEpsilon,
        _FOUR_CATEGORIES,
        true_epsilon=2.0,
        bug="Every bit is flipped with the whole epsilon; two bits change with the category.",
        source=f"a slip in the symmetric unary encoding of {_UNARY}",
    ),
    entry(
        Rappor,
        _NOTHING_IN_COMMON,
        source=f"{_RAPPOR}, permanent and instantaneous randomized response",
    ),
    entry(OneTimeRappor, _NOTHING_IN_COMMON, source=f"{_RAPPOR}, one-time RAPPOR"),
    entry(
        RapporOneHashClaim,
        _NOTHING_IN_COMMON,
        true_epsilon=Rappor().loss(9, 0),
        bug="The claim counts one hash, so two bits that differ; "
        "every value sets as many bits as there are hashes.",
        source=f"a slip: the epsilon of basic RAPPOR in {_RAPPOR}, for a filter of several hashes",
    ),
)
