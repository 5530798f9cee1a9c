"""What a signature and a docstring let one guess: the claim, what a record may be, the relation.

A guess says what it was made from. Where there is nothing to make it from there is no guess, and
the test says so by failing.
"""

from __future__ import annotations

import math
import re
import typing
from dataclasses import dataclass
from typing import TypeGuard

from dpaudit.testing.signature import Setting, Signature

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
PRIVATE = r"\s*-?\s*(?:DP\b|differential(?:ly)?\s+priva)"
BOTH = re.compile(rf"\(\s*({NUMBER})\s*,\s*({NUMBER})\s*\){PRIVATE}", re.IGNORECASE)
PURE = re.compile(rf"(?<![\w.,)-])({NUMBER}){PRIVATE}", re.IGNORECASE)
ZERO_CONCENTRATED = re.compile(rf"(?<![\w.])({NUMBER})\s*-?\s*zCDP\b", re.IGNORECASE)
GAUSSIAN = re.compile(rf"(?<![\w.])({NUMBER})\s*-?\s*GDP\b", re.IGNORECASE)
INTERVAL = re.compile(rf"\[\s*({NUMBER})\s*,\s*({NUMBER})\s*\]", re.IGNORECASE)
ADD = re.compile(r"\badd\w*\W{0,3}(?:or\W{1,3})?(?:remov|delet)\w*", re.IGNORECASE)
REPLACE = re.compile(
    r"\breplac(?:e|es|ed|ing|ement)\b|\bsubstitut\w+|\bswap\w*"
    r"|\bchang\w+ (?:of )?(?:one|a|any|a single) (?:record|entry|row|person)",
    re.IGNORECASE,
)
WHICH_RELATION = "dpaudit.add_or_remove_one or dpaudit.replace_one?"
ANSWERS = {"answers", "query_answers"}
SCALARS = {"value", "answer", "true_value", "true_answer"}
CLAIMS = {  # by the first of these parameters that there is
    "order": "RenyiDP",
    "delta": "ApproxDP",
    "epsilon": "PureDP",
    "rho": "ZCDP",
    "mu": "GaussianDP",
}
ROLES_OF = {
    "RenyiDP": ("order", "epsilon"),
    "ApproxDP": ("epsilon", "delta"),
    "PureDP": ("epsilon",),
    "ZCDP": ("rho",),
    "GaussianDP": ("mu",),
}
LENGTH = 5  # of the answers that the test searches
OF_RECORDS = ("domain", "max_records=10")  # the arguments of a relation
CHOSEN = {"epsilon": 1.0, "delta": 1e-6, "rho": 0.5, "mu": 1.0, "order": 2.0, "sensitivity": 1.0}


@dataclass(frozen=True, slots=True)
class Call:
    """A call to be written down: a function, and its arguments as code."""

    function: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(self.arguments)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """A call and where it comes from; or, without one, what the reader has to say."""

    code: Call | None
    why: str
    todo: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guesses:
    """All that a test needs: its claim, its neighbours and the values that it sets."""

    claim: Guess
    domain: Guess | None
    neighbours: Guess
    values: dict[str, object]


def guesses_of(signature: Signature) -> Guesses:
    """Guess what a test of it needs."""
    spoken = _spoken(signature.words)
    values = _values(signature, spoken)
    claim = _claim(signature, values, spoken)
    answers = _answers(signature, values)
    if answers is not None:
        return Guesses(claim=claim, domain=None, neighbours=answers, values=values)
    return Guesses(
        claim=claim,
        domain=_domain(signature, values),
        neighbours=_relation(signature),
        values=values,
    )


# --- the claim ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A claim with its numbers in a docstring: the parameters by role, and the words."""

    numbers: dict[str, float]
    words: str


def _spoken(words: str) -> Spoken | None:
    forms: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
        (BOTH, ("epsilon", "delta")),
        (ZERO_CONCENTRATED, ("rho",)),
        (GAUSSIAN, ("mu",)),
        (PURE, ("epsilon",)),
    )
    for pattern, roles in forms:
        if match := pattern.search(words):
            numbers = dict(zip(roles, map(float, match.groups()), strict=True))
            return Spoken(numbers=numbers, words=match.group(0).strip())
    return None


def _values(signature: Signature, spoken: Spoken | None) -> dict[str, object]:
    """The value of each setting by its role: its default, else the docstring's, else one chosen."""
    said = {} if spoken is None else spoken.numbers
    values: dict[str, object] = {}
    for each in signature.settings:
        chosen = said.get(each.role, CHOSEN.get(each.role))
        values[each.role] = chosen if each.required else each.default
    lower, upper = signature.setting("lower"), signature.setting("upper")
    if lower is not None and lower.required:
        values["lower"] = _number(values.get("upper"), 1.0) - 1.0
    if upper is not None and upper.required:
        values["upper"] = _number(values.get("lower"), 0.0) + 1.0
    bounds = signature.setting("bounds")
    if bounds is not None and bounds.required:
        values["bounds"] = (0.0, 1.0)
    return values


