"""Every measure written the slow and obvious way, in plain Python, to test the package against.

A query is a list of `Document`; a score of None means not retrieved, a relevance of None not judged. A tie
is never solved by a formula here: the value under ``ties="expected"`` is the mean over an enumeration of all
orders of the tied documents, so it checks the closed forms of the package independently. Two measures are
defined on the expected curve instead of as an expectation: F, the harmonic mean of expected precision and
expected recall, and recall at fixed precision.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

TIE_RULES = ("expected", "doc_id", "stable", "pessimistic", "optimistic")


class Document(NamedTuple):
    """One row: who, how high, how good."""

    doc: object
    score: float | None
    relevance: float | None


@dataclass(frozen=True)
class Ranking:
    """The grades of a query's documents in one definite order, and those of the documents not retrieved."""

    grades: tuple[float | None, ...]
    unretrieved: tuple[float | None, ...] = ()
    min_relevance: float = 1

    def is_relevant(self, grade: float | None) -> bool:
        return grade is not None and grade >= self.min_relevance

    @property
    def relevant(self) -> list[bool]:
        """Whether each rank holds a hit."""
        return [self.is_relevant(grade) for grade in self.grades]

    @property
    def judged(self) -> list[float]:
        """The grades of all judged documents, retrieved or not."""
        return [grade for grade in self.grades + self.unretrieved if grade is not None]

    @property
    def n_retrieved(self) -> int:
        return len(self.grades)

    @property
    def n_relevant(self) -> int:
        return sum(self.is_relevant(grade) for grade in self.judged)

    @property
    def n_nonrelevant(self) -> int:
        """Non-relevant documents known: judged so, or retrieved without judgment."""
        unjudged = sum(grade is None for grade in self.grades)
        return len(self.judged) - self.n_relevant + unjudged

    def hits(self, k: int | None = None) -> int:
        return sum(self.relevant[:k])


# --- the measures: a ranking and parameters in, a number out --------------------------------------


