"""``polars-retrieval demo``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars_retrieval as pr
from polars_retrieval import demo
from polars_retrieval.cli.arguments import cutoff
from polars_retrieval.cli.output import round_ks, save_picture, say, side_by_side, table

if TYPE_CHECKING:
    import argparse

    from polars_retrieval.cli.arguments import Parser

ABOUT = """\
200 images of handwritten digits are the queries, 1597 others the documents; the same digit means relevant.
Two systems rank by cosine similarity: "pixels" of 8 x 8 pixels, "coarse" of 4 x 4 means of them.\
"""


def add_demo(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the subcommand's arguments."""
    about = "evaluate a small real run that comes with the package, and draw its precision-recall curve"
    parser = commands.add_parser("demo", help=about, description=about)
    parser.add_argument(
        "--output", type=Path, default=Path("demo-curve.png"), help="the picture (default: %(default)s)"
    )
    parser.add_argument("--max-k", type=cutoff, default=100, help="the end of the curve (default: %(default)s)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the measures and the curve, and draw it."""
    run, qrels = demo.run(), demo.qrels()
    measures = [pr.precision @ 1, pr.precision @ 10, pr.recall @ 10, pr.recall @ 100, pr.r_precision]
    curve = pr.pr_curve(run, by="system", qrels=qrels, max_k=arguments.max_k)
    say(
        ABOUT,
        table(pr.evaluate(run, measures, by="system", qrels=qrels)),
        "The curve, a mean over the queries at each k:",
        table(side_by_side(round_ks(curve), "system")),
    )
    if save_picture(curve, "system", arguments.output, "--output"):
        say(f"\nThe picture is in {arguments.output}")
