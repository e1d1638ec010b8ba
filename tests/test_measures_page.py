"""`docs/measures.md` says everything of every measure, and is up to date."""

import importlib.util
import inspect
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import polars_retrieval as pr
from polars_retrieval.measures import REGISTRY, SETS, Measure
from polars_retrieval.measures.declaration import _CHECKS

DOCS = Path(__file__).parent.parent / "docs"


def load(name):
    """Import a module of `docs`, which is no package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def make_measures():
    return load("make_measures")


PAGE = (DOCS / "measures.md").read_text(encoding="utf-8")
HEADINGS = re.findall(r"^### (\w+)$", PAGE, flags=re.MULTILINE)


def section_of(name):
    section = PAGE.partition(f"\n### {name}\n")[2]
    return re.split(r"\n##+ ", section)[0]


def fact(name, key):
    """Give what the page says of a measure under a key."""
    (text,) = re.findall(rf"^\* {key}: (.*)$", section_of(name), flags=re.MULTILINE)
    return text


def test_page_is_up_to_date(make_measures):
    assert make_measures.page() == PAGE, "run `python docs/make_measures.py`"


def test_what_is_written_by_hand_stays(make_measures, tmp_path, monkeypatch):
    path = tmp_path / "measures.md"
    path.write_text(f"Before.\n\n{make_measures.START}old{make_measures.END}\nAfter.\n")
    monkeypatch.setattr(make_measures, "PATH", path)
    page = make_measures.page()
    assert page.startswith("Before.\n")
    assert page.endswith("\nAfter.\n")
    assert "old" not in page
    path.write_text(page)
    assert make_measures.page() == page


def test_every_measure_has_one_section_and_no_other_does():
    assert sorted(HEADINGS) == sorted(REGISTRY)


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "another"},
        {"source": "elsewhere"},
        {"bounds": (0, 2)},
        {"higher_is_better": False},
        {"undefined_without": None},
        {"needs_order_of": "grade"},
        {"needs_order_of": "grade", "needs_order_with": ("k", "capped")},
        {"has_bounds": True},
        {"aliases": ()},
        {"formula": REGISTRY["hit_rate"].declaration.formula},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_page_tells_every_field_of_a_declaration(make_measures, monkeypatch, changed):
    """The test of the test: whatever is declared anew makes the page out of date."""
    declaration = replace(REGISTRY["recall"].declaration, **changed)
    name = declaration.name
    monkeypatch.setitem(REGISTRY, name, Measure(declaration))
    assert make_measures.page() != PAGE


def test_words_for_all_that_may_be_declared(make_measures):
    assert make_measures.ALLOWED.keys() == _CHECKS.keys()
    declared = [known.declaration for known in REGISTRY.values()]
    assert {d.undefined_without for d in declared} == set(make_measures.UNDEFINED)
    assert {d.needs_order_of for d in declared} - {None} == set(make_measures.NO_CLOSED_FORM)
    assert {other.tool for d in declared for other in d.aliases} == set(make_measures.TOOLS)


@pytest.mark.parametrize("name", list(REGISTRY))
class TestEveryMeasure:
    def test_formula_stands_in_its_docstring(self, name):
        """A count is what its summary says."""
        if not REGISTRY[name].declaration.formula.__module__.endswith(".counts"):
            assert re.search(r"\n\n``[^`]+``", inspect.getdoc(REGISTRY[name].declaration.formula))

    def test_docstring_is_on_the_page(self, name):
        assert inspect.getdoc(REGISTRY[name].declaration.formula).replace("``", "`") in section_of(name)

    def test_is_in_the_index(self, name):
        summary = REGISTRY[name].declaration.summary.replace("``", "`")
        assert f"| [`{name}`](#{name}) | {summary} |" in PAGE

    def test_parameters(self, name):
        parameters = REGISTRY[name].declaration.parameters
        described = fact(name, "Parameters").split("; ") if parameters else []
        assert len(described) == len(parameters)
        for text, parameter in zip(described, parameters.values(), strict=True):
            assert re.fullmatch(rf"`{parameter.name}`, .+ \(default `{re.escape(repr(parameter.default))}`\)", text)

    def test_source(self, name):
        assert fact(name, "Source") == REGISTRY[name].declaration.source
        assert len(REGISTRY[name].declaration.source) > 1

    def test_other_names(self, name):
        for other in REGISTRY[name].declaration.aliases:
            assert f"`{other.pattern}`" in fact(name, "Other names")
            assert all(f"`{key}={value}`" in fact(name, "Other names") for key, value in other.fixed.items())

    def test_values_and_what_leaves_them_undefined(self, name):
        declaration = REGISTRY[name].declaration
        assert fact(name, "Values").startswith(str(declaration.bounds[0]))
        assert ("lower is better" in fact(name, "Values")) == (not declaration.higher_is_better)
        assert (fact(name, "Undefined") == "never") == (declaration.undefined_without is None)

    def test_ties(self, name):
        without_closed_form = REGISTRY[name].declaration.needs_order_of is not None
        assert ("no closed form" in fact(name, "Tied documents")) == without_closed_form
        rules = ("`doc_id`", "`stable`", "`pessimistic`", "`optimistic`")
        assert all(rule in fact(name, "Tied documents") for rule in rules) == without_closed_form

    def test_bounds(self, name):
        assert ("raises" not in fact(name, "Bounds")) == REGISTRY[name].declaration.has_bounds


@pytest.mark.parametrize("name", list(SETS))
def test_sets_are_on_the_page(name):
    assert f"`{name}`" in PAGE


RUN = pl.DataFrame({"query_id": ["q", "q"], "score": [0.9, 0.8], "relevance": [1, 0]})


@pytest.mark.parametrize("name", list(REGISTRY))
def test_bounds_are_where_the_page_says(name):
    if REGISTRY[name].declaration.has_bounds:
        columns = pr.evaluate(RUN, REGISTRY[name] @ 10, bounds=True).columns
        assert all(f"`{column}`" in fact(name, "Bounds") for column in columns[1:])
        assert len(columns) == 1 + 2
    else:
        with pytest.raises(pr.errors.ParameterError, match="bounds"):
            pr.evaluate(RUN, name, bounds=True)
