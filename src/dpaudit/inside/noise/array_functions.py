"""What NumPy's functions do to numbers with noise: which are followed, and how.

Functions that only move entries about are run on the places of the entries. Those that compare are
asked of the run that is going on, which draws the outcome or forces it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpaudit.inside.kernels import MACHINE, ROUNDINGS
from dpaudit.inside.noise.noisy import (
    LARGEST_TABLE,
    Noisy,
    added,
    as_noisy,
    divided,
    merged,
    refused,
    revealed,
    scaled,
    table,
)
from dpaudit.inside.recording import Recorder, current

# Which arguments of a function hold the entries that it moves about.
_MOVING = dict.fromkeys(
    [
        "reshape",
        "ravel",
        "transpose",
        "squeeze",
        "expand_dims",
        "concatenate",
        "stack",
        "hstack",
        "vstack",
        "column_stack",
        "dstack",
        "tile",
        "repeat",
        "roll",
        "flip",
        "fliplr",
        "flipud",
        "rot90",
        "atleast_1d",
        "atleast_2d",
        "atleast_3d",
        "broadcast_to",
        "moveaxis",
        "swapaxes",
        "take",
        "take_along_axis",
        "split",
        "array_split",
        "hsplit",
        "vsplit",
        "copy",
        "delete",
        "compress",
        "diag",
        "diagonal",
        "tril",
        "triu",
        "trim_zeros",
    ],
    (0,),
) | {"where": (1, 2), "append": (0, 1), "insert": (0, 2)}
_ABOUT_SHAPE = {"shape", "ndim", "size"}
_LIKE = {"zeros_like", "ones_like", "empty_like"}  # arrays that noise may be written into
_ORDERS = {
    np.greater: (1.0, True),  # the sign of (first - second), and whether it must not be 0
    np.greater_equal: (1.0, False),
    np.less: (-1.0, True),
    np.less_equal: (-1.0, False),
}


def called_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], settings: dict[str, Any]) -> Any:
    """A ufunc of which an input holds noise."""
    out = settings.pop("out", None)
    followed = _followed_ufunc(ufunc, inputs) if method == "__call__" and not settings else None
    if followed is None and method == "reduce" and ufunc is np.add and out is None:
        return _sum(inputs[0], settings.get("axis", 0))
    if followed is None:
        plain = [
            revealed(each, _named(ufunc)) if isinstance(each, Noisy) else each for each in inputs
        ]
        followed = getattr(ufunc, method)(*plain, **settings)
    if out is None:
        return followed
    return _written(out[0], followed)


_WORDS = {
    "multiply": "multiplies two noisy numbers",
    "divide": "divides by a noisy number",
    "equal": "asks whether noisy numbers are equal",
    "not_equal": "asks whether noisy numbers are equal",
}


def _named(ufunc: Any) -> str:
    return _WORDS.get(ufunc.__name__, f"takes np.{ufunc.__name__} of noise")


def _written(target: Any, made: Any) -> Any:
    """The result in place: into an array with noise, for a plain one cannot hold it."""
    if not isinstance(target, Noisy):
        plain = revealed(as_noisy(made), "writes noise into an array of plain numbers")
        target[...] = plain
        return target
    result = as_noisy(made)
    if result.shape != target.shape:
        raise ValueError(f"a result of shape {result.shape} does not fit into {target.shape}.")
    target.become(result)
    return target


def _followed_ufunc(ufunc: Any, inputs: tuple[Any, ...]) -> Any:
    """The result of a ufunc that is followed; None for another one."""
    first = inputs[0]
    if ufunc is np.positive:
        return first
    if ufunc is np.negative:
        return scaled(first, -1.0)
    if ufunc in (np.isnan, np.isinf, np.isfinite):
        return ufunc(first.base)  # noise is finite
    if len(inputs) != 2:
        return None
    second = inputs[1]
    if ufunc in (np.add, np.subtract):
        return added(as_noisy(first), as_noisy(second), 1.0 if ufunc is np.add else -1.0)
    if ufunc in _ORDERS:
        sign, strict = _ORDERS[ufunc]
        return _above(scaled(added(as_noisy(first), as_noisy(second), -1.0), sign), strict=strict)
    if ufunc in (np.maximum, np.minimum):
        return _extreme(as_noisy(first), as_noisy(second), largest=ufunc is np.maximum)
    noisy = [each for each in map(as_noisy, inputs) if each.noisy.any()]
    if ufunc is np.multiply and len(noisy) < 2:
        return (
            scaled(as_noisy(first), _plain(second))
            if _holds(first)
            else scaled(as_noisy(second), _plain(first))
        )
    if ufunc is np.true_divide and not _holds(second):
        return divided(as_noisy(first), _plain(second))
    if ufunc is np.matmul and len(noisy) < 2:
        return _product(as_noisy(first), as_noisy(second))
    return None


def _holds(value: Any) -> bool:
    return bool(as_noisy(value).noisy.any())


def _plain(value: Any) -> Any:
    return as_noisy(value).base


def _run(what: str) -> Recorder:
    recorder = current()
    if recorder is None:
        refused(what)
    return recorder


def _above(difference: Noisy, *, strict: bool) -> Any:
    """Whether each entry is above 0: the outcome of an event where it has noise."""
    if not difference.noisy.any():
        found = difference.base > 0.0 if strict else difference.base >= 0.0
        return np.asarray(found)[()]
    return np.asarray(_run("compares noise").compared(difference, strict=strict))[()]


def _extreme(one: Noisy, other: Noisy, *, largest: bool) -> Noisy:
    difference = added(one, other, -1.0)
    first = _above(scaled(difference, 1.0 if largest else -1.0), strict=False)
    chosen: Noisy = _moved(np.where, (first, one, other), {}, (1, 2))
    return chosen


def _sum(array: Noisy, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum along an axis, or along several; None for all."""
    axes = range(array.ndim) if axis is None else (axis if isinstance(axis, tuple) else (axis,))
    places = [place % max(array.ndim, 1) for place in axes] if array.ndim else []
    base = np.asarray(array.base.sum(axis=tuple(places), keepdims=keepdims))
    kept = [place for place in range(array.ndim) if place not in places]
    order = (*kept, *places, array.ndim)
    count = math.prod(array.shape[place] for place in places) * array.atoms.shape[-1]
    shape = (*base.shape, count)
    off = np.asarray(array.off.sum(axis=tuple(places), keepdims=keepdims))
    size = np.abs(array.base).sum(axis=tuple(places), keepdims=keepdims)
    return merged(
        base,
        np.transpose(array.atoms, order).reshape(shape),
        np.transpose(array.factors, order).reshape(shape),
        np.asarray(off + ROUNDINGS * MACHINE * np.nan_to_num(size, nan=0.0, posinf=0.0)),
    )


