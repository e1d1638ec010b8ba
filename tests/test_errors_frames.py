"""Every error of frames: its type, and that the message names what was given and what is allowed."""

from __future__ import annotations

import polars as pl
import pytest

import polars_retrieval as pr
from polars_retrieval.errors import (
    ColumnError,
    DataError,
    EmptyTargetError,
    MetricError,
    ParameterError,
    RetrievalError,
)

RUN = pl.DataFrame(
    {
        "query_id": ["q1", "q1", "q2"],
        "doc_id": ["a", "b", "a"],
        "score": [0.9, 0.8, 0.7],
        "relevance": [1, 0, 1],
    }
)
RETRIEVED, QRELS = RUN.drop("relevance"), RUN.drop("score")

FUNCTIONS = {
    "evaluate": lambda run, **options: pr.evaluate(run, "recall@2", **options),
    "per_query": lambda run, **options: pr.per_query(run, "recall@2", **options),
    "pr_curve": pr.pr_curve,
    "rank": pr.rank,
}


@pytest.fixture(params=FUNCTIONS)
def ask(request):
    """Ask one of the functions on frames; each takes the same options but where a test says otherwise."""
    return FUNCTIONS[request.param]


@pytest.fixture(params=["eager", "lazy"])
def ask_both(request, ask):
    """Ask on a frame, and on a lazy frame that is collected."""
    if request.param == "eager":
        return ask
    return lambda run, **options: ask(run.lazy(), **options).collect()


def says(kind, *words):
    """Expect an error of that kind whose message has all the words."""
    return pytest.raises(kind, match="(?s)" + "".join(f"(?=.*{word})" for word in words))


def test_all_are_value_errors():
    kinds = [ColumnError, DataError, EmptyTargetError, MetricError, ParameterError]
    assert all(issubclass(kind, RetrievalError) for kind in kinds)
    assert issubclass(RetrievalError, ValueError)


