"""RAPPOR: a value in a Bloom filter of noisy bits; two that keep their claim, one that does not.

Erlingsson, Pihur and Korolova (2014), "RAPPOR: randomized aggregatable privacy-preserving ordinal
response". Data are one record, a whole number. It sets `hashes` of `bits` bits; every bit is then
answered at random twice over. Outputs are rows of bits.

The permanent response keeps a bit with probability `1 - f` and else tosses a fair coin; the
instantaneous response sends a 1 with probability `q` for a 1 and `p` for a 0. Together a bit that
is set is sent as 1 with probability `q* = f (p + q) / 2 + (1 - f) q`, one that is not with
`p* = f (p + q) / 2 + (1 - f) p`. Two filters differ in as many bits that only the one sets as in
bits that only the other sets, so each such couple of bits costs exactly
`ln(q* / p*) + ln((1 - p*) / (1 - q*))`. Both terms are alike where `p + q = 1`. With no position in
common there are `hashes` couples: that is the epsilon of the paper, whatever the hash functions.
"""

import hashlib
import itertools
import math
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpaudit.claims import PureDP
from dpaudit.domains import integers
from dpaudit.errors import InvalidMechanism
from dpaudit.neighbours import Pair, replace_one
from dpaudit.zoo.entry import ZooEntry

SALT = 3  # the smallest with which the filters of 0 and 1 share exactly one position

Bits = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Rappor:
    """The filter after a permanent and an instantaneous response, both fresh in every draw.

    `epsilon` is the promise for all values, reached by two whose filters have no position in
    common. `loss` is what holds for two given values. The default salt is the smallest whole number
    (from 0 on) with which the filters of 0 and 1 share exactly one position of four, so that six
    bits differ.

    >>> mechanism = Rappor()
    >>> print(round(mechanism.epsilon, 5), round(mechanism.loss(1, 0), 5))
    0.40008 0.30006
    >>> mechanism([7], 5, np.random.default_rng(0)).shape
    (5, 20)
    """

    f: float = 0.75
    p: float = 0.45
    q: float = 0.55
    _: KW_ONLY
    hashes: int = 4
    bits: int = 20
    salt: int = SALT
    name: ClassVar[str] = "Rappor"

    def __post_init__(self) -> None:
        check(self.name, self.f, self.hashes, self.bits)
        check_order(self.name, self.p, self.q)

    @property
    def epsilon(self) -> float:
        """The most that two values can cost: the loss without common positions."""
        return self.hashes * couple_cost(self.f, self.p, self.q)

    def loss(self, value: int, other: int) -> float:
        """The exact epsilon of these two values."""
        apart = couples_apart(value, other, hashes=self.hashes, bits=self.bits, salt=self.salt)
        return apart * couple_cost(self.f, self.p, self.q)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Bits:
        places = positions(data[0], hashes=self.hashes, bits=self.bits, salt=self.salt)
        permanent = permanent_response(places, self.f, self.bits, size, rng)
        return instantaneous_response(permanent, self.p, self.q, rng)


@dataclass(frozen=True, slots=True)
class OneTimeRappor:
    """The filter after a permanent response alone, for values that are asked for only once.

    A differing bit costs `ln((1 - f/2) / (f/2))`: it is `Rappor` with `p = 0` and `q = 1`. The
    default salt is that of `Rappor`.

    >>> mechanism = OneTimeRappor()
    >>> print(round(mechanism.epsilon, 4), round(mechanism.loss(1, 0), 4))
    0.8007 0.6005
    >>> mechanism([7], 5, np.random.default_rng(0)).shape
    (5, 20)
    """

    f: float = 0.95
    _: KW_ONLY
    hashes: int = 4
    bits: int = 20
    salt: int = SALT
    name: ClassVar[str] = "OneTimeRappor"

    def __post_init__(self) -> None:
        check(self.name, self.f, self.hashes, self.bits)

    @property
    def epsilon(self) -> float:
        """The most that two values can cost: the loss without common positions."""
        return self.hashes * couple_cost(self.f, 0.0, 1.0)

    def loss(self, value: int, other: int) -> float:
        """The exact epsilon of these two values."""
        apart = couples_apart(value, other, hashes=self.hashes, bits=self.bits, salt=self.salt)
        return apart * couple_cost(self.f, 0.0, 1.0)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Bits:
        places = positions(data[0], hashes=self.hashes, bits=self.bits, salt=self.salt)
        return permanent_response(places, self.f, self.bits, size, rng)


