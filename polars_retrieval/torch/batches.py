"""The batches that metrics keep: small ones are joined, and all are laid side by side as a frame in their memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import polars as pl
import torch

from polars_retrieval.torch.inputs import COLUMNS
from polars_retrieval.torch.known import Known
from polars_retrieval.torch.memory import from_torch, widest

if TYPE_CHECKING:
    import weakref
    from collections.abc import Sequence

    from torch import Tensor

EVERY: Final = 32
"""After how many batches `join_small` is worth its time."""

_CHUNK: Final = 10_000  # rows from which making a chunk takes less time than copying them (some 40 microseconds)


def batches_frame(preds: Sequence[Tensor], target: Sequence[Tensor], indexes: Sequence[Tensor]) -> pl.DataFrame:
    """Lay flat tensors side by side in a frame where each batch is a chunk, in the tensors' own memory.

    Small batches are joined to larger chunks first. Batches of different types get a type that holds them all.
    """
    runs = _runs(preds, indexes)
    columns = [_chunks([_join(batches[run]) for run in runs]) for batches in (indexes, preds, target)]
    return pl.DataFrame(columns, schema=list(COLUMNS.values()))


def join_small(preds: Sequence[Tensor], target: Sequence[Tensor], indexes: Sequence[Tensor]) -> list[list[Tensor]]:
    """Return the three with the small ones among the last batches joined, so that they need not be for a frame.

    Metrics that keep the same batches get the same joined ones.
    """
    states = (preds, target, indexes)
    runs = _runs(preds[-EVERY:], indexes[-EVERY:])
    last = [[batches[-EVERY:][run] for run in runs] for batches in states]
    joined = iter(_joined_once([run for of_state in last for run in of_state if len(run) > 1]))
    return [
        [*batches[:-EVERY], *(next(joined) if len(run) > 1 else run[0] for run in of_state)]
        for batches, of_state in zip(states, last, strict=True)
    ]


def _runs(preds: Sequence[Tensor], indexes: Sequence[Tensor]) -> list[slice]:
    """Cut batches into runs of at most `_CHUNK` rows; a larger batch is a run of its own."""
    starts, n_rows, kind = [], 0, None
    for at, (scores, ids) in enumerate(zip(preds, indexes, strict=True)):
        n_rows += scores.numel()
        if n_rows > _CHUNK or kind != (ids.ndim, ids.device):  # what cannot be joined is an error in `compute`
            starts.append(at)
            n_rows, kind = scores.numel(), (ids.ndim, ids.device)
    return [slice(start, end) for start, end in zip(starts, [*starts[1:], len(preds)], strict=True)]


def _join(batches: Sequence[Tensor]) -> Tensor:
    return batches[0] if len(batches) == 1 else torch.cat(list(batches), dim=-1)


def _chunks(batches: Sequence[Tensor]) -> pl.Series:
    """Lay tensors end to end without moving them."""
    dtype = widest({batch.dtype for batch in batches})
    return pl.concat([from_torch(batch.to(dtype)) for batch in batches], rechunk=False)


@dataclass(frozen=True)
class _Joined:
    """The runs that were joined last, and what became of them, which the metrics that keep it alone keep alive."""

    runs: list[Sequence[Tensor]]
    known: Known
    results: Known

    def is_of(self, runs: list[Sequence[Tensor]]) -> bool:
        return list(map(len, runs)) == list(map(len, self.runs)) and self.known.is_of(_flat(runs))


_last: _Joined | None = None


def _joined_once(runs: list[Sequence[Tensor]]) -> list[Tensor]:
    """Join each run; if these are the runs of the last call, return what they were joined to then."""
    global _last  # noqa: PLW0603
    last = _last  # which garbage collection may let go of meanwhile
    if last is not None and last.is_of(runs) and (known := last.results.unchanged()) is not None:
        return known
    results = [_join(run) for run in runs]
    _last = _Joined(runs, Known.of(_flat(runs)), Known.of(results, _forget)) if runs else None
    return results


def _flat(runs: list[Sequence[Tensor]]) -> list[Tensor]:
    return [batch for run in runs for batch in run]


def _forget(gone: weakref.ref[Any]) -> None:
    """Let go of the runs with the first of the tensors that they were joined to."""
    global _last  # noqa: PLW0603
    if _last is not None and _last.results.has(gone):
        _last = None
