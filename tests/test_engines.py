"""The same values from every kind of frame: engines, chunks, types, layouts of the rows, other libraries."""

from __future__ import annotations

import math
import random
from datetime import date
from decimal import Decimal
from itertools import product

import polars as pl
import pytest
import reference
from polars.testing import assert_frame_equal
from reference import TIE_RULES, Row

import polars_retrieval as pr
from polars_retrieval import reductions
from polars_retrieval.ranking import sorting
from polars_retrieval.threads import in_threads

CLOSE = {"rel": 1e-9, "abs": 1e-12}
ASKED = ["precision@2", "recall@2", "r_precision", "f_measure@2", "hit_rate@1", "n_retrieved", "n_relevant"]

RUN = pl.DataFrame(
    {
        "query_id": [3, 3, 3, 3, 1, 1, 2, 2, 2],
        "doc_id": ["a", "b", "c", "d", "a", "b", "a", "b", "c"],
        "score": [5, 4, 4, 1, 2, 3, None, 7, 7],
        "relevance": [0, 1, 0, 1, 1, 0, 1, 0, 1],
    },
    schema_overrides={"score": pl.Float64},
)
VALUES = {
    3: {"precision@2": (1 / 2) / 2, "recall@2": (1 / 2) / 2, "r_precision": (1 / 2) / 2, "hit_rate@1": 0},
    1: {"precision@2": 1 / 2, "recall@2": 1 / 1, "r_precision": 0, "hit_rate@1": 0},
    2: {"precision@2": 1 / 2, "recall@2": 1 / 2, "r_precision": 1 / 2, "hit_rate@1": 1 / 2},
}
"""Of 3, one relevant document ties with another at ranks 2 and 3; of 2, at ranks 1 and 2."""


def check(run, values=VALUES, **options):
    """Evaluate a run that holds the documents of `RUN`, and compare with its values."""
    result = pr.per_query(run, ASKED, **options)
    for column in next(iter(values.values())):
        expected = [query[column] for query in values.values()]
        assert result[column].to_list() == pytest.approx(expected, **CLOSE), column
    return result


def test_the_values():
    assert check(RUN)["query_id"].to_list() == list(VALUES)


class TestPhysicalForm:
    def test_many_chunks(self):
        chunks = RUN[:1]
        for row in range(1, RUN.height):
            chunks = chunks.vstack(RUN[row : row + 1])
        assert chunks.n_chunks() > 1  # Polars joins neighbours that lie side by side in memory
        check(chunks)

    def test_chunks_of_other_lengths_in_each_column(self):
        halves = [pl.concat([RUN[:cut], RUN[cut:]], rechunk=False) for cut in (1, 4, 7, 8)]
        check(pl.DataFrame([half[name] for half, name in zip(halves, RUN.columns, strict=True)]))

    def test_empty_chunks(self):
        check(pl.concat([RUN.clear(), RUN[:5], RUN.clear(), RUN[5:]], rechunk=False))

    def test_slice(self):
        other = RUN.with_columns(query_id=pl.lit(9, dtype=pl.Int64))
        check(pl.concat([other, RUN, other])[RUN.height : 2 * RUN.height])

    def test_input_is_left_as_it_was(self):
        run = RUN.clone()
        check(run)
        assert_frame_equal(run, RUN)

    def test_memory_of_numpy_is_not_written_to(self):
        """Series made from arrays share their memory, which sorting must not touch."""
        retrieved = RUN.drop_nulls()
        arrays = {name: retrieved[name].to_numpy().copy() for name in ("query_id", "score", "relevance")}
        run = pl.DataFrame({name: array.copy() for name, array in arrays.items()})
        shared = pl.DataFrame([pl.Series(name, array) for name, array in arrays.items()])
        pr.per_query(shared, ASKED)
        assert_frame_equal(shared, run)

    def test_more_columns_than_needed(self):
        check(RUN.with_columns(key=1, query=2, rank=3, hits=4, k=5, level=6, above=7, at=8))


