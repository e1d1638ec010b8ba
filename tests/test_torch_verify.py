"""The direct computation agrees with the library, and shows where the library is off."""

import math
import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("torchmetrics")

from test_torch_device import DEVICES, FLOATS, TIES, batches, workload  # noqa: E402
from torch import tensor  # noqa: E402

import polars_retrieval as pr  # noqa: E402
from polars_retrieval.errors import DataError, EmptyTargetError, MetricError, ParameterError  # noqa: E402
from polars_retrieval.torch import verification  # noqa: E402
from polars_retrieval.torch.device import DeviceLists  # noqa: E402
from polars_retrieval.torch.verification import verify  # noqa: E402

CURVES = ["curve precision", "curve recall", "recall at precision"]
MEASURES = [pr.recall @ 3, pr.precision @ 3, pr.average_precision(denominator="hits") @ 3, pr.ndcg, pr.reciprocal_rank]
TIED = tensor([1.0, 1.0, 1.0]), tensor([1, 0, 0]), tensor([5, 5, 5])


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Let torch work on one thread: on small tensors, several wait for each other, for seconds if others are busy."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def direct(found):
    return dict(found.select("measure", "direct").iter_rows())


@given(batches(), st.sampled_from(TIES), st.sampled_from(["neg", "pos", "skip"]), st.sampled_from(["device", "polars"]))
def test_small_lists_agree(batch, ties, action, engine):
    found = verify(*batch, ties=ties, empty_target_action=action, engine=engine)
    assert found["difference"].max() < 1e-12


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("n_scores", [2, 40, None])
def test_thousands_of_ragged_lists_agree(ties, n_scores, device):
    preds, target, indexes = (column.to(device) for column in workload(2_000, 60, n_scores=n_scores))
    found = verify(preds.float(), target * (indexes % 3), indexes, ties=ties)
    assert found["difference"].max() < 1e-12
    assert (found["library"].is_between(0, 1)).all()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_every_type_of_score_agrees(dtype):
    preds, target, indexes = workload(300, 30)
    assert verify(preds.to(dtype), target, indexes)["difference"].max() < 1e-12


def test_a_large_tie_group_agrees():
    n = 20_000
    preds, target = torch.zeros(n), (torch.arange(n) % 7 == 0).long()
    found = verify(preds, target, torch.zeros(n, dtype=torch.long))
    assert found["difference"].max() < 1e-10
    assert direct(found)["precision@100"] == pytest.approx(math.ceil(n / 7) / n)


def test_every_torch_class_is_among_the_rows():
    names = verify(*TIED)["measure"]
    one_a_class = ["precision", "recall", "r_precision", "average_precision", "reciprocal_rank", "ndcg", "hit_rate"]
    for start in [*one_a_class, "fall_out", "auroc", *CURVES]:
        assert names.str.starts_with(start).any(), start
    assert names.n_unique() == len(names)


def test_worked_values_of_ties():
    found = direct(verify(*TIED, metrics=["precision@1", "reciprocal_rank", "hit_rate@2", "ndcg@1", "auroc"]))
    assert found == {
        "precision@1": pytest.approx(1 / 3),
        "reciprocal_rank": pytest.approx((1 + 1 / 2 + 1 / 3) / 3),
        "hit_rate@2": pytest.approx(2 / 3),
        "ndcg@1": pytest.approx(1 / 3),
        "auroc": pytest.approx(1 / 2),
    }
    for ties, first in {"stable": 1, "pessimistic": 0, "optimistic": 1}.items():
        assert direct(verify(*TIED, metrics="precision@1", ties=ties)) == {"precision@1": first}


