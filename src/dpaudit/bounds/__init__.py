"""Exact bounds: numbers in, numbers out."""

from dpaudit.bounds.binomial import (
    coin_evidence,
    dispersion_evidence,
    epsilon_from_event,
    log_tail,
    make_ready,
    proportion_anytime,
    proportion_lower,
    proportion_upper,
    staked_proportion_lower,
)
from dpaudit.bounds.fisher import fisher_log_tail
from dpaudit.bounds.means import (
    bernstein_width,
    chernoff_slack,
    mean_lower,
    mean_reach,
    mean_upper,
    normal_quantile,
)
from dpaudit.bounds.rounding import percent_below, round_down, round_up
