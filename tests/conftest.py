"""What the tests share: Hypothesis profiles, the ways to ask for a value, where reference data would be."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, settings

import polars_retrieval as pr

# A first call into Polars may take longer than Hypothesis allows by default, whatever it computes.
settings.register_profile(
    "dev",
    deadline=None,
    max_examples=30,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("ci", parent=settings.get_profile("dev"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the checkout; without it the test is skipped."""
    folder = Path(__file__).parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("there is no ../shared beside the checkout")
    return folder


def _measure(name, parameters):
    measure = getattr(pr, name)
    return measure(**parameters) if parameters else measure


def _by_function(frame, name, parameters, options):
    return pr.per_query(frame, _measure(name, parameters), **options)


def _by_method(frame, name, parameters, options):
    return frame.retrieval.per_query(_measure(name, parameters), **options)


def _by_text(frame, name, parameters, options):
    return pr.per_query(frame, str(_measure(name, parameters)), **options)


def _lazily(frame, name, parameters, options):
    return frame.lazy().retrieval.per_query(_measure(name, parameters), **options).collect()


def _streaming(frame, name, parameters, options):
    return pr.per_query(frame.lazy(), _measure(name, parameters), **options).collect(engine="streaming")


def _expression(name, parameters, options):
    return getattr(pl.col("relevance").retrieval, name)("score", **parameters, **options).alias(name)


def _by_group_by(frame, name, parameters, options):
    return frame.group_by("query_id", maintain_order=True).agg(_expression(name, parameters, options))


def _by_over(frame, name, parameters, options):
    values = frame.select("query_id", _expression(name, parameters, options).over("query_id"))
    return values.unique("query_id", keep="first", maintain_order=True)


@pytest.fixture(
    params=[_by_function, _by_method, _by_text, _lazily, _streaming, _by_group_by, _by_over],
    ids=["function", "method", "text", "lazy", "streaming", "group_by", "over"],
)
def values_by_query(request):
    """Return a function (frame, name, parameters, options) -> values of a measure by query, on one surface.

    The queries come in order of first appearance.
    """

    def values(frame, name, parameters=None, **options):
        if not hasattr(pr, name):
            pytest.skip(f"`{name}` is no measure yet")
        return request.param(frame, name, parameters or {}, options)[:, -1].to_list()

    return values
