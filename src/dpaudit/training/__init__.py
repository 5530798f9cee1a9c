"""Audits of a training by canaries: one run, many runs, or step by step."""

from dpaudit.training.canaries import Canaries, canaries, load_canaries
from dpaudit.training.findings import Finding, Null
from dpaudit.training.training import Training, of_loop
