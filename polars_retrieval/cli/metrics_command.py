"""``polars-retrieval metrics``."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import polars_retrieval as pr
from polars_retrieval.cli.output import say, table

if TYPE_CHECKING:
    import argparse

    from polars_retrieval.cli.arguments import Parser
    from polars_retrieval.measures.declaration import Declaration


def add_metrics(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the subcommand's arguments."""
    about = "list the measures, or explain one"
    parser = commands.add_parser("metrics", help=about, description="List the measures, or explain one.")
    parser.add_argument("name", metavar="NAME", nargs="?", help="the measure, by any of its names")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print all measures, or all of one."""
    if arguments.name is None:
        say(table(pr.metrics().select("name", "summary")))
        return
    measure = pr.parse(arguments.name)
    declared = measure.declaration
    text = inspect.getdoc(declared.formula) or ""
    say(str(measure), text.replace("``", "`"), "\n".join(_facts(declared)))


def _facts(declared: Declaration) -> list[str]:
    lower, upper = (f"{bound:g}" for bound in declared.bounds)
    values = f"{lower} and up" if upper == "inf" else f"{lower} to {upper}"
    needed = (declared.undefined_without or "").removeprefix("n_")
    return [
        f"Parameters:   {', '.join(f'{name}={p.default}' for name, p in declared.parameters.items()) or 'none'}",
        f"Values:       {values}; {'higher' if declared.higher_is_better else 'lower'} is better",
        f"Undefined:    {f'for a query without a {needed} document' if needed else 'never'}",
        f"Other names:  {', '.join(f'{alias.pattern} ({alias.tool})' for alias in declared.aliases) or 'none'}",
        f"Source:       {declared.source}",
    ]
