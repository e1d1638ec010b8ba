"""Arguments that several subcommands take."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, get_args

from polars_retrieval.comparison.significance import Correction, Test
from polars_retrieval.comparison.values import Queries
from polars_retrieval.names import Ties

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE = 2
"""The exit status if what was asked for is not possible."""

COMPARISON = ("baseline", "test", "correction", "level", "queries", "seed")
"""The options of a comparison, by the names that they have here and in the functions."""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in two lines, without the list of all options."""

    def error(self, message: str) -> NoReturn:
        """End with the message."""
        self.exit(USAGE, f"{self.prog}: error: {message}\nSee: {self.prog} --help\n")


def cutoff(text: str) -> int:
    """Read a cutoff for argparse."""
    if not text.isdecimal() or int(text) < 1:
        msg = f"has to be an integer of at least 1, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


def number(text: str) -> float:
    """Read a number for argparse."""
    try:
        return float(text)
    except ValueError:
        msg = f"has to be a number, got {text!r}"
        raise argparse.ArgumentTypeError(msg) from None


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add the judgments and the runs."""
    parser.add_argument("qrels", metavar="QRELS", help="the judgments; - reads standard input")
    parser.add_argument("runs", metavar="RUN", nargs="+", help="a run; - reads standard input")


def add_measures(parser: argparse.ArgumentParser, default: Sequence[str]) -> None:
    """Add the measures."""
    parser.add_argument(
        "-m",
        "--measure",
        dest="measures",
        metavar="MEASURE",
        action="append",
        help="a measure, or several with commas between them; may be given again. Names are those that `metrics` "
        "lists, as recall@10, and those of ir_measures and trec_eval, as P_10 and P.5,10 "
        f"(default: {','.join(default)})",
    )


def add_comparison(parser: argparse.ArgumentParser, *, without_baseline: str) -> None:
    """Add how runs are compared."""
    parser.add_argument(
        "--baseline", metavar="NAME", help=f"the run that the others are compared with (default: {without_baseline})"
    )
    parser.add_argument(
        "--test", choices=get_args(Test), default="randomization", help="the paired test (default: %(default)s)"
    )
    parser.add_argument(
        "--correction",
        choices=get_args(Correction),
        default="holm",
        help="the correction of p values for several comparisons (default: %(default)s)",
    )
    parser.add_argument("--level", type=number, default=0.95, help="the level of intervals (default: %(default)s)")
    parser.add_argument(
        "--queries",
        choices=get_args(Queries),
        default="error",
        help="if runs have different queries, refuse, or compare the common ones (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="the seed of what is drawn at random (default: %(default)s)"
    )


def comparison_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what `add_comparison` reads, as the functions take it."""
    return {name: getattr(arguments, name) for name in COMPARISON}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what decides which documents and queries count."""
    parser.add_argument(
        "-c",
        "--all-queries",
        action="store_true",
        help="count judged queries that a run lacks as 0 (default: leave them out, as trec_eval does)",
    )
    parser.add_argument(
        "-l",
        "--min-relevance",
        metavar="LEVEL",
        type=number,
        default=1,
        help="the grade from which a document is relevant (default: %(default)s)",
    )
    parser.add_argument(
        "-M", "--depth", metavar="DEPTH", type=cutoff, help="take only the first DEPTH documents of each query"
    )
    parser.add_argument(
        "-J",
        "--judged-only",
        action="store_true",
        help="remove documents without judgment, or with a negative one, from the lists",
    )
    parser.add_argument(
        "--ties",
        choices=get_args(Ties),
        default="doc_id",
        help="the order of documents of equal score (default: %(default)s, as trec_eval)",
    )


def add_output(parser: argparse.ArgumentParser, *forms: str) -> None:
    """Add where the result goes, and in which form."""
    parser.add_argument(
        "--format",
        dest="form",
        choices=forms,
        help="the form of the result (default: by the suffix of --output, or table)",
    )
    parser.add_argument("--output", metavar="FILE", type=Path, help="write the result to a file")
