"""The precision-recall curve over ranks, and what is read off it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import torch

import polars_retrieval as pr
from polars_retrieval import curve, evaluation
from polars_retrieval.errors import ParameterError
from polars_retrieval.options import check_bool, check_cutoff
from polars_retrieval.torch.documentation import documented_class
from polars_retrieval.torch.memory import from_torch, to_torch
from polars_retrieval.torch.outputs import like_preds
from polars_retrieval.torch.state import RankedQueries, empty_target_error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from polars_retrieval.names import AggregationName, EmptyTargetAction
    from polars_retrieval.torch.arguments import Ties
    from polars_retrieval.torch.rankings import TensorRankings
    from polars_retrieval.torch.state import Aggregation


_CURVE_PARAMETERS = {
    "max_k": "The last k; None for the length of the longest list.",
    "adaptive_k": "Divide precision by the number of documents where that is below k.",
}


@documented_class(
    **_CURVE_PARAMETERS,
    aggregation=(
        "Over the queries, for each k: `mean`, `median` (the lower of two middle values), `min`, `max`, or a function "
        "that takes a tensor of queries x k and `dim=0`."
    ),
)
class RetrievalPrecisionRecallCurve(RankedQueries):
    """Precision and recall of the first k documents, for each k from 1 to `max_k`.

    `compute` returns three tensors of `max_k` values: precision, recall, and k.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch import RetrievalPrecisionRecallCurve
    >>> curve = RetrievalPrecisionRecallCurve(max_k=4)
    >>> preds = tensor([0.4, 0.01, 0.5, 0.6, 0.2, 0.3, 0.5])
    >>> target = tensor([True, False, False, True, True, False, True])
    >>> precision, recall, top_k = curve(preds, target, indexes=tensor([0, 0, 0, 0, 1, 1, 1]))
    >>> precision
    tensor([1.0000, 0.5000, 0.6667, 0.5000])
    >>> recall
    tensor([0.5000, 0.5000, 1.0000, 1.0000])
    >>> top_k
    tensor([1, 2, 3, 4])
    """

    if TYPE_CHECKING:  # torch.jit.script reads annotations, and knows no list[Tensor]
        curve_sums: list[Tensor]

    def __init__(
        self,
        max_k: int | None = None,
        adaptive_k: bool = False,
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        aggregation: Aggregation = "mean",
        *,
        ties: Ties = "expected",
        **kwargs: Any,
    ) -> None:
        check_cutoff("max_k", max_k)
        super().__init__(empty_target_action, ignore_index, aggregation, ties=ties, cutoff=max_k, **kwargs)
        check_bool("adaptive_k", adaptive_k)
        self.max_k = max_k
        self.adaptive_k = adaptive_k

    kept_values = ("curve_sums",)

    def _check_alone(self) -> None:
        super()._check_alone()
        if self.aggregation != "mean" or self._cutoff is None:
            msg = (
                '`queries_complete=True` adds up curves, which takes `aggregation="mean"` and a `max_k`; '
                f"got {self.aggregation!r} and {self._cutoff}"
            )
            raise ParameterError(msg)

    def compute(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return precision, recall and k over the queries so far, 0 if all of them were skipped."""
        with empty_target_error():
            given = self.aggregation
            if self.queries_complete:
                precision, recall = self._of_sums()
            else:
                precision, recall = self._named(given) if isinstance(given, str) else self._custom(given)
        return precision, recall, torch.arange(1, len(precision) + 1, device=precision.device)

    def _values_of(self, rankings: TensorRankings) -> Sequence[Tensor]:
        """Return the sums over queries of precision and of recall at each k, and how many queries count."""
        with empty_target_error():
            n = evaluation.measure_queries(rankings, [pr.recall]).to_series().count()
            means = curve.curve(rankings, self.max_k, "mean", adaptive_k=self.adaptive_k).fill_null(0)
        sums = [to_torch(means[name] * n) for name in ("precision", "recall")]
        return [torch.cat([*sums, torch.tensor([n], dtype=torch.float64)])]

    def _of_sums(self) -> list[Tensor]:
        self._check_updated()
        total = torch.stack(self.curve_sums).sum(dim=0)
        means = total[:-1] / total[-1].clamp(min=1)
        return [like_preds(from_torch(mean), self.preds) for mean in means.chunk(2)]

    def _reduce(self) -> None:
        super()._reduce()
        if self.queries_complete and len(self.curve_sums) > 1:
            self.curve_sums = [torch.stack(self.curve_sums).sum(dim=0)]

    def _named(self, aggregation: AggregationName) -> list[Tensor]:
        """Return the curve aggregated by name."""
        means = curve.curve(self._rankings(), self.max_k, aggregation, adaptive_k=self.adaptive_k)
        return [like_preds(means[name], self.preds) for name in ("precision", "recall")]

    def _custom(self, aggregation: Callable[..., Tensor]) -> list[Tensor]:
        """Apply the caller's function to the values of each query, in the order of indexes, at each k."""
        rankings = self._rankings()
        ks = range(1, 1 + (self.max_k or rankings.longest()))
        precisions = [pr.precision(k=k, adaptive_k=self.adaptive_k) for k in ks]
        recalls = [pr.recall(k=k) for k in ks]
        values = evaluation.per_query(rankings, precisions + recalls).sort("indexes").drop_nulls()
        curves = []
        for measures in (precisions, recalls):
            each_k = [like_preds(values[str(measure)], self.preds) for measure in measures]
            matrix = torch.stack(each_k, dim=1)
            curves.append(aggregation(matrix, dim=0) if len(matrix) else matrix.new_zeros(len(ks)))
        return curves

    def plot(self, curve: tuple[Tensor, Tensor, Tensor] | None = None, ax: Any = None) -> tuple[Any, Any]:
        """Draw precision against recall, the ks marked.

        Parameters
        ----------
        curve
            What `compute` or `forward` returned; None for the curve so far.
        ax
            The matplotlib axes to draw in; None for new ones.

        Returns
        -------
        tuple
            The figure and the axes.
        """
        from polars_retrieval.plot import pr_curve

        precision, recall, top_k = self.compute() if curve is None else curve
        columns = {"k": top_k, "precision": precision, "recall": recall}
        frame = pl.DataFrame({name: from_torch(values) for name, values in columns.items()})
        return pr_curve(frame, ax=ax)


