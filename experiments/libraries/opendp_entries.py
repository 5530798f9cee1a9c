"""OpenDP: measurements on answers, on records and on single values, with the map's own claim."""

from __future__ import annotations

import math

from entry import Entry
from opendp_measurements import (
    INFINITE,
    LONG,
    SPECIAL,
    UNIT,
    asked_of_a_context,
    between,
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
    Entry(function="make_laplace, a float", make=lambda: noise(float, "make_laplace"), tight=1.0),
    Entry(
        function="make_laplace, far floats",
        make=lambda: between(
            noise(float, "make_laplace"),
            ([-0.0], [1.0]),
            ([5e-324], [1.0]),
            ([2.0**53], [2.0**53 - 1.0]),
            ([-1e15], [-1e15 + 1.0]),
        ),
        samples=100_000,
        watched="-0.0, denormals, 2^53",
    ),
    Entry(function="make_laplace, an int", make=lambda: noise(int, "make_laplace"), tight=1.0),
    Entry(function="make_geometric", make=lambda: noise(int, "make_geometric"), tight=1.0),
    Entry(
        function="make_geometric, bounds=(0, 10)",
        make=lambda: noise(int, "make_geometric", bounds=(0, 10)),
        samples=100_000,
        watched="answers out of the bounds",
    ),
    Entry(
        function="make_gaussian, a float",
        make=lambda: noise(float, "make_gaussian"),
        samples=100_000,
    ),
    Entry(function="make_gaussian, an int", make=lambda: noise(int, "make_gaussian")),
    Entry(
        function="make_zCDP_to_approxDP, make_fix_delta",
        make=fixed_delta,
        samples=SLOW,
    ),
    Entry(function="make_canonical_noise", make=canonical, samples=SLOW),
    Entry(
        function="make_randomized_response_bool",
        make=lambda: many_at_once(opendp().m.make_randomized_response_bool(0.75)),
        tight=THREE,
    ),
    Entry(
        function="make_randomized_response",
        make=lambda: many_at_once(
            opendp().m.make_randomized_response(["a", "b", "c"], prob=0.6),
            records=dpaudit.categories("a", "b", "c"),
        ),
        tight=THREE,
    ),
    Entry(
        function="make_randomized_response, other values",
        make=outside_the_categories,
        samples=SLOW,
        watched="values that are no category",
    ),
    Entry(
        function="make_randomized_response_bitvec",
        make=lambda: bits(SAME_LENGTH),
        samples=SLOW,
    ),
    Entry(
        function="make_randomized_response_bitvec, any length",
        make=lambda: bits(ANY_LENGTH),
        samples=FEWER,
        watched="bit vectors of two lengths, an empty one",
    ),
    Entry(
        function="make_noisy_max",
        make=lambda: scored("make_noisy_max", "max_divergence"),
        samples=SLOW,
    ),
    Entry(
        function="make_noisy_max, zCDP",
        make=lambda: scored("make_noisy_max", "zero_concentrated_divergence"),
        samples=SLOW,
    ),
    Entry(
        function="make_noisy_max, negate=True",
        make=lambda: scored("make_noisy_max", "max_divergence", negate=True),
        samples=SLOW,
    ),
    Entry(
        function="make_noisy_top_k, k=2",
        make=lambda: scored("make_noisy_top_k", "max_divergence", k=2),
        samples=SLOW,
    ),
    Entry(
        function="make_private_quantile",
        make=quantile,
        samples=SLOW,
        watched="an empty dataset",
    ),
    Entry(
        function="make_private_quantile, any float",
        make=lambda: quantile(INFINITE),
        samples=SLOW,
        watched="infinities, the largest floats, an empty dataset",
    ),
    Entry(
        function="then_count, then_laplace",
        make=empty_or_null,
        samples=SLOW,
        watched="NaN, infinities, an empty dataset",
    ),
    Entry(
        function="then_clamp, then_sum, then_laplace",
        make=lambda: clamped_sum(UNIT),
        samples=SLOW,
        watched="values out of the bounds",
    ),
    Entry(
        function="then_clamp, then_sum, then_laplace, any float",
        make=lambda: clamped_sum(INFINITE),
        samples=SLOW,
        watched="infinities, the largest floats, an empty dataset",
    ),
    Entry(
        function="then_impute_constant, then_clamp, then_sum",
        make=lambda: clamped_sum(SPECIAL, null=True),
        samples=SLOW,
        watched="NaN, infinities, an empty dataset",
    ),
    Entry(
        function="then_sum of ints",
        make=lambda: dpaudit.integrations.from_opendp(whole_sum(10)),
        samples=SLOW,
        watched="an empty dataset",
    ),
    Entry(
        function="then_sum of ints, overflow",
        make=overflowing_sum,
        samples=FEWER,
        watched="sums beyond 64 bits",
    ),
    Entry(
        function="then_sum of floats, huge",
        make=huge_sum,
        samples=FEWER,
        watched="1e290, denormals, another order",
    ),
    Entry(
        function="make_laplace, largest ints",
        make=lambda: between(
            noise(LONG, "make_laplace"),
            ([LARGEST], [LARGEST - 1]),
            ([-LARGEST - 1], [-LARGEST]),
            ([-1], [0]),
        ),
        samples=100_000,
        watched="the ends of 64 bits",
    ),
    Entry(
        function="then_resize, then_mean, then_laplace",
        make=lambda: dpaudit.integrations.from_opendp(resized_mean()),
        samples=FEWER,
        watched="an empty dataset",
    ),
    Entry(
        function="then_resize, then_mean, another order",
        make=in_another_order,
        samples=FEWER,
        watched="another order, an empty dataset",
    ),
    Entry(
        function="then_mean of a known size",
        make=lambda: sized_statistic("then_mean", 2.0),
        samples=FEWER,
    ),
    Entry(
        function="then_variance of a known size",
        make=lambda: sized_statistic("then_variance", 20.0),
        samples=FEWER,
    ),
    Entry(
        function="then_count_by_categories, then_laplace",
        make=lambda: counted(
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
        function="then_b_ary_tree, then_laplace",
        make=lambda: counted(
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
        function="then_count_distinct, then_laplace",
        make=lambda: counted(
            lambda dp, records: (
                records >> dp.t.then_count_distinct() >> dp.m.then_laplace(scale=1.0)
            )
        ),
        samples=FEWER,
        watched="a category seen once",
    ),
    Entry(
        function="then_count_by, then_laplace_threshold",
        make=lambda: counted(
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
        function="make_gaussian_threshold",
        make=gaussian_threshold,
        samples=FEWER,
        watched="a category seen once",
    ),
    Entry(
        function="make_alp_queryable",
        make=projection,
        samples=FEWER,
        watched="a category seen once",
    ),
    Entry(
        function="Context, clamped sum",
        make=lambda: asked_of_a_context(
            lambda query: query.impute_constant(0.0).clamp((0.0, 1.0)).sum().laplace()
        ),
        samples=FEWER,
        watched="NaN, infinities, an empty dataset",
    ),
    Entry(
        function="Context, mean",
        make=lambda: asked_of_a_context(
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
    Entry(function="make_composition", make=several, samples=FEWER, watched="an empty dataset"),
    Entry(function="make_select_private_candidate", make=candidate, samples=FEWER),
    Entry(
        function="then_b_ary_tree, overflow",
        make=overflowing_tree,
        samples=FEWER,
        watched="the ends of 32 bits",
    ),
    Entry(
        function="then_variance, far from zero",
        make=variance_far_from_zero,
        samples=FEWER,
        watched="numbers near 2^50",
    ),
    Entry(
        function="then_laplace_threshold, seen once",
        make=seen_once,
        samples=SLOW,
        watched="a category seen once",
    ),
    Entry(
        function="make_gaussian_threshold, seen once",
        make=lambda: between(gaussian_threshold(2), ({}, {"a": 1})),
        samples=SLOW,
        watched="a category seen once",
    ),
)
