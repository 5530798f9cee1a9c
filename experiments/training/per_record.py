"""A wide residual network in plain PyTorch, and the exact gradient of every record of a batch.

The layers keep what they get and give. One backward pass then yields the gradient of the loss by
every layer's output, and from both follows what each record adds to the gradient of a weight:
records meet nowhere in the network, since its normalisation is by groups of channels. That takes
one product of matrices for each convolution and record, where `torch.func.vmap` of `grad` takes a
grouped convolution; the tests compare the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

Tensor: TypeAlias = Any
Weights: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The size of a wide residual network with GroupNorm (Zagoruyko and Komodakis 2016)."""

    first: int  # channels of the first convolution
    widths: tuple[int, ...]  # channels of each stage; all stages but the first halve the image
    blocks: int  # of each stage
    groups: int  # of channels, normalised together
    classes: int = 10

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of all weights by name."""
        found: dict[str, tuple[int, ...]] = {"first": (self.first, 3, 3, 3)}
        before = self.first
        for name, width, _ in self.places():
            found |= {f"{name}.scale1": (before,), f"{name}.shift1": (before,)}
            found |= {f"{name}.scale2": (width,), f"{name}.shift2": (width,)}
            found[f"{name}.conv1"] = (width, before, 3, 3)
            found[f"{name}.conv2"] = (width, width, 3, 3)
            if before != width:
                found[f"{name}.short"] = (width, before, 1, 1)
            before = width
        found |= {"scale": (before,), "shift": (before,)}
        return found | {"last": (self.classes, before), "bias": (self.classes,)}

    def places(self) -> list[tuple[str, int, int]]:
        """The name, the channels and the stride of each block."""
        return [
            (f"stage{stage}.block{block}", width, 2 if stage and not block else 1)
            for stage, width in enumerate(self.widths)
            for block in range(self.blocks)
        ]

    def weights(self, generator: Any) -> Weights:
        """Weights to begin with, on the device of the generator (He et al. 2015)."""
        import torch

        made = {}
        for name, shape in self.shapes().items():
            kind = name.rpartition(".")[2]
            if len(shape) == 1:
                made[name] = torch.full(shape, float(kind.startswith("scale")))
            else:
                made[name] = torch.empty(shape, device=generator.device)
                spread = math.sqrt(2.0 / math.prod(shape[1:]))
                made[name].normal_(0.0, spread, generator=generator)
            made[name] = made[name].to(generator.device)
        return made

    def logits(self, layers: Layers, images: Tensor) -> Tensor:
        """Run the network."""
        import torch

        flowing = layers.convolution("first", images)
        for name, _, stride in self.places():
            opened = torch.relu(
                layers.norm(f"{name}.scale1", f"{name}.shift1", flowing, self.groups)
            )
            if f"{name}.short" in layers.weights:
                flowing = layers.convolution(f"{name}.short", opened, stride)
            inner = layers.convolution(f"{name}.conv1", opened, stride)
            inner = torch.relu(layers.norm(f"{name}.scale2", f"{name}.shift2", inner, self.groups))
            flowing = flowing + layers.convolution(f"{name}.conv2", inner)
        flowing = torch.relu(layers.norm("scale", "shift", flowing, self.groups))
        return layers.linear("last", "bias", flowing.mean((2, 3)))


WRN16_4 = Network(first=16, widths=(64, 128, 256), blocks=2, groups=16)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """The output of a layer, and the gradients of its weights from the gradient by that output."""

    output: Tensor
    gradients: Callable[[Tensor], Mapping[str, Tensor]]


class Layers:
    """Layers with these weights. With `keep=True` the gradients can be asked for afterwards."""

    def __init__(self, weights: Weights, *, keep: bool) -> None:
        self.weights, self._keeps, self._kept = weights, keep, list[_Kept]()

    def convolution(self, name: str, x: Tensor, stride: int = 1) -> Tensor:
        """Convolve with an odd square kernel, padded so that stride 1 keeps the size."""
        from torch.nn.functional import conv2d

        weight = self.weights[name]
        size = weight.shape[-1]
        output = conv2d(x, weight, stride=stride, padding=size // 2)
        return self._keep(
            output, lambda upstream: {name: of_convolution(x, upstream, size, stride)}
        )

    def norm(self, scale: str, shift: str, x: Tensor, groups: int) -> Tensor:
        """GroupNorm."""
        from torch.nn.functional import group_norm

        output = group_norm(x, groups, self.weights[scale], self.weights[shift])

        def gradients(upstream: Tensor) -> Weights:
            steered = (upstream * group_norm(x, groups)).sum((2, 3))
            return {scale: steered, shift: upstream.sum((2, 3))}

        return self._keep(output, gradients)

    def linear(self, weight: str, bias: str, x: Tensor) -> Tensor:
        """A linear layer."""
        from torch.nn.functional import linear

        output = linear(x, self.weights[weight], self.weights[bias])
        return self._keep(
            output, lambda upstream: {weight: upstream[:, :, None] * x[:, None], bias: upstream}
        )

    def entry(self, name: str, places: Tensor) -> Tensor:
        """One entry of a vector for each record."""
        vector = self.weights[name]
        return self._keep(vector[places], partial(_of_entry, name, len(vector), places))

    def gradients(self, losses: Tensor) -> Weights:
        """The gradients of all weights: the records of the batch stand on the first axis."""
        import torch

        kept, self._kept = self._kept, []
        upstream = torch.autograd.grad(losses.sum(), [each.output for each in kept])
        found: Weights = {}
        with torch.no_grad():
            for each, gradient in zip(kept, upstream, strict=True):
                found |= each.gradients(gradient)
        return found

    def _keep(self, output: Tensor, gradients: Callable[[Tensor], Mapping[str, Tensor]]) -> Tensor:
        if self._keeps:
            if not output.requires_grad:  # weights have no gradient here, so no other layer had
                output.requires_grad_()
            self._kept.append(_Kept(output=output, gradients=gradients))
        return output


def of_convolution(x: Tensor, upstream: Tensor, size: int, stride: int) -> Tensor:
    """What each record adds to the gradient of a convolution's weight."""
    from torch.nn.functional import pad

    x = pad(x, (size // 2,) * 4)
    windows = x.unfold(2, size, stride).unfold(3, size, stride)
    columns = windows.permute(0, 1, 4, 5, 2, 3).flatten(4).flatten(1, 3)
    products = upstream.flatten(2) @ columns.mT
    return products.unflatten(2, (x.shape[1], size, size))


def _of_entry(name: str, length: int, places: Tensor, upstream: Tensor) -> Weights:
    """Zero but for the entry that the record had."""
    return {
        name: upstream.new_zeros(len(places), length).scatter_(
            1, places[:, None], upstream[:, None]
        )
    }


def clipped_sum(gradients: Weights, clip: float) -> Weights:
    """The sum over records of their gradients, each clipped over all weights together.

    Norms and sums are float32, whatever the gradients are: the clipped gradient of a record is what
    its norm was computed of.
    """
    import torch

    norms = [
        torch.linalg.vector_norm(each.flatten(1), dim=1, dtype=torch.float32)
        for each in gradients.values()
    ]
    norm = torch.linalg.vector_norm(torch.stack(norms), dim=0)
    share = clip / norm.clamp(min=clip)
    return {name: torch.tensordot(share, each.float(), 1) for name, each in gradients.items()}