def divide(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else 0.0


def n_retrieved(ranking: Ranking) -> float:
    return ranking.n_retrieved


def n_relevant(ranking: Ranking) -> float:
    return ranking.n_relevant


def n_relevant_retrieved(ranking: Ranking) -> float:
    return ranking.hits()


def n_judged(ranking: Ranking) -> float:
    return len(ranking.judged)


def precision(ranking: Ranking, k: int | None = None, *, adaptive_k: bool = False) -> float:
    if k is None or adaptive_k:
        k = min(k or ranking.n_retrieved, ranking.n_retrieved)
    return divide(ranking.hits(k), k)


def recall(ranking: Ranking, k: int | None = None, *, capped: bool = False) -> float:
    possible = min(k, ranking.n_relevant) if capped and k is not None else ranking.n_relevant
    return divide(ranking.hits(k), possible)


def r_precision(ranking: Ranking) -> float:
    return divide(ranking.hits(ranking.n_relevant), ranking.n_relevant)


def f_measure(ranking: Ranking, k: int | None = None, *, beta: float = 1.0, adaptive_k: bool = False) -> float:
    return harmonic_mean(precision(ranking, k, adaptive_k=adaptive_k), recall(ranking, k), beta)


def harmonic_mean(precision_value: float, recall_value: float, beta: float) -> float:
    weighted = beta**2 * precision_value + recall_value
    return divide((1 + beta**2) * precision_value * recall_value, weighted)


def hit_rate(ranking: Ranking, k: int | None = None) -> float:
    return float(ranking.hits(k) > 0)


def fall_out(ranking: Ranking, k: int | None = None) -> float:
    return divide(len(ranking.grades[:k]) - ranking.hits(k), ranking.n_nonrelevant)


def reciprocal_rank(ranking: Ranking, k: int | None = None) -> float:
    for rank, hit in enumerate(ranking.relevant[:k], start=1):
        if hit:
            return 1 / rank
    return 0.0


def average_precision(ranking: Ranking, k: int | None = None, *, denominator: str = "relevant") -> float:
    total = math.fsum(ranking.hits(rank) / rank for rank, hit in enumerate(ranking.relevant[:k], start=1) if hit)
    cut = ranking.n_retrieved if k is None else k
    relevant_within_reach = ranking.n_relevant if k is None else min(cut, ranking.n_relevant)
    return divide(
        total,
        {"relevant": ranking.n_relevant, "min": relevant_within_reach, "hits": ranking.hits(k)}[denominator],
    )


def gain_of(grade: float | None, gain: str) -> float:
    if grade is None or grade <= 0:
        return 0.0
    return {"linear": float(grade), "exponential": 2.0**grade - 1}[gain]


def discounted(grades: Iterable[float | None], k: int | None, gain: str) -> float:
    ranked = itertools.islice(enumerate(grades, start=1), k)
    return math.fsum(gain_of(grade, gain) / math.log2(rank + 1) for rank, grade in ranked)


def dcg(ranking: Ranking, k: int | None = None, *, gain: str = "linear") -> float:
    return discounted(ranking.grades, k, gain)


def ndcg(ranking: Ranking, k: int | None = None, *, gain: str = "linear") -> float:
    return divide(dcg(ranking, k, gain=gain), ideal_dcg(ranking, k, gain=gain))


def ideal_dcg(ranking: Ranking, k: int | None = None, *, gain: str = "linear") -> float:
    return discounted(sorted(ranking.judged, reverse=True), k, gain)


def auroc(ranking: Ranking, k: int | None = None, *, max_fpr: float | None = None) -> float:
    """Ties need no half here: the mean over their orders puts each tied pair right in half of them."""
    top = ranking.relevant[:k]
    pairs = [(above, below) for above, below in itertools.combinations(top, 2) if above != below]
    if max_fpr is None or not pairs:
        return divide(sum(above for above, _ in pairs), len(pairs))
    hits_above_others = [sum(top[:place]) for place, is_hit in enumerate(top) if not is_hit]
    n_counted = max_fpr * len(hits_above_others)
    widths = [min(max(n_counted - before, 0), 1) for before in range(len(hits_above_others))]
    area = sum(width * hits for width, hits in zip(widths, hits_above_others, strict=True)) / len(pairs)
    by_chance = max_fpr**2 / 2
    return (1 + (area - by_chance) / (max_fpr - by_chance)) / 2


def rbp(ranking: Ranking, k: int | None = None, *, persistence: float = 0.8, residual: bool = False) -> float:
    if residual:
        weights = [(1 - persistence) * persistence**place for place in range(ranking.n_retrieved)]
        judged_weights = [w for w, grade in zip(weights[:k], ranking.grades, strict=False) if grade is not None]
        return 1 - math.fsum(judged_weights)
    return (1 - persistence) * math.fsum(
        persistence ** (rank - 1) for rank, hit in enumerate(ranking.relevant[:k], start=1) if hit
    )


def err(ranking: Ranking, k: int | None = None, *, max_grade: float | None = None) -> float:
    """``max_grade`` not given: the largest grade of this query. `per_query` gives that of the whole run."""
    if max_grade is None:
        max_grade = max(ranking.judged, default=0)
    value, reached = 0.0, 1.0
    for rank, grade in enumerate(ranking.grades[:k], start=1):
        satisfied = gain_of(grade, "exponential") / 2**max_grade
        value += reached * satisfied / rank
        reached *= 1 - satisfied
    return value


def bpref(ranking: Ranking) -> float:
    """As trec_eval: a negative grade means pooled but not judged, which is neither relevant nor not."""
    relevant_known = ranking.n_relevant
    nonrelevant_known = sum(grade >= 0 for grade in ranking.judged) - relevant_known
    total, nonrelevant_above = 0.0, 0
    for grade in ranking.grades:
        if ranking.is_relevant(grade):
            penalty = min(nonrelevant_above, relevant_known)
            total += 1 - divide(penalty, min(relevant_known, nonrelevant_known))
        elif grade is not None and grade >= 0:
            nonrelevant_above += 1
    return divide(total, relevant_known)


def judged(ranking: Ranking, k: int | None = None) -> float:
    top = ranking.grades[:k]
    return divide(sum(grade is not None for grade in top), len(top))


def interpolated_precision(ranking: Ranking, *, recall: float | None = None) -> float:
    """Levels are compared as exact decimal fractions: 0.1 of ten documents is one document."""
    if recall is None:
        return math.fsum(interpolated_precision(ranking, recall=tenth / 10) for tenth in range(11)) / 11
    level = Fraction(str(recall)) * ranking.n_relevant
    reaching = [k for k in range(1, ranking.n_retrieved + 1) if ranking.hits(k) >= level]
    return max((precision(ranking, k) for k in reaching), default=0.0)


MEASURES: dict[str, Callable[..., float]] = {
    function.__name__: function
    for function in (
        n_retrieved, n_relevant, n_relevant_retrieved, n_judged, precision, recall, r_precision, f_measure,
        hit_rate, fall_out, reciprocal_rank, average_precision, dcg, ndcg, auroc, rbp, err, bpref, judged,
        interpolated_precision,
    )
}  # fmt: skip

COUNTS = frozenset({"n_retrieved", "n_relevant", "n_relevant_retrieved", "n_judged"})


def is_undefined(name: str, ranking: Ranking) -> bool:
    """Whether the query has nothing that the measure could find."""
    if name in COUNTS | {"judged"}:
        return False
    if name == "fall_out":
        return ranking.n_nonrelevant == 0
    if name in {"dcg", "ndcg", "err"}:
        return not any(grade > 0 for grade in ranking.judged)
    return ranking.n_relevant == 0


# --- the order of equal scores --------------------------------------------------------------------


def tie_groups(documents: Iterable[Document]) -> list[list[Document]]:
    """Group the retrieved documents by score, the highest first, each group in the order of input."""
    retrieved = [document for document in documents if document.score is not None]
    by_score = sorted(retrieved, key=lambda document: document.score, reverse=True)
    return [list(group) for _, group in itertools.groupby(by_score, key=lambda document: document.score)]


def grade_or_less(document: Document) -> float:
    return -math.inf if document.relevance is None else document.relevance


def settle(group: list[Document], ties: str) -> list[Document]:
    """Put tied documents into the one order that a rule other than "expected" asks for."""
    if ties == "doc_id":
        return sorted(group, key=lambda document: str(document.doc).encode(), reverse=True)
    if ties == "pessimistic":
        return sorted(group, key=grade_or_less)
    if ties == "optimistic":
        return sorted(group, key=grade_or_less, reverse=True)
    assert ties == "stable"
    return group


def orders(documents: Sequence[Document], ties: str) -> Iterator[list[Document]]:
    """All orders of the retrieved documents that a tie rule allows, each as likely as the next."""
    groups = tie_groups(documents)
    if ties == "expected":
        choices = itertools.product(*(itertools.permutations(group) for group in groups))
    else:
        choices = iter([[settle(group, ties) for group in groups]])
    for choice in choices:
        yield [document for group in choice for document in group]


Weighted: TypeAlias = "list[tuple[Ranking, Fraction]]"
"""Rankings, and the share of the orders of tied documents that lead to each."""


def rankings(documents: Sequence[Document], ties: str, min_relevance: float = 1) -> Weighted:
    """All rankings that differ in their grades, with the share of the orders that lead to each."""
    unretrieved = tuple(document.relevance for document in documents if document.score is None)
    counted = Counter(tuple(document.relevance for document in order) for order in orders(documents, ties))
    total = sum(counted.values())
    return [(Ranking(grades, unretrieved, min_relevance), Fraction(count, total)) for grades, count in counted.items()]


def mean_over(weighted: Weighted, measure: Callable[[Ranking], float]) -> float:
    return math.fsum(float(weight) * measure(ranking) for ranking, weight in weighted)


# --- one query ------------------------------------------------------------------------------------


def value_of(weighted: Weighted, name: str, **parameters) -> float:
    """Give the value of a measure for one query whose rankings were enumerated."""
    if name == "recall_at_precision":
        return _recall_at_precision(weighted, **parameters)
    if name == "f_measure":
        beta = parameters.pop("beta", 1.0)
        k = parameters.pop("k", None)
        expected_precision = mean_over(weighted, lambda ranking: precision(ranking, k, **parameters))
        return harmonic_mean(expected_precision, mean_over(weighted, lambda ranking: recall(ranking, k)), beta)
    return mean_over(weighted, lambda ranking: MEASURES[name](ranking, **parameters))


def _recall_at_precision(weighted: Weighted, k: int | None = None, *, min_precision: float = 0.5) -> float:
    ks = range(1, min(weighted[0][0].n_retrieved, k or math.inf) + 1)
    # Exact, since a precision that is just enough must not be rounded below that.
    hits = [sum(weight * ranking.hits(k) for ranking, weight in weighted) for k in ks]
    precisions = [float(expected / k) for expected, k in zip(hits, ks, strict=True)]
    recalls = [divide(float(expected), weighted[0][0].n_relevant) for expected in hits]
    return recall_at_precision(precisions, recalls, min_precision)[0]


def value(
    name: str,
    documents: Sequence[Document],
    *,
    ties: str = "expected",
    min_relevance: float = 1,
    **parameters,
) -> float:
    """Give the value of a measure for one query, with no regard to queries that have nothing to find.

    >>> documents = [Document("a", 1.0, 1), Document("b", 1.0, 0), Document("c", 1.0, 0)]
    >>> value("precision", documents, k=1, ties="optimistic")
    1.0
    """
    return value_of(rankings(documents, ties, min_relevance), name, **parameters)


def curve(
    documents: Sequence[Document],
    max_k: int,
    *,
    adaptive_k: bool = False,
    ties: str = "expected",
    min_relevance: float = 1,
) -> tuple[list[float], list[float]]:
    """Give precision and recall of one query at k = 1 … max_k."""
    weighted = rankings(documents, ties, min_relevance)
    ks = range(1, max_k + 1)
    precisions = [value_of(weighted, "precision", k=k, adaptive_k=adaptive_k) for k in ks]
    return precisions, [value_of(weighted, "recall", k=k) for k in ks]


def recall_at_precision(
    precisions: Sequence[float], recalls: Sequence[float], min_precision: float
) -> tuple[float, int]:
    """Give the largest recall among the points of a curve that are precise enough, and its k.

    Where several have that recall, the largest k; where none is found, the end of the curve.
    """
    points = zip(precisions, recalls, range(1, len(recalls) + 1), strict=True)
    enough = [(recall, k) for precision, recall, k in points if precision >= min_precision]
    best_recall, best_k = max(enough, default=(0.0, len(recalls)))
    return best_recall, best_k if best_recall else len(recalls)


# --- many queries ---------------------------------------------------------------------------------


class Row(NamedTuple):
    """One row of a run of several queries."""

    query: Hashable
    doc: object
    score: float | None
    relevance: float | None


def queries_of(
    run: Iterable[Row], *, ignore_index: int | None = None, unjudged: str = "nonrelevant"
) -> dict[Hashable, list[Document]]:
    """Sort rows by query, in order of first appearance, and leave out the documents that the options say."""
    queries: dict[Hashable, list[Document]] = {}
    for row in run:
        if ignore_index is None or row.relevance != ignore_index:
            queries.setdefault(row.query, []).append(Document(*row[1:]))
    if unjudged == "error":
        for query, documents in queries.items():
            if any(document.score is not None and document.relevance is None for document in documents):
                msg = f"query {query!r} has an unjudged document"
                raise ValueError(msg)
    if unjudged == "drop":
        return {query: [d for d in documents if d.relevance is not None] for query, documents in queries.items()}
    return queries


def missing_in(run: Iterable[Row], missing_queries: str, ignore_index: int | None = None) -> set[Hashable]:
    """Find the queries without a retrieved document that are to be left out."""
    queries = queries_of(run, ignore_index=ignore_index)
    missing = {query for query, documents in queries.items() if all(d.score is None for d in documents)}
    if missing and missing_queries == "error":
        msg = f"queries {missing!r} were not retrieved"
        raise ValueError(msg)
    return missing if missing_queries == "skip" else set()


def settle_empty(values: list[float], *, undefined: bool, empty_target_action: str) -> list[float | None]:
    """Put what ``empty_target_action`` asks for in place of the values of a query with nothing to find."""
    if not undefined:
        return list(values)
    if empty_target_action == "error":
        msg = "a query without a relevant document"
        raise ValueError(msg)
    return [{"neg": 0.0, "pos": 1.0, "skip": None}[empty_target_action]] * len(values)


def per_query(
    run: Iterable[Row],
    name: str,
    *,
    ties: str = "expected",
    min_relevance: float = 1,
    empty_target_action: str = "neg",
    missing_queries: str = "zero",
    ignore_index: int | None = None,
    unjudged: str = "nonrelevant",
    parameters: dict[str, object] | None = None,
) -> dict[Hashable, float | None]:
    """Give a measure's value for every query; None where it has none."""
    parameters = dict(parameters or {})
    queries = queries_of(run, ignore_index=ignore_index, unjudged=unjudged)
    missing = missing_in(run, missing_queries, ignore_index)
    if name == "err" and parameters.get("max_grade") is None:
        grades = [d.relevance for documents in queries.values() for d in documents if d.relevance is not None]
        parameters["max_grade"] = max(grades, default=0)
    values = {}
    for query, documents in queries.items():
        weighted = rankings(documents, ties, min_relevance)
        undefined = is_undefined(name, weighted[0][0])
        number = value_of(weighted, name, **parameters)
        [values[query]] = settle_empty([number], undefined=undefined, empty_target_action=empty_target_action)
    return {query: None if query in missing else number for query, number in values.items()}


def aggregate(values: Iterable[float | None], aggregation: str = "mean") -> float | None:
    """Bring the values of all queries down to one; None where no query has a value.

    >>> aggregate([0.25, 1.0, None, 0.5, 0.75], "median")
    0.5
    """
    present = sorted(value for value in values if value is not None)
    if not present:
        return None
    if aggregation == "mean":
        return math.fsum(present) / len(present)
    if aggregation == "median":
        return present[(len(present) - 1) // 2]
    return {"min": present[0], "max": present[-1]}[aggregation]


def evaluate(run: Iterable[Row], name: str, *, aggregation: str = "mean", **options) -> float | None:
    return aggregate(per_query(run, name, **options).values(), aggregation)


def pr_curve(
    run: Iterable[Row],
    *,
    max_k: int | None = None,
    adaptive_k: bool = False,
    ties: str = "expected",
    min_relevance: float = 1,
    empty_target_action: str = "neg",
    missing_queries: str = "zero",
    ignore_index: int | None = None,
    unjudged: str = "nonrelevant",
    aggregation: str = "mean",
) -> list[tuple[int, float | None, float | None]]:
    """Give the rows (k, precision, recall) of the curve over all queries."""
    queries = queries_of(run, ignore_index=ignore_index, unjudged=unjudged)
    missing = missing_in(run, missing_queries, ignore_index)
    if max_k is None:
        max_k = max((sum(d.score is not None for d in documents) for documents in queries.values()), default=0)
    curves = []
    for documents in (documents for query, documents in queries.items() if query not in missing):
        points = curve(documents, max_k, adaptive_k=adaptive_k, ties=ties, min_relevance=min_relevance)
        undefined = rankings(documents, "stable", min_relevance)[0][0].n_relevant == 0
        curves.append(
            [settle_empty(part, undefined=undefined, empty_target_action=empty_target_action) for part in points]
        )
    return [
        (
            k + 1,
            aggregate((precisions[k] for precisions, _ in curves), aggregation),
            aggregate((recalls[k] for _, recalls in curves), aggregation),
        )
        for k in range(max_k)
    ]
