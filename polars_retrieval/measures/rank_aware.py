"""Measures of where in the list the relevant documents stand."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from polars_retrieval.measures.chance import CutGroup, log_chance_of_none
from polars_retrieval.measures.declaration import Denominator, Part, Share, alias, measure
from polars_retrieval.measures.ranked import greatest, least, ratio, where

if TYPE_CHECKING:
    import polars as pl

    from polars_retrieval.measures.ranked import Ranked


@measure(
    alias("ir_measures", "RR@{k}"),
    alias("ir_measures", "RR"),
    alias("ir_measures", "MRR@{k}"),
    alias("ir_measures", "MRR"),
    alias("trec_eval", "recip_rank"),
    alias("torchmetrics", "RetrievalMRR"),
    source="Voorhees, The TREC-8 Question Answering Track Report (1999)",
)
def reciprocal_rank(ranked: Ranked, k: int | None = None) -> pl.Expr:
    """One over the rank of the first relevant document; 0 if none is among the first k.

    ``1 / rank``.
    """
    above, tied, hits = map(ranked.first_hit, (ranked.above, ranked.tied, ranked.tied_hits))
    if not ranked.has_ties:
        found = hits > 0 if k is None else (hits > 0) & (above < k)
        return where(found, 1 / (above + 1), 0.0)
    last = tied - hits if k is None else least(tied - hits, k - 1 - above)

    def at_place(place: pl.Expr, above: pl.Expr, tied: pl.Expr, hits: pl.Expr) -> pl.Expr:
        # None of the hits stands before the place, and then one of them is at it.
        none_before = log_chance_of_none(tied, hits, place - 1).exp()
        return none_before * hits / (tied - place + 1) / (above + place)

    return where(hits > 0, ranked.sum_places(last + 1, at_place, above, tied, hits), 0.0)


@measure(
    alias("ir_measures", "AP@{k}"),
    alias("ir_measures", "AP"),
    alias("ir_measures", "MAP@{k}"),
    alias("ir_measures", "MAP"),
    alias("trec_eval", "map_cut_{k}"),
    alias("trec_eval", "map"),
    alias("torchmetrics", "RetrievalMAP", denominator="hits"),
    source="Buckley and Voorhees, Retrieval System Evaluation, in TREC (2005), chapter 3",
)
def average_precision(ranked: Ranked, k: int | None = None, denominator: Denominator = "relevant") -> pl.Expr:
    """Mean, over the relevant documents, of precision at the rank of each; 0 for those not among the first k.

    ``(sum over hits within k of hits-so-far / rank) / n_relevant``. With ``denominator="min"``,
    ``min(k, n_relevant)`` divides; with ``"hits"``, hits@k, as in torchmetrics.
    """
    if denominator == "hits":
        return _precision_of_hits(ranked, k)
    reachable = ranked.n_relevant if k is None or denominator == "relevant" else least(ranked.n_relevant, k)
    return ranked.sum_hits(_precision_alone(ranked), k, tied=_precision_in_group(ranked, k)) / reachable


def _precision_alone(ranked: Ranked) -> pl.Expr:
    """Give precision at the rank of a hit that stands alone."""
    return (ranked.hits_above + 1) / (ranked.above + 1)


def _precision_in_group(ranked: Ranked, k: int | None) -> pl.Expr:
    """Give the expected precision at the rank of a hit in a tie group, 0 beyond k."""
    # At place j of its group, j - 1 of the other hits in it are before the hit in proportion.
    share = (ranked.tied_hits - 1) / (ranked.tied - 1)
    inverse_rank = ranked.in_group(lambda rank: 1 / rank, k)
    return (ranked.hits_above + 1 - share * (ranked.above + 1)) * inverse_rank + share * ranked.within(k)


def _precision_of_hits(ranked: Ranked, k: int | None) -> pl.Expr:
    """Give the mean of precision at the hits within k."""
    alone, tied = _precision_alone(ranked), _precision_in_group(ranked, k)
    if k is None or not ranked.has_ties:
        return ratio(ranked.sum_hits(alone, k, tied=tied), ranked.count_hits(k))
    # How many hits are within k depends on the order of the tie group that k cuts.
    is_whole = ranked.above + ranked.tied <= k
    whole = ranked.sum_hits(alone, k, tied=where(is_whole, tied, 0.0))
    n_whole = ranked.sum_hits(1.0, k, tied=where(is_whole, 1.0, 0.0))
    cut = CutGroup.of(ranked, k)
    in_group = ranked.in_group(lambda rank: 1 / rank, k) * ranked.tied / ranked.tied_hits
    inverse_rank = ranked.sum_tied_hits(where(is_whole, 0.0, in_group))

    def mean(
        hits: pl.Expr,
        seen: pl.Expr,
        above: pl.Expr,
        hits_above: pl.Expr,
        inverse_rank: pl.Expr,
        whole: pl.Expr,
        n_whole: pl.Expr,
    ) -> pl.Expr:
        share = where(seen > 1, (hits - 1) / (seen - 1), 0.0)
        in_group = (hits_above + 1 - share * (above + 1)) * inverse_rank + share * seen
        return ratio(whole + ratio(hits * in_group, seen), n_whole + hits)

    return cut.expect(mean, cut.seen, cut.above, cut.hits_above, inverse_rank, whole, n_whole)


@measure(
    alias("torchmetrics", "RetrievalAUROC"),
    alias("other", "auc"),
    source="Hanley and McNeil, The Meaning and Use of the Area under a ROC Curve (1982)",
    needs_order_of="relevant",
    needs_order_with=("k", "max_fpr"),
)
def auroc(ranked: Ranked, k: int | None = None, max_fpr: Part | None = None) -> pl.Expr:
    """Share of the pairs of a relevant and another document, among the first k, that are ranked the right way round.

    ``pairs in the right order / (hits@k * other documents among the first k)``; tied pairs count half. 0 where there is
    no pair. With ``max_fpr`` m, only the first share m of the other documents count: the area A under the ROC curve up
    to that false positive rate, as ``(1 + (A - m^2 / 2) / (m - m^2 / 2)) / 2`` (McClish 1989), which is 1/2 for a list
    in random order. Through tied documents that m cuts scikit-learn and torchmetrics draw a straight line; this is the
    mean over their orders.
    """
    if max_fpr is not None and max_fpr < 1:
        return _partial_area(ranked, k, max_fpr)
    above = _nonrelevant_above(ranked)
    if k is None or not ranked.has_ties:
        hits, n = ranked.count_hits(k), ranked.n_within(k)
        wrong = ranked.sum_hits(above, k, tied=above)
        return ratio(hits * (n - hits) - wrong, hits * (n - hits))
    is_whole = where(ranked.above + ranked.tied <= k, 1.0, 0.0)
    hits = ranked.sum_hits(1.0, k, tied=is_whole)
    wrong = ranked.sum_hits(above, k, tied=is_whole * above)
    cut = CutGroup.of(ranked, k)
    others = ranked.n_within(k) - cut.seen - hits

    def share(seen_hits: pl.Expr, seen: pl.Expr, hits: pl.Expr, others: pl.Expr, wrong: pl.Expr) -> pl.Expr:
        all_hits, all_others = hits + seen_hits, others + seen - seen_hits
        all_wrong = wrong + seen_hits * (others + (seen - seen_hits) / 2)
        return ratio(all_hits * all_others - all_wrong, all_hits * all_others)

    return cut.expect(share, cut.seen, hits, others, wrong)


def _partial_area(ranked: Ranked, k: int | None, max_fpr: float) -> pl.Expr:
    """Give the standardised area under the ROC curve up to a false positive rate."""
    others = ranked.n_within(k) - ranked.hits_within(k)
    # How many others that count stand below a hit, or in and below its tie group.
    below = (max_fpr * others - (ranked.above - ranked.hits_above)).clip(0.0)
    tied_others = ranked.tied - ranked.tied_hits
    counted = least(below, tied_others)
    whole = counted.floor()
    # The hit is before the u-th of them with probability u / (n + 1).
    in_group = (whole + 1) * (whole / 2 + counted - whole) / (tied_others + 1)
    # Whole but for rounding: where k cuts a tie group, it holds hits only or none.
    hits = ranked.count_hits(k).round()
    pairs = hits * (ranked.n_within(k) - hits)
    area = ratio(ranked.sum_hits(below, k, tied=below - counted + in_group), pairs)
    by_chance = max_fpr**2 / 2
    return where(pairs > 0, (1 + (area - by_chance) / (max_fpr - by_chance)) / 2, 0.0)


def _nonrelevant_above(ranked: Ranked) -> pl.Expr:
    """Count the retrieved documents above a hit that are no hits, and half of those tied with it."""
    return ranked.above - ranked.hits_above + (ranked.tied - ranked.tied_hits) / 2


@measure(
    alias("ir_measures", "Bpref"),
    alias("trec_eval", "bpref"),
    reads=("judged",),
    needs_order_of="judged",
    source="Buckley and Voorhees, Retrieval Evaluation with Incomplete Information (SIGIR 2004)",
)
def bpref(ranked: Ranked) -> pl.Expr:
    """How rarely documents judged non-relevant stand above relevant ones; unjudged documents do not matter.

    ``sum over hits of 1 - min(judged non-relevant above, R) / min(R, N), divided by R``, where R and N count the
    judged documents that are relevant and that are not; as trec_eval, which takes a negative grade as unjudged.
    """
    n_relevant, above = ranked.n_relevant, ranked.nonrelevant_above
    counted = where(above < n_relevant, above, n_relevant)
    penalty = ratio(ranked.sum_hits(counted, tied=counted), least(n_relevant, ranked.n_judged_nonrelevant))
    return (ranked.count_hits(None) - penalty) / n_relevant


@measure(
    alias("ir_measures", "IPrec@{recall}"),
    alias("trec_eval", "iprec_at_recall_{recall}"),
    alias("trec_eval", "11pt_avg"),
    needs_order_of="relevant",
    source="Salton and McGill, Introduction to Modern Information Retrieval (1983), chapter 5",
)
def interpolated_precision(ranked: Ranked, recall: Share | None = None) -> pl.Expr:
    """Largest precision at a level of recall or beyond it; without a level, the mean over 0, 0.1, …, 1.

    ``max over k with hits@k >= recall * n_relevant of hits@k / k``. Levels are exact decimal fractions.
    """
    # A tie group that is allowed here holds hits only: precision is highest at its end.
    hits = ranked.hits_above + ranked.tied_hits
    precision = hits / (ranked.above + ranked.tied)
    level = None if recall is None else Fraction(str(recall))
    if level is not None and 10 % level.denominator:
        reached = hits * level.denominator >= level.numerator * ranked.n_relevant
        return ranked.max_hits(where(reached, precision, 0.0))
    # The usual levels are tenths, and read off together.
    at_tenth = ranked.max_hits_from(precision, (10 * hits / ranked.n_relevant).floor(), 11)
    return reduce(add, at_tenth) / 11 if level is None else at_tenth[int(10 * level)]


@measure(
    alias("torchmetrics", "RetrievalRecallAtFixedPrecision"),
    source="torchmetrics, which takes it of the mean curve",
)
def recall_at_precision(ranked: Ranked, k: int | None = None, min_precision: Share = 0.5) -> pl.Expr:
    """Largest recall at a cutoff, up to k, where precision is at least ``min_precision``; 0 if there is none.

    ``max over k with hits@k / k >= min_precision of hits@k / n_relevant``. Of tied documents, hits@k is its expected
    value. torchmetrics' class of this name reads it from the mean curve over queries instead.
    """
    hits, rank = ranked.hits_above + 1, ranked.above + 1
    enough = hits / rank >= min_precision if k is None else (hits / rank >= min_precision) & (rank <= k)
    alone = where(enough, hits, 0.0)
    return ranked.max_hits(alone, tied=_hits_in_group(ranked, k, min_precision)) / ranked.n_relevant


def _hits_in_group(ranked: Ranked, k: int | None, min_precision: float) -> pl.Expr:
    """Give the most hits, expected, at a place of the tie group where precision is enough; 0 if there is none."""
    each = ranked.tied_hits / ranked.tied
    last = ranked.tied if k is None else (k - ranked.above).clip(0.0, ranked.tied)
    # Along the group precision goes one way, and crosses the wanted one at most once.
    crossing = ((ranked.hits_above - min_precision * ranked.above) / (min_precision - each)).floor()

    def hits_at(place: pl.Expr) -> pl.Expr:
        hits = ranked.hits_above + each * place
        return where((place >= 1) & (hits / (ranked.above + place) >= min_precision), hits, 0.0)

    near = [crossing + step for step in (-1, 0, 1)]
    places = [last, *(where(place.is_finite(), place, 0.0).clip(0.0, last) for place in near)]
    return reduce(greatest, map(hits_at, places))
