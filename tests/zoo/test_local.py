"""Local mechanisms draw from their exact distribution."""

import math

import numpy as np
import pytest
from exact import assert_counts, draw

from dpaudit.mechanisms import (
    RandomizedResponse,
)


@pytest.mark.parametrize("bit", [0, 1])
def test_randomized_response(bit: int) -> None:
    outputs = draw(RandomizedResponse(1.0), np.array([bit]))
    assert set(outputs.tolist()) == {0, 1}
    kept = math.e / (1 + math.e)
    assert_counts(np.bincount(outputs != bit), np.array([kept, 1 - kept]))
