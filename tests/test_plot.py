"""The pictures: what is drawn, how it is named, and that no two numbers lie on each other."""

from __future__ import annotations

import io
import itertools
import json
import pickle
import sys

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from polars_retrieval import plot
from polars_retrieval.errors import ColumnError, DataError, ParameterError

mpl.use("Agg")

PAPER, NOTEBOOK = (3.3, 2.5), (6.4, 4.8)

# Six documents, relevant are the first, the second and the fourth.
CURVE = pl.DataFrame(
    {
        "k": [1, 2, 3, 4, 5, 6],
        "precision": [1 / 1, 2 / 2, 2 / 3, 3 / 4, 3 / 5, 3 / 6],
        "recall": [1 / 3, 2 / 3, 2 / 3, 3 / 3, 3 / 3, 3 / 3],
    }
)


@pytest.fixture(autouse=True)
def _closed():
    """Close what a test opened with pyplot."""
    yield
    plt.close("all")


def new_axes(size=NOTEBOOK, layout="constrained"):
    return Figure(figsize=size, layout=layout).subplots()


def falling(max_k, *, height=0.9, reach=0.8):
    """Return a smooth curve like that of a mean over many queries: precision falls, recall saturates."""
    k = np.arange(1, max_k + 1)
    hits = reach * (1 - np.exp(-3 * k / max_k))
    return pl.DataFrame({"k": k, "precision": height * np.exp(-2 * k / max_k), "recall": hits})


def several(n, max_k):
    curves = [
        falling(max_k, height=0.9 - 0.6 * i / n, reach=0.9 - 0.3 * i / n).with_columns(system=pl.lit(f"s{i}"))
        for i in range(n)
    ]
    return pl.concat(curves)


def numbers(axes):
    """Return the numbers beside the marks that are seen."""
    axes.figure.draw_without_rendering()
    return [text for text in axes.texts if isinstance(text, Annotation) and text.get_visible()]


def marked_ks(line):
    return [place + 1 for place in line.get_markevery()]


def test_recall_is_on_x_and_precision_on_y():
    figure, axes = plot.pr_curve(CURVE, ax=new_axes())
    (line,) = axes.lines
    assert figure is axes.figure
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Recall", "Precision")
    assert (axes.get_xlim(), axes.get_ylim()) == ((0, 1), (0, 1))
    assert line.get_xdata().tolist() == CURVE["recall"].to_list()
    assert line.get_ydata().tolist() == CURVE["precision"].to_list()
    assert axes.get_legend() is None


@pytest.mark.shared
def test_shared_case(shared):
    cases = map(json.loads, (shared / "cases" / "cases.jsonl").read_text().splitlines())
    expected = next(case["expected"] for case in cases if case["id"] == "prcurve-axes")
    _, axes = plot.pr_curve({name: expected[name] for name in ("k", "precision", "recall")}, ax=new_axes())
    assert axes.get_xlabel() == expected["plot"]["xlabel"]
    assert axes.get_ylabel() == expected["plot"]["ylabel"]
    assert axes.lines[0].get_xdata().tolist() == expected["plot"]["x data"]
    assert axes.lines[0].get_ydata().tolist() == expected["plot"]["y data"]


def test_rows_are_drawn_by_rising_k():
    _, axes = plot.pr_curve(CURVE.reverse(), ax=new_axes())
    assert axes.lines[0].get_ydata().tolist() == CURVE["precision"].to_list()


@pytest.mark.parametrize(
    ("max_k", "marked"),
    [
        (1, [1]),
        (7, [1, 2, 3, 4, 5, 6, 7]),
        (10, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        (11, [1, 2, 5, 10, 11]),
        (60, [1, 2, 5, 10, 20, 50, 60]),
        (1000, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]),
    ],
)
def test_round_ks_and_the_last_are_marked(max_k, marked):
    curve = falling(max_k)
    _, axes = plot.pr_curve(curve, ax=new_axes())
    assert marked_ks(axes.lines[0]) == marked
    _, axes = plot.metrics_at_k(curve, ax=new_axes())
    assert [marked_ks(line) for line in axes.lines] == [marked, marked]


def test_numbers_stand_for_the_marked_ks():
    _, axes = plot.pr_curve(falling(1000), ax=new_axes())
    labels = [text.get_text() for text in numbers(axes)]
    assert {"1", "10", "20", "50", "100", "200", "500", "k = 1000"} <= set(labels)
    for text in axes.texts:
        k = int(text.get_text().removeprefix("k = "))
        row = falling(1000).row(k - 1, named=True)
        assert text.xy == (row["recall"], row["precision"])


