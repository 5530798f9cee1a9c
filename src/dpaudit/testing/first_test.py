"""A first pytest file for a mechanism: what its signature and docstring suggest.

Each guess says what it was made from. Where there is nothing to guess from, the test fails.
"""

from __future__ import annotations

import math
import re
import textwrap
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from dpaudit.testing.signature import Needs, Signature, is_required

WIDTH = 88  # the default of formatters
INDENT = "    "

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
PRIVATE = r"\s*-?\s*(?:DP\b|differential(?:ly)?\s+priva)"
STATED_CLAIMS = {  # how a docstring states them, by the parameters stated
    ("epsilon", "delta"): rf"\(\s*({NUMBER})\s*,\s*({NUMBER})\s*\){PRIVATE}",
    ("rho",): rf"(?<![\w.])({NUMBER})\s*-?\s*zCDP\b",
    ("mu",): rf"(?<![\w.])({NUMBER})\s*-?\s*GDP\b",
    ("epsilon",): rf"(?<![\w.,)-])({NUMBER}){PRIVATE}",
}
INTERVAL = rf"\[\s*({NUMBER})\s*,\s*({NUMBER})\s*\]"
ADD = r"\badd\w*\W{0,3}(?:or\W{1,3})?(?:remov|delet)\w*"
REPLACE = (
    r"\breplac(?:e|es|ed|ing|ement)\b|\bsubstitut\w+|\bswap\w*"
    r"|\bchang\w+ (?:of )?(?:one|a|any|a single) (?:record|entry|row|person)"
)
CLAIMS = {  # their parameters; the first claim all of whose parameters are known is taken
    "RenyiDP": ("order", "epsilon"),
    "ApproxDP": ("epsilon", "delta"),
    "PureDP": ("epsilon",),
    "ZCDP": ("rho",),
    "GaussianDP": ("mu",),
}
ANSWERS = {"answers", "query_answers"}  # names of data that are answers of queries, not records
SCALARS = {"value", "answer", "true_value", "true_answer"}
QUERIES = 5  # answers that the test searches
CHOSEN = {"epsilon": 1.0, "delta": 1e-6, "rho": 0.5, "mu": 1.0, "order": 2.0, "sensitivity": 1.0}


@dataclass(frozen=True, slots=True)
class Call:
    """A call to be written down: a function, and its arguments as code."""

    function: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(self.arguments)})"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Code for the test, and a comment that says where it comes from or what is missing."""

    comment: str
    code: Call


def _guess(function: str, *arguments: str, why: str) -> Suggestion:
    return Suggestion(f"A guess, {why}.", Call(f"dpaudit.{function}", arguments))


def _missing(todo: str, *, why: str) -> Suggestion:
    return Suggestion(f"TODO: {why}.", Call("pytest.fail", (f'"TODO: {todo}"',)))


def pytest_file(signature: Signature) -> str:
    """The text of a pytest file that audits it.

    >>> from dpaudit.testing.signature import read_signature
    >>> text = pytest_file(read_signature("dpaudit.zoo:LaplaceCount"))
    >>> "claim = dpaudit.PureDP(epsilon=1.0)" in text
    True
    """
    name = f"{signature.path.rpartition('.')[2]}.{signature.method}".rstrip(".")
    body = list(_body(signature))
    code = "\n".join(line for line in body if not line.lstrip().startswith("#"))
    place = f"In {signature.file}: keep this test beside it, or its folder on the path."
    blocks = [
        [f'"""Does {name} keep its privacy claim? Begun by `dpaudit write`."""'],
        ["import functools"] if "functools." in code else [],
        ["import dpaudit", *(["import pytest"] if "pytest." in code else [])],
        [
            *([] if signature.file is None else _comment(place, "")),
            f"from {signature.module} import {re.split('[.(]', signature.path)[0]}",
        ],
    ]
    head = "\n\n".join("\n".join(block) for block in blocks if block)
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    snake = re.sub(r"\W+", "_", words).strip("_")
    return "\n".join([head, "", "", f"def test_{snake}_keeps_its_claim():", *body, ""])


def _body(signature: Signature) -> Iterator[str]:
    words, stated = _stated_claim(signature.words)
    values = _values(signature, stated)
    yield from _suggested("claim", _claim(signature, values, stated, words))
    answers = _answers(signature, values)
    if answers is not None:
        yield from _suggested("neighbours", answers)
    else:
        yield from _suggested("domain", _domain(signature, values))
        relation = _relation(signature)
        missing = relation.code.function == "pytest.fail"
        yield from _suggested("relation" if missing else "neighbours", relation)
        if missing:
            yield from _assignment("neighbours", Call("relation", ("domain", "max_records=10")))
    yield from _mechanism(signature, values)
    yield from _comment("Add `samples=` for a longer search, `rng=` for the same one every time.")
    yield f"{INDENT}dpaudit.assert_private(mechanism, claim, neighbours)"


