"""pure-ldp: its frequency oracles and heavy hitters, as the clients that report one item each.

Reports that name a hash by a seed of 63 bits are read as the server reads them: which items are
supported. What is computed from a report is as private as the report.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from entry import Entry

import dpaudit
from dpaudit import PureDP, Subject
from dpaudit.domains import Domain

EPSILON = 1.0
SAMPLES = 100_000
ITEMS = 4  # numbered from 1
WORDS = dpaudit.categories("00", "01", "10", "11")
SHORTER_WORDS = dpaudit.categories("00", "11", "0", "1")
AN_EMPTY_WORD = dpaudit.categories("00", "11", "")

Reading = Callable[[Any], Any]


def client_of(module: str, kind: str, *given: Any, **named: Any) -> Any:
    """A client of one of the packages of pure-ldp."""
    return getattr(importlib.import_module(f"pure_ldp.{module}"), kind)(*given, **named)


def oracle(package: str, kind: str, *given: Any, **named: Any) -> Any:
    """A frequency oracle's client."""
    return client_of(f"frequency_oracles.{package}", kind, *given, **named)


def read(
    client: Any, reading: Reading, records: Domain | None = None, epsilon: float = EPSILON
) -> Subject:
    """The reports of a client, each read in this way."""
    items = dpaudit.integers(1, ITEMS) if records is None else records

    @dpaudit.one_at_a_time
    def privatise(data: Any) -> Any:
        return reading(client.privatise(data[0]))

    return Subject(
        mechanism=privatise,
        claim=PureDP(epsilon),
        neighbours=dpaudit.replace_one(items, max_records=1),
    )


def hashes(number: int, size: int) -> list[Any]:
    """`number` hash functions into `size` values, as the servers make them."""
    made: list[Any] = importlib.import_module("pure_ldp.core").generate_hash_funcs(number, size)
    return made


def supported(client: Any) -> Reading:
    """Which items have the reported hash: what LHServer.aggregate adds up."""
    xxhash = importlib.import_module("xxhash")

    def reading(report: Any) -> list[bool]:
        value, seed = report
        return [
            xxhash.xxh32(str(index), seed=seed).intdigest() % client.g == value
            for index in range(ITEMS)
        ]

    return reading


def direct_encoding() -> Subject:
    return dpaudit.integrations.from_pure_ldp(oracle("direct_encoding", "DEClient", EPSILON, ITEMS))


def unary_encoding(*, use_oue: bool) -> Subject:
    client = oracle("unary_encoding", "UEClient", EPSILON, ITEMS, use_oue=use_oue)
    return dpaudit.integrations.from_pure_ldp(client)


def histogram_encoding() -> Subject:
    return dpaudit.integrations.from_pure_ldp(
        oracle("histogram_encoding", "HEClient", EPSILON, ITEMS)
    )


def thresholded() -> Subject:
    """THE: the server counts the entries beyond a threshold."""
    client = oracle("histogram_encoding", "HEClient", EPSILON, ITEMS)
    return read(client, lambda report: report > 0.5)


def local_hashing(*, use_olh: bool) -> Subject:
    client = oracle("local_hashing", "LHClient", EPSILON, ITEMS, use_olh=use_olh)
    return read(client, supported(client))


def fast_local_hashing() -> Subject:
    client = oracle("local_hashing", "FastLHClient", EPSILON, ITEMS, k=4, use_olh=True)
    return dpaudit.integrations.from_pure_ldp(client)


def hadamard_response(epsilon: float) -> Subject:
    server = oracle("hadamard_response", "HadamardResponseServer", epsilon, ITEMS)
    client = oracle(
        "hadamard_response", "HadamardResponseClient", epsilon, ITEMS, server.get_hash_funcs()
    )
    return dpaudit.integrations.from_pure_ldp(client)


def with_type(report: Any) -> list[Any]:
    """What is in a report, after the name of its type: a zip object can be read only once."""
    return [type(report).__name__, *report]


def hadamard_mechanism() -> Any:
    return oracle("hadamard_mechanism", "HadamardMechClient", EPSILON, ITEMS, 2)


