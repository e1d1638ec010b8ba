"""Laws that hold for every measure of the registry, on drawn runs.

The measures are taken from `pr.metrics()`; `VARIANTS` says with which parameters each is tried, and tests
check that no measure and no parameter is left out. The values are those of the slow reference.
"""

from __future__ import annotations

import math
from itertools import pairwise

import polars as pl
import pytest
import reference
from hypothesis import Phase, assume, find, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from reference import TIE_RULES, Row
from strategies import FINITE_SCORES, MOST_DOCUMENTS, Run, cutoffs, min_relevances, runs

import polars_retrieval as pr

CLOSE = {"rel": 1e-9, "abs": 1e-12}
K = object()
"""Stands for the cutoff that a test draws."""

VARIANTS = {
    "n_retrieved": [{}],
    "n_relevant": [{}],
    "n_relevant_retrieved": [{}],
    "n_judged": [{}],
    "precision": [{}, {"k": K}, {"k": K, "adaptive_k": True}],
    "recall": [{}, {"k": K}, {"k": K, "capped": True}],
    "r_precision": [{}],
    "f_measure": [{}, {"k": K}, {"k": K, "beta": 0.5}, {"beta": 2.0}, {"k": K, "adaptive_k": True}],
    "hit_rate": [{}, {"k": K}],
    "fall_out": [{}, {"k": K}],
    "reciprocal_rank": [{}, {"k": K}],
    "average_precision": [
        *({"denominator": denominator} for denominator in ("relevant", "min", "hits")),
        *({"k": K, "denominator": denominator} for denominator in ("relevant", "min", "hits")),
    ],
    "dcg": [{}, {"k": K}, {"gain": "exponential"}],
    "ndcg": [{}, {"k": K}, {"gain": "exponential"}, {"k": K, "gain": "exponential"}],
    "auroc": [{}, {"k": K}, {"max_fpr": 0.3}, {"max_fpr": 0.8}, {"k": K, "max_fpr": 0.5}, {"max_fpr": 1.0}],
    "rbp": [{}, {"k": K}, {"persistence": 0.5}, {"residual": True}, {"k": K, "residual": True}],
    "err": [{}, {"k": K}, {"max_grade": 4}],
    "bpref": [{}],
    "judged": [{}, {"k": K}],
    "interpolated_precision": [{}, *({"recall": level} for level in (0.0, 0.1, 0.5, 1.0))],
    "recall_at_precision": [{}, {"k": K}, {"min_precision": 0.47}, {"k": K, "min_precision": 0.3}],
}

WITHOUT_DIRECTION = frozenset({"n_retrieved", "n_relevant", "n_judged", "judged"})
"""Moving a relevant document up says nothing about these."""


def has_direction(name: str, parameters: dict[str, object]) -> bool:
    """Whether a better order can only improve the measure.

    Where the documents within k are all that counts, a relevant one that comes in can bring others down: it is
    found at a low rank, or leaves no pair of a relevant and another document.
    """
    within_k_only = name == "auroc" or parameters.get("denominator") == "hits"
    if within_k_only and "k" in parameters:
        return False
    return name not in WITHOUT_DIRECTION and not parameters.get("residual")


REGISTERED = {row["name"]: row for row in pr.metrics().iter_rows(named=True)}


def lower_is_better(name: str) -> bool:
    return not REGISTERED[name]["higher_is_better"]


def variants(k: int, ties: str = "expected") -> list[tuple[str, dict[str, object]]]:
    """Give all measures of the registry with all parameters that are tried, at the drawn cutoff.

    Those that may refuse to take the mean over orders of tied documents are left out where that is asked of them.
    """
    every = [
        (name, {key: k if value is K else value for key, value in parameters.items()})
        for name in REGISTERED
        for parameters in VARIANTS[name]
    ]
    return [variant for variant in every if ties != "expected" or build(*variant).needs_order_of is None]


def build(name, parameters):
    measure = getattr(pr, name)
    return measure(**parameters) if parameters else measure


def measures(k: int, ties: str = "expected") -> list[object]:
    return [build(*variant) for variant in variants(k, ties)]


