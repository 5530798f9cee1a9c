"""Bets against a claim: payoffs, the bettor of one pair, and the wealth of the whole audit."""

from dpaudit.betting.account import CLAIM_SHARE, OWN_SHARE, Account, Stake, compared_levels
from dpaudit.betting.bettor import Book, PairBettor, book_for
from dpaudit.betting.leak import (
    draws_for_leak,
    draws_wanted,
    leak_growth,
    renyi_growth,
    tangent_growth,
)
from dpaudit.betting.payoffs import (
    MixedBet,
    RenyiBets,
    Tangents,
    best_shares,
    growth,
    renyi_orders,
    tune,
)
from dpaudit.betting.tuning_rows import MAX_TUNING_ROWS
