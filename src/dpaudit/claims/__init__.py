"""What is promised: the kinds of claims, their privacy profiles, and their text."""

from dpaudit.claims.kinds import (
    ZCDP,
    ApproxDP,
    Claim,
    GaussianDP,
    Profile,
    PureDP,
    RenyiDP,
    Scalable,
)
from dpaudit.claims.levels import HIGHEST_LEVEL, falling_span, tangent_points
from dpaudit.claims.profiles import most_likely
from dpaudit.claims.text import claim_from_json, parse_claim