def count_mean_sketch(*, is_hadamard: bool) -> Subject:
    client = oracle("apple_cms", "CMSClient", EPSILON, hashes(2, 4), 4, is_hadamard=is_hadamard)
    return dpaudit.integrations.from_pure_ldp(client, records=dpaudit.integers(1, ITEMS))


def private_count_sketch() -> Subject:
    pairs = list(zip(hashes(2, 4), hashes(2, 2), strict=True))
    client = oracle("priv_count_sketch", "PCSClient", EPSILON, 2, 4, pairs)
    return dpaudit.integrations.from_pure_ldp(client, records=dpaudit.integers(1, ITEMS))


def sketch_response() -> Subject:
    client = oracle("sketch_response", "SketchResponseClient", EPSILON, 4, hashes(2, 4), lh_k=4)
    return dpaudit.integrations.from_pure_ldp(client)


def rappor() -> Subject:
    """One cohort, eight bits and two hashes; the epsilon is what the client makes of f."""
    client = oracle("rappor", "RAPPORClient", 0.75, 8, [hashes(2, 8)], num_of_cohorts=1)
    return read(client, lambda report: report, epsilon=client.convert_f_to_eps(0.75, 2))


def strings(package: str, kind: str, *given: Any) -> Subject:
    """A heavy hitter's client for strings of zeros and ones, which reports by count mean sketch."""
    sketch = oracle("apple_cms", "CMSClient", EPSILON, hashes(2, 4), 4)
    client = client_of(f"heavy_hitters.{package}", kind, EPSILON, *given, fo_client=sketch)
    return read(client, lambda report: report, WORDS)


def prefixes(words: Domain) -> Subject:
    """PEM as it comes, with optimal local hashing: strings of at most two zeros and ones."""
    client = client_of("heavy_hitters.prefix_extending", "PEMClient", EPSILON, 0, 2, 1)
    known = supported(client.client)
    return read(client, lambda report: (known(report[0]), report[1]), words)


ENTRIES: tuple[Entry, ...] = (
    Entry("DEClient", direct_encoding, tight=EPSILON),
    Entry("UEClient", lambda: unary_encoding(use_oue=False), tight=EPSILON),
    Entry("UEClient(use_oue=True)", lambda: unary_encoding(use_oue=True), tight=EPSILON),
    Entry("HEClient", histogram_encoding, tight=EPSILON),
    Entry("HEClient, thresholded", thresholded),
    Entry("LHClient", lambda: local_hashing(use_olh=False), tight=EPSILON),
    Entry("LHClient(use_olh=True)", lambda: local_hashing(use_olh=True), samples=SAMPLES),
    Entry("FastLHClient", fast_local_hashing, samples=SAMPLES),
    Entry("HadamardResponseClient(epsilon=1)", lambda: hadamard_response(1.0), tight=1.0),
    Entry("HadamardResponseClient(epsilon=2)", lambda: hadamard_response(2.0), samples=SAMPLES),
    Entry("HadamardMechClient", lambda: read(hadamard_mechanism(), with_type)),
    Entry("HadamardMechClient, as a list", lambda: read(hadamard_mechanism(), list)),
    Entry("CMSClient", lambda: count_mean_sketch(is_hadamard=False)),
    Entry("CMSClient(is_hadamard=True)", lambda: count_mean_sketch(is_hadamard=True)),
    Entry("PCSClient", private_count_sketch),
    Entry("SketchResponseClient", sketch_response),
    Entry("RAPPORClient", rappor),
    Entry("PEMClient", lambda: prefixes(WORDS)),
    Entry(
        "PEMClient, shorter strings",
        lambda: prefixes(SHORTER_WORDS),
        watched="strings shorter than the longest",
    ),
    Entry("PEMClient, an empty string", lambda: prefixes(AN_EMPTY_WORD), watched="an empty string"),
    Entry(
        "PEMClient(fo_client=CMSClient)", lambda: strings("prefix_extending", "PEMClient", 0, 2, 1)
    ),
    Entry("TreeHistClient", lambda: strings("treehistogram", "TreeHistClient", 1, 2)),
    Entry("SFPClient", lambda: strings("apple_sfp", "SFPClient", 1, 2)),
)
