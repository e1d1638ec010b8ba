"""The functions on tensors of one query."""

import inspect
import math
import re

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchmetrics")

import torchmetrics.functional.retrieval as theirs  # noqa: E402
from torch import tensor  # noqa: E402

import polars_retrieval.torch as metrics  # noqa: E402
from polars_retrieval.errors import DataError, ParameterError  # noqa: E402
from polars_retrieval.torch import functional as ours  # noqa: E402

CLASSES = {
    "retrieval_auroc": metrics.RetrievalAUROC,
    "retrieval_average_precision": metrics.RetrievalMAP,
    "retrieval_fall_out": metrics.RetrievalFallOut,
    "retrieval_normalized_dcg": metrics.RetrievalNormalizedDCG,
    "retrieval_reciprocal_rank": metrics.RetrievalMRR,
    "retrieval_precision": metrics.RetrievalPrecision,
    "retrieval_recall": metrics.RetrievalRecall,
    "retrieval_hit_rate": metrics.RetrievalHitRate,
    "retrieval_r_precision": metrics.RetrievalRPrecision,
    "retrieval_precision_recall_curve": metrics.RetrievalPrecisionRecallCurve,
}
CUTOFFS = [name for name in CLASSES if "top_k" in inspect.signature(getattr(ours, name)).parameters]
P, T = tensor([0.2, 0.3, 0.5]), tensor([1, 0, 1])


def test_every_function_of_torchmetrics_has_one_of_ours():
    assert sorted(ours.__all__) == sorted(CLASSES) == sorted(theirs.__all__)


@pytest.mark.parametrize("name", CLASSES)
def test_positional_arguments_and_defaults_are_torchmetrics(name):
    parameters = inspect.signature(getattr(ours, name)).parameters.values()
    given = [p for p in parameters if p.kind != p.KEYWORD_ONLY]
    wanted = inspect.signature(getattr(theirs, name)).parameters.values()
    assert [(p.name, p.default) for p in given] == [(p.name, p.default) for p in wanted]


@pytest.mark.parametrize("name", CLASSES)
def test_every_parameter_is_documented(name):
    text, examples = inspect.getdoc(getattr(ours, name)).split("Examples\n--------\n")
    section, returns = text.split("Parameters\n----------\n")[1].split("Returns\n-------\n")
    documented = re.findall(r"^(\w+)\n    \S", section, re.MULTILINE)
    assert documented == list(inspect.signature(getattr(ours, name)).parameters)
    assert re.match(r"(Tensor|tuple\[Tensor, Tensor, Tensor\])\n    \S", returns)
    assert f">>> from polars_retrieval.torch.functional import {name}" in examples


def test_worked_curve():
    precision, recall, top_k = ours.retrieval_precision_recall_curve(P, T, max_k=2)
    assert (precision.tolist(), recall.tolist(), top_k.tolist()) == ([1, 1 / 2], [1 / 2, 1 / 2], [1, 2])


def test_worked_r_precision_and_recall():
    assert ours.retrieval_r_precision(P, T).item() == 1 / 2
    assert ours.retrieval_recall(P, T, top_k=2).item() == 1 / 2
    assert ours.retrieval_recall(P, T, k=2).item() == 1 / 2


@pytest.mark.parametrize(
    ("ties", "expected"), [("expected", 1 / 3), ("stable", 1.0), ("pessimistic", 0.0), ("optimistic", 1.0)]
)
def test_worked_ties(ties, expected):
    rows = (torch.ones(3), tensor([1, 0, 0]))
    assert ours.retrieval_precision(*rows, top_k=1, ties=ties).item() == pytest.approx(expected)
    assert ours.retrieval_hit_rate(*rows, top_k=1, ties=ties).item() == pytest.approx(expected)
    assert ours.retrieval_r_precision(*rows, ties=ties).item() == pytest.approx(expected)


