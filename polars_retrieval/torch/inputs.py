"""Tensors in: checked and flattened."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from polars_retrieval.errors import DataError
from polars_retrieval.torch.arguments import check_type

# The columns bear the names of the arguments, so that an error about a column names the argument.
COLUMNS: Final[dict[str, Any]] = {"query": "indexes", "score": "preds", "relevance": "target"}

# torch can hold these, but neither compare nor gather them. A query id above 2**63 becomes a negative one.
_HALF_SUPPORTED: Final = (torch.uint16, torch.uint32, torch.uint64)


def check_batch(
    preds: Tensor,
    target: Tensor,
    indexes: Tensor | None,
    ignore_index: int | None,
    *,
    graded: bool,
    doc_ids: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return preds, target and indexes as flat tensors, without the rows to ignore, or raise.

    Document ids come back as a second row of indexes, so that they need no state of their own.
    """
    if indexes is None:
        msg = "Argument `indexes` cannot be None: it says to which query each prediction belongs"
        raise DataError(msg)
    ids = {"indexes": indexes} if doc_ids is None else {"indexes": indexes, "doc_ids": doc_ids}
    _check_shapes({**ids, "preds": preds, "target": target})
    _check_types(preds, target, graded=graded)
    for name, given in ids.items():
        if not _is_integer(given):
            msg = f"`{name}` must be a tensor of long integers, or of another integer type, got {given.dtype}"
            raise DataError(msg)
    preds, target, indexes = _flat(preds), _flat(target), _flat(indexes)
    if doc_ids is not None:
        indexes = torch.stack([indexes.long(), _flat(doc_ids).long()])
    if ignore_index is not None:
        kept = target != ignore_index
        preds, target, indexes = preds[kept], target[kept], indexes[..., kept]
    if not len(target):
        msg = (
            "`indexes`, `preds` and `target` must be non-empty and non-scalar tensors, "
            f"but every target equals `ignore_index` = {ignore_index}"
        )
        raise DataError(msg)
    if not graded:
        check_binary(target)
    return preds, target, indexes


def check_list(preds: Tensor, target: Tensor, *, graded: bool = False) -> tuple[Tensor, Tensor]:
    """Return preds and target of one query as flat tensors, or raise."""
    _check_shapes({"preds": preds, "target": target})
    _check_types(preds, target, graded=graded)
    preds, target = _flat(preds), _flat(target)
    if not graded:
        check_binary(target)
    return preds, target


def _check_shapes(tensors: dict[str, Tensor]) -> None:
    """Raise unless all are tensors of one shape with at least one value and one dimension."""
    *first, last = (f"`{name}`" for name in tensors)
    names = f"{', '.join(first)} and {last}"
    for name, given in tensors.items():
        check_type(name, given, Tensor)
    shapes = [tuple(tensor.shape) for tensor in tensors.values()]
    if len(set(shapes)) > 1:
        msg = f"{names} must be of the same shape, got {', '.join(map(str, shapes))}"
        raise DataError(msg)
    if 0 in shapes[0] or not shapes[0]:
        msg = f"{names} must be non-empty and non-scalar tensors, got shape {shapes[0]}"
        raise DataError(msg)


def _check_types(preds: Tensor, target: Tensor, *, graded: bool) -> None:
    if not preds.is_floating_point():
        msg = f"`preds` must be a tensor of floats, got {preds.dtype}"
        raise DataError(msg)
    if not (_is_integer(target) or target.dtype == torch.bool or (graded and target.is_floating_point())):
        allowed = "booleans, integers or floats" if graded else "booleans or integers"
        msg = f"`target` must be a tensor of {allowed}, got {target.dtype}"
        raise DataError(msg)


def _is_integer(tensor: Tensor) -> bool:
    return not (tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool)


def check_binary(target: Tensor) -> None:
    """Raise unless all values are 0 or 1."""
    if target.dtype == torch.bool or _is_binary(target):
        return
    lowest, highest = (end.item() for end in torch.aminmax(target))
    msg = f"`target` must contain `binary` values, 0 and 1, got values from {lowest} to {highest}"
    raise DataError(msg)


def _is_binary(target: Tensor) -> bool:
    if target.is_floating_point() or target.device.type != "cpu":
        return bool(((target == 0) | (target == 1)).all())
    # All other integers have a bit above the lowest one. It takes half the time, or less, that extremes take.
    return int(np.bitwise_or.reduce(target.numpy())) in (0, 1)


def _flat(tensor: Tensor) -> Tensor:
    tensor = tensor.detach().flatten()
    return tensor.long() if tensor.dtype in _HALF_SUPPORTED else tensor