class TestColumns:
    @pytest.mark.parametrize(
        ("column", "near"), [("query_id", "queryid"), ("score", "scores"), ("relevance", "Relevance")]
    )
    def test_missing_with_the_nearest_name(self, ask, column, near):
        with says(ColumnError, f"`{column}`", f"did you mean `{near}`"):
            ask(RUN.rename({column: near}))

    @pytest.mark.parametrize("column", ["query_id", "score", "relevance"])
    def test_missing_lists_what_there_is(self, ask, column):
        with says(ColumnError, f"`{column}`", *(f"`{name}`" for name in RUN.columns if name != column)):
            ask(RUN.drop(column))

    @pytest.mark.parametrize("argument", ["query", "score", "relevance", "doc"])
    def test_given_but_missing(self, ask, argument):
        options = {argument: "nowhere", "ties": "doc_id"}
        with says(ColumnError, "`nowhere`", f"`{argument}`"):
            ask(RUN, **options)

    def test_missing_query_of_several(self, ask):
        with says(ColumnError, "`turn`"):
            ask(RUN, query=["query_id", "turn"])

    def test_missing_group(self):
        for name in ("evaluate", "per_query", "pr_curve"):
            with says(ColumnError, "`sistem`", "`by`", "did you mean `system`"):
                FUNCTIONS[name](RUN.with_columns(system=1), by="sistem")

    def test_missing_in_the_judgments(self):
        with says(ColumnError, "`relevance`", "qrels"):
            pr.evaluate(RETRIEVED, "recall@2", qrels=QRELS.drop("relevance"))
        with says(ColumnError, "`doc_id`", "qrels"):
            pr.evaluate(RETRIEVED, "recall@2", qrels=QRELS.drop("doc_id"))
        with says(ColumnError, "`doc_id`"):
            pr.evaluate(RETRIEVED.drop("doc_id"), "recall@2", qrels=QRELS)

    @pytest.mark.parametrize(
        ("column", "values", "dtype"),
        [
            ("score", ["0.9", "0.8", "0.7"], "String"),
            ("score", [True, False, True], "Boolean"),
            ("score", [[1.0], [2.0], [3.0]], "List"),
            ("relevance", ["1", "0", "1"], "String"),
            ("relevance", [[1], [0], [1]], "List"),
            ("query_id", [1.0, 1.0, 2.0], "Float64"),
            ("query_id", [[1], [1], [2]], "List"),
        ],
    )
    def test_of_the_wrong_type(self, ask_both, column, values, dtype):
        with says(ColumnError, f"`{column}`", dtype):
            ask_both(RUN.with_columns(pl.Series(column, values)))

    def test_document_of_the_wrong_type(self, ask):
        with says(ColumnError, "`doc_id`", "Float64"):
            ask(RUN.with_columns(doc_id=pl.Series([1.0, 2.0, 1.0])), ties="doc_id")

    @pytest.mark.parametrize(
        ("query", "other"),
        [(pl.Int32, pl.String), (pl.String, pl.Int64), (pl.Int64, pl.Date), (pl.String, pl.Date)],
    )
    def test_ids_that_do_not_match(self, query, other):
        run = RETRIEVED.with_columns(query_id=pl.Series([1, 1, 2]).cast(query))
        qrels = QRELS.with_columns(
            query_id=pl.Series([1, 1, 2]).cast(pl.Int32 if other == pl.Date else other).cast(other)
        )
        with says(ColumnError, "`query_id`", str(query()), str(other())):
            pr.evaluate(run, "recall@2", qrels=qrels)

    def test_document_ids_that_do_not_match(self):
        run = RETRIEVED.with_columns(doc_id=pl.Series([1, 2, 1]))
        with says(ColumnError, "`doc_id`", "Int64", "String"):
            pr.evaluate(run, "recall@2", qrels=QRELS)
        with says(ColumnError, "`doc_id`", "Int64", "String"):
            pr.judge(run, QRELS)

    def test_relevance_on_both_sides(self):
        with says(ColumnError, "`relevance`", "qrels"):
            pr.evaluate(RUN, "recall@2", qrels=QRELS)

    @pytest.mark.parametrize("argument", ["query", "score", "relevance", "doc"])
    @pytest.mark.parametrize("given", [3, None, b"query_id"])
    def test_name_that_is_none(self, argument, given):
        with says(ColumnError, f"`{argument}`"):
            pr.evaluate(RUN, "recall@2", **{argument: given})

    def test_one_column_for_two_parts(self):
        with says(ColumnError, "`score`"):
            pr.evaluate(RUN, "recall@2", relevance="score")

    @pytest.mark.parametrize("run", [None, [1, 2], "run.parquet", {"score": [1.0]}, 3])
    def test_no_frame(self, ask, run):
        with says(RetrievalError, "`run`", type(run).__name__):
            ask(run)

    def test_judgments_that_are_no_frame(self):
        with says(RetrievalError, "`qrels`", "dict"):
            pr.evaluate(RETRIEVED, "recall@2", qrels={"q1": {"a": 1}})

    @pytest.mark.parametrize("column", ["rank", "hits"])
    def test_in_the_way(self, column):
        with says(ColumnError, f"`{column}`"):
            pr.rank(RUN.with_columns(pl.lit(1).alias(column)))


