"""The same values as scikit-learn, pytrec_eval, ranx and torchmetrics, wherever they define a measure as we do.

Where they don't, a small example shows both values. A tool that is not installed is skipped.
"""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import DOCUMENT_IDS

import polars_retrieval as pr

EXACT = {"rel": 1e-9, "abs": 1e-12}
SINGLE = {"rel": 1e-5, "abs": 1e-6}


def optional(module):
    """Return a fixture of a module that may not be installed."""
    return pytest.fixture(scope="module")(lambda: pytest.importorskip(module))


sklearn_metrics = optional("sklearn.metrics")
pytrec_eval = optional("pytrec_eval")
ranx = optional("ranx")
torch = optional("torch")
theirs = optional("torchmetrics.functional.retrieval")


# --- one list, as scores and grades ---------------------------------------------------------------


def of_one_query(metrics, scores, grades, **options):
    frame = pl.DataFrame({"query_id": 1, "score": pl.Series(scores, dtype=pl.Float64), "relevance": grades})
    return pr.per_query(frame, metrics, **options).row(0)[1:]


@st.composite
def lists(draw, *, tied):
    """Draw scores between 0 and 1, few of them or all different and exact in float32, and grades."""
    n = draw(st.integers(2, 8))
    score = st.integers(1, 3 if tied else 127).map(lambda numerator: numerator / 128)
    scores = draw(st.lists(score, min_size=n, max_size=n, unique=not tied))
    return scores, draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))


def with_both_kinds(lists):
    """Keep lists that have both relevant and other documents."""
    return lists.filter(lambda drawn: 0 < sum(grade > 0 for grade in drawn[1]) < len(drawn[1]))


ANY_TIES = st.booleans().flatmap(lambda tied: lists(tied=tied))
CUTOFFS = st.integers(1, 10)


