"""Lightning logs the metrics, and resets them, as it does torchmetrics' own."""

import polars as pl
import pytest

pytest.importorskip("torchmetrics")
torch = pytest.importorskip("torch")
lightning = pytest.importorskip("lightning", exc_type=ImportError)

from torch import tensor  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402
from torchmetrics import MetricCollection  # noqa: E402

import polars_retrieval as pr  # noqa: E402
import polars_retrieval.torch as ours  # noqa: E402

QUERIES, DOCUMENTS, FEATURES, EPOCHS = 12, 8, 5, 2

MEASURES = {
    "recall": pr.recall @ 3,
    "val/precision": pr.precision @ 3,
    "val/mrr": pr.reciprocal_rank,
    "val/ndcg": pr.ndcg @ 5,
    "val/map": pr.average_precision(denominator="hits"),
    "val/recall": pr.recall @ 1,
}

pytestmark = [
    # What Lightning says of this machine, and of a run as small as this one.
    pytest.mark.filterwarnings("ignore:The '.*' does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*`isinstance\\(treespec, LeafSpec\\)` is deprecated"),
    pytest.mark.filterwarnings("ignore:.*is larger than the number of training batches"),
]


def documents(seed=0):
    """The features of each query's documents, which are relevant, and the number of the query."""
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(QUERIES, DOCUMENTS, FEATURES, generator=generator)
    relevant = features[..., 0] + torch.randn(QUERIES, DOCUMENTS, generator=generator) > 0.5
    return TensorDataset(features, relevant, torch.arange(QUERIES).unsqueeze(1).expand(QUERIES, DOCUMENTS))


class Ranker(lightning.LightningModule):
    """A linear ranker, with a metric of its own and a collection; it notes down what they should see."""

    def __init__(self):
        super().__init__()
        self.score = torch.nn.Linear(FEATURES, 1)
        self.recall = ours.RetrievalRecall(top_k=3)
        self.metrics = MetricCollection(
            {
                "precision": ours.RetrievalPrecision(top_k=3),
                "mrr": ours.RetrievalMRR(),
                "ndcg": ours.RetrievalNormalizedDCG(top_k=5),
                "map": ours.RetrievalMAP(),
                "recall": ours.RetrievalRecall(top_k=1),
            },
            prefix="val/",
        )
        self.seen = []
        self.epochs = []

    def training_step(self, batch, number):
        features, relevant, _ = batch
        return torch.nn.functional.binary_cross_entropy_with_logits(self.score(features).squeeze(-1), relevant.float())

    def validation_step(self, batch, number):
        features, relevant, queries = batch
        scores = self.score(features).squeeze(-1)
        self.recall.update(scores, relevant, queries)
        self.metrics.update(scores, relevant, queries)
        self.log("recall", self.recall)
        self.log_dict(self.metrics)
        columns = {"query_id": queries, "score": scores, "relevance": relevant}
        self.seen.append(pl.DataFrame({name: ours.from_torch(given.flatten()) for name, given in columns.items()}))

    def on_validation_epoch_start(self):
        self.seen = []

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1.0)


class Notes(lightning.Callback):
    """What was logged in each epoch, beside what the frames give for the same predictions."""

    def on_validation_end(self, trainer, module):
        logged = {name: trainer.callback_metrics[name].item() for name in MEASURES}
        expected = pr.evaluate(pl.concat(module.seen), list(MEASURES.values())).row(0)
        module.epochs.append((logged, dict(zip(MEASURES, expected, strict=True))))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model after two epochs of training, each with a validation."""
    trainer = lightning.Trainer(
        accelerator="cpu",
        default_root_dir=tmp_path_factory.mktemp("lightning"),
        max_epochs=EPOCHS,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        callbacks=[Notes()],
    )
    torch.manual_seed(0)
    ranker = Ranker()
    trainer.fit(ranker, DataLoader(documents(), batch_size=4), DataLoader(documents(seed=1), batch_size=5))
    return ranker


def test_logged_values_are_those_of_frames(model):
    assert len(model.epochs) == EPOCHS
    for logged, expected in model.epochs:
        assert logged == pytest.approx(expected, rel=1e-6)


def test_each_epoch_begins_anew(model):
    (first, _), (second, _) = model.epochs
    assert first != second
    assert model.recall.preds == model.metrics["mrr"].preds == []


def test_metrics_move_and_are_kept_with_the_module(model):
    assert {name for name, _ in model.named_children()} == {"score", "recall", "metrics"}
    assert model.state_dict().keys() == {"score.weight", "score.bias"}  # the states are not persistent by default
    rows = tensor([0.2, 0.3, 0.5]), tensor([1, 0, 1]), tensor([0, 0, 0])
    model.double()
    model.recall.update(*rows)
    assert model.recall.compute().item() == 1
    model.recall.reset()
