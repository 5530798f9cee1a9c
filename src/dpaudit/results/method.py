"""Where a tester comes from, what it assumes, and what its accusations are worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

Guarantee: TypeAlias = Literal["exact", "asymptotic", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """Where a tester comes from, what it assumes, and what its accusations are worth.

    - `"exact"`: a claim that holds is accused with probability at most alpha, whatever the number
      of outputs.
    - `"asymptotic"`: that holds in the limit of many outputs only.
    - `"none"`: nothing is proved.

    Only an exact tester refutes; the others suspect. The assumptions are those beyond independent
    outputs, each a short sentence.

    >>> Method(source="Welch 1947", guarantee="asymptotic").refutes
    False
    """

    source: str
    guarantee: Guarantee
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.guarantee not in get_args(Guarantee):
            listed = ", ".join(map(repr, get_args(Guarantee)))
            raise ValueError(f"guarantee must be one of {listed}, got {self.guarantee!r}.")
        if not isinstance(self.assumptions, tuple):
            raise TypeError(
                f"assumptions must be a tuple of sentences, got {self.assumptions!r}. One "
                "sentence is written (sentence,)."
            )

    @property
    def refutes(self) -> bool:
        """Whether an accusation refutes the claim."""
        return self.guarantee == "exact"