def _mean(array: Noisy, axis: Any = None, keepdims: bool = False) -> Any:
    total = _sum(array, axis, keepdims)
    return divided(total, array.size / max(total.size, 1))


def _cumsum(array: Noisy, axis: Any = None) -> Any:
    array = array.picked(array._places().reshape(-1)) if axis is None else array
    axis = 0 if axis is None else axis % array.ndim
    places = np.moveaxis(array._places(), axis, -1)
    count = places.shape[-1]
    if array.size * count * max(array.atoms.shape[-1], 1) > LARGEST_TABLE:
        refused("adds up so many noisy numbers that it cannot be followed")
    rows = array.picked(np.broadcast_to(places[..., None, :], (*places.shape, count)))
    below = np.tril(np.ones((count, count)))
    summed = _sum(scaled(rows, below), -1)
    return summed.picked(np.moveaxis(summed._places(), -1, axis))


def _product(one: Noisy, other: Noisy) -> Any:
    """The product of two matrices or vectors, one of them plain."""
    if not (1 <= one.ndim <= 2 and 1 <= other.ndim <= 2):
        refused("multiplies arrays of noise with more than two axes")
    left = one.picked(np.atleast_2d(one._places()))
    places = other._places()
    right = other.picked(places[:, None] if other.ndim == 1 else places)
    shape = left.shape[0], left.shape[1], right.shape[1]
    width = max(left.atoms.shape[-1], right.atoms.shape[-1], 1)
    if np.prod(shape) * width > LARGEST_TABLE:
        refused("multiplies so many noisy numbers that it cannot be followed")
    first, second = left.picked(left._places()[:, :, None]), right.picked(right._places()[None])
    made = _sum(scaled(first, second.base) if first.noisy.any() else scaled(second, first.base), 1)
    keep = tuple(place for place, ndim in enumerate((one.ndim, other.ndim)) if ndim == 2)
    return made.picked(made._places().reshape(tuple(made.shape[place] for place in keep)))


def _place_of_largest(array: Noisy, axis: Any = None, *, sign: float = 1.0) -> Any:
    """`argmax`, or `argmin` with a sign of -1: one event for every row."""
    array = scaled(array, sign)
    places = array._places()
    rows = places.reshape(1, -1) if axis is None else np.moveaxis(places, axis, -1)
    outer = rows.shape[:-1]
    flat = array.picked(rows.reshape(-1, rows.shape[-1]))
    if not flat.noisy.any():
        return np.argmax(array.base, axis=axis)
    found = _run("takes the largest of noisy numbers").largest(flat)
    return np.asarray(found.reshape(() if axis is None else outer))[()]


def _largest(array: Noisy, axis: Any = None, *, sign: float = 1.0) -> Any:
    """`max`, or `min`: the place of the largest, then the number there."""
    found = _place_of_largest(array, axis, sign=sign)
    if axis is None:
        return array.picked(array._places().reshape(-1)[int(found)])
    places = np.take_along_axis(array._places(), np.expand_dims(found, axis), axis)
    return array.picked(np.squeeze(places, axis=axis))