class TestScikitLearn:
    @given(drawn=ANY_TIES, k=CUTOFFS)
    def test_ndcg_and_dcg_average_tied_gains(self, sklearn_metrics, drawn, k):
        scores, grades = drawn
        for gain, gains in (("linear", grades), ("exponential", [2**grade - 1 for grade in grades])):
            ours = of_one_query([pr.ndcg(gain=gain), pr.ndcg(gain=gain, k=k), pr.dcg(gain=gain, k=k)], scores, grades)
            same = (
                sklearn_metrics.ndcg_score([gains], [scores]),
                sklearn_metrics.ndcg_score([gains], [scores], k=k),
                sklearn_metrics.dcg_score([gains], [scores], k=k),
            )
            assert ours == pytest.approx(same, **EXACT)

    @given(drawn=with_both_kinds(ANY_TIES))
    def test_roc_auc_counts_ties_half(self, sklearn_metrics, drawn):
        scores, grades = drawn
        same = sklearn_metrics.roc_auc_score([grade > 0 for grade in grades], scores)
        assert of_one_query("auroc", scores, grades) == pytest.approx((same,), **EXACT)

    @given(drawn=with_both_kinds(lists(tied=False)), max_fpr=st.floats(0.01, 1))
    def test_roc_auc_up_to_a_false_positive_rate(self, sklearn_metrics, drawn, max_fpr):
        scores, grades = drawn
        same = sklearn_metrics.roc_auc_score([grade > 0 for grade in grades], scores, max_fpr=max_fpr)
        assert of_one_query([pr.auroc(max_fpr=max_fpr)], scores, grades) == pytest.approx((same,), **EXACT)

    @given(drawn=with_both_kinds(lists(tied=False)))
    def test_average_precision_and_label_ranking_without_ties(self, sklearn_metrics, drawn):
        scores, grades = drawn
        relevant = [grade > 0 for grade in grades]
        average_precision, auroc = of_one_query(["average_precision", "auroc"], scores, grades)
        assert average_precision == pytest.approx(sklearn_metrics.average_precision_score(relevant, scores), **EXACT)
        lrap = sklearn_metrics.label_ranking_average_precision_score([relevant], [scores])
        assert average_precision == pytest.approx(lrap, **EXACT)
        assert auroc == pytest.approx(1 - sklearn_metrics.label_ranking_loss([relevant], [scores]), **EXACT)

    @given(drawn=with_both_kinds(lists(tied=False)))
    def test_precision_and_recall_are_points_of_its_curve(self, sklearn_metrics, drawn):
        scores, grades = drawn
        precision, recall, _ = sklearn_metrics.precision_recall_curve([grade > 0 for grade in grades], scores)
        frame = pl.DataFrame({"query_id": 1, "score": scores, "relevance": grades})
        ours = pr.pr_curve(frame).reverse()  # theirs goes up in the threshold, and ends at the point (1, 0)
        assert ours["precision"].to_list() == pytest.approx(precision[:-1].tolist(), **EXACT)
        assert ours["recall"].to_list() == pytest.approx(recall[:-1].tolist(), **EXACT)

    def test_average_precision_takes_a_tie_for_one_threshold(self, sklearn_metrics):
        assert sklearn_metrics.average_precision_score([1, 0], [0.5, 0.5]) == 1 / 2
        assert of_one_query("average_precision", [0.5, 0.5], [1, 0]) == ((1 + 1 / 2) / 2,)

    def test_label_ranking_takes_a_tie_for_an_error(self, sklearn_metrics):
        assert sklearn_metrics.label_ranking_loss([[1, 0]], [[0.5, 0.5]]) == 1
        assert of_one_query("auroc", [0.5, 0.5], [1, 0]) == (1 / 2,)

    def test_label_ranking_counts_1_without_a_relevant_document(self, sklearn_metrics):
        assert sklearn_metrics.label_ranking_average_precision_score([[0, 0]], [[0.2, 0.1]]) == 1
        assert of_one_query("average_precision", [0.2, 0.1], [0, 0]) == (0,)
        assert of_one_query("average_precision", [0.2, 0.1], [0, 0], empty_target_action="pos") == (1,)

    def test_ndcg_score_refuses_negative_grades_and_single_documents(self, sklearn_metrics):
        with pytest.raises(ValueError, match="negative"):
            sklearn_metrics.ndcg_score([[-1, 1]], [[0.9, 0.8]])
        with pytest.raises(ValueError, match="more than 1 document"):
            sklearn_metrics.ndcg_score([[1]], [[0.9]])
        assert of_one_query("ndcg", [0.9, 0.8], [-1, 1]) == pytest.approx((1 / math.log2(3),), **EXACT)
        assert of_one_query("ndcg", [0.9], [1]) == (1,)


