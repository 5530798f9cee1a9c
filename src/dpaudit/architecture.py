"""The architecture on one page: the rooms in their order, and every Protocol between them.

A room imports only from rooms before it in `ROOMS`, and from their fronts (`from dpaudit.outputs
import Table`). Any object with the methods of a Protocol will do: nobody has to inherit from ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np

    from dpaudit.mechanism import ErrorsAsOutputs
    from dpaudit.outputs import Outputs


ROOMS = {
    "errors": "every error, with one base class",
    "architecture": "the rooms in their order, and every Protocol",
    "arrays": "the kinds of arrays",
    "bounds": "exact bounds: numbers in, numbers out",
    "claims": "what is promised: privacy profiles, and their text",
    "domains": "what a record may be; datasets as JSON and as text",
    "neighbours": "which pairs of datasets count",
    "search": "where to look next: finders with ask and tell",
    "outputs": "what a mechanism returned: checked, copied, as tables",
    "events": "events over tables, in words and as JSON",
    "mechanism": "how outputs are drawn, labelled and watched",
    "integrations": "what other libraries bring; a mechanism by its name",
    "guessing": "models that guess which dataset an output came from",
    "betting": "payoffs, the bettor of one pair, the one wealth",
    "report": "every word a user reads: text, pages, figures",
    "results": "what comes back: frozen values, JSON, verdicts",
    "testers": "the paper's batch testers",
    "auditing": "the audit: search, bet, certify, shrink, replay, measure",
    "zoo": "correct and broken mechanisms, with the truth beside",
    "testing": "audits in a test suite; a first test of a mechanism",
    "cli": "the command line",
}


class Source(Protocol):
    """Where outputs come from: a mechanism, or samples that were drawn before."""

    @property
    def name(self) -> str: ...
    @property
    def target(self) -> str | None:
        """The text by which it can be imported again."""

    @property
    def errors(self) -> ErrorsAsOutputs | None:
        """What counts errors as outputs, if anything does."""

    def draw(self, data: Any, size: int, rng: np.random.Generator) -> Outputs:
        """Give `size` independent outputs on `data`."""