class TestLazy:
    @pytest.mark.parametrize("engine", ["in-memory", "streaming"])
    @pytest.mark.parametrize("rechunk", [True, False])
    def test_engines(self, engine, rechunk):
        run = RUN if rechunk else pl.concat([RUN[:4], RUN[4:5], RUN[5:]], rechunk=False)
        expected = pr.per_query(RUN, ASKED)
        assert_frame_equal(pr.per_query(run.lazy(), ASKED).collect(engine=engine), expected)
        result = pr.evaluate(run.lazy(), ASKED).collect(engine=engine)
        assert_frame_equal(result, expected.select(pl.mean(ASKED)))
        result = pr.pr_curve(run.lazy()).collect(engine=engine)
        assert_frame_equal(result, pr.pr_curve(RUN))
        result = pr.rank(run.lazy()).collect(engine=engine)
        assert_frame_equal(result, pr.rank(RUN))

    def test_scanned_file(self, tmp_path):
        RUN.write_parquet(tmp_path / "run.parquet", row_group_size=2)
        run = pl.scan_parquet(tmp_path / "run.parquet")
        assert_frame_equal(pr.per_query(run, ASKED).collect(), pr.per_query(RUN, ASKED))

    def test_steps_before_and_after(self):
        run = pl.concat([RUN, RUN.with_columns(pl.col("query_id") + 8)]).lazy().filter(pl.col("query_id") < 8)
        result = pr.per_query(run, ASKED).filter(pl.col("recall@2") == 1).select("query_id", "precision@2")
        assert result.collect().rows() == [(1, 1 / 2)]

    @pytest.mark.parametrize(
        "ask",
        [
            lambda run: pr.evaluate(run, ASKED),
            lambda run: pr.per_query(run, ASKED),
            pr.pr_curve,
            lambda run: pr.pr_curve(run.with_columns(system=1), by="system"),
            pr.rank,
            lambda run: pr.evaluate(run.drop("relevance"), ASKED, qrels=RUN.drop("score")),
        ],
    )
    def test_nothing_is_collected_early(self, ask):
        collected = []
        watched = RUN.lazy().map_batches(lambda frame: collected.append(1) or frame, schema=RUN.schema)
        result = ask(watched)
        result.collect_schema()
        assert isinstance(result, pl.LazyFrame)
        assert not collected
        result.collect()
        assert collected

    @pytest.mark.parametrize("lazy_run", [True, False])
    def test_judgments_may_be_lazy_too(self, lazy_run):
        run = RUN.drop("relevance").drop_nulls()
        qrels = RUN.drop("score")
        result = pr.per_query(run.lazy() if lazy_run else run, ASKED, qrels=qrels.lazy())
        assert_frame_equal(result.lazy().collect(), pr.per_query(run, ASKED, qrels=qrels))


SIGNED = [pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128]
UNSIGNED = [pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64]
FLOATS = [pl.Float16, pl.Float32, pl.Float64]


