"""Comparisons of systems: by hand, against scipy and statsmodels, and on the reference data."""

import gzip
import itertools
import json
import math

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

import polars_retrieval as pr
from polars_retrieval import intervals
from polars_retrieval.comparison.pairs import compare
from polars_retrieval.comparison.summaries import summarize
from polars_retrieval.errors import ColumnError, DataError, MetricError, ParameterError, RetrievalWarning

TESTS = ["randomization", "t", "wilcoxon", "bootstrap"]


def per_query(**values):
    """Give a frame of per-query values, one column of them for each system, in the measure `m`."""
    return {
        name: pl.DataFrame({"query_id": range(len(column)), "m": pl.Series(column, dtype=pl.Float64)})
        for name, column in values.items()
    }


def drawn(n, kind="continuous", seed=3):
    """Draw the values of two systems."""
    generator = np.random.default_rng(seed)
    if kind == "continuous":
        a = generator.random(n)
        return a, np.clip(a + generator.normal(0.03, 0.1, n), 0, 1)
    return generator.integers(0, 3, n) / 4, generator.integers(0, 4, n) / 4  # quarters: differences without rounding


def p_value(a, b, **options):
    return compare(per_query(a=a, b=b), **options)["p_value"].item()


def table_row(result):
    return result.row(0, named=True)


class TestByHand:
    def test_five_queries_that_all_improve(self):
        a = [0.1, 0.2, 0.3, 0.4, 0.5]
        assert p_value(a, [x + 0.1 for x in a]) == 2 / 2**5 == 0.0625

    def test_all_swaps_are_gone_through(self):
        a, b = [0.5, 0.25, 0.75, 0.5], [0.75, 0.5, 0.5, 1]
        differences = [1 / 4, 1 / 4, -1 / 4, 1 / 2]
        sums = [
            sum(s * d for s, d in zip(signs, differences, strict=True))
            for signs in itertools.product((1, -1), repeat=4)
        ]
        as_large = sum(abs(total) >= 3 / 4 for total in sums)
        assert p_value(a, b) == as_large / 16 == 8 / 16

    def test_the_rest_of_the_row(self):
        row = table_row(compare(per_query(old=[0.5, 0.5, 0.5, 0.5], new=[0.6, 0.5, 0.9, 0.4])))
        differences = [0.1, 0, 0.4, -0.1]
        std = math.sqrt(sum((d - 0.1) ** 2 for d in differences) / 3)
        assert (row["measure"], row["baseline"], row["system"]) == ("m", "old", "new")
        assert row["mean_baseline"] == pytest.approx(0.5)
        assert row["mean_system"] == pytest.approx((0.6 + 0.5 + 0.9 + 0.4) / 4)
        assert row["difference"] == pytest.approx(sum(differences) / 4)
        assert row["effect_size"] == pytest.approx(0.1 / std)
        assert (row["wins"], row["ties"], row["losses"], row["n_queries"]) == (2, 1, 1, 4)

    def test_columns(self):
        result = compare(per_query(a=[0.1, 0.2], b=[0.3, 0.2]))
        floats = ["mean_baseline", "mean_system", "difference", "low", "high", "p_value", "p_adjusted", "effect_size"]
        counts = ["wins", "ties", "losses", "n_queries"]
        assert result.schema == {
            **dict.fromkeys(["measure", "baseline", "system"], pl.String),
            **dict.fromkeys(floats, pl.Float64),
            **dict.fromkeys(counts, pl.Int64),
        }

    def test_what_only_rounding_tells_apart_is_a_tie(self):
        row = table_row(compare(per_query(a=[0.3, 0.3], b=[0.1 + 0.2, 0.4])))
        assert (row["wins"], row["ties"], row["losses"]) == (1, 1, 0)

    def test_rounding_hides_no_swap(self):
        """The differences are .1, .1 and -.2, of which no two sums are the same float."""
        a, b = [0.2, 0.6, 0.5], [0.3, 0.7, 0.3]
        assert p_value(a, b) == 1


