"""Pictures of comparisons: what is drawn, how it is named, and that it fits a paper's column."""

from __future__ import annotations

import io
import itertools
import sys

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from polars_retrieval import plot
from polars_retrieval.errors import ColumnError, DataError, ParameterError

mpl.use("Agg")

PAPER, NOTEBOOK = (3.3, 2.5), (6.4, 4.8)

SUMMARY = pl.DataFrame(
    {
        "run_id": ["bm25", "bm25", "dense", "dense"],
        "measure": ["recall@1", "recall@10", "recall@1", "recall@10"],
        "mean": [0.2, 0.6, 0.3, 0.5],
        "std": [0.1, 0.1, 0.1, 0.1],
        "n_queries": [50, 50, 50, 50],
        "low": [0.1, 0.5, 0.2, None],
        "high": [0.3, 0.7, 0.4, None],
    }
)
DIFFERENCES = pl.DataFrame(
    {
        "query_id": ["q3", "q1", "q4", "q2", "q5"],
        "measure": ["ndcg@10"] * 5,
        "baseline": ["old"] * 5,
        "system": ["new"] * 5,
        "difference": [-0.5, 0.25, 0.0, 0.75, None],
    }
)


@pytest.fixture(autouse=True)
def _closed():
    """Close what a test opened with pyplot."""
    yield
    plt.close("all")


def new_axes(size=NOTEBOOK):
    return Figure(figsize=size, layout="constrained").subplots()


def legend_of(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def lines_of(axes, label):
    return [line for line in axes.lines if line.get_label() == label]


class TestSystems:
    def test_a_row_for_each_system_and_a_marker_for_each_measure(self):
        figure, axes = plot.systems(SUMMARY, ax=new_axes())
        assert figure is axes.figure
        assert [text.get_text() for text in axes.get_yticklabels()] == ["bm25", "dense"]
        assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first on top
        first, second = (lines_of(axes, name)[0] for name in ("recall@1", "recall@10"))
        assert first.get_xdata().tolist() == [0.2, 0.3]
        assert second.get_xdata().tolist() == [0.6, 0.5]
        assert all(abs(first.get_ydata() - [0, 1]) < 0.5)
        assert all(first.get_ydata() < second.get_ydata())
        assert first.get_marker() != second.get_marker()
        assert first.get_color() != second.get_color()
        assert legend_of(axes) == ["recall@1", "recall@10"]
        assert axes.get_xlabel() == "Mean"

    def test_intervals(self):
        _, axes = plot.systems(SUMMARY, measures="recall@1", ax=new_axes())
        (bars,) = axes.collections
        assert [path[:, 0].tolist() for path in bars.get_segments()] == [[0.1, 0.3], [0.2, 0.4]]
        assert axes.get_xlabel() == "Mean recall@1"
        assert axes.get_legend() is None

    def test_without_interval_the_mean_stands_alone(self):
        _, axes = plot.systems(SUMMARY, measures=["recall@10"], ax=new_axes())
        axes.figure.draw_without_rendering()
        assert lines_of(axes, "recall@10")[0].get_xdata().tolist() == [0.6, 0.5]

    def test_without_systems_each_measure_has_a_row(self):
        one = SUMMARY.filter(pl.col("run_id") == "bm25").drop("run_id")
        _, axes = plot.systems(one, ax=new_axes())
        assert [text.get_text() for text in axes.get_yticklabels()] == ["recall@1", "recall@10"]
        assert lines_of(axes, "recall@1")[0].get_xdata().tolist() == [0.2, 0.6]

    def test_by_several_columns_with_null(self):
        summary = SUMMARY.with_columns(part=pl.when(pl.col("run_id") == "bm25").then(pl.lit("a")))
        _, axes = plot.systems(summary, by=["run_id", "part"], ax=new_axes())
        assert [text.get_text() for text in axes.get_yticklabels()] == ["bm25, a", "dense, null"]
        assert lines_of(axes, "recall@1")[0].get_xdata().tolist() == [0.2, 0.3]

    def test_a_new_figure_is_as_high_as_its_rows_need(self):
        few, _ = plot.systems(SUMMARY)
        many = pl.concat([SUMMARY.with_columns(run_id=pl.lit(f"{i}")) for i in range(40)]).unique(
            ["run_id", "measure"], maintain_order=True
        )
        tall, axes = plot.systems(many)
        assert tall.get_figheight() > 3 * few.get_figheight()
        tall.draw_without_rendering()
        boxes = [text.get_window_extent() for text in axes.get_yticklabels()]
        assert not any(a.overlaps(b) for a, b in itertools.pairwise(boxes))


class TestMeasureAtK:
    def test_lines_and_bands(self):
        summary = SUMMARY.with_columns(low=pl.col("mean") - 0.1, high=pl.col("mean") + 0.1)
        _, axes = plot.measure_at_k(summary.reverse(), ax=new_axes())
        assert [line.get_label() for line in axes.lines] == ["dense", "bm25"]
        assert axes.lines[1].get_xdata().tolist() == [1, 10]
        assert axes.lines[1].get_ydata().tolist() == [0.2, 0.6]
        for band, middle in zip(axes.collections, ([0.3, 0.5], [0.2, 0.6]), strict=True):
            corners = {tuple(corner) for corner in band.get_paths()[0].vertices.round(9)}
            assert {(k, round(m + d, 9)) for k, m in zip([1, 10], middle, strict=True) for d in (-0.1, 0.1)} <= corners
        assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_ylim()) == ("k", "recall@k", (0, 1))
        assert axes.get_legend().get_title().get_text() == "run_id"

    def test_several_measures_have_their_own_dashes(self):
        both = pl.concat([SUMMARY, SUMMARY.with_columns(pl.col("measure").str.replace("recall", "f_measure(beta=2)"))])
        _, axes = plot.measure_at_k(both, ax=new_axes(PAPER))
        axes.figure.draw_without_rendering()
        assert legend_of(axes) == ["bm25", "dense", "recall", "f_measure(beta=2)"]
        styles = {line.get_label(): (line.get_color(), line.get_linestyle()) for line in axes.lines}
        assert styles["bm25, recall"][0] == styles["bm25, f_measure(beta=2)"][0] != styles["dense, recall"][0]
        assert styles["bm25, recall"][1] == styles["dense, recall"][1] != styles["dense, f_measure(beta=2)"][1]
        _, axes = plot.measure_at_k(both, measures="recall", ax=new_axes())
        assert [line.get_label() for line in axes.lines] == ["bm25", "dense"]

    def test_one_system_needs_no_legend(self):
        _, axes = plot.measure_at_k(SUMMARY.filter(pl.col("run_id") == "bm25").drop("run_id"), ax=new_axes())
        assert axes.get_legend() is None
        assert len(axes.lines) == 1

    def test_measures_without_a_cutoff_are_not_dropped_silently(self):
        summary = SUMMARY.with_columns(pl.col("measure").str.replace("@10", ""))
        with pytest.raises(ParameterError, match=r"`recall` of `summary` have no cutoff"):
            plot.measure_at_k(summary, ax=new_axes())
        _, axes = plot.measure_at_k(summary, measures="recall", ax=new_axes())
        assert axes.lines[0].get_xdata().tolist() == [1]

    def test_values_above_one_are_in_the_picture(self):
        _, axes = plot.measure_at_k(SUMMARY.with_columns(pl.col("mean", "high") * 10), ax=new_axes())
        assert axes.get_ylim()[1] >= 7

    def test_drawn_into_again(self):
        axes = new_axes()
        for system in ("bm25", "dense"):
            plot.measure_at_k(SUMMARY.filter(pl.col("run_id") == system), ax=axes)
        first, second = axes.lines
        assert first.get_color() != second.get_color()
        assert first.get_marker() != second.get_marker()


