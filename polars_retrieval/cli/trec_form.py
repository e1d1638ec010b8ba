"""The lines that trec_eval prints: name, query, value."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval.cli.measure_names import FAMILIES, LEVELS, expand, members
from polars_retrieval.errors import MetricError
from polars_retrieval.measures import Measure, n_relevant, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_retrieval.cli.files import Evaluated

# In the order of trec_eval, which does not depend on the order that they are asked for in.
ORDER = (
    *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank"),
    *("iprec_at_recall", "P", "recall", "gm_bpref", "11pt_avg", "ndcg", "ndcg_cut", "map_cut", "relative_P"),
    *("success", "set_P", "set_recall", "set_F"),
)
SUMS = ("num_ret", "num_rel", "num_rel_ret")
GEOMETRIC = {"gm_map": "map", "gm_bpref": "bpref"}
LEAST = 1e-5  # a geometric mean takes a value below this, such as 0, for this
OF_RUN = ("runid", "num_q", *GEOMETRIC)  # what has no value for one query
ADDED = {"official": ("runid", "num_q", "gm_map"), "all_trec": ("runid", "num_q", "gm_map", "gm_bpref")}
"""What the sets hold in this form, beside the measures that they hold in any."""
OTHERWISE = {"rbp": "RBP(p=0.8)"}
"""Names of ir_measures where trec_eval calls another measure by the name here: its persistence is 0.9."""
INTERPOLATED = "iprec_at_recall_"
MEAN_OF_LEVELS = "11pt_avg"


def trec_names(texts: Sequence[str]) -> list[str]:
    """Return the names of the lines that are asked for, in the order of trec_eval."""
    names = [name for text in expand(texts, trec=True) for name in (*ADDED.get(text, ()), *members([text]))]
    known = [name if name in OF_RUN else trec_name(parse(name)) for name in names]
    return sorted(dict.fromkeys(known), key=_place)


def trec_name(measure: Measure) -> str:
    """Return the name that trec_eval gives a measure, or its name here if it gives none."""
    values = {name: f"{value:.2f}" if name == "recall" else value for name, value in measure.parameters.items()}
    for alias in measure.declaration.aliases:
        if alias.tool == "trec_eval":
            try:
                name = alias.pattern.format(**values)
            except KeyError:
                continue
            if parse(name) == measure:
                return name
    return OTHERWISE.get(str(measure), str(measure))


def _place(name: str) -> tuple[int, float]:
    found = re.fullmatch(r"(.+)_(\d+(?:\.\d+)?)", name)
    family, value = (found[1], float(found[2])) if found and found[1] in FAMILIES else (name, 0.0)
    return ORDER.index(family) if family in ORDER else len(ORDER), value


def check_names(names: Sequence[str]) -> None:
    """Raise if a name stands for what this form alone has."""
    if known := [name for name in names if name in OF_RUN]:
        msg = f"`{known[0]}` is no measure of a query: it is printed in trec_eval's form only, by `--trec`"
        raise MetricError(msg)


def lines(evaluated: Evaluated, names: Sequence[str], tag: str, *, per_query: bool) -> str:
    """Return what trec_eval prints of a run."""
    values = _values(evaluated, [GEOMETRIC.get(name, name) for name in names if name not in OF_RUN[:2]])
    summary = values.select(pl.lit("all").alias("query_id"), *(_summary(name, tag).alias(name) for name in names))
    own = [name for name in names if name not in OF_RUN]
    return (_lines(values, own) if per_query and own else "") + _lines(summary, names)


def _values(evaluated: Evaluated, names: Sequence[str]) -> pl.DataFrame:
    """Return the values of each query, in the order of the queries' names."""
    measures = {name: parse(name) for name in names}
    found = evaluated.lists().per_query([n_relevant, *measures.values()]).sort("query_id")
    values = found.select("query_id", **{name: pl.col(str(measure)) for name, measure in measures.items()})
    levels = [name for name in measures if name.startswith(INTERPOLATED) or name == MEAN_OF_LEVELS]
    if not levels:
        return values
    return values.with_columns(_interpolated(evaluated, found, levels).drop("query_id"))


def _interpolated(evaluated: Evaluated, n_relevant: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return the interpolated precision of each query as trec_eval 10 has it.

    It looks from the level's share of the relevant documents, rounded to the nearest, where the measure here, as the
    textbook, looks from the first document that reaches the level.
    """
    is_hit = pl.col("rank").is_not_null() & (pl.col("relevance") >= evaluated.options["min_relevance"])
    hits = evaluated.ranks().filter(is_hit).join(n_relevant.select("query_id", "n_relevant"), on="query_id")

    def at(level: str) -> pl.Expr:
        needed = (float(level) * pl.col("n_relevant")).round(mode="half_away_from_zero")
        return (pl.col("hits") / pl.col("rank")).filter(pl.col("hits") >= needed).max().fill_null(0.0)

    values = {name: at(name.removeprefix(INTERPOLATED)) for name in names if name != MEAN_OF_LEVELS}
    if MEAN_OF_LEVELS in names:
        values[MEAN_OF_LEVELS] = pl.sum_horizontal(at(level) for level in LEVELS) / len(LEVELS)
    found = hits.group_by("query_id").agg(**values)
    return n_relevant.select("query_id").join(found, on="query_id", how="left", maintain_order="left").fill_null(0.0)


def _summary(name: str, tag: str) -> pl.Expr:
    if name == "runid":
        return pl.lit(tag)
    if name == "num_q":
        return pl.len()
    if name in SUMS:
        return pl.col(name).sum()
    if name in GEOMETRIC:
        return pl.col(GEOMETRIC[name]).clip(lower_bound=LEAST).log().mean().exp()
    return pl.col(name).mean()


def _lines(frame: pl.DataFrame, names: Sequence[str]) -> str:
    """Return a line for each query and name."""
    texts = frame.select(
        "query_id", **_texts(frame.with_columns(pl.col(n).cast(pl.Int64) for n in names if n in SUMS), names)
    )
    line = [pl.concat_str(pl.lit(f"{name:<22}\t"), "query_id", pl.lit("\t"), name) for name in names]
    return texts.select(pl.concat_list(line).explode()).to_series().str.join("\n").item() + "\n"


def _texts(frame: pl.DataFrame, names: Sequence[str]) -> dict[str, pl.Series]:
    """Write numbers to four decimals, as printf does: the writer of CSV rounds the exact value as well."""
    numbers = [name for name in names if frame.schema[name].is_numeric()]
    if not numbers:
        return {name: frame[name] for name in names}
    written = frame.select(numbers).write_csv(float_precision=4)
    texts = pl.read_csv(io.StringIO(written), infer_schema=False)
    return {name: texts[name] if name in numbers else frame[name] for name in names}
