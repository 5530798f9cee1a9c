"""The relation of query answers, which move by at most the sensitivity, each or all together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np

from dpaudit.arrays import Counts, Floats
from dpaudit.domains import Chooser, FloatRange, chosen_whole, floats
from dpaudit.errors import InvalidRelation
from dpaudit.neighbours.pair import Pair, Slot, joined, once, side_by_side, sides
from dpaudit.neighbours.relation import ALIKE, SIDES, StructuredRelation, counted, whole_number

NORMS = {1: "whose moves add up to", 2: "whose moves have a length of", np.inf: "each moving by"}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAnswers(StructuredRelation):
    """Answers of queries; the norm of their moves is at most the sensitivity."""

    length: int
    sensitivity: float
    norm: float
    low: float
    high: float

    @property
    def domain(self) -> FloatRange:
        return floats(self.low, self.high)

    @property
    def most_slots(self) -> int:
        return self.length

    def edge_pairs(self) -> Iterator[Pair]:
        return once(self._candidates())

    def _random(self, rng: np.random.Generator) -> Pair | None:
        origin, step = self._origin_and_step()
        share = rng.random(self.length)
        if rng.random() < 0.5:
            data = origin + step * rng.integers(2, size=self.length)
        else:
            data = (1.0 - share) * self.low + share * self.high
        moves = step * _random_signs(self.length, rng)
        if rng.random() < 0.25:
            moves = moves * rng.random(self.length)
        data = np.clip(data, self.low, self.high)
        return self._reached(data, data + moves)

    def _reasons(self, data: list[float], neighbour: list[float]) -> Iterator[str | None]:
        for name, one in zip(SIDES, (data, neighbour), strict=True):
            if len(one) != self.length:
                yield f"{name} has {counted(len(one), 'answer')}, the relation has {self.length}"
        size = self._size(np.subtract(data, neighbour))
        far = f"the answers move by {size!r} (norm {self.norm:g}), at most {self.sensitivity!r}"
        yield ALIKE if size == 0.0 else f"{far} is allowed"

    def _layouts(self, data: list[float], neighbour: list[float]) -> list[list[Slot]]:
        return side_by_side(data, neighbour)

    def join(self, slots: Sequence[Slot]) -> Pair | None:
        if any(len(side) != self.length for side in (slots, *sides(slots))):
            return None
        if (pair := joined(self.domain, slots)) is None:
            return None
        moves = pair.data - pair.neighbour
        return pair if np.any(moves != 0.0) and self._size(moves) <= self.sensitivity else None

    def _chosen(self, chooser: Chooser) -> Pair | None:
        alike = self.length > 1 and chooser.one_of("answers", 2) == 1
        move_of = self._chosen_moves(chooser)
        asked = [f"answer {place}" for place in range(1 if alike else self.length)]
        data = np.full(self.length, [chooser.real(name, self.low, self.high) for name in asked])
        moves = np.array([move_of(place) for place in range(self.length)])
        return self._reached(data, data + moves)

    def describe(self) -> str:
        answers = counted(self.length, "query answer")
        moves = NORMS[np.inf if self.length == 1 else self.norm]
        return f"{answers} in [{self.low:g}, {self.high:g}], {moves} at most {self.sensitivity:g}"

    def _chosen_moves(self, chooser: Chooser) -> Callable[[int], float]:
        """All up, all down, each its own, or up to some place and down from there."""
        step = self.sensitivity
        match chooser.one_of("moves", 4 if self.length > 1 else 3):
            case 0:
                return lambda place: step
            case 1:
                return lambda place: -step
            case 2:
                return lambda place: chooser.real(f"move {place}", -step, step)
        turn = chosen_whole(chooser, "turn", 1, self.length - 1)
        return lambda place: step if place < turn else -step

    def _candidates(self) -> Iterator[Pair | None]:
        """The categories of Ding et al. (2018), the counterexamples of Lyu, Su and Li (2017)."""
        n, half = self.length, self.length // 2
        ones, zeros, place = np.ones(n), np.zeros(n), np.arange(n)
        left, even = place < max(half, 1), place % 2 == 0
        first, last = place == 0, place == n - 1
        shapes = [(left, ~left), (ones, zeros), (first, zeros), (last, zeros)]
        shapes += [(~left, left), (left, zeros), (~left, zeros), (even, ~even)]
        shapes += [(first, ~first), (last, ~last), (~first, ones)]
        for base in (zeros, ones):  # up here, down there, around a base answer
            for up in (ones > 0, left, ~left, first, ~first, last, even):
                shapes.append((base + np.where(up, 1, -1), base))
        origin, step = self._origin_and_step()
        for data, neighbour in shapes:
            start, goal = (origin + step * np.asarray(side, float) for side in (data, neighbour))
            yield self._reached(start, goal)

    def _origin_and_step(self) -> tuple[float, float]:
        step = min(self.sensitivity, self.high - self.low)
        return (0.0 if self.low <= 0.0 and step <= self.high else self.low), step

    def _reached(self, start: Floats, goal: Floats) -> Pair | None:
        """From start as near to goal as sensitivity and range allow; None if it cannot move."""
        data = np.clip(start, self.low, self.high)
        moved = np.clip(goal, data - self.sensitivity, data + self.sensitivity)
        moved = np.clip(moved, self.low, self.high)
        while np.any(far := np.abs(moved - data) > self.sensitivity):  # a sum was rounded up
            moved = np.where(far, np.nextafter(moved, data), moved)
        moved = self._shortened(data, moved)
        return self.join(list(map(Slot, data.tolist(), moved.tolist())))

    def _shortened(self, data: Floats, moved: Floats) -> Floats:
        """In the same direction, as far as the norm of all moves together allows."""
        moves = moved - data
        if (size := self._size(moves)) <= self.sensitivity:
            return moved
        share, less = self.sensitivity / size, 2.0**-53
        while self._size(data + share * moves - data) > self.sensitivity:  # rounded up
            less *= 2.0  # few steps, even where large answers make the floats coarse
            share = self.sensitivity / size * (1.0 - less)
        return data + share * moves

    def _size(self, moves: Floats) -> float:
        """The norm of the moves, the same in both directions."""
        return float(np.linalg.norm(moves, ord=self.norm))


def query_answers(
    length: int,
    sensitivity: float = 1,
    *,
    norm: float = np.inf,
    low: float | None = None,
    high: float | None = None,
) -> QueryAnswers:
    """Data are the answers of queries; neighbours move every answer by at most the sensitivity.

    This is the setting of the sparse vector technique and of report-noisy-max. With `norm=1` the
    moves add up to at most the sensitivity (Laplace noise on a vector), with `norm=2` the root of
    the sum of their squares does (Gaussian noise). All answers lie in [low, high]; left out, the
    range is three sensitivities wide and starts one below zero.

    >>> print(next(query_answers(4).edge_pairs()))
    data=[1.0, 1.0, 0.0, 0.0], neighbour=[0.0, 0.0, 1.0, 1.0]
    >>> print(next(query_answers(4, norm=1).edge_pairs()))
    data=[1.0, 1.0, 0.0, 0.0], neighbour=[0.75, 0.75, 0.25, 0.25]
    """
    length = whole_number("query_answers", "length", length)
    if length < 1:
        raise InvalidRelation(f"query_answers needs a length of at least 1, got {length}.")
    for number in (sensitivity, low, high):
        if number is not None and not isinstance(number, Real):
            raise InvalidRelation(f"query_answers needs numbers, got {number!r}.")
    if not 0 < sensitivity < np.inf:
        raise InvalidRelation(
            f"query_answers needs a sensitivity in (0, inf), got {sensitivity!r}."
        )
    if norm not in NORMS:
        raise InvalidRelation(f"query_answers needs a norm of 1, 2 or inf, got {norm!r}.")
    low, high = map(float, _range(sensitivity, low, high))
    moves, norm = float(sensitivity), float(norm)
    return QueryAnswers(length=length, sensitivity=moves, norm=norm, low=low, high=high)


def _range(sensitivity: float, low: float | None, high: float | None) -> tuple[float, float]:
    """The range of the answers, if they are finite and can move in it."""
    if low is None:
        low = -sensitivity if high is None else high - 3 * sensitivity
    if high is None:
        high = low + 3 * sensitivity
    if not low < high:
        raise InvalidRelation(f"query_answers needs low < high, got low={low!r}, high={high!r}.")
    if not max(abs(low), abs(high)) + 2.0 * sensitivity < np.inf:
        raise InvalidRelation(
            f"query_answers needs finite answers, got {sensitivity!r} around [{low!r}, {high!r}]."
        )
    if low + sensitivity == low or high - sensitivity == high:
        raise InvalidRelation(
            f"the sensitivity {sensitivity!r} vanishes beside answers in [{low!r}, {high!r}]."
        )
    return low, high


def _random_signs(length: int, rng: np.random.Generator) -> Counts:
    """All the same way, one part against the rest, or each its own (half of the time)."""
    kind = rng.integers(4)
    if kind > 1:
        return rng.integers(-1, 2, size=length)
    split = int(rng.integers(length)) if kind == 1 else 0
    signs = np.where(np.arange(length) < split, -1, 1)
    return signs if rng.random() < 0.5 else -signs
