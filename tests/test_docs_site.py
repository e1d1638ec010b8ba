"""The site builds strictly and from this machine alone, and nothing public is missing in it."""

from __future__ import annotations

import os
import re
import shlex
import warnings
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

import polars_retrieval as pr
from polars_retrieval import cli
from polars_retrieval.measures import REGISTRY

load_config = pytest.importorskip("mkdocs.config").load_config
build = pytest.importorskip("mkdocs.commands.build")
pytest.importorskip("material")
pytest.importorskip("mkdocstrings")
pytest.importorskip("jupytext")

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
NOTEBOOKS = sorted(path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.glob("notebooks/*.py"))
MODULES = ["errors", "plot", "tables"]
"""Public names that are modules: their members are in the reference."""
NOT_FOR_USERS = ["is_round"]
"""What other modules of the package take from these."""

# What a browser loads on its own, by tag and attribute; a link is only followed by the reader.
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("object", "data")}


class Page(HTMLParser):
    """What a page loads, where it links to, its ids, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.loaded, self.links, self.ids, self.without_text = [], [], set(), []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.ids.add(attributes.get("id"))
        self.loaded += [value for name, value in attrs if (tag, name) in LOADED]
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        if tag == "img" and not attributes.get("alt"):
            self.without_text.append(attributes.get("src"))


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the built site; whoever asks another machine for anything while building gets an error."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
            patch.setenv(name, "http://127.0.0.1:9")
        patch.setenv("NO_MKDOCS_2_WARNING", "1")
        warnings.simplefilter("ignore")  # those of the tools that build; mkdocs' own are counted as errors
        build.build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder


@pytest.fixture(scope="session")
def pages(site):
    files = sorted(site.rglob("*.html"))
    return {file.relative_to(site).as_posix(): Page(file.read_text(encoding="utf-8")) for file in files}


def in_nav(entries):
    """Give the pages of a navigation, of whatever depth."""
    for entry in entries:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            yield from [value] if isinstance(value, str) else in_nav(value)


def test_every_page_is_in_the_navigation():
    listed = list(in_nav(load_config(str(ROOT / "mkdocs.yml"))["nav"]))
    assert sorted(listed) == sorted([*PAGES, *(f"{name}.md" for name in NOTEBOOKS)])


def test_every_page_is_built(pages):
    built = [name.removesuffix(".md") + ".html" for name in PAGES] + [f"{name}.html" for name in NOTEBOOKS]
    assert sorted(built) == sorted(pages.keys() - {"404.html"})


def test_pages_load_nothing_from_elsewhere(pages):
    elsewhere = {name: [url for url in page.loaded if "//" in url] for name, page in pages.items()}
    assert {name: urls for name, urls in elsewhere.items() if urls} == {}
    assert any(page.loaded for page in pages.values())


def test_styles_load_nothing_from_elsewhere(site):
    styles = {path.name: path.read_text(encoding="utf-8") for path in site.rglob("*.css")}
    assert styles
    assert not [name for name, text in styles.items() if re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", text)]


def test_what_pages_load_is_there(site, pages):
    for name, page in pages.items():
        for url in page.loaded if name != "404.html" else ():  # which is shown at any address
            assert url.startswith("data:") or (site / name).parent.joinpath(url.partition("?")[0]).exists(), (name, url)


def test_links_between_pages_lead_somewhere(pages):
    """Strict building checks links in the text; this one also those to headings in the reference."""
    for name, page in pages.items():
        if name == "404.html":
            continue
        for link in page.links:
            target, _, anchor = link.partition("#")
            if "//" in link or link.startswith("mailto:") or target.endswith((".svg", ".png")):
                continue
            path = os.path.normpath(os.path.join(os.path.dirname(name), target)) if target else name  # noqa: PTH118, PTH120
            assert path in pages, (name, link)
            assert not anchor or anchor in pages[path].ids, (name, link)


def test_pictures_are_described(pages):
    assert {name: page.without_text for name, page in pages.items() if page.without_text} == {}


@pytest.mark.parametrize("name", sorted({*pr.__all__} - {*REGISTRY} - {*MODULES}))
def test_public_names_are_in_the_reference(pages, name):
    ids = set().union(*(page.ids for file, page in pages.items() if file.startswith("reference/")))
    assert f"polars_retrieval.{name}" in ids


@pytest.mark.parametrize("module", [name for name in MODULES if hasattr(pr, name)])
def test_members_of_public_modules_are_in_the_reference(pages, module):
    ids = set().union(*(page.ids for file, page in pages.items() if file.startswith("reference/")))
    own = f"polars_retrieval.{module}"
    public = {name: value for name, value in vars(getattr(pr, module)).items() if not name.startswith("_")}
    members = [name for name, value in public.items() if str(getattr(value, "__module__", "")).startswith(own)]
    assert members
    assert [name for name in members if f"{own}.{name}" not in ids and name not in NOT_FOR_USERS] == []


@pytest.mark.parametrize("name", list(REGISTRY))
def test_measures_are_in_the_reference(pages, name):
    assert name in pages["measures.html"].ids
    assert f"polars_retrieval.namespaces.ExprRetrieval.{name}" in pages["reference/expressions.html"].ids


def test_torch_is_in_the_reference(pages):
    torch = pytest.importorskip("polars_retrieval.torch")
    ids = pages["reference/torch.html"].ids
    classes = [f"polars_retrieval.torch.{name}" for name in torch.__all__ if name != "functional"]
    assert [name for name in classes if name not in ids] == []
    functions = [f"polars_retrieval.torch.functional.{name}" for name in torch.functional.__all__]
    assert [name for name in functions if name not in ids] == []


def test_parameters_of_torch_classes_are_described(site):
    """They are put into the docstrings by a decorator, which whoever reads the source alone misses."""
    text = (site / "reference/torch.html").read_text(encoding="utf-8")
    assert "Older spelling of" in text


def test_start_page_shows_the_command_and_the_curve(site):
    text = (site / "index.html").read_text(encoding="utf-8")
    assert "pictures/demo_curve.svg" in text
    assert "polars-retrieval<" in text or "polars-retrieval demo" in text
    assert (site / "pictures/demo_curve.svg").read_text(encoding="utf-8").count("<path") > 50


def test_benchmarks_are_those_that_were_measured(site):
    text = re.sub(r"<[^>]+>", "", (site / "benchmarks.html").read_text(encoding="utf-8"))
    results = (ROOT / "benchmarks/RESULTS.md").read_text(encoding="utf-8")
    titles = re.findall(r"^## (.*)$", results, flags=re.MULTILINE)
    assert titles
    assert all(title in text for title in titles)


@pytest.mark.parametrize("page", sorted({*PAGES} - {"contributing.md"}))
def test_python_on_a_page_is_an_example_that_runs(page):
    """pytest runs what has prompts, as doctests."""
    blocks = re.findall(r"^```(\w*)\n(.*)$", (DOCS / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [start for language, start in blocks if language.startswith("py") and not start.startswith(">>> ")] == []
    assert {language for language, _ in blocks} <= {"python", "sh", ""}


def table_rows(page, heading):
    """Give the cells of the table below a heading."""
    section = re.split(r"^## ", page.partition(f"\n## {heading}\n")[2], flags=re.MULTILINE)[0]
    rows = re.findall(r"^\| (.*) ?\|$", section, flags=re.MULTILINE)[2:]
    return [[re.findall(r"`([^`]+)`", cell) for cell in row.split(" |")] for row in rows]


SWITCHING = (DOCS / "switching.md").read_text(encoding="utf-8")
NAMES = [
    (here, there)
    for (here,), *elsewhere in table_rows(SWITCHING, "Names of measures")
    for cell in elsewhere[:3]
    for there in cell
]
CALLS = [
    (tool, code)
    for tool in re.findall(r"^## (.*)$", SWITCHING, flags=re.MULTILINE)[1:]
    for *_, cell in table_rows(SWITCHING, tool)
    for code in cell
]


@pytest.mark.parametrize(("here", "there"), NAMES)
def test_names_in_the_table_for_people_who_switch(here, there):
    assert pr.parse(there) == eval(here)  # noqa: S307 (of our own page)


def test_the_table_of_names_has_all_measures():
    assert len(NAMES) > len(REGISTRY)
    assert {pr.parse(there).declaration.name for _, there in NAMES} >= {*REGISTRY} - {
        "n_judged", "dcg", "recall_at_precision",
    }  # fmt: skip


@pytest.mark.parametrize(("tool", "code"), CALLS)
def test_calls_in_the_tables_for_people_who_switch(tool, code, tmp_path, monkeypatch, capsys):
    torch = pytest.importorskip("torch") if tool == "torchmetrics" else None
    monkeypatch.chdir(tmp_path)
    run = pl.DataFrame({"query_id": "q1", "doc_id": ["d1", "d2"], "score": [0.9, 0.4]})
    qrels = pl.DataFrame({"query_id": "q1", "doc_id": ["d1", "d3"], "relevance": [1, 2]})
    pr.write_run(run, "bm25.run", tag="bm25")
    pr.write_qrels(qrels, "qrels.txt")
    if code.startswith("polars-retrieval "):
        assert cli.main(shlex.split(code)[1:]) == 0
        assert "all" in capsys.readouterr().out
        return
    names = {"pr": pr, "pl": pl, "run": run, "qrels": qrels}
    names["frame"] = run.rename({"query_id": "q", "doc_id": "d", "score": "s"})
    names["judged"] = run.rename({"query_id": "query"}).with_columns(relevance=pl.Series([1, 0]))
    if torch is not None:
        names |= {"preds": torch.tensor([0.9, 0.4]), "target": torch.tensor([1, 0]), "indexes": torch.tensor([0, 0])}
        exec("from polars_retrieval.torch import *; from polars_retrieval.torch.functional import *", names)  # noqa: S102
    if code in {'unjudged="drop"', 'missing_queries="skip"'}:
        code = f'pr.evaluate(run, "P@1", qrels=qrels, {code})'
    exec(code, names)  # noqa: S102 (of our own page)


def test_every_tool_has_calls():
    assert {tool for tool, _ in CALLS} == {
        "torchmetrics", "trec_eval", "pytrec_eval", "ranx", "ir_measures", "By hand, in Polars or pandas",
    }  # fmt: skip
    assert len(CALLS) > 25
