"""Make the demo's two files from scikit-learn's digits: ``python -m polars_retrieval.demo.make [FOLDER]``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

SEED = 0
QUERIES = 200
DEPTH = 200


def make() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the run of both systems, and the judgments."""
    from sklearn.datasets import load_digits  # type: ignore[import-untyped]

    digits = load_digits()
    pixels = digits.images  # images x 8 x 8
    coarse = pixels.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4))
    images = pl.DataFrame({"image": np.arange(len(pixels)), "digit": digits.target.astype(np.uint8)}).with_columns(
        id=pl.format("img{}", pl.col("image").cast(pl.String).str.zfill(4))
    )
    drawn = np.random.default_rng(SEED).choice(len(pixels), QUERIES, replace=False)
    is_query = pl.col("image").is_in(drawn)
    queries, documents = images.filter(is_query), images.filter(~is_query)
    run = pl.concat(
        [
            _ranked("pixels", pixels, queries, documents),
            _ranked("coarse", coarse, queries, documents),
        ]
    )
    return run, _judgments(queries, documents)


def _ranked(system: str, images: Any, queries: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """Return the documents most similar to each query by cosine, best first; the smaller id where equal."""
    flat = images.reshape(len(images), -1)
    unit = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    similarity = unit[queries["image"]] @ unit[documents["image"]].T
    return (
        queries.select(pl.lit(system).alias("system"), "digit", query_id="id")
        .join(documents.select(doc_id="id"), how="cross", maintain_order="left_right")
        .with_columns(score=pl.Series(similarity.ravel(), dtype=pl.Float32))
        .sort("query_id", "score", "doc_id", descending=[False, True, False])
        .group_by("query_id", maintain_order=True)
        .head(DEPTH)
        .select("system", "query_id", "doc_id", "score", "digit")
    )


def _judgments(queries: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    return (
        queries.join(documents, on="digit", maintain_order="left_right")
        .select(query_id="id", doc_id="id_right", relevance=pl.lit(1, pl.Int8))
        .sort("query_id", "doc_id")
    )


def main(folder: Path) -> None:
    """Write the run and the judgments into a folder."""
    for name, frame in zip(("run", "qrels"), make(), strict=True):
        # The high bytes of sorted scores hardly change: split by byte they shrink by half.
        frame.write_parquet(
            folder / f"{name}.parquet",
            compression="zstd",
            compression_level=19,
            use_pyarrow=True,
            pyarrow_options={
                "use_dictionary": [column for column in frame.columns if column != "score"],
                "use_byte_stream_split": ["score"] if "score" in frame.columns else False,
            },
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
