"""Names of measures: they round-trip, other tools' names stand for the same measures, wrong ones name the nearest."""

import math
import re
from itertools import combinations
from typing import get_args

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polars_retrieval as pr
from polars_retrieval.errors import MetricError, ParameterError
from polars_retrieval.measures import REGISTRY, SETS, parse_all
from polars_retrieval.measures.declaration import _CHECKS, Denominator, Gain

positive = st.one_of(
    st.integers(1, 10**9), st.floats(0, exclude_min=True, allow_infinity=False), st.floats(0.125, 8, width=16)
)
shares = st.one_of(st.floats(0, 1), st.integers(0, 1), st.integers(0, 100).map(lambda percent: percent / 100))

# By the annotation of a parameter.
VALUES = {
    "int | None": st.none() | st.integers(1, 10**9),
    "bool": st.booleans(),
    "float": positive,
    "float | None": st.none() | positive,
    "Share": shares,
    "Share | None": st.none() | shares,
    "Part | None": st.none()
    | st.floats(0, 1, exclude_min=True)
    | st.integers(1, 100).map(lambda percent: percent / 100),
    "Gain": st.sampled_from(get_args(Gain)),
    "Denominator": st.sampled_from(get_args(Denominator)),
}

COMBINATIONS = [
    (name, chosen)
    for name, measure in REGISTRY.items()
    for size in range(len(measure.declaration.parameters) + 1)
    for chosen in combinations(measure.declaration.parameters, size)
]


def declared(name):
    return REGISTRY[name].declaration.parameters


def values(name):
    return {key: VALUES[parameter.annotation] for key, parameter in declared(name).items()}


def some_parameters(name):
    """Draw a value of any of a measure's parameters."""
    return st.fixed_dictionaries({}, optional=values(name))


def test_every_kind_of_parameter_is_drawn():
    assert VALUES.keys() == _CHECKS.keys()


@pytest.mark.parametrize(("name", "chosen"), COMBINATIONS, ids=lambda part: part if isinstance(part, str) else None)
@given(data=st.data())
def test_names_give_the_measure_again(name, chosen, data):
    parameters = data.draw(st.fixed_dictionaries({key: values(name)[key] for key in chosen}))
    measure = REGISTRY[name](**parameters)
    again = pr.parse(str(measure))
    assert again == measure
    assert str(again) == str(measure) == repr(measure)
    assert hash(again) == hash(measure)
    assert pr.parse(f"  {measure}\n") == measure
    # What is no default is kept, to the last digit, and nothing else is.
    kept = {key: value for key, value in parameters.items() if value != declared(name)[key].default}
    assert again.parameters == measure.parameters == kept


@pytest.mark.parametrize("name", list(REGISTRY))
class TestEveryMeasure:
    @given(data=st.data())
    def test_any_order_quotes_and_blanks(self, name, data):
        parameters = data.draw(some_parameters(name))
        pairs = data.draw(st.permutations([f"{key} = {value!r}" for key, value in parameters.items()]))
        assert pr.parse(f"{name}({', '.join(pairs)})") == REGISTRY[name](**parameters)

    @given(data=st.data())
    def test_names_differ_where_parameters_do(self, name, data):
        one, other = (REGISTRY[name](**data.draw(some_parameters(name))) for _ in range(2))
        assert (str(one) == str(other)) == (one == other) == (one.parameters == other.parameters)


@pytest.mark.parametrize("name", list(REGISTRY))
def test_defaults_have_the_bare_name(name):
    assert str(REGISTRY[name](**{key: known.default for key, known in declared(name).items()})) == name


def test_equal_numbers_have_one_name():
    assert str(pr.f_measure(beta=2.0)) == str(pr.f_measure(beta=2)) == "f_measure(beta=2)"
    assert str(pr.rbp(persistence=1.0)) == "rbp(persistence=1)"
    assert pr.parse("interpolated_precision(recall=0.50)") == pr.parse("IPrec@0.5") == pr.parse("iprec_at_recall_0.5")


