"""What OpenDP offers, put together as a user would: each with the claim of its privacy map.

A scale is chosen so that the claim is near 1. Values of note are within the domain that the
measurement names: infinities where it has no bounds, NaN where it takes null values.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from entry import between

import dpaudit
from dpaudit import Subject
from dpaudit.domains import Domain
from dpaudit.neighbours import FixedPairs

Kind = type | str

LONG = "i64"  # int stands for 32 bits
AT_ONCE = 100  # releases of one composition
CITIES = dpaudit.categories("a", "b", "c", "never asked for")
UNIT = dpaudit.floats(-1, 2)  # clamped to [0, 1]
SPECIAL = UNIT.with_odd_values()
INFINITE = SPECIAL.filter(lambda record: not math.isnan(record), "no NaN")


def opendp() -> Any:
    """The library, with what is open to every user."""
    dp: Any = importlib.import_module("opendp.prelude")
    dp.enable_features("contrib")
    return dp


def answers(kind: Kind, *, norm: str = "l1_distance") -> tuple[Any, Any]:
    """Answers to queries, as many as are given."""
    dp = opendp()
    number = dp.atom_domain(T=float, nan=False) if kind is float else dp.atom_domain(T=kind)
    return dp.vector_domain(number), getattr(dp, norm)(T=kind)


def numbers(kind: Kind = float, **atom: Any) -> tuple[Any, Any]:
    """Records that are numbers, of which one more or less makes a neighbour."""
    dp = opendp()
    size = atom.pop("size", None)
    return dp.vector_domain(dp.atom_domain(T=kind, **atom), size=size), dp.symmetric_distance()


def words() -> tuple[Any, Any]:
    """Records that are words."""
    dp = opendp()
    return dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()


def noise(kind: Kind, name: str, **given: Any) -> Subject:
    """Noise on one answer, of which a vector of equal answers is as many draws."""
    dp = opendp()
    alone = dp.atom_domain(T=kind, nan=False) if kind is float else dp.atom_domain(T=kind)
    make = getattr(dp.m, name)
    subject = dpaudit.integrations.from_opendp(
        make(alone, dp.absolute_distance(T=kind), scale=1.0, **given)
    )
    norm = "l2_distance" if name == "make_gaussian" else "l1_distance"
    vector = make(*answers(kind, norm=norm), scale=1.0, **given)

    def noisy(data: Any, size: int) -> list[Any]:
        released: list[Any] = vector([plain(data[0])] * size)
        return released

    return replace(subject, mechanism=noisy)


def plain(value: Any) -> Any:
    """A number of NumPy as one of Python."""
    return value.item() if hasattr(value, "item") else value


def many_at_once(measurement: Any, **given: Any) -> Subject:
    """What the adapter makes of it, drawn as a composition of many releases: that is faster."""
    subject = dpaudit.integrations.from_opendp(measurement, **given)
    several = opendp().c.make_composition([measurement] * AT_ONCE)

    def released(data: Any, size: int) -> list[Any]:
        value = plain(data[0])
        drawn = [one for _ in range(0, size, AT_ONCE) for one in several(value)]
        return drawn[:size]

    return replace(subject, mechanism=released)


def scored(name: str, measure: str, **given: Any) -> Subject:
    """The winner, or the winners, of noisy scores."""
    dp = opendp()
    space = answers(float, norm="linf_distance")
    made = getattr(dp.m, name)(*space, getattr(dp, measure)(), scale=2.0, **given)
    return dpaudit.integrations.from_opendp(made)


def clamped_sum(records: Domain, *, null: bool = False) -> Subject:
    """A sum of numbers clamped to [0, 1], null values imputed where there are any."""
    dp = opendp()
    space: Any = numbers(nan=null)
    if null:
        space = space >> dp.t.then_impute_constant(0.5)
    total = space >> dp.t.then_clamp((0.0, 1.0)) >> dp.t.then_sum()
    return dpaudit.integrations.from_opendp(total >> dp.m.then_laplace(scale=1.0), records=records)


def whole_sum(bound: int, kind: Kind = int) -> Any:
    """A sum of whole numbers from -bound to bound, with noise of that scale."""
    dp = opendp()
    total = numbers(kind, bounds=(-bound, bound)) >> dp.t.then_sum()
    return total >> dp.m.then_laplace(scale=float(bound))


def overflowing_sum() -> Subject:
    """A sum that does not fit into its type, on either side of zero."""
    far, near = 2**62, 1
    return between(
        dpaudit.integrations.from_opendp(whole_sum(far, LONG)),
        ([far, far, far], [far, far]),
        ([far, far, -far], [far, far, far, -far]),
        ([far, -far, far, far], [far, -far, far]),
        ([-far] * 3, [-far] * 4),
        ([far, far, near], [far, far]),
    )


def huge_sum() -> Subject:
    """A sum of floats that cancel, in every order: OpenDP's datasets have none."""
    dp = opendp()
    space = numbers(bounds=(-1e290, 1e290), nan=False)
    measurement = space >> dp.t.then_sum() >> dp.m.then_laplace(scale=1e290)
    return between(
        dpaudit.integrations.from_opendp(measurement),
        ([1e290, 1.0, -1e290], [1e290, -1e290]),
        ([1e290, 1.0, -1e290], [-1e290, 1e290, 1.0, 1e290]),
        ([1e290] * 9, [1e290] * 10),
        ([5e-324], []),
        ([-1e290], []),
    )