def test_worked_values_of_cut_groups():
    """Documents a b | c d e tied, of which a and c are relevant; of c d e one is within the first 3."""
    preds, target = tensor([3.0, 2.0, 1.0, 1.0, 1.0]), tensor([1, 0, 1, 0, 0])
    found = direct(
        verify(preds, target, torch.zeros(5).long(), metrics=["average_precision(denominator=hits)@3", "auroc@3"])
    )
    assert found == {
        # One time of three c comes next: then the hits have precision 1/1 and 2/3, else there is one hit.
        "average_precision(denominator=hits)@3": pytest.approx(((1 + 2 / 3) / 2 + 1 + 1) / 3),
        # Then a is above b, and c below it; else a is above both others.
        "auroc@3": pytest.approx((1 / 2 + 1 + 1) / 3),
    }


def test_worked_values_of_measures():
    """Ranked d7 d2 d9 d1 d4, of which d2 and d4 are relevant, with the grades 1 and 2."""
    preds, grades = tensor([0.9, 0.8, 0.7, 0.6, 0.5]), tensor([0, 1, 0, 0, 2])
    metrics = [
        "precision@5",
        "recall@2",
        "r_precision",
        "reciprocal_rank",
        "fall_out@2",
        "ndcg",
        "recall(capped=True)@1",
    ]
    metrics += ["average_precision", "average_precision(denominator=min)@2", "precision(adaptive_k=True)@9"]
    found = direct(verify(preds, grades, torch.zeros(5).long(), metrics=metrics))
    assert found == {
        "precision@5": pytest.approx(2 / 5),
        "recall@2": pytest.approx(1 / 2),
        "r_precision": pytest.approx(1 / 2),
        "reciprocal_rank": pytest.approx(1 / 2),
        "fall_out@2": pytest.approx(1 / 3),
        "ndcg": pytest.approx((1 / math.log2(3) + 2 / math.log2(6)) / (2 + 1 / math.log2(3))),
        "recall(capped=True)@1": 0,
        "average_precision": pytest.approx((1 / 2 + 2 / 5) / 2),
        "average_precision(denominator=min)@2": pytest.approx((1 / 2) / 2),
        "precision(adaptive_k=True)@9": pytest.approx(2 / 5),
    }


def test_worked_values_of_the_curve():
    preds, target = tensor([0.4, 0.01, 0.5, 0.6, 0.2, 0.3, 0.5]), tensor([1, 0, 0, 1, 1, 0, 1])
    computed = verification._Direct(preds, target, tensor([0, 0, 0, 0, 1, 1, 1]), pr.options.Options())
    precision, recall = computed.curve(6)
    assert precision.tolist() == pytest.approx([1, 1 / 2, 2 / 3, 1 / 2, 4 / 2 / 5, 4 / 2 / 6])
    assert recall.tolist() == pytest.approx([1 / 2, 1 / 2, 1, 1, 1, 1])
    found = verify(preds, target, tensor([0, 0, 0, 0, 1, 1, 1]), min_precision=0.8, max_k=3)
    assert found.filter(pl.col("measure") == "recall at precision 0.8").row(0)[1:] == (0.5, 0.5, 0.0, None)


@pytest.mark.parametrize("cells", [1, 7])
def test_blocks_change_nothing(cells, monkeypatch):
    batch = workload(60, 12, n_scores=3)
    computed = verification._Direct(*batch, pr.options.Options())

    def results():
        return len(list(computed._blocks())), torch.stack(computed.values(MEASURES)), torch.stack(computed.curve(12))

    n_blocks, *expected = results()
    monkeypatch.setattr(verification, "_CELLS", cells)
    n_smaller, *found = results()
    assert n_smaller > 10 > n_blocks
    for values, others in zip(found, expected, strict=True):
        assert torch.allclose(values, others, rtol=0, atol=1e-14)


def off_by(amount, query):
    """Make ranked lists that are off at one query."""

    class Off(DeviceLists):
        def per_query(self, metrics, *, bounds=False):
            wrong = pl.when(indexes=query).then(amount).otherwise(0)
            return super().per_query(metrics, bounds=bounds).with_columns(pl.exclude("indexes") + wrong)

    return Off