def test_worked_scores_below_zero():
    rows = (tensor([-0.1, -0.5, -0.9]), tensor([1, 0, 1]))
    assert ours.retrieval_precision(*rows, top_k=1).item() == 1
    assert ours.retrieval_recall(*rows, top_k=1).item() == 1 / 2
    assert ours.retrieval_reciprocal_rank(*rows).item() == 1
    torch.testing.assert_close(ours.retrieval_average_precision(*rows), tensor((1 / 1 + 2 / 3) / 2))


def test_worked_reciprocal_rank_of_ties():
    result = ours.retrieval_reciprocal_rank(torch.ones(3), tensor([1, 0, 0]))
    torch.testing.assert_close(result, tensor((1 / 1 + 1 / 2 + 1 / 3) / 3))


@pytest.mark.parametrize(
    ("denominator", "expected"),
    [("hits", (1 / 1 + 2 / 3) / 2), ("relevant", (1 / 1 + 2 / 3) / 4), ("min", (1 / 1 + 2 / 3) / 3)],
)
def test_worked_denominators_of_average_precision(denominator, expected):
    rows = (tensor([0.9, 0.8, 0.7, 0.6, 0.5]), tensor([1, 0, 1, 1, 1]))
    result = ours.retrieval_average_precision(*rows, top_k=3, denominator=denominator)
    torch.testing.assert_close(result, tensor(expected))


@pytest.mark.parametrize("grades", [torch.int8, torch.float32, torch.float64], ids=str)
def test_worked_ndcg_of_grades(grades):
    rows = (tensor([0.9, 0.8, 0.7, 0.6]), tensor([1, -5, 0, 2]).to(grades))
    log2 = math.log2
    linear = (1 / log2(2) + 2 / log2(5)) / (2 / log2(2) + 1 / log2(3))
    exponential = (1 / log2(2) + 3 / log2(5)) / (3 / log2(2) + 1 / log2(3))
    torch.testing.assert_close(ours.retrieval_normalized_dcg(*rows), tensor(linear))
    torch.testing.assert_close(ours.retrieval_normalized_dcg(*rows, gain="exponential"), tensor(exponential))


def test_worked_fall_out_and_auroc():
    rows = (tensor([0.9, 0.8, 0.7, 0.6, 0.5]), tensor([0, 1, 0, 1, 0]))
    torch.testing.assert_close(ours.retrieval_fall_out(*rows, top_k=3), tensor(2 / 3))
    torch.testing.assert_close(ours.retrieval_auroc(*rows), tensor((2 + 1) / (2 * 3)))


@pytest.mark.parametrize("cutoff", [None, 1, 3, 30])
@pytest.mark.parametrize("adaptive_k", [False, True])
@pytest.mark.parametrize("name", CLASSES)
def test_values_are_torchmetrics_where_scores_are_positive_and_untied(name, adaptive_k, cutoff):
    known = inspect.signature(getattr(theirs, name)).parameters
    options = {"top_k": cutoff, "max_k": cutoff, "adaptive_k": adaptive_k}
    options = {key: option for key, option in options.items() if key in known}
    for seed, share in enumerate([0.0, 0.2, 0.5, 1.0]):
        generator = torch.Generator().manual_seed(seed)
        preds = (torch.randperm(12, generator=generator) + 1) / 13
        target = torch.rand(12, generator=generator) < share
        expected = getattr(theirs, name)(preds, target, **options)
        torch.testing.assert_close(getattr(ours, name)(preds, target, **options), expected)


def test_adaptive_k_pads_top_k_with_the_length():
    precision, recall, top_k = ours.retrieval_precision_recall_curve(P, T, max_k=5, adaptive_k=True)
    assert top_k.tolist() == [1, 2, 3, 3, 3]
    torch.testing.assert_close(precision, tensor([1, 1 / 2, 2 / 3, 2 / 3, 2 / 3]))
    assert recall.tolist() == [1 / 2, 1 / 2, 1, 1, 1]


@pytest.mark.parametrize("name", CLASSES)
def test_a_matrix_is_one_list_as_in_torchmetrics(name):
    preds = tensor([[0.4, 0.7, 0.6], [0.3, 0.2, 0.9]])
    target = tensor([[0, 0, 1], [0, 0, 1]])
    function = getattr(ours, name)
    torch.testing.assert_close(function(preds, target), function(preds.flatten(), target.flatten()))