class TestTypes:
    @pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED, *FLOATS, pl.Decimal(10, 2), pl.Decimal(38, 0)])
    def test_score(self, dtype):
        check(RUN.cast({"score": dtype}))

    @pytest.mark.parametrize(
        ("dtype", "high", "low"),
        [
            (pl.Float64, 1.0, math.nextafter(1.0, 0.0)),
            (pl.Float64, 0.0, -5e-324),
            (pl.Float64, 5e-324, -0.0),
            (pl.Float64, 1.7e308, 1.6e308),
            (pl.Float64, math.inf, 1.7e308),
            (pl.Float64, -1.7e308, -math.inf),
            (pl.Float32, 1.0, 1 - 2**-24),
            (pl.Float32, -1e-45, -1e-44),
            (pl.Float16, 1.0, 1 - 2**-11),
            (pl.Int64, 2**63 - 1, 2**63 - 2),
            (pl.Int64, 2**63 - 1, -(2**63)),
            (pl.Int64, -(2**63) + 1, -(2**63)),
            (pl.UInt64, 2**64 - 1, 2**64 - 2),
            (pl.UInt64, 2**63, 2**63 - 1),
            (pl.Int128, 2**100 + 1, 2**100),
            (
                pl.Decimal(38, 2),
                Decimal("123456789012345678901234567890.02"),
                Decimal("123456789012345678901234567890.01"),
            ),
        ],
    )
    @pytest.mark.parametrize("relevant", ["high", "low"])
    def test_neighbouring_scores_are_not_taken_for_equal(self, dtype, high, low, relevant):
        scores = pl.Series([low, high, None], dtype=dtype)
        run = pl.DataFrame(
            {
                "query_id": ["q"] * 3,
                "score": scores,
                "relevance": [relevant == "low", relevant == "high", True],
            }
        )
        assert pr.evaluate(run, "precision@1").item() == (relevant == "high")

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_zeros_are_equal(self, dtype):
        run = pl.DataFrame({"query_id": 0, "score": pl.Series([0.0, -0.0, 0.0], dtype=dtype), "relevance": [0, 1, 0]})
        assert pr.evaluate(run, "precision@1").item() == pytest.approx(1 / 3, **CLOSE)
        assert pr.rank(run)["rank"].to_list() == [1, 2, 3]

    @pytest.mark.parametrize("dtype", [pl.Boolean, *SIGNED, *UNSIGNED, *FLOATS])
    def test_relevance(self, dtype):
        check(RUN.cast({"relevance": dtype}))

    @pytest.mark.parametrize("column", ["score", "relevance"])
    def test_a_column_of_nulls_without_type(self, column):
        run = RUN.with_columns(pl.lit(None).alias(column))
        assert run.schema[column] == pl.Null
        assert pr.evaluate(run, "n_relevant_retrieved").item() == 0

    @pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED])
    def test_integer_ids(self, dtype):
        run = RUN.cast({"query_id": dtype})
        assert check(run).schema["query_id"] == dtype

    @pytest.mark.parametrize(
        "ids",
        [
            pl.Series([2**63 - 1, -(2**63), 0]),
            pl.Series([-3, -2, -1]),
            pl.Series([2**64 - 1, 0, 2**63], dtype=pl.UInt64),
            pl.Series([127, -128, 0], dtype=pl.Int8),
            pl.Series(["", "q", "é"]),
            pl.Series(["10", "9", "1"]),
            pl.Series(["x", "y", "z"], dtype=pl.Categorical),
            pl.Series(["x", "y", "z"], dtype=pl.Enum(["z", "unused", "x", "y"])),
            pl.Series([date(2024, 1, 2), date(1960, 1, 1), date(2030, 5, 5)]),
        ],
        ids=lambda ids: f"{ids.dtype}-{ids[0]}",
    )
    @pytest.mark.parametrize("order", ["grouped", "shuffled"])
    def test_query_ids(self, ids, order):
        queries = ids.gather([{3: 0, 1: 1, 2: 2}[query] for query in RUN["query_id"]])
        run = RUN.with_columns(query_id=queries)
        if order == "shuffled":  # the queries still appear in the same order
            run = run[[0, 4, 6, 1, 7, 2, 5, 8, 3]]
        result = check(run)
        assert_frame_equal(result.select("query_id"), ids.alias("query_id").to_frame())

    def test_query_of_several_columns(self):
        run = RUN.with_columns(topic=pl.col("query_id").cast(pl.String), turn=-pl.col("query_id")).drop("query_id")
        result = check(run, query=["topic", "turn"])
        assert result.select("topic", "turn").rows() == [("3", -3), ("1", -1), ("2", -2)]
        crossed = run.with_columns(topic=pl.lit("t"))
        assert check(crossed, query=["topic", "turn"]).height == len(VALUES)
        merged = pr.evaluate(crossed.drop("doc_id"), "n_retrieved", query=["topic"])
        assert merged.item() == RUN["score"].count()

    @pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Enum(["a", "b", "c", "d"])])
    def test_document_ids(self, dtype):
        """By document id, descending: b before c becomes c before b."""
        run = RUN.cast({"doc_id": dtype})
        result = pr.per_query(run, "precision@2", ties="doc_id")
        assert result["precision@2"].to_list() == [0, 1 / 2, 1 / 2]
        assert pr.rank(run, ties="doc_id")["rank"].to_list() == [1, 3, 2, 4, 2, 1, None, 2, 1]

    @pytest.mark.parametrize("dtype", [pl.Int64, pl.UInt8, pl.String])
    def test_numbers_as_document_ids_compare_as_text(self, dtype):
        run = pl.DataFrame({"query_id": 0, "doc_id": [10, 9], "score": 1.0, "relevance": [1, 0]}).cast(
            {"doc_id": dtype}
        )
        assert pr.evaluate(run, "precision@1", ties="doc_id").item() == 0

    def test_other_names(self):
        names = {"query_id": "qid", "doc_id": "docno", "score": "sim", "relevance": "label"}
        result = check(RUN.rename(names), query="qid", doc="docno", score="sim", relevance="label")
        assert result.columns[0] == "qid"


