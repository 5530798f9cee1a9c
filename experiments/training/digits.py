"""Scores of canaries in trainings of digits with Opacus: a correct one, and one for each bug.

    python experiments/training/digits.py [--rows noise] [--runs 3] [--canaries 1000]

scikit-learn's digits, a network of 64-64-10, clipping norm 1, noise multiplier 1, 60 steps at a
sampling rate of 1/9, and a canary head. Each run keeps its bits and its scores beside this script,
in `results/digits`, a file for each bug and turn: finished runs are not repeated. Any test of a
training can be tried on these files, without Opacus: `load` gives the bits, the scores and the
claim. The table says how far apart the scores of canaries that are in and out are.

Three scores are kept: `weights`, the final weights in units of the claimed noise; `steps`, the
log-likelihood ratio of all noisy gradients under the claim; `made`, one made for the bug, or
`weights` again where there is none. It needs `opacus` and `torch`; the digits come with
scikit-learn.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # whose tables and seeds are shared

import numpy as np
from many_runs import entropy
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import rankdata
from sklearn.datasets import load_digits
from tables import Column, number, save, show

from dpaudit.architecture import Claim
from dpaudit.claims import GaussianDP, claim_from_json
from dpaudit.integrations import needed
from dpaudit.integrations.opacus import claim_of
from dpaudit.training import CanaryHead, canaries, of_opacus
from dpaudit.training.scores import subsampled_score

RESULTS = Path(__file__).parent / "results"
SEED = 20_261_121
STEPS, SIGMA, CLIP, BATCH, RATE = 60, 1.0, 1.0, 200, 1 / 9  # of 1,797 records
Floats = NDArray[np.float64]
SCORES = ("weights", "steps", "made")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """What is wrong with a training. `place` decides its seeds.

    `optimizer` is the name of a changed method, `loop` what is done to the gradients between
    backward pass and step, `made` a score made for the bug: of the noisy gradients in clipping
    norms (a row for each step), or of the gradients that the loop has kept.
    """

    place: int
    name: str
    optimizer: str | None = None
    loop: Callable[[Any], None] | None = None
    keep: bool = False
    told: float = 1.0  # the sampling rate that the accountant is told, in true ones
    poisson: bool = True
    shuffle: bool = True
    made: Callable[[Floats], Floats] | None = None


def same_order(gradients: Floats) -> Floats:
    """The largest sum over every ninth step: a fixed order has a canary in all or none of them."""
    parts = round(1 / RATE)
    sums = [gradients[first::parts].sum(0) for first in range(parts)]
    return np.asarray(np.max(sums, axis=0))


def spread(gradients: Floats) -> Floats:
    """How much a canary's gradient varies: not at all where the same noise is all that there is."""
    return np.asarray(gradients.std(axis=0))


def total(kept: Floats) -> Floats:
    """The sum of the gradients that the loop kept."""
    return np.asarray(kept.sum(axis=0))


def less_noise(gradients: Floats) -> Floats:
    """The log-likelihood ratio where the noise is half of what is claimed."""
    return subsampled_score(gradients.T, RATE, SIGMA / 2)


def pairs_as_one(module: Any) -> None:
    """Microbatches of two records, each clipped as one."""
    torch = needed("torch", "opacus")
    for weights in module.parameters():
        each = weights.grad_sample
        odd = torch.zeros((len(each) % 2, *each.shape[1:]))
        weights.grad_sample = torch.cat([each, odd]).unflatten(0, (-1, 2)).sum(1)


def average_as_one(module: Any) -> None:
    """The averaged gradient is clipped, not that of each record."""
    for weights in module.parameters():
        weights.grad_sample = weights.grad_sample.sum(0, keepdim=True) / BATCH


BUGS = (
    Bug(place=0, name="none"),
    Bug(place=1, name="noise halved", optimizer="halved", made=less_noise),
    Bug(place=2, name="same noise every step", optimizer="same", made=spread),
    Bug(place=3, name="accountant told q/2", told=0.5),
    Bug(place=4, name="accountant told .7 q", told=0.7),
    Bug(place=5, name="fixed order", poisson=False, shuffle=False, made=same_order),
    Bug(place=6, name="secret reshuffle", poisson=False),
    Bug(place=7, name="microbatches clipped together", loop=pairs_as_one),
    Bug(place=8, name="averaged gradient clipped", loop=average_as_one),
    Bug(place=9, name="noise divided by the batch", optimizer="divided"),
    Bug(place=10, name="gradient kept without clone", keep=True, made=total),
    Bug(place=11, name="size-dependent normaliser", optimizer="normalised"),
    Bug(place=12, name="no noise", optimizer="silent"),
)


