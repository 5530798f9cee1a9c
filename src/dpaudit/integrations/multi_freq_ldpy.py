"""multi-freq-ldpy: client functions that report one value of a user.

They draw from a global generator of their own, which an audit's `rng` does not reach.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from dpaudit.domains import integers
from dpaudit.integrations.building import check_parts, local_protocol
from dpaudit.mechanism import Subject, name_with_parameters


def from_multi_freq_ldpy(
    client: Callable[..., Any], k: int, epsilon: float, **settings: Any
) -> Subject:
    """Make a subject of a client function of multi-freq-ldpy, for any two values below `k`.

    >>> import dpaudit
    >>> from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
    >>> print(dpaudit.integrations.from_multi_freq_ldpy(GRR_Client, k=4, epsilon=1.0))
    GRR_Client(k=4, epsilon=1.0): 1-DP; replace one of 1 record of integers(0, 3)
    """
    needs = "from_multi_freq_ldpy needs a function such as GRR_Client"
    check_parts(client, "__call__", needs=needs)
    ask = partial(client, k=k, epsilon=epsilon, **settings)
    return local_protocol(name_with_parameters(ask), ask, integers(0, k - 1), epsilon)
