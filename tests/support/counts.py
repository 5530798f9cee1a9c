"""How many accusations a count allows, and which accusers it catches: binomial tails."""

from scipy.stats import binom

FALSE_ALARM = 1e-7  # the chance that a count of a valid tester is too high


def most_accusations(runs: int, alpha: float, *, false_alarm: float = FALSE_ALARM) -> int:
    """The count that runs which accuse with probability `alpha` exceed as rarely as stated."""
    return int(binom.isf(false_alarm, runs, alpha))


def power(runs: int, alpha: float, rate: float, *, false_alarm: float = FALSE_ALARM) -> float:
    """The chance that runs which accuse with probability `rate` exceed that count."""
    return float(binom.sf(most_accusations(runs, alpha, false_alarm=false_alarm), runs, rate))