class TestAgainstScipy:
    @pytest.mark.parametrize("n", [2, 7, 40, 300])
    @pytest.mark.parametrize("kind", ["continuous", "discrete"])
    def test_t(self, n, kind):
        a, b = drawn(n, kind)
        other = stats.ttest_rel(b, a)
        row = table_row(compare(per_query(a=a, b=b), test="t", level=0.9))
        assert row["p_value"] == pytest.approx(other.pvalue)
        assert (row["low"], row["high"]) == pytest.approx(tuple(other.confidence_interval(0.9)))

    @pytest.mark.parametrize("n", [5, 13, 20, 60, 300])
    @pytest.mark.parametrize("kind", ["continuous", "discrete"])
    def test_wilcoxon(self, n, kind):
        a, b = drawn(n, kind)
        assert p_value(a, b, test="wilcoxon") == pytest.approx(stats.wilcoxon(b, a).pvalue)

    @pytest.mark.parametrize("n", [2, 6, 11, 13])
    @pytest.mark.parametrize("kind", ["continuous", "discrete"])
    def test_randomization_of_few_queries(self, n, kind):
        a, b = drawn(n, kind)
        other = stats.permutation_test((b - a,), np.mean, permutation_type="samples", n_resamples=np.inf)
        assert p_value(a, b) == pytest.approx(other.pvalue)

    @pytest.mark.parametrize("kind", ["continuous", "discrete"])
    def test_randomization_of_many_queries(self, kind):
        a, b = drawn(60, kind, seed=5)
        n_resamples = 40_000
        other = stats.permutation_test(
            (b - a,), lambda d, axis: d.mean(axis), permutation_type="samples", n_resamples=n_resamples, rng=1
        ).pvalue
        error = 6 * math.sqrt(other * (1 - other) / n_resamples)
        assert 0.001 < other < 0.999
        assert p_value(a, b, n_resamples=n_resamples) == pytest.approx(other, abs=error)

    def test_randomization_is_never_0(self):
        assert p_value([0.0] * 50, [1.0] * 50, n_resamples=999) == 1 / 1000

    def test_exact_as_soon_as_there_are_enough_resamples(self):
        a, b = drawn(10)
        exact = p_value(a, b, n_resamples=2**10)
        assert exact * 2**10 == round(exact * 2**10)
        assert p_value(a, b, n_resamples=2**10, seed=1) == exact
        draws = {p_value(a, b, n_resamples=2**10 - 1, seed=seed) for seed in range(5)}
        assert len(draws) > 1

    @pytest.mark.parametrize("n", [30, 300])
    def test_bootstrap_is_near_the_t_test(self, n):
        generator = np.random.default_rng(4)
        a = generator.normal(size=n)
        d = generator.normal(size=n)
        b = a + d - d.mean() + 1.5 / math.sqrt(n)
        expected = stats.ttest_rel(b, a).pvalue
        assert 0.01 < expected < 0.5
        assert p_value(a, b, test="bootstrap") == pytest.approx(expected, abs=0.04)

    def test_bootstrap_by_a_slow_loop(self):
        a, b = drawn(12, seed=8)
        d = b - a
        t = abs(d.mean()) / (d.std(ddof=1) / math.sqrt(12))
        generator = np.random.default_rng(0)
        as_large = 0
        for _ in range(500):
            again = (d - d.mean())[generator.integers(12, size=12)]
            as_large += abs(again.mean()) / (again.std(ddof=1) / math.sqrt(12)) >= t
        assert p_value(a, b, test="bootstrap", n_resamples=500) == (as_large + 1) / 501

    @pytest.mark.parametrize("test", TESTS)
    def test_is_the_same_from_both_sides(self, test):
        a, b = drawn(25)
        there, back = (table_row(compare(per_query(x=x, y=y), test=test)) for x, y in ((a, b), (b, a)))
        assert there["p_value"] == pytest.approx(back["p_value"])
        assert there["difference"] == pytest.approx(-back["difference"])
        assert there["effect_size"] == pytest.approx(-back["effect_size"])
        assert (there["wins"], there["losses"]) == (back["losses"], back["wins"])

    @pytest.mark.parametrize("test", TESTS)
    def test_as_many_finds_as_it_says_where_there_is_nothing(self, test):
        """400 pairs of 25 queries: about one in 20 has p < .05 by chance."""
        generator = np.random.default_rng(11)
        frame = pl.DataFrame(
            {
                "run_id": np.repeat(["a", "b"], 25),
                "query_id": [*range(25), *range(25)],
                **{f"m{i}": generator.normal(size=50) for i in range(400)},
            }
        )
        result = compare(frame, test=test, correction="none", n_resamples=1_000)
        assert result.height == 400
        assert 0.02 < (result["p_value"] < 0.05).mean() < 0.085


