"""DP-SGD of a wide residual network at full size, audited from one run of 10,000 canaries.

    python experiments/training/wide_resnet.py --steps 1500 [--bug noise-halved] [--device cuda]

A WRN16-4 with GroupNorm, 50,000 made images of 3 x 32 x 32, batches of 4,096 on average by Poisson
sampling, clipping norm 1, noise multiplier 3: the setting of De, Berrada, Hayes, Smith and Balle
2022 for CIFAR-10, without their augmentations. Everything is plain PyTorch, and one H200 trains it.
A canary is a record whose only gradient is that of its own weight in a canary head. It is sampled,
clipped, summed and noised with the records, by the same lines (`wide_training.py`).

Each run keeps its bits and scores in `results/wide_resnet`, and the table is made from all that are
there. Two scores are kept: `weights`, the final weights of the head in units of the claimed noise;
`steps`, the log-likelihood ratio of all noisy gradients under the claim.

`--time` says how many steps fit in `--minutes`. Ctrl-C, and `--minutes` of training, stop a run
early: it is kept with the claim for the steps it took. The claims are those of dp-accounting, kept
in `results/wide_resnet_claims.json` for every 50 steps; `--account` makes them, and needs it.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))  # whose tables and seeds are shared

import numpy as np
from many_runs import entropy
from tables import Column, number, save, show, yes_or_no
from wide_training import BUGS, CLIP, SEED, SIZES, Size, Training

from dpaudit.architecture import Claim
from dpaudit.claims import GaussianDP, Profile, claim_from_json
from dpaudit.claims.profiles import Chords
from dpaudit.errors import Underpowered
from dpaudit.integrations import needed
from dpaudit.results import Finding, Null
from dpaudit.training import Canaries, canaries
from dpaudit.training.canary_head import unit_scores
from dpaudit.training.independent import independent
from dpaudit.training.levels import point_claim
from dpaudit.training.one_run import one_run
from dpaudit.training.scores import subsampled_score

RESULTS = Path(__file__).parent / "results"
CLAIMS = RESULTS / "wide_resnet_claims.json"
ALPHA, DELTA = 0.05, 1e-5
SCORES = ("weights", "steps")
POINTS, LEAST_DELTA = 64, 1e-8  # of the curves that are kept
TIMED, WARMED = 50, 5  # steps
RESERVE = 0.95  # of the minutes that steps may take


def made_training(size: Size, *, device: str, seed: int, bug: str) -> tuple[Canaries, Training]:
    """A plan of canaries and a training of them, both from the seed."""
    rng = np.random.default_rng(entropy(SEED, seed))
    plan = canaries(size.canaries, rng)
    own = int(rng.integers(2**62))
    return plan, Training(size, plan, device=device, seed=own, bug=bug)


def settled(device: str) -> float:
    """The time, once the device has done what it was told."""
    if device.startswith("cuda"):
        import torch

        torch.cuda.synchronize()
    return time.perf_counter()


@contextmanager
def stopping() -> Iterator[Callable[[], bool]]:
    """Whether somebody has asked to stop. A second Ctrl-C stops at once."""
    asked: list[int] = []

    def note(signalled: int, _: Any) -> None:
        asked.append(signalled)
        signal.signal(signalled, before[signal.Signals(signalled)])
        print("Stopping after this step.", file=sys.stderr, flush=True)

    before = {each: signal.signal(each, note) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def trained(training: Training, *, steps: int, minutes: float, device: str) -> float:
    """Train until the steps are taken, the minutes are over or somebody stops it: the seconds.

    When it stops depends on the clock and not on the records, so the claim for the steps holds.
    """
    start = settled(device)
    with stopping() as asked:
        while training.steps < steps:
            training.step()
            if training.steps % 10 == 0 or training.steps == steps:
                seconds = settled(device) - start
                if training.steps % 100 == 0:
                    print(f"{training.steps} steps, {seconds:.1f} s", flush=True)
                if seconds > 60.0 * minutes:
                    break
            if asked():
                break
    return settled(device) - start


def time_steps(size: Size, *, device: str, minutes: float, seed: int) -> int:
    """Time steps of a training that is thrown away: how many fit in the minutes."""
    _, training = made_training(size, device=device, seed=seed, bug="none")
    start = settled(device)
    for _ in range(WARMED):
        training.step()
    warm = settled(device)
    for _ in range(TIMED):
        training.step()
    each = (settled(device) - warm) / TIMED
    fit = int(RESERVE * (60.0 * minutes - (warm - start)) / each)
    print(f"{WARMED} steps to warm up: {warm - start:.2f} s; then {1000.0 * each:.1f} ms a step.")
    if device.startswith("cuda"):
        import torch

        print(f"Memory: {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB at most.")
    allowed = [steps for steps in size.accounted if steps <= fit]
    best = f"--steps {allowed[-1]}" if allowed else "no number that is accounted for"
    print(f"{fit} steps fit in {minutes:g} minutes: take {best}.")
    return fit


def keep_run(plan: Canaries, training: Training, told: dict[str, Any], folder: Path) -> Path:
    """Write bits, both scores and what was `told` of the run; the file is whole or not there."""
    size, steps = training.size, training.steps
    told = {"size": size.name, "steps": steps, **told}
    path = folder / "wide_resnet" / f"{size.name}.{told['bug']}.{steps}.{told['seed']}"
    head = training.weights["head"].cpu().double().numpy()
    moved = [size.learning_rate] * steps
    found = {
        "weights": unit_scores(head, rates=moved, noise=size.sigma * CLIP / size.batch),
        "steps": subsampled_score(training.seen.T, size.rate, size.sigma),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    partial, whole = (path.with_name(f"{path.name}{end}") for end in (".part", ".npz"))
    with partial.open("wb") as file:
        small: dict[str, Any] = {name: found[name].astype(np.float32) for name in SCORES}
        np.savez_compressed(file, bits=plan.bits, told=np.array(json.dumps(told)), **small)
    partial.replace(whole)
    print(f"Written to {whole}")
    return whole


def load(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays of a kept run (`bits` and each of `SCORES`), and what was told of it."""
    with np.load(path, allow_pickle=False) as kept:
        arrays = {name: kept[name] for name in ("bits", *SCORES)}
        return arrays, json.loads(str(kept["told"]))


