"""Opacus: its noise is a release of the summed gradients, and its Poisson samples are hidden.

`DPOptimizer.add_noise` adds Gaussian noise of `noise_multiplier * max_grad_norm` to the sum of the
clipped gradients of every parameter; its subclasses with noise of their own are refused. Torch's
global generator begins every run of a transcript with the same seed: what it draws, such as initial
weights, are coins that may be shown.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dpaudit.inside.kernels import Gaussian
from dpaudit.inside.libraries.hooking import Replaced, following, refusing, released
from dpaudit.inside.recording import Recorder
from dpaudit.inside.sampling import hidden_sample


def hook_noise(module: Any) -> Iterator[Replaced]:
    """`add_noise` of the optimizer, and of its subclasses in Opacus."""
    right = module.DPOptimizer
    theirs = right.add_noise

    def add_noise(recorder: Recorder, optimizer: Any) -> None:
        deviation = float(optimizer.noise_multiplier * optimizer.max_grad_norm)
        if deviation == 0.0:  # no noise: what comes out is plain
            theirs(optimizer)
            return
        for weights in optimizer.params:
            total = weights.summed_grad
            module._check_processed_flag(total)
            value = np.array(total.detach().cpu().numpy(), dtype=np.float64)
            noisy = np.asarray(released(recorder, value, Gaussian(deviation)))
            weights.grad = total.new_tensor(noisy).view_as(weights)
            module._mark_as_processed(total)

    yield Replaced(right, "add_noise", following(theirs, add_noise))
    for owner in _subclasses(right):
        own = vars(owner).get("add_noise")
        if own is not None and owner.__module__.startswith("opacus."):
            yield Replaced(owner, "add_noise", refusing(own, f"{owner.__name__}.add_noise"))


def hook_samples(module: Any) -> Iterator[Replaced]:
    """Poisson sampling; sampling over several machines is refused."""
    right = module.UniformWithReplacementSampler
    yield Replaced(right, "__iter__", following(right.__iter__, _batches))
    other = module.DistributedUniformWithReplacementSampler
    yield Replaced(other, "__iter__", refusing(other.__iter__, other.__name__))


def _batches(recorder: Recorder, sampler: Any) -> Iterator[list[int]]:
    for _ in range(sampler.steps):
        mask = hidden_sample(sampler.num_samples, sampler.sample_rate, recorder.noise)
        yield np.nonzero(mask)[0].tolist()


def _subclasses(owner: Any) -> Iterator[Any]:
    for each in owner.__subclasses__():
        yield each
        yield from _subclasses(each)


@contextmanager
def torch_seeded(recorder: Recorder) -> Iterator[None]:
    """Begin with the coins of the transcript where torch is imported, and put its state back."""
    torch: Any = sys.modules.get("torch")
    if not hasattr(torch, "random"):  # not imported, or only in part
        yield
        return
    (seed,) = recorder.coin_seed.generate_state(1, np.uint64)
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(int(seed))
        yield
