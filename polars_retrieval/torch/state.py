"""What all metrics on tensors have in common: they keep every prediction until `compute`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities.distributed import gather_all_tensors

from polars_retrieval.errors import DataError, EmptyTargetError, ParameterError
from polars_retrieval.names import AggregationName, EmptyTargetAction
from polars_retrieval.options import check_aggregation, check_bool, check_choice, check_ignore_index
from polars_retrieval.torch.arguments import Ties, check_ties
from polars_retrieval.torch.batches import EVERY, join_small
from polars_retrieval.torch.compact import OTHERS, Kept, is_due
from polars_retrieval.torch.distributed import gather_batches
from polars_retrieval.torch.inputs import COLUMNS, check_batch
from polars_retrieval.torch.rankings import (
    RankedBatches,
    TensorRankings,
    in_frames,
    rank_batches,
    rank_kept,
    shared_ranking,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_SET_AT_UPDATES = frozenset({*COLUMNS.values(), "_update_count", "_computed"})
_PLAIN = (list, int, type(None))

Aggregation = AggregationName | Callable[..., Tensor]


class RankedQueries(Metric):
    """Scored documents of any number of queries, as tensors in the order of their updates."""

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    graded = False  # whether targets may be grades
    kept_values: tuple[str, ...] = ()  # the states that are kept of complete queries

    if TYPE_CHECKING:  # torch.jit.script reads annotations, and knows no list[Tensor]
        indexes: list[Tensor]
        preds: list[Tensor]
        target: list[Tensor]
        other_count: list[Tensor]

    def __init__(
        self,
        empty_target_action: EmptyTargetAction = "neg",
        ignore_index: int | None = None,
        aggregation: Aggregation = "mean",
        *,
        ties: Ties = "expected",
        compact: bool = False,
        queries_complete: bool = False,
        cutoff: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_choice("empty_target_action", empty_target_action, EmptyTargetAction)
        check_ignore_index(ignore_index)
        check_aggregation(aggregation)
        check_ties(ties)
        check_bool("compact", compact)
        check_bool("queries_complete", queries_complete)
        self.allow_non_binary_target = self.graded
        self.empty_target_action = empty_target_action
        self.ignore_index = ignore_index
        self.aggregation = aggregation
        self.ties = ties
        self.compact = compact
        self.queries_complete = queries_complete
        for name in COLUMNS.values():
            self.add_state(name, default=[], dist_reduce_fx=None)
        if ignore_index is not None:
            self._keep_apart(f"ignoring {ignore_index}")
        self._cutoff = cutoff
        if compact:
            self._check_cutoff()
            for name in OTHERS:
                self.add_state(name, default=[], dist_reduce_fx=None)
            self._keep_apart(f"best {cutoff}{' and grades' if self.graded else ''}")
        if queries_complete:
            self._check_alone()
            for name in self.kept_values:
                self.add_state(name, default=[], dist_reduce_fx=None)
            self._keep_apart(f"values {uuid4().hex}")  # of a measure of its own

    def __setattr__(self, name: str, value: Any) -> None:
        # A MetricCollection sets these of all its metrics at every update. torch looks whether a value is a module, a
        # parameter or a buffer first, which none of these is, and takes longer than all else in an update.
        if name in _SET_AT_UPDATES and isinstance(value, _PLAIN):
            self.__dict__[name] = value
        else:
            super().__setattr__(name, value)

    def _keep_apart(self, kept: str) -> None:
        """Let a MetricCollection see that this metric does not keep what others do.

        It has one metric take the updates for all whose states are equal after the first one. This state stays empty.
        """
        self.add_state(kept, default=[], dist_reduce_fx=None)

    def _check_cutoff(self) -> None:
        if self._cutoff is None:
            msg = (
                f"`compact=True` keeps the best documents of each query, but {type(self).__name__} reads all of them "
                "where it has no cutoff\n\nHint: give `top_k`, or `max_k` for a curve."
            )
            raise ParameterError(msg)

    def _check_alone(self) -> None:
        """Raise unless values can be kept instead of documents."""
        if self.compact:
            msg = "`queries_complete=True` keeps no documents, so give it or `compact=True`, not both"
            raise ParameterError(msg)

    def update(self, preds: Tensor, target: Tensor, indexes: Tensor, doc_ids: Tensor | None = None) -> None:
        """Add scored documents; a query's documents may come in several updates.

        Parameters
        ----------
        preds
            The scores, floats of any shape and sign. They are kept as they are: the tensor's own memory, its
            own precision. Small batches, of less than some thousand rows, are joined after some updates.
        target
            Which documents are relevant: booleans, or integers 0 and 1. For RetrievalNormalizedDCG, grades:
            integers, floats, or booleans.
        indexes
            Which query each document belongs to: integers.
        doc_ids
            Which document each is: integers. Then a document counts once in a query, however often it is given,
            with the score that came first, so that samples which a sampler repeats, to give each process equally
            many, change no value. Give it to every update or to none.

        Raises
        ------
        DataError
            If the tensors are empty, differ in shape or are of another type, or if `target` has other values.
        ParameterError
            If `doc_ids` is given to a metric that forgets documents: `compact=True`, `queries_complete=True`.
        """
        if doc_ids is not None and (self.compact or self.queries_complete):
            option = "compact" if self.compact else "queries_complete"
            msg = f"`doc_ids` cannot be given where `{option}=True`: it forgets documents, so repeated ones would count"
            raise ParameterError(msg)
        preds, target, indexes = check_batch(
            preds, target, indexes, self.ignore_index, graded=self.allow_non_binary_target, doc_ids=doc_ids
        )
        if self.queries_complete:
            self._keep_values(preds, target, indexes)
            self._reduce()
            return
        # New lists, since metrics of a MetricCollection may have the old ones in common.
        self.preds = [*self.preds, preds]
        self.target = [*self.target, target]
        self.indexes = [*self.indexes, indexes]
        self._reduce()

    def _keep_values(self, preds: Tensor, target: Tensor, indexes: Tensor) -> None:
        """Keep what is to know of a batch of whole queries; the empty tensors in `preds` tell types and device."""
        lists = rank_batches([preds], [target], [indexes], self.ties)
        kept = self._values_of(TensorRankings(lists, self.ties, self.empty_target_action))
        for name, values in zip(self.kept_values, kept, strict=True):
            setattr(self, name, [*getattr(self, name), values.to(preds.device)])
        if preds.dtype not in {known.dtype for known in self.preds}:
            self.preds = [*self.preds, preds.new_empty(0)]

    def _values_of(self, rankings: TensorRankings) -> Sequence[Tensor]:
        """Return what `kept_values` names, of the ranked lists of a batch."""
        raise NotImplementedError

    def _reduce(self) -> None:
        """Keep the best documents only, if the state is to be compact and has grown to twice its size.

        And join small batches, so that `compute` need not lay out many, or copy them all.
        """
        if self.compact and self._cutoff and is_due(self.preds):
            reduced = self._kept().reduced(self._cutoff, graded=self.graded)
            self._put(reduced.tensors(self.preds[0]))
        elif self.indexes and not len(self.indexes) % EVERY:
            self.preds, self.target, self.indexes = join_small(self.preds, self.target, self.indexes)

    def _kept(self) -> Kept:
        return Kept.of([self.preds, self.target, self.indexes], [getattr(self, name) for name in OTHERS])

    @torch.jit.unused
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Add a batch as `update` does, and return its own value.

        torchmetrics copies what was kept before at every step; here it stays where it is.
        """
        earlier, n_updates, syncs = self.metric_state, self._update_count, self._to_sync
        has_others = not all(isinstance(state, list) for state in earlier.values())  # of a class made of this one
        if self.dist_sync_on_step or self.compute_on_cpu or self._is_synced or has_others:
            return super().forward(*args, **kwargs)
        try:
            self._put(dict.fromkeys(earlier, ()))
            self._to_sync = False
            self.update(*args, **kwargs)
            self._forward_cache = self.compute()
        except BaseException:
            self._put(earlier)
            self._update_count = n_updates
            raise
        else:
            self._put({name: [*before, *getattr(self, name)] for name, before in earlier.items()})
            self._update_count = n_updates + 1
            self._reduce()
        finally:
            self._to_sync, self._computed = syncs, None
        return self._forward_cache

    def _sync_dist(
        self, dist_sync_fn: Callable[..., list[Tensor]] = gather_all_tensors, process_group: Any | None = None
    ) -> None:
        """Gather what the processes have; each may have any number of batches, or none.

        The next metric with the same batches, as in a MetricCollection, is given the very tensors gathered here.
        """
        if self.preds:
            self._reduce()
        lists = {name: given for name in self._defaults if isinstance(given := getattr(self, name), list)}
        group = process_group or self.process_group
        gathered = gather_batches(lists, dist_sync_fn, group, device=self.device, holder=self)
        try:
            self._put(dict.fromkeys(lists, ()))
            super()._sync_dist(dist_sync_fn, process_group)  # other states, of a class made of this one
        finally:
            self._put(lists)
        for name, batches in gathered.items():
            join = self._reductions[name]
            setattr(self, name, join(batches) if callable(join) else list(batches))

    def _put(self, state: Mapping[str, Iterable[Tensor]]) -> None:
        for name, batches in state.items():
            setattr(self, name, list(batches))

    def _rankings(self) -> TensorRankings:
        """Return the ranked lists of all updates."""
        self._check_updated()
        return TensorRankings(self._lists(), self.ties, self.empty_target_action)

    def _check_updated(self) -> None:
        if not self.preds:
            msg = f"No samples to concatenate: {type(self).__name__} was given no predictions by `update`"
            raise DataError(msg)

    def _lists(self) -> RankedBatches:
        has_others = self.compact and any(map(len, self.other_count))
        if has_others and self.graded and self._cutoff:
            return rank_kept(self._kept().with_grades(self._cutoff), self.ties)
        lists = shared_ranking(self.preds, self.target, self.indexes, self.ties, graded=self.graded)
        return self._kept().counted_in(in_frames(lists)) if has_others else lists


@contextmanager
def empty_target_error(undefined_without: str | None = "n_relevant") -> Iterator[None]:
    """Begin the error about a query for which the measure is undefined with torchmetrics' sentence."""
    try:
        yield
    except EmptyTargetError as error:
        sign = "negative" if undefined_without == "n_nonrelevant" else "positive"
        msg = f"`compute` method was provided with a query with no {sign} target.\n\n{error}"
        raise EmptyTargetError(msg) from None
