"""The values that trec_eval, pytrec_eval, torchmetrics and others give for real runs, query by query.

Each test says how many values it compared, so that none is left out silently.
"""

from __future__ import annotations

import gzip
import json
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import polars_retrieval as pr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

pytestmark = [
    pytest.mark.shared,
    pytest.mark.filterwarnings("ignore:.* have no judgments:polars_retrieval.errors.RetrievalWarning"),
]

FULL_PRECISION = 1e-9
PRINTED = 5e-5 + 1e-12  # half of trec_eval's last digit, which may be a 5 itself
SINGLE_PRECISION = 1e-5  # torchmetrics takes discounts as differences of their float32 sums


# --- files ----------------------------------------------------------------------------------------

RUN = r"^\s*(?<query_id>\S+)\s+\S+\s+(?<doc_id>\S+)\s+\S+\s+(?<score>\S+)"
QRELS = r"^\s*(?<query_id>\S+)\s+\S+\s+(?<doc_id>\S+)\s+(?<relevance>\S+)"


def packed(path: Path) -> Path:
    """Return the path of a file, which may be gzipped."""
    return path if path.exists() else path.with_name(path.name + ".gz")


def read_text(path: Path) -> str:
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode()


@cache
def read_trec(path: Path, pattern: str) -> pl.DataFrame:
    lines = pl.DataFrame({"line": read_text(path).splitlines()}).filter(~pl.col("line").str.starts_with("#"))
    frame = lines.select(pl.col("line").str.extract_groups(pattern)).unnest("line")
    return frame.with_columns(pl.col("^score$").cast(pl.Float64), pl.col("^relevance$").cast(pl.Int64))


def read_expected(folder: Path) -> dict[str, Any]:
    return json.loads(read_text(packed(folder / "expected.json")))


@dataclass(frozen=True)
class Pair:
    """A run, the judgments that it is held against, and the values that others give for it."""

    run: pl.DataFrame
    qrels: pl.DataFrame
    min_relevance: int
    expected: dict[str, Any]

    @property
    def options(self) -> dict[str, Any]:
        """Those that make ours what trec_eval computes."""
        return {"qrels": self.qrels, "ties": "doc_id", "min_relevance": self.min_relevance}


def pairs(folder: Path) -> list[Pair]:
    expected = read_expected(folder)
    if "pairs" in expected:  # named such as `qrels.rel_level + results.test (-l 2)`
        named = [(re.fullmatch(r"(\S+) \+ (\S+)(?: \(-l (\d)\))?", name), v) for name, v in expected["pairs"].items()]
        files = [(found[1], found[2], int(found[3] or 1), values) for found, values in named]
    else:
        files = [(expected["qrels"], r, expected["relevance_level"], values) for r, values in expected["runs"].items()]
    return [
        Pair(read_trec(packed(folder / run), RUN), read_trec(packed(folder / qrels), QRELS), level, values)
        for qrels, run, level, values in files
    ]


# --- comparison -----------------------------------------------------------------------------------


def exponential(name: str) -> pr.Measure:
    return pr.parse(name)(gain="exponential")


def of_torchmetrics(name: str) -> pr.Measure:
    if name == "ndcg@1000":  # of lists padded to 1000 documents, not cut there: some are longer
        return pr.ndcg
    measure = pr.parse(name)
    return measure(denominator="hits") if measure.declaration.name == "average_precision" else measure


def long(per_query: dict[str, dict[str, float]], parse: Callable[[str], object] = pr.parse) -> pl.DataFrame:
    """Return one row for each query and measure, which is called by our name."""
    ours = {name: str(parse(name)) for name in {name for of in per_query.values() for name in of}}
    rows = [(query, ours[name], value) for query, of in per_query.items() for name, value in of.items()]
    return pl.DataFrame(rows, {"query_id": pl.String, "measure": pl.String, "expected": pl.Float64}, orient="row")


def n_equal(values: pl.DataFrame, expected: pl.DataFrame, tolerance: float) -> int:
    """Return how many values are expected; all of them have to be there and equal."""
    ours = values.unpivot(index="query_id", variable_name="measure", value_name="value")
    both = expected.join(ours, on=["query_id", "measure"], how="left", maintain_order="left")
    is_equal = (pl.col("value") - pl.col("expected")).abs() <= tolerance
    off = both.filter(is_equal.fill_null(value=False).not_())
    assert off.is_empty(), f"{off.height} of {both.height} values differ:\n{off}"
    return both.height


