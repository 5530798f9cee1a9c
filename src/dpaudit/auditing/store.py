"""A store: the draws of an audit in one SQLite file, so that a crash loses none.

Every call of the mechanism is kept under the key of its seed, which says what it is for, which pair
it is of and at which place. To resume is to run again: what is in the store is read, what is not is
drawn, and the audit is the same as one that was never interrupted. Nothing of what was learned is
saved. Arrays are kept as npy, other outputs as JSON; outputs that JSON cannot hold are drawn again.
Of long pairs only the counts by cell are kept.

Before a call that this process makes itself, an intent is written. A call during which the process
died twice ends the audit, and names the dataset: otherwise crashes could choose what counts.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sqlite3
import zlib
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np

from dpaudit.domains import decoded, encoded
from dpaudit.errors import CannotUseStore, InvalidAuditFile, MechanismDied
from dpaudit.mechanism import Call, Caller, Mechanism, Pending
from dpaudit.outputs import CellReader, CountedOutputs, Outputs, Raised, head_of, short
from dpaudit.results import software_in_use

Received: TypeAlias = CountedOutputs | Outputs

SCHEMA = 1
_APPLICATION = 0x64706175  # "dpau": other programs' databases are refused
_MAX_DEATHS = 2  # of this process during one call
_BUSY_SECONDS = 2.0
_DAMAGED = (sqlite3.Error, ValueError, TypeError)  # what reading a damaged file raises
_MAX_NAME_BYTES = 247  # SQLite adds "-journal", and file systems take 255
_TABLES = """
CREATE TABLE IF NOT EXISTS header (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS calls (
    key TEXT NOT NULL, size INTEGER NOT NULL, singly INTEGER NOT NULL, data TEXT NOT NULL,
    outputs BLOB, PRIMARY KEY (key, size, singly, data)
);
CREATE TABLE IF NOT EXISTS intents (key TEXT PRIMARY KEY, deaths INTEGER NOT NULL) WITHOUT ROWID;
"""


class Store:
    """An open store. What it holds belongs to one audit: the header says to which.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "audit.sqlite"
    >>> with Store(path) as store:
    ...     store.belong_to({"claim": "1-DP", "seed": 7})
    >>> with Store(path) as store:
    ...     store.belong_to({"claim": "2-DP", "seed": 7})
    Traceback (most recent call last):
    dpaudit.errors.CannotUseStore: ...audit.sqlite holds the draws of another audit: claim is "1-DP"
    there and "2-DP" here. Take another file, or run the audit that it is of.
    """

    def __init__(self, path: str | os.PathLike[str], *, to_read: bool = False) -> None:
        self.path = Path(path)
        if to_read and not self.path.is_file():
            raise CannotUseStore(f"{self.path} is not a file.")
        if not to_read and not self.path.parent.is_dir():
            raise CannotUseStore(f"{self.path.parent} is not a folder, so no store can be in it.")
        if len(self.path.name.encode(errors="replace")) > _MAX_NAME_BYTES:
            raise CannotUseStore(
                f"the name {short(self.path.name)} is too long for a store: take at most "
                f"{_MAX_NAME_BYTES} bytes."
            )
        try:
            self._open()
        except CannotUseStore:
            raise
        except _DAMAGED as error:
            raise self._unusable(error) from error

    def _open(self) -> None:
        self._base = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
        base = self._base
        (application,) = base.execute("PRAGMA application_id").fetchone()
        (tables,) = base.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables and application != _APPLICATION:
            raise CannotUseStore(
                f"{self.path} is a database of another program. Take another file."
            )
        base.execute("PRAGMA locking_mode = EXCLUSIVE")
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("PRAGMA synchronous = NORMAL")  # what is written outlives this process
        base.execute(f"PRAGMA application_id = {_APPLICATION}")
        base.executescript(_TABLES)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._base.close()

    @property
    def header(self) -> dict[str, Any]:
        """What the draws belong to."""
        try:
            rows = self._base.execute("SELECT name, value FROM header").fetchall()
            return {str(name): json.loads(value) for name, value in rows}
        except _DAMAGED as error:
            raise self._unusable(error) from error

    def plan(self, samples: int) -> tuple[int, ...]:
        """The draws allowed in the earlier runs of the audit, and in this one.

        How a search goes depends on how many draws it may make. So an audit that is given more of
        them goes the old way first.
        """
        before = self.header.get("samples", [])
        if not (isinstance(before, list) and all(type(one) is int for one in before)):
            raise self._unusable(f"its numbers of draws are {short(before)}")
        plan = [*(one for one in before if one < samples), samples]
        if samples < max(before, default=0) and samples not in before:
            raise CannotUseStore(
                f"{self.path} is of an audit with samples={max(before)}, got {samples}. Give as "
                "many or more."
            )
        if samples not in before:
            self._base.execute(
                "INSERT OR REPLACE INTO header VALUES ('samples', ?)", (json.dumps(plan),)
            )
        return tuple(plan)

    @property
    def seed(self) -> int | None:
        """The seed of the audit; None as long as the store is empty."""
        seed = self.header.get("seed")
        if not (seed is None or (type(seed) is int and seed >= 0)):
            raise self._unusable(f"its seed is {short(seed)}")
        return seed

    def belong_to(self, header: Mapping[str, Any]) -> None:
        """Say which audit this is; refused if the draws belong to another."""
        software = dict(software_in_use())
        before, wanted = self.header, {"schema": SCHEMA, **header, "software": software}
        if before:
            differ = [
                f"{name} is {json.dumps(before.get(name))} there and {json.dumps(value)} here"
                for name, value in wanted.items()
                if before.get(name) != value
            ]
            if differ:
                raise CannotUseStore(
                    f"{self.path} holds the draws of another audit: {'; '.join(differ)}. "
                    "Take another file, or run the audit that it is of."
                )
            return
        with self._transaction():
            self._base.executemany(
                "INSERT INTO header VALUES (?, ?)",
                [(name, json.dumps(value)) for name, value in wanted.items()],
            )

    def read(self, key: str, call: Call, singly: bool) -> Received | None:
        """The outputs of a call, if they are here; counts only if they are of its reader."""
        try:
            row = self._base.execute(
                "SELECT outputs FROM calls WHERE key = ? AND size = ? AND singly = ? AND data = ?",
                (key, call.size, singly, digest_of(call.data)),
            ).fetchone()
        except _DAMAGED as error:
            raise self._unusable(error) from error
        if row is None or row[0] is None:
            return None
        try:
            outputs = _outputs(row[0])
        except (ValueError, TypeError, KeyError, InvalidAuditFile) as error:
            raise self._unusable(error) from error
        if len(outputs) != call.size:
            raise self._unusable(f"{len(outputs)} outputs in the place of {call.size}")
        if isinstance(outputs, CountedOutputs):
            counted_alike = call.reader is not None and call.reader.digest == outputs.reader
            return outputs if counted_alike else None
        return outputs

    def intend(self, key: str, call: Call, name: str) -> None:
        """Write down that a call is about to be made in this process."""
        try:
            row = self._base.execute(
                "INSERT INTO intents VALUES (?, 0) ON CONFLICT (key) "
                "DO UPDATE SET deaths = deaths + 1 RETURNING deaths",
                (key,),
            ).fetchone()
        except _DAMAGED as error:
            raise self._unusable(error) from error
        if row[0] >= _MAX_DEATHS:
            raise MechanismDied(
                f"the process ended {row[0]} times while {name} was asked for {call.size} outputs "
                f"on data={short(call.data)}. If that was not you, the mechanism did it. With "
                "isolate=True (--isolate) it runs in a process of its own, and the audit goes on."
            )

    def forget(self, key: str) -> None:
        """The call was not made, and the process did not end because of it."""
        self._base.execute("DELETE FROM intents WHERE key = ?", (key,))

    def write(self, key: str, call: Call, singly: bool, outputs: Received) -> None:
        """Keep the outputs of a call."""
        values = (key, call.size, singly, digest_of(call.data), _bytes(outputs))
        try:
            with self._transaction():
                self._base.execute("INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?, ?)", values)
                self._base.execute("DELETE FROM intents WHERE key = ?", (key,))
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def summary(self) -> list[tuple[str, int, int]]:
        """What the draws are for: the first number of their keys, calls and draws."""
        try:
            found: list[tuple[str, int, int]] = self._base.execute(
                "SELECT substr(key, 1, instr(key || '.', '.') - 1), count(*), sum(size) "
                "FROM calls GROUP BY 1 ORDER BY CAST(1 AS INTEGER), 1"
            ).fetchall()
        except _DAMAGED as error:
            raise self._unusable(error) from error
        if any(type(kind) is not str or type(draws) is not int for kind, _, draws in found):
            raise self._unusable("its calls have no sizes")
        return found

    def _transaction(self) -> _Transaction:
        return _Transaction(self._base)

    def _unusable(self, why: object) -> CannotUseStore:
        if "locked" in str(why):
            return CannotUseStore(f"{self.path} is in use by another process.")
        return CannotUseStore(f"{self.path} cannot be used as a store: {why}.")


def opened(path: str | os.PathLike[str] | None) -> AbstractContextManager[Store | None]:
    """The store at a path; None without one."""
    return nullcontext() if path is None else Store(path)


@dataclass(frozen=True, slots=True)
class _Transaction:
    """All that is written inside, or nothing."""

    base: sqlite3.Connection

    def __enter__(self) -> None:
        self.base.execute("BEGIN")

    def __exit__(self, kind: object, *rest: object) -> None:
        self.base.execute("COMMIT" if kind is None else "ROLLBACK")


@dataclass(frozen=True, slots=True)
class StoredCalls:
    """Reads calls from a store, and keeps there what another caller makes."""

    mechanism: Mechanism
    caller: Caller
    store: Store

    @property
    def workers(self) -> int:
        """As many as the other caller has."""
        return self.caller.workers

    def ask(self, call: Call) -> _FromStore:
        """Ask for a call that may be in the store."""
        key = ".".join(map(str, call.seed.spawn_key))
        outputs = self.store.read(key, call, self.singly)
        asked = None if outputs is not None else self.caller.ask(call)
        return _FromStore(self, call, key, self.singly, outputs, asked)

    def close(self) -> None:
        """Forget what was asked for."""
        self.caller.close()

    @property
    def singly(self) -> bool:
        """Whether releases are drawn one by one: since one of them raised an error."""
        return self.mechanism.errors is not None and self.mechanism.errors.one_by_one


@dataclass(frozen=True, slots=True)
class _FromStore:
    owner: StoredCalls
    call: Call
    key: str
    singly: bool
    found: Received | None
    asked: Pending | None

    def outputs(self) -> Outputs:
        received = self._received(None)
        assert not isinstance(received, CountedOutputs), "asked with a reader"
        return received

    def counted(self, reader: CellReader) -> Received:
        received = self._received(reader)
        return received if isinstance(received, CountedOutputs) else reader(received)

    def _received(self, reader: CellReader | None) -> Received:
        owner, call = self.owner, self.call
        if self.singly != owner.singly:  # an error came in between
            self.cancel()
            return owner.ask(call)._received(reader)
        if self.found is not None:
            owner.mechanism.note(call.data, head_of(self.found))
            return self.found
        assert self.asked is not None
        if owner.workers == 0:
            owner.store.intend(self.key, call, owner.mechanism.name)
        try:
            received = self.asked.outputs() if reader is None else self.asked.counted(reader)
        except BaseException:  # the process lives
            owner.store.forget(self.key)
            raise
        owner.store.write(self.key, call, self.singly, received)
        return received

    def cancel(self) -> None:
        if self.asked is not None:
            self.asked.cancel()


def digest_of(data: Any) -> str:
    """A short text that is the same for the same dataset, and not for another."""
    return hashlib.sha256(json.dumps(encoded(data)).encode()).hexdigest()[:16]


_ARRAY, _LIST, _COUNTS = b"A", b"L", b"C"  # the first byte; then come a check sum and the outputs
_CHECK_BYTES = 4
_COUNTED = ("cells", "low", "high", "repeated", "times", "head")  # the arrays of counted outputs
_NUMBERS = ("size", "on_device")


def _bytes(outputs: Received) -> bytes | None:
    """Outputs as bytes without pickle; None if they would not come back as they are."""
    if isinstance(outputs, CountedOutputs):
        file = io.BytesIO()
        arrays = {name: getattr(outputs, name) for name in (*_NUMBERS, *_COUNTED)}
        words = np.array(sorted(outputs.words.items()), dtype=np.int64).reshape(-1, 2)
        reader = np.frombuffer(outputs.reader, dtype=np.uint8)
        np.savez(file, words=words, reader=reader, **arrays)
        return _checked(_COUNTS, file.getvalue())
    if isinstance(outputs, np.ndarray):
        if outputs.dtype.hasobject:
            return None
        file = io.BytesIO()
        np.lib.format.write_array(file, outputs, allow_pickle=False)
        return _checked(_ARRAY, file.getvalue())
    form = [_entry(output) for output in outputs]
    text = json.dumps(form)
    again = [_output(entry) for entry in json.loads(text)]
    same = all(
        type(one) is type(other) and repr(one) == repr(other)
        for one, other in zip(outputs, again, strict=True)
    )
    return _checked(_LIST, text.encode()) if same else None


def _checked(kind: bytes, content: bytes) -> bytes:
    return kind + zlib.crc32(content).to_bytes(_CHECK_BYTES, "big") + content


def _outputs(kept: bytes) -> Received:
    kind, content = kept[:1], kept[1 + _CHECK_BYTES :]
    if kind not in (_ARRAY, _LIST, _COUNTS) or _checked(kind, content) != kept:
        raise ValueError("outputs have changed since they were written")
    if kind == _COUNTS:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return CountedOutputs(
                size=int(arrays["size"]),
                on_device=bool(arrays["on_device"]),
                words={int(code): int(count) for code, count in arrays["words"]},
                reader=arrays["reader"].tobytes(),
                **{name: arrays[name] for name in _COUNTED},
            )
    if kind == _ARRAY:
        array: Outputs = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
        return array
    return [_output(entry) for entry in json.loads(content)]


def _entry(output: object) -> object:
    if isinstance(output, Raised):
        return {"$raised": [output.kind, output.message]}
    return encoded(output)


def _output(entry: object) -> object:
    if isinstance(entry, dict) and set(entry) == {"$raised"}:
        kind, message = entry["$raised"]
        return Raised(str(kind), str(message))
    return decoded(entry)
