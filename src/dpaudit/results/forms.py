"""How each value of an audit is written as JSON and read back: every field named once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from dpaudit.claims import Claim, Profile, claim_from_json
from dpaudit.domains import decoded, encoded, encoded_float
from dpaudit.errors import InvalidAuditFile, InvalidClaim
from dpaudit.events import Rule, rule_from_json
from dpaudit.neighbours import Pair
from dpaudit.outputs import FLOAT_VIEWS, FloatView
from dpaudit.results.output_histogram import OutputHistogram
from dpaudit.results.values import Audit, Counterexample, Evidence, PairRecord, Tally, Verdict

_MOST_COUNT = 2**63


@dataclass(frozen=True, slots=True)
class Form:
    """How one kind of value is written, and read back (with the name of the field, for errors)."""

    write: Callable[[Any], Any]
    read: Callable[[Any, str], Any]


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


def many(form: Form) -> Form:
    """The form of a tuple, written as a list."""

    def read(saved: Any, where: str) -> tuple[Any, ...]:
        if not isinstance(saved, list):
            raise _wrong(where, "a list", saved)
        return tuple(form.read(entry, f"{where}[{at}]") for at, entry in enumerate(saved))

    return Form(lambda values: [form.write(value) for value in values], read)


def maybe(form: Form) -> Form:
    """The form of a value that may be None, written as null."""
    return Form(
        lambda value: None if value is None else form.write(value),
        lambda saved, where: None if saved is None else form.read(saved, where),
    )


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
    if number >= _MOST_COUNT:
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


def _read_side(saved: Any, where: str) -> Literal["data", "neighbour"]:
    if saved == "data":
        return "data"
    if saved == "neighbour":
        return "neighbour"
    raise _wrong(where, "'data' or 'neighbour'", saved)


def _read_verdict(saved: Any, where: str) -> Verdict:
    known = {verdict.value: verdict for verdict in Verdict}
    if not isinstance(saved, str) or saved not in known:
        raise _wrong(where, f"one of {', '.join(known)}", saved)
    return known[saved]


def _read_floats(saved: Any, where: str) -> FloatView:
    for known in FLOAT_VIEWS:
        if saved == known:
            return known
    raise _wrong(where, "'real' or 'bits'", saved)


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
    return SEED.write(seed) if isinstance(seed, tuple) else operator.index(seed)


def _read_seed(saved: Any, where: str) -> Any:
    return SEED.read(saved, where) if isinstance(saved, list) else _read_integer(saved, where)


def _write_step(step: tuple[int, float]) -> list[object]:
    return [operator.index(step[0]), encoded_float(step[1])]


def _read_step(saved: Any, where: str) -> tuple[int, float]:
    if not isinstance(saved, list) or len(saved) != 2:
        raise _wrong(where, "[samples, log-wealth]", saved)
    return _read_count(saved[0], where), _read_number(saved[1], where)


def _read_package(saved: Any, where: str) -> tuple[str, str]:
    if not isinstance(saved, list) or len(saved) != 2:
        raise _wrong(where, "[name, version]", saved)
    return _read_text(saved[0], where), _read_text(saved[1], where)


INTEGER = Form(operator.index, _read_integer)
COUNT = Form(operator.index, _read_count)
NUMBER = Form(encoded_float, _read_number)
TEXT = Form(str, _read_text)
FLAG = Form(bool, _read_flag)
SEED = many(INTEGER)
DATA = Form(encoded, lambda saved, where: decoded(saved))
PAIR = record(Pair, {"data": DATA, "neighbour": DATA})
TALLY = record(
    Tally, {"hits": COUNT, "draws": COUNT, "lower": NUMBER, "upper": NUMBER, "anytime": FLAG}
)
EVIDENCE = record(
    Evidence,
    {"trace": many(Form(_write_step, _read_step)), "log_wealth": NUMBER, "peak": NUMBER},
)
PAIR_RECORD = record(
    PairRecord, {"pair": PAIR, "samples": COUNT, "log_wealth": NUMBER, "growth": NUMBER}
)
OUTLINE = record(
    OutputHistogram,
    {
        "place": TEXT,
        "edges": many(NUMBER),
        "values": many(TEXT),
        "data": many(COUNT),
        "neighbour": many(COUNT),
        "data_hits": many(COUNT),
        "neighbour_hits": many(COUNT),
    },
)
COUNTEREXAMPLE = record(
    Counterexample,
    {
        "pair": PAIR,
        "event": TEXT,
        "likelier": Form(str, _read_side),
        "data": TALLY,
        "neighbour": TALLY,
        "delta": NUMBER,
        "epsilon_lower": NUMBER,
        "alpha": NUMBER,
        "seed": SEED,
        "rule": maybe(Form(lambda rule: rule.to_json(), _read_rule)),
        "outputs": many(OUTLINE),
    },
)
AUDIT = record(
    Audit,
    {
        "mechanism": TEXT,
        "claim": Form(write_claim, _read_claim),
        "verdict": Form(lambda verdict: verdict.value, _read_verdict),
        "lower_bound": maybe(NUMBER),
        "counterexample": maybe(COUNTEREXAMPLE),
        "simplest": maybe(COUNTEREXAMPLE),
        "tester": TEXT,
        "evidence": EVIDENCE,
        "samples": COUNT,
        "seconds": NUMBER,
        "alpha": NUMBER,
        "rng_seed": Form(_write_seed, _read_seed),
        "pairs_tried": COUNT,
        "neighbours": TEXT,
        "strongest": maybe(PAIR_RECORD),
        "detectable": maybe(NUMBER),
        "forecast": maybe(COUNT),
        "history": many(PAIR_RECORD),
        "warnings": many(TEXT),
        "interrupted": FLAG,
        "version": TEXT,
        "target": maybe(TEXT),
        "software": many(Form(list, _read_package)),
        "outputs": many(OUTLINE),
        "floats": Form(str, _read_floats),
    },
)
