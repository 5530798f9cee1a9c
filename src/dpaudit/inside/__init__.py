"""Exact privacy loss by record and replay: which releases of the code break its claim.

Record the releases of a run on one dataset, run the same code on its neighbour with every release
forced to the recorded output, and the privacy loss of that transcript is a number:

>>> import dpaudit
>>> def noisy_sum(data, rng):
...     return sum(data) + rng.laplace(scale=0.5)
>>> found = dpaudit.audit_inside(noisy_sum, dpaudit.PureDP(1.0), [([1.0], [])], rng=7)
>>> print(found.verdict.value, found.worst.loss)
broken inside 2.0
"""

from dpaudit.inside.audit import audit_inside
from dpaudit.inside.checking import inside_contradictions
from dpaudit.inside.choosing import (
    Categorical,
    ExponentialMechanism,
    PermuteAndFlip,
    RandomizedResponse,
    ReportNoisyMax,
    SparseVector,
)
from dpaudit.inside.found import (
    InsideAudit,
    InsideProgress,
    InsideVerdict,
    WorstTranscript,
    of_either_form,
)
from dpaudit.inside.kernels import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Geometric,
    Kernel,
    Laplace,
    Staircase,
    Vector,
)
from dpaudit.inside.noise.laws import Noise
from dpaudit.inside.noise.losses import Comparison, ReleaseLoss
from dpaudit.inside.primitives import primitive
from dpaudit.inside.release import release
from dpaudit.inside.sampled import Sampled
from dpaudit.inside.sampling import hidden_sample
from dpaudit.inside.saving import inside_as_saved, inside_from_json, load
from dpaudit.inside.transcripts import Transcript, transcript_of
from dpaudit.mechanism import shown_coins