def claim_for(size: Size, steps: int) -> Claim:
    """The claim of the accountant for as many steps, or for the next more that it was asked of."""
    saved = json.loads(CLAIMS.read_text(encoding="utf-8"))[size.name]
    if (saved["rate"], saved["sigma"]) != (size.rate, size.sigma):
        raise ValueError(f"{CLAIMS} is of another size. Make it again with --account.")
    enough = [each for each in size.accounted if each >= steps]
    if not enough:
        raise ValueError(f"steps must be at most {size.accounted[-1]}, got {steps!r}.")
    return claim_from_json(saved["claims"][str(enough[0])])


def account() -> Path:
    """Ask dp-accounting for the claims of all sizes, and write them."""
    from dpaudit.integrations import from_dp_accounting

    accounting = needed("dp_accounting", "dp-accounting")

    saved: dict[str, Any] = {"made by": "python experiments/training/wide_resnet.py --account"}
    for size in SIZES.values():
        event = accounting.PoissonSampledDpEvent(size.rate, accounting.GaussianDpEvent(size.sigma))
        claims: dict[str, Any] = {}
        for steps in size.accounted:
            claim = from_dp_accounting(accounting.SelfComposedDpEvent(event, steps))
            points = points_of(claim)
            claims[str(steps)] = Profile(Chords(points), f"{steps} steps of DP-SGD").to_json()
            print(size.name, steps, flush=True)
        saved[size.name] = {"rate": size.rate, "sigma": size.sigma, "claims": claims}
    lines = re.sub(r"\[\s+(\S+)\s+(\S+)\s+\]", r"[\1 \2]", json.dumps(saved, indent=0))
    CLAIMS.write_text(f"{lines}\n", encoding="utf-8")
    return CLAIMS


