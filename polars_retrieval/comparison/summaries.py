"""`summarize`: how sure one can be of a mean over queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, overload

import polars as pl

from polars_retrieval.columns import check_free, check_no_nulls, describe, names, read_frame
from polars_retrieval.errors import ColumnError, DataError
from polars_retrieval.intervals import N_RESAMPLES, Method, Resampling, summaries
from polars_retrieval.names import hint, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from typing_extensions import Unpack

    from polars_retrieval.frames import Names

    class SummarizeOptions(TypedDict, total=False):
        """Options of `summarize`."""

        by: Names | None
        query: Names
        level: float
        method: Method
        n_resamples: int
        seed: int


_STATISTICS = {
    "measure": pl.String,
    "mean": pl.Float64,
    "std": pl.Float64,
    "n_queries": pl.Int64,
    "low": pl.Float64,
    "high": pl.Float64,
}


@overload
def summarize(per_query: pl.LazyFrame, **options: Unpack[SummarizeOptions]) -> pl.LazyFrame: ...
@overload
def summarize(per_query: Any, **options: Unpack[SummarizeOptions]) -> pl.DataFrame: ...
def summarize(
    per_query: Any,
    *,
    by: Names | None = None,
    query: Names = "query_id",
    level: float = 0.95,
    method: Method = "bootstrap",
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
) -> pl.DataFrame | pl.LazyFrame:
    """Say how sure one can be of each measure's mean: with an interval, had other queries been asked.

    Parameters
    ----------
    per_query
        What `polars_retrieval.per_query` gives: the columns of `query` and `by`, and a Float column for each measure.
        Every Float column that is neither is taken for a measure. A null is left out.
    by
        Columns that tell groups apart, such as system or segment: each is summarised on its own.
    query
        The column, or columns, that tell queries apart. A query may come once in a group.
    level
        How often the interval is to hold the mean that more and more such queries would have.
    method
        ``"bootstrap"``: queries are drawn again, with replacement, `n_resamples` times; the interval reaches between
        two percentiles of the drawn means. It never leaves the range of the values. ``"t"``: mean plus and minus
        Student's t times ``std / sqrt(n_queries)``.
    n_resamples, seed
        How often queries are drawn, and the seed of that: the same seed gives the same interval.

    Returns
    -------
    DataFrame or LazyFrame
        One row for each group and measure: the columns of `by`, `measure`, `mean`, `std` (the standard deviation over
        queries, with n - 1), `n_queries` (those that are not null), `low` and `high`. With one query, `std` and the
        interval are null; with none, the mean is too. Lazy if the frame is.

    Raises
    ------
    ColumnError
        If a column is missing, or no column holds a measure.
    DataError
        If a value is NaN or infinite, a query id null, or a query comes twice in a group.
    ParameterError
        If an option has a value that is not allowed.

    Notes
    -----
    The percentiles are not 2.5 and 97.5 but a little further out, the more so the fewer queries there are, as with
    those the interval is too short: of 2,000 samples of 30 normal values it then held the mean in 93.8 % instead of
    95 %, and with the wider ones in 95.2 %. From 20 queries on, it held that of normal, uniform, U-shaped and mildly
    skewed values in 94 to 96 %, and that of exponential ones in 93 to 94 % up to 100 queries. No method can do that for
    values that hardly vary: if 95 % of all queries are hits, a fifth of all samples of 30 hold no other, and an
    interval without width.

    The bootstrap costs `n_resamples` times the number of queries: some seconds for 50,000. With that many the two
    methods agree in the third digit, so choose ``"t"``.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_retrieval as pr
    >>> per_query = pl.DataFrame({"query_id": ["q1", "q2", "q3", "q4"], "recall@10": [0.2, 0.4, 0.6, 0.8]})
    >>> pr.summarize(per_query, method="t").select("measure", "mean", "n_queries", pl.col("low", "high").round(3))
    shape: (1, 5)
    ┌───────────┬──────┬───────────┬───────┬───────┐
    │ measure   ┆ mean ┆ n_queries ┆ low   ┆ high  │
    │ ---       ┆ ---  ┆ ---       ┆ ---   ┆ ---   │
    │ str       ┆ f64  ┆ i64       ┆ f64   ┆ f64   │
    ╞═══════════╪══════╪═══════════╪═══════╪═══════╡
    │ recall@10 ┆ 0.5  ┆ 4         ┆ 0.089 ┆ 0.911 │
    └───────────┴──────┴───────────┴───────┴───────┘
    """
    resampling = Resampling(level=level, method=method, n_resamples=n_resamples, seed=seed)
    groups, queries = names("by", by), names("query", query)
    frame = read_frame(per_query, "per_query")
    schema = frame.collect_schema()
    check_present({"by": groups, "query": queries}, schema, "per_query")
    measures = measure_columns(schema, (*groups, *queries), "per_query")
    check_free(_STATISTICS, groups)

    def compute() -> pl.DataFrame:
        collected = frame.lazy().select(*dict.fromkeys([*groups, *queries, *measures])).collect()
        check_values_of_queries(collected, groups, queries, measures)
        values = collected.select(*groups, pl.col(measures).cast(pl.Float64))
        return summaries(values, groups, resampling)

    if isinstance(frame, pl.LazyFrame):
        return pl.defer(compute, schema={**{name: schema[name] for name in groups}, **_STATISTICS})
    return compute()


def check_present(parts: dict[str, tuple[str, ...]], schema: pl.Schema, frame: str) -> None:
    """Raise if a frame lacks a column."""
    for part, several in parts.items():
        for name in several:
            if name not in schema:
                near = hint(name, schema)
                msg = f"`{frame}` has no column `{name}` for `{part}`; its columns are {quoted(schema)}.{near}"
                raise ColumnError(msg)


def measure_columns(schema: pl.Schema, others: Iterable[str], frame: str) -> list[str]:
    """Return the columns of measures: those of floats, less some."""
    measures = [name for name, dtype in schema.items() if dtype.is_float() and name not in {*others}]
    if not measures:
        held = quoted(f"{name}: {dtype}" for name, dtype in schema.items())
        msg = f"`{frame}` has no Float column that would be a measure; its columns are {held}"
        raise ColumnError(msg)
    return measures


def check_values_of_queries(
    frame: pl.DataFrame, groups: Sequence[str], queries: Sequence[str], measures: Sequence[str]
) -> None:
    """Raise if a value is NaN or infinite, an id is null, or a query comes twice in a group."""
    check_no_nulls(frame, queries, "every row has to belong to a query")
    key = [*dict.fromkeys([*groups, *queries])]
    for name in measures:
        wrong = frame.filter(~pl.col(name).is_finite())
        if wrong.height:
            first = describe(wrong.row(0, named=True), [*key, name])
            msg = f"column `{name}` has {wrong.height} values that are NaN or infinite, the first in {first}"
            raise DataError(msg)
    twice = frame.filter(pl.struct(key).is_duplicated())
    if twice.height:
        msg = (
            f"a query can come once in a group, but {twice.height} rows share theirs; the first is "
            f"{describe(twice.row(0, named=True), key)}\n\nHint: name the columns that tell systems apart in `by`."
        )
        raise DataError(msg)