def bars_of(axes):
    return [patch.get_data().values.tolist() for patch in axes.patches]


class TestDifferences:
    def test_bars_from_the_largest_gain_to_the_largest_loss(self):
        _, axes = plot.differences(DIFFERENCES, ax=new_axes())
        assert bars_of(axes) == [[0.75, 0.25, 0, 0], [0, 0, 0, -0.5]]
        assert legend_of(axes) == ["new higher: 2", "old higher: 1", "equal: 1", "undefined: 1"]
        assert axes.get_ylabel() == "Difference in ndcg@10"
        assert [text.get_text() for text in axes.get_xticklabels()] == ["q2", "q1", "q4", "q3"]
        assert axes.get_xlabel() == "query_id"
        gain, loss = axes.patches
        assert to_hex(gain.get_facecolor()) != to_hex(loss.get_facecolor())

    def test_other_frames_with_differences(self):
        _, axes = plot.differences(DIFFERENCES.select("difference"), ax=new_axes())
        assert legend_of(axes) == ["higher: 2", "lower: 1", "equal: 1", "undefined: 1"]
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("Queries, by difference", "Difference")

    def test_many_queries_are_not_named(self):
        values = np.linspace(-1, 1, 50_000)
        figure, axes = plot.differences({"query_id": np.arange(50_000), "difference": values}, ax=new_axes())
        figure.savefig(io.BytesIO())
        assert axes.get_xlabel() == "Queries, by difference"
        assert legend_of(axes) == ["higher: 25,000", "lower: 25,000"]
        assert len(axes.patches) == 2

    def test_of_several_systems_at_once(self):
        two = pl.concat([DIFFERENCES, DIFFERENCES.with_columns(system=pl.lit("newer"))])
        with pytest.raises(ParameterError, match=r"of one system, got `new`, `newer`"):
            plot.differences(two, ax=new_axes())

    def test_nothing_to_draw(self):
        with pytest.raises(DataError, match="no differences to draw"):
            plot.differences(DIFFERENCES.filter(pl.col("query_id") == "q5"), ax=new_axes())