def test_one_point_is_seen_and_numbered():
    _, axes = plot.pr_curve(falling(20).filter(pl.col("k") == 7), ax=new_axes())
    assert axes.lines[0].get_markevery() == [0]
    assert [text.get_text() for text in numbers(axes)] == ["k = 7"]


def check_apart(axes):
    """No number on another, on a line, on a mark or outside the axes; one of them says that it is k."""
    texts = numbers(axes)
    boxes = [text.get_window_extent() for text in texts]
    assert not [(a, b) for a, b in itertools.combinations(boxes, 2) if a.overlaps(b)]
    for line, box in itertools.product(axes.lines, boxes):
        assert not line.get_path().transformed(axes.transData).intersects_bbox(box, filled=False)
        points = axes.transData.transform(line.get_xydata()[line.get_markevery()])
        radius = line.get_markersize() / 2 * axes.figure.dpi / 72
        assert not any(box.overlaps(Bbox([p, p]).padded(radius)) for p in points)
    for box in boxes:
        assert Bbox.intersection(box, axes.bbox).bounds == pytest.approx(box.bounds)
    assert sum(text.get_text().startswith("k = ") for text in texts) == 1
    return len(texts)


@pytest.mark.parametrize("size", [PAPER, NOTEBOOK])
@pytest.mark.parametrize("max_k", [6, 100, 1000])
@pytest.mark.parametrize("n", [1, 2, 6])
def test_numbers_do_not_overlap(size, max_k, n):
    _, axes = plot.pr_curve(several(n, max_k), by="system", ax=new_axes(size))
    assert check_apart(axes) >= 4


def test_numbers_are_placed_anew_when_the_figure_is_resized_or_zoomed():
    figure, axes = plot.pr_curve(several(6, 1000), by="system", ax=new_axes(NOTEBOOK))
    at_notebook_size = check_apart(axes)
    figure.set_size_inches(*PAPER)
    at_paper_size = check_apart(axes)
    figure.set_size_inches(*NOTEBOOK)
    axes.set(xlim=(0, 0.2), ylim=(0.5, 1))
    check_apart(axes)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    assert check_apart(axes) == at_notebook_size > at_paper_size


@pytest.mark.parametrize("form", ["png", "svg", "pdf"])
def test_figure_can_be_saved_and_pickled(form):
    figure, _ = plot.pr_curve(CURVE, ax=new_axes())
    target = io.BytesIO()
    pickle.loads(pickle.dumps(figure)).savefig(target, format=form)  # noqa: S301 (our own bytes)
    assert len(target.getvalue()) > 1000


def test_marks_on_the_frame_are_shown_whole():
    _, axes = plot.pr_curve(CURVE, ax=new_axes())
    axes.figure.draw_without_rendering()
    (line,) = axes.lines
    half = line.get_markersize() / 2 * axes.figure.dpi / 72
    clip = line.get_clip_box()
    assert clip.x1 > axes.bbox.x1 + half
    assert clip.y1 > axes.bbox.y1 + half
    assert line.get_zorder() > axes.spines["top"].get_zorder()


def test_by_draws_one_line_a_group_in_order_of_appearance():
    a, b = CURVE.with_columns(system=pl.lit("b")), falling(20).with_columns(system=pl.lit("a"))
    _, axes = plot.pr_curve(pl.concat([a, b]), by="system", ax=new_axes())
    assert [line.get_label() for line in axes.lines] == ["b", "a"]
    assert axes.lines[0].get_ydata().tolist() == a["precision"].to_list()
    assert axes.lines[1].get_ydata().tolist() == b["precision"].to_list()
    legend = axes.get_legend()
    assert legend.get_title().get_text() == "system"
    assert [text.get_text() for text in legend.get_texts()] == ["b", "a"]


def test_by_several_columns():
    curve = pl.concat(
        [CURVE.with_columns(system=pl.lit(s), digit=pl.lit(d)) for s in ("x", "") for d in (3, None)],
        how="vertical_relaxed",
    )
    _, axes = plot.pr_curve(curve, by=["system", "digit"], ax=new_axes())
    assert axes.get_legend().get_title().get_text() == "system, digit"
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["x, 3", "x, null", '"", 3', '"", null']


@pytest.mark.parametrize("name", ["_hidden", "costs $5 or $6", "a$^b"])
def test_odd_names_stand_in_the_legend_as_they_are(name):
    curve = CURVE.with_columns(system=pl.lit(name))
    figure, axes = plot.pr_curve(curve, by="system", ax=new_axes())
    figure.draw_without_rendering()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [name]
    assert not axes.get_legend().get_texts()[0].get_parse_math()


