"""DP-SGD of a wide residual network with a canary head, in plain PyTorch, step by step.

Records and canaries are sampled, clipped, summed and noised by the same lines. On a GPU the network
is bfloat16, which decides what a record's gradient is, not whether it is private: norms, sums,
noise, the head and all weights between steps are float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from per_record import WRN16_4, Layers, Network, Weights, clipped_sum

from dpaudit.arrays import Floats
from dpaudit.training import Canaries
from dpaudit.training.canary_head import SIZE as HEAD_SIZE

SEED = 20_261_123  # of images and first weights, and of plans
CLIP = 1.0
BUGS = {"none": 1.0, "noise-halved": 0.5}  # the noise, in claimed ones
NOBODY = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The size of an experiment. Records and canaries are sampled at the same rate."""

    name: str
    network: Network
    images: int
    side: int
    batch: int  # expected records in a batch, without canaries
    sigma: float
    learning_rate: float
    canaries: int
    together: int  # records whose gradients are computed at once
    accounted: tuple[int, ...]  # the numbers of steps that have claims

    @property
    def rate(self) -> float:
        return self.batch / self.images


FULL = Size(
    name="full",
    network=WRN16_4,
    images=50_000,
    side=32,
    batch=4096,
    sigma=3.0,
    learning_rate=2.0,
    canaries=10_000,
    together=768,
    accounted=tuple(range(50, 3001, 50)),
)
TINY = Size(
    name="tiny",
    network=Network(first=4, widths=(8,), blocks=1, groups=2),
    images=200,
    side=8,
    batch=40,
    sigma=2.0,
    learning_rate=0.5,
    canaries=500,
    together=96,
    accounted=(10, 50, 100),
)
SIZES = {size.name: size for size in (FULL, TINY)}


class Training:
    """A training that goes step by step. `seen` holds what the head showed at each step taken."""

    def __init__(self, size: Size, plan: Canaries, *, device: str, seed: int, bug: str) -> None:
        import torch

        self.size, self._noise = size, BUGS[bug] * size.sigma
        self._kind = torch.bfloat16 if device.startswith("cuda") else torch.float32
        if device.startswith("cuda"):
            torch.backends.cudnn.benchmark = True
        generator = torch.Generator(device).manual_seed(SEED)  # what is no secret
        self.images, self.labels = made_images(size, generator, self._kind)
        self.weights = size.network.weights(generator)
        self.weights["head"] = torch.zeros(size.canaries, device=device)
        self._generator = torch.Generator(device).manual_seed(seed)
        included = torch.as_tensor(plan.included, device=device) + size.images
        everyone = torch.arange(size.images, device=device)
        self._members = torch.cat([everyone, included])  # places from `images` on are canaries
        self._seen: list[Any] = []

    @property
    def steps(self) -> int:
        """How many steps were taken."""
        return len(self._seen)

    @property
    def seen(self) -> Floats:
        """The noisy gradients of the head in clipping norms: a row for each step."""
        import torch

        return np.asarray(torch.stack(self._seen).cpu().double().numpy())

    def step(self) -> None:
        """Sample, clip, sum, add noise, move."""
        import torch

        chances = torch.rand(len(self._members), generator=self._generator, device=self._device)
        noisy = self._summed(self._members[chances < self.size.rate])
        for total in noisy.values():
            noise = torch.empty_like(total).normal_(generator=self._generator)
            total.add_(noise, alpha=self._noise * CLIP)
        for name, weight in self.weights.items():
            weight.sub_(noisy[name], alpha=self.size.learning_rate / self.size.batch)
        self._seen.append(noisy["head"] / CLIP)

    def _summed(self, batch: Any) -> Weights:
        """The sum of the clipped gradients of a batch, some records at a time.

        The last part is filled up with nobodies, whose gradients are 0: all parts are of one size.
        """
        import torch

        # As many parts for an empty batch as for one record, so that there is always a sum.
        parts = max(1, -(-len(batch) // self.size.together))
        filled = torch.full((parts * self.size.together,), NOBODY, device=self._device)
        filled[: len(batch)] = batch
        total: Weights = {}
        for places in filled.split(self.size.together):
            part = clipped_sum(self.gradients(places), CLIP)
            total = {name: each + total[name] for name, each in part.items()} if total else part
        return total

    def gradients(self, places: Any) -> Weights:
        """The gradient of each record's loss by all weights, not clipped."""
        layers = Layers(self._rounded(), keep=True)
        return layers.gradients(self.losses(layers, places))

    def losses(self, layers: Layers, places: Any) -> Any:
        """The loss of each record: cross-entropy, or that of the head for a canary."""
        import torch

        size, zero = self.size, torch.zeros((), device=self._device)
        images = (places >= 0) & (places < size.images)
        rows = torch.where(images, places, 0)
        logits = size.network.logits(layers, self.images[rows]).float()
        entropies = torch.nn.functional.cross_entropy(logits, self.labels[rows], reduction="none")
        heads = layers.entry("head", (places - size.images).clamp(min=0))
        own = torch.where(places >= size.images, HEAD_SIZE * CLIP * heads, zero)
        return torch.where(images, entropies, zero) + own

    def accuracy(self, most: int = 10_000) -> float:
        """The share of the first training images whose class is found."""
        import torch

        layers, right = Layers(self._rounded(), keep=False), 0
        with torch.no_grad():
            for rows in torch.arange(min(most, self.size.images)).split(500):
                logits = self.size.network.logits(layers, self.images[rows])
                right += int((logits.argmax(1) == self.labels[rows]).sum())
        return right / min(most, self.size.images)

    @property
    def _device(self) -> Any:
        return self.images.device

    def _rounded(self) -> Weights:
        """The weights as the network has them: the head keeps float32."""
        return {
            name: weight if name == "head" else weight.to(self._kind)
            for name, weight in self.weights.items()
        }


def made_images(size: Size, generator: Any, kind: Any) -> tuple[Any, Any]:
    """Images of 10 classes: coloured squares that belong to the class, and as much noise."""
    import torch

    where = {"generator": generator, "device": generator.device}
    squares = torch.randn(size.network.classes, 3, 4, 4, **where)
    means = torch.nn.functional.interpolate(squares, size=(size.side, size.side))
    labels = torch.randint(size.network.classes, (size.images,), **where)
    noise = torch.randn(size.images, 3, size.side, size.side, **where)
    return (means[labels] + noise).to(kind), labels
