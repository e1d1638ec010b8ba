# %% [markdown]
# # Exploring a run
#
# Two systems looked up 200 images of handwritten digits among 1,597 others; an image is relevant if it shows the
# same digit. How good are they, for which digits, and where do they fail? The data come with the package.

# %%
import polars as pl

import polars_retrieval as pr
from polars_retrieval import demo

run, qrels = demo.run(), demo.qrels()
run.head()

# %% [markdown]
# ## The table
#
# One row a system. Every query has about 160 relevant images, so recall@10 cannot be large; R-precision looks at as
# many ranks as there are relevant images.

# %%
metrics = [
    "precision@1",
    "precision@10",
    "recall@10",
    "recall@100",
    "r_precision",
    "average_precision",
]
run.retrieval.evaluate(metrics, qrels=qrels, by="system")

# %% [markdown]
# ## The curve
#
# Every cutoff at once: precision falls and recall rises as the list is read further.

# %%
curve = run.retrieval.pr_curve(qrels=qrels, by="system", max_k=200)
figure, axes = pr.plot.pr_curve(curve, by="system")

# %% [markdown]
# The same against k:

# %%
figure, axes = pr.plot.metrics_at_k(curve, by="system")

# %% [markdown]
# ## By segment
#
# Is every digit as easy? The digit belongs to the query, so the judgments get the column, too: each segment is then
# held against its own queries.

# %%
digits = run.select("query_id", "digit").unique()
segmented = qrels.join(digits, on="query_id")

by_digit = run.retrieval.evaluate(
    ["precision@10", "r_precision"],
    qrels=segmented,
    by=["system", "digit"],
    n_queries=True,
)
by_digit.sort("r_precision").head(6)

# %% [markdown]
# The digits 1 and 8 are hard for both. The curves of the better system for the hardest and the easiest digits:

# %%
extremes = (
    by_digit.filter(system="pixels").sort("r_precision")["digit"].gather([0, 1, -2, -1])
)
chosen = pl.col("digit").is_in(extremes.implode())
curves = run.filter(chosen, system="pixels").retrieval.pr_curve(
    qrels=segmented.filter(chosen), by="digit", max_k=200
)
figure, axes = pr.plot.pr_curve(curves, by="digit")

# %% [markdown]
# ## The worst queries
#
# `per_query` has a row for each query, and from there on it is Polars.

# %%
by_query = run.retrieval.per_query(
    ["precision@10", "average_precision"], qrels=qrels, by="system"
)
worst = by_query.join(digits, on="query_id").sort("average_precision")
worst.head(8)

# %% [markdown]
# What did the system return for the worst of them? `rank` adds rank and hits so far to the rows.

# %%
system, query = worst.select("system", "query_id").row(0)
one = run.filter(system=system, query_id=query).retrieval.rank(
    qrels=qrels.filter(query_id=query)
)
one.filter(pl.col("relevance") == 1, pl.col("rank").is_not_null()).select(
    "doc_id", "score", "rank", "hits"
)

# %% [markdown]
# Which digits did it take this image for? Documents are images, too; what each of them shows is known from the
# queries for which it is relevant.

# %%
shown = segmented.select("doc_id", shows="digit").unique()
first = one.sort("rank", nulls_last=True).head(20).join(shown, on="doc_id")
first.group_by("digit", "shows").len().sort("len", descending=True)

# %% [markdown]
# ## How are the values spread?
#
# A mean of 0.5 may be 0.5 everywhere, or 0 and 1. Average precision by system, in tenths:

# %%
by_query.with_columns(
    tenth=(pl.col("average_precision") * 10).floor().clip(0, 9) / 10
).pivot("system", index="tenth", values="query_id", aggregate_function="len").fill_null(
    0
).sort("tenth")