def test_lines_differ_by_colour_and_without_colour():
    _, axes = plot.pr_curve(several(30, 20), by="system", ax=new_axes())
    without_colour = {(line.get_marker(), str(line._dash_pattern)) for line in axes.lines}
    assert len(without_colour) == 30
    assert len({to_hex(line.get_color()) for line in axes.lines[:6]}) == 6


def test_second_call_on_the_same_axes_goes_on():
    _, axes = plot.pr_curve(falling(100), ax=new_axes(PAPER))
    plot.pr_curve(falling(100, height=0.85), ax=axes)
    first, second = axes.lines
    assert first.get_color() != second.get_color()
    assert first.get_marker() != second.get_marker()
    check_apart(axes)


def test_many_lines_have_their_legend_beside_the_axes():
    beside, within = new_axes(), new_axes(layout=None)
    for axes in (beside, within):
        plot.pr_curve(several(8, 20), by="system", ax=axes)
        axes.figure.draw_without_rendering()
    assert beside.get_legend().get_window_extent().x0 > beside.bbox.x1
    assert beside.get_legend().get_window_extent().x1 <= beside.figure.bbox.x1
    assert within.get_legend().get_window_extent().x1 <= within.bbox.x1


def test_undefined_values_leave_a_gap():
    curve = CURVE.with_columns(precision=pl.when(pl.col("k") != 3).then("precision"))
    _, axes = plot.pr_curve(curve, ax=new_axes())
    assert np.isnan(axes.lines[0].get_ydata()).tolist() == [False, False, True, False, False, False]
    assert "3" not in {text.get_text() for text in numbers(axes)}
    undefined = CURVE.with_columns(precision=pl.lit(None), recall=pl.lit(None)).cast({"precision": pl.Float64})
    _, axes = plot.pr_curve(undefined.cast({"recall": pl.Float64}), ax=new_axes())
    assert numbers(axes) == []


@pytest.mark.parametrize(
    "convert",
    [
        lambda c: c.lazy(),
        lambda c: c.to_pandas(),
        lambda c: c.to_arrow(),
        lambda c: c.to_dict(as_series=False),
        lambda c: c.cast({"k": pl.UInt8, "precision": pl.Float32}),
    ],
)
@pytest.mark.parametrize("draw", [plot.pr_curve, plot.metrics_at_k])
def test_any_frame_is_taken(convert, draw):
    _, axes = draw(convert(CURVE), ax=new_axes())
    assert axes.lines[0].get_ydata() == pytest.approx(CURVE["precision"].to_list(), abs=1e-7)


@pytest.mark.parametrize("draw", [plot.pr_curve, plot.metrics_at_k])
class TestErrors:
    def test_missing_column_names_the_nearest(self, draw):
        with pytest.raises(ColumnError, match=r"no column `precision`(?s:.*)did you mean `precison`"):
            draw(CURVE.rename({"precision": "precison"}))
        with pytest.raises(ColumnError, match=r"no column `sytem`(?s:.*)did you mean `system`"):
            draw(several(2, 5), by="sytem")

    @pytest.mark.parametrize(
        ("name", "dtype"),
        [("k", pl.Float64), ("k", pl.String), ("recall", pl.String), ("precision", pl.Boolean)],
    )
    def test_wrong_type(self, draw, name, dtype):
        values = pl.lit(value=True) if dtype == pl.Boolean else pl.col(name).cast(dtype)
        with pytest.raises(ColumnError, match=f"`{name}` of `curve` is of type {dtype}"):
            draw(CURVE.with_columns(values.alias(name)))

    def test_several_rows_for_a_k_name_the_further_columns(self, draw):
        curve = several(2, 5).with_columns(digit=1)
        with pytest.raises(ParameterError, match=r"with none .* k = 1. .*: `system`, `digit`"):
            draw(curve)
        with pytest.raises(ParameterError, match=r"with `digit` .*: `system`$"):
            draw(curve, by="digit")
        with pytest.raises(ParameterError, match="columns of `curve`: none"):
            draw(pl.concat([CURVE, CURVE]))

    def test_by_is_no_column_name(self, draw):
        with pytest.raises(ColumnError, match=r"`by` has to be .* got 3"):
            draw(CURVE, by=3)
        with pytest.raises(ParameterError, match=r"`by` has to name other columns .* got `k`"):
            draw(CURVE, by=["k"])

    def test_no_rows(self, draw):
        with pytest.raises(DataError, match="no rows"):
            draw(CURVE.clear())

    @pytest.mark.parametrize("k", [None, 0, -3])
    def test_k_below_one(self, draw, k):
        bad = CURVE.with_columns(k=pl.when(pl.col("k") > 1).then("k").otherwise(k))
        with pytest.raises(DataError, match=f"1 or more, got {'null' if k is None else k}"):
            draw(bad)

    def test_no_frame(self, draw):
        with pytest.raises(ColumnError, match=r"`curve` has to be a frame .* got int"):
            draw(3)

    def test_several_axes(self, draw):
        with pytest.raises(ParameterError, match=r"`ax` has to be a matplotlib Axes or None, got ndarray"):
            draw(CURVE, ax=Figure().subplots(1, 2))

    def test_without_matplotlib(self, draw, monkeypatch):
        for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
            monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ImportError, match=r'pip install "polars-retrieval\[plot\]"'):
            draw(CURVE)


