"""Ranking on the device where the predictions are: only hits and counts of queries leave it.

Rows become one integer each that sorts like (query, score from the highest, level of relevance), as in
`polars_retrieval.ranking.keys`, and `torch.sort` ranks them. The ranking that results is the one that the core would
make of the same rows, number for number, so every measure has the same value. The code runs on any device, the CPU
included.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl
import torch
from torch.nn.functional import pad

from polars_retrieval.columns import Columns, check_values
from polars_retrieval.grouping import Grouping
from polars_retrieval.measures import all_reads
from polars_retrieval.options import Options
from polars_retrieval.ranked_frame import GRADED, RELEVANT, Ranking, Rankings
from polars_retrieval.ranked_lists import RankedLists
from polars_retrieval.ranking import find_levels, ideal_hits, with_group_rows
from polars_retrieval.torch.arguments import check_ties
from polars_retrieval.torch.inputs import COLUMNS
from polars_retrieval.torch.memory import from_torch, to_torch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor

    from polars_retrieval.measures import Measure
    from polars_retrieval.names import EmptyTargetAction, Ties

TENSOR_COLUMNS = Columns(query=(COLUMNS["query"],), score=COLUMNS["score"], relevance=COLUMNS["relevance"])

_KEY_BITS = 63  # torch sorts signed integers only, and a key is not negative
_NARROW = 256  # whole grades that are cheaper to suppose than to look for
_SAMPLE = 100_000  # queries that show, nearly always, that rows of one query stand apart


class DeviceLists(RankedLists):
    """`polars_retrieval.RankedLists` of tensors, ranked where the tensors are.

    `preds`, `target` and `indexes` are flat tensors as `polars_retrieval.torch.inputs.check_batch` returns them, on
    one device; several batches of them are to be joined first, on the device.
    """

    def __init__(
        self,
        preds: Tensor,
        target: Tensor,
        indexes: Tensor,
        *,
        ties: Ties = "expected",
        empty_target_action: EmptyTargetAction = "neg",
    ) -> None:
        check_ties(ties)
        options = Options(ties=ties, empty_target_action=empty_target_action)
        self._rankings = _DeviceRankings(preds, target, indexes, options)


class _DeviceRankings(Rankings):
    """Rankings on a device, in as much detail as measures have asked for."""

    def __init__(self, preds: Tensor, target: Tensor, indexes: Tensor, options: Options) -> None:
        self.columns, self.options = TENSOR_COLUMNS, options
        self._tensors = preds, target, indexes
        self._on_device: Ranking | None = None

    def of(self, measures: Iterable[Measure]) -> Ranking:
        """Return the ranked lists with what measures want to know of the documents."""
        known = self._on_device.reads if self._on_device else frozenset()
        reads = known | all_reads(measures)
        if self._on_device is None or reads != known:
            self._on_device = rank_on_device(*self._tensors, self.options, reads)
        return self._on_device

    def with_unjudged_relevant(self) -> Rankings:
        """Return the ranked lists as they are: each document of a tensor is judged."""
        return self


def rank_on_device(
    preds: Tensor, target: Tensor, indexes: Tensor, options: Options, reads: Iterable[str] = frozenset()
) -> Ranking:
    """Rank the documents of every query on the device of the tensors, and count.

    ``reads`` says what measures want to know of documents beside whether they are relevant.
    """
    _check_nan(preds, target, indexes)
    numbers, grouping = _group(indexes)
    levels, table = _levels(target, options.min_relevance, reads)
    n_rows = torch.bincount(numbers, minlength=grouping.n_numbers)
    rows = _Rows(numbers, n_rows, _ordered(preds), levels, table.height - 1)
    hits = _rank(rows, options.ties)
    frame = hits.frame()
    return Ranking(
        hits=with_group_rows(frame, grouping.n_numbers),
        queries=_counts(hits, n_rows, table, _negative(target, rows, table, reads)),
        grouping=grouping,
        levels=table,
        reads=frozenset(reads),
        has_ties=bool((frame["tied"] > 1).any()),
        ideal=_ideal(frame, table),
    )


def _check_nan(preds: Tensor, target: Tensor, indexes: Tensor) -> None:
    """Raise for a NaN, as the core does: it is handed the rows that have one."""
    is_nan = preds.isnan() | target.isnan() if target.is_floating_point() else preds.isnan()
    if is_nan.any():
        rows = {"preds": preds, "target": target, "indexes": indexes}
        check_values(pl.DataFrame({name: from_torch(tensor[is_nan]) for name, tensor in rows.items()}), TENSOR_COLUMNS)


# --- queries ---


@dataclass(frozen=True)
class _Scattered(Grouping):
    """Queries whose rows do not stand together: of these, only their counts and order have left the device."""

    in_order: pl.Series = field(default_factory=pl.Series)

    def numbers_in_order(self) -> pl.Series:
        """Return the numbers that have rows, in order of first appearance."""
        return self.in_order


def _group(indexes: Tensor) -> tuple[Tensor, Grouping]:
    """Give the queries the numbers that `polars_retrieval.grouping.group_rows` gives, and each row its query's."""
    changes = indexes[1:] != indexes[:-1]
    starts = pad(changes.nonzero().squeeze(1) + 1, (1, 0))
    heads = indexes[starts]
    if _are_distinct(heads[:_SAMPLE]) and _are_distinct(heads):
        lengths = pad(starts[1:], (0, 1), value=len(indexes)) - starts
        return pad(changes.cumsum(0), (1, 0)), Grouping(_ids(heads), lengths.numpy(force=True))
    low, high = (int(end) for end in torch.aminmax(heads))
    if high - low <= 2 * len(indexes):
        return _group_by_value(indexes, low, high)
    distinct, numbers = torch.unique(indexes, return_inverse=True)
    in_order = _first_rows(numbers, len(distinct)).argsort()
    renumbered = torch.empty_like(in_order)
    renumbered[in_order] = torch.arange(len(in_order), device=in_order.device)
    numbers = renumbered[numbers]
    return numbers, _scattered(distinct[in_order], numbers, pl.int_range(len(distinct), eager=True))


