"""Counterexamples kept between test runs: one audit file each, tried first and certified anew.

A kept counterexample only says where to look. It refutes nothing by itself: its event is counted
on fresh draws, which had no say in choosing it, with a share of alpha.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpaudit.auditing.replay import needed
from dpaudit.claims import Claim
from dpaudit.evidence import REPLAY, Audit, Counterexample, InvalidAuditFile, Verdict, load
from dpaudit.neighbours import Pair, Relation, pairs
from dpaudit.plain import decoded, encoded
from dpaudit.suite import Turn, file_name

_IGNORE_ALL = "# Made by dpaudit. Remove this file to commit what is kept here.\n*\n"


class KeptWarning(UserWarning):
    """A kept counterexample that cannot be read. It is set aside, and the audit goes on."""

    __module__ = "dpaudit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The file that keeps a counterexample of one assertion; it need not be there."""

    folder: Path
    name: str

    @property
    def path(self) -> Path:
        """Where it is, or would be."""
        return self.folder / "kept" / f"{self.name}.json"

    @property
    def shown(self) -> str:
        """The path from the root of the tests."""
        return self.path.relative_to(self.folder.parent).as_posix()

    def read(self, neighbours: Any, pinned: Sequence[Pair]) -> Counterexample | None:
        """The counterexample that is kept; None if there is none that can be tried."""
        try:
            found = load(self.path).counterexample
        except FileNotFoundError:
            return None
        except (InvalidAuditFile, OSError) as error:
            self._set_aside(error)
            return None
        if found is None or found.rule is None:
            return None
        return found if _are_neighbours(found.pair, neighbours, pinned) else None

    def write(self, audit: Audit) -> bool:
        """Keep the counterexample of an audit that is quickest to show; whether there is one.

        The file is written whole or not at all, and at once: nothing that happens later loses it.
        """
        found = _quickest(audit)
        if found is None:
            return False
        if not self.folder.is_dir():  # not made again where it was removed on purpose
            self.path.parent.mkdir(parents=True, exist_ok=True)
            (self.folder / ".gitignore").write_text(_IGNORE_ALL, encoding="ascii")
        self.path.parent.mkdir(exist_ok=True)
        replace(audit, counterexample=found, simplest=None, history=()).save(self.path)
        return True

    def forget(self) -> None:
        """Keep nothing any more."""
        with suppress(
            OSError
        ):  # where nothing can be removed it is tried again, which harms nobody
            self.path.unlink(missing_ok=True)

    def _set_aside(self, error: Exception) -> None:
        aside = self.path.with_suffix(".broken")
        with suppress(OSError):  # another worker was faster, or the folder is read-only
            self.path.replace(aside)
        warnings.warn(
            f"a kept counterexample cannot be read and is set aside as {aside.name}: {error}",
            KeptWarning,
            stacklevel=4,
        )


def kept_for(turn: Turn, mechanism: str, claim: Claim) -> Kept | None:
    """The file of the assertion whose turn it is; None outside a test run."""
    if turn.folder is None:
        return None
    return Kept(folder=turn.folder, name=file_name(turn.test, mechanism, str(claim)))


def _are_neighbours(pair: Pair, neighbours: Any, pinned: Sequence[Pair]) -> bool:
    """Whether a pair kept from an earlier run counts as neighbours today.

    The relation may have been changed since, and a pair that is none proves nothing. A finder of
    the user's own cannot be asked, so what it found is searched for again.
    """
    if pinned and pairs(pinned).contains(pair):
        return True
    if isinstance(neighbours, list | tuple):
        neighbours = pairs(neighbours)
    return isinstance(neighbours, Relation) and neighbours.contains(pair)


def remember(kept: Kept, audit: Audit) -> str | None:
    """Keep what an assertion found, or forget what no longer holds; the file, if there is one.

    An undecided or interrupted audit forgets nothing. A replay stays as it was kept: its fresh
    draws must have no say in what is counted next time.
    """
    if audit.tester == REPLAY:
        return kept.shown
    if audit.refuted:
        return kept.shown if kept.write(audit) else None
    if audit.verdict is Verdict.NOT_REFUTED and not audit.interrupted:
        kept.forget()
    return None


def _quickest(audit: Audit) -> Counterexample | None:
    """Of the counterexamples that can be saved and break the claim, the one that needs least."""
    usable = [
        found
        for found in (audit.simplest, audit.counterexample)
        if found is not None and found.breaks(audit.claim) and _comes_back(found)
    ]
    return min(usable, key=lambda found: needed(found, audit.claim, audit.alpha), default=None)


def _comes_back(found: Counterexample) -> bool:
    """Whether a file can hold all that a replay needs: not every dataset can be saved."""
    sides = (found.pair.data, found.pair.neighbour)
    return (
        found.rule is not None and Pair(*(decoded(encoded(side)) for side in sides)) == found.pair
    )
