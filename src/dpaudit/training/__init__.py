"""Audits of a training by canaries: one run, many runs, or step by step."""

from dpaudit.training.canaries import Canaries, canaries, load_canaries
from dpaudit.training.canary_head import CanaryHead, dirac_gradients, unit_scores
from dpaudit.training.canary_scores import (
    GradientProducts,
    IsotropicCanaries,
    LossDrops,
    Losses,
    ScoredBy,
)
from dpaudit.training.data_canaries import (
    DataCanaries,
    clip_bkd,
    mislabelled,
    out_of_distribution,
)
from dpaudit.results import Finding, Null
from dpaudit.training.opacus import of_opacus
from dpaudit.training.training import Training, of_loop
