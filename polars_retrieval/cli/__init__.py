"""The command ``polars-retrieval``.

It ends with status 0, with 1 if data cannot be read or written, with 2 if what was asked for is not possible.
A subcommand is a module of two functions: one adds its arguments to the parser, one does its work and prints.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from polars.exceptions import PolarsError

import polars_retrieval as pr
from polars_retrieval.cli.arguments import USAGE, Parser
from polars_retrieval.cli.compare_command import add_compare
from polars_retrieval.cli.convert_command import add_convert
from polars_retrieval.cli.curve_command import add_curve
from polars_retrieval.cli.demo_command import add_demo
from polars_retrieval.cli.evaluate_command import add_evaluate
from polars_retrieval.cli.metrics_command import add_metrics
from polars_retrieval.cli.report_command import add_report
from polars_retrieval.errors import MetricError, ParameterError, RetrievalError

if TYPE_CHECKING:
    from collections.abc import Sequence

DATA = 1
"""The exit status if data cannot be read or written."""


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
    except (RetrievalError, OSError, PolarsError, ModuleNotFoundError) as error:
        message = str(error).replace("\n\n", "\n")
        sys.stderr.write(f"polars-retrieval: error: {message}\n")
        return USAGE if isinstance(error, (MetricError, ParameterError, ModuleNotFoundError)) else DATA
    return 0


def _parser() -> Parser:
    parser = Parser(prog="polars-retrieval", description="Evaluate ranked retrieval.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {pr.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for add in (add_evaluate, add_curve, add_compare, add_report, add_metrics, add_convert, add_demo):
        add(commands)
    return parser
