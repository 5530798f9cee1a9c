"""How each value of an audit is written as JSON and read back, derived from its dataclass."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from dpaudit.claims import Claim, Profile, claim_from_json
from dpaudit.domains import decoded, encoded, encoded_float
from dpaudit.errors import InvalidAuditFile, InvalidClaim
from dpaudit.events import Rule, rule_from_json
from dpaudit.neighbours import Pair
from dpaudit.results.values import Audit, Counterexample

_COUNT_LIMIT = 2**63


@dataclass(frozen=True, slots=True)
class Form:
    """How one kind of value is written, and read back (with the name of the field, for errors)."""

    write: Callable[[Any], Any]
    read: Callable[[Any, str], Any]


def form_of(hint: Any, name: str = "", known: Mapping[Any, Form] | None = None) -> Form:
    """The form of a type; the field's `name` tells seeds, which are unbounded, from counts.

    `known` has forms of further types, and of fields by their names. A field whose metadata say
    `saved=False` is left out.

    >>> form_of(tuple[int, ...] | None).write((1, 2)), form_of(float).read(3, "delta")
    ([1, 2], 3.0)
    """
    kind, inside = get_origin(hint), get_args(hint)
    known = _KNOWN if known is None else {**_KNOWN, **known}
    for key in (name, hint):
        if key in known:
            return known[key]
    if kind in (Union, UnionType):
        return _maybe(form_of(next(one for one in inside if one is not type(None)), "", known))
    if kind is Literal:
        return _one_of(inside, str)
    if kind is tuple and inside[-1] is Ellipsis:
        return _many(form_of(inside[0], "", known))
    if kind is tuple:
        return _fixed([form_of(one, "", known) for one in inside])
    if issubclass(hint, Enum):
        return _one_of(tuple(hint), lambda member: member.value)
    assert isinstance(hint, type)
    assert is_dataclass(hint), hint
    hints = get_type_hints(hint)
    saved = (one.name for one in fields(hint) if one.metadata.get("saved", True))
    return record(hint, {name: form_of(hints[name], name, known) for name in saved})


def record(kind: Callable[..., Any], forms: Mapping[str, Form]) -> Form:
    """The form of a value with named fields: all of them, and no others."""

    def write(value: Any) -> dict[str, Any]:
        return {name: form.write(getattr(value, name)) for name, form in forms.items()}

    def read(saved: Any, where: str) -> Any:
        if not isinstance(saved, Mapping):
            raise _wrong(where, "an object", saved)
        place = f" in {where}" if where else ""
        for name in sorted(set(saved) - set(forms)):
            raise InvalidAuditFile(
                f"unknown field {name!r}{place}. Was it saved by a newer dpaudit?"
            )
        for name in sorted(set(forms) - set(saved)):
            raise InvalidAuditFile(f"no field {name!r}{place}: the audit is not whole.")
        inside = f"{where}." if where else ""
        values = {name: form.read(saved[name], f"{inside}{name}") for name, form in forms.items()}
        return kind(**values)

    return Form(write, read)


def _many(form: Form) -> Form:
    """The form of a tuple of any length, written as a list."""

    def read(saved: Any, where: str) -> tuple[Any, ...]:
        if not isinstance(saved, list):
            raise _wrong(where, "a list", saved)
        return tuple(form.read(entry, f"{where}[{at}]") for at, entry in enumerate(saved))

    return Form(lambda values: [form.write(value) for value in values], read)


def _fixed(forms: list[Form]) -> Form:
    """The form of a tuple of fixed length, written as a list."""

    def read(saved: Any, where: str) -> tuple[Any, ...]:
        if not isinstance(saved, list) or len(saved) != len(forms):
            raise _wrong(where, f"a list of {len(forms)}", saved)
        return tuple(form.read(one, where) for form, one in zip(forms, saved, strict=True))

    return Form(
        lambda values: [form.write(one) for form, one in zip(forms, values, strict=True)], read
    )


def _maybe(form: Form) -> Form:
    """The form of a value that may be None, written as null."""
    return Form(
        lambda value: None if value is None else form.write(value),
        lambda saved, where: None if saved is None else form.read(saved, where),
    )


def _one_of(members: tuple[Any, ...], write: Callable[[Any], str]) -> Form:
    """The form of one of a few values, written as its text."""
    known = {write(member): member for member in members}

    def read(saved: Any, where: str) -> Any:
        if not isinstance(saved, str) or saved not in known:
            raise _wrong(where, f"one of {', '.join(known)}", saved)
        return known[saved]

    return Form(write, read)


def _wrong(where: str, wanted: str, got: object) -> InvalidAuditFile:
    return InvalidAuditFile(f"{where or 'a saved audit'} must be {wanted}, got {in_short(got)}.")


def in_short(value: object) -> str:
    """A value as an error shows it."""
    try:
        shown = repr(value)
    except ValueError:  # a whole number of thousands of digits
        shown = f"a number of {value.bit_length()} bits" if isinstance(value, int) else "?"
    return shown if len(shown) <= 80 else f"{shown[:77]}..."


def _read_integer(saved: Any, where: str) -> int:
    if type(saved) is not int:
        raise _wrong(where, "a whole number", saved)
    if saved < 0:
        raise _wrong(where, "a whole number >= 0", saved)
    return saved


def _read_count(saved: Any, where: str) -> int:
    number = _read_integer(saved, where)
    if number >= _COUNT_LIMIT:
        raise _wrong(where, "a count", saved)
    return number


def _read_number(saved: Any, where: str) -> float:
    value = decoded(saved) if isinstance(saved, Mapping) else saved
    if type(value) not in (int, float):
        raise _wrong(where, "a number", saved)
    try:
        return float(value)
    except OverflowError:
        raise _wrong(where, "a number that a float can hold", saved) from None


def _read_text(saved: Any, where: str) -> str:
    if not isinstance(saved, str):
        raise _wrong(where, "text", saved)
    try:
        saved.encode("utf-8")
    except UnicodeEncodeError:
        raise _wrong(where, "text without half a character", saved) from None
    return saved


def _read_flag(saved: Any, where: str) -> bool:
    if not isinstance(saved, bool):
        raise _wrong(where, "true or false", saved)
    return saved


def write_claim(claim: Claim) -> object:
    """The claim as JSON; one of the user's own as its profile."""
    write = getattr(claim, "to_json", None)
    if not callable(write):  # a claim of the user's own is its profile
        write = Profile(claim.delta, name=str(claim)).to_json
    return write()


