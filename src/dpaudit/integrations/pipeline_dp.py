"""PipelineDP: pipelines on its local backend, for one privacy id more or less.

Noise comes from a generator of Google's library, samples from global ones; an audit's `rng` reaches
neither.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from dpaudit.domains import Domain
from dpaudit.integrations.building import check_parts, needed, released, stated_claim
from dpaudit.mechanism import Subject, name_with_parameters
from dpaudit.neighbours import add_or_remove_user


def from_pipeline_dp(
    build: Callable[[list[Any], Any], Any],
    *,
    epsilon: float,
    delta: float,
    records: Domain,
    user: str = "privacy_id",
    max_users: int = 5,
    max_rows: int = 5,
    min_users: int = 1,
    accountant: Callable[[float, float], Any] | None = None,
) -> Subject:
    """Make a subject of a pipeline of PipelineDP, built by `build(rows, accountant)`.

    Each output gets a fresh accountant of the whole `epsilon` and `delta`: a
    `NaiveBudgetAccountant`, or what `accountant(epsilon, delta)` makes. `build` runs the pipeline
    on the rows with a local backend and returns its collection, or a tuple of collections; budgets
    are computed afterwards. The order of a collection is not part of the output.

    Rows are dictionaries: `records` describes them, and `user` names the field of the privacy id.
    Neighbours differ by all rows of one privacy id. An engine refuses an empty list of rows, which
    tells that list from all others; `min_users=0` includes it.

    >>> import dpaudit, pipeline_dp
    >>> def counts(rows, accountant):
    ...     engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    ...     return engine.aggregate(rows, params, columns, public_partitions=["a", "b"])
    >>> visits = dpaudit.records(
    ...     privacy_id=dpaudit.integers(1, 5), shop=dpaudit.categories("a", "b")
    ... )
    >>> print(
    ...     dpaudit.integrations.from_pipeline_dp(counts, epsilon=1.0, delta=1e-6, records=visits)
    ... )
    counts: (1, 1e-06)-DP; add or remove all rows of one privacy_id of 1 to 5, each with at most 5
    rows of records(privacy_id=integers(1, 5), shop=categories('a', 'b'))
    """
    needs = "from_pipeline_dp needs a function build(rows, accountant)"
    check_parts(build, "__call__", needs=needs)
    near = add_or_remove_user(
        records, user, max_users=max_users, max_rows=max_rows, min_users=min_users
    )
    release = partial(_run, build, epsilon, delta, accountant)
    return released(name_with_parameters(build), release, stated_claim(epsilon, delta), near)


def _run(
    build: Callable[[list[Any], Any], Any],
    epsilon: float,
    delta: float,
    accountant: Callable[[float, float], Any] | None,
    data: Any,
) -> Any:
    """One output. Collections are lazy: they are read once the budgets are known."""
    if accountant is None:
        accountant = needed("pipeline_dp", "pipeline-dp").NaiveBudgetAccountant
    budget = accountant(epsilon, delta)
    found = build(data, budget)
    if not budget.finalized:
        budget.compute_budgets()
    return tuple(map(_collected, found)) if isinstance(found, tuple) else _collected(found)


def _collected(collection: Any) -> Any:
    """The metrics by partition, or the set of partitions."""
    items = list(collection)
    if all(isinstance(item, tuple) and len(item) == 2 for item in items):
        return dict(items)
    return frozenset(items)
