"""What all metrics on tensors have in common: they keep every prediction until `compute`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from torch import Tensor
from torchmetrics import Metric

from polars_retrieval.errors import DataError, EmptyTargetError
from polars_retrieval.names import AggregationName, EmptyTargetAction
from polars_retrieval.options import check_aggregation, check_choice, check_ignore_index
from polars_retrieval.torch.arguments import Ties, check_ties
from polars_retrieval.torch.inputs import COLUMNS, batches_frame, check_batch

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

Aggregation = AggregationName | Callable[..., Tensor]


class RankedQueries(Metric):
    """Scored documents of any number of queries, as tensors in the order of their updates."""

    is_differentiable = False
    higher_is_better = True
    full_state_update = False

    if TYPE_CHECKING:  # torch.jit.script reads annotations, and knows no list[Tensor]
        indexes: list[Tensor]
        preds: list[Tensor]
        target: list[Tensor]

    def __init__(
        self,
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        aggregation: Aggregation = "mean",
        *,
        ties: Ties = "expected",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_choice("empty_target_action", empty_target_action, EmptyTargetAction)
        check_ignore_index(ignore_index)
        check_aggregation(aggregation)
        check_ties(ties)
        self.allow_non_binary_target = False
        self.empty_target_action = empty_target_action
        self.ignore_index = ignore_index
        self.aggregation = aggregation
        self.ties = ties
        for name in COLUMNS.values():
            self.add_state(name, default=[], dist_reduce_fx=None)

    def update(self, preds: Tensor, target: Tensor, indexes: Tensor) -> None:
        """Add scored documents; a query's documents may come in several updates.

        Parameters
        ----------
        preds
            The scores, floats of any shape and sign. They are kept as they are: the tensor's own memory, its
            own precision.
        target
            Which documents are relevant: booleans, or integers 0 and 1. For RetrievalNormalizedDCG, grades:
            integers, floats, or booleans.
        indexes
            Which query each document belongs to: integers.

        Raises
        ------
        DataError
            If the three are empty, differ in shape or are of another type, or if `target` has other values.
        """
        preds, target, indexes = check_batch(
            preds, target, indexes, self.ignore_index, graded=self.allow_non_binary_target
        )
        self.preds.append(preds)
        self.target.append(target)
        self.indexes.append(indexes)

    def _frame(self) -> pl.DataFrame:
        if not self.preds:
            msg = f"No samples to concatenate: {type(self).__name__} was given no predictions by `update`"
            raise DataError(msg)
        return batches_frame(self.preds, self.target, self.indexes)

    def _options(self) -> dict[str, Any]:
        return {"ties": self.ties, "empty_target_action": self.empty_target_action, **COLUMNS}


@contextmanager
def empty_target_error(undefined_without: str | None = "n_relevant") -> Iterator[None]:
    """Begin the error about a query for which the measure is undefined with torchmetrics' sentence."""
    try:
        yield
    except EmptyTargetError as error:
        sign = "negative" if undefined_without == "n_nonrelevant" else "positive"
        msg = f"`compute` method was provided with a query with no {sign} target.\n\n{error}"
        raise EmptyTargetError(msg) from None
