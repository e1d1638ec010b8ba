"""What the package offers is listed, documented, and nothing is missing for any measure."""

import inspect

import polars as pl
import pytest

import polars_retrieval as pr
from polars_retrieval.measures import REGISTRY

FUNCTIONS = ["compare", "coverage", "differences", "evaluate", "judge", "metrics", "parse", "per_query"]
FUNCTIONS += ["pr_curve", "rank", "summarize"]
FUNCTIONS += ["read_qrels", "read_run", "scan_qrels", "scan_run", "write_qrels", "write_run"]
CLASSES = ["Measure", "RankedLists"]
MODULES = ["errors", "plot", "tables"]
PARAMETERS = {
    "k": 7,
    "beta": 0.5,
    "adaptive_k": True,
    "capped": True,
    "denominator": "min",
    "gain": "exponential",
    "max_fpr": 0.5,
    "persistence": 0.5,
    "residual": True,
    "max_grade": 4,
    "recall": 0.1,
    "min_precision": 0.25,
}
"""A value of each parameter that is not its default."""


def test_the_list_of_public_names():
    assert sorted(pr.__all__) == sorted([*FUNCTIONS, *CLASSES, *MODULES, *REGISTRY])
    assert all(hasattr(pr, name) for name in pr.__all__)


@pytest.mark.parametrize("name", [*FUNCTIONS, *CLASSES])
def test_documented_with_a_running_example(name):
    assert ">>> import polars_retrieval as pr" in inspect.getdoc(getattr(pr, name))


@pytest.mark.parametrize("name", list(REGISTRY))
class TestEveryMeasure:
    def test_is_exported(self, name):
        assert getattr(pr, name) is REGISTRY[name]

    def test_is_documented(self, name):
        row = pr.metrics().row(by_predicate=pl.col("name") == name, named=True)
        assert row["summary"].endswith(".")
        assert row["source"]
        assert row["lower"] < row["upper"]

    def test_has_an_expression_method(self, name):
        method = getattr(pl.col("relevance").retrieval, name)
        assert method("score").meta.output_name() == name
        assert method.__doc__ == REGISTRY[name].declaration.formula.__doc__

    def test_name_parses_back(self, name):
        assert pr.parse(name) == REGISTRY[name]
        measure = REGISTRY[name](**{p: PARAMETERS[p] for p in REGISTRY[name].declaration.parameters})
        assert set(measure.parameters) == set(REGISTRY[name].declaration.parameters)
        assert pr.parse(str(measure)) == measure

    def test_other_tools_names_parse(self, name):
        for alias in REGISTRY[name].declaration.aliases:
            measure = pr.parse(alias.pattern.format(k=5, recall=0.25))
            assert measure.declaration.name == name
            assert measure.parameters.get("k") == (5 if "{k}" in alias.pattern else None)
            assert measure.parameters.get("recall") == (0.25 if "{recall}" in alias.pattern else None)

    def test_no_other_measure_has_its_names(self, name):
        others = [a.pattern for m in REGISTRY.values() for a in m.declaration.aliases if m.declaration.name != name]
        assert not {name, *(a.pattern for a in REGISTRY[name].declaration.aliases)} & set(others)
