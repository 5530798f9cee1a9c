"""Canaries of a training: which are in and which are out, decided by fair bits and saved before.

The bits are the secret of the audit. Save them before the training, and show them to nothing that
computes scores: a test of the training compares the scores with them afterwards.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.arrays import Counts, Labels
from dpaudit.errors import InvalidCanaries

SCHEMA = 1
_WORDS = 4  # of 32 bits in a seed, so that nobody can guess the bits from their digest
_FIELDS = {"schema", "seed", "run", "bits", "digest"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Canaries:
    """A plan of one run: the canaries are 0, 1, ..., count - 1, and those with a true bit are in.

    `seed` belongs to the whole audit and stays as secret as the bits: `fresh` derives the bits of
    further runs from it. Make plans with `canaries`, and read saved ones with `load_canaries`.
    """

    bits: Labels
    seed: tuple[int, ...]
    run: int = 0

    def __post_init__(self) -> None:
        bits = np.array(self.bits)
        if bits.dtype != np.bool_ or bits.ndim != 1 or bits.size == 0:
            raise InvalidCanaries(
                f"bits must be a vector of at least one bool, got {self.bits!r}. "
                "dpaudit.training.canaries(count) draws them."
            )
        bits.flags.writeable = False
        object.__setattr__(self, "bits", bits)

    @property
    def count(self) -> int:
        """How many canaries there are, in or out."""
        return len(self.bits)

    @property
    def ids(self) -> Counts:
        """The number of each canary, the same in every run."""
        return np.arange(self.count)

    @property
    def included(self) -> Counts:
        """The canaries that are in the training of this run."""
        return np.flatnonzero(self.bits)

    @property
    def digest(self) -> str:
        """A hash of the plan, seed included: it can be published before and shows no bit.

        >>> plan = canaries(100, rng=7)
        >>> plan.digest == canaries(100, rng=7).digest, plan.digest == plan.fresh(1).digest
        (True, False)
        """
        text = json.dumps([SCHEMA, list(self.seed), self.run, _text(self.bits)])
        return hashlib.sha256(text.encode()).hexdigest()

    def fresh(self, run: int) -> Canaries:
        """The plan of another run: the same canaries, with bits of their own.

        >>> plan = canaries(1000, rng=7)
        >>> bool(np.array_equal(plan.bits, plan.fresh(0).bits))
        True
        >>> int(np.sum(plan.bits == plan.fresh(1).bits))  # about half of them
        476
        """
        if run < 0:
            raise InvalidCanaries(f"run must be at least 0, got {run!r}. The first run is run 0.")
        return Canaries(bits=_drawn(self.count, self.seed, run), seed=self.seed, run=run)

    def save(self, path: str | Path) -> Path:
        """Write the plan as JSON; the file appears whole or not at all. Keep it secret."""
        path = Path(path)
        saved = {"schema": SCHEMA, "seed": list(self.seed), "run": self.run}
        text = json.dumps({**saved, "bits": _text(self.bits), "digest": self.digest}, indent=1)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text + "\n")
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        return path

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Canaries) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:  # a log of the training must not show bits or seed
        return f"Canaries(count={self.count}, run={self.run}, digest={self.digest[:12]!r})"


def canaries(count: int, rng: np.random.Generator | int | None = None) -> Canaries:
    """Plan canaries: each is in with probability 1/2, independently.

    Leave out `rng` and the seed comes from the operating system, as a secret should.

    >>> plan = canaries(1000, rng=7)
    >>> plan.ids[:3].tolist(), plan.bits[:3].tolist(), len(plan.included)
    ([0, 1, 2], [True, False, False], 514)
    """
    if count < 1:
        raise InvalidCanaries(f"count must be at least 1, got {count!r}. An audit takes hundreds.")
    words = np.random.default_rng(rng).integers(2**32, size=_WORDS)
    seed = tuple(int(word) for word in words)
    return Canaries(bits=_drawn(count, seed, 0), seed=seed)


def load_canaries(path: str | Path) -> Canaries:
    """Read a saved plan; InvalidCanaries says what is wrong with a file that is damaged.

    >>> folder = Path(tempfile.mkdtemp())
    >>> plan = canaries(100, rng=7)
    >>> load_canaries(plan.save(folder / "canaries.json")) == plan
    True
    """
    try:
        saved = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidCanaries(f"{path} is not JSON: {error}. It may have been cut short.") from None
    if not isinstance(saved, Mapping) or set(saved) != _FIELDS:
        raise InvalidCanaries(f"{path} must hold exactly the fields {sorted(_FIELDS)}.")
    if saved["schema"] != SCHEMA:
        raise InvalidCanaries(
            f"{path} has schema {saved['schema']!r}, this version reads {SCHEMA}."
        )
    plan = _plan(path, saved)
    if plan.digest != saved["digest"]:
        raise InvalidCanaries(f"{path} was changed: its digest is that of another plan.")
    return plan


def _plan(path: str | Path, saved: Mapping[str, Any]) -> Canaries:
    seed, run, bits = saved["seed"], saved["run"], saved["bits"]
    if not isinstance(bits, str) or not bits or set(bits) - {"0", "1"}:
        raise InvalidCanaries(f"{path} must hold the bits as a text of 0 and 1.")
    if not isinstance(seed, list) or not all(type(each) is int and each >= 0 for each in seed):
        raise InvalidCanaries(f"{path} must hold the seed as a list of whole numbers.")
    if type(run) is not int or run < 0:
        raise InvalidCanaries(f"{path} must hold a run >= 0, got {run!r}.")
    return Canaries(bits=np.array([bit == "1" for bit in bits]), seed=tuple(seed), run=run)


def _drawn(count: int, seed: tuple[int, ...], run: int) -> Labels:
    return np.random.default_rng([*seed, run]).random(count) < 0.5


def _text(bits: Labels) -> str:
    return "".join("1" if bit else "0" for bit in bits)