def resized_mean() -> Any:
    """A mean of five records, some left out or put in."""
    dp = opendp()
    space = numbers(bounds=(0.0, 10.0), nan=False)
    resized = space >> dp.t.then_resize(5, 5.0) >> dp.t.then_mean()
    return resized >> dp.m.then_laplace(scale=2.0)


def in_another_order() -> Subject:
    """Datasets that differ by a record and in their order: which records are cut off is random."""
    return between(
        dpaudit.integrations.from_opendp(resized_mean()),
        ([10.0] * 5 + [0.0] * 5, [0.0] * 5 + [10.0] * 4),
        ([0.0, 10.0, 10.0, 10.0, 10.0, 10.0], [10.0] * 5),
        ([], [10.0]),
    )


def sized_statistic(name: str, scale: float) -> Subject:
    """A statistic of exactly five records, of which one is replaced."""
    dp = opendp()
    space = numbers(bounds=(0.0, 10.0), nan=False, size=5)
    statistic = space >> getattr(dp.t, name)()
    return dpaudit.integrations.from_opendp(statistic >> dp.m.then_laplace(scale=scale), d_in=2)


def counted(release: Callable[[Any, Any], Any]) -> Subject:
    """What is released of words; one of them may be none that was asked for."""
    return dpaudit.integrations.from_opendp(release(opendp(), words()), records=CITIES)


def empty_or_null() -> Subject:
    """A count of records that are floats, NaN among them."""
    dp = opendp()
    count = numbers(nan=True) >> dp.t.then_count() >> dp.m.then_laplace(scale=1.0)
    return dpaudit.integrations.from_opendp(count)


def seen_once() -> Subject:
    """A word that one record has, or none; only a noisy count of it may tell."""
    subject = counted(
        lambda dp, records: (
            records >> dp.t.then_count_by() >> dp.m.then_laplace_threshold(scale=1.0, threshold=2)
        )
    )
    return between(subject, (["a"], []), (["a", "b"], ["b"]))


def gaussian_threshold(threshold: int = 3) -> Subject:
    """Counts of words that are not known beforehand, of which one is one more."""
    dp = opendp()
    space = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int))
    metric = dp.l02inf_distance(dp.absolute_distance(T=int))
    made = dp.m.make_gaussian_threshold(space, metric, scale=1.0, threshold=threshold)
    rho, delta = made.map((1, 1, 1))
    loose = dpaudit.ZCDP(rho)
    return Subject(
        mechanism=dpaudit.one_at_a_time(lambda data: made(data)),
        claim=dpaudit.Profile(lambda level: delta + loose.delta(level), f"{loose} but for {delta}"),
        neighbours=maps_one_apart(),
    )


def maps_one_apart() -> FixedPairs:
    """Counts by word, one of which is one more, or is there at all."""
    return dpaudit.pairs(
        [({}, {"a": 1}), ({"b": 4}, {"a": 1, "b": 4}), ({"a": 3}, {"a": 4}), ({"a": 2}, {"a": 3})]
    )


def projection() -> Subject:
    """The projection of sparse counts, asked for a few words that are and are not there."""
    dp = opendp()
    space = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int))
    metric = dp.l01inf_distance(dp.absolute_distance(T=int))
    made = dp.m.make_alp_queryable(space, metric, scale=1.0, total_limit=8, value_limit=4)

    def asked(data: Any) -> list[float]:
        answer = made(data)
        return [answer(word) for word in ("a", "b", "c")]

    return Subject(
        mechanism=dpaudit.one_at_a_time(asked),
        claim=dpaudit.PureDP(made.map((1, 1, 1))),
        neighbours=maps_one_apart(),
    )


