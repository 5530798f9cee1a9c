"""Figures that notebooks show by themselves. It imports matplotlib: load it where one is drawn."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

_DPI = 200  # of the picture: twice as fine as a screen shows it
_SHOWN_DPI = 100


class ShownFigure(Figure):
    """A figure that a notebook shows as the last line of a cell.

    Notebooks show a plain figure only once pyplot has been imported, which dpaudit never does.
    """

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """The picture, and how large it is shown."""
        drawn = io.BytesIO()
        self.savefig(drawn, format="png", dpi=_DPI, metadata={"Software": None})
        width, height = (round(inches * _SHOWN_DPI) for inches in self.get_size_inches())
        return drawn.getvalue(), {"width": width, "height": height}
