"""What several processes have: gathered once for the metrics of a collection.

torchmetrics gathers a list tensor by tensor: it waits for ever where one process has more of them than another, as
where one had no data, and returns garbage where their types differ. So each process first joins its tensors to one, of
a type that all processes agree on.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from functools import partial
from secrets import randbits
from typing import TYPE_CHECKING, Any, Final

import torch

from polars_retrieval.torch.documents import mixed_doc_ids
from polars_retrieval.torch.known import Known
from polars_retrieval.torch.memory import widest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch import Tensor

    States = Mapping[str, Sequence[Tensor]]
    Gather = Callable[..., Sequence[Tensor]]

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


def gather_batches(
    states: States, gather: Gather, group: Any, *, device: torch.device, holder: object
) -> dict[str, list[Tensor]]:
    """Gather the tensors of each state: those of the last call, if every process gives it the same ones again.

    The metrics of a compute group keep the same tensors. What was gathered of them is kept until one of them is gone or
    others are gathered.

    Parameters
    ----------
    states
        Tensors by the name of their state. Every process calls this with the same names.
    gather
        Called with a tensor and `group`, returns the tensors that the processes call it with.
    group
        The process group; None for all processes.
    device
        Where to make tensors.
    holder
        Whose states these are. What was gathered is let go with it, too: a process may have no tensors.

    Returns
    -------
    dict
        The tensors of a state that have values, or an empty one; nothing for states of which no process has tensors.
        Their type and number of dimensions are equal on all processes.

    Raises
    ------
    DataError
        On all processes, if some tensors have document ids and others have not.
    """
    global _last  # noqa: PLW0603
    last = _last  # which garbage collection may let go of meanwhile
    if last is not None and not last.is_of(states, gather):
        last = None
    token = last.token if last else randbits(62)
    gather_here = partial(gather, group=group)
    tokens, kinds = _exchange(token, states, gather_here, device)
    if last and tokens == last.tokens:
        return last.gathered
    _last = None
    joined = _join(states, kinds, device)
    gathered = {name: _without_empty(gather_here(tensor)) for name, tensor in joined.items()}
    local, results = (Known.of(_tensors(given), _forget) for given in (states, gathered))
    _last = _Gathered(gathered, _lengths(states), local, results, gather, token, tokens, weakref.ref(holder, _forget))
    return gathered


@dataclass(frozen=True)
class _Gathered:
    """What was gathered, and of which tensors of this process.

    Each process calls a gather by a random number of its own, the token, and knows the tokens of all. It sends its
    token again where it could take the same tensors again, and else a new one. So the tokens of all are the earlier
    ones on every process or on none, and the processes agree on whether to gather: whatever else they gathered
    meanwhile, in whatever groups, and also where some have no tensors.
    """

    gathered: dict[str, list[Tensor]]
    lengths: dict[str, int]
    local: Known
    results: Known
    gather: Gather
    token: int
    tokens: list[int]
    holder: weakref.ref[object]

    def is_of(self, states: States, gather: Gather) -> bool:
        if gather != self.gather or _lengths(states) != self.lengths:
            return False
        return self.local.is_of(_tensors(states)) and self.results.is_of(_tensors(self.gathered))


def _lengths(states: States) -> dict[str, int]:
    return {name: len(batches) for name, batches in states.items()}


def _tensors(states: States) -> list[Tensor]:
    return [tensor for batches in states.values() for tensor in batches]


_last: _Gathered | None = None


def _forget(gone: weakref.ref[Any]) -> None:
    """Let go of what was gathered, with the first of the tensors that it was gathered of."""
    global _last  # noqa: PLW0603
    if _last is not None and (_last.holder is gone or _last.local.has(gone)):
        _last = None


def _exchange(
    token: int, states: States, gather: Callable[[Tensor], Sequence[Tensor]], device: torch.device
) -> tuple[list[int], list[list[list[int]]]]:
    """Tell all processes this one's token and its kind of each state; return theirs, by state and process."""
    told = torch.tensor([[token, 0], *map(_kind, states.values())], device=device)
    tokens, *kinds = torch.stack(list(gather(told))).transpose(0, 1).tolist()
    return [number for number, _ in tokens], kinds


def _join(states: States, kinds: Sequence[Sequence[list[int]]], device: torch.device) -> dict[str, Tensor]:
    """Join the tensors of each state, to one of no values where this process has none but another has some."""
    return {
        name: _joined(batches, [kind for kind in of_processes if kind != _NONE], device)
        for (name, batches), of_processes in zip(states.items(), kinds, strict=True)
        if any(kind != _NONE for kind in of_processes)
    }


_NONE: Final = [-1, 0]


def _kind(batches: Sequence[Tensor]) -> list[int]:
    """Return the number of the type that holds all, and their dimensions: 1 or 2, or 3 if they have both."""
    if not batches:
        return _NONE
    return [_TYPES.index(widest([batch.dtype for batch in batches])), sum({batch.ndim for batch in batches})]


def _joined(batches: Sequence[Tensor], kinds: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Join tensors along their last dimension, in the type that holds those of all processes.

    The result is never one of the tensors, but a copy: what is gathered must not keep them alive.
    """
    dimensions = {ndim for _, ndim in kinds}
    if dimensions not in ({1}, {2}):
        raise mixed_doc_ids()
    dtype = widest([_TYPES[number] for number, _ in kinds])
    if dtype == torch.int16:  # which gloo does not take
        dtype = torch.int32
    if not batches:
        return torch.empty((2, 0) if dimensions == {2} else 0, dtype=dtype, device=device)
    return torch.cat(list(batches), dim=-1).to(dtype)


def _without_empty(gathered: Sequence[Tensor]) -> list[Tensor]:
    """Leave out the tensors of processes that had none, but keep one where all are empty: it tells the type."""
    return [tensor for tensor in gathered if tensor.numel()] or list(gathered[:1])
