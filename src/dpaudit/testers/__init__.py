"""Testers: from two samples of outputs to a verdict on a claim."""

from dpaudit.architecture import BatchTester, SequentialTester
from dpaudit.testers.apt import APT
from dpaudit.testers.delta_siege import DeltaSiege, gaussian_mu
from dpaudit.testers.dp_auditorium import from_dp_auditorium
from dpaudit.testers.dp_sniper import DPSniper
from dpaudit.testers.event_bound import Curve
from dpaudit.testers.event_choice import HeldOutScores, levels_of, ranked
from dpaudit.testers.finite_outputs import FiniteOutputs
from dpaudit.testers.histogram import HistogramTester, Partition, candidates, grid, whole
from dpaudit.testers.hockey_stick import HockeyStickTester
from dpaudit.testers.kernel_renyi import KernelRenyi
from dpaudit.testers.mmd import MMDTester
from dpaudit.testers.nearest_neighbours import NearestNeighbours
from dpaudit.testers.privacy_loss import PrivacyLossBounds, connect_the_dots, optimistic_profile
from dpaudit.testers.renyi import RenyiTester, mironov, pure_renyi
from dpaudit.testers.renyi_witness import Certifier
from dpaudit.testers.sequential_mmd import SequentialMMD
from dpaudit.testers.statdp import StatDP
from dpaudit.testers.tester import (
    BettingTester,
    Examiner,
    Finding,
    HeldOutTester,
    Method,
    Outcome,
    Trials,
    TwoSidedTest,
    is_batch_tester,
    method_of,
    share_of_alpha,
)
