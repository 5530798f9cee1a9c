"""One-sided confidence bounds for the mean of independent values in [0, 1].

- "betting": wealth against every candidate mean, by bets that aim at the wealth that refutes it.
  Its width is close to that of the normal approximation, and it holds for every sample size.
- "bernstein": the empirical Bernstein bound. "hoeffding": the bound that sees only the mean.

All hold exactly, whatever the distribution: a lower bound exceeds the mean with probability at most
`alpha`, an upper bound falls short of it with probability at most `alpha`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpaudit.arrays import Floats

BOUNDS = ("betting", "bernstein", "hoeffding")

_MAX_BLOCKS = 256  # of values between new bets: the finer, the closer to the wealth aimed at,
_MIN_BLOCK = 4  # but hardly so below this many values at a time
_FINE, _COARSE = 128, 18  # candidates where the bound is expected, and over all of [0, 1]
_MAX_LOSS = 0.9  # share of the wealth that a bet may lose on one value
_AIM = 1.1  # wealth aimed at, in units of 1/alpha: what is aimed at is only nearly reached
_HOPELESS = -12.0  # log of a wealth that does not come back
_VALUES_PER_GUESS = 10  # without a guess, every tenth value serves as one
_ROUNDING = 1e-9  # of the log of a wealth: more than floating-point error can add


def mean_lower(
    values: Floats, alpha: float, *, bound: str = "betting", guess: Floats | None = None
) -> float:
    """A number below the mean of what `values` were drawn from, with chance at least `1 - alpha`.

    `guess` holds earlier, independent values from which "betting" takes its stakes; without them it
    spends a tenth of `values` on that.

    >>> print(round(mean_lower(np.ones(1000), 0.05), 4), mean_lower(np.empty(0), 0.05))
    0.9962 0.0
    >>> print(round(mean_lower(np.ones(1000), 0.05, bound="hoeffding"), 4))
    0.9613
    """
    values = _checked(values, alpha, bound)
    if bound == "betting" or len(values) == 0:
        return _betting(values, alpha, guess, upper=False)
    return max(0.0, float(values.mean()) - _width(values, len(values), alpha, bound))


def mean_upper(
    values: Floats, alpha: float, *, bound: str = "betting", guess: Floats | None = None
) -> float:
    """A number above the mean of what `values` were drawn from, with chance at least `1 - alpha`.

    For `guess` see `mean_lower`.

    >>> print(round(mean_upper(np.zeros(1000), 0.05), 4), mean_upper(np.empty(0), 0.05))
    0.0038 1.0
    """
    values = _checked(values, alpha, bound)
    if bound == "betting" or len(values) == 0:
        return _betting(values, alpha, guess, upper=True)
    return min(1.0, float(values.mean()) + _width(values, len(values), alpha, bound))


def mean_reach(draws: int, alpha: float, bound: str = "betting") -> float:
    """The least upper bound that `draws` values can give, when all are 0.

    By symmetry the largest lower bound, when all are 1, is 1 minus it.

    >>> print(round(mean_reach(1000, 0.05), 5), round(mean_reach(1000, 0.05, "hoeffding"), 5))
    0.00332 0.0387
    """
    if draws == 0:
        return 1.0
    if bound == "betting":  # every bet as bold as it may be: (1 + _MAX_LOSS m/(1-m))^n = 1/alpha
        odds = math.expm1(-math.log(alpha) / draws) / _MAX_LOSS
        return odds / (1.0 + odds)
    return min(1.0, _width(np.zeros(1), draws, alpha, bound))


def bernstein_width(variance: Floats | float, draws: int, alpha: float) -> Floats:
    """How far the mean may lie from the sample mean: `sqrt(2 V l/n) + 7 l/(3(n-1))`, `l = log 2/a`.

    `V` is the sample variance. Source: Maurer and Pontil 2009, "Empirical Bernstein bounds and
    sample variance penalization", theorem 4.

    >>> print(bernstein_width(0.25, 1001, 0.05).round(6))
    0.051533
    """
    if draws < 2:
        return np.ones_like(variance)
    log = math.log(2.0 / alpha)
    return np.sqrt(2.0 * np.asarray(variance) * log / draws) + 7.0 * log / (3.0 * (draws - 1))


def chernoff_slack(floor: Floats | float, draws: int, alpha: float, *, upper: bool) -> Floats:
    """The relative error `eta` of the sample mean of values in `[floor, 1]`; inf if it is void.

    `mean >= sample / (1 + eta)`, `eta = sqrt(3 log(1/alpha) / (n floor))`, void if it exceeds 1;
    `mean <= sample / (1 - eta)`, `eta = sqrt(2 log(1/alpha) / (n floor))`, void if it reaches 1.
    Source: Mitzenmacher and Upfal 2005, "Probability and computing", theorems 4.4 and 4.5.

    >>> print(chernoff_slack(0.1, 1000, 0.05, upper=True).round(4))
    0.2448
    """
    factor = (2.0 if upper else 3.0) * -math.log(alpha)
    with np.errstate(divide="ignore"):
        eta = np.sqrt(factor / (draws * np.asarray(floor)))
    return np.where(eta >= 1.0 if upper else eta > 1.0, np.inf, eta)


def normal_quantile(alpha: float) -> float:
    """The number that a standard normal variable exceeds with probability `alpha`.

    >>> print(round(normal_quantile(0.025), 4))
    1.96
    """
    from scipy.special import ndtri

    return -float(ndtri(alpha))


def _checked(values: Floats, alpha: float, bound: str) -> Floats:
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha must be in (0, 1), got {alpha!r}.")
    if bound not in BOUNDS:
        raise ValueError(f"bound must be one of {', '.join(BOUNDS)}, got {bound!r}.")
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"values must be in one row, got an array of shape {values.shape}.")
    low, high = values.min(initial=1.0), values.max(initial=0.0)
    if not (low >= 0.0 and high <= 1.0):  # also where one is NaN
        raise ValueError(f"values must be in [0, 1], got {low:g} to {high:g}. Scale them.")
    return values


def _width(values: Floats, draws: int, alpha: float, bound: str) -> float:
    if bound == "hoeffding":  # Hoeffding 1963, theorem 1
        return math.sqrt(math.log(1.0 / alpha) / (2.0 * draws))
    variance = float(values.var(ddof=1)) if len(values) > 1 else 0.0
    return float(bernstein_width(variance, draws, alpha))


def _betting(values: Floats, alpha: float, guess: Floats | None, *, upper: bool) -> float:
    """The last candidate refuted, going inward from the outer end.

    The wealth `prod(1 + stake (x - m))` against candidate `m` is fair or worse whenever the mean is
    at most `m` (Waudby-Smith and Ramdas 2023, "Estimating means of bounded random variables by
    betting"). Candidates are fixed beforehand and must fall one after the other: a bound beyond the
    mean needs the first candidate beyond it to be refuted.
    """
    if len(values) == 0:
        return 1.0 if upper else 0.0
    if guess is None:
        cut = len(values) // _VALUES_PER_GUESS
        guess, values = values[:cut], values[cut:]
    weight = 1.0 + len(guess)  # as if one value had been 1/2, give or take 1/2
    centre = (0.5 + float(guess.sum())) / weight
    squares = 0.25 + float(np.square(guess - centre).sum())
    means = _candidates(centre, squares / weight, len(values), weight, alpha, upper=upper)
    refuted = _refuted(values, means, (centre, squares, weight), alpha, upper=upper)
    count = len(means) if refuted.all() else int(np.argmin(refuted))
    if count == 0:
        return 1.0 if upper else 0.0
    return float(means[count - 1])


def _candidates(
    centre: float, variance: float, draws: int, weight: float, alpha: float, *, upper: bool
) -> Floats:
    """Candidate means from the outer end inward: dense where the bound is expected.

    They are evenly spread in `asin sqrt m`, in which a proportion's error is the same everywhere.
    """
    error = max(1.0, normal_quantile(alpha)) * math.sqrt(variance * (1.0 / draws + 1.0 / weight))
    inward, outward = 1.5 * error, 2.5 * error + 3.0 * math.log(1.0 / alpha) / draws
    low, high = (inward, outward) if upper else (outward, inward)
    start, stop = (
        math.asin(math.sqrt(min(1.0, max(0.0, end)))) for end in (centre - low, centre + high)
    )
    fine = np.linspace(start, stop, _FINE)
    coarse = np.linspace(0.0, math.pi / 2.0, _COARSE)
    means: Floats = np.square(np.sin(np.unique(np.concatenate([fine, coarse]))))
    means = means[(means > 1e-12) & (means < 1.0 - 1e-12)]
    return means[::-1] if upper else means


def _refuted(
    values: Floats, means: Floats, start: tuple[float, float, float], alpha: float, *, upper: bool
) -> npt.NDArray[np.bool_]:
    """Which candidates are left with a wealth of `1/alpha`.

    A wealth `W` with time left is that of a contract that pays `1/alpha` if the normal test rejects
    in the end; holding that contract means staking `phi(d)/Phi(d) / sqrt(variance left)`, where
    `Phi(d) = alpha W`. Stakes that follow the wealth still needed: Voracek and Orabona 2025,
    "STaR-Bets". Any stake is fair that depends on earlier values only.
    """
    centre, squares, weight = start
    sign, most = (-1.0, _MAX_LOSS / (1.0 - means)) if upper else (1.0, _MAX_LOSS / means)
    # A candidate far from the centre, were it true, would come with another variance.
    ratio = np.minimum(means * (1.0 - means) / (centre * (1.0 - centre)), 3.0)
    aim, wealth, left = -math.log(alpha), np.zeros(len(means)), len(values)
    for part in np.array_split(values, max(1, min(_MAX_BLOCKS, len(values) // _MIN_BLOCK))):
        active = np.flatnonzero((wealth < aim + _ROUNDING) & (wealth > _HOPELESS))
        if len(active) == 0:
            break
        missing = np.minimum(wealth[active] - aim - math.log(_AIM), -1e-12)
        stake = _hedge(missing) / np.sqrt(left * squares / weight * ratio[active])
        stake = sign * np.minimum(stake, most[active])
        wealth[active] += _growth(part, stake, means[active])
        left -= len(part)
        squares += float(np.square(part - centre).sum())
        weight += len(part)
    return np.asarray(wealth >= aim + _ROUNDING)


def _hedge(log_chance: Floats) -> Floats:
    """`phi(d) / Phi(d)` where `log Phi(d) = log_chance`."""
    from scipy.special import ndtri_exp

    d = ndtri_exp(log_chance)
    return np.asarray(np.exp(-d * d / 2.0 - log_chance) / math.sqrt(2.0 * math.pi))


def _growth(part: Floats, stake: Floats, means: Floats) -> Floats:
    """`sum_i log(1 + stake (x_i - mean))` for each candidate: the log of a product.

    A product that underflows counts as 0, one that overflows as far more than any aim.
    """
    factors = part[:, None] * stake
    factors += 1.0 - stake * means
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        return np.asarray(np.log(np.multiply.reduce(factors, axis=0)))