class TestTorchmetrics:
    @given(drawn=lists(tied=False), k=CUTOFFS)
    def test_positive_scores_without_ties(self, torch, theirs, drawn, k):
        scores, grades = drawn
        preds, graded = torch.tensor(scores), torch.tensor(grades)
        target = (graded > 0).long()
        same = {
            pr.precision @ k: theirs.retrieval_precision(preds, target, top_k=k),
            pr.precision(k=k, adaptive_k=True): theirs.retrieval_precision(preds, target, top_k=k, adaptive_k=True),
            pr.recall @ k: theirs.retrieval_recall(preds, target, top_k=k),
            pr.r_precision: theirs.retrieval_r_precision(preds, target),
            pr.hit_rate @ k: theirs.retrieval_hit_rate(preds, target, top_k=k),
            pr.fall_out @ k: theirs.retrieval_fall_out(preds, target, top_k=k),
            pr.reciprocal_rank @ k: theirs.retrieval_reciprocal_rank(preds, target, top_k=k),
            pr.average_precision(denominator="hits"): theirs.retrieval_average_precision(preds, target),
            pr.average_precision(denominator="hits", k=k): theirs.retrieval_average_precision(preds, target, top_k=k),
            pr.auroc: theirs.retrieval_auroc(preds, target),
            pr.auroc @ k: theirs.retrieval_auroc(preds, target, top_k=k),
            pr.ndcg: theirs.retrieval_normalized_dcg(preds, graded),
            pr.ndcg @ k: theirs.retrieval_normalized_dcg(preds, graded, top_k=k),
        }
        ours = dict(zip(same, of_one_query(list(same), scores, grades), strict=True))
        assert ours == pytest.approx({measure: value.item() for measure, value in same.items()}, **SINGLE)

    @given(drawn=lists(tied=True))
    def test_ndcg_and_auroc_average_ties(self, torch, theirs, drawn):
        scores, grades = drawn
        preds, graded = torch.tensor(scores), torch.tensor(grades)
        same = (
            theirs.retrieval_normalized_dcg(preds, graded).item(),
            theirs.retrieval_auroc(preds, (graded > 0).long()).item(),
        )
        assert of_one_query(["ndcg", "auroc"], scores, grades) == pytest.approx(same, **SINGLE)

    def test_average_precision_forgets_what_is_not_among_the_first_k(self, torch, theirs):
        preds, target = torch.tensor([0.9, 0.8, 0.7]), torch.tensor([1, 0, 1])
        assert theirs.retrieval_average_precision(preds, target, top_k=1) == 1
        assert of_one_query("average_precision@1", [0.9, 0.8, 0.7], [1, 0, 1]) == (1 / 2,)

    def test_scores_that_are_not_above_0_are_left_out(self, torch, theirs):
        preds, target = torch.tensor([-0.1, -0.5]), torch.tensor([1, 1])
        assert theirs.retrieval_average_precision(preds, target) == 0
        assert theirs.retrieval_reciprocal_rank(preds, target) == 0
        assert of_one_query(["average_precision", "reciprocal_rank"], [-0.1, -0.5], [1, 1]) == (1, 1)

    def test_auroc_squashes_scores_above_1_into_ties(self, torch, theirs):
        preds, target = torch.tensor([30.0, 31.0]), torch.tensor([0, 1])
        assert theirs.retrieval_auroc(preds, target) == 1 / 2
        assert of_one_query("auroc", [30.0, 31.0], [0, 1]) == (1,)

    def test_negative_grades_are_negative_gains(self, torch, theirs):
        preds, target = torch.tensor([0.9, 0.8]), torch.tensor([-1, 1])
        ideal = 1 - 1 / math.log2(3)
        value = theirs.retrieval_normalized_dcg(preds, target).item()
        assert value == pytest.approx((-1 + 1 / math.log2(3)) / ideal, **SINGLE)
        assert of_one_query("ndcg", [0.9, 0.8], [-1, 1]) == pytest.approx((1 / math.log2(3),), **EXACT)


# --- runs and judgments ---------------------------------------------------------------------------


@st.composite
def runs_and_qrels(draw, *, tied, grades):
    """Draw runs and judgments as nested dictionaries: documents may be unjudged, or not be retrieved.

    One judgment of each query is not negative: pytrec_eval may crash on a query without one.
    """
    documents = st.lists(st.sampled_from(DOCUMENT_IDS), min_size=1, unique=True)
    score = st.integers(-1, 2) if tied else st.integers(1, 1000)
    run, qrels = {}, {}
    for query in draw(st.sampled_from([["q1"], ["q1", "q2", "q3"]])):
        retrieved, judged = draw(documents), draw(documents)
        scores = draw(st.lists(score, min_size=len(retrieved), max_size=len(retrieved), unique=not tied))
        run[query] = dict(zip(retrieved, map(float, scores), strict=True))
        qrels[query] = {doc: draw(st.sampled_from(grades)) for doc in judged}
        qrels[query][judged[0]] = max(0, qrels[query][judged[0]])
    return run, qrels


