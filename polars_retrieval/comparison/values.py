"""What several systems reach in the same queries, side by side."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from polars_retrieval import frames
from polars_retrieval.columns import check_no_nulls, describe, read_frame
from polars_retrieval.comparison.summaries import check_present, check_values_of_queries, measure_columns
from polars_retrieval.comparison.systems import stack_runs
from polars_retrieval.errors import ColumnError, DataError, MetricError, ParameterError, RetrievalWarning
from polars_retrieval.grouping import group_rows
from polars_retrieval.measures import Measure, parse, parse_all
from polars_retrieval.names import hint, quoted
from polars_retrieval.options import Options

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from polars_retrieval.columns import Columns
    from polars_retrieval.frames import Metrics
    from polars_retrieval.intervals import Floats

    Frame = pl.DataFrame | pl.LazyFrame

Queries = Literal["error", "common"]

_LISTED = 10  # queries that a message lists


@dataclass(frozen=True)
class SystemValues:
    """The value of each system in each query by each measure (queries x measures x systems; NaN: undefined)."""

    values: Floats
    queries: pl.DataFrame
    measures: list[str]
    systems: pl.Series

    def keep(self, rows: NDArray[np.bool_]) -> SystemValues:
        """Keep some queries."""
        return SystemValues(self.values[rows], self.queries.filter(pl.Series(rows)), self.measures, self.systems)


def values_per_query(
    runs: Any, metrics: Metrics | None, qrels: Any, columns: Columns, options: Options
) -> tuple[pl.DataFrame, list[str]]:
    """Return one row for each system and query, and the names of the measures: of runs, or as they were given."""
    given = _frames(runs)
    if not _are_runs(given, columns):
        if qrels is not None or options != Options():
            what = "`qrels`" if qrels is not None else "options of evaluation"
            msg = (
                f"{what} cannot be given with per-query values, which `runs` holds, as there is no column "
                f"`{columns.score}`: they are evaluated already"
            )
            raise ParameterError(msg)
        return _stack_values(runs, given, metrics, columns)
    if metrics is None:
        msg = "`metrics` has to be given, as `runs` holds scores; it can be left out only for per-query values"
        raise ParameterError(msg)
    measures = parse_all(metrics)
    values = frames.per_query(
        stack_runs(runs, columns),
        measures,
        qrels=qrels,
        by=columns.by,
        query=columns.query,
        doc=columns.doc,
        score=columns.score,
        relevance=columns.relevance,
        ties=options.ties,
        unjudged=options.unjudged,
        missing_queries=options.missing_queries,
        empty_target_action=options.empty_target_action,
        ignore_index=options.ignore_index,
        min_relevance=options.min_relevance,
    )
    return values, [str(measure) for measure in measures]


def _frames(runs: Any) -> dict[str, Frame]:
    """Return the frames that were given, by what they are called in messages."""
    if isinstance(runs, Mapping):
        return {f"runs[{name!r}]": read_frame(run, f"runs[{name!r}]") for name, run in runs.items()}
    return {"runs": read_frame(runs, "runs")}


def _are_runs(given: Mapping[str, Frame], columns: Columns) -> bool:
    """Tell whether the frames hold scores; per-query values have none."""
    with_scores = [columns.score in frame.collect_schema() for frame in given.values()]
    if any(with_scores) and not all(with_scores):
        other = list(given)[with_scores.index(False)]
        msg = f"`{other}` has no column `{columns.score}`, but others in `runs` have one"
        raise ColumnError(msg)
    return all(with_scores) and bool(given)


def _stack_values(
    runs: Any, given: Mapping[str, Frame], metrics: Metrics | None, columns: Columns
) -> tuple[pl.DataFrame, list[str]]:
    """Return the per-query values of all systems as one frame, and the measures that were asked for."""
    if not isinstance(runs, Mapping):
        frame = given["runs"]
        schema = frame.collect_schema()
        check_present({"by": columns.by, "query": columns.query}, schema, "runs")
        measures = _asked(metrics, schema, columns.ids, "runs")
        return _select(frame, columns.ids, measures), measures
    if not runs:
        msg = "`runs` is an empty dictionary; it has to hold what each system reached"
        raise ParameterError(msg)
    if wrong := [name for name in runs if not isinstance(name, str)]:
        msg = f"the keys of `runs` have to be the names of systems, got {wrong[0]!r}"
        raise ParameterError(msg)
    measures = _asked(metrics, next(iter(given.values())).collect_schema(), columns.query, next(iter(given)))
    stacked = []
    for name, (called, frame) in zip(runs, given.items(), strict=True):
        check_present({"query": columns.query, "metrics": tuple(measures)}, frame.collect_schema(), called)
        values = _select(frame, columns.query, measures)
        stacked.append(values.select(pl.lit(name, dtype=pl.String).alias(columns.by[0]), pl.all()))
    for column in columns.query:
        _check_ids([frame.schema[column] for frame in stacked], column)
    return pl.concat(stacked, how="vertical_relaxed"), measures


def _check_ids(dtypes: Sequence[pl.DataType], column: str) -> None:
    """Raise unless ids of all these types can be the same: all integers, or of one type."""
    if len(set(dtypes)) > 1 and not all(dtype.is_integer() for dtype in dtypes):
        several = quoted(dict.fromkeys(dtypes))
        msg = f"column `{column}` is of types {several} in `runs`, so that no id can match\n\nHint: cast some of them."
        raise ColumnError(msg)


def _select(frame: Frame, ids: Iterable[str], measures: Iterable[str]) -> pl.DataFrame:
    return frame.lazy().select(*ids, pl.col(list(measures)).cast(pl.Float64)).collect()


def _asked(metrics: Metrics | None, schema: pl.Schema, ids: Sequence[str], frame: str) -> list[str]:
    """Return the columns of the measures that were asked for, by their column or by any name of the measure."""
    if metrics is None:
        return measure_columns(schema, ids, frame)
    several: list[Any] = [metrics] if isinstance(metrics, (str, Measure)) else list(metrics)
    names = list(dict.fromkeys(_column(metric, schema) for metric in several))
    if not names:
        msg = f"`metrics` is empty; columns of `{frame}` are {quoted(schema)}"
        raise MetricError(msg)
    for name in names:
        if name in ids or not (schema[name].is_numeric() or schema[name] == pl.Boolean):
            msg = f"column `{name}` of `{frame}`, given in `metrics`, holds no values of a measure: {schema[name]}"
            raise ColumnError(msg)
    return names


def _column(metric: str | Measure, schema: pl.Schema) -> str:
    if str(metric) in schema:
        return str(metric)
    try:
        canonical = str(metric if isinstance(metric, Measure) else parse(metric))
    except (MetricError, ParameterError):
        canonical = str(metric)
    if canonical not in schema:
        near = hint(canonical, schema)
        msg = f"`runs` has no column `{canonical}` for `metrics`; its columns are {quoted(schema)}.{near}"
        raise ColumnError(msg)
    return canonical


def align(frame: pl.DataFrame, measures: list[str], columns: Columns, queries: Queries) -> SystemValues:
    """Put the systems' values side by side, query by query; raise, or warn, where not all have a query."""
    import numpy as np

    check_no_nulls(frame, columns.by, "every row has to belong to a system")
    check_values_of_queries(frame, columns.by, columns.query, measures)
    systems, of_system = _numbered(frame.select(columns.by))
    ids, of_query = _numbered(frame.select(columns.query))
    values = np.full((ids.height, len(measures), systems.height), np.nan)
    values[of_query, :, of_system] = frame.select(measures).to_numpy()
    present = np.zeros((ids.height, systems.height), dtype=bool)
    present[of_query, of_system] = True
    side_by_side = SystemValues(values, ids, measures, systems.to_series())
    if present.all():
        return side_by_side
    if queries == "error":
        raise DataError(_which_queries_differ(present, side_by_side))
    return _common(present, side_by_side)