def _group_by_value(indexes: Tensor, low: int, high: int) -> tuple[Tensor, Grouping]:
    """Take as number an id's distance from the smallest; some numbers may have no row."""
    numbers = indexes.long() - low
    first_rows = _first_rows(numbers, high - low + 1)
    in_order = first_rows.argsort()[: (first_rows < len(numbers)).sum()]
    return numbers, _scattered(_whole_numbers(low, high, indexes), numbers, from_torch(in_order))


def _are_distinct(ids: Tensor) -> bool:
    return len(torch.unique(ids)) == len(ids)


def _first_rows(numbers: Tensor, n: int) -> Tensor:
    """Return the first row of each number below n; of a number without rows, one beyond the last row."""
    rows = torch.arange(len(numbers), device=numbers.device)
    return rows.new_full((n,), len(numbers)).scatter_reduce_(0, numbers, rows, "amin")


def _scattered(ids: Tensor, numbers: Tensor, in_order: pl.Series) -> Grouping:
    lengths = torch.bincount(numbers, minlength=len(ids)).numpy(force=True)
    return _Scattered(_ids(ids), lengths, in_order=in_order)


def _whole_numbers(low: int, high: int, like: Tensor) -> Tensor:
    """Return the whole numbers from low to high, in the type and on the device of a tensor."""
    return (torch.arange(high - low + 1, device=like.device) + low).to(like.dtype)


def _ids(ids: Tensor) -> pl.DataFrame:
    return from_torch(ids).to_frame(COLUMNS["query"])


# --- levels of relevance ---


def _levels(target: Tensor, min_relevance: float, reads: Iterable[str]) -> tuple[Tensor, pl.DataFrame]:
    """Give rows their levels, and what the documents of each level have in common.

    The core decides on the few grades that there may be; each row then looks up its own.
    """
    grades, place = _grades(target.view(torch.uint8) if target.dtype == torch.bool else target)
    levels = find_levels(from_torch(grades), min_relevance, reads)
    of_grades = to_torch(levels.of_rows.cast(pl.Int32)).to(target.device)
    return of_grades[place], levels.table


def _grades(target: Tensor) -> tuple[Tensor, Tensor]:
    """Return the grades that there may be, from the lowest, and the place of each row's grade among them."""
    if not target.is_floating_point():
        low, high = (int(end) for end in torch.aminmax(target))
        if high - low < _NARROW:
            return _whole_numbers(low, high, target), target.long() - low
    return torch.unique(target, return_inverse=True)


# --- ranking ---


@dataclass(frozen=True)
class _Rows:
    """Rows to be ranked: their query numbers, how many rows each has, their scores as integers, and their levels."""

    numbers: Tensor
    n_rows: Tensor
    scores: Tensor
    levels: Tensor
    max_level: int


@dataclass(frozen=True)
class _Hits:
    """Hits by query, and from the best rank down, with the columns of `polars_retrieval.ranking.hits`."""

    query: Tensor
    level: Tensor
    place: Tensor
    above: Tensor
    tied: Tensor

    def frame(self) -> pl.DataFrame:
        """Return them on the CPU."""
        columns = torch.stack([self.query, self.level, self.place, self.above, self.tied]).to("cpu", torch.int32)
        names = ("query", "level", "place", "above", "tied")
        return pl.DataFrame({n: from_torch(c) for n, c in zip(names, columns, strict=True)}).cast(pl.UInt32)


def _ordered(preds: Tensor) -> Tensor:
    """Return integers of the same order as scores.

    The bits of a float are its sign and then its magnitude: a negative one becomes minus its magnitude. So -0.0
    becomes 0, as 0.0 does. Only scores that float32 cannot hold need 64 bits.
    """
    narrow = preds.float()
    if preds.dtype == torch.float64 and not (narrow.double() == preds).all():
        return _signed(preds.view(torch.int64), 2**63 - 1)
    return _signed(narrow.view(torch.int32), 2**31 - 1)