class TestWithoutANumber:
    @pytest.mark.parametrize(("test", "p"), [("randomization", 1), ("bootstrap", 1), ("t", None), ("wilcoxon", None)])
    @pytest.mark.parametrize("n", [4, 30])
    def test_equal_systems(self, test, p, n):
        row = table_row(compare(per_query(a=[0.3] * n, b=[0.3] * n), test=test))
        assert (row["p_value"], row["p_adjusted"], row["effect_size"]) == (p, p, None)
        assert (row["low"], row["difference"], row["high"]) == (0, 0, 0)

    @pytest.mark.parametrize(("test", "p"), [("randomization", 2 / 2**4), ("bootstrap", 1 / 10_001), ("t", 0)])
    def test_equal_differences(self, test, p):
        row = table_row(compare(per_query(a=[0, 0.25, 0.5, 0.25], b=[0.5, 0.75, 1, 0.75]), test=test))
        assert row["p_value"] == pytest.approx(p)
        assert row["effect_size"] is None

    @pytest.mark.parametrize(("test", "p"), [("randomization", 1), ("bootstrap", None), ("t", None), ("wilcoxon", 1)])
    def test_one_query(self, test, p):
        row = table_row(compare(per_query(a=[0.3], b=[0.4]), test=test))
        assert (row["p_value"], row["low"], row["high"], row["effect_size"]) == (p, None, None, None)

    def test_no_query_with_two_values(self):
        row = table_row(compare(per_query(a=[0.3, None], b=[None, 0.4])))
        assert row == {**dict.fromkeys(row), "measure": "m", "baseline": "a", "system": "b"} | dict.fromkeys(
            ["wins", "ties", "losses", "n_queries"], 0
        )


class TestCorrections:
    FRAME = pl.DataFrame(
        {
            "run_id": np.repeat(["a", "b", "c", "d"], 40),
            "query_id": [*range(40)] * 4,
            **{f"m{i}": np.random.default_rng(i).random(160) + 0.1 * np.repeat([0, 0, 1, 3], 40) for i in range(2)},
        }
    )

    @pytest.mark.parametrize(("name", "other"), [("holm", "holm"), ("bonferroni", "bonferroni"), ("bh", "fdr_bh")])
    def test_all_rows_are_one_family(self, name, other):
        result = compare(self.FRAME, test="t", correction=name)
        assert result.height == 2 * 6
        expected = multipletests(result["p_value"].to_numpy(), method=other)[1]
        assert result["p_adjusted"].to_list() == pytest.approx(expected.tolist())

    def test_none(self):
        result = compare(self.FRAME, test="t", correction="none")
        assert result["p_adjusted"].to_list() == result["p_value"].to_list()

    def test_holm_by_hand(self):
        frames = per_query(a=[0, 0, 0, 0, 0], b=[1, 1, 1, 1, 1], c=[1, 1, 1, 1, 0])
        result = compare(frames, baseline="a")
        assert result["p_value"].to_list() == [2 / 32, 4 / 32]
        assert result["p_adjusted"].to_list() == [2 * 2 / 32, max(2 * 2 / 32, 4 / 32)]

    def test_rows_without_p_are_not_in_the_family(self):
        frames = per_query(a=[0, 0.5, 0.2, 0.1], b=[0.3, 0.6, 0.9, 0.4], c=[0, 0.5, 0.2, 0.1])
        result = compare(frames, baseline="a", test="t", correction="bonferroni")
        assert result["p_adjusted"].to_list() == [result["p_value"][0], None]


