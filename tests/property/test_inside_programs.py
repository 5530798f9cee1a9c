"""Whatever is done to noisy numbers, the loss stays within what their noise allows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpaudit import Pair, one_at_a_time
from dpaudit.errors import CannotFollow
from dpaudit.inside import transcript_of
from dpaudit.mechanism import as_mechanism

SIZE = 4
numbers = st.floats(-4.0, 4.0).map(lambda x: round(x, 2))
vectors = st.lists(numbers, min_size=SIZE, max_size=SIZE)
factors = st.sampled_from([-3.0, -1.0, 0.0, 0.1, 1.0, 1e6])
Step = Callable[[Any], Any]

STEPS: dict[str, Callable[[Any, list[float]], Any]] = {
    "scale": lambda x, v: x * v[0],
    "weigh": lambda x, v: x * np.asarray(v)[: np.size(x)],
    "move": lambda x, v: x + 1e6 * v[1],
    "move back": lambda x, v: x - 1e6 * v[1],
    "centre": lambda x, v: x - x.mean(),
    "sums": lambda x, v: np.cumsum(x),
    "reverse": lambda x, v: x[::-1],
    "twice": lambda x, v: np.concatenate([x, x])[: np.size(x)],
    "differences": lambda x, v: np.append(x[1:] - x[:-1], x[:1]),
    "divide": lambda x, v: x / 3.0,
    "clip": lambda x, v: np.clip(x, -1.0, 2.0),
    "positive part": lambda x, v: np.maximum(x, 0.0),
    "above": lambda x, v: np.where(x > v[2], x, 0.0),
    "largest": lambda x, v: np.append(x[:-1], np.max(x)),
    "hide all but the winner": lambda x, v: np.where(np.arange(np.size(x)) == np.argmax(x), x, 0),
}


@given(
    data=vectors,
    neighbour=vectors,
    scale=st.sampled_from([0.5, 1.0, 20.0]),
    steps=st.lists(st.tuples(st.sampled_from(sorted(STEPS)), vectors), max_size=4),
    last=st.sampled_from(["all", "first", "sum", "both"]),
    seed=st.integers(0, 1_000),
)
def test_post_processing_never_adds_to_the_loss(
    data: list[float],
    neighbour: list[float],
    scale: float,
    steps: list[tuple[str, list[float]]],
    last: str,
    seed: int,
) -> None:
    """Laplace noise on each number allows `sum |x - x'| / scale`, and nothing done later more."""

    def program(given: Any, rng: np.random.Generator) -> Any:
        released = given + rng.laplace(scale=scale, size=SIZE)
        x = released
        for name, numbers in steps:
            x = STEPS[name](x, numbers)
        return {"all": x, "first": x[0], "sum": x.sum(), "both": [released, x]}[last]

    pair = Pair(np.array(data), np.array(neighbour))
    try:
        found = transcript_of(
            as_mechanism(one_at_a_time(program)), pair, np.random.default_rng(seed)
        )
    except CannotFollow:
        return
    allowed = float(np.abs(np.subtract(data, neighbour)).sum()) / scale
    if found.differs is None and found.tolerance < 0.05:
        assert abs(found.loss) <= allowed + found.tolerance + 1e-9
