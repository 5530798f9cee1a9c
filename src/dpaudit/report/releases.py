"""The releases of a transcript in words: where, what went in on both sides, noise, output, loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpaudit.report.showing import MAX_ENDS, count, dataset, lower, one_line

if TYPE_CHECKING:
    from dpaudit.inside import ReleaseLoss

MAX_SHOWN_RELEASES = 20  # of a transcript, in a table or a figure: those of the largest loss
_WIDTH = 72  # characters of a value
_MAX_ROUNDED_ENTRIES = 10_000  # of an array: a longer one is shown as it is
_ROUNDING = 1e-9  # of a sum of logarithms: a loss of 1 is often a little less
_NUMBERS = "biufc"  # dtypes whose entries are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRelease:
    """One release as text. `apart` says where two long inputs differ; `loss` is the exact number.

    `data` and `neighbour` are what went in on A and on B.
    """

    number: int
    where: str
    noise: str
    data: str
    neighbour: str
    apart: str
    output: str
    said: str
    loss: float


def shown_releases(
    releases: Sequence[ReleaseLoss], *, most: int = MAX_SHOWN_RELEASES
) -> tuple[list[ShownRelease], str]:
    """The releases of the largest loss, in the order of the run, and what was left out, if any."""
    numbered = sorted(enumerate(releases, 1), key=lambda entry: -abs(entry[1].loss))
    kept, others = numbered[:most], numbered[most:]
    left_out = ""
    if others:
        rest = math.fsum(release.loss for _, release in others)
        left_out = (
            f"{count(len(others), 'more release')} of smaller loss, {signed_loss(rest)} in all, "
            "not shown."
        )
    return [shown_release(number, release) for number, release in sorted(kept)], left_out


def shown_release(number: int, release: ReleaseLoss) -> ShownRelease:
    """One release as text; it is the `number`-th of the run.

    >>> from dpaudit.inside import Laplace, ReleaseLoss
    >>> sides = {"input": 2.0, "neighbour_input": 0.0, "output": 2.5, "loss": 2.0}
    >>> noise = {"kernel": Laplace(1.0), "neighbour_kernel": Laplace(1.0)}
    >>> shown = shown_release(1, ReleaseLoss(where="sum.py:3", **noise, **sides))
    >>> shown.noise, shown.data, shown.neighbour, shown.said
    ('Laplace(scale=1.0)', '2', '0', '2')
    """
    return ShownRelease(
        number=number,
        where=release.where,
        noise=_noise(release.kernel, release.neighbour_kernel),
        data=shown_value(release.input),
        neighbour=shown_value(release.neighbour_input),
        apart=_apart(release.input, release.neighbour_input),
        output=shown_value(release.output),
        said=signed_loss(release.loss),
        loss=release.loss,
    )


def signed_loss(loss: float) -> str:
    """A loss, its size rounded down.

    >>> signed_loss(1.9999), signed_loss(-1.9999), signed_loss(math.inf)
    ('1.99', '-1.99', 'infinite')
    """
    if math.isinf(loss):
        return "infinite" if loss > 0.0 else "-infinite"
    size = lower(abs(loss) * (1.0 + _ROUNDING))
    return size if loss >= 0.0 or size == "0" else f"-{size}"


def shown_value(value: Any) -> str:
    """What went in or came out, in short: numbers to six digits, and the ends of long lists.

    >>> shown_value(1 / 3), shown_value(np.arange(2000) / 7)[:24]
    ('0.333333', '[0.0, 0.142857, 0.285714')
    """
    if isinstance(value, float | np.floating):
        return f"{float(value):.6g}"
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.ndim > 0:
        value = _rounded(value)
    elif isinstance(value, list | tuple) and all(type(each) is float for each in value):
        value = [float(f"{each:.6g}") for each in value]
    return dataset(value, _WIDTH)


def _rounded(array: Any) -> Any:
    if array.size > _MAX_ROUNDED_ENTRIES:
        return array
    flat = [float(f"{each:.6g}") for each in array.ravel().tolist()]
    return np.asarray(flat).reshape(array.shape)


def _apart(ours: Any, theirs: Any) -> str:
    """Where two inputs differ that are too long to be shown whole; else nothing."""
    if not all(isinstance(side, np.ndarray | list | tuple) for side in (ours, theirs)):
        return ""
    try:
        one, other = np.asarray(ours), np.asarray(theirs)
    except ValueError:  # lists of different lengths inside
        return ""
    if one.shape != other.shape:
        return f"of shape {one.shape} on A and {other.shape} on B"
    if one.dtype.kind not in _NUMBERS or other.dtype.kind not in _NUMBERS:
        return ""
    different = np.argwhere((one != other) & ~(np.isnan(one) & np.isnan(other)))
    if one.size <= 2 * MAX_ENDS or len(different) == 0:
        return ""
    place = tuple(different[0].tolist())
    first = ", ".join(map(str, place))
    values = f"{shown_value(one[place])} on A, {shown_value(other[place])} on B"
    return f"{len(different):,} of {one.size:,} entries differ, first [{first}]: {values}"


def _noise(ours: Any, theirs: Any) -> str:
    """The noise of both sides; where it differs, around the first difference."""
    if ours is None and theirs is None:
        return "known already"
    texts = [" ".join(repr(kernel).split()) for kernel in (ours, theirs)]
    if texts[0] == texts[1]:
        return one_line(texts[0], _WIDTH)
    start = next((at for at, two in enumerate(zip(*texts, strict=False)) if len({*two}) > 1), 0)
    one, other = (_around(text, start) for text in texts)
    return f"{one} on A, {other} on B"


def _around(text: str, place: int) -> str:
    """The part of a text that has this place in it."""
    half = _WIDTH // 2
    if len(text) <= _WIDTH:
        return text
    start = max(0, place - half)
    head, tail = "..." if start else "", "..." if start + _WIDTH < len(text) else ""
    return f"{head}{text[start : start + _WIDTH]}{tail}"
