"""``python -m polars_retrieval``: the same as the command ``polars-retrieval``."""

from __future__ import annotations

import sys

from polars_retrieval.cli import main

if __name__ == "__main__":
    sys.exit(main())
