"""A small dense network on outputs, for the neural testers; torch is loaded when one is trained.

Outputs become a matrix through a `Standard` made from the training rows, `train` fits a network
that scores rows (high where the output looks like `data`), and `Network.scores` applies it. All
randomness comes from the seed: on the cpu the same rows and seed give the same network.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats, Index, Labels
from dpaudit.guessing.columns import ColumnSummary, described_past
from dpaudit.guessing.guessers import balanced_weights
from dpaudit.guessing.rows import LabelledRows, Past
from dpaudit.outputs import Table

Matrix: TypeAlias = npt.NDArray[np.float32]
Sides: TypeAlias = tuple[Index, Index]  # rows of data, rows of neighbour; or as torch tensors
SideLoss: TypeAlias = Callable[[Any, Any], Any]  # of the scores of both sides, as torch tensors

_MAX_STANDARDISED = 8.0  # beyond it, the rank tells outputs apart
_ROWS_AT_ONCE = 65_536  # scored
_HIDDEN_WIDTHS = (64, 64)
_MAX_EPOCHS = 40
_MAX_STEPS = 64  # of an epoch: the more rows, the larger the batches
_MIN_BATCH_ROWS = 1024  # both sides together
_LEARNING_RATE = 3e-3
_PATIENCE = 6  # epochs without a smaller loss on the rows kept aside, a fifth, after which to stop


@dataclass(frozen=True, slots=True, eq=False)
class Standard:
    """What makes outputs comparable: each column's centre, spread, ranks, words and repeats."""

    columns: tuple[ColumnSummary, ...]

    @staticmethod
    def of(table: Table) -> Standard:
        """Learn centres and spreads from the rows to train on."""
        past = Past()
        past.add(table, np.zeros(len(table), dtype=np.bool_))
        return Standard(described_past(past.seen).summaries)