def _suggested(name: str, suggestion: Suggestion) -> list[str]:
    return [*_comment(suggestion.comment), *_assignment(name, suggestion.code)]


def _assignment(name: str, code: Call | str) -> list[str]:
    """An assignment; where it does not fit into a line, an argument a line."""
    line = f"{INDENT}{name} = {code}"
    if len(line) <= WIDTH or isinstance(code, str):
        return [line]
    arguments = [f"{2 * INDENT}{argument}," for argument in code.arguments]
    return [f"{INDENT}{name} = {code.function}(", *arguments, f"{INDENT})"]


def _comment(text: str, indent: str = INDENT) -> list[str]:
    margin = f"{indent}# "
    return textwrap.wrap(
        text, WIDTH, initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False
    )


def _mechanism(signature: Signature, values: dict[str, object]) -> Iterator[str]:
    """What is audited: the function with the values that the test sets, for many outputs a call."""
    made = () if signature.made is None else _chosen(signature.made, values)
    called = _chosen(signature.called, values)
    if made or called:
        yield from _comment("Values that the test chooses; try others too.")
    code: Call | str = signature.path
    if signature.is_class:
        given = [
            _quoted(value) if name is None else f"{name}={_quoted(value)}"
            for name, value in signature.given
        ]
        code = Call(signature.path, (*given, *made))
        if signature.method:
            yield from _assignment("instance", code)
            code = f"instance.{signature.method}"
    if called:
        code = Call("functools.partial", (str(code), *called))
    if signature.draws_many:
        yield from _assignment("mechanism", code)
        return
    yield from _assignment("release", code)
    yield from _comment("No parameter asks for many outputs, so each call gives one.")
    yield from _assignment("mechanism", Call("dpaudit.one_at_a_time", ("release",)))


def _chosen(needs: Needs, values: dict[str, object]) -> tuple[str, ...]:
    """The arguments that the test chooses for what a call requires, as code."""
    required = [(role, each.name) for role, each in needs.settings if is_required(each)]
    return (
        *(f"{name}={values[role]!r}" for role, name in required),
        *(f'{name}=pytest.fail("TODO: a value for {name}")' for name in needs.unknown),
    )


def _stated_claim(words: str) -> tuple[str, dict[str, float]]:
    """A claim with its numbers in a docstring: the words, and the parameters by role."""
    for roles, pattern in STATED_CLAIMS.items():
        if match := re.search(pattern, words, re.IGNORECASE):
            return match.group(0).strip(), dict(zip(roles, map(float, match.groups()), strict=True))
    return "", {}


def _values(signature: Signature, stated: dict[str, float]) -> dict[str, object]:
    """The value of each setting by its role: its default, else the docstring's, else one chosen."""
    values: dict[str, object] = {}
    required = {role for role, each in signature.settings if is_required(each)}
    for role, each in signature.settings:
        chosen = stated.get(role, CHOSEN.get(role))
        values[role] = chosen if is_required(each) else each.default
    if "lower" in required:
        values["lower"] = _number(values.get("upper"), 1.0) - 1.0
    if "upper" in required:
        values["upper"] = _number(values.get("lower"), 0.0) + 1.0
    if "bounds" in required:
        values["bounds"] = (0.0, 1.0)
    return values


def _claim(
    signature: Signature, values: dict[str, object], stated: dict[str, float], words: str
) -> Suggestion:
    numbers = {role: float(value) for role, value in values.items() if _is_finite(value)}
    if stated and all(numbers.get(role, number) == number for role, number in stated.items()):
        return _claim_of(stated, f'from the docstring: "{words}"')
    roles = ("order", "epsilon", "delta") if "epsilon" in numbers else ("rho", "mu")
    named = {role: numbers[role] for role in roles if role in numbers}
    if not named:
        return _missing(
            "say what is claimed, such as dpaudit.PureDP(epsilon=1.0)",
            why="nothing in the signature or the docstring says what is claimed",
        )
    contrary = f'; the docstring says "{words}"' if stated else ""
    return _claim_of(named, _origin(signature, named) + contrary)


