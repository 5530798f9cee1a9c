"""What the parts of an output are: numbers, words or containers, and how they are told apart.

A float is more than its value. `0.0 + noise` and `1.0 + noise` are rounded to different grids of
floats, so which grid an output lies on can tell the datasets apart for sure, however well the noise
hides its value (Mironov 2012, "On significance of the least significant bits for differential
privacy"). The grain, the magnitude, the width and the last bits of a float show the grid. Their
columns stand beside the columns of the values, and only where they were asked for.
"""

import enum
import functools
import hashlib
import re
from collections.abc import Mapping, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats, Index
from dpaudit.outputs.checked_outputs import LARGEST_EXACT, has_large_integers
from dpaudit.outputs.forms import Columns, Fields, Raised, can_be_opened, opened

Values: TypeAlias = Sequence[Any] | npt.NDArray[Any]
Key: TypeAlias = tuple[str, str]  # type and text of a word
FloatView: TypeAlias = Literal["real", "bits"]
FLOAT_VIEWS: tuple[FloatView, ...] = get_args(FloatView)

RAISED = "raised"  # the type of the words for errors
EMPTY = "container"  # and of those for containers with nothing inside
MESSAGE = "error message"  # the column of what they say

GRAIN, MAGNITUDE, WIDTH, LAST_BITS = "grain", "magnitude", "width", "last_bits"
ABOUT_BITS = (GRAIN, MAGNITUDE, WIDTH, LAST_BITS)
FLOATING = (GRAIN, WIDTH, LAST_BITS)  # what a real number does not have
LAST = 4  # bits
FLOAT32 = 24  # significant bits
_SIGNIFICANT = 53  # bits of a float64
RANGES = {  # of finite floats; 0 is a multiple of every power of 2, and smaller than any
    GRAIN: (-1074, 1024),
    MAGNITUDE: (-1075, 1023),
    WIDTH: (0, _SIGNIFICANT),
    LAST_BITS: (0, 2**LAST - 1),
}
ZERO = {GRAIN: RANGES[GRAIN][1], MAGNITUDE: RANGES[MAGNITUDE][0], WIDTH: 0}
_BITS_NAME = re.compile(rf"(?P<about>{'|'.join(ABOUT_BITS)})\((?P<place>.+)\)'*")

_FAMILIES = ("number", "word", "error", "complex", "object", "sequence", "mapping", "frame")
CONTAINERS = ("sequence", "mapping", "frame")  # the last families: what has a length
_WHOLE = int | np.integer | Fraction
_FAMILY_OF = (  # the first that fits
    (str | bytes | bytearray | memoryview | Set, "word"),
    (int | float | Fraction | Decimal | np.bool_ | np.integer | np.floating, "number"),
    (complex | np.complexfloating, "complex"),
    (Raised, "error"),
    (Fields, "object"),
    (Columns, "frame"),
    (Mapping, "mapping"),
    (Sequence, "sequence"),
    (object, "word"),
)
_TYPE_NAMES = (
    (str, "str"),
    (bytes | bytearray | memoryview, "bytes"),
    (Set, "set"),
    (Mapping, "dict"),
    (Sequence | np.ndarray, "list"),
)
_NUMBER_KINDS = ((bool | np.bool_, "bool"), (int | np.integer, "int"), (object, "float"))


def families(values: Values) -> list[tuple[str, Index | None, Values]]:
    """Part values by how they are written; positions are None when all are alike."""
    if any(can_be_opened(kind) for kind in set(map(type, values))):
        values = [opened(value) for value in values]
    known = {kind: _family(kind) for kind in set(map(type, values))}
    present = set(known.values())
    if len(present) == 1:
        return [(present.pop(), None, values)]
    names = [known[type(value)] for value in values]
    parts: list[tuple[str, Index | None, Values]] = []
    for family in sorted(present, key=_FAMILIES.index):
        index = [i for i, name in enumerate(names) if name == family]
        parts.append((family, np.array(index, dtype=np.intp), [values[i] for i in index]))
    return parts


@functools.lru_cache(maxsize=256)
def _family(kind: type) -> str:
    return next(family for types, family in _FAMILY_OF if issubclass(kind, types))


@functools.lru_cache(maxsize=256)
def type_name(kind: type) -> str | None:
    """Name the type of a word or a container; None for numbers, errors and None itself.

    >>> type_name(str), type_name(tuple), type_name(Decimal), type_name(frozenset)
    ('str', 'list', None, 'set')
    """
    if kind is type(None) or _family(kind) in ("number", "complex", "error"):
        return None
    return next((name for types, name in _TYPE_NAMES if issubclass(kind, types)), kind.__qualname__)


def number_kinds(values: Values) -> set[str]:
    """Say which of bool, int and float are there."""
    if isinstance(values, np.ndarray):
        return {{"b": "bool", "f": "float"}.get(values.dtype.kind, "int")}
    return {
        next(name for types, name in _NUMBER_KINDS if issubclass(kind, types))
        for kind in set(map(type, values))
    }


def too_big(values: Values) -> Index:
    """Find the integers that a float may not hold exactly."""
    if isinstance(values, np.ndarray):
        if not has_large_integers(values):
            return np.zeros(0, dtype=np.intp)
        return np.flatnonzero([abs(value) > LARGEST_EXACT for value in values.tolist()])
    if not any(issubclass(kind, _WHOLE) for kind in set(map(type, values))):
        return np.zeros(0, dtype=np.intp)
    try:
        if not np.any(np.abs(floats_of(values)) >= LARGEST_EXACT):
            return np.zeros(0, dtype=np.intp)
    except OverflowError:
        pass
    return np.flatnonzero([isinstance(v, _WHOLE) and abs(int(v)) > LARGEST_EXACT for v in values])


