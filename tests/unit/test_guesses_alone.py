"""A guess about an output depends on that output and on what was learned, not on its batch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpaudit.guessing import Ensemble, LabelledRows, Past, candidates_for
from dpaudit.outputs import Encoder, Table

Make = Callable[[int, np.random.Generator], Any]
RARE: tuple[Any, ...] = (None, math.nan, math.inf, "word")


def _mixed(width: int) -> Make:
    def make(size: int, rng: np.random.Generator) -> list[Any]:
        found = rng.laplace(size=(size, width)).tolist()
        for place in np.flatnonzero(rng.random(size) < 0.02):
            found[place][int(rng.integers(width))] = RARE[int(rng.integers(4))]
        return [row[0] for row in found] if width == 1 else found

    return make


FORMS: dict[str, Make] = {
    "numbers": lambda size, rng: rng.laplace(size=size),
    "vectors": lambda size, rng: rng.laplace(size=(size, 3)),
    "counts": lambda size, rng: rng.integers(0, 4, size=(size, 2)),
    "words": lambda size, rng: rng.choice(["a", "b", "c"], size=size).tolist(),
    "numbers, rarely words": _mixed(1),
    "vectors, rarely words": _mixed(3),
}


def odd_outputs(encoder: Encoder, make: Make, rng: np.random.Generator) -> Table:
    """Outputs of which some have something that was never learned."""
    outputs = list(make(40, rng))
    first = outputs[0]
    outputs[0] = "new" if np.ndim(first) == 0 else ["new", *list(first)[1:]]
    known = encoder.known
    return encoder.encode(outputs).as_known(known)


@pytest.mark.parametrize("size", [30, 700, 6_000])
@pytest.mark.parametrize("form", FORMS)
def test_the_ensemble_guesses_each_output_by_itself(form: str, size: int) -> None:
    rng, encoder, past = np.random.default_rng(1), Encoder(), Past()
    labels = rng.random(size) < 0.5
    past.add(encoder.encode(FORMS[form](size, rng)), labels)
    ensemble = Ensemble(len(encoder.names))
    ensemble.fit(past.seen)
    table = odd_outputs(encoder, FORMS[form], rng)
    rows, index = past.compress(table)
    together = ensemble.guesses(rows)[:, index]
    for place in range(len(table)):
        rows, index = past.compress(table.take([place]))
        np.testing.assert_allclose(
            ensemble.guesses(rows)[:, index][:, 0], together[:, place], atol=1e-9
        )


@pytest.mark.parametrize("form", FORMS)
def test_candidates_guess_each_output_by_itself(form: str) -> None:
    rng, encoder = np.random.default_rng(1), Encoder()
    labels = rng.random(900) < 0.5
    seen = LabelledRows.of(encoder.encode(FORMS[form](900, rng)), labels)
    table = odd_outputs(encoder, FORMS[form], rng)
    for candidate in candidates_for(seen.table):
        candidate.fit(seen)
        together = candidate.log_odds(table)
        for place in range(len(table)):
            alone = candidate.log_odds(Table(table.numbers[[place]], _if_any(table, place)))
            np.testing.assert_allclose(alone[0], together[place], atol=1e-9, err_msg=candidate.name)


def _if_any(table: Table, place: int) -> Any:
    """The words of a row; None where it has none, as in a batch without any."""
    codes = table.codes()[[place]]
    return codes if (codes >= 0).any() else None