@pytest.mark.parametrize("name", CLASSES)
def test_the_value_is_that_of_the_class(name):
    generator = torch.Generator().manual_seed(0)
    preds = torch.randint(-3, 3, (20,), generator=generator).double()
    target = torch.randint(2, (20,), generator=generator)
    result = getattr(ours, name)(preds, target)
    torch.testing.assert_close(result, CLASSES[name]()(preds, target, indexes=torch.zeros(20, dtype=torch.int32)))
    assert (result[0] if isinstance(result, tuple) else result).dtype == torch.float64


@pytest.mark.parametrize("name", CLASSES)
def test_wrong_tensors_are_named(name):
    function = getattr(ours, name)
    for preds, target, message in [
        (P, T[:2], "`preds` and `target` must be of the same shape, got (3,), (2,)"),
        (P[:0], T[:0], "`preds` and `target` must be non-empty and non-scalar tensors, got shape (0,)"),
        (P[0], T[0], "`preds` and `target` must be non-empty and non-scalar tensors, got shape ()"),
        (P.bool(), T, "`preds` must be a tensor of floats, got torch.bool"),
        (tensor([0.5, float("nan"), 0.1]), T, "`preds` has 1 NaN"),
    ]:
        with pytest.raises(DataError, match=re.escape(message)):
            function(preds, target)
    with pytest.raises(ParameterError, match="`target` must be a Tensor, got list"):
        function(P, [1, 0, 1])
    with pytest.raises(ParameterError, match="`ties` received a wrong value `doc_id`"):
        function(P, T, ties="doc_id")


@pytest.mark.parametrize("name", [name for name in CLASSES if name != "retrieval_normalized_dcg"])
def test_grades_are_refused_where_documents_are_relevant_or_not(name):
    with pytest.raises(DataError, match=r"`target` must be .* booleans or integers, got torch\.float32"):
        getattr(ours, name)(P, T.float())
    with pytest.raises(DataError, match="`target` must contain `binary` values, 0 and 1, got values from -1 to 2"):
        getattr(ours, name)(P, T * 3 - 1)


def test_other_parameters_are_checked():
    with pytest.raises(ParameterError, match=r"`max_fpr` has to be a number from 0 to 1, got 1\.5"):
        ours.retrieval_auroc(P, T, max_fpr=1.5)
    with pytest.raises(ParameterError, match="`denominator` received a wrong value `all`"):
        ours.retrieval_average_precision(P, T, denominator="all")
    with pytest.raises(ParameterError, match="`gain` received a wrong value `all`"):
        ours.retrieval_normalized_dcg(P, T, gain="all")


@pytest.mark.parametrize("given", [0, -10, 4.0, True])
def test_a_cutoff_is_a_positive_integer(given):
    message = f"has to be a positive integer or None, got {given!r}"
    for name in CUTOFFS:
        with pytest.raises(ParameterError, match=f"`top_k` {message}"):
            getattr(ours, name)(P, T, given)
        with pytest.raises(ParameterError, match=f"`k` {message}"):
            getattr(ours, name)(P, T, k=given)
    with pytest.raises(ParameterError, match=f"`max_k` {message}"):
        ours.retrieval_precision_recall_curve(P, T, given)


@pytest.mark.parametrize("name", CUTOFFS)
def test_k_and_top_k_may_not_differ(name):
    with pytest.raises(ParameterError, match=r"`top_k` and .*`k` must be equal .* got 1 and 2"):
        getattr(ours, name)(P, T, 1, k=2)


@pytest.mark.parametrize("given", [10, None])
def test_adaptive_k_is_a_boolean(given):
    for name in ["retrieval_precision", "retrieval_precision_recall_curve"]:
        with pytest.raises(ParameterError, match=f"`adaptive_k` has to be a boolean, got {given!r}"):
            getattr(ours, name)(P, T, adaptive_k=given)
