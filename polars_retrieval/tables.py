"""A comparison as a table for a paper, a page or a README: in LaTeX, HTML or Markdown.

Systems are rows, measures are columns. The best mean of each measure is bold. Each system has a letter, and the
letters behind a mean are those of the systems over which it is significantly better.
"""

from __future__ import annotations

import html
import re
import string
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_retrieval.columns import read_frame
from polars_retrieval.errors import ColumnError, DataError, MetricError, ParameterError
from polars_retrieval.intervals import check_whole
from polars_retrieval.measures import parse
from polars_retrieval.names import hint, quoted
from polars_retrieval.options import check_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_NEEDED = ("measure", "baseline", "system", "mean_baseline", "mean_system", "p_adjusted")
_ROUNDING = 1e-9  # means that differ by less are equal: they were added up in another order


def to_markdown(comparison: Any, *, level: float = 0.05, decimals: int = 3) -> str:
    r"""Write a comparison as a table in Markdown, as GitHub and MkDocs read it.

    Parameters
    ----------
    comparison
        What `polars_retrieval.compare` gives. Columns before `measure` part the rows into segments.
    level
        A system is significantly better where `p_adjusted` is below this.
    decimals
        How many digits of a mean to write.

    Returns
    -------
    str
        The table. What Markdown would read as its own signs in a name is escaped.

    Raises
    ------
    ColumnError
        If `comparison` lacks a column.
    DataError
        If it has no rows, or a system's mean differs from pair to pair, as these are over different queries: a table
        has one place for it.
    ParameterError
        If an option has a value that is not allowed.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_retrieval as pr
    >>> from polars_retrieval import tables
    >>> comparison = pl.DataFrame(
    ...     {
    ...         "measure": ["recall@10"],
    ...         "baseline": ["bm25"],
    ...         "system": ["dense"],
    ...         "mean_baseline": [0.5],
    ...         "mean_system": [0.75],
    ...         "p_adjusted": [0.01],
    ...     }
    ... )
    >>> print(tables.to_markdown(comparison))
    |  | system | recall@10 |
    |:--|:--|--:|
    | a | bm25 | 0.500 |
    | b | dense | **0.750**<sup>a</sup> |
    """
    table = _Table.of(comparison, level, decimals)

    def cell(cell: _Cell) -> str:
        return (f"**{cell.text}**" if cell.best else cell.text) + (f"<sup>{cell.letters}</sup>" if cell.letters else "")

    lines = [
        table.head(_markdown),
        [*[":--"] * (2 + len(table.segments)), *["--:"] * len(table.measures)],
        *table.body(_markdown, cell),
    ]
    return "\n".join(f"| {' | '.join(line)} |" if line[0] != ":--" else f"|{'|'.join(line)}|" for line in lines)