IR_MEASURES = {
    "P@10": "precision@10",
    "P(adaptive_k=True)@10": "precision(adaptive_k=True)@10",
    "R@100": "recall@100",
    "AP": "average_precision",
    "AP@10": "average_precision@10",
    "MAP@10": "average_precision@10",
    "RR": "reciprocal_rank",
    "RR@10": "reciprocal_rank@10",
    "MRR@10": "reciprocal_rank@10",
    "nDCG": "ndcg",
    "nDCG@10": "ndcg@10",
    "NDCG@10": "ndcg@10",
    "nDCG(dcg='log2')@10": "ndcg@10",
    "nDCG(dcg='exp-log2')@10": "ndcg(gain=exponential)@10",
    'nDCG(dcg="exp-log2")': "ndcg(gain=exponential)",
    "DCG(dcg='exp-log2')@5": "dcg(gain=exponential)@5",
    "RBP(p=0.8)": "rbp",
    "RBP(p=0.95)": "rbp(persistence=0.95)",
    "RBP(p=0.5)@10": "rbp(persistence=0.5)@10",
    "ERR@20": "err@20",
    "Rprec": "r_precision",
    "Success@5": "hit_rate@5",
    "Judged@10": "judged@10",
    "IPrec@0.1": "interpolated_precision(recall=0.1)",
    "IPrec@0": "interpolated_precision(recall=0)",
    "IPrec@1.0": "interpolated_precision(recall=1)",
    "SetP": "precision",
    "SetR": "recall",
    "SetF": "f_measure",
    "SetF(beta=2)": "f_measure(beta=2)",
    "Bpref": "bpref",
    "NumRet": "n_retrieved",
    "NumRel": "n_relevant",
    "NumRelRet": "n_relevant_retrieved",
}

TREC_EVAL = {
    "P_10": "precision@10",
    "recall_100": "recall@100",
    "relative_P_5": "recall(capped=True)@5",
    "map": "average_precision",
    "map_cut_10": "average_precision@10",
    "recip_rank": "reciprocal_rank",
    "ndcg": "ndcg",
    "ndcg_cut_10": "ndcg@10",
    "success_5": "hit_rate@5",
    "Rprec": "r_precision",
    "bpref": "bpref",
    "iprec_at_recall_0.00": "interpolated_precision(recall=0)",
    "iprec_at_recall_0.10": "interpolated_precision(recall=0.1)",
    "iprec_at_recall_1.00": "interpolated_precision(recall=1)",
    "11pt_avg": "interpolated_precision",
    "set_P": "precision",
    "set_recall": "recall",
    "set_F": "f_measure",
    "num_ret": "n_retrieved",
    "num_rel": "n_relevant",
    "num_rel_ret": "n_relevant_retrieved",
}

TORCHMETRICS = {
    "RetrievalPrecision": "precision",
    "RetrievalRecall": "recall",
    "RetrievalRPrecision": "r_precision",
    "RetrievalHitRate": "hit_rate",
    "RetrievalFallOut": "fall_out",
    "RetrievalMRR": "reciprocal_rank",
    "RetrievalMAP": "average_precision(denominator=hits)",
    "RetrievalNormalizedDCG": "ndcg",
    "RetrievalAUROC": "auroc",
    "RetrievalRecallAtFixedPrecision": "recall_at_precision",
}

SPELLED_WITH_PARAMETERS = {
    "RetrievalPrecision(top_k=10, adaptive_k=True)": "precision(adaptive_k=True)@10",
    "RetrievalMAP(denominator='min')": "average_precision(denominator=min)",
    "RetrievalMAP(top_k=5)": "average_precision(denominator=hits)@5",
    "RetrievalRecallAtFixedPrecision(min_precision=0.25, max_k=7)": "recall_at_precision(min_precision=0.25)@7",
    "recall( k = 3 )": "recall@3",
    "recall()": "recall",
    "recall(k=None)": "recall",
    "precision(adaptive_k=TRUE)@2": "precision(adaptive_k=True)@2",
}


