"""Numbers in, numbers out: bounds on proportions, privacy profiles, rounding to the safe side."""
