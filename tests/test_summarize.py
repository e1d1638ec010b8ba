"""Intervals of means over queries: by hand, against scipy, and how often they hold the mean."""

import math

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import polars_retrieval as pr
from polars_retrieval import intervals
from polars_retrieval.comparison.summaries import summarize
from polars_retrieval.errors import ColumnError, DataError, ParameterError

FOUR = pl.DataFrame({"query_id": ["q1", "q2", "q3", "q4"], "recall@10": [0.2, 0.4, 0.6, 0.8]})


def values(n, draw, groups=1):
    """Give `groups` samples of n queries each."""
    generator = np.random.default_rng(20)
    return pl.DataFrame(
        {
            "sample": np.repeat(np.arange(groups), n),
            "query_id": np.tile(np.arange(n), groups),
            "value": draw(generator, n * groups).astype(float),
        }
    )


def test_by_hand():
    row = summarize(FOUR, method="t").row(0, named=True)
    std = math.sqrt((0.3**2 + 0.1**2 + 0.1**2 + 0.3**2) / 3)
    half = 3.182446305284263 * std / 2  # the 97.5th percentile of t with 3 degrees of freedom
    assert row["measure"] == "recall@10"
    assert row["mean"] == pytest.approx((0.2 + 0.4 + 0.6 + 0.8) / 4)
    assert row["std"] == pytest.approx(std)
    assert row["n_queries"] == 4
    assert (row["low"], row["high"]) == pytest.approx((0.5 - half, 0.5 + half))


def test_columns():
    result = summarize(FOUR)
    assert result.schema == {
        "measure": pl.String,
        "mean": pl.Float64,
        "std": pl.Float64,
        "n_queries": pl.Int64,
        "low": pl.Float64,
        "high": pl.Float64,
    }


@pytest.mark.parametrize("n", [12, 60])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_bootstrap_takes_percentiles_as_scipy_does(n, level):
    """The tails are those by which a normal percentile of a mean's plug-in error is that of Student's t."""
    frame = values(n, lambda generator, size: generator.beta(0.5, 2, size))
    tail = stats.norm.cdf(-math.sqrt(n / (n - 1)) * stats.t.ppf((1 + level) / 2, n - 1))
    x = frame["value"].to_numpy()
    other = stats.bootstrap(
        (x,), np.mean, n_resamples=50_000, confidence_level=1 - 2 * tail, method="percentile", rng=1
    ).confidence_interval
    row = summarize(frame, level=level, n_resamples=50_000).row(0, named=True)
    error = 6 * x.std() / math.sqrt(n) / math.sqrt(50_000 * tail)
    assert (row["low"], row["high"]) == pytest.approx((other.low, other.high), abs=error)


@pytest.mark.parametrize("method", ["bootstrap", "t"])
@pytest.mark.parametrize(
    ("draw", "mean"),
    [
        (lambda generator, size: generator.normal(size=size), 0),
        (lambda generator, size: generator.random(size), 1 / 2),
        (lambda generator, size: generator.beta(0.3, 0.3, size), 1 / 2),  # mostly all or nothing
        (lambda generator, size: generator.beta(0.5, 2, size), 0.5 / 2.5),  # mostly little
    ],
    ids=["normal", "uniform", "u-shaped", "skewed"],
)
def test_intervals_hold_the_mean_as_often_as_they_say(method, draw, mean):
    result = summarize(values(40, draw, groups=2_000), by="sample", method=method, n_resamples=2_000)
    assert result.height == 2_000
    assert 0.935 <= ((result["low"] <= mean) & (result["high"] >= mean)).mean() <= 0.965


def test_means_are_those_of_evaluate():
    run = pl.DataFrame({"query_id": [1, 1, 2, 2], "score": [2, 1, 2, 1], "relevance": [1, 0, 0, 1]})
    measures = ["precision@1", "reciprocal_rank"]
    result = summarize(pr.per_query(run, measures))
    assert result["measure"].to_list() == measures
    assert result["mean"].to_list() == list(pr.evaluate(run, measures).row(0)) == [1 / 2, (1 + 1 / 2) / 2]


