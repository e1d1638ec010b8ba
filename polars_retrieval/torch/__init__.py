"""torchmetrics' retrieval metrics, computed by Polars: same constructors, right and fast.

>>> from torch import tensor
>>> from polars_retrieval.torch import RetrievalRecall
>>> recall = RetrievalRecall(top_k=2)
>>> recall.update(tensor([0.2, 0.3, 0.5]), tensor([1, 0, 1]), indexes=tensor([0, 0, 0]))
>>> recall.compute()
tensor(0.5000)
"""

from __future__ import annotations

try:
    import torchmetrics  # noqa: F401 (and with it torch)
except ModuleNotFoundError as error:
    msg = f"polars_retrieval.torch needs {error.name}\n\nHint: pip install 'polars-retrieval[torch]'."
    raise ModuleNotFoundError(msg, name=error.name) from error

from polars_retrieval.torch import functional
from polars_retrieval.torch.curve import RetrievalPrecisionRecallCurve, RetrievalRecallAtFixedPrecision
from polars_retrieval.torch.memory import from_torch, to_torch
from polars_retrieval.torch.metrics import (
    RetrievalAUROC,
    RetrievalFallOut,
    RetrievalHitRate,
    RetrievalMAP,
    RetrievalMRR,
    RetrievalNormalizedDCG,
    RetrievalPrecision,
    RetrievalRecall,
    RetrievalRPrecision,
)
from polars_retrieval.torch.verification import verify

__all__ = [
    "RetrievalAUROC",
    "RetrievalFallOut",
    "RetrievalHitRate",
    "RetrievalMAP",
    "RetrievalMRR",
    "RetrievalNormalizedDCG",
    "RetrievalPrecision",
    "RetrievalPrecisionRecallCurve",
    "RetrievalRPrecision",
    "RetrievalRecall",
    "RetrievalRecallAtFixedPrecision",
    "from_torch",
    "functional",
    "to_torch",
    "verify",
]
