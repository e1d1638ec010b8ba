"""The page: a report's contents as HTML. jinja2 is imported when one is written."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING

import polars_retrieval as pr
from polars_retrieval.report import figures
from polars_retrieval.report.sections import sections

if TYPE_CHECKING:
    from collections.abc import Mapping

    import jinja2

    from polars_retrieval.report.contents import Contents

MISSING, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"


def html(contents: Contents, *, title: str, sources: Mapping[str, str], notes: Mapping[str, str]) -> str:
    """Return the page."""
    from markupsafe import Markup

    script, style = _own("page.js"), _own("page.css")
    curves = figures.curves(contents.curve, contents.settings.by)
    beside = figures.systems(contents.summary, contents.settings.by, str(contents.measures[0]))
    # Besides the package's own script and style, only pictures are markup; matplotlib has escaped the text in them.
    return (
        _environment()
        .from_string(_own("page.html"))
        .render(
            title=title,
            version=pr.__version__,
            style=Markup(style),  # noqa: S704
            script=Markup(script),  # noqa: S704
            script_hash=_hash(script),
            curves={name: Markup(svg) for name, svg in curves.items()},  # noqa: S704
            beside=Markup(beside),  # noqa: S704
            sources=sources,
            **sections(contents, notes),
        )
    )


def _own(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """Return what lets the browser run this script, and none that data could bring in."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _environment() -> jinja2.Environment:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "number": _number,
        "signed": _signed,
        "p": _p,
        "rank": _rank,
        "thousands": _thousands,
        "percent": _percent,
        "count": _count,
    }
    return environment


def _number(value: float | None) -> str:
    return MISSING if value is None else f"{value:.4f}".replace("-", MINUS)


def _signed(value: float | None, digits: int = 4) -> str:
    # Adding 0 makes a positive zero of a negative one.
    return MISSING if value is None else f"{round(value, digits) + 0:+.{digits}f}".replace("-", MINUS)


def _p(value: float | None) -> str:
    least = 0.0001
    return MISSING if value is None else f"{value:.4f}" if value >= least else f"< {least}"


def _rank(value: int | None) -> str:
    return MISSING if value is None else f"{value}"


def _thousands(value: int | None) -> str:
    return MISSING if value is None else f"{value:,}"


def _percent(value: float | None) -> str:
    return MISSING if value is None else f"{value:.1%}".replace("%", " %")


def _count(n: int, one: str, several: str | None = None) -> str:
    return f"{n:,} {one if n == 1 else several or one + 's'}"