def _numbered(ids: pl.DataFrame) -> tuple[pl.DataFrame, NDArray[np.intp]]:
    """Return the distinct ids in order of first appearance, and the place of each row's id among them."""
    import numpy as np

    grouping = group_rows(ids)
    in_order = grouping.numbers_in_order().to_numpy()
    places = np.zeros(grouping.n_numbers, dtype=np.intp)
    places[in_order] = np.arange(len(in_order))
    return grouping.ids[in_order], places[grouping.of_rows.to_numpy()]


def _which_queries_differ(present: NDArray[np.bool_], values: SystemValues) -> str:
    lacking = [
        f"`{system}` lacks {(~has).sum()} of {len(has)}: {_list(values.queries.filter(pl.Series(~has)))}"
        for system, has in zip(values.systems, present.T, strict=True)
        if not has.all()
    ]
    return (
        f"systems have to be compared on the same queries, but {'; '.join(lacking)}"
        '\n\nHint: `queries="common"` compares them on the queries that all have.'
    )


def _list(queries: pl.DataFrame) -> str:
    several = [describe(row, queries.columns) for row in queries.head(_LISTED).iter_rows(named=True)]
    return "; ".join(several) + ("; …" if queries.height > _LISTED else "")


def _common(present: NDArray[np.bool_], values: SystemValues) -> SystemValues:
    """Keep the queries that all systems have, and say how many these are."""
    import numpy as np

    common = np.all(present, axis=1)
    if not common.any():
        msg = f"none of the {len(common)} queries is one that all systems have: there is nothing to compare"
        raise DataError(msg)
    msg = (
        f'`queries="common"` leaves out {(~common).sum()} of {len(common)} queries, which not all systems have, the '
        f"first {_list(values.queries.filter(pl.Series(~common)).head(1))}"
    )
    warnings.warn(msg, RetrievalWarning, stacklevel=2)
    return values.keep(common)


