"""Coins that may be shown: randomness that does not depend on data and need not be secret."""

from __future__ import annotations

import numpy as np


def shown_coins(rng: np.random.Generator) -> np.random.Generator:
    """A generator for random choices that could be published beside the output.

    Outside an audit it is `rng` itself. Inside an audit it is a plain generator that draws the same
    on both datasets, so the loss is that of the coins and the releases together: an upper bound for
    the output. That is right for coins that do not depend on data and need not be secret, such as
    the thresholds of a random forest, a starting point or a random projection; it is also how
    a library is given a generator whose mechanisms are followed. It is wrong for noise, for
    randomized response and for sampling: these hide data only as long as they are secret, and an
    audit inside then sees outputs that no release explains.

    >>> rng = np.random.default_rng(0)
    >>> shown_coins(rng) is rng
    True
    """
    made = getattr(rng, "shown_coins", None)
    found: np.random.Generator = rng if made is None else made()
    return found
