"""Bets against a claim: payoffs, the bettor of one pair, and the wealth of the whole audit."""

from dpaudit.betting.account import Account, Stake
from dpaudit.betting.bettor import PairBettor
from dpaudit.betting.book import Book, book_for
from dpaudit.betting.leak import (
    draws_for_leak,
    draws_wanted,
    leak_growth,
    renyi_growth,
    tangent_growth,
)
from dpaudit.betting.portfolio import Portfolio
from dpaudit.betting.renyi import RenyiBets
from dpaudit.betting.tangent import Tangents, growth, tune