def test_a_wrong_value_is_found_with_its_query(monkeypatch):
    preds, target, indexes = workload(50, 10)
    monkeypatch.setattr(verification, "DeviceLists", off_by(1e-6, 17))
    found = verify(preds, target, indexes, metrics=["recall@3", "ndcg"], engine="device")
    assert found["difference"].to_list() == pytest.approx([1e-6, 1e-6])
    assert found["query"].to_list() == [17, 17]
    assert (found["library"] - found["direct"]).to_list() == pytest.approx([1e-6 / 50, 1e-6 / 50])


def test_a_query_that_one_side_leaves_out_is_found(monkeypatch):
    monkeypatch.setattr(verification, "DeviceLists", off_by(None, 5))
    found = verify(*TIED, metrics="recall@1", engine="device")
    assert found.select("library", "difference", "query").row(0) == (None, math.inf, 5)


def test_a_wrong_ranking_is_found(monkeypatch):
    """Ranking from the lowest score is far off for what reads ranks."""
    rank = verification.DeviceLists
    monkeypatch.setattr(verification, "DeviceLists", lambda preds, *others, **options: rank(-preds, *others, **options))
    found = verify(*workload(50, 10), engine="device")
    assert found.filter(pl.col("measure").str.contains("^(ndcg|reciprocal_rank|auroc|curve.*)")).filter(
        pl.col("difference") < 0.01
    )["measure"].to_list() == ["auroc@1"]


def test_queries_left_out_by_both():
    found = verify(tensor([0.5, 0.4]), tensor([0, 0]), tensor([1, 2]), empty_target_action="skip", metrics=["recall@1"])
    assert found.row(0)[:4] == ("recall@1", None, None, 0.0)


def test_rows_to_ignore_are_dropped():
    preds, target, indexes = workload(50, 10)
    marked = torch.where(torch.arange(len(target)) % 3 == 0, -100, target)
    kept = marked != -100
    assert verify(preds, marked, indexes, ignore_index=-100).equals(verify(preds[kept], target[kept], indexes[kept]))


def test_no_tensor_is_made_on_another_device():
    batch = workload(50, 10, n_scores=3)
    with torch.device("meta"):
        assert verify(*batch, metrics=["recall@3", "auroc@3", "ndcg"])["difference"].max() < 1e-12


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"metrics": "bpref"}, MetricError, "`metrics` has `bpref`, which has no value a query from a torch class"),
        ({"metrics": "recal@3"}, MetricError, "recal"),
        ({"ties": "doc_id"}, ParameterError, "`ties` received a wrong value `doc_id`"),
        ({"engine": "gpu"}, ParameterError, "`engine` received a wrong value `gpu`; allowed are"),
        ({"max_k": 0}, ParameterError, "`max_k` has to be a positive integer or None, got 0"),
        ({"min_precision": 2}, ParameterError, "`min_precision`"),
        ({"empty_target_action": "no"}, ParameterError, "`empty_target_action` received a wrong value `no`"),
    ],
)
def test_wrong_options_are_refused(given, error, message):
    with pytest.raises(error, match=re.escape(message)):
        verify(*TIED, **given)


def test_wrong_tensors_are_refused():
    preds, target, indexes = TIED
    with pytest.raises(DataError, match="must be of the same shape"):
        verify(preds[:2], target, indexes)
    with pytest.raises(DataError, match="`target` must contain `binary` values"):
        verify(preds, target + 1, indexes, metrics="recall@1")
    for engine in ("device", "polars"):
        with pytest.raises(DataError, match="column `preds` has 3 NaN, the first in indexes 5"):
            verify(preds * math.nan, target, indexes, engine=engine)
        with pytest.raises(EmptyTargetError, match="the first is indexes 5"):
            verify(preds, target * 0, indexes, engine=engine, empty_target_action="error")


def test_a_partial_area_has_no_second_computation():
    with pytest.raises(MetricError, match=r"`auroc\(max_fpr=0\.5\)`, whose partial area is not computed"):
        verify(*TIED, metrics="auroc(max_fpr=0.5)")