@pytest.mark.parametrize(
    ("name", "canonical"),
    [*IR_MEASURES.items(), *TREC_EVAL.items(), *TORCHMETRICS.items(), *SPELLED_WITH_PARAMETERS.items()],
)
def test_other_tools_names(name, canonical):
    assert str(pr.parse(name)) == canonical
    assert pr.parse(name) == pr.parse(canonical)


def test_every_other_name_is_in_a_table():
    tables = {"ir_measures": IR_MEASURES, "trec_eval": TREC_EVAL, "torchmetrics": TORCHMETRICS}
    for measure in REGISTRY.values():
        for other in measure.declaration.aliases:
            names = tables.get(other.tool, ())
            found = [name for name in names if other.match(re.sub(r"\(.*\)", "", name)) is not None]
            assert found or other.tool == "other" or other.pattern in SYNONYMS, other


SYNONYMS = {"MAP", "MRR", "NDCG", "DCG", "RBP@{k}", "RBP", "ERR", "F@{k}", "RPrec"}
"""Other ways of ir_measures to write what is in its table."""


@pytest.mark.parametrize("name", sorted(SYNONYMS))
def test_synonyms(name):
    assert pr.parse(name.format(k=7)).parameters.get("k") == (7 if "{k}" in name else None)


def test_torchmetrics_names_are_all_there():
    theirs = set(pytest.importorskip("torchmetrics.retrieval").__all__)
    # The curve is no measure of one number.
    assert theirs - {"RetrievalPrecisionRecallCurve"} == set(TORCHMETRICS)


def test_objects_names_and_other_names_are_one_column():
    run = pl.DataFrame({"query_id": ["q", "q"], "score": [0.9, 0.8], "relevance": [0, 1]})
    assert run.retrieval.evaluate(["P@2", "P_2", "precision@2", pr.precision @ 2]).rows() == [(1 / 2,)]


RUN = pl.DataFrame({"query_id": ["q"] * 3, "score": [0.9, 0.8, 0.7], "relevance": [1, 0, 1]})


class TestSets:
    @pytest.mark.parametrize("name", list(SETS))
    @pytest.mark.parametrize("function", [pr.evaluate, pr.per_query])
    def test_expand_where_metrics_are_taken(self, name, function):
        columns = [str(pr.parse(member)) for member in SETS[name]]
        assert len(set(columns)) == len(columns)
        result = function(RUN, name)
        assert result.columns[-len(columns) :] == columns
        assert result.select("average_precision", "precision@5").row(0) == pytest.approx(((1 + 2 / 3) / 2, 2 / 5))

    def test_beside_other_measures(self):
        columns = RUN.retrieval.evaluate(["recall@7", "official", pr.rbp, "map"]).columns
        assert columns == ["recall@7", *(str(pr.parse(name)) for name in SETS["official"]), "rbp"]

    @pytest.mark.parametrize("name", list(SETS))
    def test_no_single_measure(self, name):
        with pytest.raises(MetricError, match=rf"`{name}` stands for several measures.*`metrics`"):
            pr.parse(name)

    def test_all_trec_holds_official(self):
        assert set(SETS["official"]) < set(SETS["all_trec"])

    @pytest.mark.shared
    @pytest.mark.parametrize(("name", "printed"), [("official", "out.test"), ("all_trec", "out.test.a")])
    def test_trec_eval_prints_them(self, shared, name, printed):
        lines = (shared / "data" / "trec_eval-test" / printed).read_text().splitlines()
        theirs = list(dict.fromkeys(line.split()[0] for line in lines))
        assert set(SETS[name]) <= set(theirs)
        not_here = set(theirs) - set(SETS[name])
        assert not not_here & {other.pattern for m in REGISTRY.values() for other in m.declaration.aliases}
        if name == "official":
            assert not_here == {"runid", "num_q", "gm_map"}


