"""What several processes have, in the shape in which torchmetrics can gather it.

torchmetrics gathers a list tensor by tensor: it waits for ever where one process has more of them than another, as
where one had no data, and returns garbage where their types differ. So each process first joins its tensors to one, of
a type that all processes agree on.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

import torch

from polars_retrieval.torch.documents import mixed_doc_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch import Tensor

_TYPES: Final = (
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
)


def join_batches(
    states: Mapping[str, Sequence[Tensor]], device: torch.device, gather: Callable[[Tensor], Sequence[Tensor]]
) -> dict[str, Tensor]:
    """Join the tensors of each state, to one of no values where this process has none but another has some.

    Parameters
    ----------
    states
        Tensors by the name of their state. Every process calls this with the same names.
    device
        Where to make tensors.
    gather
        Returns the tensors that the processes call it with; these are of one shape.

    Returns
    -------
    dict
        One tensor a state, but none for states of which no process has tensors. Their type and number of
        dimensions are equal on all processes.

    Raises
    ------
    DataError
        On all processes, if some tensors have document ids and others have not.
    """
    kinds = torch.tensor([_kind(batches) for batches in states.values()], device=device)
    everywhere = torch.stack(list(gather(kinds))).transpose(0, 1).tolist()
    return {
        name: _joined(batches, [kind for kind in of_processes if kind != _NONE], device)
        for (name, batches), of_processes in zip(states.items(), everywhere, strict=True)
        if any(kind != _NONE for kind in of_processes)
    }


_NONE: Final = [-1, 0]


def _kind(batches: Sequence[Tensor]) -> list[int]:
    """Return the number of the type that holds all, and their dimensions: 1 or 2, or 3 if they have both."""
    if not batches:
        return _NONE
    return [_TYPES.index(_widest([batch.dtype for batch in batches])), sum({batch.ndim for batch in batches})]


def _joined(batches: Sequence[Tensor], kinds: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Join tensors along their last dimension, in the type that holds those of all processes."""
    dimensions = {ndim for _, ndim in kinds}
    if dimensions not in ({1}, {2}):
        raise mixed_doc_ids()
    dtype = _widest([_TYPES[number] for number, _ in kinds])
    if dtype == torch.int16:  # which gloo does not take
        dtype = torch.int32
    if not batches:
        return torch.empty((2, 0) if dimensions == {2} else 0, dtype=dtype, device=device)
    return torch.cat(list(batches), dim=-1).to(dtype)


def _widest(dtypes: Sequence[torch.dtype]) -> torch.dtype:
    return reduce(torch.promote_types, dtypes)


def without_empty(gathered: Sequence[Tensor]) -> Sequence[Tensor]:
    """Leave out the tensors of processes that had none, but keep one where all are empty: it tells the type."""
    return [tensor for tensor in gathered if tensor.numel()] or gathered[:1]
