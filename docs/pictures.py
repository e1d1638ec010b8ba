"""The pictures of the pages, drawn when the site is built: none is stored, so none is out of date."""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure

import polars_retrieval as pr
from polars_retrieval import demo

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl
    from matplotlib.axes import Axes


def pictures() -> dict[str, str]:
    """Give each picture as SVG, by its file's name."""
    return {f"{draw.__name__}.svg": _svg(draw) for draw in DRAWN}


def demo_curve(axes: Axes) -> None:
    """Draw precision against recall of the demo's systems."""
    pr.plot.pr_curve(_curve(), by="system", ax=axes)


def demo_metrics_at_k(axes: Axes) -> None:
    """Draw precision and recall of the demo's systems against k."""
    pr.plot.metrics_at_k(_curve(), by="system", ax=axes)


def demo_systems(axes: Axes) -> None:
    """Draw the means of the demo's systems with their intervals."""
    run, qrels = demo.run(), demo.qrels()
    by_query = pr.per_query(run, ["precision@10", "recall@100", "average_precision"], qrels=qrels, by="system")
    pr.plot.systems(pr.summarize(by_query, by="system"), ax=axes)


def demo_differences(axes: Axes) -> None:
    """Draw what each query of the demo loses or gains."""
    rows = pr.differences(demo.run(), "average_precision", qrels=demo.qrels(), by="system")
    pr.plot.differences(rows, ax=axes)


DRAWN = (demo_curve, demo_metrics_at_k, demo_systems, demo_differences)


@cache
def _curve() -> pl.DataFrame:
    return pr.pr_curve(demo.run(), qrels=demo.qrels(), by="system", max_k=100)


def _svg(draw: Callable[[Axes], None]) -> str:
    figure = Figure(figsize=(5.6, 4), layout="constrained")
    draw(figure.subplots())
    text = io.StringIO()
    # The same bytes each time: ids by a fixed salt, and no date.
    with mpl.rc_context({"svg.hashsalt": draw.__name__}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()