def frames(run, qrels):
    """Return nested dictionaries as frames."""
    scored = [(query, *row) for query, documents in run.items() for row in documents.items()]
    judged = [(query, *row) for query, documents in qrels.items() for row in documents.items()]
    ids = {"query_id": pl.String, "doc_id": pl.String}
    return (
        pl.DataFrame(scored, {**ids, "score": pl.Float64}, orient="row"),
        pl.DataFrame(judged, {**ids, "relevance": pl.Int64}, orient="row"),
    )


def by_query(run, qrels, metrics, **options):
    """Return {query: {name: value}}, for metrics by the names that the other tool gives them."""
    run, qrels = frames(run, qrels)
    values = pr.per_query(run, list(metrics.values()), qrels=qrels, **options)
    return {row["query_id"]: {name: row[str(m)] for name, m in metrics.items()} for row in values.iter_rows(named=True)}


def assert_same(ours, same):
    assert set(ours) == set(same)
    for query, values in ours.items():
        assert values == pytest.approx({name: same[query][name] for name in values}, **EXACT), query


NAMES = ["map", "ndcg", "recip_rank", "Rprec", "bpref", "num_ret", "num_rel", "num_rel_ret"]
NAMES += ["set_P", "set_recall", "set_F"]
AT_CUTOFFS = ["P", "recall", "ndcg_cut", "map_cut", "success"]
TREC_EVAL = {name: pr.parse(name) for name in [*NAMES, *(f"{name}_{k}" for name in AT_CUTOFFS for k in (1, 2, 3, 20))]}
ASKED = {*NAMES, *(f"{name}.1,2,3,20" for name in AT_CUTOFFS)}
WITH_NEGATIVE = (-1, 0, 1, 2, 3)


class TestPytrecEval:
    @given(drawn=runs_and_qrels(tied=False, grades=WITH_NEGATIVE))
    def test_without_ties(self, pytrec_eval, drawn):
        run, qrels = drawn
        assert_same(by_query(run, qrels, TREC_EVAL), pytrec_eval.RelevanceEvaluator(qrels, ASKED).evaluate(run))

    @given(drawn=runs_and_qrels(tied=True, grades=WITH_NEGATIVE))
    def test_ties_by_document_id(self, pytrec_eval, drawn):
        run, qrels = drawn
        ours = by_query(run, qrels, TREC_EVAL, ties="doc_id")
        assert_same(ours, pytrec_eval.RelevanceEvaluator(qrels, ASKED).evaluate(run))

    def test_it_narrows_scores_to_float32(self, pytrec_eval):
        run, qrels = {"q": {"a": 1 + 2**-40, "b": 1.0}}, {"q": {"a": 1}}
        values = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run)
        assert values["q"]["recip_rank"] == 1 / 2
        assert by_query(run, qrels, {"RR": pr.reciprocal_rank}, ties="doc_id")["q"]["RR"] == 1

    def test_it_rounds_levels_of_recall(self, pytrec_eval):
        run, qrels = {"q": {"a": 4.0, "b": 3.0, "x": 2.0, "c": 1.0}}, {"q": {"a": 1, "b": 1, "c": 1}}
        # 0.7 * 3 = 2.1 relevant documents. It adds 0.9 and cuts, and 0.7 * 3 + 0.9 is below 3 in floating point.
        values = pytrec_eval.RelevanceEvaluator(qrels, {"iprec_at_recall"}).evaluate(run)
        assert values["q"]["iprec_at_recall_0.70"] == 2 / 2
        assert by_query(run, qrels, {"iprec": pr.interpolated_precision(recall=0.7)})["q"]["iprec"] == 3 / 4

    def test_it_leaves_out_queries_that_the_run_lacks(self, pytrec_eval):
        run, qrels = {"q1": {"a": 1.0}}, {"q1": {"a": 1}, "q2": {"a": 1}}
        assert pytrec_eval.RelevanceEvaluator(qrels, {"map"}).evaluate(run) == {"q1": {"map": 1}}
        assert by_query(run, qrels, {"map": pr.average_precision}) == {"q1": {"map": 1}, "q2": {"map": 0}}

    def test_it_ranks_nan_last(self, pytrec_eval):
        run, qrels = {"q": {"a": math.nan, "b": 1.0}}, {"q": {"a": 1}}
        values = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run)
        assert values["q"]["recip_rank"] == 1 / 2
        with pytest.raises(pr.errors.DataError, match="NaN"):
            by_query(run, qrels, {"RR": pr.reciprocal_rank})


