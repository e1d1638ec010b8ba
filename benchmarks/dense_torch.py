"""What an expert writes where every query has equally many documents: one tensor of queries x documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .values import MAX_K, Values

if TYPE_CHECKING:
    import polars as pl
    import torch


def torch_one_by_one(frame: pl.DataFrame, *, documents: int) -> Values:
    """Compute each measure by its own best way, as separate functions would."""
    scores, relevance = _matrices(frame, documents)
    measures = (
        _precision(scores, relevance, 10),
        _recall(scores, relevance, 10),
        _recall(scores, relevance, 100),
        _r_precision(scores, relevance),
    )
    return Values(measures, *_curve(_top(scores, relevance, MAX_K), relevance))


def torch_shared(frame: pl.DataFrame, *, documents: int) -> Values:
    """Read all five from one ``topk``."""
    import torch

    scores, relevance = _matrices(frame, documents)
    n_relevant = relevance.sum(1)
    top = _top(scores, relevance, max(MAX_K, int(n_relevant.max())))
    first_r = torch.arange(top.shape[1]) < n_relevant[:, None]
    measures = (
        _mean(top[:, :10].sum(1) / 10),
        _mean(top[:, :10].sum(1) / n_relevant.clamp(min=1)),
        _mean(top[:, :MAX_K].sum(1) / n_relevant.clamp(min=1)),
        _mean((top * first_r).sum(1) / n_relevant.clamp(min=1)),
    )
    return Values(measures, *_curve(top[:, :MAX_K], relevance))


def _matrices(frame: pl.DataFrame, documents: int) -> tuple[torch.Tensor, torch.Tensor]:
    return frame["score"].to_torch().view(-1, documents), frame["relevance"].to_torch().view(-1, documents)


def _top(scores: torch.Tensor, relevance: torch.Tensor, k: int, *, ordered: bool = True) -> torch.Tensor:
    """Relevance of the first k documents."""
    return relevance.gather(1, scores.topk(min(k, scores.shape[1]), sorted=ordered).indices)


def _mean(per_query: torch.Tensor) -> float:
    return float(per_query.double().mean())


def _precision(scores: torch.Tensor, relevance: torch.Tensor, k: int) -> float:
    return _mean(_top(scores, relevance, k, ordered=False).sum(1) / k)


def _recall(scores: torch.Tensor, relevance: torch.Tensor, k: int) -> float:
    return _mean(_top(scores, relevance, k, ordered=False).sum(1) / relevance.sum(1).clamp(min=1))


def _r_precision(scores: torch.Tensor, relevance: torch.Tensor) -> float:
    import torch

    n_relevant = relevance.sum(1)
    top = _top(scores, relevance, int(n_relevant.max()))
    first_r = torch.arange(top.shape[1]) < n_relevant[:, None]
    return _mean((top * first_r).sum(1) / n_relevant.clamp(min=1))


def _curve(top: torch.Tensor, relevance: torch.Tensor) -> tuple[Any, Any]:
    import torch

    hits = top.float()
    shares = hits / relevance.sum(1).clamp(min=1)[:, None]
    missing = (0, MAX_K - top.shape[1])  # lists shorter than 100: the hits stay, k goes on
    found, recall = (torch.nn.functional.pad(each.mean(0), missing).cumsum(0) for each in (hits, shares))
    return (found / torch.arange(1, MAX_K + 1)).numpy(), recall.numpy()