def assert_close(values, expected, label=""):
    """Compare lists that may hold nulls."""
    assert [value is None for value in values] == [value is None for value in expected], (
        label,
        values,
        expected,
    )
    present = [value for value in values if value is not None]
    assert present == pytest.approx([value for value in expected if value is not None], **CLOSE), label


class TestNoneIsForgotten:
    def test_every_measure_has_variants_and_a_reference(self):
        assert set(REGISTERED) <= set(VARIANTS)
        assert set(REGISTERED) <= {*reference.MEASURES, "recall_at_precision"}

    def test_every_parameter_is_tried(self):
        for name, row in REGISTERED.items():
            tried = {key for parameters in VARIANTS[name] for key in parameters}
            assert {parameter.partition("=")[0] for parameter in row["parameters"]} == tried, name

    def test_the_first_measures_are_registered(self):
        first = {"precision", "recall", "r_precision", "f_measure", "hit_rate"}
        assert first | reference.COUNTS <= set(REGISTERED)


def has_tie_of_mixed_grades(run: Run) -> bool:
    grades = {}
    for row in run.rows:
        if row.score is not None:
            grades.setdefault((row.query, row.score), set()).add(row.relevance)
    return any(len(mixed) > 1 for mixed in grades.values())


def is_shuffled(run: Run) -> bool:
    changes = sum(above.query != below.query for above, below in pairwise(run.rows))
    return changes >= len({row.query for row in run.rows})


FEATURES = {
    "mixed tie": has_tie_of_mixed_grades,
    "shuffled rows": is_shuffled,
    "null score": lambda run: any(row.score is None for row in run.rows),
    "null relevance": lambda run: any(row.relevance is None for row in run.rows),
    "a query with only null scores": lambda run: 0 in reference.per_query(run.rows, "n_retrieved").values(),
    "a query without relevant documents": lambda run: 0 in reference.per_query(run.rows, "n_relevant").values(),
    "a query of one document": lambda run: 1 in reference.per_query(run.rows, "n_retrieved").values(),
    "zeros of both signs tied": lambda run: {repr(row.score) for row in run.rows} >= {"0.0", "-0.0"},
    "infinite score": lambda run: any(row.score == math.inf for row in run.rows),
    "negative infinite score": lambda run: any(row.score == -math.inf for row in run.rows),
    "float grades": lambda run: run.grade_type == pl.Float64,
    "boolean grades": lambda run: run.grade_type == pl.Boolean,
    "text ids": lambda run: run.query_type == pl.String,
    "several queries": lambda run: len({row.query for row in run.rows}) > 2,
}


@pytest.mark.parametrize("feature", FEATURES)
def test_the_drawn_runs_have(feature):
    once_found = settings(max_examples=2000, database=None, phases=[Phase.generate])
    find(runs(), FEATURES[feature], settings=once_found)


# --- the reference --------------------------------------------------------------------------------


def options():
    """Draw options of `per_query`, other than those that raise."""
    return st.fixed_dictionaries(
        {
            "ties": st.sampled_from(TIE_RULES),
            "unjudged": st.sampled_from(["nonrelevant", "drop"]),
            "missing_queries": st.sampled_from(["zero", "skip"]),
            "empty_target_action": st.sampled_from(["neg", "pos", "skip"]),
            "ignore_index": st.sampled_from([None, None, 0, 1]),
            "min_relevance": min_relevances(),
        }
    )


@given(runs(), cutoffs(), options())
def test_per_query_is_the_reference(run, k, options):
    values = pr.per_query(run.frame(), measures(k, options["ties"]), **options)
    for name, parameters in variants(k, options["ties"]):
        expected = reference.per_query(run.rows, name, parameters=parameters, **options)
        assert values["query_id"].to_list() == list(expected)
        label = str(build(name, parameters))
        assert_close(values[label].to_list(), expected.values(), label)


