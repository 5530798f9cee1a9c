"""python-dp: algorithms on the records of one user each, noise, and the selection of partitions.

Records reach beyond the bounds, to both sides; odd ones are NaN, the infinities and the largest
floats. All of this is clamped or passed over by the library, which says so.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from entry import Entry, between

import dpaudit
from dpaudit import Subject
from dpaudit.domains import Domain

FAST = 200_000
SLOWER = 100_000
SLOW = 30_000  # draws of a percentile, a thousand in a second
SLOWEST = 20_000
UNIT = dpaudit.floats(-1, 2)
ODD = UNIT.with_odd_values()
WHOLE = dpaudit.integers(-1, 2)
LARGE = 2**30
WIDEST = 2**62


def algorithm(name: str, records: Domain = UNIT, *, dtype: str = "float", **given: Any) -> Subject:
    """An algorithm, with bounds of 0 and 1 unless others are given."""
    module = importlib.import_module("pydp.algorithms.laplacian")
    kind = float if dtype == "float" else int
    if name != "Count":
        given = {"lower_bound": kind(0), "upper_bound": kind(1), **given}
    made = getattr(module, name)(epsilon=1.0, dtype=dtype, **given)
    return dpaudit.integrations.from_python_dp(made, records=records, max_records=6)


def noise(name: str, kind: type = float, **given: float) -> Subject:
    """A numerical mechanism for answers that are at most 1 apart."""
    module = importlib.import_module("pydp.algorithms.numerical_mechanisms")
    made = getattr(module, name)(epsilon=1.0, sensitivity=1.0, **given)

    def noisy(data: Any, size: int) -> list[Any]:
        answer = kind(data[0])
        return [made.add_noise(answer) for _ in range(size)]

    return replace(dpaudit.integrations.from_python_dp(made), mechanism=noisy)


def overflowing(name: str, dtype: str, bound: int) -> Subject:
    """Whole numbers whose sum does not fit into their type."""
    subject = algorithm(name, WHOLE, dtype=dtype, upper_bound=bound)
    return between(
        subject,
        ([bound, bound], [bound]),
        ([bound] * 3, [bound] * 2),
        ([bound] * 4, [bound] * 3),
        ([bound] * 4, [bound] * 5),
    )


def inferred(name: str) -> Subject:
    """An algorithm that finds its bounds itself, of which it takes half of epsilon."""
    subject = algorithm(name, WHOLE, dtype="int", lower_bound=None, upper_bound=None)
    return between(
        subject,
        ([1000] * 40, [1000] * 41),
        ([1] * 40, [1] * 40 + [2**30]),
        ([1] * 20, [1] * 21),
        ([-(2**31)] * 40, [-(2**31)] * 39),
        ([0] * 40, [0] * 40 + [2**31 - 1]),
    )


def selection(strategy: str, partitions: int = 1, threshold: int | None = None) -> Subject:
    """Whether partitions are kept, by the number of their users."""
    module = importlib.import_module("pydp.algorithms.partition_selection")
    return dpaudit.integrations.from_python_dp(
        module.create_partition_strategy(strategy, 1.0, 0.01, partitions, threshold)
    )


def quantiles(records: Domain, noise_type: str, delta: float) -> Subject:
    """Three quantiles of a tree, which clamps to its bounds."""
    module = importlib.import_module("pydp.algorithms.quantile_tree")

    def released(data: Sequence[float]) -> Any:
        tree = module.QuantileTree(0.0, 1.0, 2, 4)
        for record in data:
            tree.add_entry(float(record))
        return tree.compute_quantiles(1.0, delta, 1, 1, [0.1, 0.5, 0.9], noise_type)

    return Subject(
        mechanism=dpaudit.one_at_a_time(released),
        claim=dpaudit.ApproxDP(1.0, delta) if delta > 0 else dpaudit.PureDP(1.0),
        neighbours=dpaudit.add_or_remove_one(records, max_records=6),
    )


def plain_and_odd(name: str, samples: int, **given: Any) -> tuple[Entry, Entry]:
    """An algorithm on numbers, and on those that should not be there."""
    return (
        Entry(
            name,
            lambda: algorithm(name, **given),
            samples=samples,
            watched="values out of the bounds, an empty dataset",
        ),
        Entry(
            f"{name}, any float",
            lambda: algorithm(name, ODD, **given),
            samples=samples,
            watched="NaN, infinities, the largest floats, an empty dataset",
        ),
    )


def whole(name: str, upper: int, **given: Any) -> Entry:
    """An algorithm on whole numbers, which is what it is made for if no type is given."""
    given = {"upper_bound": upper, **given}
    return Entry(
        f"{name}, int, from 0 to {upper}",
        lambda: algorithm(name, dpaudit.integers(-1, upper + 1), dtype="int", **given),
        samples=SLOWER if name.startswith("Bounded") else SLOWEST,
        watched="values out of the bounds, an empty dataset",
    )


def overflow(name: str, dtype: str, bound: int) -> Entry:
    """An algorithm on whole numbers that are too large to be summed up."""
    return Entry(
        f"{name}, {dtype}, overflow",
        lambda: overflowing(name, dtype, bound),
        samples=FAST,
        watched="sums beyond the type",
    )


ENTRIES: tuple[Entry, ...] = (
    Entry("LaplaceMechanism", lambda: noise("LaplaceMechanism"), tight=1.0),
    Entry(
        "LaplaceMechanism, far floats",
        lambda: between(
            noise("LaplaceMechanism"),
            ([-0.0], [1.0]),
            ([5e-324], [1.0]),
            ([2.0**53], [2.0**53 - 1.0]),
            ([-1e15], [-1e15 + 1.0]),
        ),
        samples=FAST,
        watched="-0.0, denormals, 2^53",
    ),
    Entry("GaussianMechanism", lambda: noise("GaussianMechanism", delta=0.01), samples=FAST),
    Entry(
        "Count",
        lambda: algorithm("Count", WHOLE, dtype="int"),
        tight=1.0,
        watched="an empty dataset",
    ),
    Entry(
        "Count, any float",
        lambda: algorithm("Count", ODD),
        samples=FAST,
        watched="NaN, infinities, an empty dataset",
    ),
    Entry(
        "BoundedSum, int",
        lambda: algorithm("BoundedSum", WHOLE, dtype="int"),
        tight=1.0,
        watched="values out of the bounds, an empty dataset",
    ),
    *plain_and_odd("BoundedSum", SLOWER),
    Entry(
        "BoundedSum, of several values in two partitions",
        lambda: algorithm("BoundedSum", l0_sensitivity=2, linf_sensitivity=2),
        samples=SLOWER,
        watched="values out of the bounds, an empty dataset",
    ),
    overflow("BoundedSum", "int", LARGE),
    overflow("BoundedSum", "int64", WIDEST),
    *plain_and_odd("BoundedMean", SLOWER),
    overflow("BoundedMean", "int", LARGE),
    overflow("BoundedMean", "int64", WIDEST),
    *plain_and_odd("BoundedVariance", SLOWER),
    *plain_and_odd("BoundedStandardDeviation", SLOWER),
    Entry(
        "BoundedVariance, int, overflow",
        lambda: overflowing("BoundedVariance", "int", 2**15),
        samples=FAST,
        watched="sums of squares beyond the type",
    ),
    *plain_and_odd("Max", SLOW),
    *plain_and_odd("Min", SLOW),
    *plain_and_odd("Median", SLOWEST),
    *plain_and_odd("Percentile", SLOWEST, percentile=0.9),
    Entry(
        "BoundedSum, bounds inferred",
        lambda: inferred("BoundedSum"),
        samples=SLOWEST,
        watched="one extreme value, too few records",
    ),
    Entry(
        "BoundedMean, bounds inferred",
        lambda: inferred("BoundedMean"),
        samples=SLOWEST,
        watched="one extreme value, too few records",
    ),
    Entry(
        "QuantileTree",
        lambda: quantiles(UNIT, "laplace", 0.0),
        samples=SLOWEST,
        watched="values out of the bounds, an empty dataset",
    ),
    Entry(
        "QuantileTree, any float",
        lambda: quantiles(ODD, "laplace", 0.0),
        samples=SLOWEST,
        watched="NaN, infinities, the largest floats, an empty dataset",
    ),
    Entry(
        "QuantileTree, gaussian",
        lambda: quantiles(UNIT, "gaussian", 0.01),
        samples=SLOWEST,
        watched="values out of the bounds, an empty dataset",
    ),
    Entry(
        "truncated_geometric",
        lambda: selection("truncated_geometric"),
        samples=SLOWER,
        watched="no user, one user",
    ),
    Entry(
        "truncated_geometric, three partitions",
        lambda: selection("truncated_geometric", 3),
        samples=SLOWER,
        watched="no user, one user",
    ),
    Entry(
        "laplace selection, three partitions",
        lambda: selection("laplace", 3),
        samples=SLOWER,
        watched="no user, one user",
    ),
    Entry(
        "gaussian selection, three partitions",
        lambda: selection("gaussian", 3),
        samples=SLOWER,
        watched="no user, one user",
    ),
    Entry(
        "laplace selection, pre_threshold=5",
        lambda: selection("laplace", 1, 5),
        samples=SLOWER,
        watched="no user, one user, as many as the threshold",
    ),
    Entry(
        "LaplaceMechanism, an int",
        lambda: between(noise("LaplaceMechanism", int), ([0], [1]), ([-1], [0])),
        samples=SLOWER,
    ),
    Entry(
        "GaussianMechanism, an int",
        lambda: between(noise("GaussianMechanism", int, delta=0.01), ([0], [1]), ([-1], [0])),
        samples=SLOWER,
    ),
    whole("BoundedMean", 4),
    whole("BoundedMean", 3),
    whole("BoundedVariance", 4),
    whole("BoundedVariance", 3),
    whole("BoundedStandardDeviation", 3),
    whole("Max", 3),
    whole("Median", 3),
    whole("Percentile", 3, percentile=0.9),
)