def test_interval_is_that_of_the_differences():
    a, b = drawn(40)
    row = table_row(compare(per_query(a=a, b=b), level=0.9, seed=5))
    other = table_row(summarize(per_query(d=b - a)["d"], level=0.9, seed=5))
    assert (row["low"], row["high"]) == pytest.approx((other["low"], other["high"]))


class TestPairs:
    FRAMES = per_query(c=[0.1, 0.2], a=[0.2, 0.2], b=[0.3, 0.1])

    def test_all(self):
        result = compare(self.FRAMES)
        assert result.select("baseline", "system").rows() == [("c", "a"), ("c", "b"), ("a", "b")]

    def test_baseline(self):
        result = compare(self.FRAMES, baseline="a")
        assert result.select("baseline", "system").rows() == [("a", "c"), ("a", "b")]
        assert result["difference"].to_list() == pytest.approx([0.15 - 0.2, 0.2 - 0.2])

    def test_measures_come_first(self):
        frames = {name: frame.with_columns(n=pl.col("m") * 2) for name, frame in self.FRAMES.items()}
        result = compare(frames, baseline="c")
        assert result.select("measure", "system").rows() == [("m", "a"), ("m", "b"), ("n", "a"), ("n", "b")]
        assert compare(frames, "n", baseline="c").equals(compare(frames, ["n"], baseline="c"))
        assert compare(frames, "n", correction="none")["measure"].unique().to_list() == ["n"]

    def test_baseline_keeps_its_type(self):
        frame = pl.concat([frame.with_columns(run_id=i) for i, frame in enumerate(self.FRAMES.values())])
        assert compare(frame, baseline=1)["baseline"].to_list() == [1, 1]
        enum = pl.Enum(["0", "1", "2"])
        result = compare(frame.with_columns(pl.col("run_id").cast(pl.String).cast(enum)), baseline="2")
        assert result.schema["system"] == enum


RUN = pl.DataFrame(
    {
        "run_id": ["bm25"] * 6 + ["dense"] * 6,
        "query_id": ["q1", "q1", "q2", "q2", "q3", "q3"] * 2,
        "doc_id": ["d1", "d2", "d3", "d4", "d5", "d6"] * 2,
        "score": [2.0, 1, 2, 1, 2, 1, 1, 2, 2, 1, 1, 2],
    }
)
QRELS = pl.DataFrame(
    {
        "query_id": ["q1", "q2", "q3"],
        "doc_id": ["d2", "d3", "d6"],
        "relevance": [1, 1, 1],
        "language": ["en", "de", "en"],
    }
)


