"""``polars-retrieval curve``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from polars_retrieval.cli.arguments import add_files, add_options, add_output, cutoff
from polars_retrieval.cli.files import Evaluated, check_paths, labels, read_qrels, read_runs
from polars_retrieval.cli.output import form_of, round_ks, save_picture, side_by_side, write

if TYPE_CHECKING:
    import argparse

    from polars_retrieval.cli.arguments import Parser


def add_curve(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the subcommand's arguments."""
    about = "trace precision and recall of runs at every cutoff k"
    parser = commands.add_parser(
        "curve",
        help=about,
        description="Trace precision and recall of runs at every k. The table has round ones, other forms all.",
    )
    add_files(parser)
    parser.add_argument("--max-k", metavar="K", type=cutoff, help="the end of the curve (default: the longest list)")
    parser.add_argument("--plot", metavar="FILE", type=Path, help="draw it into a picture: .png, .svg, .pdf, …")
    add_options(parser)
    add_output(parser, "table", "csv", "json", "parquet")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the curve of each run, and draw them."""
    check_paths([arguments.qrels, *arguments.runs])
    form = form_of(arguments.form, arguments.output)
    curve = _curves(arguments)
    if arguments.plot:
        save_picture(curve, "run", arguments.plot, "--plot")
    write(_shown(curve) if form == "table" else curve, form, arguments.output)


def _curves(arguments: argparse.Namespace) -> pl.DataFrame:
    qrels = read_qrels(arguments.qrels)
    runs, curves = [], []
    for run in read_runs(arguments.runs):
        runs.append((run.path, run.tag))
        curves.append(Evaluated.of(run, qrels, arguments).lists().pr_curve(max_k=arguments.max_k))
    return pl.concat(
        curve.select(pl.lit(label).alias("run"), pl.all()) for label, curve in zip(labels(runs), curves, strict=True)
    )


def _shown(curve: pl.DataFrame) -> pl.DataFrame:
    shown = round_ks(curve)
    return side_by_side(shown, "run") if shown["run"].n_unique() > 1 else shown.drop("run")
