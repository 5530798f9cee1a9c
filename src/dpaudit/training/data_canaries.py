"""Data canaries: records of a dataset that leave a trace in a model, and how to look for it.

Records and scores come from the literature:

- `mislabelled` and `out_of_distribution` records, scored by their loss (`Losses`): Yeom,
  Giacomelli, Fredrikson and Jha 2018, "Privacy risk in machine learning", and the canaries of
  Steinke, Nasr and Jagielski 2023, "Privacy auditing with one (1) training run".
- `clip_bkd`: Jagielski, Ullman and Oprea 2020, "Auditing differentially private machine learning:
  How private is private SGD?" (called JUO20): a poisoned record that clipping does not weaken.
- `GradientProducts`: Nasr, Song, Thakurta, Papernot and Carlini 2021, "Adversary instantiation",
  and Nasr et al. 2023, "Tight auditing of differentially private machine learning": the gradient of
  a canary times the noisy gradient, in every step.
- `IsotropicCanaries`: Andrew, Kairouz, Oh, Oprea, McMahan and Suriyakumar 2023, "One-shot empirical
  privacy estimation for federated learning": random directions in place of gradients.

Left out is the attack by influence functions of Lu, Munoz, Fuchs, LeBlond, Zaresky-Williams, Raff,
Ferraro and Testa 2022, "A general framework for auditing differentially private machine learning"
(LMFZ22): its abstract does not say enough to repeat it. Records that it finds can be passed as they
are. Several copies of one record are a group, for which a claim about one record says less; here
each canary is one record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpaudit.arrays import Floats
from dpaudit.errors import InvalidCanaries
from dpaudit.integrations import opacus_item
from dpaudit.results import Null
from dpaudit.training.batches import Batches
from dpaudit.training.canary_scores import CanaryScore


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DataCanaries:
    """Canaries that are records of their own, beside yours: for `of_opacus`.

    `records` holds one for each canary, in the form of the items of your dataset; arrays and
    numbers are converted to its tensors. `score` is `Losses`, `LossDrops`, `GradientProducts`, or
    `ScoredBy` a function of yours.
    """

    records: Sequence[Any]
    score: CanaryScore

    @property
    def what(self) -> str:
        """What the canaries are, in words."""
        return f"data canaries, {self.score.name}"

    def items(self, count: int, example: Any) -> list[Any]:
        """The records in the form of an item of the user's dataset."""
        if len(self.records) != count:
            raise InvalidCanaries(
                f"{count} canaries need as many records, got {len(self.records)}."
            )
        return [
            opacus_item(tuple(record) if isinstance(record, list) else record, example)
            for record in self.records
        ]

    def noise(self, optimizer: Any) -> float | None:
        """None: what the score of a record varies by is not known."""

    def assume(self, poisson: bool) -> Null:
        """Canaries that share the model's weights depend on each other."""
        return Null.ANY_MECHANISM

    @contextmanager
    def watched(
        self, module: Any, optimizer: Any, batches: Batches, items: Sequence[Any]
    ) -> Iterator[Callable[[], Floats]]:
        """Watch one run; the scores can be asked for at the end of it."""
        watch = self.score.begin(module, items)
        handle = optimizer.original_optimizer.register_step_pre_hook(lambda *_: watch.step())
        try:
            yield watch.scores
        finally:
            handle.remove()


def mislabelled(
    rows: ArrayLike,
    labels: ArrayLike,
    count: int,
    *,
    classes: int,
    rng: np.random.Generator | int | None = None,
) -> list[tuple[Any, int]]:
    """Take records of these, each once, and give each a wrong label.

    >>> mislabelled([[0.5], [1.5]], [0, 1], 2, classes=2, rng=1)
    [(array([0.5]), 1), (array([1.5]), 0)]
    """
    rows, labels, rng = np.asarray(rows), np.asarray(labels), np.random.default_rng(rng)
    if not 1 <= count <= len(rows) or classes < 2:
        raise InvalidCanaries(
            f"{count} wrong labels need as many records, got {len(rows)}, and at least 2 classes, "
            f"got {classes}."
        )
    chosen = rng.permutation(len(rows))[:count]
    wrong = (labels[chosen] + rng.integers(1, classes, count)) % classes
    return [(rows[row], int(label)) for row, label in zip(chosen, wrong, strict=True)]


def out_of_distribution(
    rows: ArrayLike, count: int, *, classes: int, rng: np.random.Generator | int | None = None
) -> list[tuple[Any, int]]:
    """Make records of uniform noise between the extremes of these rows, with random labels.

    >>> [
    ...     (row.round(1).tolist(), label)
    ...     for row, label in out_of_distribution([[0], [9]], 1, classes=3, rng=1)
    ... ]
    [([4.6], 2)]
    """
    rows, rng = np.asarray(rows), np.random.default_rng(rng)
    noise = rng.uniform(rows.min(), rows.max(), size=(count, *rows.shape[1:]))
    return [
        (row, int(label))
        for row, label in zip(noise, rng.integers(classes, size=count), strict=True)
    ]


def clip_bkd(
    rows: ArrayLike, predict: Callable[[Any], ArrayLike], count: int = 1
) -> list[tuple[Any, int]]:
    """Make the poisoned records of ClipBKD (JUO20): where the data vary least, an unlikely label.

    The record is the right singular vector of the least singular value, as long as the rows are on
    average, so its gradient is nearly orthogonal to theirs; clipping does not weaken it.
    `predict(rows)` gives the outputs of the model before training, of which the smallest is the
    label. The paper takes one record; further ones take the next singular vectors.

    >>> rows = np.array([[3.0, 0.0], [5.0, 0.0], [4.0, 1.0]])
    >>> [(row, label)] = clip_bkd(rows, lambda given: given @ [[1.0, -1.0], [1.0, -1.0]])
    >>> np.abs(row).round(1).tolist(), float(np.linalg.norm(row).round(2)), label in (0, 1)
    ([0.3, 4.0], 4.04, True)
    """
    rows = np.asarray(rows, dtype=np.float64)
    flat = rows.reshape(len(rows), -1)
    directions = np.linalg.svd(flat, full_matrices=False)[2]
    if not 1 <= count <= len(directions):
        raise InvalidCanaries(f"these rows have {len(directions)} directions, asked for {count}.")
    poisoned = directions[::-1][:count] * np.linalg.norm(flat, axis=1).mean()
    shaped = poisoned.reshape(count, *rows.shape[1:])
    labels = np.asarray(predict(shaped)).reshape(count, -1).argmin(axis=1)
    return [(row, int(label)) for row, label in zip(shaped, labels, strict=True)]