def optimizer_of(kind: str) -> Any:
    """An optimizer of Opacus with a bug; it says that its noise multiplier is the claimed one."""
    torch, right = needed("torch", "opacus"), needed("opacus.optimizers", "opacus").DPOptimizer

    class Wrong(right):  # type: ignore[misc, valid-type]
        def add_noise(self: Any) -> None:
            stated, generator = self.noise_multiplier, self.generator
            self.noise_multiplier = stated * {
                "halved": 0.5,
                "divided": 1 / self.expected_batch_size,
                "silent": 0.0,
            }.get(kind, 1.0)
            if kind == "same":
                self.generator = torch.Generator().manual_seed(torch.initial_seed() % 2**62)
            super().add_noise()
            self.noise_multiplier, self.generator = stated, generator

        def scale_grad(self: Any) -> None:
            stated = self.expected_batch_size
            if kind == "normalised":
                self.expected_batch_size = max(1, len(self.grad_samples[0]))
            super().scale_grad()
            self.expected_batch_size = stated

    return Wrong


def made_private(bug: Bug) -> tuple[dict[str, Any], Any]:
    """What a user has after `make_private`, and the loss."""
    torch, loading = needed("torch", "opacus"), needed("torch.utils.data", "opacus")
    rows, labels = load_digits(return_X_y=True)
    data = loading.TensorDataset(torch.tensor(rows / 16, dtype=torch.float32), torch.tensor(labels))
    torch.manual_seed(SEED)
    layers = torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)
    network = torch.nn.Sequential(*layers)
    engine = needed("opacus", "opacus").PrivacyEngine()
    module, optimizer, loader = engine.make_private(
        module=network,
        optimizer=torch.optim.SGD(network.parameters(), lr=0.5),
        data_loader=loading.DataLoader(data, batch_size=BATCH, shuffle=bug.shuffle),
        noise_multiplier=SIGMA,
        max_grad_norm=CLIP,
        poisson_sampling=bug.poisson,
    )
    if bug.optimizer is not None:
        optimizer.__class__ = optimizer_of(bug.optimizer)
    made = {"engine": engine, "module": module, "optimizer": optimizer, "data_loader": loader}
    return made, torch.nn.functional.cross_entropy


def claim_of_bug(bug: Bug) -> Claim:
    """The curve of Opacus' accountant, for what it was told."""
    accountant = needed("opacus.accountants", "opacus").PRVAccountant()
    accountant.history = [(SIGMA, bug.told * RATE, STEPS)]
    return claim_of(accountant)


def scores_of(bug: Bug, count: int, turn: int) -> dict[str, Any]:
    """Train once: the bits, and the scores of each kind."""
    made, loss = made_private(bug)
    kept: list[Any] = []
    seen: list[Floats] = []

    def train(module: Any, optimizer: Any, batches: Any) -> None:
        taken = 0
        while taken < STEPS:
            for x, y in batches:
                optimizer.zero_grad()
                loss(module(x), y).backward()
                if bug.loop is not None:
                    bug.loop(module)
                optimizer.step()
                if bug.keep:  # the next backward pass writes into what is kept
                    kept.append(list(module.parameters())[-1].grad)
                taken += 1
                if taken == STEPS:
                    return

    def observed(gradients: Floats) -> Floats:
        seen.append(gradients)
        return np.asarray(gradients.sum(axis=0))

    rng = np.random.default_rng(entropy(SEED, bug.place, count, turn))
    plan, claim = canaries(count, rng), claim_of_bug(bug)
    head = CanaryHead(observe=observed)
    training = of_opacus(train, **made, canaries=plan, insert=head, claim=claim)
    summed = training.run(plan.bits, rng)
    weights = summed / (SIGMA * np.sqrt(STEPS))
    mixed = np.log1p(-RATE), np.log(RATE) + (seen[0] - 0.5) / SIGMA**2
    found = {"bits": plan.bits, "weights": weights, "steps": np.logaddexp(*mixed).sum(axis=0)}
    if bug.made is not None:
        given = np.array([each.detach().numpy()[:, 0] for each in kept]) if bug.keep else seen[0]
        found["made"] = bug.made(given)
    return found


def path_of(bug: Bug, count: int, turn: int, folder: Path) -> Path:
    """Where the scores of one run are kept."""
    name = "".join(each if each.isalnum() else "-" for each in bug.name)
    return folder / "digits" / f"{name}.{count}.{turn}.npz"


def load(path: Path) -> tuple[dict[str, Any], Claim]:
    """The arrays of a kept run (`bits`, and each of `SCORES`), and the claim of its accountant."""
    with np.load(path, allow_pickle=False) as kept:
        arrays = {name: kept[name] for name in ("bits", *SCORES) if name in kept}
        arrays.setdefault("made", arrays["weights"])
        return arrays, claim_from_json(json.loads(str(kept["claim"])))


