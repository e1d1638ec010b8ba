"""The report's pictures, as SVG that stands in the page itself. matplotlib is imported when one is drawn."""

from __future__ import annotations

import io
import re
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

from polars_retrieval import plot

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

WIDTH, HEIGHT = 6.4, 4.4  # in inches

# Text stays text, so that it can be searched and is drawn in whatever script it is; equal pictures get equal ids.
SVG: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "polars_retrieval"}
NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


def systems(summary: pl.DataFrame, by: str, measure: str) -> str:
    """Draw the means of a measure side by side, with their intervals."""
    height = min(1 + 0.4 * summary[by].n_unique(), HEIGHT)
    return _svg("Systems side by side", partial(plot.systems, summary, by=by, measures=[measure]), height)


def curves(curve: pl.DataFrame, by: str) -> dict[str, str]:
    """Draw precision against recall, and both against k: for each picture its title and its SVG."""
    drawn = {"Precision against recall": plot.pr_curve, "Precision and recall at k": plot.metrics_at_k}
    return {title: _svg(title, partial(draw, curve, by=by)) for title, draw in drawn.items()}


def _svg(title: str, draw: Callable[..., Any], height: float = HEIGHT) -> str:
    """Return a picture as an element of HTML."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure, text = Figure(figsize=(WIDTH, height), layout="constrained"), io.StringIO()
    with rc_context(SVG), warnings.catch_warnings():
        # matplotlib's font lacks some scripts, but the browser draws the text.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        draw(ax=figure.subplots())
        figure.savefig(text, format="svg", metadata=NO_METADATA)
    return _element(title, text.getvalue())


def _element(title: str, svg: str) -> str:
    """Leave out what is before the element, and ids that nothing refers to and that two pictures share."""
    element = re.sub(r'<g id="[^"]*"', "<g", svg[svg.index("<svg") :])
    return element.replace("<svg", f'<svg role="img" aria-label="{title}"', 1)
