"""Guessers: they learn from labelled rows which of two datasets an output came from."""

from dpaudit.architecture import Guesser
from dpaudit.guessing.bins import Bins, NestedBins
from dpaudit.guessing.candidates import ProjectedGuesser, candidates_for, most_likely
from dpaudit.guessing.cells import Codebook, Lookup
from dpaudit.guessing.classifiers import (
    Classifier,
    ProbabilityClassifier,
    Samples,
    Share,
    as_known,
    check_classifier,
    in_pairs,
    learn,
)
from dpaudit.guessing.columns import cosines, described_past, gaussian, laplace, normal_scores
from dpaudit.guessing.ensemble import Ensemble
from dpaudit.guessing.guessers import (
    BalancedLinear,
    LinearModels,
    OutputCounts,
    balanced_weights,
    newton,
)
from dpaudit.guessing.projections import (
    EndingSurface,
    SingleColumn,
    Sums,
    ending,
    projections_for,
    steps,
)
from dpaudit.guessing.rows import LabelledRows, Past, row_keys
from dpaudit.guessing.staked_guesses import Calibration, GuessCounts, GuessRule, best_rule
from dpaudit.guessing.trees import BalancedBoosted, Boosted
