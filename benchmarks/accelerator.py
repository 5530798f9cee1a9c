"""Audits of PyTorch mechanisms on a CPU and on a GPU, side by side, beside the drawing alone.

    python benchmarks/accelerator.py --devices cpu cuda

Every mechanism draws where its device is, and its outputs are counted there. An audit is preceded
by a short one that loads what is loaded on first use. Run it on an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from many_runs import entropy
from tables import RESULTS, Column, number, save, show, yes_or_no

import dpaudit

SEED = 20_261_120
PAIR = dpaudit.pairs([([1.0], [])])
PIECE = 2**25  # draws at once where nothing else is done with them
ATOM = 1e-8


@dataclass(frozen=True, slots=True)
class TensorCount:
    """A Laplace count in PyTorch, exactly 1-DP in real numbers.

    The float64 noise is a difference of exponentials. The float32 noise is the usual inverse of the
    distribution function, of a uniform number with 24 random bits.
    """

    device: str
    kind: str = "float64"

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Any:
        import torch

        generator = torch.Generator(device=self.device).manual_seed(int(rng.integers(2**63)))
        if self.kind == "float64":
            shape, kind = (2, size), torch.float64
            noise = torch.empty(shape, dtype=kind, device=self.device)
            noise.exponential_(generator=generator)
            return (noise[0] - noise[1]).add_(len(data))
        uniform = torch.rand(size, generator=generator, device=self.device) - 0.5
        return len(data) - uniform.sign() * torch.log1p(-2.0 * uniform.abs())


@dataclass(frozen=True, slots=True)
class RareAtom:
    """The same count, but for one number that rarely shows that a record is there."""

    device: str
    share: float

    def __call__(self, data: Any, size: int, rng: np.random.Generator) -> Any:
        noisy = TensorCount(self.device)(data, size, rng)
        if len(data):
            noisy[rng.integers(size, size=rng.binomial(size, self.share))] = math.pi
        return noisy


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One audit on one device: a line of the table and of the CSV."""

    mechanism: str
    device: str
    seed: int
    draws: int
    drawing_seconds: float
    seconds: float
    ratio: float
    draws_per_second: float
    refuted: bool
    epsilon_lower: float
    device_mib: float | None
    machine: str


def drawing(mechanism: Callable[..., Any], draws: int) -> float:
    """The seconds that as many draws take by themselves, half of them of either side."""
    rng = np.random.default_rng(SEED)
    start = time.perf_counter()
    for place in range(-(-draws // PIECE)):
        mechanism([1.0] * (place % 2), min(PIECE, draws - place * PIECE), rng)
    if getattr(mechanism, "device", "cpu") != "cpu":
        import torch

        torch.cuda.synchronize()
    return time.perf_counter() - start


def timed(name: str, mechanism: Any, samples: int, repeat: int) -> Timed:
    """Audit and draw the same number, one after the other."""
    device, on_gpu = mechanism.device, mechanism.device != "cpu"
    claim, seed = dpaudit.PureDP(1.0), entropy(SEED, repeat)
    dpaudit.audit(mechanism, claim, PAIR, samples=600_000, rng=seed)
    drawing(mechanism, PIECE)
    if on_gpu:
        import torch

        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    found = dpaudit.audit(mechanism, claim, PAIR, samples=samples, rng=seed)
    seconds = time.perf_counter() - start
    alone = drawing(mechanism, found.samples)
    print(
        f"{name}, {device}, {found.samples:,} draws: {seconds:.1f} s", file=sys.stderr, flush=True
    )
    return Timed(
        mechanism=name,
        device=device,
        seed=seed,
        draws=found.samples,
        drawing_seconds=alone,
        seconds=seconds,
        ratio=seconds / alone,
        draws_per_second=found.samples / seconds,
        refuted=found.refuted,
        epsilon_lower=found.epsilon_lower or 0.0,
        device_mib=torch.cuda.max_memory_allocated() / 2**20 if on_gpu else None,
        machine=machine(device),
    )


def machine(device: str) -> str:
    """What the device is called."""
    import torch

    if device == "cpu":
        return f"CPU, {torch.get_num_threads()} threads"
    return str(torch.cuda.get_device_name(device))


def rows(devices: Sequence[str], draws: dict[str, int], most: int, runs: int) -> Iterator[Timed]:
    """Tight counts on every device; what takes many draws on a GPU alone."""
    for repeat in range(runs):
        for device in devices:
            samples = draws.get(device, draws["gpu"])
            yield timed("Laplace count, float64", TensorCount(device), samples, repeat)
    for device in (device for device in devices if device != "cpu"):
        for repeat in range(runs):
            yield timed("Laplace count, float32", TensorCount(device, "float32"), most, repeat)
        for repeat in range(runs):
            yield timed(f"atom of {ATOM:g}", RareAtom(device, ATOM), most, repeat)
        if most > draws["gpu"]:
            yield timed("Laplace count, float64", TensorCount(device), most, runs)


COLUMNS: list[Column[Timed]] = [
    Column("mechanism", lambda row: row.mechanism, "left"),
    Column("device", lambda row: row.device, "left"),
    Column("draws", lambda row: f"{row.draws:.3g}"),
    Column("seconds", lambda row: number(row.seconds, 2)),
    Column("drawing\nalone", lambda row: number(row.drawing_seconds, 2)),
    Column("ratio", lambda row: number(row.ratio, 2)),
    Column("draws\na second", lambda row: f"{row.draws_per_second:.3g}"),
    Column("refuted", lambda row: yes_or_no(row.refuted)),
    Column("epsilon\nat least", lambda row: number(row.epsilon_lower, 4)),
]
NOTES = "ratio: the seconds of the audit over those of as many draws by themselves."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Audits on a CPU and on a GPU.")
    parser.add_argument("--devices", nargs="+", default=["cpu", "cuda"], help="as torch names them")
    parser.add_argument("--cpu-draws", type=int, default=10**8)
    parser.add_argument("--gpu-draws", type=int, default=10**10)
    parser.add_argument("--most-draws", type=int, default=10**11, help="of the longest audits")
    parser.add_argument("--runs", type=int, default=3, help="of each line")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder for the results")
    options = parser.parse_args(arguments)
    draws = {"cpu": options.cpu_draws, "gpu": options.gpu_draws}
    found: list[Timed] = []
    try:
        found.extend(rows(options.devices, draws, options.most_draws, options.runs))
    except KeyboardInterrupt:
        print("Interrupted: what is done so far.", file=sys.stderr)
    show("On a CPU and on a GPU", COLUMNS, found, NOTES)
    rates = [row.draws_per_second for row in found if row.device != "cpu" and not row.refuted]
    if rates:
        print(f"Median draws a second on the GPU, not refuted: {statistics.median(rates):.3g}")
    whole = any(row.device != "cpu" for row in found)
    save(found, folder=options.results, name="accelerator", complete=whole)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
