"""torchmetrics by its module route."""

from __future__ import annotations

import polars as pl

from .values import MAX_K, Values


def torchmetrics_modules(frame: pl.DataFrame) -> Values:
    """Update and compute five modules, as a training loop does."""
    from torchmetrics import retrieval

    preds, target, indexes = (frame[name].to_torch() for name in ("score", "relevance", "query_id"))
    modules = [
        retrieval.RetrievalPrecision(top_k=10),
        retrieval.RetrievalRecall(top_k=10),
        retrieval.RetrievalRecall(top_k=100),
        retrieval.RetrievalRPrecision(),
        retrieval.RetrievalPrecisionRecallCurve(max_k=MAX_K),
    ]
    for module in modules:
        module.update(preds, target.long(), indexes=indexes)
    *means, curve = (module.compute() for module in modules)
    precision, recall, _ks = curve
    return Values(tuple(float(mean) for mean in means), precision.numpy(), recall.numpy())


def positive_scores(frame: pl.DataFrame) -> pl.DataFrame:
    """Replace scores by ranks that order the same: torchmetrics takes a score <= 0 for not retrieved."""
    return frame.with_columns(score=pl.col("score").rank("dense").over("query_id").cast(pl.Float32))
