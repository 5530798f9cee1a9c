"""Counterexamples kept between test runs: one audit file each, tried first and certified anew.

A kept counterexample only says where to look. It refutes nothing by itself: its event is counted
on fresh draws, which had no say in choosing it, with a share of alpha.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpaudit.auditing import needed
from dpaudit.claims import Claim, Scalable
from dpaudit.domains import decoded, encoded
from dpaudit.errors import InvalidAuditFile
from dpaudit.neighbours import Pair, Relation, fitted, pairs, why_not
from dpaudit.results import REPLAY, Audit, Counterexample, Verdict, bound_of_event, load
from dpaudit.testing.run_settings import AssertionSettings, file_name

_IGNORE_ALL = "# Made by dpaudit. Remove this file to commit what is kept here.\n*\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptCounterexample:
    """The file that keeps a counterexample of one assertion; it may not exist yet.

    `relations` say which pairs are neighbours now. They may have changed since one was kept, and a
    pair that does not belong to them proves nothing: it is dropped.
    """

    folder: Path
    name: str
    relations: tuple[Relation, ...]
    warn: Callable[[str], None]

    @classmethod
    def of(
        cls,
        settings: AssertionSettings,
        mechanism: str,
        claim: Claim,
        neighbours: Any,
        pinned: Sequence[Pair],
    ) -> KeptCounterexample | None:
        """The file of an assertion; None outside a test run."""
        if settings.folder is None:
            return None
        relations: list[Relation] = [pairs(pinned)] if pinned else []
        if isinstance(neighbours, list | tuple):
            relations.append(pairs(neighbours))
        elif isinstance(neighbours, Relation) and not isinstance(neighbours, type):
            relations.append(neighbours)  # a finder of the user's only proposes pairs
        own_name = mechanism.partition("(")[0]  # mended by another parameter, it is asked again
        return cls(
            folder=settings.folder,
            name=file_name(settings.test, own_name, str(claim)),
            relations=tuple(relations),
            warn=settings.warn,
        )

    @property
    def path(self) -> Path:
        """Where it is, or will be."""
        return self.folder / "kept" / f"{self.name}.json"

    @property
    def shown(self) -> str:
        """The path from the root of the tests."""
        return self.path.relative_to(self.folder.parent).as_posix()

    def read(self) -> Counterexample | None:
        """The counterexample that is kept; None if there is none that can be tried."""
        try:
            found = load(self.path).counterexample
        except FileNotFoundError:
            return None
        except (InvalidAuditFile, OSError) as error:
            with suppress(OSError):  # another worker was faster, or the folder is read-only
                self.path.replace(self.path.with_suffix(".broken"))  # to warn only once
            self.warn(f"a kept counterexample was ignored: {error}")
            return None
        return self._belonging(found) if found is not None and _is_complete(found) else None

    def update(self, audit: Audit) -> str | None:
        """Keep what an assertion found, or forget what no longer holds; the file, if there is one.

        An undecided or interrupted audit forgets nothing. A replay stays as it was kept: its fresh
        draws must have no say in what is counted next time.
        """
        if audit.tester == REPLAY:
            return self.shown
        if audit.refuted:
            try:
                return self.shown if self.write(audit) else None
            except OSError as error:  # what was found matters more
                self.warn(f"a counterexample could not be kept: {error}")
        elif audit.verdict is Verdict.NOT_REFUTED and not audit.interrupted:
            self._forget()
        return None

    def write(self, audit: Audit) -> bool:
        """Keep the counterexample of an audit that is quickest to show; whether there is one.

        The file is written whole or not at all, and at once: nothing that happens later loses it.
        """
        usable = [
            found
            for found in (audit.simplest, audit.counterexample)
            if found is not None
            and found.breaks(audit.claim)
            and _is_complete(found)
            and self._reason_against(_read_back(found.pair)) is None
        ]
        if not usable:
            return False
        quickest = min(usable, key=lambda found: needed(found, audit.claim, audit.alpha))
        if not self.folder.is_dir():  # not made again where it was removed on purpose
            self.path.parent.mkdir(parents=True, exist_ok=True)
            (self.folder / ".gitignore").write_text(_IGNORE_ALL, encoding="ascii")
        self.path.parent.mkdir(exist_ok=True)
        kept = replace(audit, counterexample=quickest, simplest=None, history=())
        if audit.tester == "BettingTester" and isinstance(audit.claim, Scalable):
            kept = replace(kept, lower_bound=bound_of_event(audit.claim, quickest))
        kept.save(self.path)
        return True

    def _forget(self) -> None:
        with suppress(OSError):  # then it is tried again, which harms nobody
            self.path.unlink(missing_ok=True)

    def _belonging(self, found: Counterexample) -> Counterexample | None:
        """What was kept, its pair as a relation makes it; None, and dropped, if none has it."""
        for relation in self.relations:
            if why_not(relation, found.pair) is None:
                return replace(found, pair=fitted(relation, found.pair, what="it"))
        if self.relations:
            self._forget()
            self.warn(
                "a kept counterexample was dropped: its pair does not belong to the relation any "
                f"more: {self._reason_against(found.pair)} ({found.pair})"
            )
        return None

    def _reason_against(self, pair: Pair) -> str | None:
        """Why the pair belongs to none of the relations; None if it belongs to one."""
        reasons = [why_not(relation, pair) for relation in self.relations]
        return None if None in reasons else next(reversed(reasons), "there is no relation to ask")


def _is_complete(found: Counterexample) -> bool:
    """Whether a file can hold all that a replay needs."""
    return found.rule is not None and _read_back(found.pair) == found.pair


def _read_back(pair: Pair) -> Pair:
    """The pair as a file gives it back."""
    return Pair(*(decoded(encoded(side)) for side in (pair.data, pair.neighbour)))