class TestData:
    @pytest.mark.parametrize("dtype", [pl.Float16, pl.Float32, pl.Float64])
    def test_nan_score(self, ask_both, dtype):
        run = RUN.with_columns(score=pl.Series([0.5, float("nan"), float("nan")], dtype=dtype))
        with says(DataError, "`score`", r"\b2\b", "NaN", "q1"):
            ask_both(run)

    def test_nan_score_in_a_later_query(self, ask):
        with says(DataError, "`score`", r"\b1\b", "q2"):
            ask(RUN.with_columns(score=pl.Series([0.5, None, float("nan")])))

    def test_infinite_scores_are_ranked(self, ask):
        ask(RUN.with_columns(score=pl.Series([float("inf"), float("-inf"), 0.0])))
        assert pr.rank(RUN.with_columns(score=pl.Series([float("-inf"), float("inf"), 0.0])))["rank"].to_list() == [
            2,
            1,
            1,
        ]

    def test_nan_grade(self, ask_both):
        run = RUN.with_columns(relevance=pl.Series([1.0, float("nan"), 0.0]))
        with says(DataError, "`relevance`", r"\b1\b", "NaN", "q1"):
            ask_both(run)

    def test_nan_grade_in_the_judgments(self):
        qrels = QRELS.with_columns(relevance=pl.Series([1.0, float("nan"), 0.0]))
        with says(DataError, "`relevance`", "NaN", "q1"):
            pr.evaluate(RETRIEVED, "recall@2", qrels=qrels)

    @pytest.mark.parametrize("order", [[0, 1, 2, 0], [0, 0, 1, 2], [2, 1, 0, 0]])
    def test_document_twice(self, ask_both, order):
        run = RUN.with_columns(score=pl.Series([3.0, 2.0, 1.0]))[order]
        with says(DataError, "q1", r"'a'|\"a\"|`a`"):
            ask_both(run)

    def test_document_twice_not_retrieved(self, ask):
        run = pl.concat([RUN, RUN.head(1).with_columns(score=pl.lit(None, dtype=pl.Float64))])
        with says(DataError, "q1", "'a'"):
            ask(run)

    def test_document_twice_on_either_side(self):
        twice = [0, 1, 2, 2]
        with says(DataError, "q2", "'a'"):
            pr.evaluate(RETRIEVED[twice], "recall@2", qrels=QRELS)
        with says(DataError, "q2", "'a'"):
            pr.evaluate(RETRIEVED, "recall@2", qrels=QRELS[twice])
        with says(DataError, "q2", "'a'"):
            pr.judge(RETRIEVED[twice], QRELS)
        with says(DataError, "q2", "'a'"):
            pr.judge(RETRIEVED, QRELS[twice])

    def test_null_query(self, ask_both):
        with says(DataError, "`query_id`", r"\b1\b", "null"):
            ask_both(RUN.with_columns(query_id=pl.Series(["q1", None, "q2"])))

    def test_unjudged(self, ask_both):
        run = RUN.with_columns(relevance=pl.Series([1, None, 1]))
        ask_both(run)
        with says(DataError, "unjudged", r"\b1\b", "q1", "'b'"):
            ask_both(run, unjudged="error")

    def test_unjudged_and_not_retrieved_is_fine(self, ask):
        run = RUN.with_columns(relevance=pl.Series([1, None, 1]), score=pl.Series([1.0, None, 1.0]))
        ask(run, unjudged="error")

    @pytest.mark.parametrize("name", ["evaluate", "per_query", "pr_curve"])
    @pytest.mark.parametrize("lazy", [True, False])
    def test_missing_query(self, name, lazy):
        run = RETRIEVED.head(2)
        with says(DataError, "missing_queries", "q2"):
            FUNCTIONS[name](run.lazy() if lazy else run, qrels=QRELS, missing_queries="error").lazy().collect()

    @pytest.mark.parametrize("name", ["evaluate", "per_query", "pr_curve"])
    @pytest.mark.parametrize("lazy", [True, False])
    def test_query_without_relevant(self, name, lazy):
        run = RUN.with_columns(relevance=pl.Series([1, 0, 0]))
        with says(EmptyTargetError, "empty_target_action", "q2"):
            FUNCTIONS[name](run.lazy() if lazy else run, empty_target_action="error").lazy().collect()