class TestRuns:
    EXPECTED = (1 / 2 + 1 + 1 / 2) / 3, (1 + 1 + 1) / 3

    def test_with_judgments(self):
        row = table_row(compare(RUN, "reciprocal_rank", qrels=QRELS))
        assert (row["mean_baseline"], row["mean_system"]) == pytest.approx(self.EXPECTED)
        assert (row["wins"], row["ties"], row["losses"]) == (2, 1, 0)

    def test_every_form_gives_the_same(self):
        expected = compare(RUN, "reciprocal_rank", qrels=QRELS)
        runs = {name: RUN.filter(run_id=name).drop("run_id") for name in ("bm25", "dense")}
        assert compare(runs, "reciprocal_rank", qrels=QRELS).equals(expected)
        judged = RUN.join(QRELS.drop("language"), on=["query_id", "doc_id"], how="left", maintain_order="left")
        assert compare(judged, "RR").equals(expected)
        values = pr.per_query(RUN, ["reciprocal_rank", "recall@1"], qrels=QRELS, by="run_id")
        assert compare(values, pr.reciprocal_rank).equals(expected)
        assert compare(values, "recip_rank").equals(expected)
        assert compare(values.to_arrow(), "RR").equals(expected)
        assert RUN.retrieval.compare("reciprocal_rank", qrels=QRELS).equals(expected)
        lazy = RUN.lazy().retrieval.compare("reciprocal_rank", qrels=QRELS.lazy())
        assert isinstance(lazy, pl.LazyFrame)
        assert lazy.collect_schema() == expected.schema
        assert lazy.collect().equals(expected)

    def test_other_column_names(self):
        renamed = RUN.rename({"run_id": "system", "query_id": "topic", "doc_id": "docno", "score": "sim"})
        result = compare(
            renamed.rename({"system": "tag"}),
            "reciprocal_rank",
            qrels=QRELS.rename({"query_id": "topic", "doc_id": "docno"}),
            by="tag",
            query="topic",
            doc="docno",
            score="sim",
        )
        assert result.equals(compare(RUN, "reciprocal_rank", qrels=QRELS))

    def test_a_query_that_a_run_lacks_counts_0(self):
        lacking = RUN.filter(~((pl.col("run_id") == "dense") & (pl.col("query_id") == "q2")))
        row = table_row(compare(lacking, "reciprocal_rank", qrels=QRELS))
        assert row["mean_system"] == pytest.approx((1 + 0 + 1) / 3)
        row = table_row(compare(lacking, "reciprocal_rank", qrels=QRELS, missing_queries="skip"))
        assert (row["mean_baseline"], row["mean_system"], row["n_queries"]) == pytest.approx(
            ((1 / 2 + 1 / 2) / 2, 1, 2)
        )

    def test_options_of_evaluation_are_passed_on(self):
        graded = QRELS.with_columns(relevance=pl.Series([1, 2, 2]))
        row = table_row(compare(RUN, "reciprocal_rank", qrels=graded, min_relevance=2, empty_target_action="skip"))
        assert (row["mean_baseline"], row["mean_system"], row["n_queries"]) == pytest.approx(((1 + 1 / 2) / 2, 1, 2))

    def test_segments_from_the_judgments(self):
        result = compare(RUN, "reciprocal_rank", qrels=QRELS, segment="language")
        assert result.columns[:2] == ["language", "measure"]
        assert result.select("language", "n_queries").rows() == [("en", 2), ("de", 1)]
        assert result["mean_baseline"].to_list() == [(1 / 2 + 1 / 2) / 2, 1]

    def test_segments_from_the_runs(self):
        part = RUN.with_columns(part=pl.col("query_id") == "q3")
        result = compare(part, "reciprocal_rank", qrels=QRELS, segment=["part"], correction="none")
        alone = compare(
            part.filter(~pl.col("part")),
            "reciprocal_rank",
            qrels=QRELS.filter(pl.col("query_id") != "q3"),
            correction="none",
        )
        assert result.filter(~pl.col("part")).drop("part").equals(alone)

    def test_segments_of_values_and_without_one(self):
        values = pr.per_query(RUN, "reciprocal_rank", qrels=QRELS, by="run_id")
        told = values.with_columns(part=pl.when(pl.col("query_id") != "q2").then(pl.lit("x")))
        result = compare(told, segment="part")
        assert result.select("part", "n_queries").rows() == [("x", 2), (None, 1)]
        lazy = compare(told.lazy(), segment="part")
        assert lazy.collect_schema() == result.schema
        assert lazy.collect().equals(result)

    def test_a_query_is_of_one_segment(self):
        part = RUN.with_columns(part=pl.col("run_id"))
        with pytest.raises(DataError, match=r"query_id 'q1' is of `part 'bm25'`, `part 'dense'`"):
            compare(part, "reciprocal_rank", qrels=QRELS, segment="part")