class TestWrongNames:
    @pytest.mark.parametrize(
        ("name", "near"),
        [
            ("precission@10", "precision"),
            ("Recall@10", "recall"),
            ("averageprecision", "average_precision"),
            ("reciprocal-rank", "reciprocal_rank"),
            ("interpolated_precison(recall=0.1)", "interpolated_precision"),
            ("n_relevent", "n_relevant"),
            ("ngcd_cut_10", "ndcg_cut_10"),
            ("ndcg_cut.20", "ndcg_cut_20"),
            ("map_cut", "map_cut_10"),
            ("P-5", "P_5"),
            ("P_10@3", "P_10"),
            ("iprec_at_recal_0.20", "iprec_at_recall_0.20"),
            ("recip_rnk", "recip_rank"),
            ("RetrivalMRR", "RetrievalMRR"),
            ("RetrievalRecall@3", "RetrievalRecall"),
            ("offical", "official"),
            ("all-trec", "all_trec"),
        ],
    )
    def test_nearest_is_named(self, name, near):
        for ask in (pr.parse, parse_all, lambda wrong: pr.evaluate(RUN, wrong)):
            with pytest.raises(MetricError) as error:
                ask(name)
            assert f"there is no measure `{name}`" in str(error.value)
            assert str(error.value).endswith(f"did you mean `{near}`?")
        assert parse_all(near)

    @pytest.mark.parametrize("name", ["", "@10", "zzz", "#", "(k=3)"])
    def test_nothing_near(self, name):
        with pytest.raises(MetricError) as error:
            pr.parse(name)
        assert "did you mean" not in str(error.value)
        assert all(f"`{known}`" in str(error.value) for known in REGISTRY)

    @pytest.mark.parametrize(
        ("name", "form"),
        [
            ("recall@1.5", "recall(capped=False)@10"),
            ("recall@x", "recall(capped=False)@10"),
            ("recall@", "recall(capped=False)@10"),
            ("recall@-1", "recall(capped=False)@10"),
            ("recall @ 10", "recall(capped=False)@10"),
            ("recall@10@5", "recall(capped=False)@10"),
            ("recall@10(capped=True)", "recall(capped=False)@10"),
            ("recall(k=3)@5", "recall(capped=False)@10"),
            ("recall(k=3", "recall(capped=False)@10"),
            ("hit_rate@1e1", "hit_rate@10"),
            ("r_precision[3]", None),
            ("r_precision(", "r_precision"),
            ("P", "P@10"),
            ("P(k=3)", "P@10"),
            ("P@10(adaptive_k=True)", "P@10"),
            ("IPrec@.1", "IPrec@0.10"),
        ],
    )
    def test_right_name_in_a_wrong_form(self, name, form):
        with pytest.raises(MetricError) as error:
            pr.parse(name)
        assert f"there is no measure `{name}`" in str(error.value)
        if form is not None:
            assert f"is written as `{form}`" in str(error.value)
            assert pr.parse(form)

    @pytest.mark.parametrize("name", list(REGISTRY))
    def test_the_form_that_an_error_shows_is_right(self, name):
        with pytest.raises(MetricError) as error:
            pr.parse(f"{name}(")
        shown = str(error.value).partition("is written as `")[2].partition("`")[0]
        assert pr.parse(shown) == (REGISTRY[name] @ 10 if "k" in declared(name) else REGISTRY[name])

    @given(text=st.text(alphabet="recall_P@(k=1,.5)' ", max_size=14))
    def test_any_text_is_a_measure_or_an_error_of_names(self, text):
        measure = parsed(text)
        assert measure is None or pr.parse(str(measure)) == measure