def _read_claim(saved: Any, where: str) -> Claim:
    try:
        claim = claim_from_json(saved)
    except InvalidClaim as error:
        raise InvalidAuditFile(f"{where}: {error}") from error
    _read_text(str(claim), where)
    return claim


def _read_rule(saved: Any, where: str) -> Rule:
    rule = rule_from_json(saved)
    for name in rule.places:
        _read_text(name, where)
    return rule


def _write_seed(seed: tuple[int, ...] | int) -> object:
    return _SEED.write(seed) if isinstance(seed, tuple) else operator.index(seed)


def _read_seed(saved: Any, where: str) -> Any:
    return _SEED.read(saved, where) if isinstance(saved, list) else _read_integer(saved, where)


_SEED = _many(Form(operator.index, _read_integer))
DATA = Form(encoded, lambda saved, where: decoded(saved))
_KNOWN: dict[Any, Form] = {  # by the name of a field, or by type
    "seed": _SEED,
    "rng_seed": Form(_write_seed, _read_seed),
    Any: DATA,
    int: Form(operator.index, _read_count),
    float: Form(encoded_float, _read_number),
    str: Form(str, _read_text),
    bool: Form(bool, _read_flag),
    Claim: Form(write_claim, _read_claim),
    Rule: Form(lambda rule: rule.to_json(), _read_rule),
    Pair: record(Pair, {"data": DATA, "neighbour": DATA}),
}
COUNTEREXAMPLE = form_of(Counterexample)
AUDIT = form_of(Audit)
