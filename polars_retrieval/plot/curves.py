"""Pictures of a precision-recall curve over k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_retrieval.columns import names
from polars_retrieval.errors import ColumnError, DataError, ParameterError
from polars_retrieval.names import hint, quoted
from polars_retrieval.plot.drawing import (
    DASHES,
    Group,
    add_legend,
    as_frame,
    draw_line,
    figure_and_axes,
    group_name,
    keys_of_both,
    line_style,
    marked,
    set_k_axis,
    top,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from polars_retrieval.plot.labels import Mark

CURVE = ("k", "precision", "recall")


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
    figure, axes = figure_and_axes(ax)
    from polars_retrieval.plot.labels import add_k_labels

    axes.set(xlabel="Recall", ylabel="Precision", xlim=(0, 1), ylim=(0, 1))
    axes.grid(alpha=0.3)
    drawn = len(axes.lines)  # the same axes drawn into again: go on with the next style
    groups = _groups(frame, keys)
    lines = [
        draw_line(axes, group, "recall", "precision", line_style(number)) for number, group in enumerate(groups, drawn)
    ]
    add_k_labels(axes, lines, [_marks(group.rows) for group in groups])
    if keys:
        add_legend(axes, lines, keys)
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
    figure, axes = figure_and_axes(ax)
    measures = _measures(frame, keys)
    set_k_axis(axes, frame["k"].unique())
    axes.set(ylabel="Value at k", ylim=(0, top(frame.select(measures))))
    axes.grid(alpha=0.3)
    groups = _groups(frame, keys)
    lines = []
    for number, group in enumerate(groups):
        for place, measure in enumerate(measures):
            style = line_style(number) | {"linestyle": DASHES[place % len(DASHES)]} if keys else line_style(place)
            name = f"{group.name}: {measure}" if keys else measure
            lines.append(draw_line(axes, group._replace(name=name), "k", measure, style))
    add_legend(axes, keys_of_both(groups, measures) if keys else lines, keys)
    return figure, axes


def _checked(curve: Any, by: str | Sequence[str] | None) -> tuple[pl.DataFrame, list[str]]:
    """Return the curve as a DataFrame and ``by`` as a list, or raise what is wrong with them."""
    frame = as_frame(curve, "curve")
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


def _groups(frame: pl.DataFrame, keys: list[str]) -> list[Group]:
    """Split into curves, in order of first appearance."""
    if not keys:
        return [Group("", frame.sort("k"))]
    parts = frame.partition_by(keys, as_dict=True, maintain_order=True)
    return [Group(group_name(values), rows.sort("k")) for values, rows in parts.items()]


def _measures(frame: pl.DataFrame, keys: list[str]) -> list[str]:
    """Return precision, recall and the other Float columns."""
    others = [name for name, kind in frame.schema.items() if kind.is_float() and name not in {*CURVE, *keys}]
    return ["precision", "recall", *others]


def _marks(rows: pl.DataFrame) -> list[Mark]:
    """Return k and point of each mark that can be drawn; undefined values have none."""
    from polars_retrieval.plot.labels import Mark

    finite = pl.all_horizontal(pl.col("recall", "precision").is_finite())
    points = rows.select("k", "recall", "precision")[marked(rows["k"].to_list())]
    return [Mark(*row) for row in points.filter(finite).rows()]