@pytest.mark.parametrize("draw", [plot.pr_curve, plot.metrics_at_k])
def test_pyplot_knows_new_figures_only(draw):
    figure, axes = draw(CURVE)
    assert [plt.figure(number) for number in plt.get_fignums()] == [figure]
    assert plt.gca() is axes
    draw(CURVE, ax=new_axes())
    assert len(plt.get_fignums()) == 1


def test_axes_of_a_subfigure_give_the_whole_figure():
    whole = Figure(layout="constrained")
    part, _ = whole.subfigures(1, 2)
    figure, _ = plot.pr_curve(CURVE, ax=part.subplots())
    assert figure is whole


def test_metrics_at_k_draws_every_float_column():
    curve = CURVE.with_columns(f_measure=pl.lit(0.5), n_queries=pl.lit(7))
    _, axes = plot.metrics_at_k(curve, ax=new_axes())
    assert [line.get_label() for line in axes.lines] == ["precision", "recall", "f_measure"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["precision", "recall", "f_measure"]
    for line in axes.lines:
        assert line.get_xdata().tolist() == CURVE["k"].to_list()
        assert line.get_ydata().tolist() == curve[line.get_label()].to_list()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("k", "Value at k")
    assert axes.get_ylim() == (0, 1)


def test_metrics_at_k_by_group():
    _, axes = plot.metrics_at_k(several(2, 20), by="system", ax=new_axes())
    names = [line.get_label() for line in axes.lines]
    assert names == ["s0: precision", "s0: recall", "s1: precision", "s1: recall"]
    p0, r0, p1, r1 = axes.lines
    assert p0.get_color() == r0.get_color() != p1.get_color() == r1.get_color()
    assert p0.get_marker() == r0.get_marker() != p1.get_marker() == r1.get_marker()
    assert p0.get_linestyle() == p1.get_linestyle() != r0.get_linestyle() == r1.get_linestyle()
    legend = axes.get_legend()
    assert legend.get_title().get_text() == "system"
    assert [text.get_text() for text in legend.get_texts()] == ["s0", "s1", "precision", "recall"]
    handles = legend.legend_handles
    assert [handle.get_color() for handle in handles[:2]] == [p0.get_color(), p1.get_color()]
    assert [handle.get_linestyle() for handle in handles[2:]] == [p0.get_linestyle(), r0.get_linestyle()]


@pytest.mark.parametrize(("max_k", "scale"), [(1, "linear"), (49, "linear"), (50, "log"), (1000, "log")])
def test_the_axis_of_k_is_logarithmic_if_k_is_large(max_k, scale):
    _, axes = plot.metrics_at_k(falling(max_k), ax=new_axes())
    assert axes.get_xscale() == scale


@pytest.mark.parametrize("size", [PAPER, NOTEBOOK])
@pytest.mark.parametrize("max_k", [1, 6, 49, 50, 100, 200, 1000, 100_000])
def test_ticks_of_k_are_whole_numbers_that_do_not_overlap(size, max_k):
    _, axes = plot.metrics_at_k(falling(max_k), ax=new_axes(size))
    axes.figure.draw_without_rendering()
    low, high = axes.get_xlim()
    seen = [tick for tick in axes.xaxis.get_major_ticks() if low <= tick.get_loc() <= high]
    if max_k <= 10_000:
        assert all(tick.label1.get_text() == str(int(tick.get_loc())) for tick in seen)
    boxes = [tick.label1.get_window_extent() for tick in seen]
    assert not [(a, b) for a, b in itertools.combinations(boxes, 2) if a.overlaps(b)]
    assert any(tick.get_loc() == max_k for tick in seen) or max_k == 49


def test_values_above_one_are_in_the_picture():
    curve = CURVE.with_columns(dcg=pl.col("k") * 0.5)
    _, axes = plot.metrics_at_k(curve, ax=new_axes())
    assert axes.get_ylim()[1] > 6 * 0.5
