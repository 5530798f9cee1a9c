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
from dpaudit.inside.found import InsideAudit, InsideVerdict, WorstTranscript
from dpaudit.inside.kernels import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Geometric,
    Kernel,
    Laplace,
    PermuteAndFlip,
    RandomizedResponse,
    Vector,
)
from dpaudit.inside.release import release
from dpaudit.inside.transcripts import ReleaseLoss, Transcript, transcript_of