def to_latex(comparison: Any, *, level: float = 0.05, decimals: int = 3) -> str:
    r"""Write a comparison as a `tabular` for LaTeX, with the rules of the package booktabs.

    Parameters
    ----------
    comparison, level, decimals
        As for `to_markdown`, with the same errors.

    Returns
    -------
    str
        The table. What LaTeX would read as its own signs in a name is escaped.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_retrieval as pr
    >>> from polars_retrieval import tables
    >>> comparison = pl.DataFrame(
    ...     {
    ...         "measure": ["recall@10"],
    ...         "baseline": ["bm25_v1"],
    ...         "system": ["dense"],
    ...         "mean_baseline": [0.5],
    ...         "mean_system": [0.75],
    ...         "p_adjusted": [0.01],
    ...     }
    ... )
    >>> print(tables.to_latex(comparison))
    \begin{tabular}{llr}
    \toprule
     & system & recall@10 \\
    \midrule
    a & bm25\_v1 & 0.500 \\
    b & dense & \textbf{0.750}\textsuperscript{a} \\
    \bottomrule
    \end{tabular}
    """
    table = _Table.of(comparison, level, decimals)

    def cell(cell: _Cell) -> str:
        letters = rf"\textsuperscript{{{cell.letters}}}" if cell.letters else ""
        return (rf"\textbf{{{cell.text}}}" if cell.best else cell.text) + letters

    def row(texts: Sequence[str]) -> str:
        return " & ".join(texts) + r" \\"

    return "\n".join(
        [
            rf"\begin{{tabular}}{{{'l' * (2 + len(table.segments))}{'r' * len(table.measures)}}}",
            r"\toprule",
            row(table.head(_latex)),
            r"\midrule",
            *map(row, table.body(_latex, cell)),
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def to_html(comparison: Any, *, level: float = 0.05, decimals: int = 3) -> str:
    """Write a comparison as a `table` element for HTML.

    Parameters
    ----------
    comparison, level, decimals
        As for `to_markdown`, with the same errors.

    Returns
    -------
    str
        The element, without style. Names are text, whatever they hold.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_retrieval as pr
    >>> from polars_retrieval import tables
    >>> comparison = pl.DataFrame(
    ...     {
    ...         "measure": ["recall@10"],
    ...         "baseline": ["<bm25>"],
    ...         "system": ["dense"],
    ...         "mean_baseline": [0.5],
    ...         "mean_system": [0.75],
    ...         "p_adjusted": [0.01],
    ...     }
    ... )
    >>> print(tables.to_html(comparison))
    <table>
    <thead>
    <tr><th scope="col"></th><th scope="col">system</th><th scope="col">recall@10</th></tr>
    </thead>
    <tbody>
    <tr><td>a</td><td>&lt;bm25&gt;</td><td>0.500</td></tr>
    <tr><td>b</td><td>dense</td><td><strong>0.750</strong><sup>a</sup></td></tr>
    </tbody>
    </table>
    """
    table = _Table.of(comparison, level, decimals)

    def cell(cell: _Cell) -> str:
        letters = f"<sup>{cell.letters}</sup>" if cell.letters else ""
        return (f"<strong>{cell.text}</strong>" if cell.best else cell.text) + letters

    def row(texts: Iterable[str], start: str, end: str) -> str:
        return "<tr>" + "".join(f"{start}{text}{end}" for text in texts) + "</tr>"

    return "\n".join(
        [
            "<table>",
            "<thead>",
            row(table.head(html.escape), '<th scope="col">', "</th>"),
            "</thead>",
            "<tbody>",
            *(row(texts, "<td>", "</td>") for texts in table.body(html.escape, cell)),
            "</tbody>",
            "</table>",
        ]
    )


@dataclass(frozen=True)
class _Cell:
    """A mean as it is written, whether none is better, and the letters of the systems that are significantly worse."""

    text: str
    best: bool
    letters: str


@dataclass(frozen=True)
class _Table:
    """The rows of a table: of each segment, each system, with a cell for each measure."""

    segments: list[str]
    measures: list[str]
    rows: list[tuple[list[str], list[_Cell]]]

    @classmethod
    def of(cls, comparison: Any, level: float, decimals: int) -> _Table:
        """Arrange a comparison."""
        _check_options(level, decimals)
        frame = read_frame(comparison, "comparison").lazy().collect()
        _check_columns(frame)
        segments = frame.columns[: frame.columns.index("measure")]
        measures = [str(name) for name in frame["measure"].unique(maintain_order=True)]
        systems = pl.concat([frame["baseline"], frame["system"]]).unique(maintain_order=True).to_list()
        parts = frame.partition_by(segments, as_dict=True, maintain_order=True) if segments else {(): frame}
        rows = []
        for segment, part in parts.items():
            by_measure = [_cells(part.filter(measure=name), name, systems, level, decimals) for name in measures]
            for place, system in enumerate(systems):
                names = [*("null" if value is None else str(value) for value in segment), _letter(place), str(system)]
                rows.append((names, [cells[place] for cells in by_measure]))
        return cls(segments, measures, rows)

    def head(self, escape: Callable[[str], str]) -> list[str]:
        """Return the texts of the first row."""
        names = [*self.segments, "", "system", *self.measures]
        return [escape(_one_line(name)) for name in names]

    def body(self, escape: Callable[[str], str], write: Callable[[_Cell], str]) -> list[list[str]]:
        """Return the texts of the other rows."""
        return [[*(escape(_one_line(name)) for name in names), *map(write, cells)] for names, cells in self.rows]


def _check_options(level: float, decimals: int) -> None:
    check_number("level", level)
    if not 0 < level < 0.5:  # noqa: PLR2004 (0.95 would be that of an interval)
        msg = f"`level` is that of significance, such as 0.05, and has to be between 0 and 0.5, got {level!r}"
        raise ParameterError(msg)
    check_whole("decimals", decimals, least=0)


def _check_columns(frame: pl.DataFrame) -> None:
    for name in _NEEDED:
        if name not in frame.columns:
            near = hint(name, frame.columns)
            msg = f"`comparison` has no column `{name}`; its columns are {quoted(frame.columns)}.{near}"
            raise ColumnError(msg)
    if frame.is_empty():
        msg = "`comparison` has no rows to write"
        raise DataError(msg)


def _cells(pairs: pl.DataFrame, measure: str, systems: Sequence[Any], level: float, decimals: int) -> list[_Cell]:
    """Return a measure's cell for each system."""
    sign = 1 if _higher_is_better(measure) else -1
    means = [_mean(pairs, system, measure) for system in systems]
    best = max((sign * mean for mean in means if mean is not None), default=0)
    system_wins = sign * (pl.col("mean_system") - pl.col("mean_baseline")) > 0
    worse = pairs.filter(pl.col("p_adjusted") < level).select(
        better=pl.when(system_wins).then("system").otherwise("baseline"),
        worse=pl.when(system_wins).then("baseline").otherwise("system"),
    )
    separator = "" if len(systems) <= len(string.ascii_lowercase) else ","
    return [
        _Cell(
            "" if mean is None else f"{mean:.{decimals}f}",
            mean is not None and sign * mean >= best - _ROUNDING * abs(best),
            separator.join(
                _letter(place) for place, other in enumerate(systems) if worse.filter(better=system, worse=other).height
            ),
        )
        for system, mean in zip(systems, means, strict=True)
    ]


def _mean(pairs: pl.DataFrame, system: Any, measure: str) -> float | None:
    """Return the system's mean, which has to be the same in all of its pairs."""
    means = pl.concat(
        [
            pairs.filter(pl.col("baseline") == system)["mean_baseline"],
            pairs.filter(pl.col("system") == system)["mean_system"],
        ]
    ).drop_nulls()
    if means.is_empty():
        return None
    low, high = float(means.min()), float(means.max())  # type: ignore[arg-type]
    if high - low > _ROUNDING * max(abs(low), abs(high)):
        msg = (
            f"the mean `{measure}` of `{system}` is {low} in one pair and {high} in another, as they are over "
            "different queries; a table has one place for it\n\nHint: compare over the same queries, as with "
            '`missing_queries="zero"`.'
        )
        raise DataError(msg)
    return float(means[0])


def _higher_is_better(measure: str) -> bool:
    """Tell whether a measure's best is its highest; that of a measure which is not known is."""
    try:
        return parse(measure).declaration.higher_is_better
    except (MetricError, ParameterError):
        return True


def _letter(place: int) -> str:
    """Return a, b, …, z, aa, ab, …."""
    letters = string.ascii_lowercase
    return (_letter(place // len(letters) - 1) if place >= len(letters) else "") + letters[place % len(letters)]


def _one_line(text: str) -> str:
    """Write a name on one line, as a row of the table is one."""
    return re.sub(r"[\x00-\x1f\x7f\x85\u2028\u2029]", " ", text)


def _markdown(text: str) -> str:
    """Escape what Markdown, or an extension of it, reads as its own signs, and HTML."""
    text = html.escape(re.sub(r"([\\`*_{}\[\]#])", r"\\\1", text), quote=False)
    return re.sub(r"[|~$^]", lambda sign: f"&#{ord(sign[0])};", text)


_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "[": "{[}",  # after the end of a row these two would belong to it
        "*": "{*}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "_": r"\_",
        "%": r"\%",
    }
)


def _latex(text: str) -> str:
    """Escape what LaTeX reads as its own signs."""
    return text.translate(_LATEX)