class TestGroups:
    FRAME = pl.DataFrame(
        {
            "system": ["b", "b", "a", "a", "a"],
            "query_id": [1, 2, 1, 2, 3],
            "x": [0.1, 0.3, 0.5, None, 0.9],
            "y": [1.0, 1.0, 0.0, 0.5, 0.7],
        }
    )

    def test_order_and_counts(self):
        result = summarize(self.FRAME, by="system")
        assert result.select("system", "measure", "n_queries").rows() == [
            ("b", "x", 2),
            ("b", "y", 2),
            ("a", "x", 2),
            ("a", "y", 3),
        ]
        assert result["mean"].to_list() == pytest.approx([0.4 / 2, 1, 1.4 / 2, 1.2 / 3])

    def test_a_group_does_not_depend_on_the_others(self):
        both = summarize(self.FRAME, by="system").filter(system="a")
        assert both.equals(summarize(self.FRAME.filter(system="a"), by="system"))
        assert both.drop("system").equals(summarize(self.FRAME.filter(system="a")))

    def test_several_columns(self):
        frame = self.FRAME.with_columns(part=pl.col("query_id") > 1)
        result = summarize(frame, by=["part", "system"])
        assert result.columns[:3] == ["part", "system", "measure"]
        assert result.select("part", "system").unique().height == 4

    def test_null_is_a_group(self):
        frame = self.FRAME.with_columns(system=pl.lit(None, dtype=pl.String), query_id=pl.int_range(5))
        assert summarize(frame, by="system")["system"].to_list() == [None, None]


class TestFewQueries:
    @pytest.mark.parametrize("method", ["bootstrap", "t"])
    def test_one_has_no_interval(self, method):
        assert summarize(FOUR.head(1), method=method).row(0) == ("recall@10", 0.2, None, 1, None, None)

    @pytest.mark.parametrize("frame", [FOUR.head(0), FOUR.with_columns(pl.lit(None, pl.Float64).alias("recall@10"))])
    def test_none_has_no_mean(self, frame):
        assert summarize(frame).row(0) == ("recall@10", None, None, 0, None, None)

    def test_no_group_gives_no_row(self):
        assert summarize(FOUR.head(0).with_columns(part=pl.lit(1)), by="part").height == 0

    @pytest.mark.parametrize("method", ["bootstrap", "t"])
    def test_equal_values_have_an_interval_without_width(self, method):
        row = summarize(FOUR.with_columns(pl.lit(0.1).alias("recall@10")), method=method).row(0, named=True)
        assert row["low"] <= row["mean"] <= row["high"]
        assert (row["low"], row["high"], row["std"]) == pytest.approx((0.1, 0.1, 0))

    def test_bootstrap_stays_within_the_values(self):
        row = summarize(FOUR.head(2), level=0.999).row(0, named=True)
        assert (row["low"], row["high"]) == pytest.approx((0.2, 0.4))


def test_same_seed_same_interval():
    assert summarize(FOUR, seed=1).equals(summarize(FOUR, seed=1))
    assert not summarize(values(30, np.random.Generator.random), seed=1).equals(
        summarize(values(30, np.random.Generator.random), seed=2)
    )


def test_wider_for_a_higher_level():
    ends = [summarize(FOUR, level=level).select(pl.col("high") - pl.col("low")).item() for level in (0.5, 0.8, 0.95)]
    assert ends[0] < ends[1] < ends[2]


def test_memory_is_bounded_and_changes_nothing(monkeypatch):
    """Small blocks give what one block gives."""
    frame = values(30, np.random.Generator.random, groups=7)
    expected = summarize(frame, by="sample", n_resamples=100)
    monkeypatch.setattr(intervals, "_CELLS", 250)
    monkeypatch.setattr(intervals, "_DRAWN_CELLS", 70)
    result = summarize(frame, by="sample", n_resamples=100)
    assert result.drop("low", "high").equals(expected.drop("low", "high"))
    for end in ("low", "high"):
        assert result[end].to_list() == pytest.approx(expected[end].to_list())


def test_other_inputs():
    expected = summarize(FOUR)
    assert summarize(FOUR.to_arrow()).equals(expected)
    assert FOUR.retrieval.summarize().equals(expected)
    assert summarize(FOUR.cast({"recall@10": pl.Float32}))["mean"].item() == pytest.approx(0.5)
    lazy = FOUR.lazy().retrieval.summarize()
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect_schema() == expected.schema
    assert lazy.collect().equals(expected)


def test_query_of_several_columns():
    frame = FOUR.with_columns(year=pl.Series([1, 2, 1, 2]), query_id=pl.Series(["q1", "q1", "q2", "q2"]))
    assert summarize(frame, query=["year", "query_id"]).equals(summarize(FOUR))