class TestEmptyFrames:
    @pytest.mark.parametrize("run", [RUN.clear(), RUN.clear().lazy()], ids=["eager", "lazy"])
    def test_no_rows(self, run):
        values = pr.per_query(run, ASKED).lazy().collect()
        assert values.shape == (0, 1 + len(ASKED))
        assert values.schema == pr.per_query(RUN, ASKED).schema
        means = pr.evaluate(run, ASKED).lazy().collect()
        assert means.row(0) == (None,) * len(ASKED)
        assert pr.pr_curve(run).lazy().collect().shape == (0, 3)
        assert pr.pr_curve(run, max_k=2).lazy().collect().rows() == [(1, None, None), (2, None, None)]
        assert pr.rank(run).lazy().collect().shape == (0, RUN.width + 2)

    def test_no_groups(self):
        assert pr.evaluate(RUN.with_columns(system=1).clear(), ASKED, by="system").shape == (
            0,
            1 + len(ASKED),
        )

    def test_one_row(self):
        run = pl.DataFrame({"query_id": [0], "score": [0.0], "relevance": [True]})
        assert pr.evaluate(run, ["precision@1", "recall@1", "r_precision"]).row(0) == (1, 1, 1)
        assert pr.pr_curve(run).rows() == [(1, 1, 1)]

    def test_nothing_retrieved(self):
        run = RUN.with_columns(score=pl.lit(None, dtype=pl.Float64))
        assert pr.evaluate(run, ASKED).row(0) == (0, 0, 0, 0, 0, 0, 5 / 3)
        assert pr.pr_curve(run).height == 0

    def test_nothing_relevant(self):
        run = RUN.with_columns(relevance=0)
        assert pr.evaluate(run, ["precision@2", "recall@2", "r_precision", "hit_rate@1"]).row(0) == (
            0,
            0,
            0,
            0,
        )
        assert pr.evaluate(run, ["precision@2"], empty_target_action="skip").item() is None

    def test_everything_relevant(self):
        run = RUN.with_columns(relevance=1)
        assert pr.per_query(run, "precision@2")["precision@2"].to_list() == [1, 1, 1]
        assert pr.per_query(run, "r_precision")["r_precision"].to_list() == pytest.approx([1, 1, 2 / 3], **CLOSE)


class TestBy:
    runs = pl.concat(
        [
            RUN.with_columns(system=pl.lit("B"), fold=pl.col("query_id") % 2),
            RUN.with_columns(system=pl.lit("A"), fold=pl.col("query_id") % 2, score=-pl.col("score")),
        ]
    )

    @pytest.mark.parametrize("by", ["system", ["system"], ["system", "fold"], ["fold", "system"]])
    @pytest.mark.parametrize("order", ["grouped", "shuffled"])
    def test_each_group_is_evaluated_alone(self, by, order):
        runs = self.runs if order == "grouped" else self.runs.sample(fraction=1, shuffle=True, seed=1)
        columns = [by] if isinstance(by, str) else by
        result = pr.evaluate(runs, ASKED, by=by)
        assert result.columns == [*columns, *ASKED]
        assert result.height == runs.select(columns).n_unique()
        for row in result.iter_rows(named=True):
            group = {name: row.pop(name) for name in columns}
            alone = pr.evaluate(self.runs.filter(**group), ASKED)
            assert row == pytest.approx(alone.row(0, named=True), **CLOSE)

    def test_by_query(self):
        result = pr.per_query(self.runs, ASKED, by="system")
        assert result.columns == ["system", "query_id", *ASKED]
        for (system,), part in result.group_by("system"):
            alone = pr.per_query(self.runs.filter(system=system), ASKED)
            assert_frame_equal(part.drop("system"), alone, check_row_order=False)

    @pytest.mark.parametrize("aggregation", ["mean", "median", "max", lambda value: value.sum()])
    def test_curve(self, aggregation):
        curve = pr.pr_curve(self.runs, by="system", max_k=5, aggregation=aggregation)
        assert curve.columns == ["system", "k", "precision", "recall"]
        for (system,), part in curve.group_by("system", maintain_order=True):
            alone = pr.pr_curve(self.runs.filter(system=system), max_k=5, aggregation=aggregation)
            assert_frame_equal(part.drop("system"), alone)

    def test_each_group_is_held_against_all_judgments(self):
        runs = pl.DataFrame(
            {
                "system": ["A", "A", "B"],
                "query_id": [1, 2, 1],
                "doc_id": ["x", "x", "x"],
                "score": [1.0, 1.0, 1.0],
            }
        )
        qrels = pl.DataFrame({"query_id": [1, 2], "doc_id": ["x", "x"], "relevance": [1, 1]})
        result = pr.evaluate(runs, "recall@1", qrels=qrels, by="system")
        assert dict(result.iter_rows()) == {"A": 1, "B": 1 / 2}
        result = pr.evaluate(runs, "recall@1", qrels=qrels, by="system", missing_queries="skip")
        assert dict(result.iter_rows()) == {"A": 1, "B": 1}

    def test_the_same_document_in_two_groups_is_fine(self):
        assert pr.evaluate(self.runs, "n_retrieved", by="system")["n_retrieved"].to_list() == [8 / 3, 8 / 3]


