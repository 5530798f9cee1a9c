"""How a target is written: a place, then names and calls, `file.py:Class(epsilon=1).release`.

The text is parsed, never evaluated: it may only name things, and call them with plain values.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from typing import Any, TypeAlias

from dpaudit.errors import InvalidMechanism
from dpaudit.outputs import short

MAX_CHARACTERS = 2_000  # of the names and calls in a target


@dataclass(frozen=True, slots=True)
class Named:
    """An attribute that a target names."""

    name: str


@dataclass(frozen=True, slots=True)
class Called:
    """A call that a target makes, with plain values; `arguments` is how they were written."""

    values: tuple[Any, ...]
    keywords: tuple[tuple[str, Any], ...]
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return f"({', '.join(self.arguments)})"


Step: TypeAlias = Named | Called


@dataclass(frozen=True, slots=True)
class Target:
    """A module or a file, and the way from there to what is audited."""

    place: str
    steps: tuple[Step, ...]

    @property
    def makes_calls(self) -> bool:
        """Whether it calls anything with values of its own."""
        return any(isinstance(step, Called) for step in self.steps)


def parse_target(text: str) -> Target:
    """Read `pkg.module:name.name` or `file.py:Class(epsilon=1).method`.

    >>> target = parse_target("my_file.py:Sum(epsilon=1, bounds=(0, 5)).release")
    >>> target.place, [str(step) for step in target.steps if isinstance(step, Called)]
    ('my_file.py', ['(epsilon=1, bounds=(0, 5))'])
    """
    place, _, attribute = text.rpartition(":")
    if ")" not in text:  # names only
        names = attribute.split(".") if place and attribute else []
        if names:
            return Target(place, tuple(map(Named, names)))
        raise _no_target(text)
    places = [at for at, letter in enumerate(text) if letter == ":" and at > 0]
    for at in (*places[-1:], *places[:-1]):  # a word or a dict among the values may hold colons
        tree = _parsed(text[at + 1 :])
        if tree is not None:
            return Target(text[:at], tuple(_steps(tree, text)))
    raise _no_target(text)


def _no_target(text: str) -> InvalidMechanism:
    return InvalidMechanism(
        f"a mechanism is named module:function or file.py:function, got {short(text)}. It may make "
        "an object with plain values: file.py:Class(epsilon=1).method."
    )


def _parsed(text: str) -> ast.expr | None:
    """The expression of a text; None if it is none, or too long to be one."""
    if len(text) > MAX_CHARACTERS:
        return None
    try:
        with warnings.catch_warnings(action="ignore"):  # of odd escapes in texts
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _steps(tree: ast.expr, text: str) -> list[Step]:
    """The names and calls of an expression, from left to right."""
    steps: list[Step] = []
    while not isinstance(tree, ast.Name):
        match tree:
            case ast.Attribute(value=inner, attr=name):
                steps.append(Named(name))
            case ast.Call(func=inner):
                steps.append(_call(tree, text))
            case _:
                raise InvalidMechanism(
                    f"{short(text)}: a target has names and calls only, such as "
                    f"file.py:Class(epsilon=1).method, got {ast.unparse(tree)}."
                )
        tree = inner
    return [Named(tree.id), *reversed(steps)]


def _call(tree: ast.Call, text: str) -> Called:
    """A call whose arguments are plain values."""
    values = tuple(_value(each, text) for each in tree.args)
    keywords = tuple((str(each.arg), _value(each.value, text)) for each in tree.keywords)
    if any(each.arg is None for each in tree.keywords):
        raise InvalidMechanism(f"{short(text)}: write each argument as name=value, without **.")
    written = [ast.unparse(each) for each in (*tree.args, *tree.keywords)]
    return Called(values, keywords, tuple(written))


def _value(tree: ast.expr, text: str) -> Any:
    try:
        return ast.literal_eval(tree)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise InvalidMechanism(
            f"{short(text)}: only plain values can be arguments (numbers, words, lists, None), "
            f"got {ast.unparse(tree)}. Make the object in the file, and name that."
        ) from error
