"""Ranked-retrieval evaluation for Polars and torch."""

__version__ = "0.1.0"
