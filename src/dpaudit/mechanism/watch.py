"""What every call of a mechanism is checked for, wherever its draws are used."""

from __future__ import annotations

import warnings
from collections.abc import Hashable

import numpy as np
import numpy.typing as npt

from dpaudit.errors import DependentDraws, HealthWarning
from dpaudit.mechanism.health import FrozenSeedCheck
from dpaudit.mechanism.independence import SIDES, IndependenceCheck
from dpaudit.mechanism.labelling import LabelledOutputs
from dpaudit.outputs import Encoder, Outputs, Raised, Table, rows, without_addresses

_LOOKED_AT = 2_048  # draws of a batch; of a single call a quarter of them
_ENOUGH = 64  # draws that are all alike, before a mechanism is called constant


class Watch:
    """Looks at the first draws of every call: are they independent, and do they ever differ?

    `see_batch` and `see_call` raise `DependentDraws` when the draws of a call depend on each
    other, and warn of a seed that is fixed inside a mechanism. `close` warns of a mechanism that
    gave the same output at every draw.

    >>> encoder = Encoder()
    >>> watch = Watch("forgetful", encoder)
    >>> watch.see_call("data", [None] * 100)
    >>> with warnings.catch_warnings(record=True, action="always") as said:
    ...     watch.close()
    >>> print(said[0].message)
    forgetful gave None at all of 100 draws: is that what is to be audited?
    """

    def __init__(self, name: str, encoder: Encoder) -> None:
        self.independence = IndependenceCheck(name, lambda: encoder.names)
        self._name = name
        self._encoder = encoder
        self._frozen = FrozenSeedCheck(name)
        self._only: tuple[Table, str] | None = None  # the first row, and the output in words
        self._varies = False
        self._draws = 0

    def see_batch(self, key: Hashable, batch: LabelledOutputs, table: Table) -> None:
        """Look at a labelled batch of the pair `key`, and at its table: a call on either side."""
        labels, outputs = batch.labels[:_LOOKED_AT], batch.outputs[:_LOOKED_AT]
        head = table.take(slice(_LOOKED_AT))
        for side, chosen in zip(SIDES, (labels, ~labels), strict=True):
            self._frozen.see(f"{key} {side}", _chosen(outputs, chosen))
            self.independence.see((key, side), head.take(chosen))
        self._look_for_change(outputs, head, len(batch.labels))

    def see_call(self, key: Hashable, outputs: Outputs) -> None:
        """Look at the outputs of one call on the dataset `key`."""
        some = outputs[: _LOOKED_AT // 4]
        head = self._encoder.encode(some)
        self._frozen.see(str(key), some)
        self.independence.see(key, head)
        self._look_for_change(some, head, len(outputs))

    def refuse_frozen(self) -> None:
        """Raise `DependentDraws` if the same outputs came at two calls: they refute nothing."""
        if self._frozen.found is not None:
            raise DependentDraws(self._frozen.found)

    def close(self) -> None:
        """Warn if every draw gave the same output."""
        if self._only is not None and not self._varies and self._draws >= _ENOUGH:
            warnings.warn(
                f"{self._name} gave {self._only[1]} at all of {self._draws} draws: is that what is "
                "to be audited?",
                HealthWarning,
                stacklevel=2,
            )

    def _look_for_change(self, outputs: Outputs, head: Table, draws: int) -> None:
        if self._varies or len(outputs) == 0:
            return
        self._draws += draws
        if self._only is None:
            self._only = head.take([0]), without_addresses(repr(rows(outputs[:1])[0]))[:60]
        only = self._only[0]
        self._varies = (
            isinstance(outputs[0], Raised)  # of which there is a word already
            or only.columns != head.columns
            or bool(np.any(head.numbers != only.numbers))
            or bool(np.any(head.codes() != only.codes()))
        )


def _chosen(outputs: Outputs, chosen: npt.NDArray[np.bool_]) -> Outputs:
    if isinstance(outputs, list):
        return [output for output, taken in zip(outputs, chosen, strict=True) if taken]
    return outputs[chosen]
