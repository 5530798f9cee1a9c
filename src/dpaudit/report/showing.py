"""Numbers, datasets and pairs as short text: bounds never say more than was proved."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest
from typing import Any

import numpy as np

from dpaudit.bounds import round_down, round_up
from dpaudit.domains import frame_of, shown
from dpaudit.neighbours import ABSENT, NO_DATASETS, Pair, Slot, interleaved, is_shared

DIGITS = 3
MAX_DIGITS = 17
MAX_ENDS = 6  # records shown at each end of a long dataset
_MAX_APART = 16  # records absent on a side that are still searched for
_CONTEXT = 2  # equal records shown before and after one that differs
_MAX_ROWS = 40
_MAX_WIDTH = 160  # of a record in a comparison
_LARGEST_WRITTEN_OUT = math.log(1e12)  # evidence beyond is a power of ten
_LEAST_WRITTEN_OUT = 1e-12
_LARGEST_LOG = 1e15  # a power of ten with more digits says nothing more
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_ROUND_NUMBERS = {
    1_000: "one in a thousand",
    1_000_000: "one in a million",
    1_000_000_000: "one in a thousand million",
}


def lower(bound: float, *, above: float = -math.inf) -> str:
    """A lower bound, rounded down; with more digits if it would no longer be above `above`.

    >>> lower(1.8679), lower(1.0004, above=1.0)
    ('1.86', '1.0004')
    """
    for digits in range(DIGITS, MAX_DIGITS):
        rounded = round_down(bound, digits)
        if rounded > above or not bound > above:
            return f"{rounded:.{digits}g}"
    return repr(bound)


def upper(bound: float, *, below: float = math.inf) -> str:
    """An upper bound, rounded up; with more digits if it would no longer be below `below`.

    >>> upper(0.07221), upper(1e-6), upper(2.71828, below=2.7188)
    ('0.0723', '1e-06', '2.7183')
    """
    for digits in range(DIGITS, MAX_DIGITS):
        rounded = round_up(bound, digits)
        if rounded < below or not bound < below:
            return f"{rounded:.{digits}g}"
    return repr(bound)


def apart(allowed: float, seen: float) -> tuple[str, str]:
    """At most `allowed` and at least `seen`, with the digits that show which is more.

    >>> apart(2.71828, 6.3), apart(2.71828, 2.71835)
    (('2.72', '6.3'), ('2.71828', '2.7183'))
    """
    text = lower(seen, above=allowed)
    return upper(allowed, below=float(text)), text


def percent(bound: str) -> str:
    r"""A bound that was rounded, as a percentage: no digit is rounded again.

    >>> [percent(bound).replace("\N{NO-BREAK SPACE}", " ") for bound in ("0.0823", "1e-06", "1")]
    ['8.23 %', '0.0001 %', '100 %']
    """
    return f"{Decimal(bound).scaleb(2).normalize():f}\N{NO-BREAK SPACE}%"


def power(exponent: float) -> float:
    """`e^exponent`, infinite where a float cannot hold it.

    >>> power(0.0), power(1e6)
    (1.0, inf)
    """
    try:
        return math.exp(exponent)
    except OverflowError:
        return math.inf


def power_of_ten(exponent: int) -> str:
    """Ten to the power of an integer.

    >>> power_of_ten(6), power_of_ten(-12)
    ('10⁶', '10⁻¹²')
    """
    return f"10{str(exponent).translate(_RAISED)}"


def one_in(log_evidence: float) -> str:
    """Evidence as the chance of so much under the claim, at most: of an e-value, or `-log p`.

    >>> one_in(math.log(403.4)), one_in(0.1), one_in(60.0)
    ('1 in 403', 'none', '1 in 10²⁶')
    """
    if not log_evidence >= math.log(2.0):
        return "none"
    if math.isinf(log_evidence):
        return "without limit"
    if log_evidence > _LARGEST_WRITTEN_OUT:
        tens = math.floor(min(log_evidence, _LARGEST_LOG) / math.log(10.0))
        return f"1 in {power_of_ten(tens)}"
    # What a logarithm and back lose is not taken for a smaller number.
    return f"1 in {int(round_down(math.exp(log_evidence) * (1.0 + 1e-12), DIGITS)):,}"


def wealth_in_words(log_wealth: float) -> str:
    """What 1 has become, rounded down.

    >>> wealth_in_words(14.9), wealth_in_words(-4.8e-12), wealth_in_words(400.0)
    ('2,950,000', '1', '10¹⁷³')
    """
    if log_wealth > _LARGEST_WRITTEN_OUT:
        return power_of_ten(math.floor(min(log_wealth, _LARGEST_LOG) / math.log(10.0)))
    wealth = round_down(math.exp(log_wealth) * (1.0 + 1e-11), DIGITS)
    return f"{wealth:,.{DIGITS}g}" if wealth < 1000.0 else f"{int(wealth):,}"


def chance_in_words(chance: float) -> str:
    """An upper bound on a probability, for a reader who does not read 1e-06.

    >>> chance_in_words(1e-6), chance_in_words(0.05), chance_in_words(0.7), chance_in_words(1e-300)
    ('one in a million', '1 in 20', '0.7', '1 in 10³⁰⁰')
    """
    if chance < _LEAST_WRITTEN_OUT:
        return f"1 in {power_of_ten(math.floor(-math.log10(chance) + 1e-9))}"
    times = 1.0 / chance * (1.0 + 1e-12)
    if times < 2.0:
        return upper(chance)
    whole = math.floor(times)
    return _ROUND_NUMBERS.get(whole, f"1 in {whole:,}")


def count(number: int, noun: str) -> str:
    """A number with its noun.

    >>> count(1, "pair"), count(24000, "draw")
    ('1 pair', '24,000 draws')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def short_count(number: int) -> str:
    """A number in at most five characters, rounded down.

    >>> short_count(950), short_count(48_512), short_count(2_390_000)
    ('950', '48k', '2.3M')
    """
    if number < 10_000:
        return str(number)
    return f"{number // 1000}k" if number < 1_000_000 else f"{number // 100_000 / 10:.1f}M"


