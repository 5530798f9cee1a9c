"""What one run showed of its noise, as a list of facts.

A fact is a number (an entry of the output, or one that was revealed) or the sign of one (the
outcome of a comparison). The largest of several is as many comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats
from dpaudit.inside.noise.noisy import Ints, Noisy, added, table
from dpaudit.inside.recording import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a run showed: for each fact a number with noise, and what was seen of it.

    `number` says that it was seen itself, as `seen`; else `seen` is 1 where it is above 0 and
    -1 where it is not, and 0 counts as above unless `strict`. `source` numbers the answers of the
    run and, from `len(answers)` on, the arrays of its output.
    """

    value: Noisy
    number: npt.NDArray[np.bool_]
    seen: Floats
    strict: npt.NDArray[np.bool_]
    source: Ints


def facts_of(answers: list[Answer], outputs: list[tuple[Noisy, Floats]]) -> Facts:
    """The facts of all answers, then of the arrays of the output with the numbers they gave."""
    values, number, seen, strict, source = [], [], [], [], []
    for place, answer in enumerate(answers):
        value, outcome, hard = _asked(answer)
        values.append(value)
        number.append(np.full(value.size, answer.kind == "number"))
        seen.append(outcome.reshape(-1))
        strict.append(np.broadcast_to(hard, value.shape).reshape(-1))
        source.append(np.full(value.size, place))
    for place, (value, given) in enumerate(outputs, start=len(answers)):
        values.append(value)
        number.append(np.ones(value.size, dtype=bool))
        seen.append(np.asarray(given, dtype=np.float64).reshape(-1))
        strict.append(np.zeros(value.size, dtype=bool))
        source.append(np.full(value.size, place))
    whole = table(values)
    return Facts(
        value=whole.picked(np.arange(1, whole.size)),
        number=np.concatenate([np.empty(0, bool), *number]),
        seen=np.concatenate([np.empty(0), *seen]),
        strict=np.concatenate([np.empty(0, bool), *strict]),
        source=np.concatenate([np.empty(0, np.int64), *source]),
    )


def _asked(answer: Answer) -> tuple[Noisy, Floats, Any]:
    """The numbers that an answer is about, what was seen of them, and whether 0 is not above."""
    if answer.kind == "number":
        return answer.value, answer.outcome, False
    if answer.kind == "above":
        return answer.value, np.where(answer.outcome, 1.0, -1.0), answer.strict
    rows, count = answer.value.shape  # the largest less every other one; the first wins a tie
    places = np.arange(rows * count).reshape(rows, count)
    best = places[np.arange(rows), answer.outcome]
    others = np.setdiff1d(places, best).reshape(rows, count - 1)
    winners = np.broadcast_to(best[:, None], others.shape)
    gap = added(answer.value.picked(winners), answer.value.picked(others), -1.0)
    return gap, np.ones(gap.shape), others < winners
