"""Metrics with one value a query: what each class computes is a measure of polars_retrieval."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import polars as pl
import torch

import polars_retrieval as pr
from polars_retrieval.columns import describe
from polars_retrieval.errors import DataError
from polars_retrieval.measures.declaration import Denominator, Gain
from polars_retrieval.options import check_bool, check_choice
from polars_retrieval.torch.arguments import one_cutoff
from polars_retrieval.torch.documentation import documented_class, empty_target_action
from polars_retrieval.torch.memory import from_torch, to_torch
from polars_retrieval.torch.outputs import aggregate, like_preds, number_like_preds
from polars_retrieval.torch.state import RankedQueries, empty_target_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from polars_retrieval.measures import Measure
    from polars_retrieval.names import EmptyTargetAction
    from polars_retrieval.torch.arguments import Ties
    from polars_retrieval.torch.rankings import TensorRankings
    from polars_retrieval.torch.state import Aggregation


@lru_cache(maxsize=128)
def _with_parameters(measure: Measure, parameters: tuple[tuple[str, Any], ...]) -> Measure:
    """Set the parameters of a measure; kept, since `forward` asks for it at every step."""
    return measure(**dict(parameters))


class PerQueryMetric(RankedQueries):
    """A measure of each query's ranking, aggregated over queries."""

    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    kept_values = ("query_indexes", "query_values")

    if TYPE_CHECKING:  # torch.jit.script reads annotations, and knows no Measure
        measure: Measure

    def _measure_parameters(self) -> dict[str, Any]:
        """Return the parameters of the measure."""
        return {}

    def _own_measure(self) -> Measure:
        """Return the measure with this metric's parameters."""
        return _with_parameters(self.measure, tuple(self._measure_parameters().items()))

    def compute(self) -> Tensor:
        """Return the aggregate over the queries so far, 0 if all of them were skipped."""
        measure = self._own_measure()
        with empty_target_error(measure.declaration.undefined_without):
            if self.queries_complete or callable(self.aggregation):
                return self._aggregated(self._in_order(measure))
            return self._aggregated(self._rankings().values(measure))

    def _aggregated(self, values: pl.Series) -> Tensor:
        if isinstance(self.aggregation, str):
            return number_like_preds(aggregate(values, self.aggregation), self.preds)
        tensor = like_preds(values, self.preds)
        return self.aggregation(tensor, dim=None) if len(tensor) else tensor.new_zeros(())

    def _in_order(self, measure: Measure) -> pl.Series:
        """Return the value of each query that is not skipped, in the order of their indexes."""
        values = self._kept_values() if self.queries_complete else self._rankings().per_query(measure)
        return values.sort("indexes")["values"]

    def _values_of(self, rankings: TensorRankings) -> Sequence[Tensor]:
        """Return the queries that are not skipped, and their values."""
        measure = self._own_measure()
        with empty_target_error(measure.declaration.undefined_without):
            values = rankings.per_query(measure)
        return [to_torch(column) for column in values.cast({"indexes": pl.Int64}).get_columns()]

    def _reduce(self) -> None:
        """Join what complete queries left: many small tensors among large ones keep the memory of these from reuse."""
        super()._reduce()
        if self.queries_complete:
            for name in self.kept_values:
                setattr(self, name, _joined(getattr(self, name)))

    def _kept_values(self) -> pl.DataFrame:
        """Return the values of complete queries, each of which came in one update."""
        self._check_updated()
        indexes, values = (from_torch(torch.cat(getattr(self, name))) for name in self.kept_values)
        frame = pl.DataFrame({"indexes": indexes, "values": values})
        if (twice := frame.filter(indexes.is_duplicated())).height:
            msg = (
                f"`queries_complete=True`, but {twice['indexes'].n_unique()} queries came in several updates, "
                f"the first {describe(twice.row(0, named=True), ['indexes'])}"
            )
            raise DataError(msg)
        return frame

    def plot(self, val: Tensor | Sequence[Tensor] | None = None, ax: Any = None) -> tuple[Any, Any]:
        """Draw a value, or the values of several steps as a line.

        Parameters
        ----------
        val
            What `compute` or `forward` returned, or a list of these; None for the value so far.
        ax
            The matplotlib axes to draw in; None for new ones.

        Returns
        -------
        tuple
            The figure (None if `ax` was given) and the axes.
        """
        figure, axes = self._plot(val, ax)
        return figure, axes


