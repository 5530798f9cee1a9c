"""What the parts of an output are: numbers, words or containers, and how words are told apart."""

import enum
import functools
import hashlib
import re
from collections.abc import Mapping, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dpaudit.outputs.checked_outputs import LARGEST_EXACT, Raised, has_large_integers
from dpaudit.outputs.forms import Columns, Fields, can_be_opened, opened

Values: TypeAlias = Sequence[Any] | npt.NDArray[Any]
Key: TypeAlias = tuple[str, str]  # type and text of a word

RAISED = "raised"  # the type of the words for errors
EMPTY = "container"  # and of those for containers with nothing inside
MESSAGE = "error message"  # the column of what they say

_FAMILIES = ("number", "word", "error", "complex", "object", "sequence", "mapping", "frame")
CONTAINERS = ("sequence", "mapping", "frame")  # the last families: what has a length
_WHOLE = int | np.integer | Fraction


def families(values: Values) -> list[tuple[str, npt.NDArray[np.intp] | None, Values]]:
    """Part values by how they are written; positions are None when all are alike."""
    if any(can_be_opened(kind) for kind in set(map(type, values))):
        values = [opened(value) for value in values]
    known = {kind: _family(kind) for kind in set(map(type, values))}
    present = set(known.values())
    if len(present) == 1:
        return [(present.pop(), None, values)]
    names = [known[type(value)] for value in values]
    parts: list[tuple[str, npt.NDArray[np.intp] | None, Values]] = []
    for family in sorted(present, key=_FAMILIES.index):
        index = [i for i, name in enumerate(names) if name == family]
        parts.append((family, np.array(index, dtype=np.intp), [values[i] for i in index]))
    return parts


@functools.lru_cache(maxsize=256)
def _family(kind: type) -> str:
    if issubclass(kind, str | bytes | bytearray | memoryview | Set):
        return "word"
    if issubclass(kind, int | float | Fraction | Decimal | np.bool_ | np.integer | np.floating):
        return "number"
    if issubclass(kind, complex | np.complexfloating):
        return "complex"
    if issubclass(kind, Raised):
        return "error"
    if issubclass(kind, Fields):
        return "object"
    if issubclass(kind, Columns):
        return "frame"
    if issubclass(kind, Mapping):
        return "mapping"
    return "sequence" if issubclass(kind, Sequence) else "word"


_KINDS = (
    (str, "str"),
    (bytes | bytearray | memoryview, "bytes"),
    (Set, "set"),
    (Mapping, "dict"),
    (Sequence | np.ndarray, "list"),
)


@functools.lru_cache(maxsize=256)
def type_name(kind: type) -> str | None:
    """Name the type of a word or a container; None for numbers, errors and None itself.

    >>> type_name(str), type_name(tuple), type_name(Decimal), type_name(frozenset)
    ('str', 'list', None, 'set')
    """
    if kind is type(None) or _family(kind) in ("number", "complex", "error"):
        return None
    return next((name for types, name in _KINDS if issubclass(kind, types)), kind.__qualname__)


def number_kinds(values: Values) -> set[str]:
    """Say which of bool, int and float are there."""
    if isinstance(values, np.ndarray):
        return {{"b": "bool", "f": "float"}.get(values.dtype.kind, "int")}
    names = ((bool | np.bool_, "bool"), (int | np.integer, "int"), (object, "float"))
    return {
        next(name for types, name in names if issubclass(kind, types))
        for kind in set(map(type, values))
    }


def too_big(values: Values) -> npt.NDArray[np.intp]:
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


def floats_of(values: Values) -> npt.NDArray[np.float64]:
    """Real numbers of any type as floats; a signalling NaN is a NaN."""
    with np.errstate(over="ignore"):  # a long double may be an infinity here
        try:
            return np.array(values, dtype=np.float64)
        except ValueError:
            quiet = [np.nan if isinstance(v, Decimal) and v.is_nan() else v for v in values]
            return np.array(quiet, dtype=np.float64)


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