def _signed(bits: Tensor, magnitude: int) -> Tensor:
    return torch.where(bits < 0, -(bits & magnitude), bits).long()


def _rank(rows: _Rows, ties: Ties) -> _Hits:
    """Sort rows, and read the hits out of them."""
    order, groups = _sort(rows, ties)
    levels = rows.levels[order]
    at = levels.nonzero().squeeze(1)
    query, level = rows.numbers[order[at]], levels[at].long()
    first = rows.n_rows.cumsum(0) - rows.n_rows
    place = at - first[query]
    if ties != "expected":
        return _Hits(query, level, place, place, torch.ones_like(place))
    start, end = torch.searchsorted(groups, groups[at]), torch.searchsorted(groups, groups[at], right=True)
    # Within a group the levels descend: they are all one if the first and the last are.
    uneven = levels[start] != levels[end - 1]
    above, tied = torch.where(uneven, start - first[query], place), torch.where(uneven, end - start, 1)
    return _Hits(query, level, place, above, tied)


def _sort(rows: _Rows, ties: Ties) -> tuple[Tensor, Tensor]:
    """Return the order by query and rank, and, in that order, integers that tell tie groups apart and do not fall."""
    worst, best = (int(end) for end in torch.aminmax(rows.scores))
    query_bits, score_bits = (len(rows.n_rows) - 1).bit_length(), (best - worst).bit_length()
    tie_break = _tie_break(rows, ties)
    level_bits = 0 if tie_break is None else rows.max_level.bit_length()
    if query_bits + score_bits + level_bits > _KEY_BITS:
        return _sort_one_by_one(rows, tie_break)
    keys = (rows.numbers << score_bits) + (best - rows.scores)
    if tie_break is not None:
        keys = (keys << level_bits) + tie_break
    keys, order = torch.sort(keys, stable=tie_break is None)
    return order, keys >> level_bits


def _tie_break(rows: _Rows, ties: Ties) -> Tensor | None:
    """Return what tied documents are ranked by: the most relevant first or last, or, None, the order of the input."""
    if ties == "stable":
        return None
    return rows.levels if ties == "pessimistic" else rows.max_level - rows.levels


def _sort_one_by_one(rows: _Rows, tie_break: Tensor | None) -> tuple[Tensor, Tensor]:
    """Sort what no key can hold: by the last part first, and then, keeping that order, by those before it."""
    order = torch.arange(len(rows.scores), device=rows.scores.device)
    for part in (tie_break, -rows.scores, rows.numbers):
        if part is not None:
            order = order[part[order].argsort(stable=True)]
    numbers, scores = rows.numbers[order], rows.scores[order]
    changes = (numbers[1:] != numbers[:-1]) | (scores[1:] != scores[:-1])
    return order, pad(changes.cumsum(0), (1, 0))


# --- counts ---


def _counts(hits: _Hits, n_rows: Tensor, table: pl.DataFrame, n_negative: Tensor) -> pl.DataFrame:
    """Count the documents of each query; all of them are judged and retrieved."""

    def of_levels(what: pl.Expr) -> Tensor:
        counted = _of_levels(hits.level, table, what)
        return torch.bincount(hits.query[counted], minlength=len(n_rows))

    n_relevant = of_levels(RELEVANT)
    n_nonrelevant = n_rows - n_relevant
    counts = {
        "n_rows": n_rows,
        "n_retrieved": n_rows,
        "n_relevant": n_relevant,
        "n_nonrelevant": n_nonrelevant,
        "n_judged": n_rows,
        "n_judged_nonrelevant": n_nonrelevant - n_negative,
        "n_graded": of_levels(GRADED),
    }
    on_cpu = torch.stack(list(counts.values())).to("cpu")
    frame = pl.DataFrame({name: from_torch(column) for name, column in zip(counts, on_cpu, strict=True)})
    # The core takes for missing a query that has no score; each row has one, but a number may have no row.
    return frame.cast(pl.UInt32).with_columns(missing=pl.col("n_rows") == 0)


def _negative(target: Tensor, rows: _Rows, table: pl.DataFrame, reads: Iterable[str]) -> Tensor:
    """Count the documents of a negative grade, but those that are relevant nevertheless, where that is read."""
    if "judged" not in reads:
        return torch.zeros_like(rows.n_rows)
    negative = (target < 0) & ~_of_levels(rows.levels, table, RELEVANT)
    return torch.bincount(rows.numbers[negative], minlength=len(rows.n_rows))


def _of_levels(levels: Tensor, table: pl.DataFrame, what: pl.Expr) -> Tensor:
    """Tell for which levels an expression of the table's columns is true."""
    return to_torch(table.select(what).to_series()).to(levels.device)[levels]


def _ideal(hits: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame | None:
    """Rank the documents with a gain by their grade, unless all have one grade."""
    graded = table.select(GRADED).to_series()
    if graded.sum() <= 1:
        return None
    with_gain = hits.filter(graded.gather(hits["level"]))
    return ideal_hits(with_gain["query"], with_gain["level"])
