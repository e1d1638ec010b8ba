"""``polars-retrieval evaluate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval.cli import trec_form
from polars_retrieval.cli.arguments import add_files, add_options, add_output
from polars_retrieval.cli.files import Evaluated, check_paths, labels, read_qrels, read_runs
from polars_retrieval.cli.measure_names import expand
from polars_retrieval.cli.output import form_of, write, write_text
from polars_retrieval.measures import parse_all

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    import polars_retrieval as pr
    from polars_retrieval.cli.arguments import Parser
    from polars_retrieval.measures import Measure

DEFAULT = ["average_precision", "reciprocal_rank", "ndcg@10", "precision@10", "recall@100"]
ALL = "all"  # stands where a query would, beside the values over all of them


def add_evaluate(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the subcommand's arguments."""
    about = "measure how well runs rank"
    parser = commands.add_parser(
        "evaluate",
        help=about,
        description="Measure how well runs rank: one row for each, a mean over queries of each measure.",
    )
    add_files(parser)
    parser.add_argument(
        "-m",
        "--measure",
        dest="measures",
        metavar="MEASURE",
        action="append",
        help="a measure, or several with commas between them; may be given again. Names are those that `metrics` "
        "lists, as recall@10, those of ir_measures and trec_eval, as P_10 and P.5,10, and the sets official, all_trec "
        f"(default: {','.join(DEFAULT)}; in trec_eval's form: official)",
    )
    parser.add_argument("-q", "--per-query", action="store_true", help="also give the values of each query")
    add_options(parser)
    add_output(parser, "table", "trec", "csv", "json", "parquet")
    parser.add_argument(
        "--trec", dest="form", action="store_const", const="trec", help="the same as --format trec: as trec_eval prints"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the measures of each run."""
    check_paths([arguments.qrels, *arguments.runs])
    form = form_of(arguments.form, arguments.output)
    if form == "trec":
        _print_trec(arguments)
        return
    names = expand(arguments.measures or DEFAULT, trec=False)
    trec_form.check_names(names)
    write(_evaluate(arguments, parse_all(names)), form, arguments.output)


def _print_trec(arguments: argparse.Namespace) -> None:
    names = trec_form.trec_names(arguments.measures or ["official"])
    qrels = read_qrels(arguments.qrels)
    blocks = [
        trec_form.lines(Evaluated.of(run, qrels, arguments), names, run.tag, per_query=arguments.per_query)
        for run in read_runs(arguments.runs)
    ]
    write_text("".join(blocks), arguments.output)


def _evaluate(arguments: argparse.Namespace, measures: Sequence[Measure]) -> pl.DataFrame:
    qrels = read_qrels(arguments.qrels)
    names, results = [], []
    for run in read_runs(arguments.runs):
        names.append((run.path, run.tag))
        results.append(_values(Evaluated.of(run, qrels, arguments).lists(), measures, per_query=arguments.per_query))
    return pl.concat(
        result.select(pl.lit(label).alias("run"), pl.all())
        for label, result in zip(labels(names), results, strict=True)
    )


def _values(lists: pr.RankedLists, measures: Sequence[Measure], *, per_query: bool) -> pl.DataFrame:
    values = lists.evaluate(measures)
    if not per_query:
        return values
    of_queries = lists.per_query(measures).with_columns(pl.col("query_id").cast(pl.String))
    return pl.concat([of_queries, values.select(pl.lit(ALL).alias("query_id"), pl.all())])
