"""Measures of one query's ranking, given as tensors.

>>> from torch import tensor
>>> from polars_retrieval.torch.functional import retrieval_recall
>>> retrieval_recall(tensor([0.2, 0.3, 0.5]), tensor([1, 0, 1]), top_k=2)
tensor(0.5000)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

import polars_retrieval as pr
from polars_retrieval.options import check_bool, check_cutoff
from polars_retrieval.torch.arguments import check_ties, one_cutoff
from polars_retrieval.torch.inputs import COLUMNS, check_list, list_frame
from polars_retrieval.torch.outputs import like_preds

if TYPE_CHECKING:
    from torch import Tensor

    from polars_retrieval.measures import Measure
    from polars_retrieval.torch.arguments import Ties

__all__ = [
    "retrieval_hit_rate",
    "retrieval_precision",
    "retrieval_precision_recall_curve",
    "retrieval_r_precision",
    "retrieval_recall",
]


def retrieval_precision(
    preds: Tensor,
    target: Tensor,
    top_k: int | None = None,
    adaptive_k: bool = False,
    *,
    k: int | None = None,
    ties: Ties = "expected",
) -> Tensor:
    """Return precision: the share of relevant documents among all, or among the first k.

    Parameters
    ----------
    preds
        The scores of one query's documents, floats. Any shape is taken as one list.
    target
        Which documents are relevant: booleans, or integers 0 and 1.
    top_k
        How many ranks count; None for all. A shorter list is still divided by `top_k`.
    adaptive_k
        Divide by the number of documents where that is below `top_k`.
    k
        Older spelling of `top_k`.
    ties
        How equal scores are ranked: `expected`, `stable`, `pessimistic` or `optimistic`.

    Returns
    -------
    torch.Tensor
        One float, 0 if no document is relevant.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch.functional import retrieval_precision
    >>> retrieval_precision(tensor([0.2, 0.3, 0.5]), tensor([True, False, True]), top_k=2)
    tensor(0.5000)
    """
    check_bool("adaptive_k", adaptive_k)
    return _value(pr.precision(k=one_cutoff(top_k, k), adaptive_k=adaptive_k), preds, target, ties)


def retrieval_recall(
    preds: Tensor, target: Tensor, top_k: int | None = None, *, k: int | None = None, ties: Ties = "expected"
) -> Tensor:
    """Return recall: the share of the relevant documents that are among the first k.

    Parameters
    ----------
    preds
        The scores of one query's documents, floats. Any shape is taken as one list.
    target
        Which documents are relevant: booleans, or integers 0 and 1.
    top_k
        How many ranks count; None for all, which makes recall 1.
    k
        Older spelling of `top_k`.
    ties
        How equal scores are ranked: `expected`, `stable`, `pessimistic` or `optimistic`.

    Returns
    -------
    torch.Tensor
        One float, 0 if no document is relevant.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch.functional import retrieval_recall
    >>> retrieval_recall(tensor([0.2, 0.3, 0.5]), tensor([True, False, True]), top_k=2)
    tensor(0.5000)
    """
    return _value(pr.recall(k=one_cutoff(top_k, k)), preds, target, ties)


def retrieval_hit_rate(
    preds: Tensor, target: Tensor, top_k: int | None = None, *, k: int | None = None, ties: Ties = "expected"
) -> Tensor:
    """Return the hit rate: 1 if a relevant document is among the first k, else 0.

    Parameters
    ----------
    preds
        The scores of one query's documents, floats. Any shape is taken as one list.
    target
        Which documents are relevant: booleans, or integers 0 and 1.
    top_k
        How many ranks count; None for all.
    k
        Older spelling of `top_k`.
    ties
        How equal scores are ranked: `expected`, `stable`, `pessimistic` or `optimistic`.

    Returns
    -------
    torch.Tensor
        One float, 0 if no document is relevant.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch.functional import retrieval_hit_rate
    >>> retrieval_hit_rate(tensor([0.2, 0.3, 0.5]), tensor([True, True, False]), top_k=1)
    tensor(0.)
    """
    return _value(pr.hit_rate(k=one_cutoff(top_k, k)), preds, target, ties)


def retrieval_r_precision(preds: Tensor, target: Tensor, *, ties: Ties = "expected") -> Tensor:
    """Return R-precision: precision at the rank that equals the number of relevant documents.

    Parameters
    ----------
    preds
        The scores of one query's documents, floats. Any shape is taken as one list.
    target
        Which documents are relevant: booleans, or integers 0 and 1.
    ties
        How equal scores are ranked: `expected`, `stable`, `pessimistic` or `optimistic`.

    Returns
    -------
    torch.Tensor
        One float, 0 if no document is relevant.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch.functional import retrieval_r_precision
    >>> retrieval_r_precision(tensor([0.2, 0.3, 0.5]), tensor([True, False, True]))
    tensor(0.5000)
    """
    return _value(pr.r_precision, preds, target, ties)


def retrieval_precision_recall_curve(
    preds: Tensor,
    target: Tensor,
    max_k: int | None = None,
    adaptive_k: bool = False,
    *,
    ties: Ties = "expected",
) -> tuple[Tensor, Tensor, Tensor]:
    """Return precision and recall of the first k documents, for each k from 1 to `max_k`.

    Parameters
    ----------
    preds
        The scores of one query's documents, floats. Any shape is taken as one list.
    target
        Which documents are relevant: booleans, or integers 0 and 1.
    max_k
        The last k; None for the number of documents.
    adaptive_k
        Beyond the number of documents, divide precision by that number, and return it in place of k.
    ties
        How equal scores are ranked: `expected`, `stable`, `pessimistic` or `optimistic`.

    Returns
    -------
    tuple of torch.Tensor
        Precision, recall and k, `max_k` values each; precision and recall are 0 if no document is relevant.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch.functional import retrieval_precision_recall_curve
    >>> preds, target = tensor([0.2, 0.3, 0.5]), tensor([True, False, True])
    >>> precision, recall, top_k = retrieval_precision_recall_curve(preds, target, max_k=2)
    >>> precision
    tensor([1.0000, 0.5000])
    >>> recall
    tensor([0.5000, 0.5000])
    >>> top_k
    tensor([1, 2])
    """
    check_cutoff("max_k", max_k)
    check_bool("adaptive_k", adaptive_k)
    check_ties(ties)
    preds, target = check_list(preds, target)
    frame = list_frame(preds, target)
    curve = pr.pr_curve(frame, max_k=max_k, adaptive_k=adaptive_k, ties=ties, **COLUMNS)
    precision, recall = (like_preds(curve[name], [preds]) for name in ("precision", "recall"))
    top_k = torch.arange(1, len(curve) + 1, device=preds.device)
    return precision, recall, top_k.clamp(max=len(preds)) if adaptive_k else top_k


def _value(measure: Measure, preds: Tensor, target: Tensor, ties: Ties) -> Tensor:
    """Return the value of a measure for one query."""
    check_ties(ties)
    preds, target = check_list(preds, target)
    result = pr.evaluate(list_frame(preds, target), measure, ties=ties, **COLUMNS)
    return like_preds(result.to_series(), [preds]).squeeze()
