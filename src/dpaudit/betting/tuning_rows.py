"""The rows of the past that bets are tuned on: all of a short past, a part of a long one."""

from __future__ import annotations

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.guessing import LabelledRows, row_keys
from dpaudit.outputs import Table, stack

MAX_TUNING_ROWS = 8_192  # whose guesses are asked for at every fit


class TuningRows:
    """An even part of the past, and the rows of which a guesser was surest.

    A bet is no bolder than the boldest guess it was tuned on, and the boldest guesses are often
    about outputs that come once in 10,000 draws: an even part may have none of them. So the rows to
    which a guesser gave its highest and its lowest log-odds are kept, from one fit to the next.
    Each of these counts as one draw. All of this is fixed by the past.
    """

    def __init__(self) -> None:
        self._surest: Table | None = None
        self._boldness = np.empty(0)  # of each guesser, upwards and then downwards

    def of(self, seen: LabelledRows) -> tuple[Table, Floats]:
        """The rows to tune on and how many draws each stands for; `note` their guesses next."""
        surest, self._surest = self._surest, None
        mass = seen.ones + seen.zeros
        if len(seen.table) <= MAX_TUNING_ROWS:
            return seen.table, mass
        if surest is None:
            surest = seen.table.take(slice(0))
        _, first = np.unique(row_keys(surest), return_index=True)
        part = seen.even_part(MAX_TUNING_ROWS - len(first))
        rows = stack([part.table, surest.take(first)])
        of_part = part.ones + part.zeros
        return rows, np.append(of_part * (mass.sum() / of_part.sum()), np.ones(len(first)))

    def note(self, rows: Table, guesses: Floats, mass: Floats) -> None:
        """Remember the rows of which a guesser is surer than of all since the last fit.

        A row without mass came after the claim was refuted: it is no part of the past.
        """
        if rows.columns == 1:  # kept in cells, which are few
            return
        signed = np.where(mass > 0.0, np.concatenate([guesses, -guesses]), -np.inf)
        place = signed.argmax(axis=1)
        boldness, surest = signed.max(axis=1), rows.take(place)
        if self._surest is not None:
            bolder = boldness > self._boldness
            either = np.arange(len(place)) + len(place) * bolder
            surest = stack([self._surest, surest]).take(either)
            boldness = np.maximum(boldness, self._boldness)
        self._surest, self._boldness = surest, boldness