@dataclass(frozen=True, slots=True)
class RapporOneHashClaim:
    """`Rappor` with the epsilon of one hash: right for basic RAPPOR, where a value sets one bit.

    A value in a Bloom filter sets `hashes` bits, so the true epsilon is `hashes` times as large.

    >>> print(round(RapporOneHashClaim().epsilon, 5), round(Rappor().epsilon, 5))
    0.10002 0.40008
    """

    f: float = 0.75
    p: float = 0.45
    q: float = 0.55
    _: KW_ONLY
    hashes: int = 4
    bits: int = 20
    salt: int = SALT
    name: ClassVar[str] = "RapporOneHashClaim"

    def __post_init__(self) -> None:
        check(self.name, self.f, self.hashes, self.bits)
        check_order(self.name, self.p, self.q)

    @property
    def epsilon(self) -> float:
        """What it claims, which is wrong: the cost of one hash."""
        return couple_cost(self.f, self.p, self.q)

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Bits:
        places = positions(data[0], hashes=self.hashes, bits=self.bits, salt=self.salt)
        permanent = permanent_response(places, self.f, self.bits, size, rng)
        return instantaneous_response(permanent, self.p, self.q, rng)


def check(name: str, f: float, hashes: int, bits: int) -> None:
    """Refuse a permanent response that hides nothing or says nothing, and filters with no room."""
    if not 0 < f < 1:
        raise InvalidMechanism(f"{name} needs an f between 0 and 1, got {f!r}.")
    if hashes < 1:
        raise InvalidMechanism(f"{name} needs at least 1 hash, got hashes={hashes!r}.")
    if bits <= hashes:
        raise InvalidMechanism(
            f"{name} needs more bits than hashes, got bits={bits!r}, hashes={hashes!r}."
        )


def check_order(name: str, p: float, q: float) -> None:
    """Refuse an instantaneous response that does not send a 1 more often for a 1."""
    if not 0 <= p < q <= 1:
        raise InvalidMechanism(f"{name} needs 0 <= p < q <= 1, got p={p!r}, q={q!r}.")


def positions(value: int, *, hashes: int, bits: int, salt: int) -> frozenset[int]:
    """Give the bits that a value sets, as many as there are hashes: a taken one is hashed again.

    >>> sorted(positions(0, hashes=4, bits=20, salt=3))
    [3, 4, 10, 14]
    """
    places: set[int] = set()
    for turn in itertools.count():
        digest = hashlib.blake2b(f"{salt}/{int(value)}/{turn}".encode(), digest_size=8).digest()
        places.add(int.from_bytes(digest, "big") % bits)
        if len(places) == hashes:
            break
    return frozenset(places)


def couples_apart(value: int, other: int, *, hashes: int, bits: int, salt: int) -> int:
    """Count the bits that only the one value sets; as many are set only by the other."""
    mine = positions(value, hashes=hashes, bits=bits, salt=salt)
    return len(mine - positions(other, hashes=hashes, bits=bits, salt=salt))


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


def permanent_response(
    places: frozenset[int], f: float, bits: int, size: int, rng: np.random.Generator
) -> Bits:
    """Give rows of the filter, every bit replaced by a fair coin with probability `f`."""
    chances = np.full(bits, f / 2)
    chances[sorted(places)] = 1 - f / 2
    return (rng.random((size, bits)) < chances).astype(np.int8)


def instantaneous_response(permanent: Bits, p: float, q: float, rng: np.random.Generator) -> Bits:
    """Give for every bit a 1 with probability `q` if it is set, with `p` if not."""
    return (rng.random(permanent.shape) < np.where(permanent == 1, q, p)).astype(np.int8)


_RAPPOR = "Erlingsson, Pihur and Korolova 2014, RAPPOR"
_TEN_VALUES = partial(replace_one, integers(0, 9), max_records=1)
_APART = Pair(np.array([9]), np.array([0]))  # no position in common

ENTRIES = (
    ZooEntry(
        name="Rappor",
        factory=Rappor,
        claim=PureDP(Rappor().epsilon),
        keeps_claim=True,
        true_epsilon=Rappor().loss(9, 0),
        bug="",
        source=f"{_RAPPOR}, permanent and instantaneous randomized response",
        pair=_APART,
        neighbours=_TEN_VALUES,
    ),
    ZooEntry(
        name="OneTimeRappor",
        factory=OneTimeRappor,
        claim=PureDP(OneTimeRappor().epsilon),
        keeps_claim=True,
        true_epsilon=OneTimeRappor().loss(9, 0),
        bug="",
        source=f"{_RAPPOR}, one-time RAPPOR",
        pair=_APART,
        neighbours=_TEN_VALUES,
    ),
    ZooEntry(
        name="RapporOneHashClaim",
        factory=RapporOneHashClaim,
        claim=PureDP(RapporOneHashClaim().epsilon),
        keeps_claim=False,
        true_epsilon=Rappor().loss(9, 0),
        bug="The claim counts one hash, so two bits that differ; "
        "every value sets as many bits as there are hashes.",
        source=f"a slip: the epsilon of basic RAPPOR in {_RAPPOR}, for a filter of several hashes",
        pair=_APART,
        neighbours=_TEN_VALUES,
    ),
)
