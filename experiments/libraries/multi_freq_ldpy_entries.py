"""multi-freq-ldpy: its client functions, each of which reports for one user.

A longitudinal client claims `eps_1` for one report. Of users with several attributes, a pair may
differ in all of them or in one alone: clients that sample an attribute are listed with both.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from itertools import combinations, permutations, product
from typing import Any

from entry import Entry

import dpaudit
from dpaudit import PureDP, Subject

EPSILON = 1.0
SAMPLES = 100_000
VALUES = 4
MANY_VALUES = 8  # of which subset selection reports two
ATTRIBUTES = 2
SIZES = [VALUES] * ATTRIBUTES

Client = Callable[..., Any]
Tuples = list[list[int]]


def function(module: str, name: str) -> Client:
    """A function of multi-freq-ldpy."""
    found: Client = getattr(importlib.import_module(f"multi_freq_ldpy.{module}"), name)
    return found


def oracle(name: str, k: int = VALUES, **settings: Any) -> Subject:
    """A frequency oracle for one report."""
    client = function(f"pure_frequency_oracles.{name}", f"{name}_Client")
    return dpaudit.integrations.from_multi_freq_ldpy(client, k=k, epsilon=EPSILON, **settings)


def read(client: Client, reading: Callable[[Any], Any], k: int = VALUES) -> Subject:
    """The reports of a client, each read in this way."""

    def report(value: int, k: int, epsilon: float) -> Any:
        return reading(client(value, k, epsilon))

    return dpaudit.integrations.from_multi_freq_ldpy(report, k=k, epsilon=EPSILON)


def subset_as_a_set() -> Subject:
    client = function("pure_frequency_oracles.SS", "SS_Client")
    return read(client, lambda report: frozenset(report.tolist()), MANY_VALUES)


def thresholded() -> Subject:
    """THE: the server counts the entries beyond a threshold."""
    return read(function("pure_frequency_oracles.HE", "HE_Client"), lambda report: report > 0.75)


def hashed(client: Client, g: int) -> Subject:
    """Which values have the reported hash of `g`: what the server adds up."""
    xxhash = importlib.import_module("xxhash")

    def supported(report: Any) -> list[bool]:
        value, seed = report
        return [
            xxhash.xxh32(str(each), seed=seed).intdigest() % g == value for each in range(VALUES)
        ]

    return read(client, supported)


def local_hashing(*, optimal: bool) -> Subject:
    client = function("pure_frequency_oracles.LH", "LH_Client")
    g = 4 if optimal else 2  # round(e) + 1
    return hashed(lambda value, k, epsilon: client(value, k, epsilon, optimal), g)


def one_report(name: str) -> Client:
    """A longitudinal client, with twice the epsilon for all reports together."""
    client = function(f"long_freq_est.{name}", f"{name}_Client")
    return lambda value, k, epsilon: client(value, k, 2 * epsilon, epsilon)


def longitudinal(name: str, k: int = VALUES) -> Subject:
    return read(one_report(name), lambda report: report, k)


def longitudinal_hashing() -> Subject:
    client = function("long_freq_est.L_LH", "L_LH_Client")
    return hashed(
        lambda value, k, epsilon: client(value, k, 2 * epsilon, epsilon, optimal=False), 2
    )


def d_bit_flip() -> Subject:
    client = function("long_freq_est.dBitFlipPM", "dBitFlipPM_Client")
    return read(
        lambda value, k, epsilon: client(value, k, b=4, d_bits=2, eps_perm=epsilon),
        lambda report: report,
        MANY_VALUES,
    )


def all_tuples() -> Tuples:
    return [list(each) for each in product((0, 1, VALUES - 1), repeat=ATTRIBUTES)]


def any_two() -> Any:
    """Two users who may differ in every attribute."""
    return dpaudit.pairs([([a], [b]) for a, b in combinations(all_tuples(), 2)])


def one_attribute() -> Any:
    """Two users who differ in one attribute alone."""
    differ = [
        ([a], [b])
        for a, b in permutations(all_tuples(), 2)
        if sum(x != y for x, y in zip(a, b, strict=True)) == 1
    ]
    return dpaudit.pairs(differ)


def several(module: str, name: str, neighbours: Any, *given: float) -> Subject:
    """A client of users with several attributes."""
    client = function(module, name)
    budget = given or (EPSILON,)

    @dpaudit.one_at_a_time
    def report(data: Any) -> Any:
        return client(data[0], SIZES, ATTRIBUTES, *budget)

    return Subject(mechanism=report, claim=PureDP(EPSILON), neighbours=neighbours)


def _several(name: str, module: str, *given: float) -> Entry:
    return Entry(name, lambda: several(module, name, any_two(), *given), samples=SAMPLES)


def _sampled(name: str, samples: int = SAMPLES) -> tuple[Entry, Entry]:
    """A client with fake data: any two users, and users who differ in one attribute."""
    module = "mdim_freq_est.RSpFD_solution"
    return (
        Entry(name, lambda: several(module, name, any_two()), samples=samples),
        Entry(
            f"{name}, one attribute",
            lambda: several(module, name, one_attribute()),
            samples=SAMPLES,
            watched="only pairs that differ in one attribute",
        ),
    )


ENTRIES: tuple[Entry, ...] = (
    Entry("GRR_Client", lambda: oracle("GRR"), tight=EPSILON),
    Entry("UE_Client(optimal=False)", lambda: oracle("UE", optimal=False), tight=EPSILON),
    Entry("UE_Client", lambda: oracle("UE"), tight=EPSILON),
    Entry("HE_Client", lambda: oracle("HE"), tight=EPSILON),
    Entry("HE_Client, thresholded", thresholded, samples=SAMPLES),
    Entry("LH_Client(optimal=False)", lambda: local_hashing(optimal=False), tight=EPSILON),
    Entry("LH_Client", lambda: local_hashing(optimal=True), tight=EPSILON),
    Entry("ADP_Client", lambda: oracle("ADP"), samples=SAMPLES),
    Entry("SS_Client", lambda: oracle("SS", MANY_VALUES), samples=SAMPLES),
    Entry("SS_Client, as a set", subset_as_a_set, samples=SAMPLES),
    Entry("L_GRR_Client(k=2)", lambda: longitudinal("L_GRR", 2), tight=EPSILON),
    Entry("L_GRR_Client", lambda: longitudinal("L_GRR"), samples=SAMPLES),
    Entry("L_SUE_Client", lambda: longitudinal("L_SUE"), tight=EPSILON),
    Entry("L_OUE_Client", lambda: longitudinal("L_OUE"), samples=SAMPLES),
    Entry("L_OSUE_Client", lambda: longitudinal("L_OSUE"), tight=EPSILON),
    Entry("L_SOUE_Client", lambda: longitudinal("L_SOUE"), samples=SAMPLES),
    Entry("L_ADP_Client", lambda: longitudinal("L_ADP"), samples=SAMPLES),
    Entry("L_LH_Client(optimal=False)", longitudinal_hashing, samples=SAMPLES),
    Entry("dBitFlipPM_Client", d_bit_flip, samples=SAMPLES),
    _several("SPL_GRR_Client", "mdim_freq_est.SPL_solution"),
    _several("SPL_UE_Client", "mdim_freq_est.SPL_solution"),
    _several("SMP_GRR_Client", "mdim_freq_est.SMP_solution"),
    _several("SMP_UE_Client", "mdim_freq_est.SMP_solution"),
    _several("SPL_L_GRR_Client", "long_mdim_freq_est.L_SPL_Solution", 2 * EPSILON, EPSILON),
    _several("SMP_L_OSUE_Client", "long_mdim_freq_est.L_SMP_Solution", 2 * EPSILON, EPSILON),
    *_sampled("RSpFD_GRR_Client"),
    *_sampled("RSpFD_UE_zero_Client", samples=400_000),
    *_sampled("RSpFD_UE_rnd_Client"),
)