def n_equal_per_query(
    pair: Pair,
    expected: dict[str, Any],
    tolerance: float,
    parse: Callable[[str], object] = pr.parse,
    run: pl.DataFrame | None = None,
) -> int:
    wanted = long(expected, parse)
    values = pr.per_query(pair.run if run is None else run, wanted["measure"].unique(), **pair.options)
    return n_equal(values, wanted, tolerance)


def n_equal_means(
    pair: Pair, expected: dict[str, float], missing_queries: str, parse: Callable[[str], object] = pr.parse
) -> int:
    wanted = long({"all": expected}, parse)
    means = pr.evaluate(pair.run, wanted["measure"], missing_queries=missing_queries, **pair.options)
    return n_equal(means.insert_column(0, pl.Series("query_id", ["all"])), wanted, FULL_PRECISION)


# --- every folder ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Count:
    """How many values a folder has to compare."""

    trec_eval: int
    means: int
    exponential: int
    torchmetrics: int


COUNTS = {
    "aquaint-robust05": Count(trec_eval=4_500, means=180, exponential=1_092, torchmetrics=6_750),
    "covid-complete": Count(trec_eval=1_500, means=60, exponential=364, torchmetrics=2_250),
    "irm-compat": Count(trec_eval=60, means=60, exponential=0, torchmetrics=90),
    "ltr-lambdarank": Count(trec_eval=3_000, means=120, exponential=728, torchmetrics=4_500),
    "pkg-sklearn-digits": Count(trec_eval=3_000, means=60, exponential=0, torchmetrics=4_500),
    "robust04-bm25": Count(trec_eval=3_000, means=60, exponential=0, torchmetrics=4_500),
    "text-cranfield": Count(trec_eval=20_250, means=180, exponential=4_767, torchmetrics=30_375),
    "text-noveleval": Count(trec_eval=1_890, means=180, exponential=483, torchmetrics=2_835),
    "text-npl": Count(trec_eval=8_370, means=180, exponential=0, torchmetrics=12_555),
    "touche2020": Count(trec_eval=4_410, means=180, exponential=1_071, torchmetrics=6_615),
    "trec_eval-test": Count(trec_eval=1_290, means=359, exponential=266, torchmetrics=1_935),
}

folders = pytest.mark.parametrize("folder", COUNTS)


def test_no_folder_is_forgotten(shared):
    assert {path.name for path in (shared / "data").iterdir() if path.is_dir()} == set(COUNTS)


@folders
def test_trec_eval(shared, folder):
    n = sum(
        n_equal_per_query(pair, pair.expected["float64_order"]["per_query"], FULL_PRECISION)
        for pair in pairs(shared / "data" / folder)
    )
    assert n == COUNTS[folder].trec_eval


@folders
def test_trec_eval_on_float32_scores(shared, folder):
    n = 0
    for pair in pairs(shared / "data" / folder):
        expected = pair.expected["float32_order"]
        if expected == "identical to float64_order":
            expected = pair.expected["float64_order"]
        run = pair.run.with_columns(pl.col("score").cast(pl.Float32))
        n += n_equal_per_query(pair, expected["per_query"], FULL_PRECISION, run=run)
    assert n == COUNTS[folder].trec_eval


@folders
def test_means(shared, folder):
    n = 0
    for pair in pairs(shared / "data" / folder):
        expected = pair.expected["float64_order"]
        n += n_equal_means(pair, expected["mean"], "skip")
        over_all = dict(expected["mean_c"])
        if not pair.qrels.join(pair.run, on="query_id", how="anti").is_empty():
            # The query that the run lacks has relevant documents all the same, as trec_eval -c prints (out.test.aqc).
            del over_all["num_rel"]
        n += n_equal_means(pair, over_all, "zero")
    assert n == COUNTS[folder].means


@folders
def test_exponential_gain(shared, folder):
    n = 0
    for pair in pairs(shared / "data" / folder):
        expected = pair.expected.get("exponential_gain_2^g-1_float64_order")
        if expected is not None:
            n += n_equal_per_query(pair, expected["per_query"], FULL_PRECISION, exponential)
            n += n_equal_means(pair, expected["mean"], "skip", exponential)
            n += n_equal_means(pair, expected["mean_c"], "zero", exponential)
    assert n == COUNTS[folder].exponential


