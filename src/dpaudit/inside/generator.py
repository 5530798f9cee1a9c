"""The generator that an audit inside hands to the code: its noise stays symbolic.

It follows `laplace`, `normal`, `standard_normal` and `geometric`. Any other name is refused, also
one that a later NumPy adds: a coin that the audit does not know would be replayed equal on both
datasets, and a correct randomized response would look like a leak.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np

from dpaudit.inside.noisy import Noisy
from dpaudit.inside.recording import Atom, Recorder, where

FOLLOWED = frozenset({"laplace", "normal", "standard_normal", "geometric"})
_OFFERED = frozenset(name for name in dir(np.random.Generator) if name[0] != "_") - FOLLOWED


class FollowedGenerator(np.random.Generator):
    """A generator whose noise is followed; with `given`, one that plainly gives that noise.

    >>> rng = FollowedGenerator(Recorder(noise=np.random.default_rng(0)))
    >>> rng.laplace(scale=2.0) + 1.0
    Noisy(1.0, ((0, 1.0),))
    >>> rng.random()
    Traceback (most recent call last):
        ...
    dpaudit.errors.CannotFollow: <doctest ...>:1: uses rng.random, which is not followed. ...
    """

    def __init__(self, recorder: Recorder, given: tuple[float, ...] | None = None) -> None:
        super().__init__(np.random.PCG64(0))  # never drawn from
        self._recorder = recorder
        self._given = given

    def __getattribute__(self, name: str) -> Any:
        if name in _OFFERED:
            recorder: Recorder = object.__getattribute__(self, "_recorder")
            recorder.refuse(
                f"uses rng.{name}, which is not followed. An audit inside follows "
                f"{', '.join(sorted(FOLLOWED))}; use dpaudit.inside.release for other noise."
            )
        return super().__getattribute__(name)

    def __reduce__(self) -> Any:
        self._recorder.refuse("copies or saves the generator, whose noise is followed.")

    def __deepcopy__(self, memo: Any) -> Any:
        self._recorder.refuse("copies the generator, whose noise is followed.")

    __copy__ = __getstate__ = __reduce__

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._noise("laplace", loc, scale, size)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._noise("normal", loc, scale, size)

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        if out is not None or np.dtype(dtype) != np.float64:
            self._recorder.refuse("uses rng.standard_normal with out= or another dtype.")
        return self._noise("normal", 0.0, 1.0, size)

    def geometric(self, p: Any, size: Any = None) -> Any:
        return self._noise("geometric", 0.0, p, size)

    def _noise(self, kind: str, loc: Any, scale: Any, size: Any) -> Any:
        """One noise for every entry, as NumPy broadcasts; NumPy checks the arguments first."""
        scales = np.asarray(scale, dtype=np.float64)
        locs = np.asarray(loc)
        locs = locs if locs.dtype == object else locs.astype(np.float64)
        draw = self._recorder.noise
        if kind == "geometric":
            if (scales == 1.0).any():
                self._recorder.refuse("draws geometric noise with p = 1, which is no noise.")
            fresh = np.asarray(draw.geometric(scales, size=_whole(size, scales)), np.float64)
        else:
            method = draw.laplace if kind == "laplace" else draw.normal
            zeros = np.zeros(locs.shape)
            fresh = np.asarray(method(zeros, scales, size=_whole(size, zeros, scales)))
        if not np.isfinite(scales).all():
            self._recorder.refuse(f"draws {kind} noise whose scale is not finite.")
        scalar = size is None and not (locs.ndim or scales.ndim)
        return self._entries(kind, locs, scales, fresh, scalar=scalar)

    def _entries(self, kind: str, locs: Any, scales: Any, fresh: Any, *, scalar: bool) -> Any:
        atoms, line, call = self._recorder.atoms, where(), self._recorder.calls
        self._recorder.calls += 1
        spreads = np.broadcast_to(scales, fresh.shape).ravel().tolist()
        first = len(atoms)
        atoms.extend(
            map(Atom, repeat(call), repeat(kind), spreads, repeat(line), fresh.ravel().tolist())
        )
        if self._given is not None:
            given = np.asarray([*self._given, *fresh.ravel()[max(0, len(self._given) - first) :]])
            noise: Any = given[first : first + fresh.size].reshape(fresh.shape)
            made = np.rint(noise).astype(np.int64) if kind == "geometric" else locs + noise
            return made.item() if scalar else made
        made = np.empty(fresh.size, dtype=object)
        for place, spread in enumerate(spreads):  # without a scale there is no noise
            made[place] = Noisy(0.0, ((first + place, 1.0),) if spread > 0.0 else ())
        made = made.reshape(fresh.shape) + locs if locs.ndim or locs != 0.0 else made
        made = np.asarray(made, dtype=object).reshape(fresh.shape)
        return made.item() if scalar else made


def _whole(size: Any, *shapes: Any) -> Any:
    return np.broadcast_shapes(*(each.shape for each in shapes)) if size is None else size
