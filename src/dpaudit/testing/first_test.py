"""A pytest file of guesses: each says what it comes from, and what is missing fails the test."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from dpaudit.testing.first_guesses import OF_RECORDS, Call, Guess, Guesses, guesses_of
from dpaudit.testing.signature import Signature

WIDTH = 88  # what formatters keep to unless they are told otherwise
INDENT = "    "


def pytest_file(signature: Signature) -> str:
    """The text of a pytest file that audits it.

    >>> from dpaudit.testing.signature import read_signature
    >>> text = pytest_file(read_signature("dpaudit.zoo:LaplaceCount"))
    >>> "claim = dpaudit.PureDP(epsilon=1.0)" in text
    True
    """
    body = list(_body(signature, guesses_of(signature)))
    title = f'"""Does {_name(signature)} keep its privacy claim? Begun by `dpaudit write`."""'
    blocks = [
        [title],
        ["import functools"] if _mentions(body, "functools.") else [],
        ["import dpaudit", *(["import pytest"] if _mentions(body, "pytest.") else [])],
        [
            *_place(signature),
            f"from {signature.module} import {signature.attribute.partition('.')[0]}",
        ],
    ]
    head = "\n\n".join("\n".join(block) for block in blocks if block)
    test = f"def test_{_snake(_name(signature))}_keeps_its_claim():"
    return "\n".join([head, "", "", test, *body, ""])


def _mentions(lines: list[str], name: str) -> bool:
    return any(name in line for line in lines if not line.lstrip().startswith("#"))


def _place(signature: Signature) -> list[str]:
    if signature.file is None:
        return []
    return _comment(
        f"In {signature.file}: keep this test beside it, or its folder on the path.", ""
    )


def _body(signature: Signature, found: Guesses) -> Iterator[str]:
    yield from _assigned("claim", found.claim)
    if found.domain is not None:
        yield from _assigned("domain", found.domain)
    yield from _neighbours(found.neighbours)
    yield from _mechanism(signature, found)
    yield from _comment("Add `samples=` for a longer search, `rng=` for the same one every time.")
    yield f"{INDENT}dpaudit.assert_private(mechanism, claim, neighbours)"


def _neighbours(guess: Guess) -> Iterator[str]:
    if guess.code is not None:
        yield from _assigned("neighbours", guess)
        return
    yield from _assigned("relation", guess)
    yield from _assignment("neighbours", Call("relation", OF_RECORDS))


def _assigned(name: str, guess: Guess) -> Iterator[str]:
    if guess.code is not None:
        yield from _comment(f"A guess, {guess.why}.")
        yield from _assignment(name, guess.code)
        return
    yield from _comment(f"TODO: {guess.why}.")
    yield from _assignment(name, Call("pytest.fail", (f'"TODO: {guess.todo}"',)))


def _mechanism(signature: Signature, found: Guesses) -> Iterator[str]:
    """What is audited: the function with the values that the test sets, for many outputs a call."""
    arguments = [
        f"{each.name}={found.values[each.role]!r}" for each in signature.settings if each.required
    ]
    arguments += [f'{name}=pytest.fail("TODO: a value for {name}")' for name in signature.unknown]
    if arguments:
        yield from _comment("Values that the test chooses; try others too.")
    code: Call | str = signature.attribute
    if signature.is_class:
        code = Call(signature.attribute, tuple(arguments))
    elif arguments:
        code = Call("functools.partial", (signature.attribute, *arguments))
    if signature.draws_many:
        yield from _assignment("mechanism", code)
        return
    yield from _assignment("release", code)
    yield from _comment("No parameter asks for many outputs, so each call gives one.")
    yield from _assignment("mechanism", Call("dpaudit.one_at_a_time", ("release",)))


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


def _name(signature: Signature) -> str:
    return signature.attribute.rpartition(".")[2]


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_")
