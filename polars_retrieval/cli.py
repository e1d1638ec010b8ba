"""The command ``polars-retrieval``.

It ends with status 0, with 1 if data cannot be read or written, with 2 if what was asked for is not possible.
A subcommand is two functions here: one adds its arguments to the parser, one does its work and prints.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import polars as pl

import polars_retrieval as pr
from polars_retrieval import demo, plot
from polars_retrieval.errors import MetricError, ParameterError, RetrievalError

if TYPE_CHECKING:
    from collections.abc import Sequence

DATA, USAGE = 1, 2  # exit statuses

ABOUT_DEMO = """\
200 images of handwritten digits are the queries, 1597 others the documents; the same digit means relevant.
Two systems rank by cosine similarity: "pixels" of 8 x 8 pixels, "coarse" of 4 x 4 means of them.\
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line, by default the one of the process, and return the exit status.

    As argparse does, it raises SystemExit after ``--help`` and ``--version`` and for arguments that it cannot
    parse.

    Examples
    --------
    >>> from polars_retrieval.cli import main
    >>> from tempfile import gettempdir
    >>> main(["demo", "--max-k", "5", "--output", f"{gettempdir()}/demo-curve.png"])
    200 images of handwritten digits are the queries, ...
    ...
    0
    """
    arguments = _parser().parse_args(argv)
    try:
        arguments.run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader (head, less) has seen enough; the flush at exit shall not complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DATA
    except (RetrievalError, OSError) as error:
        message = str(error).replace("\n\n", "\n")
        sys.stderr.write(f"polars-retrieval: error: {message}\n")
        return USAGE if isinstance(error, (MetricError, ParameterError)) else DATA
    return 0


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in two lines, without the list of all options."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: error: {message}\nSee: {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="polars-retrieval", description="Evaluate ranked retrieval.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {pr.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_demo(commands)
    return parser


def _add_demo(commands: argparse._SubParsersAction[_Parser]) -> None:
    about = "evaluate a small real run that comes with the package, and draw its precision-recall curve"
    parser = commands.add_parser("demo", help=about, description=about)
    parser.add_argument(
        "--output", type=Path, default=Path("demo-curve.png"), help="the picture (default: %(default)s)"
    )
    parser.add_argument("--max-k", type=_cutoff, default=100, help="the end of the curve (default: %(default)s)")
    parser.set_defaults(run=_demo)


def _demo(arguments: argparse.Namespace) -> None:
    run, qrels = demo.run(), demo.qrels()
    measures = [pr.precision @ 1, pr.precision @ 10, pr.recall @ 10, pr.recall @ 100, pr.r_precision]
    curve = pr.pr_curve(run, by="system", qrels=qrels, max_k=arguments.max_k)
    _say(
        ABOUT_DEMO,
        _table(pr.evaluate(run, measures, by="system", qrels=qrels)),
        "The curve, a mean over the queries at each k:",
        _table(_round_ks(curve).pivot("system", index="k", values=["precision", "recall"])),
    )
    _save(curve, arguments.output)


def _round_ks(curve: pl.DataFrame) -> pl.DataFrame:
    ks = curve["k"].unique().to_list()
    return curve.filter(pl.col("k").is_in([k for k in ks if plot.is_round(k) or k == max(ks)]))


def _save(curve: pl.DataFrame, output: Path) -> None:
    """Draw the demo's curve into a file, or say what that needs."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        sys.stderr.write(f"polars-retrieval: no picture: {plot.INSTALL}\n")
        return
    figure = Figure(layout="constrained")
    form, forms = output.suffix[1:].lower() or "png", figure.canvas.get_supported_filetypes()
    if form not in forms:
        msg = f"`--output` has to end in one of {', '.join(f'.{known}' for known in forms)}; got {output}"
        raise ParameterError(msg)
    plot.pr_curve(curve, by="system", ax=figure.subplots())
    figure.savefig(output, format=form, dpi=150)
    _say(f"\nThe picture is in {output}")


def _cutoff(text: str) -> int:
    """Read a cutoff for argparse."""
    if not text.isdecimal() or int(text) < 1:
        msg = f"has to be an integer of at least 1, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


def _say(*paragraphs: str) -> None:
    sys.stdout.write("\n\n".join(paragraphs) + "\n")


def _table(frame: pl.DataFrame) -> str:
    """Return a frame as a Markdown table: all of it, numbers to four decimals, in ASCII, as pipes may be."""
    with pl.Config(
        tbl_formatting="ASCII_MARKDOWN",
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
        tbl_cell_numeric_alignment="RIGHT",
        float_precision=4,
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=-1,
        fmt_str_lengths=1000,
    ):
        return str(frame)
