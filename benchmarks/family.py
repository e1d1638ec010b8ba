"""What the whole family of measures costs beside one of them, and beside other tools."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

import polars as pl

import polars_retrieval as pr
from polars_retrieval.measures import REGISTRY, Measure

Task = Callable[[], object]
Values = dict[str, float]

CUTOFFS = (1, 3, 5, 10, 20, 30, 50, 70, 90, 100)
AT_CUTOFFS = ("ndcg", "average_precision", "reciprocal_rank")
AT_10 = ("precision", "recall", "hit_rate", "ndcg")
WHOLE = ("r_precision", "average_precision", "reciprocal_rank")


@dataclass(frozen=True)
class Family:
    """Seconds: of one measure, of all, of ranking alone, of ten cutoffs, and of each tool for the same measures."""

    one: float
    all: float
    n_all: int
    ranking: float
    cutoffs: dict[str, float]
    tools: dict[str, float]


def family() -> list[Measure]:
    """Return every measure, those that take a cutoff at 10."""
    return [m @ 10 if "k" in m.declaration.parameters else m for m in REGISTRY.values()]


def common() -> list[Measure]:
    """Return the measures that all tools have."""
    return [*(REGISTRY[name] @ 10 for name in AT_10), *(REGISTRY[name] for name in WHOLE)]


def measure_family(frame: pl.DataFrame, *, repeat: int, sample: pl.DataFrame, factor: float) -> Family:
    """Time ours on the frame, and the tools that are installed on a sample, whose time is scaled up."""
    lists = pr.RankedLists(frame)
    lists.evaluate(family())  # from here on the kept lists hold all that any measure reads
    seconds = _in_turns(
        {
            "one": partial(pr.evaluate, frame, "precision@10"),
            "all": partial(pr.evaluate, frame, family()),
            "ranking": partial(_rank, frame),
            **{name: partial(lists.evaluate, [REGISTRY[name] @ k for k in CUTOFFS]) for name in AT_CUTOFFS},
        },
        repeat,
    )
    tools = _in_turns(
        {
            "ours": partial(pr.evaluate, frame, common()),
            **{name: partial(tool, sample) for name, tool in _tools(sample).items()},
        },
        repeat,
    )
    return Family(
        one=seconds["one"],
        all=seconds["all"],
        n_all=len(family()),
        ranking=seconds["ranking"],
        cutoffs={name: seconds[name] for name in AT_CUTOFFS},
        tools={name: value if name == "ours" else factor * value for name, value in tools.items()},
    )


def _rank(frame: pl.DataFrame) -> None:
    """Rank, and count the relevant documents that were retrieved: there is no measure that costs less."""
    pr.RankedLists(frame).evaluate("n_relevant_retrieved")


def _in_turns(tasks: dict[str, Task], repeat: int) -> dict[str, float]:
    """Return the least time of each task; they take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(repeat):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            seconds[name].append(time.perf_counter() - start)
    return {name: min(several) for name, several in seconds.items()}


def _tools(sample: pl.DataFrame) -> dict[str, Callable[[pl.DataFrame], Values]]:
    """Return the tools that are installed, after asserting that their values are ours."""
    expected = pr.evaluate(sample, common(), ties="optimistic").row(0, named=True)
    lowest = pr.evaluate(sample, common(), ties="pessimistic").row(0, named=True)
    here: dict[str, Callable[[pl.DataFrame], Values]] = {name: TOOLS[name] for name in TOOLS if find_spec(name)}
    for name, tool in here.items():
        for measure, value in tool(sample).items():
            if not lowest[measure] - 1e-5 <= value <= expected[measure] + 1e-5:
                msg = f"{name} gives {value} for {measure}, ours is {lowest[measure]} to {expected[measure]}"
                raise AssertionError(msg)
    return here


def _dicts(frame: pl.DataFrame) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    """Make the dicts of dicts that pytrec_eval and ranx ask for."""
    rows = frame.with_columns(
        pl.col("query_id").cast(pl.String),
        doc=pl.int_range(pl.len()).over("query_id").cast(pl.String),
        score=pl.col("score").cast(pl.Float64),
    )
    run: dict[str, dict[str, float]] = {}
    qrels: dict[str, dict[str, int]] = {}
    for query, of_query in rows.group_by("query_id", maintain_order=True):
        name = str(query[0])
        run[name] = dict(zip(of_query["doc"], of_query["score"], strict=True))
        qrels[name] = dict(zip(of_query["doc"], of_query["relevance"], strict=True))
    return run, qrels


def _pytrec_eval(frame: pl.DataFrame) -> Values:
    import pytrec_eval

    names = ["P_10", "recall_10", "success_10", "ndcg_cut_10", "Rprec", "map", "recip_rank"]
    run, qrels = _dicts(frame)
    results = pytrec_eval.RelevanceEvaluator(qrels, set(names)).evaluate(run)
    # A query without a relevant document has no values there; it counts 0 here.
    return {str(pr.parse(name)): sum(r.get(name, 0.0) for r in results.values()) / len(run) for name in names}


def _ranx(frame: pl.DataFrame) -> Values:
    import ranx

    names = {
        "precision@10": "precision@10", "recall@10": "recall@10", "hit_rate@10": "hit_rate@10", "ndcg@10": "ndcg@10",
        "r_precision": "r-precision", "average_precision": "map", "reciprocal_rank": "mrr",
    }  # fmt: skip
    run, qrels = _dicts(frame)
    values = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), list(names.values()))
    return {ours: float(values[theirs]) for ours, theirs in names.items()}


def _torchmetrics(frame: pl.DataFrame) -> Values:
    from torch import from_numpy
    from torchmetrics import retrieval as modules

    metrics = {
        "precision@10": modules.RetrievalPrecision(top_k=10),
        "recall@10": modules.RetrievalRecall(top_k=10),
        "hit_rate@10": modules.RetrievalHitRate(top_k=10),
        "ndcg@10": modules.RetrievalNormalizedDCG(top_k=10),
        "r_precision": modules.RetrievalRPrecision(),
        "average_precision": modules.RetrievalMAP(),
        "reciprocal_rank": modules.RetrievalMRR(),
    }
    # Positive scores of the same order: it takes others for documents that were not retrieved.
    rank = frame["score"].rank("dense").cast(pl.Float32).to_numpy(writable=True)
    ids, target = (frame[name].cast(pl.Int64).to_numpy(writable=True) for name in ("query_id", "relevance"))
    values = {}
    for name, metric in metrics.items():
        metric.update(from_numpy(rank), from_numpy(target), from_numpy(ids))
        values[name] = float(metric.compute())
    return values


TOOLS = {"pytrec_eval": _pytrec_eval, "ranx": _ranx, "torchmetrics": _torchmetrics}
