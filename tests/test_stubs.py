"""The methods for the measures: what their signatures say, at run time and in `namespaces.pyi`, is what they take."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from test_measures_page import load
from test_public_names import PARAMETERS

from polars_retrieval import expressions, namespaces
from polars_retrieval.errors import ParameterError
from polars_retrieval.measures import REGISTRY
from polars_retrieval.namespaces import ExprRetrieval
from polars_retrieval.options import Options

ROOT = Path(__file__).parent.parent
STUB = Path(namespaces.__file__).with_suffix(".pyi")
OPTIONS = ["n_relevant", "doc", *inspect.signature(Options).parameters]
RETRIEVAL = pl.col("relevance").retrieval


def stub_methods():
    """Give the methods that the stub has for expressions."""
    classes = [node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ClassDef)]
    (of_expressions,) = (node for node in classes if node.name == "ExprRetrieval")
    return {node.name: node for node in of_expressions.body}


def parameters_of(method):
    return inspect.signature(method).parameters


def mypy(path):
    """Check a file as the project checks itself."""
    command = [sys.executable, "-m", "mypy", "--no-error-summary", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    assert not done.stderr
    return done.stdout


def test_stub_is_up_to_date():
    assert load("make_stubs").stub() == STUB.read_text(), "run `python docs/make_stubs.py`"


def test_stub_has_every_public_method():
    public = {name for name in vars(ExprRetrieval) if not name.startswith("_")}
    assert public == set(stub_methods()) - {"__init__"}
    assert set(REGISTRY) < public


@pytest.mark.parametrize("name", list(REGISTRY))
class TestEveryMeasure:
    def test_stub_takes_its_parameters_and_the_options(self, name):
        arguments = stub_methods()[name].args
        assert [argument.arg for argument in arguments.args] == ["self", "score"]
        assert [a.arg for a in arguments.kwonlyargs] == [*REGISTRY[name].declaration.parameters, *OPTIONS]

    def test_signature_at_run_time(self, name):
        taken = parameters_of(getattr(ExprRetrieval, name))
        own = REGISTRY[name].declaration.parameters
        assert list(taken) == ["self", "score", *own, *OPTIONS]
        assert {key: taken[key].default for key in own} == {key: known.default for key, known in own.items()}

    def test_defaults_are_as_the_signature_says(self, name):
        method = getattr(RETRIEVAL, name)
        defaults = {key: taken.default for key, taken in parameters_of(method).items() if key != "score"}
        assert method("score", **defaults).meta.eq(method("score"))
        assert method(score=pl.col("score")).meta.eq(method("score"))

    def test_every_parameter_is_passed_on(self, name):
        method = getattr(RETRIEVAL, name)
        own = {key: PARAMETERS[key] for key in REGISTRY[name].declaration.parameters}
        for key, value in own.items():
            assert not method("score", **{key: value}).meta.eq(method("score"))
        assert method("score", **own).meta.output_name() == str(REGISTRY[name](**own))

    def test_wrong_parameter_names_the_nearest(self, name):
        with pytest.raises(ParameterError, match=rf"(?s)`{name}` has no parameter `tie`; .*did you mean `ties`"):
            getattr(RETRIEVAL, name)("score", tie="stable")
        if "k" in REGISTRY[name].declaration.parameters:
            with pytest.raises(ParameterError, match=r"(?s)`kk`; it takes `k`, .*did you mean `k`"):
                getattr(RETRIEVAL, name)("score", kk=10)

    def test_parameters_come_by_name(self, name):
        with pytest.raises(TypeError, match=rf"{name}\(\) takes 2 positional arguments"):
            getattr(RETRIEVAL, name)("score", 10)
        with pytest.raises(TypeError, match=rf"{name}\(\) missing 1 required positional argument: 'score'"):
            getattr(RETRIEVAL, name)()


@pytest.mark.parametrize("name", ["rank", "cumulative_hits", "pr_curve"])
def test_other_methods_take_what_their_functions_take(name):
    function = parameters_of(getattr(expressions, name))
    options = list(inspect.signature(Options).parameters) if "options" in function else []
    expected = [key for key in list(function)[1:] if key != "options"] + options
    assert list(parameters_of(getattr(RETRIEVAL, name))) == expected
    given = {"score": "score"} if "score" in expected else {}
    with pytest.raises(ParameterError, match=rf"(?s)`{name}` has no parameter `dok`; .*did you mean `doc`"):
        getattr(RETRIEVAL, name)(**given, dok="doc_id")


def test_mypy_takes_what_is_right_and_refuses_what_is_not(tmp_path):
    """One line each; the wrong ones end in the message that they shall get."""
    right, wrong = (
        [],
        ['rank(tie="stable")  # "tie"', 'ndcg("score", gain="cubic")  # "gain"', 'recal("score")  # "recal"'],
    )
    for name, measure in REGISTRY.items():
        own = ", ".join(f"{key}={PARAMETERS[key]!r}" for key in measure.declaration.parameters)
        right.append(f'{name}("score", {own}).alias("value")')
        right.append(f'{name}(pl.col("score"), ties="doc_id", doc="doc_id", n_relevant=pl.lit(3), min_relevance=2)')
        wrong.append(f'{name}("score", kk=10)  # "kk"')
        wrong.append(f'{name}("score", ties="stabel")  # "ties"')
    lines = [f'ExprRetrieval(pl.col("relevance")).{call}' for call in (*right, *wrong)]
    head = ["import polars as pl", "from polars_retrieval.namespaces import ExprRetrieval"]
    path = tmp_path / "use.py"
    path.write_text("\n".join([*head, *lines]) + "\n")
    errors = {int(line): text for line, text in re.findall(r"use\.py:(\d+): error: (.*)", mypy(path))}
    first_wrong = len(head) + len(right) + 1
    assert sorted(errors) == list(range(first_wrong, first_wrong + len(wrong)))
    for line, call in enumerate(wrong, start=first_wrong):
        assert call.partition("# ")[2] in errors[line]


def test_mypy_checks_the_source_too():
    """Given the package, it reads the stub instead."""
    assert mypy(Path(namespaces.__file__)) == ""