def keep_run(bug: Bug, count: int, turn: int, folder: Path) -> Path:
    """Run once, unless that is done; the file is whole or not there."""
    path = path_of(bug, count, turn, folder)
    if not path.exists():
        found = scores_of(bug, count, turn)
        path.parent.mkdir(parents=True, exist_ok=True)
        small = {name: found[name].astype(np.float32) for name in SCORES if name in found}
        claim: Any = claim_of_bug(bug)
        partial = path.with_suffix(".part")
        with partial.open("wb") as file:
            told = np.array(json.dumps(claim.to_json()))
            np.savez_compressed(file, bits=found["bits"], claim=told, **small)
        partial.replace(path)
        print(path.name, flush=True)
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What the scores of one bug show, a mean over its runs."""

    bug: str
    canaries: int
    runs: int
    claimed_mu: float
    mean_in: float
    deviation_out: float
    shift: float | None
    auc: float
    auc_steps: float
    auc_made: float


def area(scores: Floats, bits: Any) -> float:
    """The chance that a canary that is in has the larger score; half of it for equal ones."""
    inside = int(bits.sum())
    ranks = rankdata(scores)[bits].sum()
    return float((ranks - inside * (inside + 1) / 2) / (inside * (len(bits) - inside)))


def claimed_mu(claim: Claim) -> float:
    """The Gaussian curve that gives the claim's delta at the epsilon where that is 1e-5."""
    level = brentq(lambda epsilon: claim.delta(epsilon) - 1e-5, 0.1, 30.0)
    return float(brentq(lambda mu: GaussianDP(mu).delta(level) - 1e-5, 0.01, 20.0))


def line_of(bug: Bug, paths: Sequence[Path], count: int) -> Line:
    """Sum up the kept runs of one bug."""
    loaded = [load(path) for path in paths]
    runs = [(arrays, arrays["bits"]) for arrays, _ in loaded]

    def mean(statistic: Callable[[dict[str, Any], Any], float]) -> float:
        return float(np.mean([statistic(arrays, bits) for arrays, bits in runs]))

    inside = mean(lambda found, bits: found["weights"][bits].mean())
    outside = mean(lambda found, bits: found["weights"][~bits].mean())
    deviation = mean(lambda found, bits: found["weights"][~bits].std())
    return Line(
        bug=bug.name,
        canaries=count,
        runs=len(runs),
        claimed_mu=claimed_mu(loaded[0][1]),
        mean_in=inside,
        deviation_out=deviation,
        shift=(inside - outside) / deviation if deviation > 0 else None,
        auc=mean(lambda found, bits: area(found["weights"], bits)),
        auc_steps=mean(lambda found, bits: area(found["steps"], bits)),
        auc_made=mean(lambda found, bits: area(found["made"], bits)),
    )


COLUMNS: list[Column[Line]] = [
    Column("bug", lambda line: line.bug, "left"),
    Column("runs", lambda line: number(line.runs)),
    Column("claimed\nmu", lambda line: number(line.claimed_mu, 2)),
    Column("mean\nin", lambda line: number(line.mean_in, 2)),
    Column("deviation\nout", lambda line: number(line.deviation_out, 3)),
    Column("shift", lambda line: number(line.shift, 2)),
    Column("AUC\nweights", lambda line: number(line.auc, 3)),
    Column("AUC\nsteps", lambda line: number(line.auc_steps, 3)),
    Column("AUC\nmade", lambda line: number(line.auc_made, 3)),
]
NOTES = (
    "shift: of the means, in deviations of canaries that are out; "
    f"{RATE * np.sqrt(STEPS):.2f} where the training is correct."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is not kept yet, and show and save the table."""
    parser = argparse.ArgumentParser(description="Scores of canaries in trainings of digits.")
    parser.add_argument("--rows", nargs="+", metavar="TEXT", help="only bugs with such a name")
    parser.add_argument("--runs", type=int, default=3, help="of each bug (default 3)")
    parser.add_argument("--canaries", type=int, default=1000)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    for noted in ("Secure RNG turned off", "Full backward hook is firing"):
        warnings.filterwarnings("ignore", message=noted)
    chosen = [
        bug for bug in BUGS if not options.rows or any(text in bug.name for text in options.rows)
    ]
    lines = []
    for bug in chosen:
        paths = [
            keep_run(bug, options.canaries, turn, options.results) for turn in range(options.runs)
        ]
        lines.append(line_of(bug, paths, options.canaries))
    show(f"Canary scores of digits, {options.canaries:,} canaries", COLUMNS, lines, NOTES)
    name = f"digits_{options.canaries}"
    save(lines, folder=options.results, name=name, complete=options.rows is None)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
