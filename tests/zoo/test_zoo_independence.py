"""The draws of the zoo are independent, and are never taken for anything else.

Each check may stop an honest mechanism with probability 1e-9, so all of these together with less
than 1e-6.
"""

import numpy as np
import pytest

from dpaudit.events import Above, IsWord
from dpaudit.mechanism import Watch, with_errors
from dpaudit.outputs import Encoder, Outputs
from dpaudit.zoo import ZOO, ZooEntry

SIZES = (1, 2, 8, 30, 200, 900)
ROUNDS = 12


@pytest.mark.filterwarnings("ignore:Errors are counted as outputs")
@pytest.mark.parametrize("entry", ZOO.values(), ids=lambda entry: entry.name)
def test_honest_draws_are_left_alone(entry: ZooEntry) -> None:
    mechanism, encoder = with_errors(entry.factory(), "output"), Encoder()
    watch = Watch(entry.name, encoder)
    rng = np.random.default_rng(5)
    calls: dict[str, list[Outputs]] = {"data": [], "neighbour": []}
    for size in SIZES * ROUNDS:
        for side, data in (("data", entry.pair.data), ("neighbour", entry.pair.neighbour)):
            calls[side].append(mechanism.draw(data, size, rng))
            watch.see_call(side, calls[side][-1])
    first = encoder.encode(calls["data"][4])
    for column in range(first.columns):
        middle, code = np.median(first.numbers[:, column]), first.codes()[0, column]
        event = Above(column, float(middle)) if code < 0 else IsWord(column, int(code))
        counted = [
            [
                (int(np.count_nonzero(event.holds(encoder.encode(call)))), len(call))
                for call in calls[side][5:]  # the call that chose the event has no say
            ]
            for side in calls
        ]
        watch.independence.count(f"column {column}", *counted)
