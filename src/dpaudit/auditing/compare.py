"""`dpaudit.compare_samples`: the audit of outputs already in hand."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from dpaudit.auditing.arguments import check_arguments, check_floats, entropy_of
from dpaudit.auditing.audit import result_of_bets, sharpens
from dpaudit.auditing.betting_loop import Campaign
from dpaudit.auditing.budget import Budget, one_in_twenty
from dpaudit.auditing.certify import FOR_CHOOSING, MOST, Suspect, certify, suspect, suspect_of_bets
from dpaudit.auditing.ledger import Ledger
from dpaudit.auditing.samples_in_hand import NEIGHBOUR_OUTPUTS, OUTPUTS, Deck, in_hand
from dpaudit.auditing.scheduler import Contender
from dpaudit.claims import Claim
from dpaudit.neighbours import NO_DATASETS
from dpaudit.outputs import Encoder, FloatView, Outputs
from dpaudit.results import Audit, Counterexample
from dpaudit.search import as_finder
from dpaudit.testers import BatchTester, BettingTester, Trials, TwoSidedTest

_WHERE = "two samples in hand"


def compare_samples(
    outputs: Any,
    neighbour_outputs: Any,
    claim: Claim,
    *,
    tester: BettingTester | BatchTester | None = None,
    alpha: float = 1e-6,
    rng: np.random.Generator | int | None = None,
    floats: FloatView = "real",
    name: str = "the sampled mechanism",
) -> Audit:
    """Audit outputs of a mechanism on two neighbouring datasets, when only the outputs are there.

    `outputs` and `neighbour_outputs` are arrays or lists, one independent output per entry: of
    numbers, vectors, words, None, dicts. An `(n, 1)` array is the same as an `(n,)` array; other
    differences of form are evidence. If the mechanism keeps its claim, it is refuted with
    probability at most `alpha`. The same `rng` gives the same audit.

    By default the outputs are shuffled and bet on, side after side as a fair coin says, until the
    claim is refuted or one side is used up; one in twenty is kept back to certify an event. So of
    unequal sizes, the smaller is used up and as much of the larger. A batch tester, such as
    `dpaudit.testers.HistogramTester()`, gets all outputs at once, for both directions; its event is
    chosen on one half of them and counted on the other. `floats="bits"` also looks at how floats
    are rounded; a file of decimals must then hold all of their digits (17).

    >>> import numpy as np, dpaudit
    >>> noise = np.random.default_rng(0).laplace(size=(2, 2000))
    >>> found = dpaudit.compare_samples(noise[0] + 3.0, noise[1], dpaudit.PureDP(1.0), rng=7)
    >>> print(found.verdict.value, found.counterexample.likelier)
    refuted neighbour
    """
    check_arguments(claim, alpha, tester)
    check_floats(floats, tester)
    if isinstance(tester, Trials):
        raise TypeError(
            "two samples are compared in one trial: give the tester itself, "
            f"{tester.tester!r}, not {tester!r}."
        )
    first, second = in_hand(outputs, neighbour_outputs)
    entropy = entropy_of(rng)
    if tester is None or isinstance(tester, BettingTester):
        deck = Deck(first, second, np.random.default_rng(_seed(entropy, 5)))
        campaign = Campaign(
            deck.mechanism(name),
            claim,
            as_finder([NO_DATASETS], "auto", np.random.default_rng(0)),
            alpha=float(alpha),
            budget=_Hand(deck),
            entropy=entropy,
            progress=None,
            floats=floats,
        )
        return _bet(campaign, deck, sharpen=sharpens(tester))
    return _test(
        TwoSidedTest(tester, claim), first, second, alpha=float(alpha), entropy=entropy, name=name
    )


class _Hand(Budget):
    """What is left of a deck, as a budget: less than one side has, so that any toss can be served.

    So whether a batch is played is settled before its labels are tossed, and the bets stay fair.
    """

    def __init__(self, deck: Deck) -> None:
        super().__init__(2 * deck.fewest, None)
        self.reserve = one_in_twenty(self.samples)  # there are no calls, so none to be many
        self._deck = deck

    def allows(self, wanted: int, *, of: Hashable = None) -> int:
        """How many of the wanted draws can be served whatever the labels, less the reserve."""
        return max(min(wanted, self._deck.fewest - self.reserve // 2), 0)


def _bet(campaign: Campaign, deck: Deck, *, sharpen: bool) -> Audit:
    interrupted, counterexample = False, None
    try:
        campaign.run(beyond_refutation=sharpen)
        if campaign.account.refuted and campaign.race.strongest is not None:
            counterexample = _certify_bets(campaign, campaign.race.strongest, deck)
    except KeyboardInterrupt:
        interrupted = True
    return result_of_bets(campaign, _WHERE, counterexample, sharpen, interrupted)


def _certify_bets(campaign: Campaign, contender: Contender, deck: Deck) -> Counterexample | None:
    """Learn from some of the outputs that were not bet on, and certify on the others."""
    more = min(int(2 * FOR_CHOOSING * deck.fewest), int(FOR_CHOOSING * MOST))
    if more:
        batch, table = campaign.draw(contender, more, campaign.seed(3, 0))
        contender.bettor.learn(table, batch.labels)
    campaign.budget.spent += sum(deck.left(side) for side in (OUTPUTS, NEIGHBOUR_OUTPUTS))
    return _certify_rest(suspect_of_bets(campaign, contender), deck, alpha=campaign.alpha)


def _test(
    judge: TwoSidedTest, first: Outputs, second: Outputs, *, alpha: float, entropy: int, name: str
) -> Audit:
    """One trial with all of alpha."""
    sizes = len(first), len(second)
    judge.refuse_if_powerless(*sizes, alpha=alpha)
    budget = Budget(sum(sizes), None)
    ledger = Ledger(judge.claim, alpha, tester=type(judge.tester).__name__)
    seeds = _seed(entropy, 4, 1, 0), _seed(entropy, 4, 1, 1)
    outcome = judge.both(first, second, alpha=alpha, seeds=seeds)
    budget.spent = sum(sizes)
    ledger.enter(NO_DATASETS, outcome, share=1.0, draws=budget.spent, samples=budget.spent)
    counterexample = None
    if ledger.refuted:
        rng = np.random.default_rng(_seed(entropy, 5))
        deck = Deck(first, second, rng)
        data, neighbour = (
            deck.deal(side, deck.left(side) // 2) for side in (OUTPUTS, NEIGHBOUR_OUTPUTS)
        )
        found = suspect(NO_DATASETS, judge.claim, (data, neighbour), rng, encoder=Encoder())
        counterexample = _certify_rest(found, deck, alpha=alpha)
    return ledger.audit(
        mechanism=name,
        neighbours=_WHERE,
        counterexample=counterexample,
        budget=budget,
        entropy=entropy,
        notes=(),
        interrupted=False,
    )


def _certify_rest(found: Suspect, deck: Deck, *, alpha: float) -> Counterexample | None:
    """Certify an event on all outputs that were not dealt; None if a side has none."""
    draws = deck.fewest
    if draws < 1:
        return None
    rest = [
        (number, deck.deal(side, deck.left(side)))
        for number, side in enumerate((OUTPUTS, NEIGHBOUR_OUTPUTS))
    ]
    return certify(found, rest, draws=draws, alpha=alpha, seed=())


def _seed(entropy: int, *key: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(entropy, spawn_key=key)