def floats_of(values: Values) -> Floats:
    """Real numbers of any type as floats; a signalling NaN is a NaN."""
    with np.errstate(over="ignore"):  # a long double may be an infinity here
        try:
            return np.array(values, dtype=np.float64)
        except ValueError:
            quiet = [np.nan if isinstance(v, Decimal) and v.is_nan() else v for v in values]
            return np.array(quiet, dtype=np.float64)


def has_floats(values: Any) -> bool:
    """Tell whether any number is a float by type: what is whole or exact has no grid.

    Among floats a whole number is one of them, such as the 0 of `max(0, noisy)`.

    >>> has_floats(np.zeros(2)), has_floats([0, np.float32(2.5)]), has_floats([1, 2])
    (True, True, False)
    """
    if isinstance(values, np.ndarray):
        return bool(values.dtype.kind == "f")
    return any(issubclass(kind, float | np.floating) for kind in set(map(type, values)))


def about_bits(name: str) -> tuple[str, str] | None:
    """Say what a column of bits is about, and of which place; None for another column.

    >>> about_bits("grain(output[0])"), about_bits("output[0]")
    (('grain', 'output[0]'), None)
    """
    found = _BITS_NAME.fullmatch(name)
    return None if found is None else (found["about"], found["place"])


def bits_of(numbers: Floats) -> dict[str, Floats]:
    """Describe finite floats, one column for each of `ABOUT_BITS`.

    The grain is the exponent of the lowest set bit: the largest `k` with the number a multiple of
    `2^k`. The magnitude is the exponent of the highest, so that `2^k <= |number| < 2^(k + 1)`, and
    the width counts the bits from one to the other: at most 24 in a float32, be it inside a
    float64. The last bits are the lowest four of the 53, as a number from 0 to 15.

    >>> {about: column.tolist() for about, column in bits_of(np.array([0.75, 0.1, 0.0])).items()}
    {'grain': [-2.0, -55.0, 1024.0], 'magnitude': [-1.0, -4.0, -1075.0],
     'width': [2.0, 52.0, 0.0], 'last_bits': [0.0, 10.0, 0.0]}
    """
    fraction, exponent = np.frexp(numbers)
    whole = np.ldexp(np.abs(fraction), _SIGNIFICANT).astype(np.int64)  # 53 bits, the first a 1
    trailing = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    found = {
        GRAIN: exponent - _SIGNIFICANT + trailing,
        MAGNITUDE: exponent - 1,
        WIDTH: _SIGNIFICANT - trailing,
        LAST_BITS: whole & (2**LAST - 1),
    }
    return {
        about: np.where(whole == 0, ZERO.get(about, 0), bits).astype(np.float64)
        for about, bits in found.items()
    }


def keys_of(values: Values) -> list[Key]:
    """Give the keys of words; each string, the common case, is read once."""
    if set(map(type, values)) <= {str, bytes, type(None)}:
        known = {value: key_of(value) for value in dict.fromkeys(values)}
        return [known[value] for value in values]
    return [key_of(value) for value in values]


def key_of(value: object) -> Key:
    """Tell a word by its type and text: '1' is not 1.

    An address in memory is left out: it says when an object was made, not what it is.

    >>> key_of("yes"), key_of({2, 1}), key_of(object())
    (('str', "'yes'"), ('set', '{1, 2}'), ('object', '<object object>'))
    """
    if isinstance(value, str):
        return "str", _cut(repr(str.__str__(value)))
    if isinstance(value, bytes | bytearray | memoryview):
        return "bytes", _cut(repr(bytes(value)))
    if isinstance(value, enum.Enum) and not isinstance(value, int | float):
        return "enum", f"{type(value).__name__}.{value.name}"
    if isinstance(value, np.datetime64):
        return "datetime64", _instant(value)
    if isinstance(value, Set):
        inside = ", ".join(sorted(key_of(element)[1] for element in value))
        return "set", _cut(f"{{{inside}}}" if inside else "set()")
    if isinstance(value, int):
        number = int(value)
        return "int", _cut(repr(number) if number.bit_length() < 1000 else hex(number))
    return type(value).__qualname__, _cut(without_addresses(repr(value)))


def _instant(value: np.datetime64) -> str:
    """A moment in words, the same in whatever unit it is kept.

    >>> _instant(np.datetime64("2024-05-01")), _instant(np.datetime64("2024-05-01T00:00:00.500"))
    ('2024-05-01T00:00:00', '2024-05-01T00:00:00.5')
    """
    if np.isnat(value):
        return "NaT"
    coarse = np.datetime_data(value.dtype)[0] in ("Y", "M", "W", "D", "h", "m", "s")
    text = str(np.datetime_as_string(value, unit="s") if coarse else value)
    return text if "." not in text else text.rstrip("0").rstrip(".")


def without_addresses(text: str) -> str:
    """Leave out where objects lie in memory.

    >>> without_addresses("<Box object at 0x7f2a>")
    '<Box object>'
    """
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def _cut(text: str) -> str:
    """Keep long texts apart by their hash."""
    return text if len(text) <= 200 else f"{text[:180]}...#{hash_of(text):016x}"


def hash_of(text: str) -> int:
    """Give 64 bits of a text, the same in every process."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
