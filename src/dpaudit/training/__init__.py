"""Audits of a training by canaries: one run, several runs, or step by step.

Plan canaries, train with those whose bit says so, score them all, and audit:

>>> import numpy as np, dpaudit
>>> plan = dpaudit.training.canaries(1000, rng=7)
>>> released = np.random.default_rng(1).normal(size=1000) + plan.bits  # the training, exactly 1-GDP
>>> audit = dpaudit.training.one_run(released, plan, dpaudit.GaussianDP(1.0), rng=7)
>>> print(audit.verdict.value, audit.training.null.value, sep="; ")
not refuted; any mechanism with this claim
"""

from dpaudit.results import Finding, Null, TrainingEvidence
from dpaudit.training.audits import audit
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
from dpaudit.training.jax_privacy import of_jax_privacy
from dpaudit.training.one_run import compare_scores, one_run, several_runs
from dpaudit.training.opacus import of_opacus
from dpaudit.training.scores import banded_score, matrix_claim, matrix_score, subsampled_score
from dpaudit.training.steps import StepAudit, compare_steps
from dpaudit.training.training import Training, of_loop
