"""The finders "random" and "spread": pairs from everywhere, by chance or evenly."""

from __future__ import annotations

import re
from contextlib import suppress

import numpy as np

from dpaudit.arrays import Counts, Floats
from dpaudit.domains import Unsuitable
from dpaudit.neighbours import Pair
from dpaudit.search.finder import RelationFinder

MAX_CHOICES = 20  # that lead to no pair, before a random one is taken
FIRST_STRATA = 16  # of the first block
MAX_STRATA = 2**15  # before the filling begins anew
POINTS_PER_EDGE = 3  # points between two answers at an edge
RECORD = re.compile(r"^(?:record|replacement)\b(?: again)?")
INDEX = re.compile(r"(?<=\[)\d+(?=\])| \d+\b")


class RandomFinder(RelationFinder):
    """Proposes random pairs of a relation; gives up after 100 draws without a new one.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import add_or_remove_one
    >>> relation = add_or_remove_one(floats(0, 1), max_records=3)
    >>> finder = RandomFinder(relation, np.random.default_rng(7))
    >>> relation.contains(finder.ask())
    True
    """


class SpreadFinder(RelationFinder):
    """Proposes pairs whose records fill the domain evenly; edges come up all the time.

    It finds a bug that shows at one value only, wherever that is. A relation that answers no
    choices (only `Structured` ones do) gets random pairs.

    >>> from dpaudit.domains import floats
    >>> from dpaudit.neighbours import replace_one
    >>> relation = replace_one(floats(0, 1), max_records=3)
    >>> finder = SpreadFinder(relation, np.random.default_rng(7))
    >>> relation.contains(finder.ask())
    True
    """

    def prepare(self) -> None:
        self._chooser = SpreadChooser(self.rng)

    def propose(self) -> Pair:
        if self.structured is not None:
            for _ in range(MAX_CHOICES):
                with suppress(Unsuitable):
                    return self.structured.choose(self._chooser)
        return self.relation.random_pair(self.rng)


class SpreadChooser:
    """Answers every question with a value far from the earlier answers.

    All records share one sequence of values for each of their parts, whatever their place and
    their side: a value that matters is tried soon, wherever it lands.

    >>> chooser = SpreadChooser(np.random.default_rng(7))
    >>> answers = [chooser.real(f"record {place}", 0.0, 1.0) for place in range(21)]
    >>> {int(16 * answer) for answer in answers} >= set(range(16))
    True
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._strata: dict[str, Strata] = {}
        self._options: dict[str, ShuffledOptions] = {}

    def real(self, name: str, low: float, high: float) -> float:
        middle = low / 2 + high / 2
        edges = list(dict.fromkeys([low, high, *([0.0] if low < 0.0 < high else []), middle]))
        taken = self._take(f"{kind(name)} real {low!r} {high!r}", len(edges))
        if taken >= 1.0:
            return edges[int(taken) - 1]
        return min(max((1.0 - taken) * low + taken * high, low), high)

    def whole(self, name: str, low: int, high: int) -> int:
        middle = (low + high) // 2
        plain = [number for number in (0, 1) if low < number < high]
        edges = list(dict.fromkeys([low, high, *plain, middle]))
        taken = self._take(f"{kind(name)} whole {low} {high}", len(edges))
        if taken >= 1.0:
            return edges[int(taken) - 1]
        return min(low + int(taken * (high - low + 1)), high)

    def one_of(self, name: str, count: int) -> int:
        question = f"{kind(name)} one_of {count}"
        if question not in self._options:
            # How records lie, not what they are: the first way (each its own) tries most values.
            more = 0 if question.startswith("record") else 2
            self._options[question] = ShuffledOptions(self._seed(), count=count, more=more)
        return self._options[question].take()

    def _take(self, question: str, edges: int) -> float:
        if question not in self._strata:
            self._strata[question] = Strata(self._seed(), edges=edges)
        return self._strata[question].take()

    def _seed(self) -> int:
        return int(self._rng.integers(2**63))


def kind(name: str) -> str:
    """The question without its place: records at any place, and their replacements, are alike.

    >>> kind("record 3[2].age") == kind("replacement[0].age")
    True
    >>> kind("place"), kind("record 3") == kind("place")
    ('place', False)
    """
    return INDEX.sub("", RECORD.sub("record", name))


class Strata:
    """Points of [0, 1), always one in a stratum that has none yet; now and then an edge.

    The range is cut into 16 strata, and each gets a point at a random place. Then every stratum is
    cut in two, and the half that is still empty gets a point; and so on, each round in shuffled
    order. After 1024 points no gap is wider than 2/1024; random points take far longer.

    >>> strata = Strata(7, edges=0)
    >>> sorted(int(16 * strata.take()) for _ in range(16)) == list(range(16))
    True
    """

    def __init__(self, seed: int, *, edges: int) -> None:
        self._edges = edges
        self._rng = np.random.default_rng(seed)
        self._points: Floats = np.empty(0)  # one for each stratum, in their order
        self._block: Floats = np.empty(0)
        self._place = 0

    def take(self) -> float:
        """The next answer: a point in [0, 1), or 1 + k for the edge number k."""
        while self._place >= len(self._block):
            self._refill()
        self._place += 1
        return float(self._block[self._place - 1])

    def _refill(self) -> None:
        """Make the next round of points, mixed with the edges."""
        if not 0 < len(self._points) < MAX_STRATA:
            fresh = (np.arange(FIRST_STRATA) + self._rng.random(FIRST_STRATA)) / FIRST_STRATA
            self._points = fresh
        else:
            strata = 2.0 * len(self._points)
            taken = np.floor(self._points * strata)
            empty = taken + 1.0 - 2.0 * (taken % 2.0)  # the other half of each
            fresh = (empty + self._rng.random(len(empty))) / strata
            self._points = np.sort(np.concatenate([self._points, fresh]))
        count = len(fresh) // POINTS_PER_EDGE if self._edges > 0 else 0
        edges = 1.0 + np.arange(count) % max(self._edges, 1)
        self._block = self._rng.permutation(np.concatenate([fresh, edges]))
        self._place = 0


class ShuffledOptions:
    """Options without an order: each comes up twice in a round, in shuffled order.

    Twice, so that two answers in a row may be equal; the first one `more` times beyond that.

    >>> options = ShuffledOptions(7, count=3, more=1)
    >>> sorted(options.take() for _ in range(7))
    [0, 0, 0, 1, 1, 2, 2]
    """

    def __init__(self, seed: int, *, count: int, more: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._round = np.concatenate([np.zeros(more, np.int64), np.arange(2 * count) // 2])
        self._left: list[int] = []

    def take(self) -> int:
        """The next option."""
        if not self._left:
            shuffled: Counts = self._rng.permutation(self._round)
            self._left = shuffled[::-1].tolist()
        return self._left.pop()
