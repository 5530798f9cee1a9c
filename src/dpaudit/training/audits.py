"""`dpaudit.training.audit`: train, score and test, once or several times."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpaudit.arrays import Floats
from dpaudit.auditing import Store, StoredCalls, check_arguments, entropy_of, opened
from dpaudit.mechanism import (
    Call,
    Caller,
    Mechanism,
    Pending,
    asked_ahead,
    audited_code,
    caller_for,
    target_of,
)
from dpaudit.results import Audit
from dpaudit.training.conclusion import Audited, Seen
from dpaudit.training.one_run import (
    Assumption,
    audit_of_runs,
    check_planned,
    refuse_hopeless,
)
from dpaudit.training.training import Training

Told = Callable[[int, int], None]  # of the trainings that are done, and of how many there will be


def audit(
    training: Training,
    *,
    runs: int = 1,
    assume: Assumption = "nothing",
    alpha: float = 0.05,
    rng: np.random.Generator | int | None = None,
    workers: int | None = None,
    executor: Any = None,
    store: str | os.PathLike[str] | None = None,
    progress: Told | None = None,
) -> Audit:
    """Train `runs` times with fresh bits, and audit the scores of the canaries.

    `training` comes from `of_opacus`, `of_loop` or your own code. If it keeps its claim, that is
    refuted with probability at most `alpha`. What `assume` says is printed with every bound:
    "nothing" holds for every training, "independent" only where canaries do nothing to each other
    (see `one_run`). A claim that no outcome could refute is `Underpowered`, before anything is
    trained.

    Several runs multiply their evidence. `workers` and `executor` train at the same time, in
    processes or on a cluster (`dpaudit.audit` takes the same). With `store` the scores of every run
    are kept in a file: an audit that was killed goes on where it stood, and no run is trained or
    counted twice. More `runs` may be asked for later, if more than one was planned when the store
    was made: the evidence of each counts as it was planned then.

    >>> import dpaudit
    >>> from dpaudit.training import canaries, of_loop
    >>> def train(rows, rng):  # a sum with Gaussian noise, of which half was forgotten
    ...     return rows.sum(axis=0) + 0.5 * rng.normal(size=1000)
    >>> training = of_loop(
    ...     train,
    ...     insert=lambda included: np.eye(1000)[included],
    ...     score=lambda released: released,
    ...     canaries=canaries(1000, rng=7),
    ...     claim=dpaudit.GaussianDP(1.0),
    ... )
    >>> found = dpaudit.training.audit(training, rng=7)
    >>> found.refuted, found.training.null.value
    (True, 'any mechanism with this claim')
    """
    if not isinstance(training, Training):
        raise TypeError(
            f"audit takes a training, as of_opacus and of_loop make it, got {training!r}. For "
            "scores that are there, use one_run."
        )
    if isinstance(runs, bool) or not isinstance(runs, int | np.integer) or runs < 1:
        raise ValueError(f"runs must be a whole number >= 1, got {runs!r}.")
    check_arguments(training.claim, alpha)
    entropy, began = entropy_of(rng), time.perf_counter()
    if runs == 1:
        refuse_hopeless(training.canaries.count, training.claim, assume=assume, alpha=alpha)
    scored, code = _Scored(training), audited_code(training.run)
    mechanism = Mechanism(name=training.name, function=scored, target=target_of(training.run))
    planned, seen, interrupted = int(runs), [], False
    with opened(store) as kept, caller_for(mechanism, workers=workers, executor=executor) as caller:
        if kept is not None:
            entropy = entropy if rng is not None or kept.seed is None else kept.seed
            planned = _belonging(kept, training, entropy, planned)
            check_planned(int(runs), planned)
            caller = StoredCalls(mechanism, caller, kept)
        try:
            for asked in asked_ahead(_asked(training, int(runs), entropy, caller), caller):
                seen.append(_seen(training, asked))
                if progress is not None:
                    progress(len(seen), int(runs))
        except KeyboardInterrupt:  # the runs that are done count; there may be more later
            if not seen:
                raise
            interrupted = True
    audited = Audited(
        name=training.name,
        claim=training.claim,
        alpha=float(alpha),
        what=training.what,
        neighbours=training.neighbours,
        seed=entropy,
        target=mechanism.target,
        code=code,
    )
    spent = time.perf_counter() - began
    found = audit_of_runs(
        audited, seen, assume=assume, noise=training.noise, planned=planned, seconds=spent
    )
    return replace(found, interrupted=interrupted)


def _belonging(kept: Store, training: Training, entropy: int, planned: int) -> int:
    """See to it that the store is of this training; the runs that were planned when it was made."""
    first = kept.header.get("planned", planned)
    if type(first) is not int or first < 1:
        first = planned
    kept.belong_to(
        {
            "training": training.name,
            "claim": str(training.claim),
            "canaries": training.canaries.digest,
            "what": training.what,
            "planned": first,
            "seed": entropy,
        }
    )
    return first


def _seen(training: Training, asked: _AskedRun) -> Seen:
    """Wait for one training; its scores beside its bits."""
    outputs: Any = asked.call.outputs()
    bits = training.canaries.fresh(asked.run).bits
    return Seen(scores=np.asarray(outputs, dtype=np.float64), bits=bits)


@dataclass(frozen=True, slots=True)
class _AskedRun:
    run: int
    call: Pending

    def cancel(self) -> None:
        self.call.cancel()


def _asked(training: Training, runs: int, entropy: int, caller: Caller) -> Iterator[_AskedRun]:
    """Ask for one training after the other; each is a call that gives a score for each canary."""
    first = training.canaries.run
    for run in range(first, first + runs):
        seed = np.random.SeedSequence(entropy, spawn_key=(run,))
        call = Call(data=run, size=training.canaries.count, seed=seed)
        yield _AskedRun(run, caller.ask(call))


@dataclass(frozen=True, slots=True)
class _Scored:
    """The training as a mechanism: its data is the number of the run, its outputs the scores."""

    training: Training

    def __call__(self, run: int, size: int, rng: np.random.Generator) -> Floats:
        bits = self.training.canaries.fresh(run).bits
        return self.training.run(np.array(bits), rng)