def points_of(claim: Claim) -> tuple[tuple[float, float], ...]:
    """Points of a claim until its delta is `LEAST_DELTA`, with six digits and never too low."""
    implied = point_claim(claim, LEAST_DELTA)
    assert implied is not None  # of an accountant that has a curve
    levels = np.linspace(0.0, implied.strength, POINTS).round(4).tolist()

    def up(delta: float) -> float:
        unit = 10.0 ** (math.floor(math.log10(delta)) - 5)
        return float(f"{math.ceil(delta / unit) * unit:.5e}")

    return tuple((level, up(claim.delta(level))) for level in levels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What one score of one run shows: a line of the table and of the CSV.

    `refuted_any` and `refuted_independent` judge the accountant's whole curve, for any mechanism
    and for independent canaries; `canaries_until` is how many the latter took. The bounds on
    epsilon are at delta 1e-5; those on mu hold for Gaussian curves.
    """

    bug: str
    score: str
    steps: int
    seed: int
    machine: str
    seconds: float
    accuracy: float
    canaries: int
    claim_epsilon: float
    expected_shift: float
    mean_in: float
    deviation_out: float
    refuted_any: bool | None  # None where the run was too small to refute the claim
    epsilon_any: float | None
    mu_any: float | None
    refuted_independent: bool
    canaries_until: int | None
    epsilon_independent: float | None
    mu_independent: float | None


def line_of(path: Path, score: str) -> Line:
    """Audit one score of a kept run."""
    arrays, told = load(path)
    size, bits, scores = SIZES[told["size"]], arrays["bits"], np.asarray(arrays[score], np.float64)
    claim = claim_for(size, told["steps"])
    point = point_claim(claim, DELTA)
    assert point is not None  # so many steps with so much noise have an epsilon
    noise = 1.0 if score == "weights" else None
    settings: dict[str, Any] = {"alpha": ALPHA, "noise": noise, "rng": told["seed"]}

    def found(tested: Claim) -> dict[Null, Finding]:
        """The finding that would decide under either null."""
        try:
            audit = one_run(scores, bits, tested, **settings)
        except Underpowered:  # a run that was stopped may be too small for its claim
            return {}
        assert audit.training is not None  # it audits a training
        return {finding.null: finding for finding in reversed(audit.training.findings)}

    whole, epsilon = found(claim), found(point)
    shift = expected_shift(size, told["steps"])
    mu = found(GaussianDP(shift))
    _, trace = independent(scores, bits, claim, **settings)
    anyhow, alone = Null.ANY_MECHANISM, Null.INDEPENDENT_CANARIES
    return Line(
        **{name: told[name] for name in ("bug", "steps", "seed", "machine", "seconds", "accuracy")},
        score=score,
        canaries=len(bits),
        claim_epsilon=point.strength,
        expected_shift=shift,
        mean_in=float(scores[bits].mean()),
        deviation_out=float(scores[~bits].std()),
        refuted_any=whole[anyhow].refuted if whole else None,
        epsilon_any=epsilon[anyhow].lower_bound if epsilon else None,
        mu_any=mu[anyhow].lower_bound if mu else None,
        refuted_independent=trace.refuted_after is not None,
        canaries_until=trace.refuted_after,
        epsilon_independent=epsilon[alone].lower_bound if epsilon else None,
        mu_independent=mu[alone].lower_bound if mu else None,
    )


def expected_shift(size: Size, steps: int) -> float:
    """How far apart the final weights of canaries in and out are, on average, without a bug."""
    return size.rate * math.sqrt(steps) / size.sigma


COLUMNS: list[Column[Line]] = [
    Column("bug", lambda line: line.bug, "left"),
    Column("score", lambda line: line.score, "left"),
    Column("steps", lambda line: number(line.steps)),
    Column("claimed\nepsilon", lambda line: number(line.claim_epsilon, 2)),
    Column("any:\nrefuted", lambda line: yes_or_no(line.refuted_any)),
    Column("\nepsilon", lambda line: number(line.epsilon_any, 2)),
    Column("\nmu", lambda line: number(line.mu_any, 2)),
    Column("indep.:\nafter", lambda line: number(line.canaries_until)),
    Column("\nepsilon", lambda line: number(line.epsilon_independent, 2)),
    Column("\nmu", lambda line: number(line.mu_independent, 2)),
]
NOTES = (
    f"Bounds at alpha {ALPHA:g}: on epsilon at delta {DELTA:g}, and on mu for a Gaussian curve.\n"
    "any: whatever canaries do to each other. indep.: if they are independent; after: how many\n"
    "of them refuted the claim."
)


def table(size: Size, folder: Path) -> list[Line]:
    """Show and save what all kept runs of a size say."""
    paths = sorted((folder / "wide_resnet").glob(f"{size.name}.*.npz"))
    lines = [line_of(path, score) for path in paths for score in SCORES]
    show(f"One run of {size.canaries:,} canaries, {size.name} size", COLUMNS, lines, NOTES)
    name = "wide_resnet" if size.name == "full" else f"wide_resnet_{size.name}"
    save(lines, folder=folder, name=name, complete=True)
    return lines


def run(size: Size, options: argparse.Namespace) -> Path:
    """Train once, and keep what was seen."""
    claim_for(size, options.steps)  # before the training, not after it
    device, told = options.device, {"bug": options.bug, "seed": options.seed}
    plan, training = made_training(size, device=device, **told)
    print(f"{plan!r} on {machine(device)}", flush=True)
    seconds = trained(training, steps=options.steps, minutes=options.minutes, device=device)
    accuracy = training.accuracy()
    print(f"{training.steps} steps in {seconds:.1f} s; accuracy on the images {accuracy:.1%}.")
    told |= {"seconds": seconds, "accuracy": accuracy, "machine": machine(device)}
    return keep_run(plan, training, told, options.results)


def machine(device: str) -> str:
    """What the device is called."""
    import torch

    if device.startswith("cuda"):
        return str(torch.cuda.get_device_name(device))
    return f"CPU, {torch.get_num_threads()} threads"


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of a call."""
    parser = argparse.ArgumentParser(description="One audited run of DP-SGD at full size.")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--size", choices=SIZES, default="full")
    parser.add_argument("--bug", choices=BUGS, default="none")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cuda", help="as torch names it (default cuda)")
    parser.add_argument("--minutes", type=float, default=8.0, help="of training at most")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder for the results")
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--time", action="store_true", help="only time steps")
    other.add_argument("--table", action="store_true", help="only make the table of kept runs")
    other.add_argument("--account", action="store_true", help="only make the claims")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, time, account, or make the table."""
    options = parsed(arguments)
    size = SIZES[options.size]
    if options.account:
        print(f"Written to {account()}")
        return 0
    if options.time:
        time_steps(size, device=options.device, minutes=options.minutes, seed=options.seed)
        return 0
    if not options.table:
        run(size, options)
    table(size, options.results)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
