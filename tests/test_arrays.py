"""Formulas on arrays give what they give in frames, for all measures."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from reference import TIE_RULES
from strategies import cutoffs, min_relevances, runs
from test_laws import VARIANTS, assert_close, build, variants

import polars_retrieval as pr
from polars_retrieval.arrays import Lists
from polars_retrieval.columns import Columns
from polars_retrieval.measures import all_reads
from polars_retrieval.options import Options
from polars_retrieval.ranked_frame import COUNTS, rank_frame

COLUMNS = Columns.of(query="query_id", score="score", relevance="relevance", doc="doc_id", by=None)


def arrays(columns):
    return {column.name: column.to_numpy().astype("int64") for column in columns}


def as_lists(ranking):
    levels = {column.name: column.to_numpy() for column in ranking.levels.get_columns()}
    best = pl.DataFrame(schema=["query", "level", "above", "tied"]) if ranking.ideal is None else ranking.ideal
    return Lists(
        hits=arrays(ranking.hits.collect().get_columns()),
        counts=arrays(ranking.queries.select(COUNTS).get_columns()),
        levels=levels,
        has_ties=ranking.has_ties,
        ideal=lambda: arrays(best.get_columns()),
    )


@given(
    runs(),
    cutoffs(),
    st.sampled_from(TIE_RULES),
    min_relevances(),
    st.sampled_from([("neg", 0.0), ("pos", 1.0), ("skip", None)]),
)
def test_values_are_those_of_frames(run, k, ties, min_relevance, empty):
    action, undefined = empty
    measures = [build(*variant) for variant in variants(k, ties)]
    options = Options(ties=ties, min_relevance=min_relevance, empty_target_action=action)
    ranking = rank_frame(run.frame(), COLUMNS, options, all_reads(measures))
    lists, order = as_lists(ranking), ranking.grouping.numbers_in_order()
    expected = pr.per_query(run.frame(), measures, ties=ties, min_relevance=min_relevance, empty_target_action=action)
    for measure in measures:
        counted = lists.counted(measure, undefined)
        values = pl.Series([None] * lists.n, dtype=pl.Float64).scatter(
            counted.nonzero()[0], lists.values(measure, undefined)
        )
        assert_close(values[order].to_list(), expected[str(measure)].to_list(), str(measure))


def test_every_measure_is_tried():
    tried = {measure.declaration.name for k in (1, 3) for measure in (build(*v) for v in variants(k, "stable"))}
    assert tried == set(VARIANTS)
