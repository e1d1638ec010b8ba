"""A small real run and its judgments: handwritten digits, looked up by image.

Of the 1,797 images of scikit-learn's ``load_digits``, 200 are queries and the other 1,597 are the documents.
A document is relevant if it shows the query's digit. Two systems rank the documents by cosine similarity:
*pixels* compares all 8 x 8 pixels, *coarse* only the 4 x 4 means of 2 x 2 pixels. Each returns its best 200
documents, more than any query has relevant ones (154 to 165).

``python -m polars_retrieval.demo.make`` makes the two files again, with the same rows.

The images are the test set of *Optical Recognition of Handwritten Digits* by E. Alpaydin and C. Kaynak
(1998), UCI Machine Learning Repository, https://doi.org/10.24432/C50P49, licensed CC BY 4.0, in the copy that
scikit-learn (BSD-3-Clause) ships. The files here hold no image, only numbers of images, and similarities and
digits derived from them.
"""

from __future__ import annotations

from importlib.resources import files

import polars as pl


def run() -> pl.DataFrame:
    """Load what the two systems returned: the best 200 documents for each of 200 queries.

    Returns
    -------
    DataFrame
        Columns ``system``, ``query_id``, ``doc_id``, ``score`` and ``digit``, the digit that the query shows.
        Within system and query ranked, best first.

    Examples
    --------
    >>> from polars_retrieval import demo
    >>> demo.run().head(2)
    shape: (2, 5)
    ┌────────┬──────────┬─────────┬──────────┬───────┐
    │ system ┆ query_id ┆ doc_id  ┆ score    ┆ digit │
    │ ---    ┆ ---      ┆ ---     ┆ ---      ┆ ---   │
    │ str    ┆ str      ┆ str     ┆ f32      ┆ u8    │
    ╞════════╪══════════╪═════════╪══════════╪═══════╡
    │ pixels ┆ img0004  ┆ img1777 ┆ 0.946069 ┆ 4     │
    │ pixels ┆ img0004  ┆ img1735 ┆ 0.942743 ┆ 4     │
    └────────┴──────────┴─────────┴──────────┴───────┘
    """
    return _load("run.parquet")


def qrels() -> pl.DataFrame:
    """Load the judgments: every relevant document of each query, retrieved or not.

    Returns
    -------
    DataFrame
        Columns ``query_id``, ``doc_id`` and ``relevance``, which is always 1.

    Examples
    --------
    >>> from polars_retrieval import demo
    >>> demo.qrels().head(2)
    shape: (2, 3)
    ┌──────────┬─────────┬───────────┐
    │ query_id ┆ doc_id  ┆ relevance │
    │ ---      ┆ ---     ┆ ---       │
    │ str      ┆ str     ┆ i8        │
    ╞══════════╪═════════╪═══════════╡
    │ img0004  ┆ img0014 ┆ 1         │
    │ img0004  ┆ img0024 ┆ 1         │
    └──────────┴─────────┴───────────┘
    """
    return _load("qrels.parquet")


def _load(name: str) -> pl.DataFrame:
    return pl.read_parquet((files(__package__) / name).read_bytes())
