"""Evidence that draws depend on each other, as logarithms of e-values.

An e-value has mean at most 1 where the draws are independent, so it reaches `1/alpha` with
probability at most `alpha`, whenever one looks (Ville 1939).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats

# How alike the draws of a call are: a call's own rate varies as a Beta variable of so many counts.
_CONCENTRATIONS = (0.1, 1.0, 10.0, 100.0, 1000.0)


def coin_evidence(heads: npt.NDArray[Any], tails: npt.NDArray[Any]) -> Floats:
    """The log e-value of so many heads and tails against a fair coin, for each entry.

    It is the mean over all unfair coins of their likelihood, each as likely as by the prior of
    Krichevsky and Trofimov (1981), over the likelihood of a fair one.

    >>> coin_evidence(np.array([5, 40]), np.array([5, 0])).round(2).tolist()
    [-1.4, 25.31]
    """
    from scipy.special import betaln

    fair = (heads + tails) * np.log(0.5)
    return np.asarray(betaln(heads + 0.5, tails + 0.5) - betaln(0.5, 0.5) - fair)


def dispersion_evidence(calls: Sequence[tuple[int, int]]) -> float:
    """The log e-value of `(hits, draws)` by call against hits that are independent of each other.

    If every draw hits with one probability, the likelihood of the hits is at most that of the best
    such probability. It is compared with hits that are alike within a call: the rate of each call
    is a Beta variable around the rate of the calls before it, mixed over several widths. A ratio
    of a likelihood to the largest one of the null is an e-value (Wasserman, Ramdas and
    Balakrishnan 2020, "Universal inference"), whatever the calls and when one stops.

    >>> dispersion_evidence([(10, 20), (11, 20), (9, 20), (12, 20)]) < 0.0
    True
    >>> dispersion_evidence([(20, 20), (0, 20), (20, 20), (0, 20), (20, 20)]) > 50.0
    True
    """
    from scipy.special import betaln, logsumexp, xlogy

    if not calls:
        return 0.0
    hits, draws = np.array(calls, dtype=np.float64).T
    before = np.cumsum(draws) - draws
    rate = (np.cumsum(hits) - hits + 0.5) / (before + 1.0)
    alike = [
        betaln(hits + width * rate, draws - hits + width * (1.0 - rate))
        - betaln(width * rate, width * (1.0 - rate))
        for width in _CONCENTRATIONS
    ]
    total, made = float(hits.sum()), float(draws.sum())
    share = total / made
    independent = float(xlogy(total, share) + xlogy(made - total, 1.0 - share))
    by_width = np.array([one.sum() for one in alike])
    return float(logsumexp(by_width) - np.log(len(by_width)) - independent)
