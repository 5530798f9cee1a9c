"""pure-ldp: clients that report one item of a user.

They draw from Python's global generators, which an audit's `rng` does not reach.
"""

from typing import Any

from dpaudit.domains import Domain, integers
from dpaudit.errors import InvalidMechanism
from dpaudit.integrations.building import check_parts, local_protocol
from dpaudit.mechanism import Subject, name_with_parameters


def from_pure_ldp(client: Any, *, records: Domain | None = None) -> Subject:
    """Make a subject of a client of pure-ldp: its epsilon, for any two of its `d` items.

    Clients number their items from 1 to `d`. Pass `records` for a client with an index mapper of
    its own, or without `d`.

    >>> import dpaudit
    >>> from pure_ldp.frequency_oracles.direct_encoding import DEClient
    >>> print(dpaudit.integrations.from_pure_ldp(DEClient(epsilon=1.0, d=4)))
    DEClient(epsilon=1.0, d=4): 1-DP; replace one of 1 record of integers(1, 4)
    """
    needs = "from_pure_ldp needs a client with privatise and epsilon"
    check_parts(client, "privatise", "epsilon", needs=needs)
    if records is None and getattr(client, "d", None) is None:
        raise InvalidMechanism(
            f"{type(client).__name__} does not say how many items there are. Say what they are: "
            "from_pure_ldp(client, records=dpaudit.integers(1, 10))."
        )
    items = integers(1, int(client.d)) if records is None else records
    name = name_with_parameters(client)
    return local_protocol(name, client.privatise, items, client.epsilon)