def parsed(text):
    """Parse a text, or give None where that is refused with an error of ours."""
    try:
        return pr.parse(text)
    except (MetricError, ParameterError):
        return None


class TestWrongParameters:
    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("ndcg(gian=linear)", "`ndcg` has no parameter `gian`; it takes `k`, `gain`.*did you mean `gain`"),
            ("nDCG(gian='linear')@10", "`ndcg` has no parameter `gian`.*did you mean `gain`"),
            ("average_precision(denominater=min)", "did you mean `denominator`"),
            ("rbp(persistance=0.5)", "did you mean `persistence`"),
            ("precision(adaptive=True)@3", "did you mean `adaptive_k`"),
            ("r_precision@3", "`r_precision` has no parameter `k`; it takes none"),
            ("Rprec(k=3)", "`r_precision` has no parameter `k`; it takes none"),
            ("bpref(rel=2)", "`bpref` has no parameter `rel`"),
        ],
    )
    def test_unknown(self, name, words):
        with pytest.raises(ParameterError, match=f"(?s){words}"):
            pr.parse(name)

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("ndcg(gain=lineer)", "`gain`.*`lineer`.*`linear`, `exponential`.*did you mean `linear`"),
            ("nDCG(dcg='log3')", "`gain`.*`log3`.*`linear`, `exponential`"),
            ("average_precision(denominator=hit)", "`denominator`.*`hit`.*did you mean `hits`"),
            ("recall@0", "`k` has to be a positive integer or None, got 0"),
            ("P_0", "`k` has to be a positive integer or None, got 0"),
            ("recall(k=1e1)", "`k` has to be a positive integer or None, got 10.0"),
            ("recall(k=True)", "`k` has to be a positive integer or None, got True"),
            ("precision(adaptive_k=yes)", "`adaptive_k` has to be a boolean, got 'yes'"),
            ("RBP(p=1.5)", "`persistence` has to be a number from 0 to 1, got 1.5"),
            ("rbp(persistence=nan)", "`persistence` has to be a number, got 'nan'"),
            ("SetF(beta=-1)", "`beta` has to be a number above 0, got -1"),
            ("f_measure(beta=1e999)", "`beta` has to be a number above 0, got inf"),
            ("IPrec@1.5", "`recall` has to be a number from 0 to 1, got 1.5"),
            ("err(max_grade=0)", "`max_grade` has to be a number above 0, got 0"),
        ],
    )
    def test_value(self, name, words):
        with pytest.raises(ParameterError, match=f"(?s){words}"):
            pr.parse(name)

    @pytest.mark.parametrize(
        "name", ["recall(k=3, k=4)", "P(k=3)@10", "P_10(k=3)", "IPrec(recall=0.5)@0.1", "RetrievalMAP(top_k=3, k=4)"]
    )
    def test_given_twice(self, name):
        with pytest.raises(ParameterError, match=f"`{re.escape(name)}` is given twice"):
            pr.parse(name)

    def test_without_a_name(self):
        with pytest.raises(ParameterError, match=r"`recall\(3\)` have to be given as `name=value`"):
            pr.parse("recall(3)")

    @pytest.mark.parametrize("name", ["P(rel=2)@10", "AP(rel=2)", "nDCG(rel=1, dcg='log2')"])
    def test_relevance_level_of_ir_measures(self, name):
        with pytest.raises(ParameterError, match=r"`rel`.*`min_relevance`"):
            pr.parse(name)

    def test_judged_only_of_ir_measures(self):
        with pytest.raises(ParameterError, match=r'`judged_only`.*`unjudged="drop"`'):
            pr.parse("P(judged_only=True)@10")


def test_no_number_is_lost_in_a_name():
    assert pr.parse(str(pr.rbp(persistence=0.1 + 0.2))).parameters["persistence"] == 0.1 + 0.2
    assert pr.parse(str(pr.f_measure(beta=math.pi))).parameters["beta"] == math.pi
