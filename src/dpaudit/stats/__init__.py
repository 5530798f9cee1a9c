"""Numbers in, numbers out: exact bounds on proportions and rounding to the safe side."""
