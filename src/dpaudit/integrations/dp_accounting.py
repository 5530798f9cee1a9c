"""dp-accounting: the whole curve of an accountant as a claim."""

from functools import cache
from typing import Any

from dpaudit.claims import Profile
from dpaudit.errors import InvalidClaim
from dpaudit.integrations.building import needed
from dpaudit.outputs import short


def from_dp_accounting(accounted: Any, *, name: str | None = None) -> Profile:
    """Make a claim of a privacy loss distribution, an accountant or an event of dp-accounting.

    The claim is the whole curve of delta over epsilon, not one point of it: an excess anywhere
    refutes it. An event is composed in a PLD accountant, whose discretization is pessimistic. The
    neighbours are those of the accountant: by default, one record more or less.

    >>> import dp_accounting, dpaudit
    >>> claim = dpaudit.integrations.from_dp_accounting(
    ...     dp_accounting.GaussianDpEvent(noise_multiplier=1.0)
    ... )
    >>> print(claim)
    privacy profile 'GaussianDpEvent'
    >>> round(claim.delta(1.0), 6), round(dpaudit.GaussianDP(1.0).delta(1.0), 6)
    (0.126937, 0.126937)
    """
    name = type(accounted).__name__ if name is None else name
    for method in ("get_delta_for_epsilon", "get_delta"):
        if callable(curve := getattr(accounted, method, None)):
            return Profile(cache(curve), name)
    if any(parent.__name__ == "DpEvent" for parent in type(accounted).__mro__):
        accountant = needed("dp_accounting.pld", "dp-accounting").PLDAccountant()
        accountant.compose(accounted)
        return Profile(cache(accountant.get_delta), name)
    raise InvalidClaim(
        "from_dp_accounting needs a privacy loss distribution, an accountant or a DpEvent, got "
        f"{short(accounted)}."
    )
