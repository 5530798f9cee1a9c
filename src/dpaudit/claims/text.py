"""Claims as text: read from a command line, and from the JSON in which an audit was saved.

This file loads neither numpy nor scipy: the command line shows its help without them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

from dpaudit.architecture import Claim, Scalable
from dpaudit.claims import kinds
from dpaudit.claims.kinds import Profile
from dpaudit.claims.profiles import Chords
from dpaudit.errors import InvalidClaim

_KINDS: tuple[tuple[str, Callable[..., Scalable], tuple[str, ...]], ...] = (
    ("PureDP", kinds.PureDP, ("epsilon",)),
    ("ApproxDP", kinds.ApproxDP, ("epsilon", "delta")),
    ("RenyiDP", kinds.RenyiDP, ("order", "epsilon")),
    ("ZCDP", kinds.ZCDP, ("rho",)),
    ("GaussianDP", kinds.GaussianDP, ("mu",)),
)


def claim_from_json(saved: Mapping[str, object]) -> Claim:
    """The claim that `to_json` saved.

    A `Profile` comes back as the chords, in `e^epsilon`, of its saved points. The true curve
    `sup_A P(A) - e^epsilon Q(A)` is convex in `e^epsilon` and never increases, so it lies under the
    chords whenever it lies under the points: what refutes the loaded claim refutes the saved one.

    >>> claim_from_json(kinds.ZCDP(0.1).to_json())
    ZCDP(rho=0.1)
    """
    if not isinstance(saved, Mapping):
        raise InvalidClaim(f"a saved claim must be a JSON object, got {saved!r}.")
    fields = dict(saved)
    kind = fields.pop("kind", None)
    wanted = {name for name, _, _ in _KINDS} | {"Profile"}
    if not isinstance(kind, str) or kind not in wanted:
        raise InvalidClaim(f"kind must be one of {', '.join(sorted(wanted))}, got {kind!r}.")
    if kind == "Profile":
        _check_fields(kind, fields, ("name", "points"))
        name = fields["name"]
        if name is not None and not isinstance(name, str):
            raise InvalidClaim(f"the name of a saved Profile must be text or null, got {name!r}.")
        return Profile(Chords(_saved_points(fields["points"])), name=name)
    build, names = next((build, names) for name, build, names in _KINDS if name == kind)
    _check_fields(kind, fields, names)
    return build(**fields)


def parse_claim(text: str) -> Claim:
    """The claim written on a command line.

    >>> parse_claim("eps=1"), parse_claim("eps=1, delta=1e-6"), parse_claim("0.5")
    (PureDP(epsilon=1.0), ApproxDP(epsilon=1.0, delta=1e-06), PureDP(epsilon=0.5))
    >>> parse_claim("rho=0.1"), parse_claim("mu=1"), parse_claim("order=2,eps=0.5")
    (ZCDP(rho=0.1), GaussianDP(mu=1.0), RenyiDP(order=2.0, epsilon=0.5))
    """
    accepted = "Write one of: eps=1 (or just 1); eps=1,delta=1e-6; order=2,eps=0.5; rho=0.1; mu=1."
    given: dict[str, float] = {}
    for part in text.split(","):
        left, equals, right = part.partition("=")
        name = left.strip().lower() if equals else "epsilon"
        name = "epsilon" if name == "eps" else name
        if name in given:
            raise InvalidClaim(f"{name} is given twice in {text!r}. {accepted}")
        try:
            given[name] = float(right if equals else left)
        except ValueError:
            raise InvalidClaim(f"cannot read {part.strip()!r} in {text!r}. {accepted}") from None
    for _, build, names in _KINDS:
        if set(names) == set(given):
            return build(**given)
    raise InvalidClaim(f"no claim is made of {', '.join(given)}, got {text!r}. {accepted}")


def _check_fields(kind: str, fields: Mapping[str, object], names: Sequence[str]) -> None:
    if set(fields) != set(names):
        raise InvalidClaim(
            f"a saved {kind} must have exactly {', '.join(names)},"
            f" got {', '.join(map(str, fields)) or 'nothing'}."
        )


def _saved_points(saved: object) -> tuple[tuple[float, float], ...]:
    if not isinstance(saved, Sequence) or isinstance(saved, str) or not saved:
        raise InvalidClaim(f"a saved Profile needs [epsilon, delta] points, got {saved!r}.")
    points: list[tuple[float, float]] = []
    for each in saved:
        if not isinstance(each, Sequence) or isinstance(each, str) or len(each) != 2:
            raise InvalidClaim(f"each saved point must be [epsilon, delta], got {each!r}.")
        points.append((kinds.nonnegative("epsilon", each[0]), kinds.nonnegative("delta", each[1])))
    if any(left >= right for (left, _), (right, _) in itertools.pairwise(points)):
        raise InvalidClaim("the epsilons of saved points must increase. Was the file edited?")
    kinds.check_decreasing(points)
    return tuple((level, min(1.0, delta)) for level, delta in points)
