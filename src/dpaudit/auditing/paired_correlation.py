"""Are twins worth more than strangers? Outputs of both sides that share their random numbers.

Where noise moves both sides alike, it cancels out of what tells them apart: readers learn as much
from a few twins as from many draws that have nothing to do with each other. That is so of noise
that is added; a bit that is flipped makes twins unlike, and libraries with random numbers of their
own have no twins at all. So it is measured.
"""

from __future__ import annotations

import numpy as np

from dpaudit.guessing import BalancedLinear, LabelledRows


def paired_correlation(twins: LabelledRows) -> float:
    """The correlation of a score of one side with that of the other, from twin to twin.

    The score is learned from strangers, one side of some twins and the other side of others: what
    it says by chance is then like what readers say by chance. The remaining twins are scored.

    >>> from dpaudit.outputs import Encoder
    >>> rng = np.random.default_rng(0)
    >>> labels, noise = np.arange(6000) % 2 == 0, rng.laplace(size=(3000, 2))
    >>> def of(data, neighbour):
    ...     outputs = np.hstack([data, neighbour]).reshape(6000, -1)
    ...     return round(paired_correlation(LabelledRows.of(Encoder().encode(outputs), labels)), 1)
    >>> of(0.1 + noise, noise), abs(of(0.1 + noise, rng.permutation(noise)))
    (1.0, 0.0)
    """
    sides = np.flatnonzero(twins.labels), np.flatnonzero(~twins.labels)
    count = min(map(len, sides))
    third = count // 3
    strangers = np.concatenate([sides[0][:third], sides[1][third : 2 * third]])
    guesser = BalancedLinear()
    guesser.fit(twins.take(np.sort(strangers)))
    ours, theirs = (guesser.log_odds(twins.table.take(side[2 * third : count])) for side in sides)
    spread = float(ours.std() * theirs.std())
    common = float(np.mean((ours - ours.mean()) * (theirs - theirs.mean())))
    return common / spread if spread > 0.0 else 0.0
