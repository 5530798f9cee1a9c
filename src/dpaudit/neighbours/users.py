"""User-level relations: neighbours differ in all the rows of one user."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dpaudit.domains import (
    Chooser,
    Domain,
    Records,
    canonical,
    chosen_whole,
    explorable,
    is_domain,
    refinable,
)
from dpaudit.errors import InvalidRelation
from dpaudit.neighbours.pair import (
    ABSENT,
    Pair,
    Slot,
    is_shared,
    joined,
    once,
    removed_and_added,
    shared,
    sides,
)
from dpaudit.neighbours.relation import (
    ALIKE,
    SIDES,
    StructuredRelation,
    chosen_slots,
    counted,
    edge_sizes,
    random_records,
    random_size,
    told_apart,
    whole_number,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRelation(StructuredRelation):
    """Rows of `min_users` to `max_users` users, at most `max_rows` each; one user's rows differ."""

    domain: Domain = field()  # or the property of `Structured` would be its default
    user: str
    max_users: int
    min_users: int
    max_rows: int
    rows_after: tuple[int, int]  # of that user in the other dataset, at least and at most

    @property
    def most_slots(self) -> int:
        return self.max_users * self.max_rows + self.rows_after[1]

    def edge_pairs(self) -> Iterator[Pair]:
        return once(map(self.join, sorted(self._edges(), key=len)))

    def join(self, slots: Sequence[Slot]) -> Pair | None:
        pair = joined(self.domain, slots)
        if pair is None or any(map(self._no_dataset, sides(slots))):
            return None
        changed = sides(slot for slot in slots if not is_shared(slot))
        kept, _ = sides(slot for slot in slots if is_shared(slot))
        who = {self._user_of(row) for side in changed for row in side}
        fewest, most = self.rows_after
        one_user = len(who) == 1 and who.isdisjoint(map(self._user_of, kept))
        return pair if one_user and fewest <= min(map(len, changed)) <= most else None

    def describe(self) -> str:
        least, most, fewest = self.min_users, self.max_users, self.rows_after[0]
        how = "replace" if fewest > 0 else "add or remove"
        users = f"at most {most}" if least <= fewest else f"{least} to {most}"
        each = f"each with at most {self.max_rows} rows of {self.domain}"
        return f"{how} all rows of one {self.user} of {users}, {each}"

    def _edges(self) -> Iterator[list[Slot]]:
        """One row of the user or as many as allowed, alone or beside others, all at an edge.

        Each odd value is the one row of the user.
        """
        users, (fewest, most), (least, top) = self._users(), self._others(), self.rows_after
        rows = told_apart(self.domain, [self._row(edge, users[0]) for edge in self.domain.edges()])
        counts = sorted({(1, least), (self.max_rows, least), (self.max_rows, top)})
        for beside in edge_sizes(fewest, most):
            for edge, each in ((rows[-1], 1), (rows[0], self.max_rows)):
                owners = [owner for owner in users[1 : beside + 1] for _ in range(each)]
                kept = [shared(self._row(edge, owner)) for owner in owners]
                for row in rows[:4] if beside == fewest else (rows[0], rows[-1]):
                    opposite = rows[0] if row is rows[-1] else rows[-1]
                    for old, new in counts:
                        yield [*kept, *removed_and_added([row] * old, [opposite] * new)]
        beside_odd = [shared(self._row(rows[-1], owner)) for owner in users[1 : fewest + 1]]
        for odd in refinable(self.domain).odd_values():
            yield [*beside_odd, *removed_and_added([self._row(odd, users[0])], rows[:least])]

    def _random(self, rng: np.random.Generator) -> Pair | None:
        fewest, most = self._others()
        who, *others = self._random_users(random_size(fewest + 1, most + 1, rng), rng)
        owners = [owner for owner in others for _ in range(random_size(1, self.max_rows, rng))]
        drawn = random_records(self.domain, len(owners), rng)
        kept = [shared(self._row(row, owner)) for row, owner in zip(drawn, owners, strict=True)]
        place = int(rng.integers(len(kept) + 1))
        old, new = (
            [self._row(row, who) for row in random_records(self.domain, count, rng)]
            for count in (self._random_count(1, rng), self._random_count(self.rows_after[0], rng))
        )
        return self.join([*kept[:place], *removed_and_added(old, new), *kept[place:]])

    def _random_users(self, count: int, rng: np.random.Generator) -> list[Any]:
        """Different users, as many as asked for if the domain has them."""
        drawn = (_fields(self.domain)[self.user].draw(rng) for _ in range(4 * count))
        return list({canonical(user): user for user in drawn}.values())[:count]

    def _random_count(self, fewest: int, rng: np.random.Generator) -> int:
        """Few rows are likely; a quarter of the time there are as many as allowed."""
        if fewest == 0:
            return 0
        return self.max_rows if rng.random() < 0.25 else random_size(1, self.max_rows, rng)

    def _chosen(self, chooser: Chooser) -> Pair | None:
        users, (fewest, most) = self._users(), self._others()
        beside = chosen_whole(chooser, "users", fewest + 1, most + 1) - 1
        old = chosen_whole(chooser, "rows", 1, self.max_rows)
        new = chosen_whole(chooser, "new rows", *self.rows_after)
        counts = [chosen_whole(chooser, f"rows {i}", 1, self.max_rows) for i in range(beside)]
        who = users.pop(chooser.one_of("user", len(users)) if len(users) > 1 else 0)
        owned = zip(users[:beside], counts, strict=True)
        owners = iter([owner for owner, count in owned for _ in range(count)])
        ask = partial(self._chosen_row, chooser)
        slots = [
            shared(self._row(slot.data, next(owners)))
            if is_shared(slot)
            else Slot(*(row if row is ABSENT else self._row(row, who) for row in slot))
            for slot in chosen_slots(chooser, ask, others=sum(counts), old=old, new=new)
        ]
        return self.join(slots)

    def _chosen_row(self, chooser: Chooser, name: str) -> dict[str, Any]:
        """A row without its user, who is chosen before."""
        return {
            field: explorable(part).choose(chooser, f"{name}.{field}")
            for field, part in _fields(self.domain).items()
            if field != self.user
        }

    def _layouts(self, data: list[Any], neighbour: list[Any]) -> Iterator[list[Slot]]:
        if not all(map(self.domain.contains, (*data, *neighbour))):
            return
        for who in dict.fromkeys(map(self._user_of, (*data, *neighbour))):
            if (slots := self._around(who, data, neighbour)) is not None:
                yield slots

    def _around(self, who: str, data: list[Any], neighbour: list[Any]) -> list[Slot] | None:
        """The rows of one user absent on the other side, all other rows in step."""
        theirs = deque(neighbour)
        slots: list[Slot] = []
        for row in data:
            if self._user_of(row) == who:
                slots.append(Slot(row, ABSENT))
                continue
            while theirs and self._user_of(theirs[0]) == who:
                slots.append(Slot(ABSENT, theirs.popleft()))
            if not theirs:
                return None
            slots.append(Slot(row, theirs.popleft()))
        return slots + [Slot(ABSENT, row) for row in theirs]

    def _users(self) -> list[Any]:
        """The users that edges and choices are about."""
        ids = _fields(self.domain)[self.user]
        spread = explorable(ids).grid(2 * self.max_users)
        return told_apart(ids, (*ids.edges(), *spread))[: self.max_users]

    def _others(self) -> tuple[int, int]:
        """How many users there are beside the one who differs, at least and at most."""
        return self.min_users - self.rows_after[0], len(self._users()) - 1

    def _no_dataset(self, rows: list[Any]) -> str | None:
        """What is wrong with these rows as a dataset; None if nothing is."""
        counts = Counter(map(self._user_of, rows))
        if not self.min_users <= len(counts) <= self.max_users:
            allowed = f"{self.min_users} to {self.max_users}"
            return f"rows of {counted(len(counts), 'user')}, allowed are {allowed}"
        most = max(counts.values(), default=0)
        too_many = f"{most} rows of one user, at most {self.max_rows} are allowed"
        return too_many if most > self.max_rows else None

    def _reasons(self, data: list[Any], neighbour: list[Any]) -> Iterator[str | None]:
        for name, rows in zip(SIDES, (data, neighbour), strict=True):
            if (wrong := self._no_dataset(rows)) is not None:
                yield f"{name} has {wrong}"
        by_user: list[dict[str, list[str]]] = [{}, {}]
        for rows, found in zip((data, neighbour), by_user, strict=True):
            for row in rows:
                found.setdefault(self._user_of(row), []).append(canonical(row))
        users = dict.fromkeys((*by_user[0], *by_user[1]))
        changed = [user for user in users if by_user[0].get(user) != by_user[1].get(user)]
        if not changed:
            moved = canonical(data) != canonical(neighbour)
            yield "the rows of the users are not in the same order" if moved else ALIKE
            return
        if len(changed) > 1:
            shown = ", ".join(changed[:3])
            yield f"the rows of {len(changed)} users differ ({shown}), only those of one may"
        on_both = all(changed[0] in side for side in by_user)
        if self.rows_after[0] > 0 and not on_both:
            yield f"the user {changed[0]} has no rows on one side, and must have some on both"
        if self.rows_after[1] == 0 and on_both:
            yield f"the user {changed[0]} has rows on both sides, and must have none on one"

    def _user_of(self, row: Mapping[str, Any]) -> str:
        return canonical(row[self.user])

    def _row(self, row: Mapping[str, Any], user: Any) -> dict[str, Any]:
        return {**row, self.user: user}


