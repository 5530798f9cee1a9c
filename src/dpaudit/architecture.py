"""The architecture on one page: the rooms in their order, and every Protocol between them.

A room imports only from rooms before it in `ROOMS`, and from their fronts (`from dpaudit.outputs
import Table`). Any object with the methods of a Protocol will do: nobody has to inherit from ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np

    from dpaudit.arrays import Floats, Labels
    from dpaudit.guessing import LabelledRows, Samples
    from dpaudit.mechanism import ErrorsAsOutputs
    from dpaudit.neighbours import Pair, Slot
    from dpaudit.outputs import CellReader, CountedOutputs, Encoder, Outputs, Table


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
    "testers": "the testers of the paper and of its peers",
    "auditing": "the audit: search, bet, certify, shrink, replay, measure",
    "training": "audits of a training by canaries",
    "inside": "exact privacy loss by record and replay",
    "verifying": "what a saved audit says, checked",
    "zoo": "correct and broken mechanisms, with the truth beside",
    "testing": "audits in a test suite; a first test of a mechanism",
    "cli": "the command line",
}


class DefaultSamples(int):
    """A number of draws that no user asked for, so that an audit may say how long they take.

    >>> DefaultSamples(300_000) == 300_000
    True
    """

    __slots__ = ()


@runtime_checkable
class Claim(Protocol):
    """A privacy profile: the most that `sup_A P(A) - e^epsilon Q(A)` may be, at every epsilon."""

    def delta(self, epsilon: float) -> float: ...

    def __str__(self) -> str: ...


@runtime_checkable
class Scalable(Claim, Protocol):
    """A claim with one parameter: a larger `strength` claims less, so the nulls are nested in it.

    >>> from dpaudit import ApproxDP
    >>> claim = ApproxDP(epsilon=1, delta=1e-6)
    >>> claim.symbol, claim.strength, claim.with_strength(2)
    ('epsilon', 1.0, ApproxDP(epsilon=2.0, delta=1e-06))
    """

    @property
    def symbol(self) -> str: ...

    @property
    def strength(self) -> float: ...

    def with_strength(self, value: float) -> Scalable: ...


class Chooser(Protocol):
    """Answers the questions of which a record or a pair is built.

    A domain asks for a record (`floats(0, 1)` asks for one real number), a relation for a pair. The
    same name asks the same question every time. A random chooser gives random pairs; an optimiser
    that answers the same questions searches the same space.
    """

    def real(self, name: str, low: float, high: float) -> float:
        """A real number in [low, high]."""

    def whole(self, name: str, low: int, high: int) -> int:
        """A whole number in [low, high]."""

    def one_of(self, name: str, count: int) -> int:
        """One of 0, 1, ..., count - 1, which have no order."""


@runtime_checkable
class Domain(Protocol):
    """What a record may be. Any object with these methods is a domain."""

    __slots__ = ()

    def edges(self) -> tuple[Any, ...]:
        """The extreme and the plain records, the most promising first; at most eight."""

    def draw(self, rng: np.random.Generator) -> Any:
        """One random record: an edge a quarter of the time."""

    def dataset(self, records: Sequence[Any]) -> Any:
        """The data that a mechanism receives for these records, built anew."""

    def unpack(self, data: Any) -> list[Any]:
        """The records of a dataset: the inverse of `dataset`; InvalidDomain if it is not one."""

    def contains(self, record: Any) -> bool:
        """Whether this is a record of the domain."""


@runtime_checkable
class Explorable(Domain, Protocol):
    """A domain that a search can steer through and whose records can be made plainer.

    All of ours are. `explorable` makes one of any domain.
    """

    __slots__ = ()

    def choose(self, chooser: Chooser, name: str) -> Any:
        """A record built of the chooser's answers; `Unsuitable` if they lead to none.

        The questions are `name`, or begin with it. No two questions of one record are the same.
        """

    def coordinates(self, record: Any) -> tuple[float, ...]:
        """Where the record lies: as many numbers for every record, each in [0, 1]."""

    def near(self, record: Any, rng: np.random.Generator) -> Any:
        """Another record, a small or a large change away; the same one if there is no other."""

    def plainness(self, record: Any) -> float:
        """How much a reader has to take in: 0 is the plainest record, more is less plain."""

    def simpler(self, record: Any) -> tuple[Any, ...]:
        """Some plainer records, the plainest first; at most twelve, each strictly plainer."""

    def grid(self, points: int) -> tuple[Any, ...]:
        """About this many records evenly spread, the edges among them; the same every time."""


@runtime_checkable
class Relation(Protocol):
    """Which pairs count as neighbours. Any object with these methods is a relation.

    Ours also say why a pair does not belong to them: `why_not(pair)`, None if it does.
    """

    __slots__ = ()

    def edge_pairs(self) -> Iterator[Pair]:
        """The pairs to try first: the same every time, small datasets first, none twice."""

    def random_pair(self, rng: np.random.Generator) -> Pair:
        """A random pair."""

    def contains(self, pair: Pair) -> bool:
        """Whether the two datasets really are different neighbours, either way round."""

    def describe(self) -> str:
        """The relation in one line."""


@runtime_checkable
class Structured(Relation, Protocol):
    """A relation whose pairs can be taken apart, changed record by record, and joined again.

    A search beyond random pairs needs that, and so does shrinking.
    """

    __slots__ = ()

    @property
    def domain(self) -> Domain:
        """What either side of a slot may hold."""

    @property
    def most_slots(self) -> int:
        """How many slots a pair has at most."""

    def align(self, pair: Pair) -> tuple[Slot, ...] | None:
        """The two datasets side by side; None if they are not neighbours of this relation."""

    def join(self, slots: Sequence[Slot]) -> Pair | None:
        """The pair of these slots, which it remembers; None if they are not neighbours."""

    def choose(self, chooser: Chooser) -> Pair:
        """A pair built of the chooser's answers; `Unsuitable` if they lead to none."""


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

    def count(
        self, data: Any, size: int, rng: np.random.Generator, reader: CellReader
    ) -> CountedOutputs | Outputs:
        """Give the same, counted; the outputs where they cannot be."""


