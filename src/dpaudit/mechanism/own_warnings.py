"""What a mechanism itself warns of: each warning is shown once, at the end, with a count.

A mechanism is called many times, and would say the same many times. Health warnings are ours, and
are not held back.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from dpaudit.errors import HealthWarning

MAX_KEPT = 100  # places in the code that warned; those beyond are left out
Place: TypeAlias = tuple[type[Warning], str, int]  # what kind, in which file and line
Seen: TypeAlias = tuple[type[Warning], str, int, str]  # with the words


@dataclass(slots=True, eq=False)
class OwnWarnings:
    """Collects what a mechanism warns of, place by place.

    >>> own = OwnWarnings("fit")
    >>> with warnings.catch_warnings(record=True, action="always") as shown:
    ...     for attempt in range(3):
    ...         with own.held_back():
    ...             warnings.warn(f"attempt {attempt} did not converge")
    ...     own.show()
    >>> print(*(one.message for one in shown))
    attempt 0 did not converge (so in 3 calls of fit)
    """

    name: str
    _counts: dict[Place, int] = field(default_factory=dict)
    _words: dict[Place, str] = field(default_factory=dict)

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Hold back what is warned of inside, which is one call of the mechanism."""
        if threading.current_thread() is not threading.main_thread():
            yield  # what catches warnings is shared among threads
            return
        caught: list[warnings.WarningMessage] = []
        try:
            with warnings.catch_warnings(record=True) as caught:
                yield
        finally:  # also when the mechanism raises
            self.see([(one.category, one.filename, one.lineno, str(one.message)) for one in caught])

    def see(self, seen: list[Seen]) -> None:
        """Note what one call warned of; what is ours is said at once."""
        for kind, file, line, words in seen:
            if issubclass(kind, HealthWarning):
                warnings.warn_explicit(words, kind, file, line)
        theirs = {
            one[:3]: one[3] for one in reversed(seen) if not issubclass(one[0], HealthWarning)
        }
        for place, words in reversed(theirs.items()):
            if place in self._counts or len(self._counts) < MAX_KEPT:
                self._words.setdefault(place, words)
                self._counts[place] = self._counts.get(place, 0) + 1

    def show(self) -> None:
        """Show each warning, with the number of calls that gave it, and forget them."""
        counts, words = dict(self._counts), dict(self._words)
        self._counts.clear()
        self._words.clear()
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        for place, count in counts.items():
            kind, file, line = place
            often = f" (so in {count} calls of {self.name})" if count > 1 else ""
            module = "__main__" if file == main else file.removesuffix(".py")  # filters ask for it
            warnings.warn_explicit(f"{words[place]}{often}", kind, file, line, module=module)
