"""The demo's data: what they hold, and that the script in the repository makes them."""

from __future__ import annotations

from importlib.resources import files

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_retrieval as pr
from polars_retrieval import demo


def test_run():
    run = demo.run()
    assert run.schema == {
        "system": pl.String,
        "query_id": pl.String,
        "doc_id": pl.String,
        "score": pl.Float32,
        "digit": pl.UInt8,
    }
    assert run.height == 2 * 200 * 200
    assert run["system"].unique(maintain_order=True).to_list() == ["pixels", "coarse"]
    assert run.null_count().row(0) == (0, 0, 0, 0, 0)
    assert run["score"].is_between(0, 1).all()
    assert not run.select(pl.struct("system", "query_id", "doc_id").is_duplicated().any()).item()
    lists = run.group_by("system", "query_id").agg(pl.len(), pl.col("score", "digit").n_unique().name.prefix("n_"))
    assert lists["len"].unique().to_list() == [200]
    assert lists["n_digit"].unique().to_list() == [1]
    ranked = run.select(pl.col("score").diff().over("system", "query_id").max() <= 0)
    assert ranked.item()


def test_judgments_hold_relevant_documents_that_no_system_retrieved():
    run, qrels = demo.run(), demo.qrels()
    assert qrels.schema == {"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Int8}
    assert qrels["relevance"].unique().to_list() == [1]
    assert set(qrels["query_id"]) == set(run["query_id"])
    assert set(qrels["query_id"]).isdisjoint(qrels["doc_id"])
    assert qrels["doc_id"].n_unique() == 1797 - 200
    n_relevant = qrels.group_by("query_id").len()["len"]
    assert (n_relevant.min(), n_relevant.max()) == (154, 165)
    retrieved = qrels.join(run, on=["query_id", "doc_id"], how="semi")
    assert 0 < retrieved.height < qrels.height


def test_files_are_small():
    sizes = [len((files(demo) / name).read_bytes()) for name in ("run.parquet", "qrels.parquet")]
    assert sum(sizes) < 400_000


def test_the_script_makes_the_files_again(tmp_path):
    pytest.importorskip("sklearn")
    from polars_retrieval.demo import make

    make.main(tmp_path)
    assert_frame_equal(pl.read_parquet(tmp_path / "run.parquet"), demo.run())
    assert_frame_equal(pl.read_parquet(tmp_path / "qrels.parquet"), demo.qrels())


def test_measures_are_those_counted_by_hand():
    """Precision and recall at 10 by a join and two means, as one would without this package."""
    run, qrels = demo.run(), demo.qrels()
    top = run.group_by("system", "query_id", maintain_order=True).head(10)
    hits = top.join(qrels, on=["query_id", "doc_id"], how="left").group_by("system", "query_id", maintain_order=True)
    expected = (
        hits.agg(hits=pl.col("relevance").sum())
        .join(qrels.group_by("query_id").agg(known=pl.len()), on="query_id")
        .group_by("system", maintain_order=True)
        .agg(
            (pl.col("hits") / 10).mean().alias("precision@10"),
            (pl.col("hits") / pl.col("known")).mean().alias("recall@10"),
        )
    )
    result = pr.evaluate(run, [pr.precision @ 10, pr.recall @ 10], by="system", qrels=qrels)
    assert_frame_equal(result, expected, check_row_order=False)