def _claim(signature: Signature, values: dict[str, object], spoken: Spoken | None) -> Guess:
    numbers = {role: float(value) for role, value in values.items() if _is_finite(value)}
    if spoken is not None and all(
        numbers.get(role, number) == number for role, number in spoken.numbers.items()
    ):
        why = f'from the docstring: "{spoken.words}"'
        return Guess(code=_claim_code(spoken.numbers), why=why)
    roles = ("order", "epsilon", "delta") if "epsilon" in numbers else ("rho", "mu")
    named: dict[str, float] = {role: numbers[role] for role in roles if role in numbers}
    if not named:
        return Guess(
            code=None,
            why="nothing in the signature or the docstring says what is claimed",
            todo="say what is claimed, such as dpaudit.PureDP(epsilon=1.0)",
        )
    why = _origin([each for each in signature.settings if each.role in named])
    contrary = f'; the docstring says "{spoken.words}"' if spoken is not None else ""
    return Guess(code=_claim_code(named), why=why + contrary)


def _origin(settings: list[Setting]) -> str:
    """Say which parameters a guess comes from, and who gives their values."""
    set_here = [each.name for each in settings if each.required]
    defaults = [f"the default of {each.name}" for each in settings if not each.required]
    plural = "s" if len(set_here) > 1 else ""
    ours = [f"the value{plural} the test sets for {' and '.join(set_here)}"] if set_here else []
    return f"from {' and '.join([*defaults, *ours])}"


def _claim_code(numbers: dict[str, float]) -> Call:
    if numbers.get("delta") == 0.0:
        numbers = {role: number for role, number in numbers.items() if role != "delta"}
    name = next(name for role, name in CLAIMS.items() if role in numbers)
    roles = [role for role in ROLES_OF[name] if role in numbers]
    return Call(f"dpaudit.{name}", tuple(f"{role}={numbers[role]!r}" for role in roles))


# --- the neighbours -------------------------------------------------------------------------------


def _answers(signature: Signature, values: dict[str, object]) -> Guess | None:
    """Neighbouring answers of queries, where the data are answers and no records."""
    moved = values.get("sensitivity")
    if moved is None and signature.data.name not in ANSWERS | SCALARS:
        return None
    by = _number(moved, 1.0)
    source = f"the parameter {signature.data.name}"
    if moved is not None:
        source += " and the sensitivity"
    if signature.data.name in SCALARS or signature.data.annotation in (float, int):
        return Guess(
            code=Call("dpaudit.pairs", (f"[(0.0, {by!r})]",)),
            why=f"one answer that moves by {by:g}, from {source}",
        )
    return Guess(
        code=Call("dpaudit.query_answers", (f"{LENGTH}", f"sensitivity={by!r}")),
        why=f"{LENGTH} answers that each move by at most {by:g}, from {source}",
    )


def _domain(signature: Signature, values: dict[str, object]) -> Guess:
    """What a record may be, from bounds in the signature or docstring, or from the annotation."""
    of_type = _record_type(signature.data.annotation)
    low, high, why = _bounds(signature, values)
    if low is not None and high is not None:
        if of_type is int and low == int(low) and high == int(high):
            return Guess(code=Call("dpaudit.integers", (f"{int(low)}", f"{int(high)}")), why=why)
        return Guess(code=Call("dpaudit.floats", (f"{low!r}", f"{high!r}")), why=why)
    why = f"from the annotation of {signature.data.name}"
    if of_type is bool:
        return Guess(code=Call("dpaudit.categories", ("False", "True")), why=why)
    if typing.get_origin(of_type) is typing.Literal:
        choices = tuple(map(_quoted, typing.get_args(of_type)))
        return Guess(code=Call("dpaudit.categories", choices), why=why)
    return Guess(
        code=None,
        why="no bounds, no [low, high] in the docstring and no annotation say what a record is",
        todo="say what a record may be, such as dpaudit.floats(0, 1)",
    )


def _bounds(
    signature: Signature, values: dict[str, object]
) -> tuple[float | None, float | None, str]:
    lower, upper, bounds = (values.get(role) for role in ("lower", "upper", "bounds"))
    names = ["lower", "upper"]
    if isinstance(bounds, tuple | list) and len(bounds) == 2:
        (lower, upper), names = bounds, ["bounds"]
    if _is_finite(lower) and _is_finite(upper) and lower < upper:
        settings = [each for each in signature.settings if each.role in names]
        return float(lower), float(upper), _origin(settings)
    if match := INTERVAL.search(signature.words):
        low, high = map(float, match.groups())
        if low < high:
            return low, high, f'from the docstring: "{match.group(0)}"'
    return None, None, ""


def _record_type(annotation: object) -> object:
    """The type of the entries of an annotated list or the like: `list[int]` gives int."""
    inner = typing.get_args(annotation)
    return inner[0] if inner else None


def _relation(signature: Signature) -> Guess:
    words = signature.words
    add, replace = ADD.search(words), REPLACE.search(words)
    if add is not None and replace is not None:
        why = f'the docstring says "{add.group(0)}" and "{replace.group(0)}"'
        return Guess(code=None, why=why, todo=WHICH_RELATION)
    if add is None and replace is None:
        why = "the docstring does not say whether a record is added or removed, or replaced"
        return Guess(code=None, why=why, todo=WHICH_RELATION)
    name, match = ("add_or_remove_one", add) if add is not None else ("replace_one", replace)
    assert match is not None
    return Guess(
        code=Call(f"dpaudit.{name}", OF_RECORDS), why=f'from the docstring: "{match.group(0)}"'
    )


def _number(value: object, otherwise: float) -> float:
    return float(value) if _is_finite(value) else otherwise


def _is_finite(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and math.isfinite(value)


def _quoted(value: object) -> str:
    """The code of a value, text in the quotes that formatters prefer."""
    plain = isinstance(value, str) and value.isprintable() and not set(value) & set('"\\')
    return f'"{value}"' if plain else repr(value)
