"""``polars-retrieval report``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from polars_retrieval import report
from polars_retrieval.cli.arguments import (
    add_comparison,
    add_files,
    add_measures,
    add_options,
    comparison_options,
    cutoff,
)
from polars_retrieval.cli.compare_command import measures_of
from polars_retrieval.cli.evaluate_command import DEFAULT
from polars_retrieval.cli.files import Evaluated, check_paths, labels, notes, read_qrels, read_runs
from polars_retrieval.cli.output import say

if TYPE_CHECKING:
    from polars_retrieval.cli.arguments import Parser


def add_report(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the subcommand's arguments."""
    about = "write a page on how runs rank and differ, to read in a browser"
    parser = commands.add_parser(
        "report",
        help=about,
        description="Write one HTML page that needs no network: measures with intervals, the comparison with a "
        "baseline, curves, gains and losses, a table of all queries, judged documents, conventions.",
    )
    add_files(parser)
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=True, help="the page, as report.html")
    add_measures(parser, DEFAULT)
    add_comparison(parser, without_baseline="the first run")
    parser.add_argument("--title", default=report.TITLE, help="the head of the page (default: %(default)s)")
    parser.add_argument("--max-k", metavar="K", type=cutoff, help="the end of the curves (default: the longest list)")
    add_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Write the page."""
    report.check_installed()
    check_paths([arguments.qrels, *arguments.runs, str(arguments.output)])
    measures = measures_of(arguments.measures)
    qrels = read_qrels(arguments.qrels)
    names, evaluated = [], []
    for one in read_runs(arguments.runs):
        names.append((one.path, one.tag))
        evaluated.append(Evaluated.of(one, qrels, _with_all_queries(arguments)))
    systems = labels(names)
    with notes(arguments.qrels):
        report.write_report(
            arguments.output,
            {system: of.rows for system, of in zip(systems, evaluated, strict=True)},
            evaluated[0].qrels,
            measures,
            title=arguments.title,
            sources={system: path for system, (path, _) in zip(systems, names, strict=True)},
            notes=_options_told(arguments),
            missing_queries="zero" if arguments.all_queries else "skip",
            max_k=arguments.max_k,
            **evaluated[0].options,
            **comparison_options(arguments),
        )
    say(f"The report is in {arguments.output}")


def _with_all_queries(arguments: argparse.Namespace) -> argparse.Namespace:
    """Keep the judgments of all queries: the page tells how many of them each run lacks."""
    return argparse.Namespace(**{**vars(arguments), "all_queries": True})


def _options_told(arguments: argparse.Namespace) -> dict[str, str]:
    told = {"Judgments file": arguments.qrels}
    if arguments.depth:
        told["Depth"] = f"the first {arguments.depth} documents of each query"
    return told
