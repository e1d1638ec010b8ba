# %% [markdown]
# # A training loop
#
# A two-tower retriever in miniature: two linear maps that are to bring a query near its documents. After each epoch
# recall@10 and nDCG@10 are taken over the validation queries; at the end the curves of the first and the last epoch are
# compared. It runs on a CPU in seconds.

# %%
import polars as pl
import torch
from matplotlib import pyplot as plt
from torchmetrics import MetricCollection

import polars_retrieval as pr
from polars_retrieval.torch import (
    RetrievalMRR,
    RetrievalNormalizedDCG,
    RetrievalPrecisionRecallCurve,
    RetrievalRecall,
)

# %% [markdown]
# ## Data
#
# Each of 60 topics has a direction. A document is its topic's direction with noise, and a query the same in another
# space, which is what has to be learned. A document is relevant to a query of its topic.

# %%
torch.manual_seed(0)
torch.set_num_threads(1)  # the tensors are small: threads would only wait for each other
TOPICS, SIZE, NOISE = 60, 24, 0.9
directions = torch.randn(TOPICS, SIZE)
rotation = torch.linalg.qr(torch.randn(SIZE, SIZE)).Q


def draw(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return vectors and their topics."""
    topics = torch.randint(TOPICS, (count,))
    return directions[topics] + NOISE * torch.randn(count, SIZE), topics


documents, document_topics = draw(600)
train_queries, train_topics = draw(400)
queries, query_topics = draw(200)
train_queries, queries = train_queries @ rotation, queries @ rotation
relevant = query_topics.unsqueeze(1) == document_topics
relevant.shape, round(relevant.sum(1).float().mean().item(), 1)

# %% [markdown]
# ## Metrics
#
# `indexes` says to which query each pair belongs: here row i of the matrix of scores is query i.

# %%
metrics = MetricCollection(
    {
        "recall@10": RetrievalRecall(top_k=10),
        "ndcg@10": RetrievalNormalizedDCG(top_k=10),
        "reciprocal_rank": RetrievalMRR(),
    }
)
row = torch.arange(len(queries)).unsqueeze(1).expand_as(relevant)

towers = torch.nn.ModuleDict(
    {name: torch.nn.Linear(SIZE, 16, bias=False) for name in ("query", "document")}
)


def similarity(some_queries: torch.Tensor) -> torch.Tensor:
    """Return the cosine of each query with each document."""
    normalize = torch.nn.functional.normalize
    return (
        normalize(towers["query"](some_queries))
        @ normalize(towers["document"](documents)).T
    )


@torch.inference_mode()
def validate() -> dict[str, float]:
    """Return the metrics of all validation queries, which are scored in batches."""
    metrics.reset()
    for part in torch.arange(len(queries)).split(64):
        metrics.update(similarity(queries[part]), relevant[part], indexes=row[part])
    return {name: value.item() for name, value in metrics.compute().items()}


# %% [markdown]
# ## Training
#
# For each query one document of its topic is drawn as the positive; the others of the batch are the negatives.

# %%
by_topic = [torch.nonzero(document_topics == topic).squeeze(1) for topic in range(TOPICS)]
optimizer = torch.optim.Adam(towers.parameters(), lr=0.02)
curve = RetrievalPrecisionRecallCurve(max_k=50)
EPOCHS = 12


def trace(label: str) -> pl.DataFrame:
    """Return the curve of the towers as they are."""
    with torch.inference_mode():
        precision, recall, k = curve(similarity(queries), relevant, indexes=row)
    columns = {"k": k.numpy(), "precision": precision.numpy(), "recall": recall.numpy()}
    return pl.DataFrame(columns).select(pl.lit(label).alias("towers"), pl.all())


before = trace("untrained")
history = [{"epoch": 0} | validate()]
for epoch in range(1, EPOCHS + 1):
    for batch in torch.randperm(len(train_queries)).split(50):
        positives = torch.stack(
            [
                ids[torch.randint(len(ids), ())]
                for ids in (by_topic[topic] for topic in train_topics[batch].tolist())
            ]
        )
        scores = similarity(train_queries[batch])[:, positives] / 0.1
        loss = torch.nn.functional.cross_entropy(scores, torch.arange(len(batch)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    history.append({"epoch": epoch} | validate())

log = pl.DataFrame(history)
log.gather_every(3)

# %% [markdown]
# ## What was learned

# %%
figure, axes = plt.subplots(layout="constrained")
for name, marker in zip(log.columns[1:], "os^", strict=True):
    axes.plot(log["epoch"], log[name], label=name, marker=marker, markersize=4)
axes.set(xlabel="Epoch", ylabel="Mean over validation queries", ylim=(0, 1))
axes.grid(alpha=0.3)
_ = axes.legend()

# %% [markdown]
# The metric's own curve, before and after:

# %%
both = pl.concat([before, trace("trained")])
figure, axes = pr.plot.pr_curve(both, by="towers")

# %% [markdown]
# ## Which queries are still hard?
#
# The same scores as a frame: one row a query, and everything that Polars can do with it.

# %%
with torch.inference_mode():
    scored = pl.DataFrame(
        {
            "query_id": row.flatten().numpy(),
            "topic": query_topics.unsqueeze(1).expand_as(relevant).flatten().numpy(),
            "score": similarity(queries).flatten().numpy(),
            "relevance": relevant.flatten().numpy(),
        }
    )
by_query = scored.retrieval.per_query(
    ["recall@10", "reciprocal_rank"], query=["query_id", "topic"]
)
by_query.group_by("topic").agg(
    pl.len().alias("queries"), pl.col("recall@10", "reciprocal_rank").mean()
).sort("recall@10", "topic").head()
