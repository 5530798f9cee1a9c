"""Batch testers: from two samples of outputs to a verdict on a claim."""

from dpaudit.testers.batch import BatchTester, Examiner, Finding
from dpaudit.testers.betting import BettingTester
from dpaudit.testers.cells import Cells, candidates, whole
from dpaudit.testers.elsewhere import from_dp_auditorium
from dpaudit.testers.event_bound import (
    Curve,
    allowed,
    curve_finding,
    exact,
    gilbert_mcmillan,
    hoeffding,
    largest_refuted,
    level_finding,
)
from dpaudit.testers.event_choice import (
    Ranked,
    Sizes,
    Trial,
    curve_events,
    exact_events,
    exact_promise,
    hoeffding_promise,
    levels_of,
    ranked,
    strongest,
)
from dpaudit.testers.histogram import HistogramTester
from dpaudit.testers.hockey_stick import HockeyStickTester
from dpaudit.testers.kernels import Kernel, Points, Ranks, as_they_are, block_means, median_distance
from dpaudit.testers.mmd import MMDTester
from dpaudit.testers.renyi import Certifier, RenyiTester, mironov, pure_renyi
from dpaudit.testers.renyi_witness import best_cut, chebyshev, depths_of, gains, log_mean
from dpaudit.testers.trials import Judge, Outcome, Trials, is_batch_tester, share_of_alpha