class Finder(Protocol):
    """A search over neighbouring pairs. Any object with these two methods is a finder."""

    def ask(self) -> Pair | None:
        """The next pair to audit; None if there is nothing new to propose."""

    def tell(self, pair: Pair, score: float) -> None:
        """How much the pair showed: the higher, the closer to a refutation. Zero is a score.

        The score of a pair may be told again: a later score rests on more draws and replaces the
        earlier one.
        """


class Event(Protocol):
    """A set of outputs with a name."""

    def holds(self, table: Table) -> Labels:
        """Tell for each row whether it is in the set."""
        ...

    def words(self, encoder: Encoder) -> str:
        """Say what the outputs of the set have in common."""
        ...


class Guesser(Protocol):
    """Learns from labelled rows, and says which dataset an output came from."""

    def fit(self, seen: LabelledRows, /) -> object:
        """Learn from labelled rows."""

    def log_odds(self, table: Table, /) -> Floats:
        """The log-odds of each row that it came from the first dataset, `data`.

        A guesser that holds several models gives one row of log-odds for each of them.
        """


@runtime_checkable
class BatchTester(Protocol):
    """A test of one divergence between two samples, in one direction.

    The claim is refuted where `lower_bound` exceeds `threshold`.
    """

    __slots__ = ()

    def lower_bound(
        self,
        outputs: Samples,
        neighbour_outputs: Samples,
        claim: Claim,
        *,
        alpha: float,
        rng: np.random.Generator,
    ) -> float:
        """A bound that exceeds the divergence with probability at most `alpha`; -inf if none."""

    def threshold(self, claim: Claim) -> float:
        """The largest divergence that the claim allows."""


@runtime_checkable
class SequentialTester(BatchTester, Protocol):
    """A batch tester that looks at one pair of outputs after the other and may stop at any."""

    __slots__ = ()

    def pairs_until_accused(
        self,
        outputs: Samples,
        neighbour_outputs: Samples,
        claim: Claim,
        *,
        alpha: float,
        rng: np.random.Generator,
    ) -> int | None:
        """After how many pairs it accuses the claim, in this direction; None if it never does."""
