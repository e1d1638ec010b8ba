"""Values of a frame as tensors like the predictions they come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch

from polars_retrieval import evaluation
from polars_retrieval.torch.memory import to_torch, widest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl
    from torch import Tensor

    from polars_retrieval.names import AggregationName


def like_preds(values: pl.Series, preds: Sequence[Tensor]) -> Tensor:
    """Return values on the device of the predictions, in their type or float32 if that is wider.

    Null is what remains where every query was skipped; it becomes 0.
    """
    return to_torch(values.fill_null(0)).to(preds[0].device, _dtype(preds), copy=True)


def number_like_preds(value: float | None, preds: Sequence[Tensor]) -> Tensor:
    """Return one value, as `like_preds` does several."""
    return torch.tensor(value or 0.0, dtype=_dtype(preds), device=preds[0].device)


def _dtype(preds: Iterable[Tensor]) -> torch.dtype:
    return widest({torch.float32, *(tensor.dtype for tensor in preds)})


def aggregate(values: pl.Series, aggregation: AggregationName) -> float | None:
    """Aggregate the values of queries; None if all are null."""
    result: Any = evaluation.aggregated(cast("pl.Expr", values), aggregation)  # Series have the same methods
    return cast("float | None", result)