class TestQueriesThatDiffer:
    VALUES = pl.DataFrame(
        {
            "run_id": ["a", "a", "a", "b", "b", "c", "c", "c"],
            "query_id": ["q1", "q2", "q3", "q1", "q4", "q1", "q2", "q3"],
            "m": [0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9],
        }
    )

    def test_raise_and_are_listed(self):
        message = (
            r"(?s)`a` lacks 1 of 4: query_id 'q4'; `b` lacks 2 of 4: query_id 'q2'; query_id 'q3'; `c` lacks 1 of 4: "
            r"query_id 'q4'.*Hint: `queries=\"common\"`"
        )
        with pytest.raises(DataError, match=message):
            compare(self.VALUES)

    def test_long_lists_end(self):
        values = pl.DataFrame({"run_id": ["a"] * 50 + ["b"], "query_id": [*range(50), 7], "m": [0.5] * 51})
        with pytest.raises(DataError, match=r"`b` lacks 49 of 50: query_id 0; .*query_id 10; …"):
            compare(values)

    def test_common_says_how_many_it_leaves_out(self):
        message = r'`queries="common"` leaves out 3 of 4 queries, which not all systems have, the first query_id \'q2\''
        with pytest.warns(RetrievalWarning, match=message):
            result = compare(self.VALUES, queries="common")
        assert result["n_queries"].to_list() == [1, 1, 1]
        assert result["mean_system"].to_list() == [0.5, 0.7, 0.7]

    def test_common_of_the_same_queries_warns_not(self):
        frames = per_query(a=[0.1, 0.2], b=[0.3, 0.1])
        assert compare(frames, queries="common").equals(compare(frames))

    def test_nothing_in_common(self):
        values = pl.DataFrame({"run_id": ["a", "b"], "query_id": [1, 2], "m": [0.5, 0.5]})
        with pytest.raises(DataError, match="none of the 2 queries is one that all systems have"):
            compare(values, queries="common")

    def test_rows_are_paired_by_query_and_not_by_place(self):
        frames = per_query(a=[0.1, 0.2, 0.9], b=[0.2, 0.4, 0.8])
        shuffled = {"a": frames["a"], "b": frames["b"].reverse()}
        assert compare(shuffled).equals(compare(frames))

    def test_undefined_values_leave_their_pairs(self):
        """Each pair is over the queries where both have a value, and as if it were alone."""
        frames = per_query(a=[0.1, 0.2, 0.3, 0.4], b=[0.3, None, 0.1, 0.9], c=[0.5, 0.2, None, 0.8])
        result = compare(frames, correction="none")
        assert result["n_queries"].to_list() == [3, 3, 2]
        assert result["mean_baseline"].to_list() == pytest.approx([(0.1 + 0.3 + 0.4) / 3, 0.7 / 3, 1.2 / 2])
        for row, (one, other) in zip(result.iter_slices(1), (("a", "b"), ("a", "c"), ("b", "c")), strict=True):
            both = {
                name: frames[name].filter(frames[one]["m"].is_not_null() & frames[other]["m"].is_not_null())
                for name in (one, other)
            }
            assert row.equals(compare(both, correction="none"))


@pytest.mark.parametrize("test", TESTS)
def test_blocks_change_nothing(monkeypatch, test):
    generator = np.random.default_rng(2)
    frames = per_query(**{name: generator.random(25) for name in "abcde"})
    frames = {name: frame.with_columns(n=generator.random(25)) for name, frame in frames.items()}
    expected = compare(frames, test=test, n_resamples=200)
    monkeypatch.setattr(intervals, "_CELLS", 600)
    monkeypatch.setattr(intervals, "_DRAWN_CELLS", 500)
    result = compare(frames, test=test, n_resamples=200)
    for name in expected.columns:
        same = result[name].to_list()
        assert same == (
            pytest.approx(expected[name].to_list()) if expected[name].dtype.is_float() else expected[name].to_list()
        )


