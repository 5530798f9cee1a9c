"""The zoo under its old name: `dpaudit.mechanisms` is `dpaudit.zoo`."""

import sys

from dpaudit import zoo

sys.modules[__name__] = zoo
