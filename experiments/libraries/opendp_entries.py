"""OpenDP: measurements on answers, on records and on single values, with the map's own claim."""

from __future__ import annotations

import math

from entry import Entry, between
from opendp_measurements import (
    INFINITE,
    LONG,
    SPECIAL,
    UNIT,
    asked_of_a_context,
    bits,
    candidate,
    canonical,
    clamped_sum,
    counted,
    empty_or_null,
    fixed_delta,
    gaussian_threshold,
    huge_sum,
    in_another_order,
    many_at_once,
    noise,
    opendp,
    outside_the_categories,
    overflowing_sum,
    overflowing_tree,
    projection,
    quantile,
    resized_mean,
    scored,
    seen_once,
    several,
    sized_statistic,
    variance_far_from_zero,
    whole_sum,
)

import dpaudit

SLOW = 40_000  # draws: a call takes half a millisecond
FEWER = 20_000
LARGEST = 2**63 - 1
THREE = math.log(3.0)
SAME_LENGTH = [(b"\x00", b"\x03"), (b"\x03", b"\x0c"), (b"\x00\x00", b"\x80\x01")]
ANY_LENGTH = [(b"\x03", b"\x03\x00"), (b"", b"\x01")]

ENTRIES: tuple[Entry, ...] = (
    Entry("make_laplace, a float", lambda: noise(float, "make_laplace"), tight=1.0),
    Entry(
        "make_laplace, far floats",
        lambda: between(
            noise(float, "make_laplace"),
            ([-0.0], [1.0]),
            ([5e-324], [1.0]),
            ([2.0**53], [2.0**53 - 1.0]),
            ([-1e15], [-1e15 + 1.0]),
        ),
        samples=100_000,
        watched="-0.0, denormals, 2^53",
    ),
    Entry("make_laplace, an int", lambda: noise(int, "make_laplace"), tight=1.0),
    Entry("make_geometric", lambda: noise(int, "make_geometric"), tight=1.0),
    Entry(
        "make_geometric, bounds=(0, 10)",
        lambda: noise(int, "make_geometric", bounds=(0, 10)),
        samples=100_000,
        watched="answers out of the bounds",
    ),
    Entry("make_gaussian, a float", lambda: noise(float, "make_gaussian"), samples=100_000),
    Entry("make_gaussian, an int", lambda: noise(int, "make_gaussian")),
    Entry("make_zCDP_to_approxDP, make_fix_delta", fixed_delta, samples=SLOW),
    Entry("make_canonical_noise", canonical, samples=SLOW),
    Entry(
        "make_randomized_response_bool",
        lambda: many_at_once(opendp().m.make_randomized_response_bool(0.75)),
        tight=THREE,
    ),
    Entry(
        "make_randomized_response",
        lambda: many_at_once(
            opendp().m.make_randomized_response(["a", "b", "c"], prob=0.6),
            records=dpaudit.categories("a", "b", "c"),
        ),
        tight=THREE,
    ),
    Entry(
        "make_randomized_response, other values",
        outside_the_categories,
        samples=SLOW,
        watched="values that are no category",
    ),
    Entry("make_randomized_response_bitvec", lambda: bits(SAME_LENGTH), samples=SLOW),
    Entry(
        "make_randomized_response_bitvec, any length",
        lambda: bits(ANY_LENGTH),
        samples=FEWER,
        watched="bit vectors of two lengths, an empty one",
    ),
    Entry("make_noisy_max", lambda: scored("make_noisy_max", "max_divergence"), samples=SLOW),
    Entry(
        "make_noisy_max, zCDP",
        lambda: scored("make_noisy_max", "zero_concentrated_divergence"),
        samples=SLOW,
    ),
    Entry(
        "make_noisy_max, negate=True",
        lambda: scored("make_noisy_max", "max_divergence", negate=True),
        samples=SLOW,
    ),
    Entry(
        "make_noisy_top_k, k=2",
        lambda: scored("make_noisy_top_k", "max_divergence", k=2),
        samples=SLOW,
    ),
    Entry("make_private_quantile", quantile, samples=SLOW, watched="an empty dataset"),
    Entry(
        "make_private_quantile, any float",
        lambda: quantile(INFINITE),
        samples=SLOW,
        watched="infinities, the largest floats, an empty dataset",
    ),
    Entry(
        "then_count, then_laplace",
        empty_or_null,
        samples=SLOW,
        watched="NaN, infinities, an empty dataset",
    ),
    Entry(
        "then_clamp, then_sum, then_laplace",
        lambda: clamped_sum(UNIT),
        samples=SLOW,
        watched="values out of the bounds",
    ),
    Entry(
        "then_clamp, then_sum, then_laplace, any float",
        lambda: clamped_sum(INFINITE),
        samples=SLOW,
        watched="infinities, the largest floats, an empty dataset",
    ),
    Entry(
        "then_impute_constant, then_clamp, then_sum",
        lambda: clamped_sum(SPECIAL, null=True),
        samples=SLOW,
        watched="NaN, infinities, an empty dataset",
    ),
    Entry(
        "then_sum of ints",
        lambda: dpaudit.integrations.from_opendp(whole_sum(10)),
        samples=SLOW,
        watched="an empty dataset",
    ),
    Entry(
        "then_sum of ints, overflow", overflowing_sum, samples=FEWER, watched="sums beyond 64 bits"
    ),
    Entry(
        "then_sum of floats, huge",
        huge_sum,
        samples=FEWER,
        watched="1e290, denormals, another order",
    ),
    Entry(
        "make_laplace, largest ints",
        lambda: between(
            noise(LONG, "make_laplace"),
            ([LARGEST], [LARGEST - 1]),
            ([-LARGEST - 1], [-LARGEST]),
            ([-1], [0]),
        ),
        samples=100_000,
        watched="the ends of 64 bits",
    ),
    Entry(
        "then_resize, then_mean, then_laplace",
        lambda: dpaudit.integrations.from_opendp(resized_mean()),
        samples=FEWER,
        watched="an empty dataset",
    ),
    Entry(
        "then_resize, then_mean, another order",
        in_another_order,
        samples=FEWER,
        watched="another order, an empty dataset",
    ),
    Entry("then_mean of a known size", lambda: sized_statistic("then_mean", 2.0), samples=FEWER),
    Entry(
        "then_variance of a known size",
        lambda: sized_statistic("then_variance", 20.0),
        samples=FEWER,
    ),
    Entry(
        "then_count_by_categories, then_laplace",
        lambda: counted(
            lambda dp, records: (
                records
                >> dp.t.then_count_by_categories(["a", "b", "c"])
                >> dp.m.then_laplace(scale=1.0)
            )
        ),
        samples=FEWER,
        watched="a category seen once, or not listed",
    ),
    Entry(
        "then_b_ary_tree, then_laplace",
        lambda: counted(
            lambda dp, records: (
                records
                >> dp.t.then_count_by_categories(["a", "b", "c"])
                >> dp.t.then_b_ary_tree(4, 2)
                >> dp.m.then_laplace(scale=3.0)
            )
        ),
        samples=FEWER,
        watched="a category seen once, or not listed",
    ),
    Entry(
        "then_count_distinct, then_laplace",
        lambda: counted(
            lambda dp, records: (
                records >> dp.t.then_count_distinct() >> dp.m.then_laplace(scale=1.0)
            )
        ),
        samples=FEWER,
        watched="a category seen once",
    ),
    Entry(
        "then_count_by, then_laplace_threshold",
        lambda: counted(
            lambda dp, records: (
                records
                >> dp.t.then_count_by()
                >> dp.m.then_laplace_threshold(scale=1.0, threshold=3)
            )
        ),
        samples=FEWER,
        watched="a category seen once",
    ),
    Entry(
        "make_gaussian_threshold", gaussian_threshold, samples=FEWER, watched="a category seen once"
    ),
    Entry("make_alp_queryable", projection, samples=FEWER, watched="a category seen once"),
    Entry(
        "Context, clamped sum",
        lambda: asked_of_a_context(
            lambda query: query.impute_constant(0.0).clamp((0.0, 1.0)).sum().laplace()
        ),
        samples=FEWER,
        watched="NaN, infinities, an empty dataset",
    ),
    Entry(
        "Context, mean",
        lambda: asked_of_a_context(
            lambda query: (
                query.impute_constant(0.0)
                .clamp((0.0, 1.0))
                .resize(5, constant=0.5)
                .mean()
                .laplace()
            )
        ),
        samples=FEWER,
        watched="NaN, infinities, an empty dataset",
    ),
    Entry("make_composition", several, samples=FEWER, watched="an empty dataset"),
    Entry("make_select_private_candidate", candidate, samples=FEWER),
    Entry(
        "then_b_ary_tree, overflow", overflowing_tree, samples=FEWER, watched="the ends of 32 bits"
    ),
    Entry(
        "then_variance, far from zero",
        variance_far_from_zero,
        samples=FEWER,
        watched="numbers near 2^50",
    ),
    Entry(
        "then_laplace_threshold, seen once", seen_once, samples=SLOW, watched="a category seen once"
    ),
    Entry(
        "make_gaussian_threshold, seen once",
        lambda: between(gaussian_threshold(2), ({}, {"a": 1})),
        samples=SLOW,
        watched="a category seen once",
    ),
)
