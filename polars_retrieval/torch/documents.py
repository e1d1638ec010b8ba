"""Documents that a query has more than once, as where a sampler repeats samples to give processes equally many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import torch

from polars_retrieval.errors import DataError
from polars_retrieval.torch.memory import from_torch, to_torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

_IDS = ["indexes", "doc_ids"]


def distinct_documents(
    preds: Sequence[Tensor], target: Sequence[Tensor], indexes: Sequence[Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """Join batches, with the first row only of each document in a query.

    Indexes have two rows, of queries and of documents; those returned have the first.
    """
    if any(batch.ndim == 1 for batch in indexes):
        raise mixed_doc_ids()
    ids, scores, grades = (torch.cat(list(batches), dim=-1) for batches in (indexes, preds, target))
    columns = [from_torch(values) for values in (*ids, grades)]
    frame = pl.DataFrame(columns, schema=[*_IDS, "target"]).with_row_index("row")
    kept = frame.unique(_IDS, keep="first", maintain_order=True)
    _check_targets(frame, len(kept))
    rows = to_torch(kept["row"].cast(pl.Int64)).to(ids.device)
    return scores[rows], grades[rows], ids[0][rows]


def _check_targets(frame: pl.DataFrame, n_documents: int) -> None:
    """Raise if a document has several targets in a query, of which none could be preferred."""
    if n_documents == len(frame):
        return
    targets = frame.unique([*_IDS, "target"], maintain_order=True)
    if len(targets) > n_documents:
        query, document = targets.filter(pl.struct(_IDS).is_duplicated()).select(_IDS).row(0)
        msg = f"`target` differs between the rows of document {document} in query {query}, given more than once"
        raise DataError(msg)


def mixed_doc_ids() -> DataError:
    """Return the error about updates of which some have document ids and others have not."""
    msg = (
        "`doc_ids` was given to some updates and not to others\n\n"
        "Hint: give it to each update, on every process, or to none; `reset()` forgets the updates so far."
    )
    return DataError(msg)