@documented_class(
    **_CURVE_PARAMETERS,
    min_precision="The precision to reach, from 0 to 1.",
    kwargs=(
        "`aggregation`, `ties`, `compact` and `queries_complete` as for RetrievalPrecisionRecallCurve, and the "
        "keyword arguments of torchmetrics.Metric."
    ),
)
class RetrievalRecallAtFixedPrecision(RetrievalPrecisionRecallCurve):
    """The largest recall on the curve where precision is at least `min_precision`, and its k.

    `compute` returns two tensors of one value, recall and k. Where several k reach that recall, k is the
    largest; where none reaches the precision, recall is 0 and k is `max_k`.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch import RetrievalRecallAtFixedPrecision
    >>> metric = RetrievalRecallAtFixedPrecision(min_precision=0.8)
    >>> preds = tensor([0.4, 0.01, 0.5, 0.6, 0.2, 0.3, 0.5])
    >>> target = tensor([True, False, False, True, True, False, True])
    >>> metric(preds, target, indexes=tensor([0, 0, 0, 0, 1, 1, 1]))
    (tensor(0.5000), tensor(1))
    """

    def __init__(
        self,
        min_precision: float = 0.0,
        max_k: int | None = None,
        adaptive_k: bool = False,
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(max_k, adaptive_k, empty_target_action, ignore_index, **kwargs)
        if not (_is_number(min_precision) and 0 <= min_precision <= 1):
            msg = f"`min_precision` has to be a positive float between 0 and 1, got {min_precision!r}"
            raise ParameterError(msg)
        self.min_precision = min_precision

    def compute(self) -> tuple[Tensor, Tensor]:  # type: ignore[override] # two values off the curve, as in torchmetrics
        """Return the largest recall with the precision asked for, and its k."""
        precision, recall, top_k = super().compute()
        reached = recall.where(precision >= self.min_precision, 0)
        best = reached.max()
        return best, top_k[(reached == best) | (best == 0)].max()

    def plot(self, val: Tensor | Sequence[Tensor] | None = None, ax: Any = None) -> tuple[Any, Any]:
        """Draw a recall, or the recalls of several steps as a line.

        Parameters
        ----------
        val
            The recall that `compute` or `forward` returned, or a list of these; None for the one so far.
        ax
            The matplotlib axes to draw in; None for new ones.

        Returns
        -------
        tuple
            The figure (None if `ax` was given) and the axes.
        """
        figure, axes = self._plot(self.compute()[0] if val is None else val, ax)
        return figure, axes


def _is_number(given: object) -> bool:
    return isinstance(given, (int, float)) and not isinstance(given, bool)
