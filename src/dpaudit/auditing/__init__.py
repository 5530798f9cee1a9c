"""The audit: search, bet, and on refutation certify one event in words."""

from dpaudit.auditing.audit import audit, described
from dpaudit.auditing.betting_loop import BettingLoop
from dpaudit.auditing.budget import DEFAULT_SAMPLES, ROUND_SHARE, Budget, Speed
from dpaudit.auditing.certifying_draws import CertifyingLimit, FreshDraws, draws_for_promise
from dpaudit.auditing.compare import SamplesInHand, compare_samples, in_hand
from dpaudit.auditing.detectable import detectable
from dpaudit.auditing.ledger import Ledger
from dpaudit.auditing.measure import EpsilonBound, measure_epsilon, paired_correlation
from dpaudit.auditing.output_histogram import HistogramCounter, histograms_of
from dpaudit.auditing.replay import audit_by_replay, needed, replay
from dpaudit.auditing.rounds import MAX_CALL, MIN_ROUNDS, CountedCalls, Rounds, count_calls
from dpaudit.auditing.run import (
    VERSION,
    Run,
    Stream,
    check_alpha,
    check_arguments,
    entropy_of,
    result,
)
from dpaudit.auditing.scheduler import Candidate, Scheduler
from dpaudit.auditing.shards import Shards, shard_size
from dpaudit.auditing.shrink import cost, shrink, simpler_pairs
from dpaudit.auditing.store import Store, StoredCalls, opened
from dpaudit.auditing.trials import TrialLoop