class TestOtherLibraries:
    """Frames of other libraries come in through the Arrow C stream and give Polars frames."""

    run = RUN.drop_nulls()

    def check(self, run):
        result = pr.per_query(run, ASKED)
        assert isinstance(result, pl.DataFrame)
        assert_frame_equal(result, pr.per_query(self.run, ASKED), check_dtypes=False)
        assert isinstance(pr.evaluate(run, ASKED), pl.DataFrame)
        assert_frame_equal(pr.pr_curve(run), pr.pr_curve(self.run))

    def test_pandas(self):
        pandas = pytest.importorskip("pandas")
        self.check(pandas.DataFrame(self.run.to_dict(as_series=False)))

    def test_pandas_missing_score_is_not_nan(self):
        pandas = pytest.importorskip("pandas")
        run = pandas.DataFrame(
            {"query_id": [1, 1], "score": pandas.array([None, 1.0], dtype="Float64"), "relevance": [1, 1]}
        )
        assert pr.evaluate(run, "recall@1").item() == 1 / 2

    def test_pyarrow(self):
        self.check(self.run.to_arrow())

    def test_pyarrow_record_batches(self):
        reader = self.run.to_arrow().to_reader(max_chunksize=2)
        assert_frame_equal(pr.per_query(reader, ASKED), pr.per_query(self.run, ASKED))

    def test_duckdb(self):
        duckdb = pytest.importorskip("duckdb")
        self.check(duckdb.from_arrow(self.run.to_arrow()))

    def test_judgments_of_another_library(self):
        run, qrels = self.run.drop("relevance"), self.run.drop("score")
        result = pr.per_query(run, ASKED, qrels=qrels.to_arrow())
        assert_frame_equal(result, pr.per_query(self.run, ASKED))


# --- larger runs: every way through the ranking ---------------------------------------------------

N_QUERIES, MEAN_LENGTH, CUTOFF = 25, 100, 10
KS = (1, 2, 9, CUTOFF, 37, 100, 150)
"""Places of the curve that are looked at."""


def draw(lengths, scores, relevant, order):
    """Draw a run. ``relevant`` is the share of documents that are, or "few": none to two a query."""
    rng = random.Random(f"{lengths} {scores} {relevant} {order}")  # noqa: S311
    rows = []
    for query in range(N_QUERIES):
        length = MEAN_LENGTH if lengths == "equal" else rng.randint(0, 2 * MEAN_LENGTH)
        few = rng.sample(range(MEAN_LENGTH), rng.randint(0, 2))
        for place in range(length):
            score = rng.choice([-1.5, -0.0, 0.0, 0.5, 2.0]) if scores == "tied" else rng.gauss(0, 1)
            hit = place in few if relevant == "few" else rng.random() < relevant
            rows.append(Row(query, f"{rng.getrandbits(40):x}", score, int(hit)))
    if order == "shuffled":
        rng.shuffle(rows)
    if order == "ranked":
        rows.sort(key=lambda row: (row.query, -row.score))
    return rows