def add_or_remove_user(
    domain: Domain,
    user: str = "user_id",
    *,
    max_users: int = 5,
    max_rows: int = 5,
    min_users: int = 0,
) -> UserRelation:
    """Neighbours have one user more or less, with all of that user's rows.

    The field `user` of a row says whose it is. A dataset has rows of `min_users` to `max_users`
    users, each with 1 to `max_rows` rows.

    >>> from dpaudit.domains import floats, integers, records
    >>> visits = records(user_id=integers(1, 9), minutes=floats(0, 60))
    >>> print(next(add_or_remove_user(visits).edge_pairs()))
    data=[{'user_id': 9, 'minutes': 60.0}], neighbour=[]
    """
    sizes = {"max_users": max_users, "min_users": min_users, "max_rows": max_rows}
    return _made("add_or_remove_user", domain, user, sizes, replaced=False)


def replace_user(
    domain: Domain,
    user: str = "user_id",
    *,
    max_users: int = 5,
    max_rows: int = 5,
    min_users: int = 1,
) -> UserRelation:
    """Neighbours differ in the rows of one user, who has at least one row in both.

    All that this user's rows hold may change, and how many there are, but not whose they are.

    >>> from dpaudit.domains import floats, integers, records
    >>> visits = records(user_id=integers(1, 9), minutes=floats(0, 60))
    >>> print(next(replace_user(visits).edge_pairs()))
    data=[{'user_id': 9, 'minutes': 60.0}], neighbour=[{'user_id': 9, 'minutes': 0.0}]
    """
    sizes = {"max_users": max_users, "min_users": min_users, "max_rows": max_rows}
    return _made("replace_user", domain, user, sizes, replaced=True)