@pytest.mark.parametrize("ties", TIE_RULES)
@given(run=runs(), k=cutoffs())
def test_every_tie_rule_is_the_reference(run, k, ties):
    values = pr.per_query(run.frame(), measures(k, ties), ties=ties)
    for name, parameters in variants(k, ties):
        expected = reference.per_query(run.rows, name, parameters=parameters, ties=ties)
        label = str(build(name, parameters))
        assert_close(values[label].to_list(), expected.values(), label)


ORDERED = [variant for variant in variants(3, "stable") if build(*variant).needs_order_of]


@pytest.mark.parametrize("variant", ORDERED, ids=lambda variant: str(build(*variant)))
@given(run=runs(), min_relevance=min_relevances())
def test_the_mean_over_orders_is_the_reference_or_refused(run, min_relevance, variant):
    name, parameters = variant
    expected = reference.per_query(run.rows, name, parameters=parameters, min_relevance=min_relevance)
    has_expression = name != "err" or "max_grade" in parameters
    value = expression(name, parameters, "expected", min_relevance).alias("value") if has_expression else None
    grouped = None if value is None else run.frame().group_by("query_id", maintain_order=True).agg(value)["value"]
    try:
        values = pr.per_query(run.frame(), build(*variant), min_relevance=min_relevance)
    except pr.errors.ParameterError as error:
        assert "`ties`" in str(error)  # noqa: PT017 (it may raise or not)
        assert has_tie_of_mixed_grades(run)
        if grouped is not None:
            assert grouped.is_nan().any()
            pairs = [pair for pair in zip(grouped, expected.values(), strict=True) if not math.isnan(pair[0])]
            assert_close([ours for ours, _ in pairs], [mean for _, mean in pairs])
    else:
        assert_close(values.to_series(-1).to_list(), expected.values())
        if grouped is not None:
            assert_close(grouped.to_list(), expected.values())


@given(runs(), cutoffs(), options(), st.sampled_from(["mean", "median", "min", "max"]))
def test_evaluate_is_the_reference(run, k, options, aggregation):
    values = pr.evaluate(run.frame(), measures(k, options["ties"]), aggregation=aggregation, **options)
    assert values.height == 1
    for name, parameters in variants(k, options["ties"]):
        expected = reference.evaluate(run.rows, name, parameters=parameters, aggregation=aggregation, **options)
        label = str(build(name, parameters))
        assert_close(values[label].to_list(), [expected], label)


@given(
    runs(),
    st.none() | cutoffs(),
    st.booleans(),
    options(),
    st.sampled_from(["mean", "mean", "median", "min", "max"]),
)
def test_the_curve_is_the_reference(run, max_k, adaptive_k, options, aggregation):
    curve = pr.pr_curve(run.frame(), max_k=max_k, adaptive_k=adaptive_k, aggregation=aggregation, **options)
    expected = reference.pr_curve(run.rows, max_k=max_k, adaptive_k=adaptive_k, aggregation=aggregation, **options)
    for place, column in enumerate(("k", "precision", "recall")):
        assert_close(curve[column].to_list(), [row[place] for row in expected], column)


@given(runs(), min_relevances(), st.sampled_from(TIE_RULES[1:]))
def test_rank_is_the_reference(run, min_relevance, ties):
    ranked = pr.rank(run.frame(), ties=ties, min_relevance=min_relevance)
    assert_frame_equal(ranked.drop("rank", "hits"), run.frame())
    rows = {}
    for row in ranked.iter_rows(named=True):
        rows.setdefault(row["query_id"], []).append(row)
    for query, documents in reference.queries_of(run.rows).items():
        [order] = reference.orders(documents, ties)
        hits = reference.Ranking(tuple(document.relevance for document in order), (), min_relevance).hits
        places = sorted((row["rank"], row["hits"]) for row in rows[query] if row["score"] is not None)
        assert places == [(k, hits(k)) for k in range(1, len(order) + 1)]
        assert all(row["rank"] is row["hits"] is None for row in rows[query] if row["score"] is None)
        by_rank = sorted((row for row in rows[query] if row["rank"] is not None), key=lambda row: row["rank"])
        assert [row["score"] for row in by_rank] == [document.score for document in order]
        if ties in ("doc_id", "stable"):  # the others leave open which of two hits comes first
            assert [row["doc_id"] for row in by_rank] == [document.doc for document in order]


