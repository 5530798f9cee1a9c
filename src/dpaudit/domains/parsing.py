"""The domain that a command line names."""

from __future__ import annotations

import re

from dpaudit.domains.categories import categories
from dpaudit.domains.domain import Refinable
from dpaudit.domains.ranges import dates, floats, integers
from dpaudit.domains.sequences import texts, vectors
from dpaudit.domains.tables import TABLE_FORMS, Tables, tables
from dpaudit.errors import InvalidDomain

ODD = "+odd"
MAX_LENGTH = 1_000_000  # numbers in a vector that a command line names: 8 MB a record
MAX_COLUMNS = 1_000  # of a table that a command line names
FORMS = (
    "floats:LOW:HIGH, integers:LOW:HIGH, categories:A,B,C, vectors:LENGTH:LOW:HIGH, "
    "dates:START:END, texts:A,B,C or tables(NAME=DOMAIN, NAME=DOMAIN, form=pandas); "
    f"{ODD} behind it adds odd values"
)
COLUMN = re.compile(r"\s*([^\s=:,()]+)\s*=(.*)", re.DOTALL)  # a name and its domain
BETWEEN_COLUMNS = re.compile(r",(?=\s*[^\s=:,()]+\s*=)")  # other commas belong to a domain


def parse_domain(text: str) -> Refinable:
    """The domain that a command line names.

    >>> print(parse_domain("floats:-1:1"), parse_domain("categories:a,b"))
    floats(-1, 1) categories('a', 'b')
    >>> print(parse_domain("dates:2020-01-01:2021-12-31+odd"))
    dates(2020-01-01, 2021-12-31) and odd values
    >>> print(parse_domain("tables(age=integers:0:120, city=categories:Ulm,Bonn, form=columns)"))
    tables(age=integers(0, 120), city=categories('Ulm', 'Bonn'), form='columns')
    """
    plain = text.strip()
    if plain.endswith(ODD):
        while plain.endswith(ODD):
            plain = plain.removesuffix(ODD)
        return parse_domain(plain).with_odd_values()
    if re.match(r"tables\s*\(", plain):
        return _table(plain)
    name, _, rest = plain.partition(":")
    parts, words = rest.split(":"), [word.strip() for word in rest.split(",")]
    try:
        match name, len(parts):
            case "floats", 2:
                return floats(float(parts[0]), float(parts[1]))
            case "integers", 2:
                return integers(int(parts[0]), int(parts[1]))
            case "vectors", 3:
                length = int(parts[0])
                if length > MAX_LENGTH:
                    raise InvalidDomain(
                        f"a vector has at most {MAX_LENGTH:,} numbers here, got {text!r:.80}."
                    )
                return vectors(length, float(parts[1]), float(parts[2]))
            case "dates", 2:
                return dates(parts[0].strip(), parts[1].strip())
            case "categories", _ if all(words):
                return categories(words)
            case "texts", _ if all(words):
                return texts(words)
    except InvalidDomain:
        raise
    except ValueError as error:
        raise InvalidDomain(f"cannot read the domain {text!r}: {error}. Write {FORMS}.") from error
    raise InvalidDomain(f"cannot read the domain {text!r}. Write {FORMS}.")


def _table(text: str) -> Tables:
    """The table of `tables(age=integers:0:120, city=categories:Ulm,Bonn, form=pandas)`."""
    inside = text.partition("(")[2].rstrip()
    if not inside.endswith(")"):
        raise InvalidDomain(f"cannot read the domain {text!r:.80}: no ) at its end. Write {FORMS}.")
    parts = BETWEEN_COLUMNS.split(inside.removesuffix(")"), maxsplit=MAX_COLUMNS)
    columns: dict[str, Refinable] = {}
    form = "dicts"
    for part in parts:
        found = COLUMN.fullmatch(part)
        if found is None or len(parts) > MAX_COLUMNS:
            raise InvalidDomain(
                f"cannot read the column {part.strip()!r:.80} of a table. Write NAME=DOMAIN, such "
                f"as age=integers:0:120, for at most {MAX_COLUMNS:,} columns."
            )
        name, domain = found.group(1), found.group(2).strip()
        if name in columns:
            raise InvalidDomain(f"a table has one column of each name, got two called {name!r}.")
        if name == "form" and domain in TABLE_FORMS:
            form = domain
        elif re.match(r"tables\s*\(", domain):
            raise InvalidDomain(f"a column of a table is no table, got {name}={domain:.80}.")
        else:
            columns[name] = parse_domain(domain)
    try:
        return tables(columns, form=form)
    except ImportError as error:  # it says what to install
        raise InvalidDomain(str(error)) from error
