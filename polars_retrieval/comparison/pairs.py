"""`compare`: which system is better, and whether the difference is more than the choice of queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, overload

import polars as pl

from polars_retrieval.columns import Columns, check_free, names
from polars_retrieval.comparison.significance import ROUNDING, Correction, Test, adjusted, p_values
from polars_retrieval.comparison.values import (
    Queries,
    SystemValues,
    align,
    segment_frames,
    segments_of,
    values_per_query,
)
from polars_retrieval.errors import ColumnError, ParameterError
from polars_retrieval.intervals import N_RESAMPLES, Resampling, Samples, intervals
from polars_retrieval.names import hint, quoted
from polars_retrieval.options import Options, check_choice

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from polars_retrieval.frames import Metrics, Names
    from polars_retrieval.intervals import Floats
    from polars_retrieval.names import EmptyTargetAction, MissingQueries, Ties, Unjudged

    class CompareOptions(TypedDict, total=False):
        """Options of `compare`."""

        by: str
        baseline: object
        test: Test
        correction: Correction
        level: float
        queries: Queries
        segment: Names | None
        n_resamples: int
        seed: int
        qrels: Any
        query: Names
        doc: str
        score: str
        relevance: str
        ties: Ties
        unjudged: Unjudged
        missing_queries: MissingQueries
        empty_target_action: EmptyTargetAction
        ignore_index: int | None
        min_relevance: float


_NUMBERS = {
    "mean_baseline": pl.Float64,
    "mean_system": pl.Float64,
    "difference": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p_value": pl.Float64,
    "p_adjusted": pl.Float64,
    "effect_size": pl.Float64,
    "wins": pl.Int64,
    "ties": pl.Int64,
    "losses": pl.Int64,
    "n_queries": pl.Int64,
}


@overload
def compare(runs: pl.LazyFrame, metrics: Metrics | None = None, **options: Unpack[CompareOptions]) -> pl.LazyFrame: ...
@overload
def compare(runs: Any, metrics: Metrics | None = None, **options: Unpack[CompareOptions]) -> pl.DataFrame: ...
def compare(
    runs: Any,
    metrics: Metrics | None = None,
    *,
    by: str = "run_id",
    baseline: object = None,
    test: Test = "randomization",
    correction: Correction = "holm",
    level: float = 0.95,
    queries: Queries = "error",
    segment: Names | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = 0,
    qrels: Any = None,
    query: Names = "query_id",
    doc: str = "doc_id",
    score: str = "score",
    relevance: str = "relevance",
    ties: Ties = "expected",
    unjudged: Unjudged = "nonrelevant",
    missing_queries: MissingQueries = "zero",
    empty_target_action: EmptyTargetAction = "neg",
    ignore_index: int | None = None,
    min_relevance: float = 1,
) -> pl.DataFrame | pl.LazyFrame:
    """Say which system is better, by how much, and how easily chance would make such a difference.

    Systems are compared query by query: on the same queries, by the difference in each.

    Parameters
    ----------
    runs
        The runs of several systems: one frame in which `by` tells them apart, or a dictionary from names to runs. Or
        what `polars_retrieval.per_query` gives for them, in the same forms: frames without a column `score`.
    metrics
        The measures, as for `polars_retrieval.evaluate`. Of per-query values, those to compare by: all Float columns
        if None.
    by
        The column that tells systems apart.
    baseline
        The system to compare each other with. If None, each system is compared with all that appear after it.
    test
        Whether the mean difference would be as large, to either side, if the two systems were alike.
        ``"randomization"``: if in any query the two could be swapped; goes through all swaps if these are at most
        `n_resamples`, as for up to 13 queries, else draws so many. ``"t"``: paired t-test. ``"wilcoxon"``: signed
        ranks; exact up to 20 queries without equal differences, else by normal approximation. ``"bootstrap"``: if
        queries were drawn again, by the t statistic.
    correction
        What makes up for that many comparisons find something by chance: ``"holm"`` and ``"bonferroni"`` bound the
        probability of any such find, ``"bh"`` (Benjamini and Hochberg) their share of all finds. ``"none"``: nothing.
        All rows of the result are corrected for, over measures, pairs and segments. To correct for each measure
        alone, compare by one at a time.
    level
        How often the interval is to hold the true mean difference.
    queries
        If systems have different queries: raise (``"error"``), or compare all on those that all have (``"common"``),
        which warns how many it leaves out.
    segment
        Columns that part the queries, as by language or kind: systems are compared within each part. They may stand in
        `runs` or in `qrels`; a query is of one segment. Queries that no frame tells the segment of have null.
    n_resamples, seed
        How often the test and the interval draw, and the seed of that: the same seed gives the same numbers.
    qrels, query, doc, score, relevance
        As for `polars_retrieval.evaluate`.
    ties, unjudged, missing_queries, empty_target_action, ignore_index, min_relevance
        As for `polars_retrieval.evaluate`.

    Returns
    -------
    DataFrame or LazyFrame
        One row for each segment, measure and pair, in order of first appearance: the columns of `segment`; `measure`;
        `baseline` and `system`; their means `mean_baseline` and `mean_system`; `difference`, that of the system less
        that of the baseline; `low` and `high`, its interval (Student's for ``test="t"``, else of the bootstrap, as in
        `polars_retrieval.summarize`); `p_value` and `p_adjusted`; `effect_size`, Cohen's d of paired differences: their
        mean over their standard deviation; `wins`, `ties` and `losses`, in how many queries the system is better, equal
        or worse; and `n_queries`, where both have a value, over which all of the row is. Null where there is no such
        number, as the t-test and Wilcoxon's have none for two systems that are equal in every query. Lazy if `runs` is.

    Raises
    ------
    DataError
        If the systems have different queries, there are fewer than two systems, or as for
        `polars_retrieval.evaluate`.
    ColumnError, MetricError, ParameterError
        If a column, a measure, or the value of an option is missing or not allowed.

    Notes
    -----
    A measure for which lower is better, such as fall-out, has wins where the system's value is higher, too.

    The p-values are those of scipy's ``ttest_rel``, ``wilcoxon`` and ``permutation_test(permutation_type="samples")``
    (of the latter up to what is drawn). As in scipy, ``"wilcoxon"`` takes differences for different that only rounding
    makes so: 0.5 - 0.4 and 0.3 - 0.2. Prefer another test for measures of few values, such as precision.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_retrieval as pr
    >>> old = pl.DataFrame({"query_id": [1, 2, 3, 4, 5], "ndcg@10": [0.2, 0.5, 0.4, 0.3, 0.6]})
    >>> new = pl.DataFrame({"query_id": [1, 2, 3, 4, 5], "ndcg@10": [0.3, 0.7, 0.5, 0.6, 0.7]})
    >>> pr.compare({"old": old, "new": new}).select("measure", "difference", "p_value", "wins", "losses")
    shape: (1, 5)
    ┌─────────┬────────────┬─────────┬──────┬────────┐
    │ measure ┆ difference ┆ p_value ┆ wins ┆ losses │
    │ ---     ┆ ---        ┆ ---     ┆ ---  ┆ ---    │
    │ str     ┆ f64        ┆ f64     ┆ i64  ┆ i64    │
    ╞═════════╪════════════╪═════════╪══════╪════════╡
    │ ndcg@10 ┆ 0.16       ┆ 0.0625  ┆ 5    ┆ 0      │
    └─────────┴────────────┴─────────┴──────┴────────┘
    """
    columns = Columns.of(query, doc, score, relevance, [_check_by(by)])
    options = Options(
        ties=ties,
        unjudged=unjudged,
        missing_queries=missing_queries,
        empty_target_action=empty_target_action,
        ignore_index=ignore_index,
        min_relevance=min_relevance,
    )
    check_choice("test", test, Test)
    check_choice("correction", correction, Correction)
    check_choice("queries", queries, Queries)
    method = "t" if test == "t" else "bootstrap"
    resampling = Resampling(level=level, method=method, n_resamples=n_resamples, seed=seed)  # type: ignore[arg-type]
    segments = names("segment", segment)
    check_free(["measure", "baseline", "system", *_NUMBERS], segments)
    telling = segment_frames(runs, qrels, segments, columns) if segments else []

    def compute() -> pl.DataFrame:
        frame, measures = values_per_query(runs, metrics, qrels, columns, options)
        values = align(frame, measures, columns, queries)
        pairs = Pairs.of(values, baseline)
        if segments:
            parts = _parts(values, segments_of(values.queries, telling, segments))
            table = pl.concat([of.join(_compare(part, pairs, test, resampling), how="cross") for of, part in parts])
        else:
            table = _compare(values, pairs, test, resampling)
        p = adjusted(table["p_value"].to_numpy(), correction)
        return table.with_columns(p_adjusted=pl.Series(p).fill_nan(None))

    if isinstance(runs, pl.LazyFrame):
        return pl.defer(compute, schema=_schema(runs.collect_schema(), telling, segments, by))
    return compute()


def _check_by(by: object) -> str:
    if isinstance(by, str):
        return by
    msg = f"`by` has to be the name of the column that tells systems apart, got {by!r}"
    raise ColumnError(msg)


def _schema(runs: pl.Schema, telling: list[Any], segments: tuple[str, ...], by: str) -> dict[str, Any]:
    told = telling[0].collect_schema() if telling else {}
    systems = runs.get(by, pl.String())  # where there is none, collecting it says so
    return {
        **{name: told[name] for name in segments},
        "measure": pl.String,
        "baseline": systems,
        "system": systems,
        **_NUMBERS,
    }


@dataclass(frozen=True)
class Pairs:
    """The systems to compare, by their place: each of `system` with the one of `baseline` beside it."""

    baseline: NDArray[np.intp]
    system: NDArray[np.intp]

    @classmethod
    def of(cls, values: SystemValues, baseline: object) -> Pairs:
        """Pair the baseline with each other system; without one, each system with all after it."""
        import numpy as np

        n_systems = len(values.systems)
        if n_systems < 2:  # noqa: PLR2004 (two are compared)
            msg = f"at least two systems are needed to compare, but `runs` holds {quoted(values.systems) or 'none'}"
            raise ParameterError(msg)
        if baseline is None:
            return cls(*np.triu_indices(n_systems, 1))
        known = values.systems.to_list()
        if baseline not in known:
            near = hint(str(baseline), map(str, known))
            msg = f"`baseline` has to be one of the systems, {quoted(known)}, got {baseline!r}.{near}"
            raise ParameterError(msg)
        others = np.delete(np.arange(n_systems), known.index(baseline))
        return cls(np.full_like(others, known.index(baseline)), others)


def _parts(values: SystemValues, segments: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, SystemValues]]:
    """Part the queries by segment, in order of first appearance; the frame holds the segment in its one row."""
    import numpy as np

    for numbered in segments.with_row_index(_ROW).partition_by(segments.columns, maintain_order=True):
        rows = np.zeros(segments.height, dtype=bool)
        rows[numbered[_ROW].to_numpy()] = True
        yield numbered.head(1).drop(_ROW), values.keep(rows)


_ROW = "number of the row"  # a column beside the caller's own


def _compare(values: SystemValues, pairs: Pairs, test: Test, resampling: Resampling) -> pl.DataFrame:
    """Return one row for each measure and pair."""
    import numpy as np

    n_measures, n_pairs = len(values.measures), len(pairs.system)
    nothing = {name: np.nan if dtype == pl.Float64 else 0 for name, dtype in _NUMBERS.items()}
    statistics = {name: np.full(n_measures * n_pairs, number) for name, number in nothing.items()}
    for places, samples in _samples(values, pairs):
        for part, block in samples.blocks(resampling.n_resamples):
            for name, found in _statistics(block, test, resampling).items():
                statistics[name][places[part]] = found
    return pl.DataFrame(
        {
            "measure": pl.Series(values.measures).gather(np.repeat(np.arange(n_measures), n_pairs)),
            "baseline": values.systems.gather(np.tile(pairs.baseline, n_measures)),
            "system": values.systems.gather(np.tile(pairs.system, n_measures)),
            **statistics,
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None))


def _samples(values: SystemValues, pairs: Pairs) -> Iterator[tuple[NDArray[np.intp], Samples]]:
    """Give the differences of the pairs that have values in the same queries, and the rows of these pairs.

    Nearly always these are all. A pair for which no query has two values is in none.
    """
    import numpy as np

    n_queries, n_measures, n_systems = values.values.shape
    columns = values.values.reshape(n_queries, n_measures * n_systems)
    first = n_systems * np.arange(n_measures)[:, None]
    plus, minus = (first + pairs.system).ravel(), (first + pairs.baseline).ravel()
    defined = ~np.isnan(columns)
    _, pattern = np.unique(np.packbits(defined, axis=0), axis=1, return_inverse=True)
    patterns, of_pair = np.unique(np.stack([pattern[plus], pattern[minus]]), axis=1, return_inverse=True)
    for number in range(patterns.shape[1]):
        (places,) = np.nonzero(of_pair == number)
        rows = defined[:, plus[places[0]]] & defined[:, minus[places[0]]]
        if rows.any():
            yield places, Samples(columns[rows], plus[places], minus[places])


def _statistics(samples: Samples, test: Test, resampling: Resampling) -> dict[str, Any]:
    """Return what each column but the first three, and `p_adjusted`, holds for some pairs."""
    means = samples.values.mean(axis=0)
    of_baseline, of_system = means[samples.minus], means[samples.plus]
    low, high = intervals(samples, resampling)
    better = _signs(samples)
    return {
        "mean_baseline": of_baseline,
        "mean_system": of_system,
        "difference": of_system - of_baseline,
        "low": low,
        "high": high,
        "p_value": p_values(samples, test, resampling.n_resamples, resampling.seed),
        "effect_size": _cohens_d(samples),
        "wins": (better > 0).sum(axis=0),
        "ties": (better == 0).sum(axis=0),
        "losses": (better < 0).sum(axis=0),
        "n_queries": samples.n_queries,
    }


def _signs(samples: Samples) -> NDArray[np.int8]:
    """Tell in which queries the system is better (1), worse (-1) or equal (0), as it is if only rounding differs."""
    import numpy as np

    of_system, of_baseline = samples.values[:, samples.plus], samples.values[:, samples.minus]
    difference = of_system - of_baseline
    differs = np.abs(difference) > ROUNDING * np.maximum(np.abs(of_system), np.abs(of_baseline))
    return (np.sign(difference) * differs).astype(np.int8)


def _cohens_d(samples: Samples) -> Floats:
    """Return the mean of the differences over their standard deviation; NaN where they do not vary."""
    import numpy as np

    if samples.n_queries < 2:  # noqa: PLR2004 (one value does not vary)
        return np.full(len(samples.plus), np.nan)
    differences = samples.of(samples.values)
    mean, deviation = differences.mean(axis=0), differences.std(axis=0, ddof=1)
    varies = deviation > ROUNDING * np.abs(mean)
    return np.divide(mean, deviation, out=np.full_like(mean, np.nan), where=varies)
