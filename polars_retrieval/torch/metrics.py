"""Metrics with one value a query: what each class computes is a measure of polars_retrieval."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import polars_retrieval as pr
from polars_retrieval.options import check_bool
from polars_retrieval.torch.arguments import one_cutoff
from polars_retrieval.torch.outputs import like_preds
from polars_retrieval.torch.state import RankedQueries, empty_target_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from polars_retrieval.measures import Measure
    from polars_retrieval.names import EmptyTargetAction
    from polars_retrieval.torch.arguments import Ties
    from polars_retrieval.torch.state import Aggregation


class PerQueryMetric(RankedQueries):
    """A measure of each query's ranking, aggregated over queries."""

    plot_lower_bound = 0.0
    plot_upper_bound = 1.0

    @abstractmethod
    def _measure(self) -> Measure:
        """Return what is computed for each query."""

    def compute(self) -> Tensor:
        """Return the aggregate over the queries so far, 0 if all of them were skipped."""
        with empty_target_error():
            if not isinstance(self.aggregation, str):
                values = self._per_query()
                return self.aggregation(values, dim=None) if len(values) else values.new_zeros(())
            result = pr.evaluate(self._frame(), self._measure(), aggregation=self.aggregation, **self._options())
        return like_preds(result.to_series(), self.preds).squeeze()

    def _per_query(self) -> Tensor:
        """Return the value of each query that is not skipped, in the order of their indexes."""
        result = pr.per_query(self._frame(), self._measure(), **self._options())
        values = result.sort("indexes").drop("indexes").to_series().drop_nulls()
        return like_preds(values, self.preds)

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
        super().__init__(empty_target_action, ignore_index, aggregation, ties=ties, **kwargs)
        self.top_k = one_cutoff(top_k, k)


class RetrievalPrecision(PerQueryMetric):
    """Precision: the share of relevant documents among those retrieved, or among the first k.

    Parameters
    ----------
    empty_target_action
        What a query without a relevant document counts: `neg` 0, `pos` 1, `skip` nothing (0 if all are
        skipped), `error` raises.
    ignore_index
        Predictions whose target equals this are dropped first.
    top_k
        How many ranks count; None for all. A query with fewer documents is still divided by `top_k`.
    adaptive_k
        Divide by the number of documents where that is below `top_k`.
    aggregation
        `mean`, `median` (the lower of two middle values), `min`, `max`, or a function that takes a tensor of
        one value a query and `dim=None`.
    k
        Older spelling of `top_k`.
    ties
        How equal scores are ranked: `expected` takes the mean over all orders of the tied documents, `stable`
        the order of the input, `pessimistic` relevant documents last, `optimistic` relevant documents first.
    **kwargs
        The keyword arguments of torchmetrics.Metric.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch import RetrievalPrecision
    >>> precision = RetrievalPrecision(top_k=2)
    >>> precision(tensor([0.2, 0.3, 0.5]), tensor([1, 0, 1]), indexes=tensor([0, 0, 0]))
    tensor(0.5000)
    """

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
        super().__init__(empty_target_action, ignore_index, aggregation, ties=ties, **kwargs)
        check_bool("adaptive_k", adaptive_k)
        self.top_k = one_cutoff(top_k, k)
        self.adaptive_k = adaptive_k

    def _measure(self) -> Measure:
        return pr.precision(k=self.top_k, adaptive_k=self.adaptive_k)


class RetrievalRecall(CutoffMetric):
    """Recall: the share of a query's relevant documents that are retrieved, or among the first k.

    The relevant documents are those in `target`. Without `top_k` each of them is retrieved and recall is 1:
    it says something only with a cutoff.

    Parameters
    ----------
    empty_target_action
        What a query without a relevant document counts: `neg` 0, `pos` 1, `skip` nothing (0 if all are
        skipped), `error` raises.
    ignore_index
        Predictions whose target equals this are dropped first.
    top_k
        How many ranks count; None for all.
    aggregation
        `mean`, `median` (the lower of two middle values), `min`, `max`, or a function that takes a tensor of
        one value a query and `dim=None`.
    k
        Older spelling of `top_k`.
    ties
        How equal scores are ranked: `expected` takes the mean over all orders of the tied documents, `stable`
        the order of the input, `pessimistic` relevant documents last, `optimistic` relevant documents first.
    **kwargs
        The keyword arguments of torchmetrics.Metric.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch import RetrievalRecall
    >>> recall = RetrievalRecall(top_k=2)
    >>> recall(tensor([0.2, 0.3, 0.5]), tensor([1, 0, 1]), indexes=tensor([0, 0, 0]))
    tensor(0.5000)
    """

    def _measure(self) -> Measure:
        return pr.recall(k=self.top_k)


class RetrievalHitRate(CutoffMetric):
    """Hit rate, or success: 1 for a query with a relevant document among the first k, else 0.

    Parameters
    ----------
    empty_target_action
        What a query without a relevant document counts: `neg` 0, `pos` 1, `skip` nothing (0 if all are
        skipped), `error` raises.
    ignore_index
        Predictions whose target equals this are dropped first.
    top_k
        How many ranks count; None for all.
    aggregation
        `mean`, `median` (the lower of two middle values), `min`, `max`, or a function that takes a tensor of
        one value a query and `dim=None`.
    k
        Older spelling of `top_k`.
    ties
        How equal scores are ranked: `expected` takes the mean over all orders of the tied documents, `stable`
        the order of the input, `pessimistic` relevant documents last, `optimistic` relevant documents first.
    **kwargs
        The keyword arguments of torchmetrics.Metric.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch import RetrievalHitRate
    >>> hit_rate = RetrievalHitRate(top_k=1)
    >>> hit_rate(tensor([0.2, 0.3, 0.5]), tensor([1, 1, 0]), indexes=tensor([0, 0, 0]))
    tensor(0.)
    """

    def _measure(self) -> Measure:
        return pr.hit_rate(k=self.top_k)


class RetrievalRPrecision(PerQueryMetric):
    """R-precision: precision at the rank that equals a query's number of relevant documents.

    Parameters
    ----------
    empty_target_action
        What a query without a relevant document counts: `neg` 0, `pos` 1, `skip` nothing (0 if all are
        skipped), `error` raises.
    ignore_index
        Predictions whose target equals this are dropped first.
    aggregation
        `mean`, `median` (the lower of two middle values), `min`, `max`, or a function that takes a tensor of
        one value a query and `dim=None`.
    ties
        How equal scores are ranked: `expected` takes the mean over all orders of the tied documents, `stable`
        the order of the input, `pessimistic` relevant documents last, `optimistic` relevant documents first.
    **kwargs
        The keyword arguments of torchmetrics.Metric.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch import RetrievalRPrecision
    >>> r_precision = RetrievalRPrecision()
    >>> r_precision(tensor([0.2, 0.3, 0.5]), tensor([1, 0, 1]), indexes=tensor([0, 0, 0]))
    tensor(0.5000)
    """

    def _measure(self) -> Measure:
        return pr.r_precision