@folders
def test_torchmetrics(shared, folder):
    n = 0
    for pair in pairs(shared / "data" / folder):
        expected = pair.expected["torchmetrics"]
        joined = pair.run.join(pair.qrels, on=["query_id", "doc_id"], how="left")
        wanted = long(expected["joined"]["per_query"], of_torchmetrics)
        values = pr.per_query(joined, wanted["measure"].unique(), ties="doc_id", min_relevance=pair.min_relevance)
        n += n_equal(values, wanted, SINGLE_PRECISION)
        # torchmetrics was told of relevant documents that were not retrieved, but of no other judged ones: fall-out
        # would have to count these, too.
        full = {
            query: {name: value for name, value in of.items() if not name.startswith("fall_out")}
            for query, of in expected["full"]["per_query"].items()
        }
        n += n_equal_per_query(pair, full, SINGLE_PRECISION, of_torchmetrics)
    assert n == COUNTS[folder].torchmetrics


# --- what trec_eval prints ------------------------------------------------------------------------


@dataclass(frozen=True)
class Printed:
    """A file that trec_eval 10 printed, what it was called with, and how many of the values are compared."""

    qrels: str
    run: str
    n: int
    n_interpolated: int
    min_relevance: int = 1
    depth: int | None = None
    but: str = ""
    """Names that mean something else there."""

    def pair(self, folder: Path) -> Pair:
        run, qrels = read_trec(packed(folder / self.run), RUN), read_trec(packed(folder / self.qrels), QRELS)
        if self.depth is not None:
            retrieved = pl.col("score").is_not_null() & (pl.col("rank") <= self.depth)
            run = pr.rank(run, qrels=qrels, ties="doc_id").filter(retrieved).select(run.columns)
        return Pair(run, qrels, self.min_relevance, {})


# trec_eval -c counts 0 for the residual of a query that the run lacks, where nothing is known; ours is 1.
# With grades, its rbp has a gain for each.
PRINTED_FILES = {
    "out.test": Printed("qrels.test", "results.test", 16, 11),
    "out.comment.test": Printed("qrels.comment.test", "results.comment.test", 16, 11),
    "out.test.a": Printed("qrels.test", "results.test", 61, 12),
    "out.test.aq": Printed("qrels.test", "results.test", 244, 48),
    "out.test.aqc": Printed("qrels.test", "results.trunc", 240, 48, but="rbp_resid"),
    "out.test.aqcM": Printed("qrels.test", "results.trunc", 240, 48, depth=100, but="rbp_resid"),
    "out.test.aql": Printed("qrels.rel_level", "results.test", 236, 48, min_relevance=2, but="rbp|rbp_resid"),
    "out.test.meas_params": Printed("qrels.test", "results.test", 44, 20),
}

OTHER_FILES = {
    "out.test.prefs": "preferences between documents",
    "out.test.qrels_prefs": "the same, made from grades",
    "out.test.qrels_jg": "several judges' grades of a document",
    "out.test.aqZ": "standard scores of the values of out.test.aq",
}

NOT_HERE = re.compile(
    r"runid|num_q|gm_(map|bpref)|relstring(_20)?|infAP|Rprec_mult_.*|utility.*|binG|G|ndcg_rel|Rndcg|set_(relative_P|map)"
    r"|num_nonrel_judged_ret|unj_.*|11pt_avg_.*|ndcg_1=3.*"
)
"""Names of trec_eval that mean no measure here."""

INTERPOLATED = re.compile(r"iprec_at_recall_(\d\.\d\d)|11pt_avg")


def of_trec_eval(name: str) -> pr.Measure:
    """Return the measure that trec_eval calls so; a few of its names stand for parameters here."""
    if found := re.fullmatch(r"relative_P_(\d+)", name):
        return pr.recall(capped=True) @ int(found[1])
    if name in ("rbp", "rbp_resid"):
        return pr.rbp(persistence=0.9, residual=name == "rbp_resid")
    return pr.parse(name)


def read_printed(path: Path, but: str = "") -> dict[str, dict[str, float]]:
    values: dict[str, dict[str, float]] = {}
    for name, query, value in (line.split(maxsplit=2) for line in read_text(path).splitlines()):
        if not NOT_HERE.fullmatch(name) and not re.fullmatch(but, name):
            values.setdefault(query, {})[name] = float(value)
    return values


def only(values: dict[str, dict[str, float]], is_wanted: Callable[[str], object]) -> dict[str, dict[str, float]]:
    return {query: {name: v for name, v in of.items() if is_wanted(name)} for query, of in values.items()}