class TestOptions:
    @pytest.mark.parametrize(
        ("argument", "given", "allowed"),
        [
            ("ties", "optimist", ["expected", "doc_id", "stable", "pessimistic", "optimistic"]),
            ("unjudged", "dropp", ["nonrelevant", "drop", "error"]),
            ("missing_queries", "skipp", ["zero", "skip", "error"]),
            ("empty_target_action", "negg", ["neg", "pos", "skip", "error"]),
            ("aggregation", "meann", ["mean", "median", "min", "max"]),
        ],
    )
    @pytest.mark.parametrize("lazy", [True, False])
    def test_unknown_choice(self, argument, given, allowed, lazy):
        """Refused at once, not when a lazy frame is collected."""
        names = ["evaluate", "pr_curve"] if argument == "aggregation" else ["evaluate", "per_query", "pr_curve"]
        for name in names:
            with says(ParameterError, f"`{argument}`", given, *allowed, "did you mean"):
                FUNCTIONS[name](RUN.lazy() if lazy else RUN, **{argument: given})

    @pytest.mark.parametrize("argument", ["ties", "unjudged", "missing_queries", "empty_target_action", "aggregation"])
    @pytest.mark.parametrize("given", [None, 3, True, ["mean"]])
    def test_choice_of_the_wrong_type(self, argument, given):
        with says(ParameterError, f"`{argument}`"):
            pr.evaluate(RUN, "recall@2", **{argument: given})

    @pytest.mark.parametrize("given", ["0", 0.5, True, [0]])
    def test_ignore_index(self, given):
        with says(ParameterError, "`ignore_index`", "integer or None"):
            pr.evaluate(RUN, "recall@2", ignore_index=given)

    @pytest.mark.parametrize("given", ["1", None, True, float("nan")])
    def test_min_relevance(self, given):
        with says(ParameterError, "`min_relevance`", "number"):
            pr.evaluate(RUN, "recall@2", min_relevance=given)

    @pytest.mark.parametrize("given", [0, -1, 1.5, True, "3", float("nan")])
    def test_cutoffs(self, given):
        with says(ParameterError, "`max_k`", "positive integer or None"):
            pr.pr_curve(RUN, max_k=given)
        for measure in (pr.precision, pr.recall, pr.f_measure, pr.hit_rate):
            with says(ParameterError, "`k`", "positive integer or None"):
                measure(k=given)

    @pytest.mark.parametrize("given", [0, 1, "True", None])
    def test_adaptive_k(self, given):
        with says(ParameterError, "`adaptive_k`", "boolean"):
            pr.pr_curve(RUN, adaptive_k=given)
        with says(ParameterError, "`adaptive_k`", "boolean"):
            pr.precision(adaptive_k=given)

    @pytest.mark.parametrize("given", [0, -1.0, "1", True, float("nan"), float("inf")])
    def test_beta(self, given):
        with says(ParameterError, "`beta`"):
            pr.f_measure(beta=given)

    def test_unknown_parameter(self):
        with says(ParameterError, "`recall`", "`adaptive`", "`k`"):
            pr.recall(adaptive=True)
        with says(ParameterError, "did you mean `adaptive_k`"):
            pr.precision(adaptive=True)
        with says(ParameterError, "`r_precision`", "`k`"):
            pr.r_precision @ 3
        with says(ParameterError, "`n_relevant`", "`k`"):
            pr.parse("n_relevant@3")

    def test_unknown_argument_is_a_type_error(self, ask):
        with pytest.raises(TypeError, match="tie"):
            ask(RUN, tie="stable")

    def test_expected_places_are_refused(self):
        """A row needs one place, which a mean over orders does not give."""
        with says(ParameterError, "ties", "expected", "`stable`"):
            pr.rank(RUN, ties="expected")


