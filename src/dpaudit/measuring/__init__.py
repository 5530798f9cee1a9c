"""How large is epsilon on one pair? The largest that a given number of draws can certify."""

from dpaudit.measuring.measure import EpsilonBound, measure_epsilon

__all__ = ["EpsilonBound", "measure_epsilon"]