# --- what changes nothing -------------------------------------------------------------------------


@given(runs(), cutoffs(), st.sampled_from(sorted(set(TIE_RULES) - {"stable"})), st.randoms(use_true_random=False))
def test_row_order_changes_nothing(run, k, ties, random):
    rows = list(run.rows)
    random.shuffle(rows)
    before = pr.per_query(run.frame(), measures(k, ties), ties=ties)
    after = pr.per_query(run.with_rows(rows).frame(), measures(k, ties), ties=ties)
    assert_frame_equal(before, after, check_row_order=False)
    assert_frame_equal(
        pr.evaluate(run.frame(), measures(k, ties), ties=ties),
        pr.evaluate(run.with_rows(rows).frame(), measures(k, ties), ties=ties),
    )
    assert_frame_equal(pr.pr_curve(run.frame(), ties=ties), pr.pr_curve(run.with_rows(rows).frame(), ties=ties))


@given(runs(), cutoffs(), st.sampled_from(TIE_RULES), st.data())
def test_chunks_and_slices_change_nothing(run, k, ties, data):
    frame = run.frame()
    cut = data.draw(st.integers(0, frame.height))
    chunks = pl.concat([frame[:cut], frame[cut:]], rechunk=False)
    padded = pl.concat([frame[:1], frame, frame[-1:]])[1:-1]
    expected = pr.per_query(frame, measures(k, ties), ties=ties)
    assert_frame_equal(pr.per_query(chunks, measures(k, ties), ties=ties), expected)
    assert_frame_equal(pr.per_query(padded, measures(k, ties), ties=ties), expected)


@given(runs(), cutoffs(), st.sampled_from(TIE_RULES), st.data())
def test_queries_are_independent(run, k, ties, data):
    queries = list(dict.fromkeys(row.query for row in run.rows))
    assume(len(queries) > 1)
    some = data.draw(st.sets(st.sampled_from(queries), min_size=1, max_size=len(queries) - 1))
    halves = [
        run.with_rows([row for row in run.rows if (row.query in some) is chosen]).frame() for chosen in (True, False)
    ]
    asked = [build(*variant) for variant in variants(k, ties) if variant[0] != "err" or "max_grade" in variant[1]]
    whole = pr.per_query(run.frame(), asked, ties=ties)
    parts = [pr.per_query(half, asked, ties=ties) for half in halves]
    assert_frame_equal(pl.concat(parts), whole, check_row_order=False)
    # The mean of the whole is that of the halves, by how many queries each has.
    means = pr.evaluate(run.frame(), asked, ties=ties).row(0)
    weighted = [
        [value * part.height / whole.height for value in pr.evaluate(half, asked, ties=ties).row(0)]
        for half, part in zip(halves, parts, strict=True)
    ]
    assert means == pytest.approx([sum(pair) for pair in zip(*weighted, strict=True)], **CLOSE)


@given(
    runs(score_types=(pl.Float64, pl.Float32), scores=FINITE_SCORES),
    cutoffs(),
    st.sampled_from(TIE_RULES),
    st.sampled_from([-8.0, -0.5, 0.25, 100.0]),
    st.sampled_from([0.125, 1.0, 4.0]),
)
def test_shift_and_scale_of_scores_change_nothing(run, k, ties, constant, factor):
    moved = run.frame().with_columns(pl.col("score") * factor + constant)
    expected = pr.per_query(run.frame(), measures(k, ties), ties=ties)
    assert_frame_equal(pr.per_query(moved, measures(k, ties), ties=ties), expected)


@settings(max_examples=15)
@given(runs(), cutoffs(), options())
def test_asking_for_one_or_for_many_changes_nothing(run, k, options):
    together = pr.per_query(run.frame(), measures(k, options["ties"]), **options)
    for measure in measures(k, options["ties"]):
        alone = pr.per_query(run.frame(), str(measure), **options)
        assert_frame_equal(alone, together.select("query_id", str(measure)))


