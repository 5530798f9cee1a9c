"""Models that guess which of the two datasets an output came from."""

from dpaudit.guessing.bins import Atoms
from dpaudit.guessing.boosted import Boosted
from dpaudit.guessing.choose import most_likely
from dpaudit.guessing.classifiers import (
    BoostedScore,
    Classifier,
    LinearScore,
    Score,
    check_classifier,
    learn,
)
from dpaudit.guessing.codebook import Codebook
from dpaudit.guessing.columns import prepare
from dpaudit.guessing.ensemble import Ensemble
from dpaudit.guessing.features import cosines, gaussian, laplace, normal_scores
from dpaudit.guessing.labelled import Labelled, Samples, Share, as_known
from dpaudit.guessing.linear import LinearBank, newton
from dpaudit.guessing.reader import Counts, Guess, Reader, best_guess
from dpaudit.guessing.recipes import Recipe, recipes
from dpaudit.guessing.sample import Sample, row_keys
from dpaudit.guessing.surface import Surface
from dpaudit.guessing.views import Single, ending, steps, views
