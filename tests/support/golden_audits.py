"""Forty-odd small audits with fixed seeds.

`tests/golden/test_golden_audits.py` compares every audit with its record in
`tests/golden/audits.json`. After an intended change, write the records anew:

    python tests/support/golden_audits.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from golden_mechanisms import (
    dictionaries,
    float_bits,
    gaussian_sum,
    lists_of_any_length,
    noisy_sum,
    raises_on_empty,
    record_sum,
    sometimes_none,
    table_sum,
    tight_sum,
    vectors_out,
    whole_count,
    words,
)
from golden_records import RECORDS, recorded, software

import dpaudit
from dpaudit import ZCDP, ApproxDP, GaussianDP, Profile, PureDP, RenyiDP
from dpaudit import zoo as mechanisms

Case = Callable[[], Any]
CASES: dict[str, Case] = {}


def case(function: Case) -> Case:
    CASES[function.__name__] = function
    return function


UNIT = dpaudit.floats(-1, 1)
ROWS = dpaudit.records(user_id=dpaudit.integers(0, 9), hours=dpaudit.integers(0, 3))


def replaced() -> Any:
    return dpaudit.replace_one(UNIT, max_records=4)


def run(mechanism: Any, claim: Any, neighbours: Any, **options: Any) -> Any:
    return dpaudit.audit(mechanism, claim, neighbours, **{"samples": 20_000, "rng": 7, **options})


# Claims.


@case
def pure_refuted() -> Any:
    return run(noisy_sum, PureDP(1.0), replaced(), samples=None)


@case
def pure_not_refuted() -> Any:
    return run(tight_sum, PureDP(1.0), replaced())


@case
def approx_refuted() -> Any:
    return run(gaussian_sum, ApproxDP(1.0, 1e-3), replaced())


@case
def approx_not_refuted() -> Any:
    return run(gaussian_sum, ApproxDP(12.0, 1e-3), replaced())


@case
def renyi_refuted() -> Any:
    return run(noisy_sum, RenyiDP(2.0, 0.2), replaced())


@case
def zcdp_refuted() -> Any:
    return run(gaussian_sum, ZCDP(0.3), replaced())


@case
def gaussian_refuted() -> Any:
    return run(gaussian_sum, GaussianDP(1.0), replaced())


@case
def gaussian_on_its_claim() -> Any:
    return run(gaussian_sum, GaussianDP(2.0), replaced())


@case
def profile_refuted() -> Any:
    return run(noisy_sum, Profile(PureDP(1.0).delta), replaced())


# Relations.


@case
def fixed_pairs() -> Any:
    return run(noisy_sum, PureDP(1.0), [([1.0], [-1.0]), ([0.5], [0.4])])


@case
def one_fixed_pair() -> Any:
    return run(tight_sum, PureDP(0.7), [([1.0], [-1.0])])


@case
def add_or_remove() -> Any:
    return run(whole_count, PureDP(0.5), dpaudit.add_or_remove_one(UNIT, max_records=4))


@case
def queries() -> Any:
    return run(
        lambda data, size, rng: np.asarray(data) + rng.laplace(size=(size, 4)),
        PureDP(1.0),
        dpaudit.query_answers(4),
    )


@case
def groups() -> Any:
    return run(tight_sum, PureDP(1.0), dpaudit.group(replaced(), 2))


@case
def users() -> Any:
    relation = dpaudit.add_or_remove_user(ROWS, max_users=3, max_rows=2)
    return run(lambda data, size, rng: len(data) + rng.laplace(size=size), PureDP(1.0), relation)


@case
def replaced_users() -> Any:
    relation = dpaudit.replace_user(ROWS, max_users=3, max_rows=2)
    return run(lambda data, size, rng: len(data) + rng.laplace(size=size), PureDP(0.5), relation)


# Domains.


@case
def records_domain() -> Any:
    domain = dpaudit.records(hours=dpaudit.integers(0, 3), city=dpaudit.categories("a", "b"))
    return run(record_sum, PureDP(1.0), dpaudit.add_or_remove_one(domain, max_records=3))


@case
def categories_domain() -> Any:
    relation = dpaudit.replace_one(dpaudit.categories("a", "b", "c"), max_records=2)
    return run(words, PureDP(0.5), relation)


@case
def tables_domain() -> Any:
    columns = {"age": dpaudit.integers(0, 100), "city": dpaudit.categories("a", "b")}
    domain = dpaudit.tables(columns, form="columns")
    return run(table_sum, PureDP(1.0), dpaudit.replace_one(domain, max_records=3))


@case
def vectors_domain() -> Any:
    relation = dpaudit.replace_one(dpaudit.vectors(3, -1.0, 1.0), max_records=2)
    return run(vectors_out, PureDP(0.8), relation)


# Finders.


@case
def finder_random() -> Any:
    return run(noisy_sum, PureDP(1.0), replaced(), finder="random")


@case
def finder_evolve() -> Any:
    return run(tight_sum, PureDP(0.9), replaced(), finder="evolve")


@case
def finder_gp() -> Any:
    return run(tight_sum, PureDP(0.9), replaced(), finder="gp", samples=10_000)


@case
def finder_grid() -> Any:
    return run(noisy_sum, PureDP(1.0), replaced(), finder="grid")


@case
def finder_spread() -> Any:
    return run(noisy_sum, PureDP(1.0), replaced(), finder="spread")


# Output kinds.


@case
def output_dictionaries() -> Any:
    relation = dpaudit.add_or_remove_one(UNIT, max_records=3)
    return run(dictionaries, PureDP(1.0), relation, samples=8_000)


@case
def output_lists() -> Any:
    relation = dpaudit.add_or_remove_one(UNIT, max_records=3)
    return run(lists_of_any_length, PureDP(0.3), relation, samples=8_000)


@case
def output_none_or_number() -> Any:
    relation = dpaudit.add_or_remove_one(UNIT, max_records=3)
    return run(sometimes_none, PureDP(0.2), relation, samples=8_000)


@case
def output_errors() -> Any:
    return run(raises_on_empty, PureDP(1.0), dpaudit.add_or_remove_one(UNIT, max_records=2))


@case
def output_bits() -> Any:
    return run(float_bits, PureDP(1.0), dpaudit.pairs([([0.0], [1.0])]), floats="bits")


@case
def zoo_sparse_vector() -> Any:
    entry = mechanisms.ZOO["SVT3"]
    return run(entry.factory(), entry.claim, entry.neighbours())


@case
def zoo_histogram() -> Any:
    entry = mechanisms.ZOO["NoisyHistogramScaleEpsilon"]
    return run(entry.factory(), entry.claim, entry.neighbours())


@case
def zoo_rappor() -> Any:
    entry = mechanisms.ZOO["RapporOneHashClaim"]
    return run(entry.factory(), entry.claim, entry.neighbours())


@case
def zoo_exactly_on_its_claim() -> Any:
    entry = mechanisms.ZOO["RandomizedResponse"]
    return run(entry.factory(), entry.claim, entry.neighbours())


# Testers.


@case
def sharpened() -> Any:
    tester = dpaudit.BettingTester(after_refuting="sharpen")
    return run(noisy_sum, PureDP(1.0), replaced(), tester=tester)


@case
def tester_histogram() -> Any:
    return run(noisy_sum, PureDP(1.0), replaced(), tester=dpaudit.testers.HistogramTester())


@case
def tester_hockey_stick() -> Any:
    return run(
        gaussian_sum, ApproxDP(0.5, 1e-3), replaced(), tester=dpaudit.testers.HockeyStickTester()
    )


@case
def tester_renyi() -> Any:
    tester = dpaudit.testers.Trials(dpaudit.testers.RenyiTester(), count=2)
    return run(tight_sum, RenyiDP(1.5, 0.05), replaced(), tester=tester)


@case
def tester_mmd() -> Any:
    tester = dpaudit.testers.Trials(dpaudit.testers.MMDTester(), count=2)
    return run(noisy_sum, PureDP(0.3), replaced(), tester=tester)


# Samples in hand, one pair measured, a counterexample counted again and made simpler.


def two_samples(shift: float, size: int = 6_000) -> tuple[Any, Any]:
    noise = np.random.default_rng(0).laplace(size=(2, size))
    return noise[0] + shift, noise[1]


@case
def samples_refuted() -> Any:
    return dpaudit.compare_samples(*two_samples(3.0), PureDP(1.0), rng=7)


@case
def samples_not_refuted() -> Any:
    return dpaudit.compare_samples(*two_samples(1.0), PureDP(1.0), rng=7)


@case
def samples_by_histogram() -> Any:
    tester = dpaudit.testers.HistogramTester()
    return dpaudit.compare_samples(*two_samples(3.0), PureDP(1.0), tester=tester, rng=7)


@case
def measured() -> Any:
    return dpaudit.measure_epsilon(noisy_sum, [1.0], [-1.0], samples=20_000, rng=7)


@case
def measured_words() -> Any:
    return dpaudit.measure_epsilon(words, ["a"], ["b"], samples=4_000, rng=7)


@case
def measured_vectors() -> Any:
    return dpaudit.measure_epsilon(vectors_out, [[1.0] * 3], [[0.0] * 3], samples=20_000, rng=7)


@case
def replayed() -> Any:
    found = run(noisy_sum, PureDP(1.0), [([1.0], [-1.0])]).counterexample
    return dpaudit.replay(found, noisy_sum, PureDP(1.0), rng=8)


@case
def shrunk() -> Any:
    pair = [0.3, 0.93, -0.2], [0.3, -0.88, -0.2]
    return dpaudit.shrink(noisy_sum, PureDP(1.0), pair, replaced(), samples=40_000, rng=7)


def main() -> None:
    records = {}
    for name, make in CASES.items():
        records[name] = recorded(make())
        print(f"{name:28}{records[name].get('verdict', '')}", file=sys.stderr)
    text = json.dumps({"software": software(), "audits": records}, indent=1, allow_nan=True)
    RECORDS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
