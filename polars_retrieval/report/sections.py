"""What each section of the page shows: a report's frames as rows of plain values."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import polars as pl

import polars_retrieval as pr

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_retrieval.measures import Measure
    from polars_retrieval.report.contents import Contents

MOST = 5  # queries that gained, and that lost most
DOCUMENTS = 6  # of a query, from the best rank in either system down
DIGITS = 6  # of the values of queries, of which the page shows four

TIES = {
    "expected": "the mean over all orders of documents of equal score",
    "doc_id": "documents of equal score by id, descending as bytes, as in trec_eval",
    "stable": "documents of equal score in the order of the run",
    "pessimistic": "of documents of equal score the relevant ones last",
    "optimistic": "of documents of equal score the relevant ones first",
}
UNJUDGED = {
    "nonrelevant": "documents without judgment count as not relevant",
    "drop": "documents without judgment are removed before ranking",
    "error": "documents without judgment were not allowed, and there are none",
}
MISSING_QUERIES = {
    "zero": "a judged query that a run lacks counts 0",
    "skip": "a judged query that a run lacks is left out",
    "error": "judged queries that a run lacks were not allowed, and there are none",
}
EMPTY = {
    "neg": "a query without a relevant document counts 0",
    "pos": "a query without a relevant document counts 1",
    "skip": "a query without a relevant document is left out",
    "error": "queries without a relevant document were not allowed, and there are none",
}


def sections(contents: Contents, notes: Mapping[str, str]) -> dict[str, Any]:
    """Return what the page's template names."""
    settings, options = contents.settings, contents.settings.options
    covered = contents.coverage.rename({settings.by: "system"})
    return {
        "systems": contents.systems,
        "baseline": contents.baseline,
        "judged": contents.judged,
        "level": f"{settings.level * 100:g} %",
        "alpha": f"{1 - settings.level:.3g}",
        "ties": options.get("ties", "expected"),
        "test": settings.test,
        "correction": settings.correction,
        "measures": [_measure(measure) for measure in contents.measures],
        "means": _means(contents),
        "comparison": _compared(contents).to_dicts(),
        "differences": [_most(contents, system) for system in contents.differences],
        "runs": contents.runs.to_dicts(),
        "queries": _queries(contents),
        "judged_k": settings.judged_k,
        "covered": covered.unique("system", keep="first", maintain_order=True).to_dicts(),
        "coverage": covered.to_dicts(),
        "conventions": {**notes, **_conventions(contents)},
    }


def _measure(measure: Measure) -> dict[str, Any]:
    declared = measure.declaration
    return {
        "name": str(measure),
        "summary": declared.summary.replace("``", ""),
        "source": declared.source,
        "higher": declared.higher_is_better,
    }


def _signs(measures: Sequence[Measure]) -> pl.DataFrame:
    """Return 1 for a measure of which higher values are better, else -1."""
    return pl.DataFrame(
        {
            "measure": [str(measure) for measure in measures],
            "sign": [1 if measure.declaration.higher_is_better else -1 for measure in measures],
        }
    )


def _direction(difference: pl.Expr, sign: pl.Expr) -> pl.Expr:
    gain = difference * sign
    return pl.when(gain > 0).then(pl.lit("better")).when(gain < 0).then(pl.lit("worse")).otherwise(pl.lit(""))


def _compared(contents: Contents) -> pl.DataFrame:
    """Return the comparisons, with whether the system is better or worse, and whether that is significant."""
    if contents.comparison is None:
        return pl.DataFrame(schema={"system": pl.String, "measure": pl.String, "verdict": pl.String})
    direction = _direction(pl.col("difference"), pl.col("sign"))
    significant = (pl.col("p_adjusted") < 1 - contents.settings.level).fill_null(value=False)
    return contents.comparison.join(_signs(contents.measures), on="measure", maintain_order="left").with_columns(
        direction=direction,
        significant=significant,
        verdict=pl.when(significant).then(direction).otherwise(pl.lit("")),
    )


