"""The domain that a command line names."""

from __future__ import annotations

from dpaudit.domains.categories import categories
from dpaudit.domains.domain import Refinable
from dpaudit.domains.ranges import dates, floats, integers
from dpaudit.domains.sequences import texts, vectors
from dpaudit.errors import InvalidDomain

ODD = "+odd"
MAX_LENGTH = 1_000_000  # numbers in a vector that a command line names: 8 MB a record
FORMS = (
    "floats:LOW:HIGH, integers:LOW:HIGH, categories:A,B,C, vectors:LENGTH:LOW:HIGH, "
    f"dates:START:END or texts:A,B,C; {ODD} behind it adds odd values"
)


def parse_domain(text: str) -> Refinable:
    """The domain that a command line names.

    >>> print(parse_domain("floats:-1:1"), parse_domain("categories:a,b"))
    floats(-1, 1) categories('a', 'b')
    >>> print(parse_domain("dates:2020-01-01:2021-12-31+odd"))
    dates(2020-01-01, 2021-12-31) and odd values
    """
    plain = text.strip()
    if plain.endswith(ODD):
        while plain.endswith(ODD):
            plain = plain.removesuffix(ODD)
        return parse_domain(plain).with_odd_values()
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
