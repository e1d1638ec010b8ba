"""The `.retrieval` namespace on DataFrame, LazyFrame and Expr: sugar on the functions, one line a method."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeVar, cast

import polars as pl

from polars_retrieval import expressions, frames
from polars_retrieval.comparison import pairs, summaries
from polars_retrieval.errors import ParameterError
from polars_retrieval.measures import REGISTRY
from polars_retrieval.names import hint, quoted
from polars_retrieval.options import Options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from typing_extensions import Unpack

    from polars_retrieval.comparison.pairs import CompareOptions
    from polars_retrieval.comparison.summaries import SummarizeOptions
    from polars_retrieval.frames import (
        CurveOptions,
        EvaluateOptions,
        JudgeOptions,
        Metrics,
        PerQueryOptions,
        RankOptions,
    )
    from polars_retrieval.measures import Measure

    _Method = TypeVar("_Method", bound=Callable[..., pl.Expr])


@pl.api.register_dataframe_namespace("retrieval")
class DataFrameRetrieval:
    """Ranked-retrieval evaluation of a DataFrame; the methods are the functions of `polars_retrieval`."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def evaluate(self, metrics: Metrics, **options: Unpack[EvaluateOptions]) -> pl.DataFrame:
        """Measure how well the system ranks; see `polars_retrieval.evaluate`."""
        return frames.evaluate(self._frame, metrics, **options)

    def per_query(self, metrics: Metrics, **options: Unpack[PerQueryOptions]) -> pl.DataFrame:
        """Measure how well the system ranks, query by query; see `polars_retrieval.per_query`."""
        return frames.per_query(self._frame, metrics, **options)

    def pr_curve(self, **options: Unpack[CurveOptions]) -> pl.DataFrame:
        """Trace precision and recall for every cutoff; see `polars_retrieval.pr_curve`."""
        return frames.pr_curve(self._frame, **options)

    def rank(self, **options: Unpack[RankOptions]) -> pl.DataFrame:
        """Rank the documents within each query; see `polars_retrieval.rank`."""
        return frames.rank(self._frame, **options)

    def judge(self, qrels: Any, **options: Unpack[JudgeOptions]) -> pl.DataFrame:
        """Join the run with its judgments; see `polars_retrieval.judge`."""
        return frames.judge(self._frame, qrels, **options)

    def summarize(self, **options: Unpack[SummarizeOptions]) -> pl.DataFrame:
        """Say how sure one can be of each measure's mean; see `polars_retrieval.summarize`."""
        return summaries.summarize(self._frame, **options)

    def compare(self, metrics: Metrics | None = None, **options: Unpack[CompareOptions]) -> pl.DataFrame:
        """Say which system is better, and by how much; see `polars_retrieval.compare`."""
        return pairs.compare(self._frame, metrics, **options)


@pl.api.register_lazyframe_namespace("retrieval")
class LazyFrameRetrieval:
    """Ranked-retrieval evaluation of a LazyFrame: the same functions, computed when the result is collected."""

    def __init__(self, frame: pl.LazyFrame) -> None:
        self._frame = frame

    def evaluate(self, metrics: Metrics, **options: Unpack[EvaluateOptions]) -> pl.LazyFrame:
        """Measure how well the system ranks; see `polars_retrieval.evaluate`."""
        return frames.evaluate(self._frame, metrics, **options)

    def per_query(self, metrics: Metrics, **options: Unpack[PerQueryOptions]) -> pl.LazyFrame:
        """Measure how well the system ranks, query by query; see `polars_retrieval.per_query`."""
        return frames.per_query(self._frame, metrics, **options)

    def pr_curve(self, **options: Unpack[CurveOptions]) -> pl.LazyFrame:
        """Trace precision and recall for every cutoff; see `polars_retrieval.pr_curve`."""
        return frames.pr_curve(self._frame, **options)

    def rank(self, **options: Unpack[RankOptions]) -> pl.LazyFrame:
        """Rank the documents within each query; see `polars_retrieval.rank`."""
        return frames.rank(self._frame, **options)

    def judge(self, qrels: Any, **options: Unpack[JudgeOptions]) -> pl.LazyFrame:
        """Join the run with its judgments; see `polars_retrieval.judge`."""
        return frames.judge(self._frame, qrels, **options)

    def summarize(self, **options: Unpack[SummarizeOptions]) -> pl.LazyFrame:
        """Say how sure one can be of each measure's mean; see `polars_retrieval.summarize`."""
        return summaries.summarize(self._frame, **options)

    def compare(self, metrics: Metrics | None = None, **options: Unpack[CompareOptions]) -> pl.LazyFrame:
        """Say which system is better, and by how much; see `polars_retrieval.compare`."""
        return pairs.compare(self._frame, metrics, **options)


