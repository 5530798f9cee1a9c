"""Neural functions for the Rényi tester: bounded dense networks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpaudit.guessing import network
from dpaudit.outputs import Table, stack
from dpaudit.testers.renyi_witness import Floats, Scorer

_REACH = 4.0  # order * h stays within this: beyond, a batch cannot tell the mean of e^(order h)


def neural(
    data: Table, neighbour: Table, order: float, *, device: str | None, seed: int
) -> list[Scorer]:
    """Two networks: one that maximises the divergence in batches, one that learns the log-ratio.

    The first is the variational form itself (Birrell et al. 2021, "Variational representations and
    neural network estimation of Rényi divergences"); the second is steadier at high orders, where
    a batch holds few of the outputs that matter.
    """
    both = stack([data, neighbour])
    standard = network.Standard.of(both)
    rows, labels = network.features(both, standard), np.arange(len(both)) < len(data)

    def scorer(loss: Any, reach: float | None) -> Scorer:
        trained = network.train(rows, labels, loss=loss, seed=seed, device=device, reach=reach)

        def scores(table: Table) -> Floats:
            return trained.scores(network.features(table, standard))

        return scores

    return [scorer(divergence_loss(order), _REACH / (order - 0.5)), scorer("logistic", None)]


def divergence_loss(order: float) -> Callable[[Any, Any], Any]:
    """`log E_Q e^(order h) - order/(order-1) log E_P e^((order-1) h)`, of scores of both sides."""
    torch = network.load_torch()

    def loss(data: Any, neighbour: Any) -> Any:
        first = torch.logsumexp((order - 1.0) * data, 0) - math.log(len(data))
        second = torch.logsumexp(order * neighbour, 0) - math.log(len(neighbour))
        return second - order / (order - 1.0) * first

    return loss