class TestErrors:
    FRAMES = per_query(a=[0.1, 0.2], b=[0.3, 0.1])
    FRAME = pl.concat([frame.with_columns(run_id=pl.lit(name)) for name, frame in FRAMES.items()])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"test": "t-test"}, r"`test` received a wrong value `t-test`; allowed are `randomization`, `t`,"),
            ({"correction": "fdr"}, r"`correction` received a wrong value `fdr`"),
            ({"queries": "commn"}, r"(?s)`queries` received a wrong value.*did you mean `common`"),
            ({"baseline": "aa"}, r"(?s)`baseline` has to be one of the systems, `a`, `b`, got 'aa'.*did you mean `a`"),
            ({"level": 1}, r"`level` has to be a number between 0 and 1"),
            ({"n_resamples": "many"}, r"`n_resamples` has to be an integer"),
            ({"ties": "doc"}, r"`ties` received a wrong value"),
            ({"qrels": QRELS}, r"`qrels` cannot be given with per-query values"),
            ({"ties": "doc_id"}, r"options of evaluation cannot be given with per-query values"),
        ],
    )
    def test_options(self, options, message):
        with pytest.raises(ParameterError, match=message):
            compare(self.FRAME, **options)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"by": "system"}, r"`runs` has no column `system` for `by`; its columns are"),
            ({"by": ["run_id"]}, r"`by` has to be the name of the column that tells systems apart, got \['run_id'\]"),
            ({"query": "qid"}, r"`runs` has no column `qid` for `query`"),
            ({"metrics": "recall@10"}, r"`runs` has no column `recall@10` for `metrics`; its columns are .*`m`"),
            ({"metrics": "run_id"}, r"column `run_id` of `runs`, given in `metrics`, holds no values"),
            ({"segment": "runid"}, r"(?s)neither `runs` nor `qrels` has the columns `runid`.*did you mean `run_id`"),
            (
                {"segment": "run_id"},
                r"`segment` has to name other columns than those of systems and queries, got `run_id`",
            ),
        ],
    )
    def test_columns(self, options, message):
        with pytest.raises(ColumnError, match=message):
            compare(self.FRAME, **options)

    @pytest.mark.parametrize(
        ("runs", "metrics", "message"),
        [
            ({}, None, r"`runs` is an empty dictionary"),
            ({"a": FRAMES["a"]}, None, r"at least two systems are needed to compare, but `runs` holds `a`"),
            (FRAME.head(0), None, r"at least two systems are needed to compare, but `runs` holds none"),
            (RUN, None, r"`metrics` has to be given, as `runs` holds scores"),
        ],
    )
    def test_too_little(self, runs, metrics, message):
        with pytest.raises(ParameterError, match=message):
            compare(runs, metrics)

    @pytest.mark.parametrize(
        ("runs", "message"),
        [
            ({"a": FRAMES["a"], "b": RUN}, r"`runs\['a'\]` has no column `score`, but others in `runs` have one"),
            ({"a": FRAMES["a"], "b": 3}, r"`runs\['b'\]` has to be a frame"),
            ({"a": FRAMES["a"], "b": FRAMES["b"].rename({"m": "n"})}, r"`runs\['b'\]` has no column `m` for `metrics`"),
            (
                {"a": FRAMES["a"], "b": FRAMES["b"].cast({"query_id": pl.String})},
                r"column `query_id` is of types `Int64`, `String` in `runs`, so that no id can match",
            ),
        ],
    )
    def test_frames(self, runs, message):
        with pytest.raises(ColumnError, match=message):
            compare(runs)

    def test_values(self):
        with pytest.raises(DataError, match=r"a query can come once in a group, but 4 rows .* run_id 'a', query_id 0"):
            compare(pl.concat([self.FRAME, self.FRAME.filter(run_id="a")]))
        with pytest.raises(DataError, match=r"column `m` has 4 values that are NaN or infinite"):
            compare(self.FRAME.with_columns(m=math.nan))
        with pytest.raises(DataError, match=r"column `run_id` has 4 nulls, .*every row has to belong to a system"):
            compare(self.FRAME.with_columns(run_id=pl.lit(None, pl.String)))
        with pytest.raises(MetricError, match=r"`metrics` is empty"):
            compare(self.FRAME, [])

    def test_names_of_systems(self):
        with pytest.raises(ParameterError, match=r"the keys of `runs` have to be the names of systems, got 1"):
            compare({1: self.FRAMES["a"], 2: self.FRAMES["b"]})

    def test_missing_package_is_named(self, monkeypatch):
        def not_installed(name):
            raise ModuleNotFoundError(name, name="statsmodels")

        expected = compare(self.FRAME, correction="none")
        real = intervals.importlib.import_module
        monkeypatch.setattr(
            intervals.importlib,
            "import_module",
            lambda name: not_installed(name) if "statsmodels" in name else real(name),
        )
        assert compare(self.FRAME, correction="none").equals(expected)
        with pytest.raises(
            ModuleNotFoundError, match=r"need statsmodels\n\nHint: pip install 'polars-retrieval\[stats\]'"
        ):
            compare(self.FRAME)