def frame_of(rows, score_type):
    schema = {"query_id": pl.Int64, "doc_id": pl.String, "score": score_type, "relevance": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def expected_hits(groups, k):
    """Add up the probability of each relevant document to be among the first k."""
    above, hits = 0, 0.0
    for group in groups:
        share = min(max((k - above) / len(group), 0), 1)
        hits += share * sum(document.relevance >= 1 for document in group)
        above += len(group)
    return hits


def expected_hit_rate(groups, k):
    """Find the first group with a relevant document: all of them miss the first k, or not."""
    above = 0
    for group in groups:
        relevant = sum(document.relevance >= 1 for document in group)
        if relevant:
            inside = min(max(k - above, 0), len(group))
            return 1 - math.comb(len(group) - inside, relevant) / math.comb(len(group), relevant)
        above += len(group)
    return 0.0


def simple(rows, ties):
    """Values by query, from the tie groups of each: the spec's formulas, in plain Python."""
    values, curve = {}, []
    for query, documents in reference.queries_of(rows).items():
        groups = reference.tie_groups(documents)
        if ties != "expected":
            groups = [[document] for group in groups for document in reference.settle(group, ties)]
        n_relevant = sum(document.relevance >= 1 for document in documents)
        hits = {k: expected_hits(groups, k) for k in KS}
        curve.append([(hit / k, hit / n_relevant if n_relevant else 0) for k, hit in hits.items()])
        values[query] = {
            "precision@10": hits[CUTOFF] / CUTOFF,
            "recall@10": hits[CUTOFF] / n_relevant if n_relevant else 0,
            "r_precision": expected_hits(groups, n_relevant) / n_relevant if n_relevant else 0,
            "hit_rate@10": expected_hit_rate(groups, CUTOFF),
            "n_retrieved": len(documents),
            "n_relevant": n_relevant,
        }
    means = [[sum(part) / len(curve) for part in zip(*points, strict=True)] for points in zip(*curve, strict=True)]
    return values, means


@pytest.mark.parametrize("ties", TIE_RULES)
@pytest.mark.parametrize(
    ("lengths", "scores", "relevant", "order"),
    list(product(["equal", "ragged"], ["tied", "untied"], ["few", 0.1, 0.7], ["grouped", "shuffled", "ranked"])),
)
def test_every_layout(lengths, scores, relevant, order, ties):
    rows = draw(lengths, scores, relevant, order)
    values, means = simple(rows, ties)
    for score_type in (pl.Float64, pl.Float32) if scores == "tied" else (pl.Float64,):
        run = frame_of(rows, score_type)
        result = pr.per_query(run, list(next(iter(values.values()))), ties=ties)
        assert result["query_id"].to_list() == list(values)
        for column in result.columns[1:]:
            expected = [query[column] for query in values.values()]
            assert result[column].to_list() == pytest.approx(expected, **CLOSE), column
        curve = pr.pr_curve(run, max_k=max(KS), ties=ties)[[k - 1 for k in KS]]
        assert curve["precision"].to_list() == pytest.approx([point[0] for point in means], **CLOSE)
        assert curve["recall"].to_list() == pytest.approx([point[1] for point in means], **CLOSE)


@pytest.mark.parametrize("order", ["grouped", "shuffled", "ranked"])
@pytest.mark.parametrize("lengths", ["equal", "ragged"])
def test_narrow_and_wide_scores_and_ids_agree(lengths, order):
    """Float32 scores, the same as Float64, Float64 that Float32 cannot hold; wide, text and dense ids."""
    rows = draw(lengths, "untied", 0.2, order)
    narrow = frame_of(rows, pl.Float32)
    expected = pr.per_query(narrow, ASKED).drop("query_id")
    for run in (
        narrow.cast({"score": pl.Float64}),
        narrow.with_columns(pl.col("score").cast(pl.Float64) * (1 + 2**-40)),
        narrow.with_columns(pl.col("query_id") * 2**56 - 2**62),
        narrow.with_columns(pl.format("q{}", "query_id").alias("query_id")),
        narrow.with_columns(pl.format("q{}", "query_id").cast(pl.Categorical).alias("query_id")),
        narrow.cast({"query_id": pl.UInt8, "score": pl.Float64, "relevance": pl.Boolean}),
    ):
        assert_frame_equal(pr.per_query(run, ASKED).drop("query_id"), expected)


@pytest.mark.parametrize("ties", TIE_RULES)
@pytest.mark.parametrize("order", ["grouped", "shuffled"])
@pytest.mark.parametrize("ids", [(0, 1), (-(2**63), 2**63 - 1), ("a", "b")], ids=str)
def test_ties_among_scores_of_any_size(ids, order, ties):
    """Scores that need all 64 bits, so that query, score and relevance together need more."""
    wide = [math.inf, 1 / 3, 1 / 3, 1 / 3, -1e300, -1e300, -math.inf]
    rows = [Row(query, f"{at}", score, at % 2) for query in ids for at, score in enumerate(wide)]
    if order == "shuffled":
        rows = rows[::2] + rows[1::2]
    run = pl.DataFrame(rows, schema=list(Row._fields), orient="row").rename({"query": "query_id", "doc": "doc_id"})
    values = pr.per_query(run, ["precision@2", "recall@5", "hit_rate@1"], ties=ties)
    for name, k in (("precision", 2), ("recall", 5), ("hit_rate", 1)):
        expected = reference.per_query(rows, name, parameters={"k": k}, ties=ties)
        assert values[f"{name}@{k}"].to_list() == pytest.approx(list(expected.values()), **CLOSE)


@pytest.mark.parametrize("tied", [7, 1000, 100_000])
@pytest.mark.parametrize("n_relevant", [1, 3, 500])
def test_hit_rate_of_large_tie_groups(tied, n_relevant):
    if n_relevant > tied:
        pytest.skip("more relevant documents than documents")
    run = pl.DataFrame({"query_id": 0, "score": 1.0, "relevance": [1] * n_relevant + [0] * (tied - n_relevant)})
    expected = 1 - math.comb(tied - 5, n_relevant) / math.comb(tied, n_relevant)
    assert pr.evaluate(run, "hit_rate@5").item() == pytest.approx(expected, **CLOSE)


class TestBlocksAndThreads:
    """Large inputs are worked on in blocks and on several threads; here small ones are, and nothing may change."""

    ASKED = ("precision@10", "recall", "map", "ndcg@5", "recip_rank", "11pt_avg", "auroc", "n_relevant_retrieved")

    @pytest.mark.parametrize("many_threads", [1, 1000])
    @pytest.mark.parametrize("score_type", [pl.Float32, pl.Float64])
    @pytest.mark.parametrize("order", ["grouped", "shuffled", "ranked"])
    @pytest.mark.parametrize("lengths", ["ragged", "equal"])
    def test_change_nothing(self, monkeypatch, lengths, order, score_type, many_threads):
        frame = frame_of(draw(lengths, "untied", 0.3, order), score_type)
        expected = pr.per_query(frame, self.ASKED), pr.pr_curve(frame)
        counted = Counted(in_threads)
        monkeypatch.setattr(sorting, "_BLOCK", 64)
        monkeypatch.setattr(sorting, "_MANY_THREADS", many_threads)
        monkeypatch.setattr(reductions, "_WORTH_THREADS", 0)
        monkeypatch.setattr(sorting, "in_threads", counted)
        monkeypatch.setattr(reductions, "in_threads", counted)
        assert_frame_equal(pr.per_query(frame, self.ASKED), expected[0], rel_tol=0, abs_tol=1e-12)
        assert_frame_equal(pr.pr_curve(frame), expected[1], rel_tol=0, abs_tol=1e-12)
        assert counted.most > 10

    @pytest.mark.parametrize("ties", ["expected", "doc_id", "pessimistic"])
    @pytest.mark.parametrize("order", ["grouped", "shuffled"])
    def test_change_nothing_where_scores_are_tied(self, monkeypatch, order, ties):
        frame = frame_of(draw("ragged", "tied", 0.3, order), pl.Float64)
        expected = pr.per_query(frame, self.ASKED[:5], ties=ties)
        monkeypatch.setattr(sorting, "_BLOCK", 64)
        monkeypatch.setattr(reductions, "_WORTH_THREADS", 0)
        assert_frame_equal(pr.per_query(frame, self.ASKED[:5], ties=ties), expected, rel_tol=0, abs_tol=1e-12)


class Counted:
    """A function that remembers the most things that it was given at once."""

    def __init__(self, function):
        self.function, self.most = function, 0

    def __call__(self, call, several):
        several = list(several)
        self.most = max(self.most, len(several))
        return self.function(call, several)