def test_columns_for_evaluate():
    frame = TestGroups.FRAME.drop("query_id")
    wide = intervals.interval_columns(frame, ["system"], intervals.Resampling())
    assert wide.columns == ["system", "x_ci_low", "x_ci_high", "y_ci_low", "y_ci_high"]
    long = summarize(TestGroups.FRAME, by="system")
    assert wide["system"].to_list() == ["b", "a"]
    for name in ("x", "y"):
        assert wide[f"{name}_ci_low"].to_list() == long.filter(measure=name)["low"].to_list()
        assert wide[f"{name}_ci_high"].to_list() == long.filter(measure=name)["high"].to_list()
    alone = intervals.interval_columns(frame.drop("system"), [], intervals.Resampling())
    assert alone.columns == ["x_ci_low", "x_ci_high", "y_ci_low", "y_ci_high"]
    assert alone.height == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 95}, r"`level` has to be a number between 0 and 1, such as 0.95, got 95"),
        ({"level": True}, r"`level` has to be a number, got True"),
        ({"method": "bootstrp"}, r"(?s)`method` received a wrong value `bootstrp`.*did you mean `bootstrap`"),
        ({"n_resamples": 0}, r"`n_resamples` has to be an integer of at least 1, got 0"),
        ({"n_resamples": 10.5}, r"`n_resamples` has to be an integer of at least 1, got 10.5"),
        ({"seed": -1}, r"`seed` has to be an integer of at least 0, got -1"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ParameterError, match=message):
        summarize(FOUR, **options)


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        (FOUR, {"by": "systm"}, r"`per_query` has no column `systm` for `by`"),
        (FOUR, {"query": "query"}, r"(?s)no column `query` for `query`.*did you mean `query_id`"),
        (FOUR.select("query_id"), {}, r"`per_query` has no Float column that would be a measure"),
        (FOUR.rename({"query_id": "mean"}), {"query": "mean", "by": "mean"}, r"has a column `mean`"),
        ([1, 2], {}, r"`per_query` has to be a frame"),
    ],
)
def test_wrong_columns(frame, options, message):
    with pytest.raises(ColumnError, match=message):
        summarize(frame, **options)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pl.concat([FOUR, FOUR]), r"(?s)a query can come once in a group, but 8 rows .*query_id 'q1'.*in `by`"),
        (FOUR.with_columns(pl.lit(math.nan).alias("x")), r"column `x` has 4 values that are NaN or infinite, .*'q1'"),
        (FOUR.with_columns(pl.lit(math.inf).alias("x")), r"column `x` has 4 values that are NaN or infinite"),
        (FOUR.with_columns(query_id=pl.lit(None, pl.String)), r"column `query_id` has 4 nulls"),
    ],
)
def test_wrong_values(frame, message):
    with pytest.raises(DataError, match=message):
        summarize(frame)


def test_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(intervals.importlib, "import_module", _not_installed)
    with pytest.raises(ModuleNotFoundError, match=r"need scipy\n\nHint: pip install 'polars-retrieval\[stats\]'"):
        summarize(FOUR)


def _not_installed(name):
    package = name.partition(".")[0]
    msg = f"No module named {package!r}"
    raise ModuleNotFoundError(msg, name=package)


class TestIntervalOfEvaluate:
    run = pl.DataFrame(
        {
            "system": ["b"] * 12 + ["a"] * 12,
            "query_id": [number // 2 for number in range(12)] * 2,
            "score": [1.0, 2.0] * 12,
            "relevance": ([1, 0, 0, 1] * 3 + [0, 1] * 5 + [0, 0]),
        }
    )

    @pytest.mark.parametrize("by", [None, "system"])
    def test_is_that_of_summarize(self, by):
        run = self.run if by else self.run.filter(system="a")
        measures = ["precision@1", "recall@1"]
        found = pr.evaluate(run, measures, by=by, interval=0.9, n_queries=True)
        of_queries = pr.per_query(run, measures, by=by)
        expected = pr.summarize(of_queries, by=by, level=0.9)
        for measure in measures:
            of_measure = expected.filter(measure=measure)
            for name, column in {"": "mean", "_ci_low": "low", "_ci_high": "high", "_n": "n_queries"}.items():
                assert found[f"{measure}{name}"].to_list() == of_measure[column].to_list()
        if by:
            assert found[by].to_list() == ["b", "a"]
            lists = pr.RankedLists(run, by=by)
            assert_frame_equal(lists.evaluate(measures, interval=0.9, n_queries=True), found)
        lazy = pr.evaluate(run.lazy(), measures, by=by, interval=0.9, n_queries=True)
        assert lazy.collect_schema() == found.schema
        assert_frame_equal(lazy.collect(), found)

    @pytest.mark.parametrize("level", [0, 1, 95, True, "0.95"])
    def test_is_a_share(self, level):
        with pytest.raises(ParameterError, match="`interval` has to be a number between 0 and 1"):
            pr.evaluate(self.run, "recall", by="system", interval=level)

    def test_is_of_a_mean(self):
        with pytest.raises(ParameterError, match="with `aggregation='median'` it has to be None"):
            pr.evaluate(self.run, "recall", by="system", interval=0.9, aggregation="median")
