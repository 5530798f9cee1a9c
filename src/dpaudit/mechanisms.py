"""The zoo under its old name: `dpaudit.mechanisms` is `dpaudit.zoo`."""

import sys

from dpaudit import zoo
from dpaudit.zoo import *  # noqa: F403 -- for type checkers

sys.modules[__name__] = zoo