def _clip(array: Any, a_min: Any = None, a_max: Any = None, **settings: Any) -> Any:
    low, high = settings.pop("min", a_min), settings.pop("max", a_max)
    if settings:
        refused(f"takes np.clip of noise with {', '.join(settings)}")
    made = as_noisy(array)
    made = made if low is None else _extreme(made, as_noisy(low), largest=True)
    return made if high is None else _extreme(made, as_noisy(high), largest=False)


_FOLLOWED: dict[str, Callable[..., Any]] = {
    "sum": _sum,
    "mean": _mean,
    "cumsum": _cumsum,
    "dot": lambda one, other: (
        called_ufunc(np.matmul, "__call__", (one, other), {})
        if np.ndim(one) and np.ndim(other)
        else called_ufunc(np.multiply, "__call__", (one, other), {})
    ),
    "argmax": _place_of_largest,
    "argmin": lambda array, axis=None: _place_of_largest(array, axis, sign=-1.0),
    "max": _largest,
    "min": lambda array, axis=None: _largest(array, axis, sign=-1.0),
    "clip": _clip,
    "diff": lambda array: array[1:] - array[:-1] if array.ndim == 1 else refused("takes np.diff"),
}
_FOLLOWED |= {"amax": _FOLLOWED["max"], "amin": _FOLLOWED["min"]}


def called_function(function: Any, args: tuple[Any, ...], settings: dict[str, Any]) -> Any:
    """A function of NumPy of which an argument holds noise."""
    name = function.__name__
    if name in _ABOUT_SHAPE:
        return function(as_noisy(args[0]).base, *args[1:], **settings)
    if name in _LIKE and not settings and len(args) == 1:
        return as_noisy(function(as_noisy(args[0]).base))
    if name in _MOVING and "out" not in settings and len(args) > max(_MOVING[name]):
        return _moved(function, args, settings, _MOVING[name])
    if name in _FOLLOWED and args and set(settings) <= {"axis", "keepdims", "a_min", "a_max"}:
        try:
            return _FOLLOWED[name](as_noisy(args[0]), *args[1:], **settings)
        except TypeError:
            pass  # settings that are not followed
    what = f"takes np.{name} of noise"
    plain = [revealed(as_noisy(each), what) if _holds_noise(each) else each for each in args]
    named = {
        key: revealed(as_noisy(each), what) if _holds_noise(each) else each
        for key, each in settings.items()
    }
    return function(*plain, **named)


def _holds_noise(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_holds_noise, value))
    return isinstance(value, Noisy)


def _moved(function: Any, args: Any, settings: Any, holding: tuple[int, ...]) -> Any:
    """Run a function that moves entries about on their places; 0 is the place of a plain 0."""
    entries: list[Noisy] = []
    taken = list(args)
    for place in holding:
        taken[place] = _placed(args[place], entries)
    if any(_holds_noise(each) for at, each in enumerate(args) if at not in holding):
        refused(f"takes np.{function.__name__} of noise")
    whole, found = table(entries), function(*taken, **settings)
    if isinstance(found, list | tuple):
        return [whole.picked(each) for each in found]
    return whole.picked(np.asarray(found))


def _placed(value: Any, entries: list[Noisy]) -> Any:
    """The places that an array, or a list of arrays, will have in the table of all entries."""
    if isinstance(value, list | tuple) and any(np.ndim(each) for each in value):
        return [_placed(each, entries) for each in value]
    array = as_noisy(value)
    first = 1 + sum(each.size for each in entries)
    entries.append(array)
    return array._places() + first


def method_of(array: Noisy, name: str) -> Any:
    """A method of an array with noise."""
    if name == "astype":
        return lambda dtype, **_: _as_type(array, dtype)
    if name == "reshape":
        return lambda *shape, **_: array.picked(array._places().reshape(*shape))
    if name == "transpose":
        return lambda *axes: array.picked(array._places().transpose(*axes))
    if name == "flatten":
        return lambda *_: array.picked(array._places().reshape(-1))
    if name == "item":
        return lambda *place: array.picked(array._places().item(*place))
    if name == "tolist":
        return lambda: _listed(array)
    if name == "flat":
        return iter(array.picked(array._places().reshape(-1)))
    if name in ("real", "copy"):
        return array if name == "real" else array.__copy__
    function = getattr(np, name, None)
    if function is None or not callable(function):
        refused(f"asks a noisy array for .{name}")
    return lambda *args, **settings: called_function(function, (array, *args), settings)


def _as_type(array: Noisy, dtype: Any) -> Any:
    if np.dtype(dtype).kind == "f" and np.dtype(dtype).itemsize == 8:
        return array
    if np.dtype(dtype) == object:
        return np.asarray(array)
    return np.asarray(revealed(array, f"makes {np.dtype(dtype)} of noise")).astype(dtype)


def _listed(array: Noisy) -> Any:
    return [_listed(each) for each in array] if array.ndim else array