class TestMeasures:
    @pytest.mark.parametrize(
        ("given", "near"),
        [
            ("recal@10", "recall"),
            ("Precision@10", "precision"),
            ("rprecision", "r_precision"),
            ("hitrate@5", "hit_rate"),
        ],
    )
    def test_unknown_name(self, given, near):
        for ask in (
            pr.parse,
            lambda name: pr.evaluate(RUN, name),
            lambda name: pr.per_query(RUN, ["recall@2", name]),
        ):
            with says(MetricError, f"`{given}`", f"did you mean `{near}`"):
                ask(given)

    @pytest.mark.parametrize(
        "given", ["", "@10", "recall@", "recall@x", "recall@-1", "recall(k=3", "recall@1.5", "recall@10@5"]
    )
    def test_name_that_is_none(self, given):
        with pytest.raises(RetrievalError, match=r"measure|parameter"):
            pr.parse(given)

    @pytest.mark.parametrize(
        "given",
        ["recall@0", "recall(k=0)", "recall(k=1.5)", "precision(adaptive_k=3)@2", "f_measure(beta=x)"],
    )
    def test_parameter_in_a_name(self, given):
        with says(ParameterError, "`(k|adaptive_k|beta)`"):
            pr.parse(given)

    def test_unknown_parameter_in_a_name(self):
        with says(ParameterError, "`recall`", "`deep`"):
            pr.parse("recall(deep=3)")

    @pytest.mark.parametrize("given", [None, 3, [3], [None], [["recall@2"]], []])
    def test_no_measures(self, given):
        with says(MetricError, "`metrics`"):
            pr.evaluate(RUN, given)
        with says(MetricError, "`metrics`"):
            pr.per_query(RUN.lazy(), given)

    def test_parse_takes_text(self):
        with pytest.raises((MetricError, TypeError), match=r"name|str"):
            pr.parse(3)


class TestExpressions:
    def test_unknown_choice(self):
        with says(ParameterError, "`ties`", "stabel", "stable"):
            pl.col("relevance").retrieval.recall("score", k=2, ties="stabel")
        with says(ParameterError, "ties", "expected", "`stable`"):
            pl.col("score").retrieval.rank(ties="expected")

    @pytest.mark.parametrize("given", [0, 1.5, True])
    def test_cutoff(self, given):
        with says(ParameterError, "`k`"):
            pl.col("relevance").retrieval.recall("score", k=given)
        with says(ParameterError, "`max_k`"):
            pl.col("relevance").retrieval.pr_curve("score", max_k=given)

    @pytest.mark.parametrize("context", ["group_by", "over"])
    @pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64])
    def test_nan_is_never_ranked_silently(self, context, dtype):
        """An expression cannot raise: the group with a NaN gets NaN or null, the other its value."""
        run = RUN.with_columns(score=pl.Series([float("nan"), 0.9, 0.5], dtype=dtype))
        relevance, score = pl.col("relevance").retrieval, pl.col("score").retrieval
        values = [
            relevance.recall("score", k=1),
            relevance.precision("score", k=1, ties="stable").alias("stable"),
        ]
        curve = relevance.pr_curve("score", max_k=1).struct.field("recall").list.first().alias("curve")
        result = _in_context(run, [*values, relevance.r_precision("score"), curve], context)
        assert result["query_id"].to_list() == ["q1", "q2"]
        for column in result.columns[1:]:
            assert result[column].is_nan().to_list() == [True, False], column
        ranks = [score.rank().alias("rank"), relevance.cumulative_hits("score").alias("hits")]
        rows = run.select(value.over("query_id") for value in ranks)
        assert rows.rows() == [(None, None), (None, None), (1, 1)]

    @pytest.mark.parametrize("argument", ["empty_target_action", "unjudged", "missing_queries"])
    def test_error_is_refused(self, argument):
        with says(ParameterError, argument, "error", "expression"):
            pl.col("relevance").retrieval.recall("score", k=1, **{argument: "error"})

    def test_what_a_rule_for_ties_needs(self):
        with says(ParameterError, "ties", "doc_id", "`doc`"):
            pl.col("relevance").retrieval.recall("score", k=1, ties="doc_id")
        with says(ParameterError, "ties", "optimistic", "`relevance`"):
            pl.col("score").retrieval.rank(ties="optimistic")


def _in_context(run, values, context):
    if context == "group_by":
        return run.group_by("query_id", maintain_order=True).agg(values)
    over = run.select("query_id", *(value.over("query_id") for value in values))
    return over.unique("query_id", keep="first", maintain_order=True)
