"""The law of every noisy number of an output, given those before it, on either dataset.

The numbers are taken in one order on both sides, so by the chain rule their log densities add up
(docs/inside.md). A noise that is alone in a number is known once the number is; a number whose
noise is all known has no law of its own: it says again what was said, or it leaks.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from dpaudit.inside.kernels import (
    MACHINE,
    ROUNDINGS,
    DiscreteLaplace,
    Gaussian,
    Geometric,
    Laplace,
)
from dpaudit.inside.noisy import Noisy
from dpaudit.inside.recording import Atom, Recorder

Numeric = Laplace | Gaussian | DiscreteLaplace | Geometric
Terms = Sequence[tuple[int, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """How a number is distributed, given those before it: `input` plus the noise of a kernel.

    Without a kernel it is `input` for sure. A discrete kernel counts in steps of `unit`.
    """

    kernel: Numeric | None
    input: float
    error: float
    output: float
    unit: float = 1.0
    atom: Atom | None = None

    def log_density(self) -> float:
        """The log density of the output, or its log probability."""
        assert self.kernel is not None
        return self.kernel.log_density(self.output / self.unit, self.input / self.unit)

    def slack(self) -> float:
        """How far the log density may be off."""
        assert self.kernel is not None
        return self.kernel.slack(self.output, self.input, self.error)

    @property
    def where(self) -> str:
        """The line that drew the noise."""
        return "unknown place" if self.atom is None else self.atom.where


@dataclass(slots=True)
class Side:
    """The noise of one run, as far as the numbers taken so far have made it known."""

    recorder: Recorder
    values: dict[int, tuple[float, float]] = field(default_factory=dict)  # with their errors
    spent: set[int] = field(default_factory=set)  # in numbers that do not tell them

    def order(self, leaves: Sequence[Noisy]) -> list[int]:
        """An order in which every number has a law: as they stand, if that will do."""
        order: list[int] = []
        known: set[int] = set()
        left = dict(enumerate(leaves))
        counts = Counter(atom for leaf in leaves for atom, _ in leaf.terms)
        while left:
            taken = []
            for place, leaf in left.items():
                free = [atom for atom, _ in leaf.terms if atom not in known]
                if len(free) > 1 and any(counts[atom] > 1 for atom in free):
                    continue
                known.update(free)
                taken.append(place)
            if not taken:
                self.recorder.refuse("gives numbers that share noise in a way that is not followed")
            for place in taken:
                del left[place]
            order.extend(taken)
        return order

    def law(self, leaf: Noisy, counts: Counter[int], output: float | None = None) -> Law:
        """The law of the next number: with its drawn noise, or with the output that is forced."""
        if any(atom in self.spent for atom, _ in leaf.terms):
            self.recorder.refuse("uses noise again that another number does not tell")
        free = [term for term in leaf.terms if term[0] not in self.values]
        known = [(*self.values[atom], factor) for atom, factor in leaf.terms if atom in self.values]
        parts = [leaf.base, *(value * factor for value, _, factor in known)]
        given = math.fsum(parts) if all(map(math.isfinite, parts)) else sum(parts)
        error = ROUNDINGS * MACHINE * sum(abs(part) for part in parts if math.isfinite(part))
        error += sum(abs(factor) * off for _, off, factor in known)
        if output is None:
            output = given + sum(f * self.recorder.atoms[atom].drawn for atom, f in free)
        atoms = [self.recorder.atoms[atom] for atom, _ in free or leaf.terms]
        kernel, unit = (None, 1.0) if not free else self._kernel(free, counts)
        self._learn(free, output, given, error)
        return Law(kernel=kernel, input=given, error=error, output=output, unit=unit, atom=atoms[0])

    def _kernel(self, free: Terms, counts: Counter[int]) -> tuple[Numeric, float]:
        atoms = [self.recorder.atoms[atom] for atom, _ in free]
        factors = [factor for _, factor in free]
        kinds = {atom.kind for atom in atoms}
        if len(free) > 1 and any(counts[atom] > 1 for atom, _ in free):
            self.recorder.refuse("gives numbers that share noise in a way that is not followed")
        if kinds == {"normal"}:
            scales = (factor * atom.scale for factor, atom in zip(factors, atoms, strict=True))
            return Gaussian(math.hypot(*scales)), 1.0
        if len(free) == 1 and kinds == {"laplace"}:
            return Laplace(abs(factors[0]) * atoms[0].scale), 1.0
        if len(free) == 1:
            return Geometric(atoms[0].scale), factors[0]
        opposite = len(free) == 2 and sum(factors) == 0.0 and atoms[0].scale == atoms[1].scale
        if kinds == {"geometric"} and opposite:  # geometric less geometric is two-sided
            return DiscreteLaplace(-1.0 / math.log1p(-atoms[0].scale)), abs(factors[0])
        self.recorder.refuse(f"adds up {' and '.join(sorted(kinds))} noise, which is not followed")

    def _learn(self, free: Terms, output: float, given: float, error: float) -> None:
        """Note what the number says of its noise: all of it, or only what a sum of several is."""
        if len(free) == 1 and math.isfinite(output - given):
            ((atom, factor),) = free
            off = ROUNDINGS * MACHINE * abs(output)
            self.values[atom] = (output - given) / factor, (error + off) / abs(factor)
        else:
            self.spent.update(atom for atom, _ in free)
