"""Values of a frame as tensors like the predictions they come from."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import torch

from polars_retrieval.torch.memory import to_torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from torch import Tensor


def like_preds(values: pl.Series, preds: Sequence[Tensor]) -> Tensor:
    """Return values on the device of the predictions, in their type or float32 if that is wider.

    Null is what remains where every query was skipped; it becomes 0.
    """
    dtype = reduce(torch.promote_types, {tensor.dtype for tensor in preds}, torch.float32)
    return to_torch(values.fill_null(0)).to(preds[0].device, dtype, copy=True)