def summary(pair: Pair, measures: Iterable[str]) -> pl.DataFrame:
    """Return what trec_eval prints of all queries: means, but sums of counts."""
    counts = [measure for measure in measures if measure in ("n_retrieved", "n_relevant", "n_relevant_retrieved")]
    means = pr.evaluate(pair.run, measures, **pair.options)
    if counts:
        sums = pr.evaluate(pair.run, counts, aggregation=lambda values: values.sum(), **pair.options)
        means = means.with_columns(sums)
    return means.insert_column(0, pl.Series("query_id", ["all"]))


def test_no_printed_file_is_forgotten(shared):
    assert {path.name for path in (shared / "data/trec_eval-test").glob("out.*")} == {*PRINTED_FILES, *OTHER_FILES}


@pytest.mark.parametrize("file", PRINTED_FILES)
def test_printed_by_trec_eval(shared, file):
    folder, called = shared / "data" / "trec_eval-test", PRINTED_FILES[file]
    pair, printed = called.pair(folder), read_printed(folder / file, called.but)
    printed = only(printed, lambda name: not INTERPOLATED.fullmatch(name))
    means = long({"all": printed.pop("all")}, of_trec_eval)
    n = n_equal(summary(pair, means["measure"]), means, PRINTED)
    if printed:
        values = long(printed, of_trec_eval)
        n += n_equal(pr.per_query(pair.run, values["measure"].unique(), **pair.options), values, PRINTED)
    assert n == called.n


def largest_precisions(pair: Pair, names: list[str]) -> pl.DataFrame:
    """Return, as trec_eval 10 does, the largest precision with at least level times R hits, rounded to a whole number.

    That is the textbook's at a level of half a hit below that number.
    """
    levels = {name: Fraction(found[1]) for name in names if (found := INTERPOLATED.fullmatch(name)) and found[1]}
    n_relevant = pr.per_query(pair.run, "n_relevant", **pair.options)

    def half_a_hit_below(level: Fraction, n_relevant: float) -> float:
        rounded = math.floor(level * int(n_relevant) + Fraction(1, 2))
        return max(0, rounded - 0.5) / max(1, n_relevant)

    wanted = [
        (query, name, str(pr.interpolated_precision(recall=half_a_hit_below(level, n))))
        for query, n in n_relevant.iter_rows()
        for name, level in levels.items()
    ]
    wanted = pl.DataFrame(wanted, ["query_id", "name", "measure"], orient="row")
    values = pr.per_query(pair.run, wanted["measure"].unique(), **pair.options)
    values = values.unpivot(index="query_id", variable_name="measure", value_name="value")
    by_name = wanted.join(values, on=["query_id", "measure"], how="left").pivot(
        "name", index="query_id", values="value"
    )
    means = by_name.select(pl.lit("all").alias("query_id"), pl.exclude("query_id").mean())
    return pl.concat([by_name, means]).with_columns(pl.mean_horizontal(*levels).alias("11pt_avg"))


@pytest.mark.parametrize("file", PRINTED_FILES)
def test_interpolated_precision_printed_by_trec_eval(shared, file):
    folder, called = shared / "data" / "trec_eval-test", PRINTED_FILES[file]
    pair, printed = called.pair(folder), only(read_printed(folder / file), INTERPOLATED.fullmatch)
    expected = long(printed, str)
    values = largest_precisions(pair, list(printed["all"]))
    assert n_equal(values, expected, PRINTED) == called.n_interpolated


def test_interpolated_precision_is_the_textbooks(shared):
    """A level that is no whole number of hits is reached by the next one, not by the nearest."""
    folder = shared / "data" / "trec_eval-test"
    pair = PRINTED_FILES["out.test.aq"].pair(folder)
    hits_by_rank = {  # where precision is largest by the textbook, and by what trec_eval 10 prints
        ("301", "iprec_at_recall_0.10"): (48 / 229, 47 / 224),  # 0.1 * 474 = 47.4
        ("302", "iprec_at_recall_0.25"): (24 / 32, 19 / 24),  # 0.25 * 77 = 19.25
        ("302", "iprec_at_recall_0.30"): (24 / 34, 23 / 31),  # 0.3 * 77 = 23.1
        ("302", "iprec_at_recall_0.60"): (47 / 331, 46 / 301),  # 0.6 * 77 = 46.2
    }
    values = pr.per_query(pair.run, {pr.parse(name) for _, name in hits_by_rank}, **pair.options)
    printed = read_printed(folder / "out.test.aq")
    more = read_printed(folder / "out.test.meas_params")
    for (query, name), (textbook, theirs) in hits_by_rank.items():
        ours = values.row(by_predicate=pl.col("query_id") == query, named=True)[str(pr.parse(name))]
        assert ours == pytest.approx(textbook, rel=1e-12)
        assert {**printed[query], **more[query]}[name] == pytest.approx(theirs, abs=PRINTED)


