"""Results recomputed from the definitions, in torch alone, to hold the library against: slower, and independent.

Nothing is shared with the library but the checks of the input. Each query is a row of a matrix of queries x ranks,
and each rank holds what is expected there over all orders of the tied documents. Queries of about one length are
worked on together, so that the matrices have few empty places.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import polars as pl
import torch
from torch.nn.functional import pad

import polars_retrieval as pr
from polars_retrieval.errors import MetricError
from polars_retrieval.measures import parse_all
from polars_retrieval.names import quoted
from polars_retrieval.options import Options, check_choice, check_cutoff
from polars_retrieval.torch.arguments import check_ties
from polars_retrieval.torch.batches import batches_frame
from polars_retrieval.torch.curve import RetrievalRecallAtFixedPrecision
from polars_retrieval.torch.device import DeviceLists
from polars_retrieval.torch.inputs import COLUMNS, check_batch
from polars_retrieval.torch.memory import from_torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor

    from polars_retrieval.frames import Metrics
    from polars_retrieval.measures import Measure
    from polars_retrieval.names import EmptyTargetAction
    from polars_retrieval.torch.arguments import Ties

Engine = Literal["device", "polars"]

_CELLS = 2**21  # places of a matrix that are held at a time
_CUTOFFS = (None, 1, 10, 100)


def verify(
    preds: Tensor,
    target: Tensor,
    indexes: Tensor,
    *,
    metrics: Metrics | None = None,
    max_k: int | None = None,
    min_precision: float = 0.5,
    ties: Ties = "expected",
    empty_target_action: EmptyTargetAction = "neg",
    ignore_index: int | None = None,
    engine: Engine | None = None,
) -> pl.DataFrame:
    """Recompute measures on the device of the predictions from their definitions, and tell how far the library is off.

    The direct computation shares no formula with the library and ranks by other means, so that an error of either
    shows. It is vectorised, but slower than the library.

    Parameters
    ----------
    preds
        The scores, floats of any shape, on any device.
    target
        Which documents are relevant: booleans, or integers 0 and 1. Grades are allowed if a measure reads them; a
        document is then relevant from grade 1.
    indexes
        Which query each document belongs to: integers.
    metrics
        Measures, as for `polars_retrieval.evaluate`, out of those of which a torch class takes the mean over queries;
        None for all of these at several cutoffs, and for the precision-recall curve with what is read off it.
    max_k
        The last k of the curve; None for the length of the longest list.
    min_precision
        The precision to reach, for recall at fixed precision.
    ties
        How equal scores are ranked: `expected`, `stable`, `pessimistic` or `optimistic`.
    empty_target_action
        What a query counts for which a measure is undefined: `neg`, `pos`, `skip` or `error`.
    ignore_index
        Predictions whose target equals this are dropped first.
    engine
        What ranks for the library: `device`, torch on the device of the predictions, or `polars`, on the CPU. None for
        `polars` where the predictions are on the CPU, and else `device`. Recall at fixed precision always comes
        from its class.

    Returns
    -------
    polars.DataFrame
        One row a measure: `measure`; its mean over queries from the `library` and from the `direct` computation (null
        if every query is left out); the largest `difference` of the two over queries; and the `query` where that is,
        its value in `indexes`. A query that only one of them leaves out differs by infinity. For the curve the row
        is that of the k where the two mean curves differ most; for what is of all queries together, `query` is null.

    Raises
    ------
    MetricError
        If no torch class gives a value of the measure for each query.
    DataError
        If the tensors are empty, differ in shape, are of another type, or hold NaN.
    ParameterError
        If an option has a value that is not allowed.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch import verification
    >>> preds, target = tensor([0.2, 0.3, 0.5, 0.1]), tensor([1, 0, 1, 1])
    >>> found = verification.verify(preds, target, tensor([0, 0, 0, 1]), metrics=["recall@2", "ndcg"])
    >>> found.select("measure", "library", found["difference"] < 1e-12)
    shape: (2, 3)
    ┌──────────┬─────────┬────────────┐
    │ measure  ┆ library ┆ difference │
    │ ---      ┆ ---     ┆ ---        │
    │ str      ┆ f64     ┆ bool       │
    ╞══════════╪═════════╪════════════╡
    │ recall@2 ┆ 0.75    ┆ true       │
    │ ndcg     ┆ 0.95986 ┆ true       │
    └──────────┴─────────┴────────────┘
    """
    measures = _all_measures() if metrics is None else parse_all(metrics)
    _check_measures(measures)
    check_ties(ties)
    check_cutoff("max_k", max_k)
    if engine is not None:
        check_choice("engine", engine, Engine)
    graded = any("grade" in measure.reads for measure in measures)
    batch = check_batch(preds, target, indexes, ignore_index, graded=graded)
    options = Options(ties=ties, empty_target_action=empty_target_action)
    lists = _ranked_lists(*batch, options, engine)
    direct = _Direct(*batch, options)
    found = _compare(lists, direct, measures)
    if metrics is None:
        curve = direct.curve(max_k or direct.longest)
        on_curve = _compare_curves(lists.pr_curve(max_k=max_k), curve)
        recall = _library_recall(batch, min_precision, max_k, options)
        read_off = _compare_read_off(recall, curve, min_precision)
        # These are of all queries together.
        found = pl.concat([found, *on_curve, read_off], how="diagonal")
    return found


def _all_measures() -> list[Measure]:
    """Return the measures of the torch classes, at several cutoffs."""
    with_cutoff = [pr.precision, pr.precision(adaptive_k=True), pr.recall, pr.hit_rate, pr.fall_out]
    with_cutoff += [pr.reciprocal_rank, pr.auroc]
    with_cutoff += [pr.average_precision(denominator=name) for name in ("relevant", "min", "hits")]
    with_cutoff += [pr.ndcg(gain=name) for name in ("linear", "exponential")]
    return [pr.r_precision, *(measure(k=k) for measure in with_cutoff for k in _CUTOFFS)]


def _check_measures(measures: Sequence[Measure]) -> None:
    for measure in measures:
        if measure.declaration.name not in _FORMULAS:
            msg = f"`metrics` has `{measure}`, which has no value a query from a torch class; {quoted(_FORMULAS)} have"
            raise MetricError(msg)
        if "max_fpr" in measure.parameters:
            msg = f"`metrics` has `{measure}`, whose partial area is not computed a second time here; `auroc` itself is"
            raise MetricError(msg)


def _ranked_lists(
    preds: Tensor, target: Tensor, indexes: Tensor, options: Options, engine: Engine | None
) -> pr.RankedLists:
    """Rank with the engine asked for."""
    on_device = engine == "device" if engine else preds.device.type != "cpu"
    given: dict[str, Any] = {"ties": options.ties, "empty_target_action": options.empty_target_action}
    if on_device:
        return DeviceLists(preds, target, indexes, **given)
    return pr.RankedLists(batches_frame([preds], [target], [indexes]), **COLUMNS, **given)


# --- the comparison ---


_SCHEMA = {"measure": pl.String, "library": pl.Float64, "direct": pl.Float64, "difference": pl.Float64}


def _compare(lists: pr.RankedLists, direct: _Direct, measures: Sequence[Measure]) -> pl.DataFrame:
    """Compare the values of each query."""
    library = lists.per_query(measures).sort("indexes")
    ids, names = library["indexes"].alias("query"), [str(measure) for measure in measures]
    rows = []
    for name, value in zip(names, direct.values(measures), strict=True):
        at = _difference(library[name], from_torch(value)).arg_max() or 0
        rows.append(_row(name, library[name], from_torch(value)).with_columns(ids[at : at + 1]))
    return pl.concat(rows)


def _row(name: str, library: pl.Series, direct: pl.Series) -> pl.DataFrame:
    """Compare the values of one measure."""
    columns = {
        "measure": name,
        "library": library.mean(),
        "direct": direct.fill_nan(None).mean(),
        "difference": _difference(library, direct).max(),
    }
    return pl.DataFrame(columns, schema=_SCHEMA)


def _difference(library: pl.Series, direct: pl.Series) -> pl.Series:
    """Return how far values are apart; one that is left out is null from the library, and NaN if computed directly."""
    direct = direct.fill_nan(None)
    difference = (library - direct).abs().fill_nan(None).fill_null(float("inf"))
    return difference.set(library.is_null() & direct.is_null(), 0.0)


def _compare_curves(library: pl.DataFrame, direct: tuple[Tensor, Tensor]) -> Iterator[pl.DataFrame]:
    """Compare the mean curves at the k where they differ most."""
    for name, values in zip(("precision", "recall"), map(from_torch, direct), strict=True):
        at = _difference(library[name], values).arg_max() or 0
        yield _row(f"curve {name}@{at + 1}", library[name][at : at + 1], values[at : at + 1])


def _library_recall(
    batch: tuple[Tensor, Tensor, Tensor], min_precision: float, max_k: int | None, options: Options
) -> Tensor:
    """Return what the torch class reads off the curve."""
    given: dict[str, Any] = {"ties": options.ties, "empty_target_action": options.empty_target_action}
    metric = RetrievalRecallAtFixedPrecision(min_precision, max_k, **given)
    preds, target, indexes = batch
    metric.update(preds, target >= 1, indexes)
    return metric.compute()[0]


def _compare_read_off(library: Tensor, direct: tuple[Tensor, Tensor], min_precision: float) -> pl.DataFrame:
    """Compare the recall at a precision; where rounding decides if that is reached, take what is nearer."""
    precision, recall = direct
    rounding = torch.finfo(library.dtype).eps  # of the class's result, which is float32 for most predictions
    readings = [recall[precision >= min_precision + step] for step in (-rounding, rounding)]
    values = [float(pad(reading, (0, 1)).max().to(library.dtype)) for reading in readings]
    nearer = min(values, key=lambda value: abs(value - float(library)))
    return _row(f"recall at precision {min_precision}", pl.Series([float(library)]), pl.Series([nearer]))


# --- the direct computation ---


class _Direct:
    """Values of queries, in the order of their ids."""

    def __init__(self, preds: Tensor, target: Tensor, indexes: Tensor, options: Options) -> None:
        self._preds, self._target, self._options = preds + 0.0, target.double(), options  # -0.0 + 0.0 is 0.0
        _, self._numbers = torch.unique(indexes, return_inverse=True)
        self._lengths = torch.bincount(self._numbers)
        self.longest = int(self._lengths.max())

    def values(self, measures: Sequence[Measure]) -> list[Tensor]:
        """Return the value of each query, NaN where it is left out, for each measure."""
        values = self._preds.new_full((len(measures), len(self._lengths)), float("nan"), dtype=torch.float64)
        for queries, lists in self._blocks():
            for row, measure in zip(values, measures, strict=True):
                formula, parameters = _FORMULAS[measure.declaration.name], measure.parameters
                row[queries] = self._defined(formula(lists, **parameters), _needed(lists, measure))
        return list(values)

    def curve(self, max_k: int) -> tuple[Tensor, Tensor]:
        """Return precision and recall at k = 1 … max_k, the means over queries that are not left out."""
        hits, recall = self._preds.new_zeros((2, max_k), dtype=torch.float64)
        n_defined = 0
        for _, lists in self._blocks():
            defined = lists.n_relevant > 0
            hits_at_k = lists.expected.cumsum(1)[defined, :max_k]
            hits += _extended(hits_at_k.sum(0), max_k)
            recall += _extended((hits_at_k / lists.n_relevant[defined, None]).sum(0), max_k)
            n_defined += int(defined.sum())
        n_undefined = 0 if self._options.empty_target_action == "skip" else len(self._lengths) - n_defined
        ones = n_undefined if self._options.empty_target_action == "pos" else 0
        n = n_defined + n_undefined  # 0 makes NaN
        return (hits / torch.arange(1, max_k + 1, device=hits.device) + ones) / n, (recall + ones) / n

    def _defined(self, value: Tensor, needed: Tensor) -> Tensor:
        """Put what the options say where there is no document of the kind needed."""
        undefined = {"neg": 0.0, "pos": 1.0}.get(self._options.empty_target_action, float("nan"))
        return torch.where(needed > 0, value, undefined)

    def _blocks(self) -> Iterator[tuple[Tensor, _Lists]]:
        """Rank queries of about one length together: those longer than half of 1, 2, 4, …, and not longer than it."""
        rows = self._numbers.argsort(stable=True)
        starts = self._lengths.cumsum(0) - self._lengths
        for power in range(self.longest.bit_length() + 1):
            queries = ((self._lengths <= 2**power) & (2 * self._lengths > 2**power)).nonzero().squeeze(1)
            width = int(self._lengths[queries].max()) if len(queries) else 1
            for part in queries.split(max(1, _CELLS // width)):
                if len(part):
                    yield part, self._ranked(rows, starts[part], self._lengths[part], width)

    def _ranked(self, rows: Tensor, starts: Tensor, lengths: Tensor, width: int) -> _Lists:
        """Rank some queries, whose rows start at some places: a matrix of queries x ranks."""
        columns = torch.arange(width, device=rows.device)
        there = columns < lengths.unsqueeze(1)
        rows = rows[(starts.unsqueeze(1) + columns).clamp(max=len(rows) - 1)]
        ties = self._options.ties
        if ties in ("pessimistic", "optimistic"):
            last = float("inf") if ties == "pessimistic" else -float("inf")
            targets = self._target[rows].masked_fill(~there, last)
            rows = rows.gather(1, targets.sort(dim=1, stable=True, descending=ties == "optimistic").indices)
        scores = self._preds[rows].masked_fill(~there, -float("inf"))
        scores, order = scores.sort(dim=1, stable=True, descending=True)
        targets = self._target[rows.gather(1, order)].masked_fill(~there, 0.0)
        if ties != "expected":  # then each document has a place of its own
            return _Lists(there, targets, columns.expand_as(there))
        changes = (scores[:, 1:] != scores[:, :-1]) | ~there[:, 1:]
        return _Lists(there, targets, pad(changes.cumsum(1), (1, 0)))


def _extended(sums: Tensor, length: int) -> Tensor:
    """Let the sums of hits down to each rank stay as they are beyond the last."""
    return torch.cat([sums, sums[-1:].expand(length - len(sums))])


@dataclass(frozen=True)
class _Lists:
    """Ranked lists as matrices of queries x ranks: which places there are, the grades, and tie groups by number.

    What is of a rank is a matrix, and what is of a query a vector.
    """

    there: Tensor
    grades: Tensor
    groups: Tensor

    @cached_property
    def rank(self) -> Tensor:
        """The ranks from 1, as a row."""
        return torch.arange(1, self.there.shape[1] + 1, device=self.there.device, dtype=torch.float64)

    @cached_property
    def relevant(self) -> Tensor:
        """1 for a relevant document, in one of the orders that ties allow."""
        return (self.there & (self.grades >= 1)).double()

    @cached_property
    def n(self) -> Tensor:
        """How many documents a query has."""
        return self.there.double().sum(1)

    @cached_property
    def n_relevant(self) -> Tensor:
        """How many of them are relevant."""
        return self.relevant.sum(1)

    @cached_property
    def tied(self) -> Tensor:
        """How many documents the tie group at a rank has."""
        return self._of_group(torch.ones_like(self.relevant))

    @cached_property
    def tied_hits(self) -> Tensor:
        """How many of them are relevant."""
        return self._of_group(self.relevant)

    @cached_property
    def expected(self) -> Tensor:
        """The probability that the document at a rank is relevant."""
        return self.tied_hits / self.tied

    @cached_property
    def place(self) -> Tensor:
        """The place of a rank within its tie group, from 1."""
        return self.rank - self._before_group(torch.ones_like(self.relevant))

    @cached_property
    def hits_above(self) -> Tensor:
        """How many relevant documents stand above the tie group at a rank."""
        return self._before_group(self.relevant)

    @cached_property
    def none_before(self) -> Tensor:
        """The probability that no relevant document stands above a rank, and after it, that none is at it either."""
        # Of the documents of the group that are still to come, those that are not relevant, by draw.
        left = self.tied - self.place + 1
        missed = ((left - self.tied_hits) / left).clamp(min=0)
        return pad(missed.cumprod(1), (1, 0), value=1.0)

    def _of_group(self, value: Tensor) -> Tensor:
        """Add up a value over the tie group at each rank."""
        return torch.zeros_like(value).scatter_add_(1, self.groups, value).gather(1, self.groups)

    def _before_group(self, value: Tensor) -> Tensor:
        """Add up a value over the ranks above the tie group at each rank."""
        sums = torch.zeros_like(value).scatter_add_(1, self.groups, value)
        return (sums.cumsum(1) - sums).gather(1, self.groups)

    def mean_of_group(self, value: Tensor) -> Tensor:
        """Give the mean of a value over the tie group at each rank."""
        return self._of_group(value) / self.tied

    def within(self, k: int | None) -> Tensor:
        """Tell which ranks there are among the first k."""
        return self.there if k is None else self.there & (self.rank <= k)

    def add_up(self, value: Tensor, k: int | None) -> Tensor:
        """Add up a value over the first k ranks."""
        return torch.where(self.within(k), value, 0.0).sum(1)


# --- the definitions ---


def _ratio(numerator: Tensor, denominator: Tensor) -> Tensor:
    """Divide, and give 0 where there is nothing to divide by."""
    return torch.where(denominator > 0, numerator / denominator, 0.0)


def _precision(lists: _Lists, k: int | None = None, adaptive_k: bool = False) -> Tensor:
    hits = lists.add_up(lists.expected, k)
    if k is None:
        return hits / lists.n
    return hits / (lists.n.clamp(max=k) if adaptive_k else k)


def _recall(lists: _Lists, k: int | None = None, capped: bool = False) -> Tensor:
    most = lists.n_relevant.clamp(max=k) if capped and k is not None else lists.n_relevant
    return lists.add_up(lists.expected, k) / most


def _r_precision(lists: _Lists) -> Tensor:
    first = lists.rank <= lists.n_relevant.unsqueeze(1)
    return (lists.expected * first).sum(1) / lists.n_relevant


def _hit_rate(lists: _Lists, k: int | None = None) -> Tensor:
    width = lists.there.shape[1]
    return 1 - lists.none_before[:, width if k is None else min(k, width)]


def _fall_out(lists: _Lists, k: int | None = None) -> Tensor:
    return lists.add_up(1 - lists.expected, k) / (lists.n - lists.n_relevant)


def _reciprocal_rank(lists: _Lists, k: int | None = None) -> Tensor:
    first_hit_here = lists.none_before[:, :-1] - lists.none_before[:, 1:]
    return lists.add_up(first_hit_here / lists.rank, k)


def _average_precision(lists: _Lists, k: int | None = None, denominator: str = "relevant") -> Tensor:
    others = _ratio((lists.place - 1) * (lists.tied_hits - 1), lists.tied - 1)
    precisions = lists.expected * (lists.hits_above + 1 + others) / lists.rank
    if denominator == "hits" and k is not None:
        return _mean_precision_of_hits(lists, k, precisions)
    most = lists.n_relevant.clamp(max=k) if denominator == "min" and k is not None else lists.n_relevant
    return lists.add_up(precisions, k) / most


def _mean_precision_of_hits(lists: _Lists, k: int, precisions: Tensor) -> Tensor:
    cut = _Cut.of(lists, k)
    total, n_hits = cut.add_up_whole(precisions), cut.add_up_whole(lists.expected)
    inverse_ranks = cut.add_up_seen(1 / lists.rank)
    places_by_rank = cut.add_up_seen((lists.place - 1) / lists.rank)

    def mean(hits: Tensor) -> Tensor:
        # Given how many hits are seen, each of the places seen is as likely as any other.
        others = _ratio(hits - 1, cut.seen - 1)
        of_cut = _ratio(hits, cut.seen) * ((cut.hits_above + 1) * inverse_ranks + others * places_by_rank)
        return _ratio(total + of_cut, n_hits + hits)

    return cut.expect(mean)


def _ndcg(lists: _Lists, k: int | None = None, gain: str = "linear") -> Tensor:
    grades = lists.grades.clamp(min=0)
    gains = grades if gain == "linear" else 2**grades - 1
    discounts = 1 / torch.log2(lists.rank + 1)
    ideal = gains.sort(dim=1, descending=True).values
    return lists.add_up(lists.mean_of_group(gains) * discounts, k) / lists.add_up(ideal * discounts, k)


def _auroc(lists: _Lists, k: int | None = None) -> Tensor:
    cut = _Cut.of(lists, lists.there.shape[1] if k is None else k)
    n_hits, n_others = cut.add_up_whole(lists.expected), cut.add_up_whole(1 - lists.expected)
    # Each document that is not relevant is beaten by the hits above its tie group, and half by those in it.
    right = cut.add_up_whole((1 - lists.expected) * (lists.hits_above + lists.tied_hits / 2))

    def share(hits: Tensor) -> Tensor:
        others = cut.seen - hits
        return _ratio(right + others * (cut.hits_above + hits / 2), (n_hits + hits) * (n_others + others))

    return cut.expect(share)


@dataclass(frozen=True)
class _Cut:
    """The tie group that rank k cuts through, and how many of its documents are seen; sizes are 0 without such one.

    `inside` tells which ranks are of the group. The sizes are a column, so that they go with one of numbers of hits.
    """

    lists: _Lists
    k: int
    inside: Tensor
    tied: Tensor
    hits: Tensor
    hits_above: Tensor
    seen: Tensor

    @classmethod
    def of(cls, lists: _Lists, k: int) -> _Cut:
        last = slice(k - 1, k)  # no rank, if the lists are shorter
        seen, tied = lists.place[:, last], lists.tied[:, last]
        is_cut = lists.there[:, last] & (seen < tied)
        if k > lists.there.shape[1]:
            is_cut = torch.zeros_like(lists.there[:, :1])
            zeros = is_cut.double()
            return cls(lists, k, torch.zeros_like(lists.there), zeros, zeros, zeros, zeros)
        inside = is_cut & (lists.groups == lists.groups[:, last])
        sizes = (tied, lists.tied_hits[:, last], lists.hits_above[:, last], seen)
        return cls(lists, k, inside, *(torch.where(is_cut, size, 0.0) for size in sizes))

    def add_up_whole(self, value: Tensor) -> Tensor:
        """Add up a value over the ranks of groups that are within k as a whole."""
        return self._column(torch.where(self.inside, 0.0, value))

    def add_up_seen(self, value: Tensor) -> Tensor:
        """Add up a value over the ranks of the group that are within k."""
        return self._column(torch.where(self.inside, value, 0.0))

    def _column(self, value: Tensor) -> Tensor:
        return self.lists.add_up(value, self.k).unsqueeze(1)

    def expect(self, value: Callable[[Tensor], Tensor]) -> Tensor:
        """Give the mean of a function of how many hits are among the documents seen, over all draws of these."""
        fewest = (self.seen - (self.tied - self.hits)).clamp(min=0)
        most = torch.minimum(self.hits, self.seen)
        steps = torch.arange(int((most - fewest).max()) + 1, device=fewest.device)
        hits = fewest + steps
        # How much likelier each number of hits is than the one before; what all are divided by follows from the sum.
        ways = (self.hits - hits + 1) * (self.seen - hits + 1)
        ways_before = hits * (self.tied - self.hits - self.seen + hits)
        likelier = torch.where((steps > 0) & (hits <= most), ways / ways_before, 1.0).log()
        chances = likelier.cumsum(1).masked_fill(hits > most, -float("inf")).softmax(1)
        return (chances * value(hits)).sum(1)


_FORMULAS: dict[str, Callable[..., Tensor]] = {
    "precision": _precision,
    "recall": _recall,
    "r_precision": _r_precision,
    "hit_rate": _hit_rate,
    "fall_out": _fall_out,
    "reciprocal_rank": _reciprocal_rank,
    "average_precision": _average_precision,
    "ndcg": _ndcg,
    "auroc": _auroc,
}


def _needed(lists: _Lists, measure: Measure) -> Tensor:
    """Count the documents without which a measure is undefined."""
    if measure.declaration.name == "fall_out":
        return lists.n - lists.n_relevant
    return (lists.grades > 0).double().sum(1) if measure.declaration.name == "ndcg" else lists.n_relevant
