"""What looks like a mistake in a mechanism, and the check for one: a seed fixed inside it."""

import math
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from dpaudit.errors import HealthWarning
from dpaudit.outputs import Outputs

_SEEDED_DRAWS = 1024  # of a call's outputs, how many are compared with the next call's
_SEEDED_NATS = 41.0  # exp(-41) < 2e-18: equal by chance is excluded
_SEEDED_SIDES = 64  # how many datasets are remembered: memory does not grow with the pairs


@contextmanager
def noting(notes: list[str]) -> Iterator[None]:
    """Note what health warnings say, each once, and warn of it; others are warned of as ever.

    >>> notes: list[str] = []
    >>> with warnings.catch_warnings(action="ignore"):
    ...     for _ in range(2):
    ...         with noting(notes):
    ...             warnings.warn("odd", HealthWarning)
    >>> notes
    ['odd']
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HealthWarning)
        yield
    for warning in caught:
        text = str(warning.message)
        if not issubclass(warning.category, HealthWarning):
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
        elif text not in notes:
            notes.append(text)
            warnings.warn(text, HealthWarning, stacklevel=4)


@dataclass(slots=True)
class FrozenSeedCheck:
    """Notices a mechanism that gives the same outputs at every call: a seed fixed inside it.

    Its draws are then not independent, and no conclusion from them holds. `see` compares the
    first outputs of each call with those of the previous call on the same dataset. They count as
    frozen when chance is excluded: m equal draws agree by chance with probability
    `(sum p_i^2)^m` (p_i the frequencies of the values), so a constant mechanism is never accused.

    >>> check = FrozenSeedCheck("constant")
    >>> check.see("data", np.zeros(500))
    >>> check.see("data", np.zeros(500))
    """

    name: str = "the mechanism"
    found: str | None = field(default=None, init=False)  # what was said of it
    _seen: dict[str, Outputs] = field(default_factory=dict, init=False, repr=False)

    def see(self, side_key: str, outputs: Outputs) -> None:
        """Compare with the previous call for `side_key`, and remember this one."""
        if self.found is not None:
            return
        previous = self._seen.pop(side_key, None)
        latest: Outputs = outputs[:_SEEDED_DRAWS].copy()
        self._seen[side_key] = latest
        if len(self._seen) > _SEEDED_SIDES:
            del self._seen[next(iter(self._seen))]
        draws = 0 if previous is None else _frozen_draws(previous, latest)
        if draws > 0:
            self._seen.clear()
            self.found = (
                f"{self.name} returned the same {draws} outputs at two calls: is a seed fixed "
                f"inside it? The draws are then not independent and no bound holds. "
                f"Draw from the rng it is given: f(data, size, rng)."
            )
            warnings.warn(self.found, HealthWarning, stacklevel=2)


def _frozen_draws(previous: Outputs, latest: Outputs) -> int:
    """Count the leading draws two calls share, or 0 where they differ or may agree by chance."""
    draws = min(len(previous), len(latest))
    if (
        isinstance(previous, np.ndarray)
        and isinstance(latest, np.ndarray)
        and previous[:draws].tobytes() != latest[:draws].tobytes()
    ):
        return 0  # nearly always; row by row it would take a tenth of an audit's time
    first, second = (_comparable(outputs, draws) for outputs in (previous, latest))
    if first != second or draws == 0:
        return 0
    collision = sum((count / draws) ** 2 for count in Counter(first).values())
    return draws if draws * -math.log(collision) >= _SEEDED_NATS else 0


def _comparable(outputs: Outputs, draws: int) -> list[object]:
    """Give each of the first draws a form that can be compared and counted (NaN equals NaN)."""
    if isinstance(outputs, np.ndarray):
        return [row.tobytes() for row in np.ascontiguousarray(outputs[:draws])]
    return [repr(output) for output in outputs[:draws]]