def _joined(batches: Sequence[Tensor]) -> list[Tensor]:
    """Join the last tensors until each is shorter than the one before: so each value is copied a few times only."""
    joined = list(batches)
    while len(joined) > 1 and len(joined[-1]) >= len(joined[-2]):
        joined[-2:] = [torch.cat(joined[-2:])]
    return joined


class CutoffMetric(PerQueryMetric):
    """A measure of the first ranks of each query, aggregated over queries."""

    def __init__(
        self,
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        top_k: int | None = None,
        aggregation: Aggregation = "mean",
        *,
        k: int | None = None,
        ties: Ties = "expected",
        **kwargs: Any,
    ) -> None:
        cutoff = one_cutoff(top_k, k)
        super().__init__(empty_target_action, ignore_index, aggregation, ties=ties, cutoff=cutoff, **kwargs)
        self.top_k = cutoff

    def _measure_parameters(self) -> dict[str, Any]:
        return {"k": self.top_k}


@documented_class(top_k="How many ranks count; None for all. A query with fewer documents is still divided by `top_k`.")
class RetrievalPrecision(CutoffMetric):
    """Precision: the share of relevant documents among those retrieved, or among the first k.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch import RetrievalPrecision
    >>> precision = RetrievalPrecision(top_k=2)
    >>> precision(tensor([0.2, 0.3, 0.5]), tensor([1, 0, 1]), indexes=tensor([0, 0, 0]))
    tensor(0.5000)
    """

    measure = pr.precision

    def __init__(
        self,
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        top_k: int | None = None,
        adaptive_k: bool = False,
        aggregation: Aggregation = "mean",
        *,
        k: int | None = None,
        ties: Ties = "expected",
        **kwargs: Any,
    ) -> None:
        super().__init__(empty_target_action, ignore_index, top_k, aggregation, k=k, ties=ties, **kwargs)
        check_bool("adaptive_k", adaptive_k)
        self.adaptive_k = adaptive_k

    def _measure_parameters(self) -> dict[str, Any]:
        return {"k": self.top_k, "adaptive_k": self.adaptive_k}


@documented_class()
class RetrievalRecall(CutoffMetric):
    """Recall: the share of a query's relevant documents that are retrieved, or among the first k.

    The relevant documents are those in `target`. Without `top_k` each of them is retrieved and recall is 1:
    it says something only with a cutoff.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch import RetrievalRecall
    >>> recall = RetrievalRecall(top_k=2)
    >>> recall(tensor([0.2, 0.3, 0.5]), tensor([1, 0, 1]), indexes=tensor([0, 0, 0]))
    tensor(0.5000)
    """

    measure = pr.recall


@documented_class()
class RetrievalHitRate(CutoffMetric):
    """Hit rate, or success: 1 for a query with a relevant document among the first k, else 0.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch import RetrievalHitRate
    >>> hit_rate = RetrievalHitRate(top_k=1)
    >>> hit_rate(tensor([0.2, 0.3, 0.5]), tensor([1, 1, 0]), indexes=tensor([0, 0, 0]))
    tensor(0.)
    """

    measure = pr.hit_rate


@documented_class(empty_target_action=empty_target_action("non-relevant document"))
class RetrievalFallOut(CutoffMetric):
    """Fall-out: the share of a query's non-relevant documents that are among the first k; lower is better.

    Without `top_k` each of them is retrieved and fall-out is 1: it says something only with a cutoff.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch import RetrievalFallOut
    >>> fall_out = RetrievalFallOut(top_k=1)
    >>> fall_out(tensor([0.2, 0.3, 0.5]), tensor([1, 0, 0]), indexes=tensor([0, 0, 0]))
    tensor(0.5000)
    """

    measure = pr.fall_out
    higher_is_better = False

    def __init__(
        self,
        empty_target_action: EmptyTargetAction = "pos",
        ignore_index: int | None = None,
        top_k: int | None = None,
        aggregation: Aggregation = "mean",
        *,
        k: int | None = None,
        ties: Ties = "expected",
        **kwargs: Any,
    ) -> None:
        super().__init__(empty_target_action, ignore_index, top_k, aggregation, k=k, ties=ties, **kwargs)


