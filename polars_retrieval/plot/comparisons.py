"""Pictures of comparisons: systems side by side, a measure against k with bands, differences query by query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_retrieval.columns import names
from polars_retrieval.errors import ColumnError, DataError, ParameterError
from polars_retrieval.names import hint, quoted
from polars_retrieval.plot.drawing import (
    COLOURS,
    Group,
    add_legend,
    as_frame,
    draw_line,
    figure_and_axes,
    group_name,
    keys_of_both,
    line_style,
    set_k_axis,
    top,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

SUMMARY = ("measure", "mean", "low", "high")
NO_GROUP = {*SUMMARY, "std", "n_queries"}  # columns of a summary that tell no systems apart
DIFFERENCES = ("measure", "baseline", "system", "value_baseline", "value_system", "difference")
LISTS = ("relevant", "ranks_baseline", "ranks_system")
NAMED = 30  # up to so many queries stand by name under their bars
LONGEST, LONGEST_BELOW = 30, 14  # characters of a name beside the axes, and of one upright below them


def systems(
    summary: Any,
    *,
    by: str | Sequence[str] | None = None,
    measures: str | Sequence[str] | None = None,
    ax: Axes | None = None,
) -> tuple[Figure, Axes]:
    """Draw systems side by side: their means, with intervals.

    A system has a row, and each measure a marker and colour of its own. Systems stand in order of appearance.

    Parameters
    ----------
    summary
        What ``polars_retrieval.summarize`` gives: columns ``measure``, ``mean``, ``low``, ``high``, and those that
        tell systems apart. Any frame, a dictionary of columns, or a LazyFrame, which is collected.
    by
        The columns that tell systems apart. By default all that are not of the summary itself; without any, each
        measure has a row.
    measures
        The measures to draw, in this order. By default all.
    ax
        Axes to draw into. By default a new pyplot figure, as high as its rows need.

    Returns
    -------
    tuple of Figure and Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polars_retrieval import plot
    >>> summary = {"run_id": ["a", "b"], "measure": ["ndcg@10"] * 2, "mean": [0.5, 0.6]}
    >>> figure, axes = plot.systems({**summary, "low": [0.4, 0.5], "high": [0.6, 0.7]}, ax=Figure().subplots())
    >>> axes.get_xlabel(), [text.get_text() for text in axes.get_yticklabels()]
    ('Mean ndcg@10', ['a', 'b'])
    """
    frame, keys = _checked(summary, by)
    asked = _asked(frame, measures)
    rows = frame.select(keys or ["measure"]).unique(maintain_order=True).with_row_index("row")
    placed = frame.join(rows, on=keys or ["measure"], how="left", nulls_equal=True, maintain_order="left")
    figure, axes = figure_and_axes(ax)
    series = [[measure] for measure in asked] if keys else [asked]
    step = 0.7 / len(series)
    for number, several in enumerate(series):
        shift = (number - (len(series) - 1) / 2) * step
        _draw_means(axes, placed.filter(pl.col("measure").is_in(several)), shift, number, several[0])
    _name_rows(axes, [group_name(row[1:]) for row in rows.iter_rows()])
    axes.set_xlabel(f"Mean {asked[0]}" if len(asked) == 1 else "Mean", parse_math=False)
    axes.grid(axis="x", alpha=0.3)
    if len(series) > 1:
        _add_legend_above(axes)
    if ax is None:
        figure.set_figheight(min(40, 1.2 + 0.16 * rows.height * (1 + len(series))))
    return figure, axes


def measure_at_k(
    summary: Any,
    *,
    by: str | Sequence[str] | None = None,
    measures: str | Sequence[str] | None = None,
    ax: Axes | None = None,
) -> tuple[Figure, Axes]:
    """Draw a measure against k, with the intervals as bands.

    Parameters
    ----------
    summary
        As for ``systems``, of measures at several cutoffs, such as ``recall@1``, ``recall@10`` and ``recall@100``.
    by
        As for ``systems``: each of their values gets a line with a band.
    measures
        The measures to draw, without their cutoff: ``"recall"``. By default all, each with its own dashes.
    ax
        Axes to draw into. By default a new pyplot figure; close it with ``plt.close`` where many are drawn.

    Returns
    -------
    tuple of Figure and Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polars_retrieval import plot
    >>> summary = {"measure": ["recall@1", "recall@10"], "mean": [0.2, 0.6], "low": [0.1, 0.5], "high": [0.3, 0.7]}
    >>> figure, axes = plot.measure_at_k(summary, ax=Figure().subplots())
    >>> axes.get_xlabel(), axes.get_ylabel(), axes.lines[0].get_xdata().tolist()
    ('k', 'recall@k', [1.0, 10.0])
    """
    frame, keys = _checked(summary, by)
    frame, asked = _with_ks(frame, measures)
    figure, axes = figure_and_axes(ax)
    set_k_axis(axes, frame["k"].unique())
    label = f"{asked[0]}@k" if len(asked) == 1 else "Mean at k"
    axes.set_ylabel(label, parse_math=False)
    axes.set_ylim(0, max(axes.get_ylim()[1] if axes.lines else 1, top(frame.select("mean", "high"))))
    axes.grid(alpha=0.3)
    drawn = len(axes.lines)  # the same axes drawn into again: go on with the next style
    parts = frame.partition_by([*keys, "name"], as_dict=True, maintain_order=True)
    groups = list(dict.fromkeys(values[:-1] for values in parts))
    lines = []
    for (*group, name), rows in parts.items():
        number, place = groups.index(tuple(group)), asked.index(str(name))
        look = line_style(drawn + (number if keys else place))
        if len(groups) > 1 and len(asked) > 1:
            look["linestyle"] = line_style(place)["linestyle"]
        title = ", ".join(filter(None, [group_name(group), str(name) if len(asked) > 1 else ""]))
        lines.append(_draw_band(axes, Group(title, rows.sort("k")), look))
    if len(groups) > 1 and len(asked) > 1:
        _add_legend_above(axes, keys_of_both([Group(group_name(group), frame) for group in groups], asked))
    elif keys or len(lines) > 1:
        add_legend(axes, lines, keys)
    return figure, axes


def differences(differences: Any, *, ax: Axes | None = None) -> tuple[Figure, Axes]:
    """Draw what each query gained or lost, from the largest gain to the largest loss.

    Up to 30 queries are named.

    Parameters
    ----------
    differences
        What ``polars_retrieval.differences`` gives, or any other frame with a column ``difference``. Queries without
        a difference are not drawn, but counted in the legend.
    ax
        Axes to draw into. By default a new pyplot figure; close it with ``plt.close`` where many are drawn.

    Returns
    -------
    tuple of Figure and Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from polars_retrieval import plot
    >>> rows = {"query_id": ["q1", "q2", "q3"], "difference": [0.5, -0.25, 0.0]}
    >>> figure, axes = plot.differences(rows, ax=Figure().subplots())
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['higher: 1', 'lower: 1', 'equal: 1']
    """
    import numpy as np

    frame = as_frame(differences, "differences")
    _check_numbers(frame, "differences", ["difference"])
    roles = _roles(frame)
    difference = pl.col("difference").cast(pl.Float64).fill_nan(None)
    known = (
        frame.with_columns(difference).drop_nulls("difference").sort("difference", descending=True, maintain_order=True)
    )
    if known.is_empty():
        msg = "`differences` has no differences to draw"
        raise DataError(msg)
    figure, axes = figure_and_axes(ax)
    values = known["difference"].to_numpy()
    edges = np.arange(len(values) + 1) + 0.5
    higher = (values > 0, f"{_short(str(roles['system']))} higher" if roles else "higher")
    lower = (values < 0, f"{_short(str(roles['baseline']))} higher" if roles else "lower")
    for colour, (where, words) in zip(COLOURS, (higher, lower), strict=False):
        axes.stairs(np.where(where, values, 0), edges, fill=True, color=colour, label=f"{words}: {where.sum():,}")
    axes.axhline(0, color="0.2", linewidth=0.8)
    others = {"equal": int((values == 0).sum()), "undefined": frame.height - known.height}
    for word, count in others.items():
        if count:
            axes.plot([], [], linestyle="none", label=f"{word}: {count:,}")
    _add_legend_above(axes)
    axes.set_xlim(0.5, len(values) + 0.5)
    axes.set_ylabel(f"Difference in {roles['measure']}" if roles else "Difference", parse_math=False)
    axes.grid(axis="y", alpha=0.3)
    _name_queries(axes, known)
    return figure, axes


def _checked(summary: Any, by: str | Sequence[str] | None) -> tuple[pl.DataFrame, list[str]]:
    """Return the summary as a DataFrame and the columns that tell systems apart, or raise what is wrong with them."""
    frame = as_frame(summary, "summary")
    given = list(dict.fromkeys(names("by", by)))
    _check_present(frame, "summary", [*given, "measure"])
    _check_numbers(frame, "summary", ["mean", "low", "high"])
    if wrong := [name for name in given if name in SUMMARY]:
        msg = f"`by` has to name other columns than {quoted(SUMMARY)}, got {quoted(wrong)}"
        raise ParameterError(msg)
    if frame.is_empty():
        msg = "`summary` has no rows to draw"
        raise DataError(msg)
    keys = given or [name for name in frame.columns if name not in NO_GROUP]
    doubled = frame.filter(pl.struct(*keys, "measure").is_duplicated())
    if doubled.height:
        msg = (
            f"`by` has to name the columns that tell the systems apart: with {quoted(keys) or 'none'} there are "
            f"several rows for `{doubled['measure'][0]}`; columns of `summary` are {quoted(frame.columns)}"
        )
        raise ParameterError(msg)
    return frame.with_columns(pl.col("mean", "low", "high").cast(pl.Float64), pl.col("measure").cast(pl.String)), keys


def _check_present(frame: pl.DataFrame, argument: str, columns: Sequence[str]) -> None:
    for name in columns:
        if name not in frame.columns:
            near = hint(name, frame.columns)
            msg = f"`{argument}` has no column `{name}`; its columns are {quoted(frame.columns)}.{near}"
            raise ColumnError(msg)


def _check_numbers(frame: pl.DataFrame, argument: str, columns: Sequence[str]) -> None:
    _check_present(frame, argument, columns)
    for name in columns:
        if not (frame.schema[name].is_numeric() or frame.schema[name] == pl.Null):
            msg = f"column `{name}` of `{argument}` is of type {frame.schema[name]}; it has to hold numbers"
            raise ColumnError(msg)


def _asked(frame: pl.DataFrame, measures: str | Sequence[str] | None, column: str = "measure") -> list[str]:
    """Return the measures to draw."""
    known = frame[column].unique(maintain_order=True).to_list()
    asked = list(dict.fromkeys(names("measures", measures))) or known
    for name in asked:
        if name not in known:
            msg = f"`measures` has to be among {quoted(known)}, got `{name}`.{hint(name, known)}"
            raise ParameterError(msg)
    return asked


def _with_ks(frame: pl.DataFrame, measures: str | Sequence[str] | None) -> tuple[pl.DataFrame, list[str]]:
    """Take names of measures apart: recall@10 into the name recall and the k 10."""
    parts = pl.col("measure").str.extract_groups(r"^(?<name>.+)@(?<k>\d+)$")
    taken = frame.with_columns(parts.struct.field("name"), parts.struct.field("k").cast(pl.Int64))
    without = taken.filter(pl.col("k").is_null())["measure"].unique(maintain_order=True)
    if len(without) and (measures is None or len(without) == frame["measure"].n_unique()):
        msg = f"{quoted(without)} of `summary` have no cutoff to draw at; choose others with `measures`"
        raise ParameterError(msg)
    taken = taken.drop_nulls("k")
    asked = _asked(taken, measures, "name")
    return taken.filter(pl.col("name").is_in(asked)), asked


def _roles(frame: pl.DataFrame) -> dict[str, object]:
    """Return which measure and systems the differences are of, if that is told; and raise if they are of several."""
    roles = {}
    for name in DIFFERENCES[:3]:
        if name in frame.columns:
            found = frame[name].unique(maintain_order=True).to_list()
            if len(found) > 1:
                msg = f"`differences` have to be of one {name}, got {quoted(found)}\n\nHint: filter them before."
                raise ParameterError(msg)
            roles[name] = found[0] if found else None
    return roles if len(roles) == len(DIFFERENCES[:3]) else {}


def _draw_means(axes: Axes, rows: pl.DataFrame, shift: float, number: int, label: str) -> None:
    """Draw the means of one measure, and their intervals."""
    look = {"color": line_style(number)["color"], "zorder": 2.6}
    places = rows["row"].cast(pl.Float64).to_numpy() + shift
    low, high, mean = (rows[name].to_numpy() for name in ("low", "high", "mean"))
    axes.hlines(places, low, high, linewidth=1.3, **look)
    for end in (low, high):
        axes.plot(end, places, linestyle="none", marker="|", markersize=5, label="_end", **look)
    (means,) = axes.plot(mean, places, linestyle="none", marker=line_style(number)["marker"], markersize=4.5, **look)
    means.set_label(label)


def _add_legend_above(axes: Axes, handles: Sequence[Line2D] | None = None) -> None:
    """Explain what is drawn above the axes: there nothing is covered, and names of rows leave room on the left."""
    legend = axes.legend(
        handles=handles,
        loc="lower right",
        bbox_to_anchor=(1, 1),
        ncols=2,
        fontsize="x-small",
        frameon=False,
        handlelength=None if handles else 1,
        handletextpad=0.4,
        columnspacing=1,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _name_rows(axes: Axes, rows: list[str]) -> None:
    axes.set_yticks(range(len(rows)), [_short(name) for name in rows], parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(rows) - 0.5, -0.5)  # the first on top


def _name_queries(axes: Axes, known: pl.DataFrame) -> None:
    """Write the ids of the queries under their bars, if there is room; else only say what the bars are."""
    ids = [name for name in known.columns if name not in {*DIFFERENCES, *LISTS}]
    if known.height <= NAMED and ids:
        labels = [_short(group_name(row), LONGEST_BELOW) for row in known.select(ids).iter_rows()]
        axes.set_xticks(range(1, known.height + 1), labels, rotation=90, fontsize="x-small", parse_math=False)
        axes.tick_params(axis="x", length=0)
        axes.set_xlabel(", ".join(ids), parse_math=False)
    else:
        axes.set_xlabel("Queries, by difference")


def _short(name: str, longest: int = LONGEST) -> str:
    """Cut a long name in its middle."""
    half = longest // 2
    return name if len(name) <= longest else f"{name[:half]}…{name[1 - half :]}"


def _draw_band(axes: Axes, group: Group, style: dict[str, Any]) -> Line2D:
    ks, low, high = (group.rows[name].cast(pl.Float64).to_numpy() for name in ("k", "low", "high"))
    axes.fill_between(ks, low, high, color=style["color"], alpha=0.2, linewidth=0)
    return draw_line(axes, group, "k", "mean", style)
