"""What every result that is saved can do: say who asked for it, become a file and a page.

The text of a file is a function of the result alone (sorted keys, shortest exact floats, no NaN
literals), so equal results give equal bytes, except for the lines "seconds" and "provenance". Its
SHA-256 digest names the result.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self, cast

from dpaudit.report import write_report, write_whole
from dpaudit.results.provenance import Provenance, attributed


class Result:
    """The base of `Audit` and of `InsideAudit`, which say what their JSON is."""

    __slots__ = ()

    provenance: Provenance | None

    def to_json(self) -> dict[str, object]:
        """The result as plain JSON values.

        Only "seconds" and "provenance" differ between equal results.
        """
        raise NotImplementedError

    def attributed(self, *, auditor: str | None = None, purpose: str | None = None) -> Self:
        """The same result, which says who audited and why: in its text, page and file."""
        made = attributed(self.provenance, auditor=auditor, purpose=purpose)
        return cast("Self", replace(cast("Any", self), provenance=made))

    @property
    def digest(self) -> str:
        """The SHA-256 digest of the file that `save` writes, which names the result on its page."""
        return digest_of(lines_of_json(self.to_json()))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to a JSON file, whole or not at all; `dpaudit.load` reads it back."""
        write_whole(path, lines_of_json(self.to_json()))

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        auditor: str | None = None,
        purpose: str | None = None,
    ) -> None:
        """Write the result as one self-contained HTML page. Needs the extra `report`.

        The page says who audited and why, if that is given here or the result is `attributed`. A
        name that ends in `.pdf` is printed by a headless Chromium or Chrome on the path.
        """
        write_report(cast("Any", self), path, auditor=auditor, purpose=purpose)


def lines_of_json(fields: Mapping[str, object]) -> str:
    """Strict JSON that reads well and is compared easily: one line for each field, in order."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(value, sort_keys=True, allow_nan=False)}"
        for name, value in sorted(fields.items())
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def digest_of(text: str) -> str:
    """The SHA-256 digest of a saved result.

    >>> digest_of("")[:16]
    'e3b0c44298fc1c14'
    """
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