def duration(seconds: float) -> str:
    """A length of time.

    >>> duration(1.23), duration(200.0)
    ('1.2 s', '3 min 20 s')
    """
    if seconds < 60.0:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def one_line(text: str, width: int) -> str:
    """Text on one line of at most `width` characters, elided in the middle.

    >>> one_line("a very long name of a mechanism", 20)
    'a very l...mechanism'
    """
    flat = " ".join(text.split())
    if len(flat) <= width:
        return flat
    if width < 8:
        return flat[:width]
    tail = (width - 2) // 2
    return f"{flat[: width - 3 - tail]}...{flat[-tail:]}"


def dataset(value: Any, width: int) -> str:
    """A dataset in one line: whole if it fits, else its ends and its size.

    >>> dataset(np.array([1.0, 0.5]), 60)
    '[1.0, 0.5]'
    >>> dataset(np.arange(1000.0), 60)
    '[0.0, 1.0, 2.0, ..., 997.0, 998.0, 999.0] (1,000 in all)'
    """
    frame = frame_of(value)
    listed = value if frame is None else frame.rows()
    rows = listed if isinstance(listed, list | tuple) or np.shape(listed) else None
    if rows is None:
        return one_line(shown(value), width)
    whole = shown(rows) if len(rows) <= 2 * MAX_ENDS else ""
    if 0 < len(whole) <= width:
        return whole
    size = f" ({len(rows):,} in all)"
    for ends in range(min(MAX_ENDS, (len(rows) - 1) // 2), 0, -1):
        texts = [*map(shown, rows[:ends]), "...", *map(shown, rows[-ends:])]
        whole = f"[{', '.join(texts)}]"
        if len(whole) + len(size) <= width:
            return whole + size
    return one_line(whole, width) if len(rows) < 3 else one_line(whole, width - len(size)) + size


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRecord:
    """One line of the comparison: the texts of both sides, and what happened to the record.

    `mark` is empty where both hold the same; a row of `skipped` records has no texts.
    """

    number: int
    data: str = ""
    neighbour: str = ""
    mark: str = ""
    skipped: str = ""


def compared(pair: Pair) -> list[ComparedRecord]:
    """The records of both datasets side by side; none for two samples without datasets.

    >>> for row in compared(Pair([1.0, 0.5], [1.0])):
    ...     print(row.number, row.data, row.neighbour or "-", row.mark or "same")
    1 1.0 1.0 same
    2 0.5 - removed
    """
    if pair == NO_DATASETS:
        return []
    return list(_rows(_slots(pair)))


def _rows(slots: list[Slot]) -> Iterator[ComparedRecord]:
    marks = [_mark(slot) for slot in slots]
    different = [at for at, mark in enumerate(marks) if mark]
    near = {at + step for at in different for step in range(-_CONTEXT, _CONTEXT + 1)}
    kept = [place for place in range(len(slots)) if place in near or len(slots) <= _MAX_ROWS // 2]
    after = 0
    for place in (*kept[:_MAX_ROWS], len(slots)):
        if place > after:
            yield ComparedRecord(number=after + 1, skipped=_skipped(marks[after:place]))
        if place == len(slots):
            return
        data, neighbour = (
            "" if side is ABSENT else one_line(shown(side), _MAX_WIDTH) for side in slots[place]
        )
        yield ComparedRecord(number=place + 1, data=data, neighbour=neighbour, mark=marks[place])
        after = place + 1


def _skipped(marks: list[str]) -> str:
    different = sum(bool(mark) for mark in marks)
    rest = f"{different:,} of them different" if different else "the same on both sides"
    return f"{count(len(marks), 'record')} not shown, {rest}"


def _slots(pair: Pair) -> list[Slot]:
    """The records that stand beside each other; one slot if a side is not a list of records."""
    data, neighbour = _records(pair.data), _records(pair.neighbour)
    if data is None or neighbour is None:
        return [Slot(pair.data, pair.neighbour)]
    more, found = abs(len(data) - len(neighbour)), None
    if 0 < more <= 4 * _MAX_APART:
        found = interleaved(data, neighbour, max(_MAX_APART, more))
    return found or [Slot(*sides) for sides in zip_longest(data, neighbour, fillvalue=ABSENT)]


def _records(value: Any) -> list[Any] | None:
    if (frame := frame_of(value)) is not None:
        return list(frame.rows())
    is_array = isinstance(value, np.ndarray) and value.ndim > 0
    return list(value) if is_array or isinstance(value, list | tuple) else None


def _mark(slot: Slot) -> str:
    if slot.data is ABSENT:
        return "added"
    if slot.neighbour is ABSENT:
        return "removed"
    return "" if is_shared(slot) else "changed"