@documented_class()
class RetrievalRPrecision(PerQueryMetric):
    """R-precision: precision at the rank that equals a query's number of relevant documents.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch import RetrievalRPrecision
    >>> r_precision = RetrievalRPrecision()
    >>> r_precision(tensor([0.2, 0.3, 0.5]), tensor([1, 0, 1]), indexes=tensor([0, 0, 0]))
    tensor(0.5000)
    """

    measure = pr.r_precision

    def __init__(
        self,
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        aggregation: Aggregation = "mean",
        *,
        ties: Ties = "expected",
        **kwargs: Any,
    ) -> None:
        super().__init__(empty_target_action, ignore_index, aggregation, ties=ties, **kwargs)


@documented_class()
class RetrievalMRR(CutoffMetric):
    """Mean reciprocal rank: 1 over the rank of a query's first relevant document, 0 if none is among the first k.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch import RetrievalMRR
    >>> reciprocal_rank = RetrievalMRR()
    >>> reciprocal_rank(tensor([0.2, 0.3, 0.5]), tensor([1, 1, 0]), indexes=tensor([0, 0, 0]))
    tensor(0.5000)
    """

    measure = pr.reciprocal_rank


@documented_class()
class RetrievalMAP(CutoffMetric):
    """Mean average precision: for each query the mean of precision at the ranks of its hits.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch import RetrievalMAP
    >>> rows = {"preds": tensor([0.2, 0.3, 0.5]), "target": tensor([1, 0, 1]), "indexes": tensor([0, 0, 0])}
    >>> RetrievalMAP()(**rows)
    tensor(0.8333)
    >>> RetrievalMAP(top_k=2)(**rows), RetrievalMAP(top_k=2, denominator="relevant")(**rows)
    (tensor(1.), tensor(0.5000))
    """

    measure = pr.average_precision

    def __init__(
        self,
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        top_k: int | None = None,
        aggregation: Aggregation = "mean",
        *,
        denominator: Denominator = "hits",
        k: int | None = None,
        ties: Ties = "expected",
        **kwargs: Any,
    ) -> None:
        super().__init__(empty_target_action, ignore_index, top_k, aggregation, k=k, ties=ties, **kwargs)
        check_choice("denominator", denominator, Denominator)
        self.denominator = denominator

    def _measure_parameters(self) -> dict[str, Any]:
        return {"k": self.top_k, "denominator": self.denominator}


@documented_class(empty_target_action=empty_target_action("document of a grade above 0"))
class RetrievalNormalizedDCG(CutoffMetric):
    """Normalized discounted cumulative gain: the gains of the first k documents over those of the best order.

    Here `target` holds grades: integers, floats, or booleans. The gain of each document is divided by
    log2(rank + 1).

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch import RetrievalNormalizedDCG
    >>> ndcg = RetrievalNormalizedDCG()
    >>> ndcg(tensor([0.1, 0.2, 0.3, 4.0, 70.0]), tensor([10, 0, 0, 1, 5]), indexes=tensor([0, 0, 0, 0, 0]))
    tensor(0.6957)
    """

    measure = pr.ndcg
    graded = True

    def __init__(
        self,
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        top_k: int | None = None,
        aggregation: Aggregation = "mean",
        *,
        gain: Gain = "linear",
        k: int | None = None,
        ties: Ties = "expected",
        **kwargs: Any,
    ) -> None:
        super().__init__(empty_target_action, ignore_index, top_k, aggregation, k=k, ties=ties, **kwargs)
        check_choice("gain", gain, Gain)
        self.gain = gain

    def _measure_parameters(self) -> dict[str, Any]:
        return {"k": self.top_k, "gain": self.gain}


@documented_class()
class RetrievalAUROC(CutoffMetric):
    """Area under the ROC curve: the share of a query's pairs of a relevant and another document ranked right.

    Tied pairs count half. A query without a pair among the first k counts 0.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch import RetrievalAUROC
    >>> auroc = RetrievalAUROC()
    >>> auroc(tensor([0.2, 0.3, 0.5]), tensor([1, 0, 1]), indexes=tensor([0, 0, 0]))
    tensor(0.5000)
    """

    measure = pr.auroc

    def __init__(
        self,
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        top_k: int | None = None,
        max_fpr: float | None = None,
        aggregation: Aggregation = "mean",
        *,
        k: int | None = None,
        ties: Ties = "expected",
        **kwargs: Any,
    ) -> None:
        super().__init__(empty_target_action, ignore_index, top_k, aggregation, k=k, ties=ties, **kwargs)
        pr.auroc(max_fpr=max_fpr)  # which checks it
        self.max_fpr = max_fpr

    def _measure_parameters(self) -> dict[str, Any]:
        return {"k": self.top_k, "max_fpr": self.max_fpr}