def _signature(function: Callable[..., pl.Expr], own: Iterable[inspect.Parameter] = ()) -> inspect.Signature:
    """Write a function of `expressions` as a method: its first argument is `self`, all but `score` come by name."""
    _, *given = inspect.signature(function).parameters.values()
    score = [parameter for parameter in given if parameter.name == "score"]
    by_name = [*own, *(parameter for parameter in given if parameter.kind is parameter.KEYWORD_ONLY)]
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in given):
        by_name += inspect.signature(Options).parameters.values()
    receiver = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    named = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in by_name]
    return inspect.Signature([receiver, *score, *named], return_annotation="pl.Expr")


def _takes_what(
    function: Callable[..., pl.Expr], own: Iterable[inspect.Parameter] = ()
) -> Callable[[_Method], _Method]:
    """Give a method the signature of the function that it calls, and refuse all other parameters."""
    signature = _signature(function, own)
    known = [name for name, parameter in signature.parameters.items() if parameter.kind is parameter.KEYWORD_ONLY]

    def decorate(method: _Method) -> _Method:
        @functools.wraps(method)
        def checked(*given: Any, **options: Any) -> pl.Expr:
            for name in options:
                if name not in signature.parameters:
                    msg = f"`{method.__name__}` has no parameter `{name}`; it takes {quoted(known)}.{hint(name, known)}"
                    raise ParameterError(msg)
            return method(*given, **options)

        checked.__signature__ = signature  # type: ignore[attr-defined]
        return cast("_Method", checked)

    return decorate


@pl.api.register_expr_namespace("retrieval")
class ExprRetrieval:
    """Ranking and measures within groups, for `group_by().agg()` and `.over()`.

    There is a method for every measure, called on the column of grades and given that of scores:
    ``pl.col("relevance").retrieval.recall("score", k=10, n_relevant="known")``. Beside the measure's own parameters it
    takes `n_relevant` (a number, or a column or expression; by default the relevant rows are counted), `doc`, and the
    options `ties`, `unjudged`, `missing_queries`, `empty_target_action`, `ignore_index` and `min_relevance` of
    `polars_retrieval.evaluate`. A NaN score in the group makes the result NaN, since an expression cannot raise.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_retrieval as pr
    >>> run = pl.DataFrame(
    ...     {"query_id": ["q1", "q1", "q2"], "score": [0.9, 0.8, 0.4], "relevance": [True, False, True]}
    ... )
    >>> run.group_by("query_id", maintain_order=True).agg(
    ...     pl.col("relevance").retrieval.precision("score", k=2),
    ...     pl.col("relevance").retrieval.recall("score", k=1, n_relevant=pl.lit(4)).alias("recall@1 of 4"),
    ... )
    shape: (2, 3)
    ┌──────────┬─────────────┬───────────────┐
    │ query_id ┆ precision@2 ┆ recall@1 of 4 │
    │ ---      ┆ ---         ┆ ---           │
    │ str      ┆ f64         ┆ f64           │
    ╞══════════╪═════════════╪═══════════════╡
    │ q1       ┆ 0.5         ┆ 0.25          │
    │ q2       ┆ 0.5         ┆ 0.25          │
    └──────────┴─────────────┴───────────────┘
    """

    def __init__(self, expr: pl.Expr) -> None:
        self._expr = expr

    @_takes_what(expressions.rank)
    def rank(self, **options: Any) -> pl.Expr:
        """Rank scores within the group, from 1; null where the score is null.

        Takes `ties` (``"stable"`` by default), `doc` for ``ties="doc_id"`` and `relevance` for ``"pessimistic"`` and
        ``"optimistic"``.
        """
        return expressions.rank(self._expr, **options)

    @_takes_what(expressions.cumulative_hits)
    def cumulative_hits(self, score: pl.Expr | str, **options: Any) -> pl.Expr:
        """Count, for each row, the relevant documents at its rank and above.

        Takes `ties` (``"stable"`` by default), `doc` and `min_relevance`.
        """
        return expressions.cumulative_hits(self._expr, score, **options)

    @_takes_what(expressions.pr_curve)
    def pr_curve(self, score: pl.Expr | str, **options: Any) -> pl.Expr:
        """Trace the group's precision and recall: a struct of the lists `k`, `precision` and `recall`.

        Takes `max_k`, `adaptive_k` and what the measures take beside their own parameters.
        """
        return expressions.pr_curve(self._expr, score, **options)


def _method(measure: Measure) -> Callable[..., pl.Expr]:
    def method(self: ExprRetrieval, score: expressions.IntoExpr, **options: Any) -> pl.Expr:
        own = {name: options.pop(name) for name in measure.declaration.parameters if name in options}
        return expressions.measure(self._expr, score, measure(**own), **options)

    method.__name__ = measure.declaration.name
    method.__qualname__ = f"ExprRetrieval.{measure.declaration.name}"
    method.__doc__ = measure.declaration.formula.__doc__
    return _takes_what(expressions.measure, measure.declaration.parameters.values())(method)


for _measure in REGISTRY.values():
    setattr(ExprRetrieval, _measure.declaration.name, _method(_measure))