def segment_frames(runs: Any, qrels: Any, segment: Sequence[str], columns: Columns) -> list[Frame]:
    """Return the frames that tell a query's segment."""
    if taken := [name for name in segment if name in columns.ids]:
        msg = f"`segment` has to name other columns than those of systems and queries, got {quoted(taken)}"
        raise ColumnError(msg)
    given = [*_frames(runs).values(), *([] if qrels is None else [read_frame(qrels, "qrels")])]
    telling = [frame for frame in given if {*segment} <= {*frame.collect_schema()}]
    if not telling:
        known = list(dict.fromkeys(name for frame in given for name in frame.collect_schema()))
        near = "".join(hint(name, known) for name in segment if name not in known)
        msg = (
            f"neither `runs` nor `qrels` has the columns {quoted(segment)} for `segment`; columns are "
            f"{quoted(known)}.{near}"
        )
        raise ColumnError(msg)
    return telling


def segments_of(queries: pl.DataFrame, telling: Iterable[Frame], segment: Sequence[str]) -> pl.DataFrame:
    """Return the segment of each query; null where none is told."""
    types = [pl.col(name).cast(dtype) for name, dtype in queries.schema.items()]
    told = [
        frame.lazy().select(*types, *segment).drop_nulls(list(segment)).unique(maintain_order=True) for frame in telling
    ]
    pairs = pl.concat(told, how="vertical_relaxed").unique(maintain_order=True).collect()
    several = pairs.filter(pl.struct(queries.columns).is_duplicated())
    if several.height:
        first = several.head(1)
        same = several.join(first, on=queries.columns, how="semi", maintain_order="left")
        found = quoted(describe(row, segment) for row in same.iter_rows(named=True))
        msg = f"a query has to be of one segment, but {_list(first.select(queries.columns))} is of {found}"
        raise DataError(msg)
    return queries.join(pairs, on=queries.columns, how="left", maintain_order="left").select(segment)