def bits(listed: Sequence[tuple[bytes, bytes]]) -> Subject:
    """Randomized response on bit vectors of at most two ones."""
    dp = opendp()
    domain = dp.bitvector_domain(max_weight=2)
    made = dp.m.make_randomized_response_bitvec(domain, dp.discrete_distance(), f=0.75)

    def flipped(data: Any) -> list[int]:
        return list(made(bytes(data)))

    return Subject(
        mechanism=dpaudit.one_at_a_time(flipped),
        claim=dpaudit.PureDP(made.map(1)),
        neighbours=dpaudit.pairs([(list(data), list(other)) for data, other in listed]),
    )


def outside_the_categories() -> Subject:
    """Randomized response on a word that is none of the outcomes."""
    made = opendp().m.make_randomized_response(["a", "b", "c"], prob=0.6)
    subject = dpaudit.integrations.from_opendp(made, records=CITIES)
    return between(subject, (["a"], ["never asked for"]), ([""], ["b"]))


def quantile(records: Domain | None = None) -> Subject:
    """A median among whole numbers from 0 to 10."""
    dp = opendp()
    candidates = [float(number) for number in range(11)]
    space = numbers(bounds=(0.0, 10.0), nan=False) if records is None else numbers(nan=False)
    made = space >> dp.m.then_private_quantile(dp.max_divergence(), candidates, 0.5, 1.0)
    return dpaudit.integrations.from_opendp(made, records=records)


def canonical() -> Subject:
    """Noise of the canonical distribution."""
    dp = opendp()
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    return dpaudit.integrations.from_opendp(
        dp.m.make_canonical_noise(*space, d_in=1.0, d_out=(1.0, 0.01))
    )


def fixed_delta() -> Subject:
    """Gaussian noise whose zCDP is said in epsilon and delta."""
    dp = opendp()
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    curve = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=2.0))
    return dpaudit.integrations.from_opendp(dp.c.make_fix_delta(curve, 1e-3))


def asked_of_a_context(ask: Callable[[Any], Any], **given: Any) -> Subject:
    """A query of a context, by people who give two records each."""
    dp = opendp()
    context = dp.Context.compositor(
        data=[0.0],
        privacy_unit=dp.unit_of(contributions=2),
        privacy_loss=dp.loss_of(epsilon=2.0),
        split_evenly_over=2,
        domain=dp.vector_domain(dp.atom_domain(T=float, nan=True)),
    )
    return dpaudit.integrations.from_opendp(ask(context.query()), **given)


def several() -> Subject:
    """A count, a clamped sum and a median of the same records."""
    dp = opendp()
    space = numbers(bounds=(0.0, 1.0), nan=False)
    parts = [
        space >> dp.t.then_count() >> dp.m.then_laplace(scale=3.0),
        space >> dp.t.then_sum() >> dp.m.then_laplace(scale=3.0),
        space >> dp.m.then_private_quantile(dp.max_divergence(), [0.0, 0.5, 1.0], 0.5, 3.0),
    ]
    return dpaudit.integrations.from_opendp(dp.c.make_composition(parts))


def candidate() -> Subject:
    """The first noisy score above a threshold; that the scores are honest is our own word."""
    dp = opendp()
    dp.enable_features("honest-but-curious")
    laplace = dp.m.make_laplace(
        dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=2.0
    )
    score = dp.m.make_user_measurement(
        laplace.input_domain,
        laplace.input_metric,
        dp.max_divergence(),
        lambda value: (laplace(value), "a candidate"),
        laplace.map,
        TO="(f64, ExtrinsicObject)",
    )
    made = dp.c.make_select_private_candidate(score, stop_probability=0.2, threshold=1.0)
    return dpaudit.integrations.from_opendp(made)


def overflowing_tree() -> Subject:
    """Counts whose sums, further up in a tree, do not fit into their type."""
    dp = opendp()
    counts = dp.vector_domain(dp.atom_domain(T=int), size=2)
    tree = (counts, dp.l1_distance(T=int)) >> dp.t.then_b_ary_tree(2, 2)
    most = 2**31 - 1
    return between(
        dpaudit.integrations.from_opendp(tree >> dp.m.then_laplace(scale=2.0)),
        ([most, 0], [most, 1]),
        ([most - 1, 1], [most - 1, 2]),
    )


def variance_far_from_zero() -> Subject:
    """A variance of numbers between which there are but three floats: their mean is rounded."""
    dp = opendp()
    least, size = 2.0**50, 1024
    space = numbers(bounds=(least, least + 1.0), nan=False, size=size)
    variance = space >> dp.t.then_variance()
    measurement = variance >> dp.m.then_laplace(scale=variance.map(2))
    others = [least + 0.25] * (size - 1)
    return between(
        dpaudit.integrations.from_opendp(measurement, d_in=2),
        ([least + 0.5, *others], [least + 0.25, *others]),
    )
