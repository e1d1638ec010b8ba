"""The ranked lists of the tensors that a metric keeps: those that keep the same tensors share them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import polars as pl
import torch

from polars_retrieval import curve, evaluation
from polars_retrieval.arrays import Lists
from polars_retrieval.columns import Columns
from polars_retrieval.grouping import Grouping
from polars_retrieval.measures import Measure, ndcg
from polars_retrieval.options import Options
from polars_retrieval.ranked_frame import Ranking, Rankings, rank_frame
from polars_retrieval.ranking import best_places, find_levels
from polars_retrieval.torch.batches import batches_frame
from polars_retrieval.torch.device import rank_on_device
from polars_retrieval.torch.documents import distinct_documents
from polars_retrieval.torch.inputs import COLUMNS, check_binary
from polars_retrieval.torch.known import Known
from polars_retrieval.torch.memory import as_array

if TYPE_CHECKING:
    import weakref
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from polars_retrieval.names import EmptyTargetAction
    from polars_retrieval.torch.arguments import Ties

    Batches = Sequence[Tensor]
    Rows = Mapping[str, NDArray[np.integer[Any]]]

_COLUMNS: Final = Columns.of(doc="doc_id", by=None, **COLUMNS)
_READS: Final = ndcg.reads  # of all measures here, nDCG wants to know most
_FEW: Final = 2**14  # rows that are ranked before Polars has planned to


class TensorRankings(Rankings):
    """Ranked lists that are made already, for whatever measures; and what a query counts without a result."""

    def __init__(self, lists: RankedBatches, ties: Ties, empty_target_action: EmptyTargetAction = "neg") -> None:
        self.columns, self.options = _COLUMNS, Options(ties=ties, empty_target_action=empty_target_action)
        self._lists = lists

    def of(self, measures: Iterable[Measure]) -> Ranking:
        """Return the ranked lists."""
        del measures
        return in_frames(self._lists)

    def values(self, measure: Measure) -> pl.Series:
        """Return the values of a measure for the queries that count."""
        if (few := self._few(measure)) is not None:
            return pl.Series(str(measure), few.lists.values(measure, self._undefined))
        values = evaluation.measure_queries(self, [measure])
        return evaluation.present(in_frames(self._lists), values, []).to_series().drop_nulls()

    def per_query(self, measure: Measure) -> pl.DataFrame:
        """Return the `indexes` of the queries that count, and their `values` of a measure."""
        if (few := self._few(measure)) is not None:
            ids = few.ids[few.lists.counted(measure, self._undefined)]
            return pl.DataFrame({"indexes": ids, "values": few.lists.values(measure, self._undefined)})
        return evaluation.per_query(self, [measure]).drop_nulls().rename({str(measure): "values"})

    def longest(self) -> int:
        """Return the length of the longest list."""
        return curve.longest(in_frames(self._lists))

    @property
    def _undefined(self) -> float | None:
        return {"pos": 1.0, "neg": 0.0}.get(self.options.empty_target_action)

    def _few(self, measure: Measure) -> FewLists | None:
        """Return the ranked lists in arrays, unless there may be an error about them."""
        few = self._lists
        if isinstance(few, Ranking) or self.options.empty_target_action == "error":
            return None
        return None if measure.needs_order_of and few.lists.has_ties else few


@dataclass(frozen=True)
class FewLists:
    """Ranked lists in arrays, and the ids of their queries."""

    lists: Lists
    ids: NDArray[np.integer[Any]]

    @cached_property
    def ranking(self) -> Ranking:
        """The ranked lists in frames."""
        hits = _frame(self.lists.hits)
        lengths = self.lists.counts["n_retrieved"]
        counts = {"n_rows": lengths, **self.lists.counts}
        return Ranking(
            hits=hits.lazy(),
            queries=_frame(counts).with_columns(missing=pl.lit(value=False)),
            grouping=Grouping(pl.DataFrame({"indexes": self.ids}), lengths),
            levels=pl.DataFrame(dict(self.lists.levels)),
            reads=_READS,
            has_ties=self.lists.has_ties,
            ideal=None if self.lists.one_grade else _frame(self.lists.ideal()),
            rows=hits,
        )


def _frame(columns: Mapping[str, NDArray[Any]]) -> pl.DataFrame:
    return pl.DataFrame([pl.Series(name, values.astype(np.uint32)) for name, values in columns.items()])


RankedBatches: TypeAlias = Ranking | FewLists
"""The ranked lists of batches, in frames, or, if they are few, in arrays."""


def in_frames(lists: RankedBatches) -> Ranking:
    """Return ranked lists in frames."""
    return lists if isinstance(lists, Ranking) else lists.ranking


def shared_ranking(preds: Batches, target: Batches, indexes: Batches, ties: Ties, *, graded: bool) -> RankedBatches:
    """Return the ranked lists of batches: those of the last call, if it was for the same ones.

    The metrics of a collection keep the same tensors, or views of the same memory. What was made of them is kept until
    one of these tensors is gone.
    """
    global _last  # noqa: PLW0603
    tensors = (*preds, *target, *indexes)
    last = _last
    if last is None or not last.known.is_of(tensors):
        _last = last = _Shared(Known.of(tensors, _forget))
    if not (graded or last.is_binary):  # the metric whose `update` took these batches may have allowed grades
        for batch in target:
            check_binary(batch)
        last.is_binary = True
    if ties not in last.by_ties:
        last.by_ties[ties] = rank_batches(preds, target, indexes, ties, binary=last.is_binary)
    return last.by_ties[ties]


@dataclass
class _Shared:
    """Ranked lists of tensors, by the rule for ties."""

    known: Known
    by_ties: dict[str, RankedBatches] = field(default_factory=dict)
    is_binary: bool = False


_last: _Shared | None = None


def _forget(gone: weakref.ref[Tensor]) -> None:
    """Let go of ranked lists, which hold on to memory, with the first of their tensors that is gone."""
    global _last  # noqa: PLW0603
    if _last is not None and _last.known.has(gone):
        _last = None


def rank_batches(
    preds: Batches, target: Batches, indexes: Batches, ties: Ties, *, binary: bool = False
) -> RankedBatches:
    """Rank the documents of every query, by which indexes tell them apart, in batches of flat tensors.

    Targets that are known to be 0 and 1 take less time.
    """
    if any(batch.ndim > 1 for batch in indexes):
        preds, target, indexes = ([tensor] for tensor in distinct_documents(preds, target, indexes))
    if preds[0].device.type != "cpu":
        scored, judged, queries = (torch.cat(list(batches)) for batches in (preds, target, indexes))
        return rank_on_device(scored, judged, queries, Options(ties=ties), _READS)
    if sum(map(len, preds)) > _FEW:
        rows = batches_frame(preds, target, indexes)
        return rank_kept(rows.with_columns(pl.col("target").cast(pl.Boolean)) if binary else rows, ties)
    scores, grades, ids = (_array(batches) for batches in (preds, target, indexes))
    if np.isnan(scores).any() or (grades.dtype.kind == "f" and np.isnan(grades).any()):  # which is an error there
        return rank_kept(batches_frame(preds, target, indexes), ties)
    return _rank_few(scores, grades, ids, ties)


def rank_kept(rows: pl.DataFrame, ties: Ties) -> Ranking:
    """Rank the rows of a frame with the columns of `COLUMNS`."""
    return rank_frame(rows, _COLUMNS, Options(ties=ties), _READS)


def _array(batches: Batches) -> NDArray[Any]:
    return as_array(batches[0] if len(batches) == 1 else torch.cat(list(batches)))


def _rank_few(scores: NDArray[Any], grades: NDArray[Any], ids: NDArray[Any], ties: Ties) -> FewLists:
    from polars_retrieval.ranking.few import rank_few

    is_binary = grades.dtype.kind != "f" and grades.min() >= 0 and grades.max() <= 1
    levels, columns = (grades.astype(np.intp), _BINARY) if is_binary else _levels(grades)
    found = rank_few(ids, scores, levels, ties)
    hits, n_retrieved = found.hits, found.lengths

    def count(what: NDArray[np.bool_]) -> NDArray[np.intp]:
        return np.bincount(hits["query"][what[hits["level"]]], minlength=len(n_retrieved))

    n_relevant = count(columns["relevant"])
    n_others = n_retrieved - n_relevant
    counts = {  # all are retrieved and judged
        "n_retrieved": n_retrieved,
        "n_relevant": n_relevant,
        "n_nonrelevant": n_others,
        "n_judged": n_retrieved,
        "n_judged_nonrelevant": n_others,
        "n_graded": n_relevant if is_binary else count(columns["grade"] > 0),
    }
    return FewLists(Lists(hits, counts, columns, found.has_ties, partial(_ideal, hits, columns)), found.ids)


def _levels(grades: NDArray[Any]) -> tuple[NDArray[np.intp], dict[str, NDArray[Any]]]:
    levels = find_levels(pl.Series(grades), 1, _READS)
    return levels.of_rows.cast(pl.UInt32).to_numpy().astype(np.intp), _columns(levels.table)


def _columns(levels: pl.DataFrame) -> dict[str, NDArray[Any]]:
    return {column.name: column.to_numpy() for column in levels.get_columns()}


_BINARY: Final = _columns(find_levels(pl.Series([0, 1], dtype=pl.UInt8), 1, _READS).table)


def _ideal(hits: Rows, levels: Mapping[str, NDArray[Any]]) -> Rows:
    graded = (levels["grade"] > 0)[hits["level"]]
    return best_places(hits["query"][graded], hits["level"][graded])
