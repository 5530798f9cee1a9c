"""What a mechanism of the zoo refuses to be built with."""

import math

from dpaudit.errors import InvalidMechanism


def require_positive(mechanism: str, **parameters: float) -> None:
    """Refuse parameters that are not positive, finite numbers.

    >>> require_positive("LaplaceCount", epsilon=-1.0)
    Traceback (most recent call last):
        ...
    dpaudit.errors.InvalidMechanism: LaplaceCount needs a positive epsilon, got -1.0.
    """
    for name, value in parameters.items():
        if not 0 < value < math.inf:
            raise InvalidMechanism(f"{mechanism} needs a positive {name}, got {value!r}.")
