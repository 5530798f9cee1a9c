"""After how many draws of a batch a wealth has reached its target."""

from __future__ import annotations

import numpy as np

from dpaudit.arrays import Floats, Index

_MAX_SINGLE_STEPS = 1_024  # samples of a batch, if the wealth is looked at after each
_CHUNKS = 32  # looks at a larger batch


def first_crossing(start: Floats, paid: Floats, place: Index, target: float) -> int | None:
    """After how many steps `logsumexp_k(start_k + sum of paid[k, place])` reaches the target.

    Many steps are looked at in chunks: if the target is reached at the end of one, the first step
    that reaches it is looked for inside. Looking less often is valid, too.

    >>> first_crossing(np.zeros(1), np.array([[-1.0, 2.0]]), np.array([0, 1, 1, 1]), 3.0)
    3
    """
    if not np.isfinite(target) or len(place) == 0:
        return None
    if len(place) <= _MAX_SINGLE_STEPS:
        return _first_step(start, paid, place, target)
    size = -(-len(place) // _CHUNKS)
    chunk = np.arange(len(place)) // size
    chunks, cells = int(chunk[-1]) + 1, paid.shape[1]
    counts = np.bincount(chunk * cells + place, minlength=chunks * cells).reshape(chunks, cells)
    ends = np.cumsum(paid @ counts.T.astype(np.float64), axis=1)
    for reached in np.flatnonzero(np.logaddexp.reduce(start[:, None] + ends, axis=0) >= target):
        before = start + ends[:, reached - 1] if reached > 0 else start
        step = _first_step(before, paid, place[reached * size : (reached + 1) * size], target)
        if step is not None:  # None: the sum of the steps is rounded otherwise than the end
            return int(reached) * size + step
    return None


def _first_step(start: Floats, paid: Floats, place: Index, target: float) -> int | None:
    path = np.logaddexp.reduce(start[:, None] + np.cumsum(paid[:, place], axis=1), axis=0)
    hits = np.flatnonzero(path >= target)
    return int(hits[0]) + 1 if len(hits) else None
