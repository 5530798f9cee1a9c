"""The generator that an audit inside hands to the code: its noise stays symbolic.

It follows the noise of `FOLLOWED`, and `choice` with probabilities, which is a release. Any other
name is refused, also one that a later NumPy adds: a coin that the audit does not know would be
replayed equal on both datasets, and a correct randomized response would look like a leak.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit.inside.choosing import Categorical
from dpaudit.inside.lines import where
from dpaudit.inside.noise.noisy import Noisy, added, as_noisy, scaled
from dpaudit.inside.recording import Recorder

FOLLOWED = frozenset(
    [
        "laplace",
        "normal",
        "standard_normal",
        "random",
        "uniform",
        "exponential",
        "standard_exponential",
        "gumbel",
        "logistic",
        "geometric",
        "choice",
    ]
)
_OFFERED = frozenset(name for name in dir(np.random.Generator) if name[0] != "_") - FOLLOWED


class FollowedGenerator(np.random.Generator):
    """A generator whose noise is followed; in a plain run, one that gives numbers drawn before.

    >>> rng = FollowedGenerator(Recorder(noise=np.random.default_rng(0)))
    >>> rng.laplace(scale=2.0) + 1.0
    Noisy(base=array(1.), atoms=array([0]), factors=array([1.]))
    >>> rng.integers(3)
    Traceback (most recent call last):
        ...
    dpaudit.errors.CannotFollow: <doctest ...>:1: uses rng.integers, which is not followed. ...
    """

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(np.random.PCG64(0))  # never drawn from
        self._recorder = recorder

    def __getattribute__(self, name: str) -> Any:
        if name in _OFFERED:
            recorder: Recorder = object.__getattribute__(self, "_recorder")
            recorder.refuse(
                f"uses rng.{name}, which is not followed. An audit inside follows "
                f"{', '.join(sorted(FOLLOWED))}; use dpaudit.release for other noise, and "
                "dpaudit.inside.shown_coins for coins that need not be secret."
            )
        return super().__getattribute__(name)

    def shown_coins(self) -> np.random.Generator:
        """What `dpaudit.inside.shown_coins` gives: a generator that is not followed."""
        return self._recorder.coins

    def __reduce__(self) -> Any:
        self._recorder.refuse("copies or saves the generator, whose noise is followed.")

    def __deepcopy__(self, memo: Any) -> Any:
        self._recorder.refuse("copies the generator, whose noise is followed.")

    __copy__ = __getstate__ = __reduce__

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._noise("laplace", loc, scale, size)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._noise("normal", loc, scale, size)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._noise("gumbel", loc, scale, size)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._noise("logistic", loc, scale, size)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        return self._noise("exponential", 0.0, scale, size)

    def geometric(self, p: Any, size: Any = None) -> Any:
        return self._noise("geometric", 0.0, p, size)

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        return self._standard("normal", size, dtype, out)

    def standard_exponential(
        self, size: Any = None, dtype: Any = np.float64, method: str = "zig", out: Any = None
    ) -> Any:
        return self._standard("exponential", size, dtype, out)

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        return self._standard("uniform", size, dtype, out)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        width = np.asarray(high, np.float64) - np.asarray(low, np.float64)
        size = _shape(size, np.broadcast(low, high))
        unit = self._noise("uniform", 0.0, 1.0, size)
        return (
            width * unit + low
            if self._recorder.plainly is not None
            else added(scaled(unit, width), as_noisy(low))
        )

    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Any:
        if p is None or axis != 0 or (not replace and size is not None):
            self._recorder.refuse(
                "uses rng.choice without p, without replacement, or along an axis, which is not "
                "followed."
            )
        shares = np.asarray(p, dtype=np.float64)
        known = np.arange(a) if np.ndim(a) == 0 else np.asarray(a)
        if shares.shape != known.shape[:1]:
            raise ValueError(
                f"'a' and 'p' must have the same size, got {len(known)} and {shares.size}"
            )
        picked = self._recorder.release(shares, Categorical(size=size))
        return known[picked]

    def _standard(self, kind: str, size: Any, dtype: Any, out: Any) -> Any:
        if out is not None or np.dtype(dtype) != np.float64:
            self._recorder.refuse("draws noise with out= or another dtype.")
        return self._noise(kind, 0.0, 1.0, size)

    def _noise(self, kind: str, loc: Any, scale: Any, size: Any) -> Any:
        """One noise for every entry, as NumPy broadcasts; NumPy checks the arguments first."""
        if isinstance(scale, Noisy) or np.asarray(scale).dtype == object:
            self._recorder.refuse(f"draws {kind} noise whose scale has noise.")
        scales = np.asarray(scale, dtype=np.float64)
        shape = _shape(size, np.broadcast(as_noisy(loc).base, scales))
        fresh = self._drawn(kind, scales, shape)
        if not np.isfinite(scales).all():
            self._recorder.refuse(f"draws {kind} noise whose scale is not finite.")
        if kind == "geometric" and (scales == 1.0).any():
            self._recorder.refuse("draws geometric noise with p = 1, which is no noise.")
        atoms = self._recorder.atoms
        first = atoms.add(where(), kind, scales, fresh)
        if self._recorder.plainly is not None:
            return self._plainly(kind, loc, fresh, first, scalar=shape is None)
        places = np.arange(first, first + fresh.size).reshape((*fresh.shape, 1))
        spread = np.broadcast_to(scales, fresh.shape) > 0.0  # without a scale there is no noise
        zeros = np.zeros(fresh.shape)
        unit = Noisy(zeros, places, spread[..., None].astype(np.float64), zeros)
        moved = isinstance(loc, Noisy) or np.ndim(loc) or loc != 0.0
        return added(unit, as_noisy(loc)) if moved else unit

    def _drawn(self, kind: str, scales: Any, shape: Any) -> Any:
        draw = self._recorder.noise
        if kind == "uniform":
            return np.asarray(draw.random(shape))
        if kind in ("exponential", "geometric"):
            return np.asarray(getattr(draw, kind)(scales, size=shape), np.float64)
        return np.asarray(getattr(draw, kind)(0.0, scales, size=shape))

    def _plainly(self, kind: str, loc: Any, fresh: Any, first: int, *, scalar: bool) -> Any:
        """The noise of another run, as plain numbers; its own where that one had no more."""
        noise = fresh.ravel().copy()
        assert self._recorder.plainly is not None
        known = self._recorder.plainly[first : first + fresh.size]
        noise[: known.size] = known
        self._recorder.atoms.drawn[first : first + fresh.size] = noise
        noise = noise.reshape(fresh.shape)
        made = np.rint(noise).astype(np.int64) if kind == "geometric" else noise + loc
        return made.item() if scalar and np.ndim(made) == 0 else made


def _shape(size: Any, broadcast: Any) -> Any:
    """The shape of the draws; None for a single number."""
    if size is not None:
        return size
    return broadcast.shape or None