RANX = {
    "precision": pr.precision,
    "precision@3": pr.precision @ 3,
    "precision@20": pr.precision @ 20,
    "recall": pr.recall,
    "recall@3": pr.recall @ 3,
    "f1": pr.f_measure,
    "f1@3": pr.f_measure @ 3,
    "hit_rate@3": pr.hit_rate @ 3,
    "r-precision": pr.r_precision,
    "mrr": pr.reciprocal_rank,
    "mrr@3": pr.reciprocal_rank @ 3,
    "map": pr.average_precision,
    "map@3": pr.average_precision @ 3,
    "ndcg": pr.ndcg,
    "ndcg@3": pr.ndcg @ 3,
    "ndcg_burges@3": pr.ndcg(gain="exponential") @ 3,
}


def of_ranx(ranx, run, qrels, names):
    scored = ranx.Run(run)
    ranx.evaluate(ranx.Qrels(qrels), scored, list(names))
    return {query: {name: scored.scores[name][query] for name in names} for query in run}


# It compiles each measure when that is first used, and numba and its other dependencies warn then.
@pytest.mark.filterwarnings("ignore")
class TestRanx:
    @given(drawn=runs_and_qrels(tied=False, grades=(0, 1, 2, 3)))
    @settings(max_examples=15)
    def test_without_ties(self, ranx, drawn):
        assert_same(by_query(*drawn, RANX), of_ranx(ranx, *drawn, RANX))

    def test_ties_stand_as_in_the_run(self, ranx):
        qrels, measure = {"q": {"a": 1}}, {"mrr": pr.reciprocal_rank}
        for run, rank in (({"q": {"a": 1.0, "b": 1.0}}, 1), ({"q": {"b": 1.0, "a": 1.0}}, 2)):
            assert of_ranx(ranx, run, qrels, measure)["q"]["mrr"] == 1 / rank
            assert by_query(run, qrels, measure)["q"]["mrr"] == pytest.approx((1 + 1 / 2) / 2, **EXACT)
            assert by_query(run, qrels, measure, ties="stable")["q"]["mrr"] == 1 / rank

    def test_rbp_adds_up_grades(self, ranx):
        run, measure = {"q": {"a": 2.0, "b": 1.0}}, {"rbp.80": pr.rbp}
        binary, graded = {"q": {"a": 1, "b": 1}}, {"q": {"a": 3, "b": 1}}
        assert of_ranx(ranx, run, binary, measure)["q"]["rbp.80"] == pytest.approx(0.2 * (1 + 0.8), **EXACT)
        assert of_ranx(ranx, run, graded, measure)["q"]["rbp.80"] == pytest.approx(0.2 * (3 + 0.8), **EXACT)
        for qrels in (binary, graded):
            assert by_query(run, qrels, measure)["q"]["rbp.80"] == pytest.approx(0.2 * (1 + 0.8), **EXACT)

    def test_bpref_without_judged_nonrelevant_documents(self, ranx):
        run, measure = {"q": {"a": 2.0, "b": 1.0}}, {"bpref": pr.bpref}
        assert math.isnan(of_ranx(ranx, run, {"q": {"a": 1, "b": 1}}, measure)["q"]["bpref"])
        assert by_query(run, {"q": {"a": 1, "b": 1}}, measure)["q"]["bpref"] == 1

    def test_bpref_takes_a_negative_grade_for_a_judged_document(self, ranx):
        run, qrels, measure = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": -1, "b": 1}}, {"bpref": pr.bpref}
        assert of_ranx(ranx, run, qrels, measure)["q"]["bpref"] == 0
        assert by_query(run, qrels, measure)["q"]["bpref"] == 1
