"""The functions of `np.random` itself, and generators that are made without a seed.

A generator that is made with a seed gives the same noise every time: that is no noise, and it is
left as it is. So are calls from inside of NumPy, SciPy and scikit-learn, which draw no noise for
privacy. What is not followed moves the state of `np.random`, or does something else in a second
run, and both are noticed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from dpaudit.inside.libraries.hooking import Replaced, following
from dpaudit.inside.noise.generator import FOLLOWED, FollowedGenerator
from dpaudit.inside.recording import Recorder

_AS_METHODS = {"random_sample": "random", "ranf": "random", "sample": "random"} | {
    name: name
    for name in sorted(FOLLOWED)  # the methods of a generator have the same names
}
_BY_SHAPE = {"rand": "random", "randn": "standard_normal"}  # called with the lengths of the axes


_NO_NOISE = {"numpy", "scipy", "sklearn"}  # packages whose own draws are left as they are


def hook(module: Any) -> Iterator[Replaced]:
    """What to replace in `np.random`."""
    for name, method in _AS_METHODS.items():
        yield _replaced(
            module, name, lambda rng, *a, method=method, **k: getattr(rng, method)(*a, **k)
        )
    for name, method in _BY_SHAPE.items():
        yield _replaced(
            module, name, lambda rng, *shape, method=method: getattr(rng, method)(shape or None)
        )
    plain = module.default_rng
    yield _replaced(
        module, "default_rng", lambda rng, seed=None: rng if seed is None else plain(seed)
    )


def _replaced(module: Any, name: str, follow: Callable[..., Any]) -> Replaced:
    """A function that is followed where the audited code calls it."""
    plain = getattr(module, name)

    def either(recorder: Recorder, *arguments: Any, **named: Any) -> Any:
        if _caller() in _NO_NOISE:
            return plain(*arguments, **named)
        return follow(FollowedGenerator(recorder), *arguments, **named)

    return Replaced(module, name, following(plain, either))


def _caller() -> str:
    """The package of the code that called a function which was replaced."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package != "dpaudit":
            return package
        frame = frame.f_back
    return ""