@given(runs(), cutoffs(), st.sampled_from(TIE_RULES), min_relevances())
def test_queries_as_groups(run, k, ties, min_relevance):
    """Grouping by the query itself and evaluating gives the values by query."""
    options = {"ties": ties, "min_relevance": min_relevance}
    asked = [build(*variant) for variant in variants(k, ties) if variant[0] != "err" or "max_grade" in variant[1]]
    frame = run.frame().with_columns(group=pl.col("query_id"))
    by_group = pr.evaluate(frame, asked, by="group", **options).rename({"group": "query_id"})
    assert_frame_equal(by_group, pr.per_query(run.frame(), asked, **options), check_row_order=False)


@given(runs(null_queries=False), cutoffs(), options())
def test_run_and_judgments_apart_or_joined(run, k, options):
    frame = run.frame()
    retrieved = frame.filter(pl.col("score").is_not_null()).drop("relevance")
    qrels = frame.filter(pl.col("relevance").is_not_null()).drop("score")
    apart = pr.per_query(retrieved, measures(k, options["ties"]), qrels=qrels, **options)
    joined = pr.per_query(pr.judge(retrieved, qrels), measures(k, options["ties"]), **options)
    assert_frame_equal(apart, joined, check_row_order=False)


# --- surfaces -------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(
    runs(null_queries=False),
    cutoffs(),
    st.sampled_from(TIE_RULES),
    st.sampled_from(["in-memory", "streaming"]),
)
def test_a_lazy_frame_gives_the_same(run, k, ties, engine):
    eager, lazy = run.frame(), run.frame().lazy()
    for ask in (
        lambda frame: pr.per_query(frame, measures(k, ties), ties=ties),
        lambda frame: pr.evaluate(frame, measures(k, ties), ties=ties),
        lambda frame: frame.retrieval.per_query(measures(k, ties), ties=ties),
        lambda frame: frame.retrieval.evaluate(measures(k, ties), ties=ties),
        lambda frame: pr.pr_curve(frame, max_k=k, ties=ties),
        lambda frame: frame.retrieval.pr_curve(ties=ties),
    ):
        result = ask(lazy)
        assert isinstance(result, pl.LazyFrame)
        assert result.collect_schema() == ask(eager).schema
        assert_frame_equal(result.collect(engine=engine), ask(eager))


def expression(name, parameters, ties, min_relevance):
    document = {"doc": "doc_id"} if ties == "doc_id" else {}
    method = getattr(pl.col("relevance").retrieval, name)
    value = method("score", ties=ties, min_relevance=min_relevance, **document, **parameters)
    return value.alias(str(build(name, parameters)))


@settings(max_examples=15)
@given(runs(), cutoffs(), st.sampled_from(TIE_RULES), min_relevances())
def test_an_expression_gives_the_same(run, k, ties, min_relevance):
    asked = [variant for variant in variants(k, ties) if hasattr(pl.col("relevance").retrieval, variant[0])]
    asked = [variant for variant in asked if variant[0] != "err" or "max_grade" in variant[1]]
    expressions = [expression(*variant, ties, min_relevance) for variant in asked]
    frame = run.frame()
    expected = pr.per_query(frame, [build(*variant) for variant in asked], ties=ties, min_relevance=min_relevance)
    grouped = frame.group_by("query_id", maintain_order=True).agg(expressions)
    assert_frame_equal(grouped, expected)
    over = frame.select("query_id", *[value.over("query_id") for value in expressions])
    assert_frame_equal(over.unique("query_id", keep="first", maintain_order=True), expected)
    lazy = frame.lazy().group_by("query_id", maintain_order=True).agg(expressions)
    assert_frame_equal(lazy.collect(engine="streaming"), expected)


# --- values ---------------------------------------------------------------------------------------


@given(runs(), cutoffs(), st.sampled_from(TIE_RULES), min_relevances())
def test_values_lie_within_bounds(run, k, ties, min_relevance):
    values = pr.per_query(run.frame(), measures(k, ties), ties=ties, min_relevance=min_relevance)
    for name, parameters in variants(k, ties):
        column = values[str(build(name, parameters))]
        assert column.dtype == pl.Float64
        assert column.is_finite().all()
        assert column.is_between(REGISTERED[name]["lower"], REGISTERED[name]["upper"] + 1e-12).all()


