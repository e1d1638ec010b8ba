"""``polars-retrieval compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polars_retrieval import tables
from polars_retrieval.cli import trec_form
from polars_retrieval.cli.arguments import (
    add_comparison,
    add_files,
    add_measures,
    add_options,
    add_output,
    comparison_options,
)
from polars_retrieval.cli.evaluate_command import DEFAULT
from polars_retrieval.cli.files import Evaluated, check_paths, labels, notes, read_qrels, read_runs
from polars_retrieval.cli.measure_names import expand
from polars_retrieval.cli.output import form_of, write, write_text
from polars_retrieval.comparison.pairs import compare
from polars_retrieval.errors import ParameterError
from polars_retrieval.measures import parse_all

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    import polars as pl

    from polars_retrieval.cli.arguments import Parser
    from polars_retrieval.measures import Measure

MARKUP = {"markdown": tables.to_markdown, "latex": tables.to_latex, "html": tables.to_html}
"""Forms of a table of systems by measures, to put into a text."""

SHOWN = (
    *("measure", "baseline", "system", "mean_baseline", "mean_system", "difference", "low", "high"),
    *("p_adjusted", "wins", "ties", "losses", "n_queries"),
)
"""The columns of the table; the other forms have all."""


def add_compare(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the subcommand's arguments."""
    about = "compare runs, query by query: differences, intervals, significance"
    parser = commands.add_parser(
        "compare",
        help=about,
        description="Compare runs, paired by query: for each measure and pair of runs both means, their difference "
        "with its interval, whether it is significant, and how many queries gained and lost.",
    )
    add_files(parser)
    add_measures(parser, DEFAULT)
    add_comparison(parser, without_baseline="all pairs are compared")
    add_options(parser)
    add_output(parser, "table", "csv", "json", "parquet", *MARKUP)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the comparison of the runs."""
    check_paths([arguments.qrels, *arguments.runs])
    form = form_of(arguments.form, arguments.output)
    comparison = _comparison(arguments, measures_of(arguments.measures))
    if form in MARKUP:
        write_text(MARKUP[form](comparison).rstrip("\n") + "\n", arguments.output)
    else:
        write(comparison.select(SHOWN) if form == "table" else comparison, form, arguments.output)


def measures_of(texts: Sequence[str] | None) -> list[Measure]:
    """Return the measures that are asked for."""
    names = expand(texts or DEFAULT, trec=False)
    trec_form.check_names(names)
    return parse_all(names)


def _comparison(arguments: argparse.Namespace, measures: Sequence[Measure]) -> pl.DataFrame:
    qrels = read_qrels(arguments.qrels)
    names, values = [], []
    for one in read_runs(arguments.runs):
        names.append((one.path, one.tag))
        values.append(Evaluated.of(one, qrels, arguments).lists().per_query(measures))
    if len(values) == 1:
        msg = f"a comparison takes at least two runs, but {names[0][0]} alone was given, which holds one"
        raise ParameterError(msg)
    with notes(arguments.qrels):
        return compare(dict(zip(labels(names), values, strict=True)), **comparison_options(arguments))
