"""Records that are texts made of given tokens: `texts`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.domains.categories import Categories
from dpaudit.domains.chooser import Chooser
from dpaudit.domains.domain import MOST_EDGES, as_list, distinct, moved, plainer, whole
from dpaudit.domains.lists import Lists
from dpaudit.domains.refinable import Refinable
from dpaudit.errors import InvalidDomain

ODD_TEXTS = ("", " ", "\x00", "e\u0301", "a" * 10_000)  # the fourth: an accent of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts(Refinable):
    """Texts of a few tokens joined by a separator. A dataset is a list of texts.

    A text is read as the fewest tokens that make it up.
    """

    tokens: tuple[str, ...]
    min_tokens: int
    max_tokens: int
    separator: str

    def edges(self) -> tuple[str, ...]:
        return self._joined(self._lists().edges())

    def draw(self, rng: np.random.Generator) -> str:
        return self.separator.join(self._lists().draw(rng))

    def dataset(self, records: Sequence[str]) -> list[str]:
        return list(records)

    def unpack(self, data: Any) -> list[str]:
        if isinstance(data, np.ndarray) and data.ndim == 1:
            return list(data.tolist())
        return list(as_list(data, self))

    def contains(self, record: Any) -> bool:
        return isinstance(record, str) and self._split(record) is not None

    def choose(self, chooser: Chooser, name: str) -> str:
        return self.separator.join(self._lists().choose(chooser, name))

    def coordinates(self, record: str) -> tuple[float, ...]:
        return self._lists().coordinates(self._tokens_of(record))

    def near(self, record: str, rng: np.random.Generator) -> str:
        """A token changed, added or removed."""
        domain, tokens = self._lists(), self._tokens_of(record)
        return str(moved(self, record, rng, lambda: self.separator.join(domain.near(tokens, rng))))

    def plainness(self, record: str) -> float:
        """The number of tokens; among texts of as many, the tokens named first are the plainest."""
        tokens = self._tokens_of(record)
        places = sum(map(self.tokens.index, tokens))
        return len(tokens) + places / (1 + self.max_tokens * len(self.tokens))

    def simpler(self, record: str) -> tuple[str, ...]:
        return plainer(self, record, self._joined(self._lists().simpler(self._tokens_of(record))))

    def grid(self, points: int) -> tuple[str, ...]:
        return self._joined(self._lists().grid(points))

    def beyond(self) -> tuple[str, ...]:
        return tuple(text for text in ODD_TEXTS if not self.contains(text))

    def __str__(self) -> str:
        shown = [repr(token) for token in self.tokens]
        if len(shown) > MOST_EDGES:
            shown = [*shown[:3], "...", shown[-1]]
        least = f", min_tokens={self.min_tokens}" if self.min_tokens != 1 else ""
        between = f", separator={self.separator!r}" if self.separator != " " else ""
        return f"texts({', '.join(shown)}, max_tokens={self.max_tokens}{least}{between})"

    def _lists(self) -> Lists:
        return Lists(
            domain=Categories(values=self.tokens),
            min_length=self.min_tokens,
            max_length=self.max_tokens,
        )

    def _joined(self, lists: Sequence[Sequence[str]]) -> tuple[str, ...]:
        return distinct(map(self.separator.join, lists))

    def _tokens_of(self, record: str) -> list[str]:
        tokens = self._split(record)
        if tokens is None:
            raise InvalidDomain(f"{record!r} is no text of {self}.")
        return tokens

    def _split(self, text: str) -> list[str] | None:
        """The fewest tokens that make up the text; None if no allowed number of them does."""
        if text == "":
            return [] if self.min_tokens == 0 else None
        layers: list[dict[int, str]] = []  # where a text of 1, 2, ... tokens can end, and its last
        starts = {0}
        while starts and len(layers) < self.max_tokens:
            layers.append(
                {
                    start + len(token): token
                    for start in starts
                    for token in self.tokens
                    if text.startswith(token, start)
                }
            )
            if len(text) in layers[-1] and len(layers) >= self.min_tokens:
                return self._walked_back(layers)
            gap = len(self.separator)
            starts = {end + gap for end in layers[-1] if text.startswith(self.separator, end)}
        return None

    def _walked_back(self, layers: Sequence[dict[int, str]]) -> list[str]:
        end, found = max(layers[-1]), []
        for layer in reversed(layers):
            found.append(layer[end])
            end -= len(layer[end]) + len(self.separator)
        return found[::-1]


def texts(*tokens: Any, max_tokens: int = 5, min_tokens: int = 1, separator: str = " ") -> Texts:
    """Records that are texts of these tokens, listed one by one or in one sequence.

    With `min_tokens=0` the empty text is one of them.

    >>> texts("yes", "no", max_tokens=2).edges()
    ('yes yes', 'no', 'yes', 'no no', 'yes no')
    """
    if len(tokens) == 1 and isinstance(tokens[0], Sequence) and not isinstance(tokens[0], str):
        tokens = tuple(tokens[0])
    if not tokens:
        raise InvalidDomain('texts needs at least one token, got none: texts("a", "b").')
    for place, token in enumerate(tokens):
        if not isinstance(token, str) or token == "":
            raise InvalidDomain(f"a token must be a text that is not empty, got {token!r}.")
        if token in tokens[:place]:
            raise InvalidDomain(f"tokens must differ, got {token!r} twice. List it once.")
    if not isinstance(separator, str):
        raise InvalidDomain(f"texts needs a text for separator, got {separator!r}.")
    least, most = whole("texts", "min_tokens", min_tokens), whole("texts", "max_tokens", max_tokens)
    if not 0 <= least <= most or most < 1:
        raise InvalidDomain(
            f"texts needs 0 <= min_tokens <= max_tokens, and one token at least, got "
            f"min_tokens={least}, max_tokens={most}."
        )
    plain = tuple(map(str, tokens))
    return Texts(tokens=plain, min_tokens=least, max_tokens=most, separator=separator)