def _made(
    name: str, domain: Any, user: str, sizes: dict[str, int], *, replaced: bool
) -> UserRelation:
    if not is_domain(domain):
        raise TypeError(
            f"{name} needs a domain such as records(user_id=integers(1, 9), age=integers(0, 120)), "
            f"got {domain!r}."
        )
    ids = _fields(domain).get(user)
    if ids is None:
        raise InvalidRelation(
            f"{name} needs records with the field {user!r}, got {domain}. Say which field names "
            f"the user: user=..."
        )
    if len(told_apart(ids, ids.edges())) < 2:
        raise InvalidRelation(f"{name} needs at least two users, got {user}={ids}. Widen it.")
    numbers = {what: whole_number(name, what, number) for what, number in sizes.items()}
    fewest = int(replaced)  # where a user comes or goes, none may be left
    needed = {"min_users": fewest, "max_users": numbers["min_users"] + 1 - fewest, "max_rows": 1}
    for what, least in needed.items():
        if numbers[what] < least:
            raise InvalidRelation(f"{name} needs {what} of at least {least}, got {numbers[what]}.")
    after = (1, numbers["max_rows"]) if replaced else (0, 0)
    relation = UserRelation(domain=domain, user=user, rows_after=after, **numbers)
    if next(relation.edge_pairs(), None) is None:
        raise InvalidRelation(
            f"{name} finds no pair of {domain} that differs in one user. Widen the domain, "
            f"or raise max_rows."
        )
    return relation


def _fields(domain: Any) -> dict[str, Domain]:
    """The fields of records or tables, also of filtered or mapped ones; none of other domains."""
    while not isinstance(domain, Records):
        domain = getattr(domain, "inner", None)
        if domain is None:
            return {}
    return dict(domain.fields)
