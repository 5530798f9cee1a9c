"""The audit: search, bet, and on refutation certify one event in words."""

from dpaudit.auditing.arguments import check_arguments, entropy_of
from dpaudit.auditing.audit import audit
from dpaudit.auditing.betting_loop import Campaign
from dpaudit.auditing.budget import Budget
from dpaudit.auditing.compare import compare_samples
from dpaudit.auditing.ledger import Ledger
from dpaudit.auditing.measure import EpsilonBound, measure_epsilon
from dpaudit.auditing.output_histogram import HistogramCounter, histograms_of
from dpaudit.auditing.paired_correlation import paired_correlation
from dpaudit.auditing.replay import audit_by_replay, needed, replay
from dpaudit.auditing.rounds import CountedCalls, Rounds, count_calls
from dpaudit.auditing.samples_in_hand import in_hand
from dpaudit.auditing.scheduler import Contender
from dpaudit.auditing.shrink import shrink
from dpaudit.auditing.shrink_steps import plainer
from dpaudit.auditing.trials import TrialRun
