"""multi-freq-ldpy: its client functions, each of which reports for one user.

A longitudinal client promises `eps_1` for one report. Of users with several attributes, a pair may
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
    return Entry(
        function=name, make=lambda: several(module, name, any_two(), *given), samples=SAMPLES
    )


def _sampled(name: str, samples: int = SAMPLES) -> tuple[Entry, Entry]:
    """A client with fake data: any two users, and users who differ in one attribute."""
    module = "mdim_freq_est.RSpFD_solution"
    return (
        Entry(function=name, make=lambda: several(module, name, any_two()), samples=samples),
        Entry(
            function=f"{name}, one attribute",
            make=lambda: several(module, name, one_attribute()),
            samples=SAMPLES,
            watched="only pairs that differ in one attribute",
        ),
    )


ENTRIES: tuple[Entry, ...] = (
    Entry(function="GRR_Client", make=lambda: oracle("GRR"), tight=EPSILON),
    Entry(
        function="UE_Client(optimal=False)",
        make=lambda: oracle("UE", optimal=False),
        tight=EPSILON,
    ),
    Entry(function="UE_Client", make=lambda: oracle("UE"), tight=EPSILON),
    Entry(function="HE_Client", make=lambda: oracle("HE"), tight=EPSILON),
    Entry(function="HE_Client, thresholded", make=thresholded, samples=SAMPLES),
    Entry(
        function="LH_Client(optimal=False)",
        make=lambda: local_hashing(optimal=False),
        tight=EPSILON,
    ),
    Entry(function="LH_Client", make=lambda: local_hashing(optimal=True), tight=EPSILON),
    Entry(function="ADP_Client", make=lambda: oracle("ADP"), samples=SAMPLES),
    Entry(function="SS_Client", make=lambda: oracle("SS", MANY_VALUES), samples=SAMPLES),
    Entry(function="SS_Client, as a set", make=subset_as_a_set, samples=SAMPLES),
    Entry(function="L_GRR_Client(k=2)", make=lambda: longitudinal("L_GRR", 2), tight=EPSILON),
    Entry(function="L_GRR_Client", make=lambda: longitudinal("L_GRR"), samples=SAMPLES),
    Entry(function="L_SUE_Client", make=lambda: longitudinal("L_SUE"), tight=EPSILON),
    Entry(function="L_OUE_Client", make=lambda: longitudinal("L_OUE"), samples=SAMPLES),
    Entry(function="L_OSUE_Client", make=lambda: longitudinal("L_OSUE"), tight=EPSILON),
    Entry(function="L_SOUE_Client", make=lambda: longitudinal("L_SOUE"), samples=SAMPLES),
    Entry(function="L_ADP_Client", make=lambda: longitudinal("L_ADP"), samples=SAMPLES),
    Entry(function="L_LH_Client(optimal=False)", make=longitudinal_hashing, samples=SAMPLES),
    Entry(function="dBitFlipPM_Client", make=d_bit_flip, samples=SAMPLES),
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
