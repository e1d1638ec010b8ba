"""The ranked lists of the tensors that a metric keeps: those that keep the same tensors share them."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
import torch

from polars_retrieval.columns import Columns
from polars_retrieval.grouping import Grouping
from polars_retrieval.measures import Measure, ndcg
from polars_retrieval.options import Options
from polars_retrieval.ranked_frame import Ranking, Rankings, rank_frame
from polars_retrieval.ranking import find_levels, ideal_hits
from polars_retrieval.torch.device import rank_on_device
from polars_retrieval.torch.documents import distinct_documents
from polars_retrieval.torch.inputs import COLUMNS, batches_frame, check_binary
from polars_retrieval.torch.memory import from_torch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from polars_retrieval.names import EmptyTargetAction
    from polars_retrieval.torch.arguments import Ties

    Batches = Sequence[Tensor]

_COLUMNS: Final = Columns.of(doc="doc_id", by=None, **COLUMNS)
_READS: Final = ndcg.reads  # of all measures here, nDCG wants to know most
_FEW: Final = 2**14  # rows that are ranked before Polars has planned to

_BINARY: Final = find_levels(pl.Series([0, 1], dtype=pl.UInt8), 1, _READS).table


class TensorRankings(Rankings):
    """Ranked lists that are made already, for whatever measures; and what a query counts without a result."""

    def __init__(self, ranking: Ranking, ties: Ties, empty_target_action: EmptyTargetAction = "neg") -> None:
        self.columns, self.options = _COLUMNS, Options(ties=ties, empty_target_action=empty_target_action)
        self.ranking = ranking

    def of(self, measures: Iterable[Measure]) -> Ranking:
        """Return the ranked lists."""
        del measures
        return self.ranking


def shared_ranking(preds: Batches, target: Batches, indexes: Batches, ties: Ties, *, graded: bool) -> Ranking:
    """Return the ranked lists of batches: those of the last call, if it was for the same ones.

    The metrics of a collection keep the same tensors, or views of the same memory. What was made of them is kept until
    one of these tensors is gone.
    """
    global _last  # noqa: PLW0603
    tensors = (*preds, *target, *indexes)
    last = _last
    if last is None or not last.is_of(tensors):
        _last = last = _Shared.of(tensors)
    if not (graded or last.is_binary):  # the metric whose `update` took these batches may have allowed grades
        for batch in target:
            check_binary(batch)
        last.is_binary = True
    if ties not in last.by_ties:
        last.by_ties[ties] = rank_batches(preds, target, indexes, ties)
    return last.by_ties[ties]


@dataclass
class _Shared:
    """Tensors, by weak references and the versions that torch counts in-place changes by, and their ranked lists."""

    tensors: list[weakref.ref[Tensor]]
    versions: list[int]
    by_ties: dict[str, Ranking] = field(default_factory=dict)
    is_binary: bool = False

    @classmethod
    def of(cls, tensors: Sequence[Tensor]) -> _Shared:
        return cls([weakref.ref(tensor, _forget) for tensor in tensors], list(map(_version, tensors)))

    def is_of(self, tensors: Sequence[Tensor]) -> bool:
        if len(tensors) != len(self.tensors):
            return False
        return all(
            (known := ref()) is not None and _is_same(known, tensor) and _version(tensor) == version
            for ref, tensor, version in zip(self.tensors, tensors, self.versions, strict=True)
        )


_last: _Shared | None = None


def _forget(gone: weakref.ref[Tensor]) -> None:
    """Let go of ranked lists, which hold on to memory, with the first of their tensors that is gone."""
    global _last  # noqa: PLW0603
    if _last is not None and any(ref is gone for ref in _last.tensors):
        _last = None


def _version(tensor: Tensor) -> int:
    """Return what torch counts up when values are changed in place, also through views.

    It does not count for tensors of inference mode; a change of these between two calls of `compute` goes unnoticed.
    """
    return 0 if tensor.is_inference() else tensor._version  # noqa: SLF001 (there is no other name for it)


def _is_same(first: Tensor, second: Tensor) -> bool:
    """Tell whether two tensors are one, or views of the same memory."""
    return first is second or (first.dtype == second.dtype and first.is_set_to(second))


def rank_batches(preds: Batches, target: Batches, indexes: Batches, ties: Ties) -> Ranking:
    """Rank the documents of every query, by which indexes tell them apart, in batches of flat tensors."""
    if any(batch.ndim > 1 for batch in indexes):
        preds, target, indexes = ([tensor] for tensor in distinct_documents(preds, target, indexes))
    if preds[0].device.type != "cpu":
        scored, judged, queries = (torch.cat(list(batches)) for batches in (preds, target, indexes))
        return rank_on_device(scored, judged, queries, Options(ties=ties), _READS)
    if sum(map(len, preds)) > _FEW:
        return rank_kept(batches_frame(preds, target, indexes), ties)
    scores, grades, ids = (_array(batches) for batches in (preds, target, indexes))
    if np.isnan(scores).any() or (grades.dtype.kind == "f" and np.isnan(grades).any()):  # which is an error there
        return rank_kept(batches_frame(preds, target, indexes), ties)
    return _rank_few(scores, grades, ids, ties)


def rank_kept(rows: pl.DataFrame, ties: Ties) -> Ranking:
    """Rank the rows of a frame with the columns of `COLUMNS`."""
    return rank_frame(rows, _COLUMNS, Options(ties=ties), _READS)


def _array(batches: Batches) -> NDArray[Any]:
    return from_torch(batches[0] if len(batches) == 1 else torch.cat(list(batches))).to_numpy()


def _rank_few(scores: NDArray[Any], grades: NDArray[Any], ids: NDArray[Any], ties: Ties) -> Ranking:
    from polars_retrieval.ranking.few import rank_few

    is_binary = grades.dtype.kind != "f" and grades.min() >= 0 and grades.max() <= 1
    levels, table = (grades.astype(np.int64), _BINARY) if is_binary else _levels(grades)
    found = rank_few(ids, scores, levels, ties)
    hits = found.hits
    one_grade = is_binary or (table["grade"] > 0).sum() <= 1
    return Ranking(
        hits=hits.lazy(),
        queries=_queries(found.lengths, hits, None if is_binary else table),
        grouping=Grouping(pl.DataFrame([pl.Series("indexes", found.ids)]), found.lengths),
        levels=table,
        reads=_READS,
        has_ties=found.has_ties,
        ideal=None if one_grade else _ideal(hits, table),
        rows=hits,
    )


def _levels(grades: NDArray[Any]) -> tuple[NDArray[Any], pl.DataFrame]:
    levels = find_levels(pl.Series(grades), 1, _READS)
    return levels.of_rows.cast(pl.UInt32).to_numpy().astype(np.int64), levels.table


def _queries(lengths: NDArray[Any], hits: pl.DataFrame, levels: pl.DataFrame | None) -> pl.DataFrame:
    """Count the documents of each query: all are retrieved and judged."""
    queries, n = hits["query"].to_numpy(), len(lengths)

    def count(what: str) -> NDArray[Any]:
        if levels is None:  # all hits are relevant and of the one grade
            return np.bincount(queries, minlength=n)
        return np.bincount(queries, (levels[what].cast(pl.Float64) > 0).gather(hits["level"]), minlength=n)

    n_relevant = count("relevant")
    counts = {
        ("n_rows", "n_retrieved", "n_judged"): lengths,
        ("n_relevant",): n_relevant,
        ("n_nonrelevant", "n_judged_nonrelevant"): lengths - n_relevant,
        ("n_graded",): n_relevant if levels is None else count("grade"),
    }
    columns = {names: pl.Series(values.astype(np.uint32)) for names, values in counts.items()}
    named = [column.alias(name) for names, column in columns.items() for name in names]
    return pl.DataFrame([*named, pl.Series("missing", np.zeros(n, dtype=bool))])


def _ideal(hits: pl.DataFrame, levels: pl.DataFrame) -> pl.DataFrame:
    graded = hits.filter((levels["grade"] > 0).gather(hits["level"]))
    return ideal_hits(graded["query"], graded["level"])