def _means(contents: Contents) -> list[dict[str, Any]]:
    """Return a row for each system, with a cell for each measure."""
    worth = pl.col("mean") * pl.col("sign")
    best = worth.max().over("measure")
    verdicts = _compared(contents).select("system", "measure", "verdict")
    cells = (
        contents.summary.rename({contents.settings.by: "system"})
        .join(_signs(contents.measures), on="measure", maintain_order="left")
        .join(verdicts, on=["system", "measure"], how="left", maintain_order="left")
        .with_columns(
            pl.col("verdict").fill_null(""),
            best=(worth == best) & (worth.min().over("measure") < best),
        )
    )
    parts = cells.partition_by("system", maintain_order=True)
    return [{"system": part["system"][0], "cells": part.to_dicts()} for part in parts]


def _most(contents: Contents, system: str) -> dict[str, Any]:
    """Return the queries in which a system gained and lost most, from the largest gain to the largest loss."""
    (sign,) = _signs(contents.measures[:1])["sign"]
    query, documents = contents.settings.columns.query, pl.col("relevant")
    gain = pl.col("difference") * sign
    rows = contents.differences[system].sort(gain, descending=True, nulls_last=True, maintain_order=True)
    shown = pl.concat([rows.filter(gain > 0).head(MOST), rows.filter(gain < 0).tail(MOST)]).select(
        "difference",
        "value_baseline",
        "value_system",
        query=pl.concat_str(pl.col(query).cast(pl.String), separator=", "),
        direction=_direction(pl.col("difference"), pl.lit(sign)),
        documents=documents.list.head(DOCUMENTS).list.eval(
            pl.element().struct.rename_fields(["doc", "baseline", "system"])
        ),
        more=(documents.list.len().cast(pl.Int64) - DOCUMENTS).clip(0),
    )
    return {"name": system, "rows": shown.to_dicts()}


def _queries(contents: Contents) -> dict[str, Any]:
    """Return the values of all queries, column by column."""
    by, query = contents.settings.by, list(contents.settings.columns.query)
    ids = contents.per_query.select(query).unique(maintain_order=True)
    of_systems = [
        ids.join(contents.per_query.filter(pl.col(by) == system), on=query, how="left", maintain_order="left")
        for system in contents.systems
    ]
    return {
        "names": query,
        "ids": [ids[name].cast(pl.String).to_list() for name in query],
        "systems": contents.systems,
        "baseline": None if contents.baseline is None else contents.systems.index(contents.baseline),
        "higher": [measure.declaration.higher_is_better for measure in contents.measures],
        "values": [
            [values[str(measure)].round(DIGITS).to_list() for values in of_systems] for measure in contents.measures
        ],
    }


def _conventions(contents: Contents) -> dict[str, str]:
    settings, options, judged = contents.settings, contents.settings.options, contents.judged
    told = {
        "Judgments": f"{judged['documents']:,} judged documents, {judged['relevant']:,} of them relevant, "
        f"in {judged['queries']:,} queries",
        "Relevant": f"a grade of at least {options.get('min_relevance', 1):g}",
        "Ties": TIES[options.get("ties", "expected")],
        "Unjudged documents": UNJUDGED[options.get("unjudged", "nonrelevant")],
        "Missing queries": MISSING_QUERIES[options.get("missing_queries", "zero")],
        "Queries without relevant documents": EMPTY[options.get("empty_target_action", "neg")],
    }
    if options.get("ignore_index") is not None:
        told["Ignored"] = f"rows of the grade {options['ignore_index']}"
    told["Intervals"] = (
        f"{settings.level * 100:g} %, by {settings.n_resamples:,} bootstrap samples of the queries; "
        f"seed {settings.seed}"
    )
    if contents.baseline is not None:
        queries = "the queries that all systems have" if settings.queries == "common" else "all queries"
        told["Comparison"] = (
            f"paired by query, over {queries}; test: {settings.test}; correction over all measures and systems: "
            f"{settings.correction}"
        )
    made = datetime.now(timezone.utc)
    return told | {"Made": f"{made:%Y-%m-%d %H:%M} UTC by polars-retrieval {pr.__version__}"}