DRAWN = [(plot.systems, SUMMARY), (plot.measure_at_k, SUMMARY), (plot.differences, DIFFERENCES)]


@pytest.mark.parametrize(("draw", "frame"), DRAWN)
class TestAll:
    @pytest.mark.parametrize("size", [PAPER, NOTEBOOK])
    def test_all_of_it_is_in_the_figure(self, draw, frame, size):
        name = "a system with a name that is far too long for a narrow figure"
        columns = [column for column in ("run_id", "baseline", "system", "query_id") if column in frame.columns]
        long = frame.with_columns(pl.concat_str(pl.lit(name), pl.col(column)).alias(column) for column in columns)
        for shown in (frame, long if draw is not plot.measure_at_k else frame):
            figure, axes = draw(shown, ax=new_axes(size))
            figure.draw_without_rendering()
            box = axes.get_tightbbox()
            assert box.x0 >= 0
            assert box.y0 >= 0
            assert box.x1 <= figure.bbox.x1
            assert box.y1 <= figure.bbox.y1
            assert axes.bbox.width > 0.2 * figure.bbox.width

    def test_odd_names_stand_as_they_are(self, draw, frame):
        odd = frame.with_columns(pl.col(pl.String).str.replace("^", "a$^b_"))
        figure, axes = draw(odd, ax=new_axes())
        figure.draw_without_rendering()
        texts = [*axes.get_yticklabels(), *axes.get_xticklabels(), axes.xaxis.label, axes.yaxis.label]
        texts += axes.get_legend().get_texts()
        assert any("a$^b_" in text.get_text() and not text.get_parse_math() for text in texts)

    @pytest.mark.parametrize("convert", [lambda f: f.lazy(), lambda f: f.to_pandas(), lambda f: f.to_dict()])
    def test_any_frame_is_taken(self, draw, frame, convert):
        _, expected = draw(frame, ax=new_axes())
        _, axes = draw(convert(frame), ax=new_axes())
        for one, other in zip(axes.lines, expected.lines, strict=True):
            np.testing.assert_array_equal(one.get_xydata(), other.get_xydata())
        assert bars_of(axes) == bars_of(expected)

    def test_a_new_figure_is_of_pyplot(self, draw, frame):
        figure, axes = draw(frame)
        assert plt.figure(plt.get_fignums()[0]) is figure
        assert plt.gca() is axes

    def test_missing_column_names_the_nearest(self, draw, frame):
        name = "difference" if "difference" in frame.columns else "low"
        with pytest.raises(ColumnError, match=f"has no column `{name}`(?s:.*)did you mean `{name}x`"):
            draw(frame.rename({name: f"{name}x"}))

    def test_no_numbers(self, draw, frame):
        name = "difference" if "difference" in frame.columns else "mean"
        with pytest.raises(ColumnError, match=f"column `{name}` of .* is of type String; it has to hold numbers"):
            draw(frame.with_columns(pl.col(name).cast(pl.String)))

    def test_no_rows_and_no_frame(self, draw, frame):
        with pytest.raises(DataError, match="draw"):
            draw(frame.clear())
        with pytest.raises(ColumnError, match="got int"):
            draw(3)

    def test_several_axes(self, draw, frame):
        with pytest.raises(ParameterError, match=r"`ax` has to be a matplotlib Axes or None, got ndarray"):
            draw(frame, ax=Figure().subplots(1, 2))

    def test_without_matplotlib(self, draw, frame, monkeypatch):
        for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
            monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ImportError, match=r'pip install "polars-retrieval\[plot\]"'):
            draw(frame)


@pytest.mark.parametrize("draw", [plot.systems, plot.measure_at_k])
class TestSummaryErrors:
    def test_several_rows_for_a_measure(self, draw):
        with pytest.raises(ParameterError, match=r"with `n` there are several rows for `recall@1`.*`run_id`"):
            draw(SUMMARY.with_columns(n=1), by="n")

    def test_by(self, draw):
        with pytest.raises(ParameterError, match=r"`by` has to name other columns .* got `mean`"):
            draw(SUMMARY, by="mean")
        with pytest.raises(ColumnError, match="no column `run`"):
            draw(SUMMARY, by="run")

    def test_measures(self, draw):
        with pytest.raises(ParameterError, match=r"`measures` has to be among `recall.*got `recal"):
            draw(SUMMARY, measures="recal")