@given(runs(), cutoffs(), min_relevances())
def test_pessimistic_and_optimistic_bracket_the_rest(run, k, min_relevance):
    values = {
        ties: pr.per_query(run.frame(), measures(k), ties=ties, min_relevance=min_relevance) for ties in TIE_RULES
    }
    for name, parameters in variants(k):
        if not has_direction(name, parameters):
            continue
        column = str(build(name, parameters))
        low, high = ("optimistic", "pessimistic") if lower_is_better(name) else ("pessimistic", "optimistic")
        for ties in TIE_RULES:
            assert (values[low][column] <= values[ties][column] + 1e-9).all(), (column, ties)
            assert (values[ties][column] <= values[high][column] + 1e-9).all(), (column, ties)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=10), st.integers(1, 12), st.data())
def test_moving_a_relevant_document_up_is_never_worse(grades, k, data):
    better = list(grades)
    moves = [place for place in range(1, len(grades)) if grades[place] > grades[place - 1] == 0]
    assume(moves)
    place = data.draw(st.sampled_from(moves))
    better[place - 1], better[place] = grades[place], grades[place - 1]
    before, after = (
        pr.evaluate(
            Run([Row(0, str(rank), -float(rank), grade) for rank, grade in enumerate(order)]).frame(),
            measures(k),
        )
        for order in (grades, better)
    )
    for name, parameters in variants(k):
        if not has_direction(name, parameters):
            continue
        column = str(build(name, parameters))
        worse, best = (after, before) if lower_is_better(name) else (before, after)
        assert worse[column].item() <= best[column].item() + 1e-12, column


@given(runs(score_types=(pl.Float64,)), cutoffs(), st.sampled_from(TIE_RULES))
def test_without_ties_all_rules_agree(run, k, ties):
    untied = run.frame().with_columns(score=pl.col("score").rank("ordinal"))
    expected = pr.per_query(untied, measures(k, ties))
    assert_frame_equal(pr.per_query(untied, measures(k, ties), ties=ties), expected)


@given(runs(), options(), st.booleans(), st.sampled_from(["mean", "median", "min", "max"]))
def test_the_curve_at_k_is_the_measure_at_k(run, options, adaptive_k, aggregation):
    ks = range(1, MOST_DOCUMENTS + 2)
    options = {**options, "aggregation": aggregation}
    curve = pr.pr_curve(run.frame(), max_k=max(ks), adaptive_k=adaptive_k, **options)
    precisions = [pr.precision(k=k, adaptive_k=adaptive_k) for k in ks]
    recalls = [pr.recall @ k for k in ks]
    assert curve["k"].to_list() == list(ks)
    assert_close(curve["precision"].to_list(), pr.evaluate(run.frame(), precisions, **options).row(0))
    assert_close(curve["recall"].to_list(), pr.evaluate(run.frame(), recalls, **options).row(0))


@given(runs(), st.sampled_from(TIE_RULES), st.sampled_from(["mean", "median", "min", "max"]))
def test_recall_never_falls(run, ties, aggregation):
    recall = pr.pr_curve(run.frame(), ties=ties, aggregation=aggregation)["recall"].to_list()
    assert all(above <= below + 1e-12 for above, below in pairwise(recall))


@given(runs(), st.sampled_from(TIE_RULES), min_relevances())
def test_the_whole_list_finds_every_document_that_was_retrieved(run, ties, min_relevance):
    frame = run.frame().with_columns(pl.col("score").fill_null(1))
    options = {"ties": ties, "min_relevance": min_relevance, "empty_target_action": "skip"}
    assert (pr.per_query(frame, "recall", **options)["recall"].drop_nulls() == 1).all()
    curve = pr.pr_curve(frame, **options)
    if not frame.is_empty() and curve["recall"].null_count() == 0:
        assert curve["recall"][-1] == pytest.approx(1, **CLOSE)
