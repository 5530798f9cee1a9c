"""PyTorch tensors on an accelerator: counted there, and copied only where they must be seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_REAL = {"float16", "bfloat16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64"}
_MAX_EXACT = 2**53  # beyond it a float no longer tells an integer from the next


def on_device(value: object) -> bool:
    """Tell a tensor on an accelerator, which NumPy cannot read, from anything else."""
    device = getattr(value, "device", None)
    return hasattr(value, "cpu") and getattr(device, "type", "cpu") != "cpu"


def brought_here(value: Any) -> Any:
    """A tensor on an accelerator as an array of NumPy; anything else as it is.

    >>> brought_here([1, 2])
    [1, 2]
    """
    return _copied(value) if on_device(value) else value


@dataclass(frozen=True, slots=True, eq=False)
class DeviceOutputs:
    """One real number a draw, in a tensor on an accelerator."""

    tensor: Any

    @staticmethod
    def of(result: Any, size: int) -> DeviceOutputs | None:
        """What a mechanism gave back, if it is such a tensor."""
        if not on_device(result) or tuple(result.shape) != (size,) or _dtype(result) not in _REAL:
            return None
        return DeviceOutputs(result.detach())

    def __len__(self) -> int:
        return len(self.tensor)

    def here(self) -> npt.NDArray[Any]:
        """All of them, copied."""
        return _copied(self.tensor)

    def head(self, size: int) -> npt.NDArray[Any]:
        """The first few."""
        return _copied(self.tensor[:size])

    @property
    def is_exact(self) -> bool:
        """Whether each number is one that a float can hold."""
        if _dtype(self.tensor) != "int64":
            return True
        least, most = self.tensor.aminmax()
        return max(abs(int(least)), abs(int(most))) <= _MAX_EXACT


def _dtype(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _copied(tensor: Any) -> npt.NDArray[Any]:
    there = tensor.detach()
    if _dtype(there) == "bfloat16":  # which NumPy does not have
        there = there.float()
    return np.asarray(there.cpu().numpy())
