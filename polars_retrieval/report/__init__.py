"""One HTML page on how systems rank and differ: it opens from disk, needs no network, and loads nothing.

jinja2 and matplotlib are imported when one is written.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from polars_retrieval.measures import parse_all
from polars_retrieval.options import check_cutoff

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from typing_extensions import Unpack

    from polars_retrieval.frames import Metrics, Names
    from polars_retrieval.names import EmptyTargetAction, MissingQueries, Ties, Unjudged

    class Options(TypedDict, total=False):
        """Options of `write_report` that are those of `polars_retrieval.evaluate`."""

        query: Names
        doc: str
        score: str
        relevance: str
        ties: Ties
        unjudged: Unjudged
        missing_queries: MissingQueries
        empty_target_action: EmptyTargetAction
        ignore_index: int | None
        min_relevance: float


__all__ = ["write_report"]

TITLE = "How the systems rank"

INSTALL = 'a report needs {}; install what is missing with: pip install "polars-retrieval[report]"'


def write_report(
    path: str | os.PathLike[str],
    runs: Any,
    qrels: Any,
    metrics: Metrics,
    *,
    by: str = "run_id",
    baseline: str | None = None,
    title: str = TITLE,
    sources: Mapping[str, str] | None = None,
    notes: Mapping[str, str] | None = None,
    test: str = "randomization",
    correction: str = "holm",
    level: float = 0.95,
    queries: str = "error",
    max_k: int | None = None,
    judged_k: int = 10,
    n_resamples: int = 10_000,
    seed: int = 0,
    **options: Unpack[Options],
) -> None:
    """Write a page on how systems rank and differ, to read in a browser, to print, or to send.

    It has the measures of each system with their intervals, the comparison with the baseline, curves, the queries that
    gained and lost most, the values of each query in a table to sort and filter, the share of judged documents, and
    what was evaluated by which conventions. It is one file, which loads nothing and works without a network. Names
    and ids are shown as they are: as text, whatever they hold.

    Parameters
    ----------
    path
        The file to write, which is replaced if there is one.
    runs
        The scored documents of each query by each system: a frame with the column ``by``, or a dictionary from the
        systems' names to their runs.
    qrels
        The judgments.
    metrics
        As for `polars_retrieval.evaluate`. The first one is that by which queries gain and lose.
    by
        The column that tells systems apart.
    baseline
        The system that the others are compared with. By default the first one.
    title
        The head of the page.
    sources
        The file that each system's run comes from, to be named in the page.
    notes
        What else the page should tell of the evaluation: by its subject, such as the file of the judgments.
    test, correction, level, queries, n_resamples, seed
        As for `polars_retrieval.compare`.
    max_k
        The end of the curves. By default the longest list.
    judged_k
        The depth down to which is counted what is judged.
    options
        The options of `polars_retrieval.evaluate` of the same names: ``query``, ``doc``, ``score``, ``relevance``,
        ``ties``, ``unjudged``, ``missing_queries``, ``empty_target_action``, ``ignore_index``, ``min_relevance``.

    Raises
    ------
    ModuleNotFoundError
        If a package of the extra ``report`` is missing.
    ColumnError, DataError, MetricError, ParameterError
        As `polars_retrieval.evaluate` and `polars_retrieval.compare` do.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from polars_retrieval import demo
    >>> from polars_retrieval.report import write_report
    >>> path = Path(mkdtemp()) / "report.html"
    >>> run = demo.run().drop("digit")
    >>> write_report(path, run, demo.qrels(), ["precision@10", "recall@100"], by="system", n_resamples=100)
    >>> path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    True
    """
    check_installed()
    from polars_retrieval.report import contents, page

    check_cutoff("max_k", max_k)
    check_cutoff("judged_k", judged_k)
    settings = contents.Settings(
        by=by,
        baseline=None if baseline is None else str(baseline),
        test=test,
        correction=correction,
        level=level,
        queries=queries,
        max_k=max_k,
        judged_k=judged_k,
        n_resamples=n_resamples,
        seed=seed,
        options=options,
    )
    measured = contents.measure(runs, qrels, parse_all(metrics), settings)
    text = page.html(measured, title=title, sources=sources or {}, notes=notes or {})
    # What no text can hold, such as half a surrogate pair from the bytes of a file's name, becomes a question mark.
    Path(path).write_text(text, encoding="utf-8", errors="replace", newline="\n")


def check_installed() -> None:
    """Raise if a package that a report needs is missing: before what takes time."""
    if missing := [name for name in ("jinja2", "matplotlib") if find_spec(name) is None]:
        raise ModuleNotFoundError(INSTALL.format(", ".join(missing)), name=missing[0])
