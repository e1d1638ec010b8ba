"""The numbers beside the marks of a curve: as many as there is room for, at any size and zoom."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from matplotlib import rcParams
from matplotlib.artist import Artist
from matplotlib.colors import to_rgb
from matplotlib.transforms import Bbox, BboxBase

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase
    from matplotlib.lines import Line2D
    from matplotlib.path import Path
    from matplotlib.text import Annotation
    from matplotlib.typing import ColorType

# Where a number may stand: offset in points, horizontal and vertical alignment. A curve falls to the right,
# so the space above right of a mark is free most often.
PLACES = (
    ((2.5, 2.5), "left", "bottom"),
    ((-2.5, -2.5), "right", "top"),
    ((0, 4), "center", "bottom"),
    ((0, -4), "center", "top"),
    ((4, 0), "left", "center"),
    ((-4, 0), "right", "center"),
    ((-2.5, 2.5), "right", "bottom"),
    ((2.5, -2.5), "left", "top"),
)
MARK = 2.2  # half the width of a mark, in points
GAP = 1.5  # between two numbers, in points


class Mark(NamedTuple):
    """A point of a curve that is marked."""

    k: int
    recall: float
    precision: float


def add_k_labels(axes: Axes, lines: list[Line2D], marks: list[list[Mark]]) -> None:
    """Write their ks beside the marks of each line."""
    labels = [
        (mark.k, _label(axes, mark, line.get_color()))
        for line, of_line in zip(lines, marks, strict=True)
        for mark in of_line
    ]
    earlier = [artist for artist in axes.artists if isinstance(artist, KLabels)]
    artist = earlier[0] if earlier else KLabels(axes)
    artist.extend(lines, labels)
    if not earlier:
        axes.add_artist(artist)


def _label(axes: Axes, mark: Mark, colour: ColorType) -> Annotation:
    """Return a number in a colour between its line's and that of all text, as pale ones are hard to read."""
    own, text = to_rgb(colour), to_rgb(rcParams["text.color"])
    red, green, blue = ((a + b) / 2 for a, b in zip(own, text, strict=True))
    return axes.annotate(
        str(mark.k),
        (mark.recall, mark.precision),
        xytext=(0, 0),
        textcoords="offset points",
        fontsize="x-small",
        color=(red, green, blue),
    )


class KLabels(Artist):
    """Places the numbers anew whenever the axes are drawn: only then is it known how much room there is.

    A number that finds no place free of lines, marks and other numbers is hidden. The first one placed says
    what they all are: "k = 100".
    """

    def __init__(self, axes: Axes) -> None:
        super().__init__()
        self._within = axes
        self._lines: list[Line2D] = []
        self._labels: list[tuple[int, Annotation]] = []  # in the order in which they are placed
        self.set_zorder(0)  # drawn, and so placed, before the numbers
        self.set_in_layout(False)

    def extend(self, lines: list[Line2D], labels: list[tuple[int, Annotation]]) -> None:
        """Place these too, in the same axes."""
        self._lines += lines
        self._labels += labels
        last = max((k for k, _ in self._labels), default=0)
        # The end of a curve has most room, for the words "k = "; then 1, 10, 100 go before 2, 5, 20.
        self._labels.sort(key=lambda label: (label[0] != last, not str(label[0]).startswith("1"), label[0]))

    def draw(self, renderer: RendererBase) -> None:
        """Place the numbers; of this artist itself nothing is seen."""
        point = self._within.figure.dpi / 72  # in pixels
        paths = [line.get_path().transformed(line.get_transform()) for line in self._lines]
        marks = [
            Bbox([[x, y], [x, y]]).padded(MARK * point)
            for x, y in (self._within.transData.transform(label.xy) for _, label in self._labels)
        ]
        placed: list[BboxBase] = []
        for k, label in self._labels:
            label.set(visible=True, text=f"{k}" if placed else f"k = {k}")
            box = self._place(label, paths, [*marks, *placed], renderer)
            label.set_visible(box is not None)
            if box is not None:
                placed.append(box.padded(GAP * point))

    def _place(
        self, label: Annotation, paths: list[Path], taken: list[BboxBase], renderer: RendererBase
    ) -> BboxBase | None:
        """Move a number to the first free place beside its mark and return the space it takes, or None."""
        for offset, horizontal, vertical in PLACES:
            label.set(position=offset, horizontalalignment=horizontal, verticalalignment=vertical)
            box = label.get_window_extent(renderer)
            if (
                _holds(self._within.bbox, box)
                and not box.count_overlaps(taken)
                and not any(path.intersects_bbox(box, filled=False) for path in paths)
            ):
                return box
        return None


def _holds(outer: BboxBase, inner: BboxBase) -> bool:
    return bool(outer.x0 <= inner.x0 and inner.x1 <= outer.x1 and outer.y0 <= inner.y0 and inner.y1 <= outer.y1)
