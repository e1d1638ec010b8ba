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
from polars_retrieval import curve
from polars_retrieval.options import check_bool, check_cutoff
from polars_retrieval.torch.arguments import check_ties, one_cutoff
from polars_retrieval.torch.documentation import documented_function
from polars_retrieval.torch.inputs import check_list
from polars_retrieval.torch.outputs import like_preds, number_like_preds
from polars_retrieval.torch.rankings import TensorRankings, rank_batches

if TYPE_CHECKING:
    from torch import Tensor

    from polars_retrieval.measures import Measure
    from polars_retrieval.measures.declaration import Denominator, Gain
    from polars_retrieval.torch.arguments import Ties

__all__ = [
    "retrieval_auroc",
    "retrieval_average_precision",
    "retrieval_fall_out",
    "retrieval_hit_rate",
    "retrieval_normalized_dcg",
    "retrieval_precision",
    "retrieval_precision_recall_curve",
    "retrieval_r_precision",
    "retrieval_recall",
    "retrieval_reciprocal_rank",
]


@documented_function(top_k="How many ranks count; None for all. A shorter list is still divided by `top_k`.")
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

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch.functional import retrieval_precision
    >>> retrieval_precision(tensor([0.2, 0.3, 0.5]), tensor([True, False, True]), top_k=2)
    tensor(0.5000)
    """
    check_bool("adaptive_k", adaptive_k)
    return _value(pr.precision(k=one_cutoff(top_k, k), adaptive_k=adaptive_k), preds, target, ties)


@documented_function(top_k="How many ranks count; None for all, which makes recall 1.")
def retrieval_recall(
    preds: Tensor, target: Tensor, top_k: int | None = None, *, k: int | None = None, ties: Ties = "expected"
) -> Tensor:
    """Return recall: the share of the relevant documents that are among the first k.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch.functional import retrieval_recall
    >>> retrieval_recall(tensor([0.2, 0.3, 0.5]), tensor([True, False, True]), top_k=2)
    tensor(0.5000)
    """
    return _value(pr.recall(k=one_cutoff(top_k, k)), preds, target, ties)


@documented_function()
def retrieval_hit_rate(
    preds: Tensor, target: Tensor, top_k: int | None = None, *, k: int | None = None, ties: Ties = "expected"
) -> Tensor:
    """Return the hit rate: 1 if a relevant document is among the first k, else 0.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch.functional import retrieval_hit_rate
    >>> retrieval_hit_rate(tensor([0.2, 0.3, 0.5]), tensor([True, True, False]), top_k=1)
    tensor(0.)
    """
    return _value(pr.hit_rate(k=one_cutoff(top_k, k)), preds, target, ties)


@documented_function(
    top_k="How many ranks count; None for all, which makes fall-out 1.",
    returns="One float, 0 if every document is relevant.",
)
def retrieval_fall_out(
    preds: Tensor, target: Tensor, top_k: int | None = None, *, k: int | None = None, ties: Ties = "expected"
) -> Tensor:
    """Return fall-out: the share of the non-relevant documents that are among the first k; lower is better.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch.functional import retrieval_fall_out
    >>> retrieval_fall_out(tensor([0.2, 0.3, 0.5]), tensor([True, False, False]), top_k=1)
    tensor(0.5000)
    """
    return _value(pr.fall_out(k=one_cutoff(top_k, k)), preds, target, ties)


@documented_function()
def retrieval_r_precision(preds: Tensor, target: Tensor, *, ties: Ties = "expected") -> Tensor:
    """Return R-precision: precision at the rank that equals the number of relevant documents.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch.functional import retrieval_r_precision
    >>> retrieval_r_precision(tensor([0.2, 0.3, 0.5]), tensor([True, False, True]))
    tensor(0.5000)
    """
    return _value(pr.r_precision, preds, target, ties)


@documented_function()
def retrieval_reciprocal_rank(
    preds: Tensor, target: Tensor, top_k: int | None = None, *, k: int | None = None, ties: Ties = "expected"
) -> Tensor:
    """Return the reciprocal rank: 1 over the rank of the first relevant document, 0 if none is among the first k.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch.functional import retrieval_reciprocal_rank
    >>> retrieval_reciprocal_rank(tensor([0.2, 0.3, 0.5]), tensor([False, True, False]))
    tensor(0.5000)
    """
    return _value(pr.reciprocal_rank(k=one_cutoff(top_k, k)), preds, target, ties)


@documented_function()
def retrieval_average_precision(
    preds: Tensor,
    target: Tensor,
    top_k: int | None = None,
    *,
    denominator: Denominator = "hits",
    k: int | None = None,
    ties: Ties = "expected",
) -> Tensor:
    """Return average precision: the mean of precision at the ranks of the hits.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch.functional import retrieval_average_precision
    >>> retrieval_average_precision(tensor([0.2, 0.3, 0.5]), tensor([True, False, True]))
    tensor(0.8333)
    """
    return _value(pr.average_precision(k=one_cutoff(top_k, k), denominator=denominator), preds, target, ties)


@documented_function(
    target="The grades: integers, floats, or booleans.",
    returns="One float, 0 if no document has a grade above 0.",
)
def retrieval_normalized_dcg(
    preds: Tensor,
    target: Tensor,
    top_k: int | None = None,
    *,
    gain: Gain = "linear",
    k: int | None = None,
    ties: Ties = "expected",
) -> Tensor:
    """Return nDCG: the discounted gains of the first k documents over those of the best order.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch.functional import retrieval_normalized_dcg
    >>> retrieval_normalized_dcg(tensor([0.1, 0.2, 0.3, 4.0, 70.0]), tensor([10, 0, 0, 1, 5]))
    tensor(0.6957)
    """
    return _value(pr.ndcg(k=one_cutoff(top_k, k), gain=gain), preds, target, ties)


@documented_function(returns="One float, 0 if the first k are all relevant, or none of them is.")
def retrieval_auroc(
    preds: Tensor,
    target: Tensor,
    top_k: int | None = None,
    max_fpr: float | None = None,
    *,
    k: int | None = None,
    ties: Ties = "expected",
) -> Tensor:
    """Return the area under the ROC curve: the share of pairs of a relevant and another document ranked right.

    Examples
    --------
    >>> from torch import tensor
    >>> from polars_retrieval.torch.functional import retrieval_auroc
    >>> retrieval_auroc(tensor([0.2, 0.3, 0.5]), tensor([True, False, True]))
    tensor(0.5000)
    """
    return _value(pr.auroc(k=one_cutoff(top_k, k), max_fpr=max_fpr), preds, target, ties)


@documented_function(
    max_k="The last k; None for the number of documents.",
    adaptive_k="Beyond the number of documents, divide precision by that number, and return it in place of k.",
    returns="Precision, recall and k, `max_k` values each; precision and recall are 0 if no document is relevant.",
)
def retrieval_precision_recall_curve(
    preds: Tensor,
    target: Tensor,
    max_k: int | None = None,
    adaptive_k: bool = False,
    *,
    ties: Ties = "expected",
) -> tuple[Tensor, Tensor, Tensor]:
    """Return precision and recall of the first k documents, for each k from 1 to `max_k`.

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
    means = curve.curve(_rankings(preds, target, ties), max_k, "mean", adaptive_k=adaptive_k)
    precision, recall = (like_preds(means[name], [preds]) for name in ("precision", "recall"))
    top_k = torch.arange(1, len(means) + 1, device=preds.device)
    return precision, recall, top_k.clamp(max=len(preds)) if adaptive_k else top_k


def _value(measure: Measure, preds: Tensor, target: Tensor, ties: Ties) -> Tensor:
    """Return the value of a measure for one query."""
    check_ties(ties)
    preds, target = check_list(preds, target, graded="grade" in measure.reads)
    return number_like_preds(_rankings(preds, target, ties).values(measure).item(), [preds])


def _rankings(preds: Tensor, target: Tensor, ties: Ties) -> TensorRankings:
    """Return the ranked list of one query."""
    indexes = torch.zeros(len(preds), dtype=torch.int64)
    return TensorRankings(rank_batches([preds], [target], [indexes], ties), ties)
