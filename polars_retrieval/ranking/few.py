"""Few rows: sorted by NumPy as they are, which takes less time than laying out a key or planning a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from polars_retrieval.names import Ties


@dataclass(frozen=True)
class FewHits:
    """The hits, with all columns of `polars_retrieval.ranking.hits`; the queries, from the lowest id; their lengths."""

    hits: Mapping[str, NDArray[np.integer[Any]]]
    has_ties: bool
    ids: NDArray[np.integer[Any]]
    lengths: NDArray[np.int64]


def rank_few(
    ids: NDArray[np.integer[Any]], scores: NDArray[np.floating[Any]], levels: NDArray[np.integer[Any]], ties: Ties
) -> FewHits:
    """Rank rows within each query id. Scores are floats, none of them NaN; documents have no ids to break ties by."""
    # Of tied documents the most relevant come first, or last; or all stay in the order they came.
    first = {"stable": (), "pessimistic": (levels,)}.get(ties, (-levels,))
    order = np.lexsort((*first, -scores, ids))
    ids, scores, levels = ids[order], scores[order], levels[order]
    new_query = _changes(ids)
    starts = np.flatnonzero(new_query)
    at = np.flatnonzero(levels)
    query = np.cumsum(new_query)[at] - 1
    groups = _alone(at - starts[query])
    if ties == "expected":
        groups |= _uneven_groups(np.flatnonzero(new_query | _changes(scores)), at, levels, groups)
    hits = {"query": query, "level": levels[at], **groups, "first": np.searchsorted(query, query)}
    return FewHits(hits, bool((groups["tied"] > 1).any()), ids[starts], np.diff(starts, append=len(ids)))


def _alone(place: NDArray[np.intp]) -> dict[str, NDArray[np.intp]]:
    """Let each hit stand as a tie group of its own."""
    row = np.arange(len(place))
    return {"above": place, "tied": np.ones_like(place), "start": row, "end": row + 1}


def _changes(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which values differ from the one before."""
    changes: NDArray[np.bool_] = np.append(True, values[1:] != values[:-1])
    return changes


def _uneven_groups(
    starts: NDArray[np.intp],
    at: NDArray[np.intp],
    levels: NDArray[np.integer[Any]],
    alone: dict[str, NDArray[np.intp]],
) -> dict[str, NDArray[np.intp]]:
    """Let the hits of tie groups, which start at some rows, stand together where their order matters."""
    if len(starts) == len(levels):
        return {}
    ends = np.append(starts[1:], len(levels))
    uneven = levels[starts] != levels[ends - 1]  # they go down within a group
    group = np.searchsorted(starts, at, side="right") - 1
    joined = uneven[group]
    above = at - starts[group]
    start = np.searchsorted(group, group)
    return {
        "above": np.where(joined, alone["above"] - above, alone["above"]),
        "tied": np.where(joined, (ends - starts)[group], 1),
        "start": np.where(joined, start, alone["start"]),
        "end": np.where(joined, np.searchsorted(group, group, side="right"), alone["end"]),
    }
