r"""Formulas as MathML, which browsers draw themselves: no script and nothing from the network.

It reads the little TeX of our methods: letters, numbers, `_`, `^`, `\frac`,
`\sqrt`, names of functions and the symbols below.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import Any

from dpaudit.report.figures.canvas import needed

# Each has a name of its own in HTML, too.
_SYMBOLS = ("alpha", "delta", "epsilon", "lambda", "mu", "nu", "rho", "tau", "phi", "Phi", "pi")
_OPERATORS = ("le", "ge", "sdot")
_BIG = ("prod", "sum")
_WORDS = ("log", "Pr", "Bin", "MMD", "TV", "mean", "least", "most")
_LIMITS = ("sup", "max", "min")  # what is written below them is a range
_TOKEN = re.compile(r"\\([A-Za-z]+)|(\d+(?:\.\d+)?|[^\s\\])|\s+")

Tokens = list[str]  # the next one last


def mathml(tex: str, *, display: str = "block") -> str:
    r"""A formula as a MathML element; ValueError for TeX that is not known here.

    >>> print(mathml(r"\frac{1}{2} \le x", display="inline"))
    <math><mfrac><mn>1</mn><mn>2</mn></mfrac><mo>&le;</mo><mi>x</mi></math>
    """
    left = [token for found in _TOKEN.finditer(tex) if (token := _token(found))]
    left.reverse()
    inside = _row(left)
    if left:
        raise ValueError(f"a brace too many in the formula {tex!r}.")
    kind = ' display="block"' if display == "block" else ""
    return f"<math{kind}>{inside}</math>"


def with_formulas(text: str) -> str:
    r"""A text as HTML, in which `$` encloses formulas.

    >>> print(with_formulas(r"a < b, and $\alpha$"))
    a &lt; b, and <math><mi>&alpha;</mi></math>
    """
    parts = text.split("$")
    return "".join(
        mathml(part, display="inline") if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )


def _token(found: re.Match[str]) -> str:
    command, other = found.groups()
    return f"\\{command}" if command else other or ""


def _row(tokens: Tokens) -> str:
    """What stands beside each other, up to a closing brace or the end."""
    parts = []
    while tokens and tokens[-1] != "}":
        parts.append(_scripted(tokens))
    return "".join(parts)


def _scripted(tokens: Tokens) -> str:
    """One atom, with what stands below and above it."""
    has_range = tokens[-1].removeprefix("\\") in (*_BIG, *_LIMITS)
    atom, scripts = _atom(tokens), {}
    while tokens and tokens[-1] in ("_", "^"):
        place = tokens.pop()
        scripts[place] = _atom(tokens)
    below, above = scripts.get("_"), scripts.get("^")
    if below and above:
        name = "munderover" if has_range else "msubsup"
        return f"<{name}>{atom}{below}{above}</{name}>"
    if below:
        name = "munder" if has_range else "msub"
        return f"<{name}>{atom}{below}</{name}>"
    return f"<msup>{atom}{above}</msup>" if above else atom


def _atom(tokens: Tokens) -> str:
    """A group, a command with its arguments, or a single sign, as one element."""
    if not tokens:
        raise ValueError("the formula ends too early.")
    token = tokens.pop()
    if token == "{":
        inside = _row(tokens)
        if not tokens or tokens.pop() != "}":
            raise ValueError("a brace of the formula is not closed.")
        # One element needs no row around it.
        return inside if _is_single(inside) else f"<mrow>{inside}</mrow>"
    if token.startswith("\\"):
        return _command(token[1:], tokens)
    if token[0].isdigit():
        return f"<mn>{token}</mn>"
    name = "mi" if token.isalpha() else "mo"
    return f"<{name}>{'&minus;' if token == '-' else escape(token)}</{name}>"


def _command(name: str, tokens: Tokens) -> str:
    if name == "frac":
        above, below = _atom(tokens), _atom(tokens)
        return f"<mfrac>{above}{below}</mfrac>"
    if name == "sqrt":
        return f"<msqrt>{_atom(tokens)}</msqrt>"
    if name in _SYMBOLS:
        return f"<mi>&{name};</mi>"
    if name in (*_OPERATORS, *_BIG):
        return f"<mo>&{name};</mo>"
    if name in _LIMITS:
        return f'<mo movablelimits="false">{name}</mo>'
    if name in _WORDS:
        return f'<mi mathvariant="normal">{name}</mi>'
    raise ValueError(f"\\{name} is not known to dpaudit.report.formulas.")


def _is_single(inside: str) -> bool:
    """Whether the text is exactly one element without others inside."""
    return re.fullmatch(r"<(m[ino])(?: [^>]*)?>[^<]*</\1>", inside) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One part of a method: what it says in words, as formulas (TeX), and where it comes from."""

    title: str
    text: str
    formulas: tuple[str, ...] = ()
    source: str = ""

    @property
    def html(self) -> dict[str, Any]:
        """All of it for a page, with formulas as MathML."""
        markup = needed("markupsafe").Markup
        return {
            "title": self.title,
            "text": prose(self.text),
            "formulas": [markup(mathml(formula)) for formula in self.formulas],
            "source": self.source,
        }


def prose(text: str) -> Any:
    """A text with formulas as HTML."""
    return needed("markupsafe").Markup(with_formulas(text))