def expected_in(folder):
    path = folder / "expected.json"
    return json.loads(
        path.read_text() if path.exists() else gzip.decompress((folder / "expected.json.gz").read_bytes())
    )


FOLDERS = {"text-noveleval": 15, "text-cranfield": 15, "text-npl": 15, "ltr-lambdarank": 5}


@pytest.mark.shared
class TestReferences:
    @pytest.mark.parametrize(("folder", "n"), FOLDERS.items())
    def test_runs(self, shared, folder, n):
        expected = expected_in(shared / "data" / folder)
        (judgments,) = [path for path in (shared / "data" / folder).glob("*qrels*") if path.suffix in {".txt", ".gz"}]
        comparisons = expected["comparisons"]
        names = dict.fromkeys(name for one in comparisons for name in (one["a"], one["b"]))
        result = compare(
            {name: pr.read_run(shared / "data" / folder / name) for name in names},
            list(dict.fromkeys(one["measure"] for one in comparisons)),
            qrels=pr.read_qrels(judgments),
            test="t",
            ties="doc_id",
            min_relevance=expected["relevance_level"],
        )
        assert len(comparisons) == n
        for one in comparisons:
            row = table_row(result.filter(baseline=one["a"], system=one["b"], measure=str(pr.parse(one["measure"]))))
            counts = ("b_wins", "ties", "b_losses", "n")
            assert [row[name] for name in ("wins", "ties", "losses", "n_queries")] == [one[name] for name in counts]
            means = [one["mean_a"], one["mean_b"], one["mean_diff_b_minus_a"]]
            assert [row["mean_baseline"], row["mean_system"], row["difference"]] == pytest.approx(means)
            p = None if math.isnan(one["ttest_rel_p"]) else pytest.approx(one["ttest_rel_p"])
            assert row["p_value"] == p

    @pytest.mark.parametrize(("folder", "n"), FOLDERS.items())
    def test_wilcoxon_of_trec_evals_values(self, shared, folder, n):
        """Of the very floats, as Wilcoxon's test ranks what rounding makes of equal differences."""
        expected = expected_in(shared / "data" / folder)
        for one in expected["comparisons"]:
            values = {
                name: pl.DataFrame(
                    [
                        {"query_id": query, "m": measures[one["measure"]]}
                        for query, measures in expected["runs"][name]["float64_order"]["per_query"].items()
                    ]
                )
                for name in (one["a"], one["b"])
            }
            row = table_row(compare(values, test="wilcoxon", n_resamples=1))
            p = one["wilcoxon_p_scipy_approx"]
            assert row["p_value"] == (p if p is None else pytest.approx(p))
            n -= 1
        assert n == 0
