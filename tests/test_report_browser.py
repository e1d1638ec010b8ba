"""The report in a browser: it opens quietly, sorts, filters, fits, and shows hostile names as text."""

from __future__ import annotations

import shutil

import polars as pl
import pytest

from polars_retrieval.report import write_report

pytest.importorskip("selenium", reason="selenium is not installed")
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="there is no chromium with a chromedriver")

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
)
SCRIPT = "<script>document.title='attacked'</script>"
HOSTILE = [
    SCRIPT,
    "</script>" + SCRIPT,
    '"></td><img src=x onerror="document.title=1">',
    "{{ 7 * 7 }}",
    "' & &amp; \\u003c",
]
MINUS_ONE = "\N{MINUS SIGN}1.0000"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = Options()
    options.binary_location = CHROMIUM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


def resize(browser, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def errors(browser):
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] in {"SEVERE", "WARNING"}]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Return a page on two systems, 60 queries of two documents each, and names that look like markup."""
    queries = [*HOSTILE, *(f"q{number}" for number in range(5, 60))]
    docs = pl.DataFrame({"query_id": queries}).join(pl.DataFrame({"doc_id": HOSTILE[:2]}), how="cross")
    even = pl.int_range(pl.len()) // 2 % 2 == 0
    first = pl.col("doc_id") == HOSTILE[0]
    runs = {
        HOSTILE[1]: docs.with_columns(score=pl.when(first).then(2.0).otherwise(1.0)),
        HOSTILE[2]: docs.with_columns(score=pl.when(first == even).then(2.0).otherwise(1.0)),
    }
    qrels = docs.with_columns(relevance=first.cast(pl.Int64))
    written = tmp_path_factory.mktemp("report") / "report.html"
    notes = {"Judgments file": HOSTILE[0]}
    write_report(
        written,
        runs,
        qrels,
        ["precision@1", "recall@2"],
        title=HOSTILE[0],
        notes=notes,
        sources=dict.fromkeys(runs, SCRIPT),
    )
    return written


@pytest.fixture
def page(browser, path):
    browser.get_log("browser")  # what was said of an earlier page
    resize(browser, 1400)
    browser.get(path.as_uri())
    return browser


def texts(page, selector):
    return [element.text for element in page.find_elements(By.CSS_SELECTOR, selector)]


def ids(page):
    return texts(page, "#query-body th")


def column(page, number):
    return texts(page, f"#query-body tr > :nth-child({number})")


def press(page, number):
    page.find_element(By.CSS_SELECTOR, f"#query-head th:nth-child({number}) button").click()


def sorts(page):
    heads = page.find_elements(By.CSS_SELECTOR, "#query-head th")
    return [head.get_attribute("aria-sort") for head in heads]


def status(page):
    return page.find_element(By.ID, "query-status").text


def test_opens_without_errors_and_loads_nothing(page):
    assert errors(page) == []
    assert page.execute_script("return performance.getEntriesByType('resource').map(entry => entry.name)") == []
    assert status(page) == "1 to 25 of 60 queries"


@pytest.mark.parametrize("width", [400, 1400])
def test_fits_the_window(page, width):
    resize(page, width)
    window, whole, seen = page.execute_script(
        "const root = document.documentElement; return [innerWidth, root.scrollWidth, root.clientWidth]"
    )
    assert window == width
    assert whole <= seen


def test_hostile_names_stay_text(page):
    assert ids(page)[: len(HOSTILE)] == HOSTILE
    assert page.find_element(By.TAG_NAME, "h1").text == HOSTILE[0]
    assert page.title == HOSTILE[0]  # no script has set another
    assert page.find_elements(By.TAG_NAME, "img") == []
    assert len(page.find_elements(By.TAG_NAME, "script")) == 2
    assert texts(page, "#measures tbody th bdi") == [HOSTILE[1], HOSTILE[2]]
    legend = page.execute_script("return [...document.querySelectorAll('figure svg text')].map(one => one.textContent)")
    assert {HOSTILE[1], HOSTILE[2]} <= set(legend)


def test_a_press_on_a_head_sorts_and_says_so(page):
    assert sorts(page) == ["none"] * 4
    press(page, 3)  # the second system finds the relevant document of every other query
    assert sorts(page) == ["none", "none", "descending", "none"]
    assert column(page, 3) == ["1.0000"] * 25
    press(page, 3)
    assert sorts(page) == ["none", "none", "ascending", "none"]
    assert column(page, 3) == ["0.0000"] * 25
    assert column(page, 4) == [MINUS_ONE] * 25
    assert page.switch_to.active_element.text == HOSTILE[2]


def test_ids_sort_by_the_numbers_in_them(page):
    press(page, 1)
    press(page, 1)
    assert sorts(page)[0] == "descending"
    assert ids(page)[:3] == ["q59", "q58", "q57"]


def test_filters_by_id(page):
    field = page.find_element(By.ID, "query-filter")
    field.send_keys("Q1")
    assert ids(page) == [f"q{number}" for number in range(10, 20)]
    assert status(page) == "1 to 10 of 10 found, of 60 queries"
    field.send_keys("<")
    assert ids(page) == []
    assert status(page) == "None of 0 found, of 60 queries"


def test_shows_where_systems_differ(page):
    Select(page.find_element(By.ID, "query-show")).select_by_value("differ")
    assert set(column(page, 4)) == {MINUS_ONE}
    assert status(page) == "1 to 25 of 30 found, of 60 queries"


def test_another_measure(page):
    Select(page.find_element(By.ID, "query-measure")).select_by_visible_text("recall@2")
    assert set(column(page, 3)) == {"1.0000"}


def test_pages_turn(page):
    back, forth = (page.find_element(By.ID, f"query-{name}") for name in ("previous", "next"))
    assert not back.is_enabled()
    forth.click()
    forth.click()
    assert status(page) == "51 to 60 of 60 queries"
    assert not forth.is_enabled()
    back.click()
    assert status(page) == "26 to 50 of 60 queries"


def test_no_two_elements_share_an_id(page):
    # Two pictures may define the same marker, each for itself.
    found = page.execute_script("return [...document.querySelectorAll('[id]:not(svg *)')].map(one => one.id)")
    assert found
    assert len(found) == len(set(found))


def test_many_queries_open_soon(browser, tmp_path):
    n = 50_000
    queries = pl.int_range(n, eager=True).alias("query_id")
    docs = queries.to_frame().join(pl.DataFrame({"doc_id": ["a", "b"]}), how="cross")
    is_first = pl.col("doc_id") == "a"
    runs = {
        "one": docs.with_columns(score=is_first.cast(pl.Float64)),
        "two": docs.with_columns(score=(is_first == (pl.col("query_id") % 2 == 0)).cast(pl.Float64)),
    }
    qrels = docs.filter(is_first).with_columns(relevance=1)
    path = tmp_path / "report.html"
    write_report(path, runs, qrels, ["precision@1", "reciprocal_rank"], test="t", n_resamples=100)
    resize(browser, 1400)
    seconds = min(seconds_to_open(browser, path) for _ in range(3))  # the least: other work may take the processor
    assert status(browser) == "1 to 25 of 50,000 queries"
    assert seconds < 3
    press(browser, 4)
    assert set(column(browser, 4)) == {"0.0000"}
    press(browser, 4)
    assert set(column(browser, 4)) == {MINUS_ONE}


def seconds_to_open(browser, path):
    browser.get(path.as_uri())
    return browser.execute_script("return performance.getEntriesByType('navigation')[0].loadEventEnd / 1000")