def test_all_trec(shared):
    folder = shared / "data" / "trec_eval-test"
    pair = PRINTED_FILES["out.test.aq"].pair(folder)
    expected = json.loads(read_text(folder / "expected_all_trec_q.json"))["pytrec_eval_full_precision"]
    # pytrec_eval takes 0.3 * 77 + 0.9 for less than 24 and asks for 23 hits, as the test above.
    per_query = only(expected["per_query"], lambda name: not NOT_HERE.fullmatch(name))
    means = only({"all": expected["all"]}, lambda name: not NOT_HERE.fullmatch(name))
    for name in ("iprec_at_recall_0.30", "11pt_avg"):
        del per_query["302"][name], means["all"][name]
    wanted = long(per_query, of_trec_eval)
    n = n_equal(pr.per_query(pair.run, wanted["measure"].unique(), **pair.options), wanted, FULL_PRECISION)
    wanted = long(means, of_trec_eval)
    n += n_equal(summary(pair, wanted["measure"]), wanted, FULL_PRECISION)
    assert n == 280


# --- what others say of single runs ---------------------------------------------------------------


def of_lightgbm(name: str) -> pr.Measure:
    name, k = name.split("@")
    measure = {"ndcg": pr.ndcg(gain="exponential"), "map": pr.average_precision(denominator="min")}[name]
    return measure @ int(k)


def of_sklearn(name: str) -> pr.Measure:
    name, k = name.split("@")
    return pr.ndcg(gain={"ndcg_score": "linear", "ndcg_score_2^g-1": "exponential"}[name]) @ int(k)


def test_lightgbm_and_sklearn(shared):
    folder = shared / "data" / "ltr-lambdarank"
    expected = read_expected(folder)
    run, qrels = read_trec(folder / "lightgbm.trec.gz", RUN), read_trec(folder / "qrels.txt", QRELS)
    means = long({"all": expected["lightgbm_own_evaluation"]["values"]}, of_lightgbm)
    # LightGBM counts 1 where a query has no relevant document.
    values = pr.evaluate(run, means["measure"], qrels=qrels, empty_target_action="pos")
    assert n_equal(values.insert_column(0, pl.Series("query_id", ["all"])), means, FULL_PRECISION) == 8
    wanted = long(expected["sklearn_ndcg_score_of_lightgbm_run"], of_sklearn)
    assert n_equal(pr.per_query(run, wanted["measure"].unique(), qrels=qrels), wanted, FULL_PRECISION) == 50 * 8


def published(folder: Path) -> Iterable[tuple[str, dict[str, str], float]]:
    """Give a run, the figures that its authors published of it, and how exact they are."""
    by_group = json.loads((folder / "metrics-SPLADEv2.json").read_text())
    yield "SPLADEv2.run.gz", {name: value for group in by_group.values() for name, value in group.items()}, 5e-6
    lines = (folder / "metrics-citadel-plus.txt").read_text().splitlines()
    # The last digit of P@1, 18 of 49 queries, is rounded up.
    yield "citadel-plus.run.gz", dict(line.split(": ") for line in lines if line), 1e-4
    lines = (folder / "metrics-bm25.txt").read_text().splitlines()
    figures = [line.split() for line in lines if " all" in line.expandtabs(1)]
    yield "bm25-webis-touche2020-multifield.run.gz", {name: value for name, _, value in figures}, PRINTED


def test_published_figures(shared):
    folder = shared / "data" / "touche2020"
    qrels, n = read_trec(folder / "qrels.txt", QRELS), 0
    for run, figures, tolerance in published(folder / "published"):
        # Holes are what was not judged, in judgments that had grade 0, too.
        known = {name: float(v) for name, v in figures.items() if not name.startswith(("Hole", "judged"))}
        wanted = long({"all": known}, lambda name: pr.parse(name.replace("Recall@", "R@")))
        values = pr.evaluate(read_trec(folder / run, RUN), wanted["measure"], qrels=qrels, ties="doc_id")
        n += n_equal(values.insert_column(0, pl.Series("query_id", ["all"])), wanted, tolerance)
    assert n == 5 * 8 + 4 * 6 + 3
