"""The kinds of arrays that the code passes around."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Index = npt.NDArray[np.intp]
Labels = npt.NDArray[np.bool_]  # of a draw: true if it came from `data`
