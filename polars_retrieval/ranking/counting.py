"""Hits by counting: with few relevant documents, count the scores above and equal to each of theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval.grouping import places_in_runs, run_starts

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from polars_retrieval.ranking.rows import Rows

_SHORT = 50  # documents a query, on average, up to which sorting is as cheap
_MOST_WORK = 2.5  # comparisons a row, on average, from which sorting is cheaper
_MOST_HITS = 16  # hits of one query: each is another look at that query's rows


def worth_counting(rows: Rows) -> bool:
    """Tell whether comparing each hit with all rows of its query is less work than sorting."""
    n_rows, n_queries = len(rows.score), max(1, rows.grouping.n_numbers)
    if n_rows < _SHORT * n_queries:
        return False
    n_hits = rows.is_hit.sum()
    if not 0 < n_hits <= _MOST_WORK * n_queries:
        return False
    return _most_frequent(_hit_rows(rows)["query"]) <= _MOST_HITS


def count_hits(rows: Rows) -> tuple[pl.DataFrame, pl.Series]:
    """Return the hits with their tie groups, and how many documents each query retrieved."""
    hits = _hit_rows(rows).sort("query", "score", "level", descending=[False, True, True])
    number, _ = places_in_runs(run_starts([hits["query"]]), hits.height)
    hits = hits.with_columns(number.alias("number"))
    passes = hits.partition_by("number", maintain_order=True)  # the first hit of each query, the second, …
    compare = _compare_matrix if rows.grouping.equal_length else _compare_rows
    counted = pl.concat(compare(rows, passes)).sort("query", "number")
    return _with_tie_groups(counted, rows.max_level), rows.grouping.count_rows()


def _hit_rows(rows: Rows) -> pl.DataFrame:
    at = rows.is_hit.arg_true()
    return pl.DataFrame(
        {"query": rows.grouping.of(at), "score": rows.score.gather(at), "level": rows.level.gather(at)},
        schema_overrides={"level": pl.UInt32},
    )


def _most_frequent(queries: pl.Series) -> int:
    most = queries.value_counts(name="n")["n"].max()
    return most if isinstance(most, int) else 0


def _compare_matrix(rows: Rows, passes: list[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Count in a matrix of queries x documents, where the lists are equally long."""
    matrix = rows.score.to_numpy().reshape(rows.grouping.n_numbers, -1)
    for hits in passes:
        part = matrix if hits.height == len(matrix) else matrix[hits["query"].to_numpy()]
        score = hits["score"].to_numpy()[:, None]
        yield hits.with_columns(greater=_count_true(part > score), equal=_count_true(part == score))


def _count_true(mask: NDArray[np.bool_]) -> pl.Series:
    import numpy as np

    return pl.Series(mask.view(np.uint8).sum(axis=1, dtype=np.uint32))


def _compare_rows(rows: Rows, passes: list[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Count row by row against a threshold looked up by query."""
    scored = pl.LazyFrame([rows.grouping.of_rows.alias("query"), rows.score.alias("score")])
    score, threshold = pl.col("score"), pl.col("threshold")
    for number, hits in enumerate(passes):
        thresholds = pl.repeat(None, rows.grouping.n_numbers, dtype=rows.score.dtype, eager=True)
        thresholds = thresholds.scatter(hits["query"], hits["score"])
        compared = scored.with_columns(threshold=pl.lit(thresholds).gather(pl.col("query")))
        if number == 1:  # few queries have a second hit: from here on, look at their rows only
            scored = compared.drop_nulls("threshold").select("query", "score").collect(engine="streaming").lazy()
            compared = scored.with_columns(threshold=pl.lit(thresholds).gather(pl.col("query")))
        counts = (
            compared.filter(score >= threshold)
            .group_by("query")
            .agg(greater=(score > threshold).sum(), equal=(score == threshold).sum())
            .collect(engine="streaming")
        )
        yield hits.join(counts, on="query", how="left", maintain_order="left")


def _with_tie_groups(hits: pl.DataFrame, max_level: int) -> pl.DataFrame:
    """Add `place`, `above` and `tied`: the whole tie group where it holds more than hits of one level."""
    place_in_group, hits_in_group = places_in_runs(run_starts([hits["query"], hits["greater"]]), hits.height)
    uneven = pl.col("equal") > hits_in_group
    if max_level > 1:
        uneven = uneven | (pl.n_unique("level").over("query", "greater") > 1)
    place = (pl.col("greater") + place_in_group).cast(pl.UInt32)
    return hits.select(
        "query",
        "level",
        place=place,
        above=pl.when(uneven).then("greater").otherwise(place).cast(pl.UInt32),
        tied=pl.when(uneven).then("equal").otherwise(1).cast(pl.UInt32),
    )
