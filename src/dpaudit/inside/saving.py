"""Audits inside as JSON and as files; `load` reads them, and audits by draws too.

A kernel of ours is an object with the key "kernel", its name, and its settings. Of a kernel that
somebody else wrote, only the repr comes back.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from typing import Any

from dpaudit.domains import UNREADABLE, Unsaved, encoded
from dpaudit.errors import InvalidAuditFile
from dpaudit.inside.checking import inside_contradictions
from dpaudit.inside.found import InsideAudit
from dpaudit.inside.noise.losses import Comparison
from dpaudit.results import (
    DATA,
    Audit,
    Form,
    audit_from_json,
    fields_of,
    form_of,
    in_short,
    loaded,
    record,
)

KIND = "inside"
SCHEMA = 2  # with `provenance`
_NO_PROVENANCE: dict[str, object] = {"provenance": None}  # in files of schema 1


def inside_to_json(found: InsideAudit) -> dict[str, object]:
    """The result as plain JSON values, with its kind and the schema number."""
    loss = None if found.worst is None else found.worst.loss
    fields: dict[str, object] = {"kind": KIND, "schema": SCHEMA, **_INSIDE.write(found)}
    return {**fields, "loss": _LOSS.write(loss)}


def inside_from_json(saved: Mapping[str, object]) -> InsideAudit:
    """The result that `InsideAudit.to_json` gave, without its mechanism."""
    found, loss = inside_as_saved(saved)
    for _, problem in inside_contradictions(found, loss):
        raise InvalidAuditFile(f"the audit contradicts itself: {problem}. Was the file edited?")
    return found


def inside_as_saved(saved: Mapping[str, object]) -> tuple[InsideAudit, float | None]:
    """The result of these JSON values, which may contradict itself, and the loss they state."""
    values = fields_of(saved)
    kind, schema = values.pop("kind", None), values.pop("schema", None)
    if kind != KIND or type(schema) is not int or not 1 <= schema <= SCHEMA:
        raise InvalidAuditFile(
            f"this dpaudit reads audits of kind {KIND!r} and schema {SCHEMA}, got "
            f"{in_short(kind)} and {in_short(schema)}. Was it saved by another version?"
        )
    if "loss" not in values:
        raise InvalidAuditFile("no field 'loss': the audit is not whole.")
    try:
        loss = _LOSS.read(values.pop("loss"), "loss")
        missing = _NO_PROVENANCE if schema < SCHEMA else {}
        return _INSIDE.read({**missing, **values}, ""), loss
    except InvalidAuditFile:
        raise
    except UNREADABLE as error:  # a number or a text that no audit has
        raise InvalidAuditFile(f"the audit cannot be read: {error!r}.") from error


def load(path: str | os.PathLike[str]) -> Audit | Any:
    """The `Audit` or `InsideAudit` that its `save(path)` wrote.

    `InvalidAuditFile` says what is wrong with a file that is neither. A file must not contradict
    itself: bounds follow from counts, losses add up, and the verdict follows from the evidence.
    """
    return loaded(path, _either)  # typed with Any: a file says what it is when it is read


def _either(saved: Any) -> Audit | InsideAudit:
    is_inside = isinstance(saved, Mapping) and "kind" in saved
    return inside_from_json(saved) if is_inside else audit_from_json(saved)


# --- kernels --------------------------------------------------------------------------------------


def _write_kernel(kernel: Any) -> object:
    """A kernel of ours by its name and settings; any other as its repr."""
    if kernel is None:
        return None
    name = type(kernel).__name__
    if isinstance(kernel, Unsaved) or type(kernel) is not _kernels().get(name):
        return encoded(kernel if isinstance(kernel, Unsaved) else Unsaved(repr(kernel)))
    values = {one.name: getattr(kernel, one.name) for one in fields(kernel)}
    return {"kernel": name, **{each: _write_setting(value) for each, value in values.items()}}


def _write_setting(value: Any) -> object:
    if isinstance(value, tuple) and any(type(each) in _kernels().values() for each in value):
        return {"kernels": [_write_kernel(each) for each in value]}
    if type(value) in _kernels().values():
        return _write_kernel(value)
    return DATA.write(value)


def _read_kernel(saved: Any, where: str) -> Any:
    if saved is None:
        return None
    if not isinstance(saved, Mapping) or "kernel" not in saved:
        unsaved = DATA.read(saved, where)
        if not isinstance(unsaved, Unsaved):
            raise InvalidAuditFile(f"{where} must be a kernel, got {in_short(saved)}.")
        return unsaved
    values = dict(saved)
    kind = _kernels().get(str(values.pop("kernel")))
    if kind is None:
        raise InvalidAuditFile(
            f"{where}: unknown kernel {in_short(saved['kernel'])}. Was it saved by a newer dpaudit?"
        )
    form = record(kind, {one.name: _SETTING for one in fields(kind)})
    return form.read(values, where)


def _read_setting(saved: Any, where: str) -> Any:
    if isinstance(saved, Mapping) and set(saved) == {"kernels"}:
        if not isinstance(saved["kernels"], list):
            raise InvalidAuditFile(f"{where} must be a list of kernels, got {in_short(saved)}.")
        return tuple(_read_kernel(each, where) for each in saved["kernels"])
    if isinstance(saved, Mapping) and "kernel" in saved:
        return _read_kernel(saved, where)
    return DATA.read(saved, where)


@cache
def _kernels() -> dict[str, Any]:
    """The kernels that can be saved, by name: those that this room offers."""
    return {
        name: kind
        for name, kind in vars(import_module("dpaudit.inside")).items()
        if isinstance(kind, type)
        and is_dataclass(kind)
        and (hasattr(kind, "log_density") or kind is Comparison)
    }


_SETTING = Form(_write_setting, _read_setting)
_KERNEL = Form(_write_kernel, _read_kernel)
_LOSS = form_of(float | None)
_INSIDE = form_of(InsideAudit, known={"kernel": _KERNEL, "neighbour_kernel": _KERNEL})