def features(table: Table, like: Standard) -> Matrix:
    """Outputs as a matrix: a number gives its `asinh` and its rank, words and repeats give 0 or 1.

    >>> from dpaudit.outputs import Encoder
    >>> table = Encoder().encode([0.1, 0.2, 0.3, "none", "none"])
    >>> features(table, Standard.of(table))[2:4].round(2)
    array([[0.88, 0.5 , 0.  ],
           [0.  , 0.  , 1.  ]], dtype=float32)
    """
    parts = []
    for column in like.columns:
        if len(column.ordered):
            parts.append(_numeric(table, column))
        if column.repeats:
            parts.append(column.indicators(table))
    if not parts:
        return np.zeros((len(table), 1), dtype=np.float32)
    return np.concatenate(parts, axis=1).astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A trained dense network; `reach` is the largest score it can give either way."""

    layers: tuple[Matrix, ...]  # weights and offsets in turn
    reach: float | None
    device: str

    def scores(self, features: Matrix) -> Floats:
        """One score for each row, high where the output looks like `data`."""
        torch = load_torch()
        layers = [torch.as_tensor(part, device=self.device) for part in self.layers]
        found = np.empty(len(features))
        with torch.no_grad():
            for start in range(0, len(features), _ROWS_AT_ONCE):
                rows = torch.as_tensor(features[start : start + _ROWS_AT_ONCE], device=self.device)
                scores = _forward(torch, rows, layers, self.reach)
                found[start : start + _ROWS_AT_ONCE] = scores.cpu().numpy()
        return found


class Neural:
    """A dense network as a guesser; both sides weigh the same."""

    def __init__(self, *, device: str | None, seed: int) -> None:
        self._device, self._seed = device, seed

    def fit(self, seen: LabelledRows) -> None:
        """Learn from single draws."""
        self._standard = Standard.of(seen.table)
        rows, weights = features(seen.table, self._standard), balanced_weights(seen.labels)
        self._network = train(rows, seen.labels, weights, seed=self._seed, device=self._device)

    def log_odds(self, table: Table) -> Floats:
        """The log-odds of every row."""
        return self._network.scores(features(table, self._standard))


def train(
    features: Matrix,
    labels: Labels,
    weights: Floats | None = None,
    *,
    loss: str | SideLoss = "logistic",
    seed: int,
    device: str | None = None,
    reach: float | None = None,
    max_epochs: int = _MAX_EPOCHS,
) -> Network:
    """Fit a network to rows of `data` (label True) and of `neighbour`, with Adam.

    The loss is "logistic", whose best score is the log of the ratio of the (weighted) shares of the
    two sides, or a function of the scores of the rows of either side. `device=None` is cuda where
    there is one, else the cpu. Source of the optimiser: Kingma and Ba 2015, "Adam".
    """
    torch = load_torch()
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    _check(labels, weights, loss)
    rng = np.random.default_rng(seed)
    rows = torch.as_tensor(features, device=device)
    height = torch.as_tensor(np.ones(len(labels)) if weights is None else weights, device=device)
    layers = _start(torch, (features.shape[1], *_HIDDEN_WIDTHS, 1), rng, device)

    def loss_on(sides: Sides) -> Any:
        data, neighbour = (torch.as_tensor(index, device=device) for index in sides)
        scores = [_forward(torch, rows[index], layers, reach) for index in (data, neighbour)]
        if not isinstance(loss, str):
            return loss(scores[0], scores[1])
        # log(1 + e^-score) on rows of data, log(1 + e^score) on others, weighted.
        loss_of, (at_data, at_neighbour) = torch.nn.functional.softplus, scores
        on_data = (height[data].float() * loss_of(-at_data)).mean()
        return on_data + (height[neighbour].float() * loss_of(at_neighbour)).mean()

    best = _descend(torch, layers, loss_on, labels, rng, max_epochs)
    return Network(tuple(best), reach, device)


def load_torch() -> Any:
    """The torch module, or an error that says how to install it."""
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise ImportError(
            'the neural testers need torch, which is not installed: pip install "dpaudit[neural]"'
        ) from error


def _numeric(table: Table, column: ColumnSummary) -> Floats:
    """Distance from the median, its far ends drawn in, and the rank; 0 where it is no number."""
    with np.errstate(over="ignore"):
        z = (table.numbers[:, column.place] - column.median) / column.scales[-1]
    near = np.clip(np.arcsinh(z), -_MAX_STANDARDISED, _MAX_STANDARDISED)
    both = np.stack([near, 2.0 * column.rank(table.numbers[:, column.place]) - 1.0], axis=1)
    plain = column.plain(table)
    return both if plain is None else np.where(plain[:, None], both, 0.0)


def _check(labels: Labels, weights: Floats | None, loss: str | SideLoss) -> None:
    if labels.all() or not labels.any():
        raise ValueError("a network learns to tell two sides apart, got rows of one. Give both.")
    if isinstance(loss, str):
        if loss != "logistic":
            raise ValueError(f"loss must be 'logistic' or a function, got {loss!r}.")
    elif weights is not None:
        raise ValueError("weights belong to the logistic loss. Leave them out of any other.")


def _start(torch: Any, widths: tuple[int, ...], rng: np.random.Generator, device: str) -> list[Any]:
    """Random layers that keep the spread of their inputs (He et al. 2015); the last one nearly 0.

    A last layer near 0 makes every score begin at 0: no output is accused before it was learned.
    """
    layers = []
    for place, (width, next_width) in enumerate(itertools.pairwise(widths)):
        gain = 0.01 if place == len(widths) - 2 else 1.0
        weight = rng.normal(scale=gain * np.sqrt(2.0 / width), size=(width, next_width))
        for part in (weight, np.zeros(next_width)):
            tensor = torch.as_tensor(part.astype(np.float32), device=device)
            layers.append(tensor.requires_grad_())
    return layers


def _forward(torch: Any, rows: Any, layers: list[Any], reach: float | None) -> Any:
    for place in range(0, len(layers) - 2, 2):
        rows = torch.relu(torch.addmm(layers[place + 1], rows, layers[place]))
    scores = torch.addmm(layers[-1], rows, layers[-2])[:, 0]
    return scores if reach is None else reach * torch.tanh(scores / reach)


def _descend(
    torch: Any,
    layers: list[Any],
    loss_on: Callable[[Sides], Any],
    labels: Labels,
    rng: np.random.Generator,
    max_epochs: int,
) -> list[Matrix]:
    """Epochs of Adam; the layers with which the rows kept aside were told apart best."""
    learned, judged = _parted(labels, rng)
    # Fused, a step is one launch on a GPU, where launching small steps takes most of the time.
    optimiser = torch.optim.Adam(layers, lr=_LEARNING_RATE, fused=layers[0].is_cuda)

    def copies() -> list[Matrix]:
        return [layer.detach().cpu().numpy().copy() for layer in layers]

    least, best, waited = np.inf, copies(), 0
    for _ in range(max_epochs):
        for sides in _batches(torch, learned, rng, device=layers[0].device):
            optimiser.zero_grad()
            loss_on(sides).backward()
            optimiser.step()
        with torch.no_grad():
            loss = float(loss_on(judged))
        waited += 1
        if loss < least:
            least, best, waited = loss, copies(), 0
        if waited >= _PATIENCE:
            break
    return best


def _parted(labels: Labels, rng: np.random.Generator) -> tuple[Sides, Sides]:
    """Rows to learn from and a fifth to judge by; where a side has one row, it serves for both."""
    learned, judged = [], []
    for side in (True, False):
        index = rng.permutation(np.flatnonzero(labels == side))
        cut = max(1, len(index) // 5)
        judged.append(index[:cut])
        learned.append(index[cut:] if len(index) > 1 else index)
    return (learned[0], learned[1]), (judged[0], judged[1])


def _batches(torch: Any, sides: Sides, rng: np.random.Generator, *, device: Any) -> list[Sides]:
    """Every row once, in random order: batches that hold rows of both sides, each its share."""
    wanted = min(_MAX_STEPS, (len(sides[0]) + len(sides[1])) // _MIN_BATCH_ROWS)
    count = max(1, min(wanted, len(sides[0]), len(sides[1])))
    orders = [torch.as_tensor(rng.permutation(side), device=device) for side in sides]
    parts = [torch.tensor_split(order, count) for order in orders]
    return list(zip(parts[0], parts[1], strict=True))
