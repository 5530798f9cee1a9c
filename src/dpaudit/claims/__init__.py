"""Privacy claims: their kinds, their privacy profiles, and their text."""

from dpaudit.architecture import Claim, Scalable
from dpaudit.claims.kinds import ZCDP, ApproxDP, GaussianDP, Profile, PureDP, RenyiDP, point_of
from dpaudit.claims.profiles import HIGHEST_LEVEL, Chords, falling_span, tangent_points
from dpaudit.claims.strengths import most_allowed, refutes, strength_of_event
from dpaudit.claims.text import claim_from_json, parse_claim