def _claim_of(numbers: dict[str, float], why: str) -> Suggestion:
    known = {role for role, number in numbers.items() if role != "delta" or number != 0.0}
    name, roles = next((name, roles) for name, roles in CLAIMS.items() if known.issuperset(roles))
    return _guess(name, *(f"{role}={numbers[role]!r}" for role in roles), why=why)


def _origin(signature: Signature, roles: typing.Collection[str]) -> str:
    """Say which parameters a guess comes from, and who gives their values."""
    settings = [each for role, each in signature.settings if role in roles]
    set_here = [each.name for each in settings if is_required(each)]
    named = {True: "the value given for", False: "the default of"}
    defaults = [
        f"{named[each.name in signature.given_names]} {each.name}"
        for each in settings
        if not is_required(each)
    ]
    plural = "s" if len(set_here) > 1 else ""
    ours = [f"the value{plural} the test sets for {' and '.join(set_here)}"] if set_here else []
    return f"from {' and '.join([*defaults, *ours])}"


def _answers(signature: Signature, values: dict[str, object]) -> Suggestion | None:
    """Neighbouring answers of queries, where the data are answers and not records."""
    data, moved = signature.data, values.get("sensitivity")
    if moved is None and data.name not in ANSWERS | SCALARS:
        return None
    by = _number(moved, 1.0)
    source = f"the parameter {data.name}" + (" and the sensitivity" if moved is not None else "")
    if data.name in SCALARS or data.annotation in (float, int):
        why = f"one answer that moves by {by:g}, from {source}"
        return _guess("pairs", f"[(0.0, {by!r})]", why=why)
    why = f"{QUERIES} answers that each move by at most {by:g}, from {source}"
    return _guess("query_answers", f"{QUERIES}", f"sensitivity={by!r}", why=why)


def _domain(signature: Signature, values: dict[str, object]) -> Suggestion:
    """What a record may be, from bounds in the signature or docstring, or from the annotation."""
    inner = typing.get_args(signature.data.annotation)  # of list[int]: int
    of_type = inner[0] if inner else None
    if bounds := _bounds(signature, values):
        low, high, why = bounds
        if of_type is int and low == int(low) and high == int(high):
            return _guess("integers", f"{int(low)}", f"{int(high)}", why=why)
        return _guess("floats", f"{low!r}", f"{high!r}", why=why)
    why = f"from the annotation of {signature.data.name}"
    if of_type is bool:
        return _guess("categories", "False", "True", why=why)
    if typing.get_origin(of_type) is typing.Literal:
        return _guess("categories", *map(_quoted, typing.get_args(of_type)), why=why)
    return _missing(
        "say what a record may be, such as dpaudit.floats(0, 1)",
        why="no bounds, no [low, high] in the docstring and no annotation say what a record is",
    )


def _bounds(signature: Signature, values: dict[str, object]) -> tuple[float, float, str] | None:
    lower, upper, bounds = (values.get(role) for role in ("lower", "upper", "bounds"))
    roles = ["lower", "upper"]
    if isinstance(bounds, tuple | list) and len(bounds) == 2:
        (lower, upper), roles = bounds, ["bounds"]
    if _is_finite(lower) and _is_finite(upper) and lower < upper:
        return float(lower), float(upper), _origin(signature, roles)
    if match := re.search(INTERVAL, signature.words, re.IGNORECASE):
        low, high = map(float, match.groups())
        if low < high:
            return low, high, f'from the docstring: "{match.group(0)}"'
    return None


def _relation(signature: Signature) -> Suggestion:
    patterns = {"add_or_remove_one": ADD, "replace_one": REPLACE}
    found = {
        name: match.group(0)
        for name, pattern in patterns.items()
        if (match := re.search(pattern, signature.words, re.IGNORECASE))
    }
    if len(found) == 1:
        ((name, words),) = found.items()
        return _guess(name, "domain", "max_records=10", why=f'from the docstring: "{words}"')
    why = "the docstring does not say whether a record is added or removed, or replaced"
    if found:
        why = "the docstring says " + " and ".join(f'"{words}"' for words in found.values())
    return _missing("dpaudit.add_or_remove_one or dpaudit.replace_one?", why=why)


def _number(value: object, otherwise: float) -> float:
    return float(value) if _is_finite(value) else otherwise


def _is_finite(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and math.isfinite(value)


def _quoted(value: object) -> str:
    """The code of a value, text in the quotes that formatters prefer."""
    plain = isinstance(value, str) and value.isprintable() and not set(value) & set('"\\')
    return f'"{value}"' if plain else repr(value)
