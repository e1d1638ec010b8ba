"""What all pictures share: axes, colours, marks and legends. matplotlib is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polars_retrieval.columns import read_frame
from polars_retrieval.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# The colours of Okabe and Ito that stand out on white and on black. Markers and dashes tell lines apart where
# there is no colour; as the three lengths have no common factor, a style comes again after 210 lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))

SHORT = 10  # a curve of up to so many ks has each of them marked
LOG_FROM = 50  # the axis of k is logarithmic if k reaches this
ALL_TICKS_TO = 200  # up to this k an axis of a paper's width holds 1, 2, 5, 10, ...; beyond it 1, 10, 100, ...
PLAIN_TO = 10_000  # and up to this k it holds them written out; beyond it as powers of ten
FEW, MANY = 4, 6  # lines: up to FEW have a legend in good size; more than MANY have it beside the axes

INSTALL = 'drawing needs matplotlib; install it with: pip install "polars-retrieval[plot]"'


class Group(NamedTuple):
    """One curve: its name in the legend, empty where there is only one, and its rows by rising k."""

    name: str
    rows: pl.DataFrame


def as_frame(data: Any, argument: str) -> pl.DataFrame:
    """Take any frame, or a dictionary of columns."""
    return read_frame(pl.DataFrame(data) if isinstance(data, Mapping) else data, argument).lazy().collect()


def figure_and_axes(ax: Any) -> tuple[Figure, Axes]:
    """Return the caller's axes, or new ones of pyplot, and their figure."""
    try:
        from matplotlib.axes import Axes
    except ModuleNotFoundError as error:
        raise ImportError(INSTALL) from error
    if ax is None:
        from matplotlib import pyplot as plt

        return plt.subplots(layout="constrained")
    if not isinstance(ax, Axes):  # such as the array of axes that plt.subplots(1, 2) gives
        msg = f"`ax` has to be a matplotlib Axes or None, got {type(ax).__name__}"
        raise ParameterError(msg)
    return ax.figure.figure, ax  # of axes in a subfigure, the whole figure


def line_style(number: int) -> dict[str, Any]:
    """Return colour, marker and dashes of a line."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": DASHES[number % len(DASHES)],
    }


def draw_line(axes: Axes, group: Group, x: str, y: str, style: dict[str, Any]) -> Line2D:
    """Draw one line, with markers at its marked ks."""
    from matplotlib.transforms import Bbox, TransformedBbox

    (line,) = axes.plot(
        group.rows[x].cast(pl.Float64).to_numpy(),
        group.rows[y].cast(pl.Float64).to_numpy(),
        markevery=marked(group.rows["k"].to_list()),
        markersize=4,
        linewidth=1.3,
        zorder=2.6,  # above the frame of the axes, which is 2.5
        label=group.name,
        **style,
    )
    # Exactly 0 and 1 are common values: a marker on the frame is shown whole.
    line.set_clip_box(TransformedBbox(Bbox([[-0.03, -0.03], [1.03, 1.03]]), axes.transAxes))
    return line


def marked(ks: list[int]) -> list[int]:
    """Return the places of the round ks and of the last one, or all places of a short curve."""
    return [place for place, k in enumerate(ks) if is_round(k) or k == ks[-1] or len(ks) <= SHORT]


def keys_of_both(groups: list[Group], measures: list[str]) -> list[Line2D]:
    """Return what explains colour and marker (the groups), then what explains the dashes (the measures)."""
    from matplotlib.lines import Line2D

    of_groups = [
        Line2D([], [], **line_style(number) | {"linestyle": "-"}, markersize=4, linewidth=1.3, label=group.name)
        for number, group in enumerate(groups)
    ]
    of_measures = [
        Line2D([], [], color="0.5", linestyle=DASHES[place % len(DASHES)], linewidth=1.3, label=measure)
        for place, measure in enumerate(measures)
    ]
    return of_groups + of_measures


def group_name(values: Iterable[object]) -> str:
    """Name a group by its values."""
    return ", ".join("null" if value is None else str(value) or '""' for value in values)


def set_k_axis(axes: Axes, ks: pl.Series) -> None:
    """Make x the axis of k, with ticks at round ks; logarithmic if k is large."""
    from matplotlib.ticker import FixedLocator, FormatStrFormatter, MaxNLocator, NullFormatter

    axes.set_xlabel("k")
    largest = int(ks.sort()[-1])
    if largest < LOG_FROM:
        if len(ks) == 1:
            axes.set_xlim(largest - 1, largest + 1)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        return
    axes.set_xscale("log")
    ticks = [digit * 10**power for power in range(len(str(largest)) + 1) for digit in (1, 2, 5)]
    labelled = ticks if largest <= ALL_TICKS_TO else ticks[::3]
    axes.xaxis.set_major_locator(FixedLocator(labelled))
    if largest <= PLAIN_TO:
        axes.xaxis.set_major_formatter(FormatStrFormatter("%d"))
    axes.xaxis.set_minor_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_formatter(NullFormatter())


def add_legend(axes: Axes, lines: Sequence[Line2D], keys: list[str]) -> None:
    """Explain the lines: in the axes, or beside them where they are many and the figure makes room."""
    beside = len(lines) > MANY and axes.figure.get_layout_engine() is not None
    size = "small" if len(lines) <= FEW else "x-small"
    legend = axes.legend(
        handles=list(lines),
        title=", ".join(keys),
        **{"loc": "upper left", "bbox_to_anchor": (1, 1)} if beside else {"loc": "best"},
        fontsize=size,
        title_fontsize=size,
        labelspacing=0.3,
        handlelength=3,
    )
    for text in (legend.get_title(), *legend.get_texts()):
        text.set_parse_math(False)  # a dollar sign in a system's name is a dollar sign


def is_round(k: int) -> bool:
    """Whether k is one of 1, 2, 5, 10, 20, 50, 100, ..."""
    return str(k).rstrip("0") in {"1", "2", "5"}


def top(values: pl.DataFrame) -> float:
    """Return the upper end of the y axis: 1, or further up where a measure such as DCG exceeds it."""
    largest = values.select(pl.max_horizontal(pl.all().cast(pl.Float64).fill_nan(None).max())).item()
    return 1.0 if largest is None or largest <= 1 else 1.05 * float(largest)
