"""Pictures of a precision-recall curve over k. matplotlib is imported when one is drawn.

A figure that is made here is pyplot's: notebooks show it, ``plt.show`` and ``plt.savefig`` find it, and
whoever draws many in one process closes them. With ``ax`` pyplot is left alone: the figure is the caller's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polars_retrieval.columns import names, read_frame
from polars_retrieval.errors import ColumnError, DataError, ParameterError
from polars_retrieval.names import hint, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from polars_retrieval.plot_labels import Mark

CURVE = ("k", "precision", "recall")

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


class _Group(NamedTuple):
    """One curve: its name in the legend, empty where there is only one, and its rows by rising k."""

    name: str
    rows: pl.DataFrame


def pr_curve(curve: Any, *, by: str | Sequence[str] | None = None, ax: Axes | None = None) -> tuple[Figure, Axes]:
    """Draw precision against recall, with the ks marked.

    The round ks (1, 2, 5, 10, 20, 50, 100, ...) and the last one are marked, and of up to ten ks each. Their
    numbers stand beside them, where there is room.

    Parameters
    ----------
    curve
        What ``polars_retrieval.pr_curve`` gives: columns ``k``, ``precision``, ``recall`` and those of
        ``by``. Any frame, a dictionary of columns, or a LazyFrame, which is collected.
    by
        Column or columns that tell several curves apart; each of their values gets a line and a legend entry.
    ax
        Axes to draw into. By default a new pyplot figure; close it with ``plt.close`` where many are drawn.

    Returns
    -------
    tuple of Figure and Axes

    Examples
    --------
    >>> import polars as pl
    >>> from matplotlib.figure import Figure
    >>> from polars_retrieval import plot
    >>> curve = pl.DataFrame({"k": [1, 2, 3], "precision": [1.0, 0.5, 2 / 3], "recall": [0.5, 0.5, 1.0]})
    >>> figure, axes = plot.pr_curve(curve, ax=Figure().subplots())
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('Recall', 'Precision')
    """
    frame, keys = _checked(curve, by)
    figure, axes = _figure_and_axes(ax)
    from polars_retrieval.plot_labels import add_k_labels

    axes.set(xlabel="Recall", ylabel="Precision", xlim=(0, 1), ylim=(0, 1))
    axes.grid(alpha=0.3)
    drawn = len(axes.lines)  # the same axes drawn into again: go on with the next style
    groups = _groups(frame, keys)
    lines = [_draw(axes, group, "recall", "precision", _style(number)) for number, group in enumerate(groups, drawn)]
    add_k_labels(axes, lines, [_marks(group.rows) for group in groups])
    if keys:
        _add_legend(axes, lines, keys)
    return figure, axes


def metrics_at_k(curve: Any, *, by: str | Sequence[str] | None = None, ax: Axes | None = None) -> tuple[Figure, Axes]:
    """Draw precision, recall and every other Float column of a curve against k.

    Each measure has its own dashes, colour and markers; with ``by``, colour and markers tell the groups apart
    instead. The axis of k is logarithmic if k reaches 50.

    Parameters
    ----------
    curve
        As for ``pr_curve``.
    by
        Column or columns that tell several curves apart.
    ax
        Axes to draw into. By default a new pyplot figure; close it with ``plt.close`` where many are drawn.

    Returns
    -------
    tuple of Figure and Axes

    Examples
    --------
    >>> import polars as pl
    >>> from matplotlib.figure import Figure
    >>> from polars_retrieval import plot
    >>> curve = pl.DataFrame({"k": [1, 2, 3], "precision": [1.0, 0.5, 2 / 3], "recall": [0.5, 0.5, 1.0]})
    >>> figure, axes = plot.metrics_at_k(curve, ax=Figure().subplots())
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['precision', 'recall']
    """
    frame, keys = _checked(curve, by)
    figure, axes = _figure_and_axes(ax)
    measures = _measures(frame, keys)
    _set_k_axis(axes, frame["k"].unique())
    axes.set(ylabel="Value at k", ylim=(0, _top(frame.select(measures))))
    axes.grid(alpha=0.3)
    groups = _groups(frame, keys)
    lines = []
    for number, group in enumerate(groups):
        for place, measure in enumerate(measures):
            style = _style(number) | {"linestyle": DASHES[place % len(DASHES)]} if keys else _style(place)
            name = f"{group.name}: {measure}" if keys else measure
            lines.append(_draw(axes, group._replace(name=name), "k", measure, style))
    _add_legend(axes, _keys_of_both(groups, measures) if keys else lines, keys)
    return figure, axes


def _checked(curve: Any, by: str | Sequence[str] | None) -> tuple[pl.DataFrame, list[str]]:
    """Return the curve as a DataFrame and ``by`` as a list, or raise what is wrong with them."""
    frame = read_frame(pl.DataFrame(curve) if isinstance(curve, Mapping) else curve, "curve").lazy().collect()
    keys = list(dict.fromkeys(names("by", by)))
    _check_columns(frame, keys)
    _check_ks(frame)
    _check_single(frame, keys)
    return frame.with_columns(pl.col("precision", "recall").cast(pl.Float64)), keys


def _check_columns(frame: pl.DataFrame, keys: list[str]) -> None:
    if part_twice := [name for name in keys if name in CURVE]:
        msg = f"`by` has to name other columns than {quoted(CURVE)}, got {quoted(part_twice)}"
        raise ParameterError(msg)
    for name in (*keys, *CURVE):
        if name not in frame.columns:
            known = frame.columns
            msg = f"`curve` has no column `{name}`; columns are {quoted(known)}.{hint(name, known)}"
            raise ColumnError(msg)
    for name in CURVE:
        if not (frame.schema[name].is_integer() if name == "k" else frame.schema[name].is_numeric()):
            allowed = "integers" if name == "k" else "numbers"
            msg = f"column `{name}` of `curve` is of type {frame.schema[name]}; it has to hold {allowed}"
            raise ColumnError(msg)


def _check_ks(frame: pl.DataFrame) -> None:
    if frame.is_empty():
        msg = "`curve` has no rows to draw"
        raise DataError(msg)
    wrong = frame["k"].filter(frame["k"].is_null() | (frame["k"] < 1))
    if len(wrong):
        msg = f"`k` of `curve` has to be 1 or more, got {'null' if wrong[0] is None else wrong[0]}"
        raise DataError(msg)


def _check_single(frame: pl.DataFrame, keys: list[str]) -> None:
    doubled = frame.filter(pl.struct(*keys, "k").is_duplicated())
    if doubled.is_empty():
        return
    others = [name for name in frame.columns if name not in {*CURVE, *keys}]
    msg = (
        f"`by` has to name the columns that tell the curves apart: with {quoted(keys) or 'none'} there are "
        f"several rows for k = {doubled['k'][0]}. Further columns of `curve`: {quoted(others) or 'none'}"
    )
    raise ParameterError(msg)


def _groups(frame: pl.DataFrame, keys: list[str]) -> list[_Group]:
    """Split into curves, in order of first appearance."""
    if not keys:
        return [_Group("", frame.sort("k"))]
    parts = frame.partition_by(keys, as_dict=True, maintain_order=True)
    return [_Group(_group_name(values), rows.sort("k")) for values, rows in parts.items()]


def _group_name(values: Iterable[object]) -> str:
    return ", ".join("null" if value is None else str(value) or '""' for value in values)


def _measures(frame: pl.DataFrame, keys: list[str]) -> list[str]:
    """Return precision, recall and the other Float columns."""
    others = [name for name, kind in frame.schema.items() if kind.is_float() and name not in {*CURVE, *keys}]
    return ["precision", "recall", *others]


def _top(values: pl.DataFrame) -> float:
    """Return the upper end of the y axis: 1, or further up where a measure such as DCG exceeds it."""
    largest = values.select(pl.max_horizontal(pl.all().cast(pl.Float64).fill_nan(None).max())).item()
    return 1.0 if largest is None or largest <= 1 else 1.05 * float(largest)


def _figure_and_axes(ax: Any) -> tuple[Figure, Axes]:
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


def _style(number: int) -> dict[str, Any]:
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": DASHES[number % len(DASHES)],
    }


def _draw(axes: Axes, group: _Group, x: str, y: str, style: dict[str, Any]) -> Line2D:
    """Draw one line, with markers at its marked ks."""
    from matplotlib.transforms import Bbox, TransformedBbox

    (line,) = axes.plot(
        group.rows[x].cast(pl.Float64).to_numpy(),
        group.rows[y].cast(pl.Float64).to_numpy(),
        markevery=_marked(group.rows["k"].to_list()),
        markersize=4,
        linewidth=1.3,
        zorder=2.6,  # above the frame of the axes, which is 2.5
        label=group.name,
        **style,
    )
    # Exactly 0 and 1 are common values: a marker on the frame is shown whole.
    line.set_clip_box(TransformedBbox(Bbox([[-0.03, -0.03], [1.03, 1.03]]), axes.transAxes))
    return line


def _marked(ks: list[int]) -> list[int]:
    """Return the places of the round ks and of the last one, or all places of a short curve."""
    return [place for place, k in enumerate(ks) if is_round(k) or k == ks[-1] or len(ks) <= SHORT]


def _marks(rows: pl.DataFrame) -> list[Mark]:
    """Return k and point of each mark that can be drawn; undefined values have none."""
    from polars_retrieval.plot_labels import Mark

    finite = pl.all_horizontal(pl.col("recall", "precision").is_finite())
    marked = rows.select("k", "recall", "precision")[_marked(rows["k"].to_list())]
    return [Mark(*row) for row in marked.filter(finite).rows()]


def is_round(k: int) -> bool:
    """Whether k is one of 1, 2, 5, 10, 20, 50, 100, ..."""
    return str(k).rstrip("0") in {"1", "2", "5"}


def _set_k_axis(axes: Axes, ks: pl.Series) -> None:
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


def _keys_of_both(groups: list[_Group], measures: list[str]) -> list[Line2D]:
    """Return what explains colour and marker (the groups), then what explains the dashes (the measures)."""
    from matplotlib.lines import Line2D

    of_groups = [
        Line2D([], [], **_style(number) | {"linestyle": "-"}, markersize=4, linewidth=1.3, label=group.name)
        for number, group in enumerate(groups)
    ]
    of_measures = [
        Line2D([], [], color="0.5", linestyle=DASHES[place % len(DASHES)], linewidth=1.3, label=measure)
        for place, measure in enumerate(measures)
    ]
    return of_groups + of_measures


def _add_legend(axes: Axes, lines: Sequence[Line2D], keys: list[str]) -> None:
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
