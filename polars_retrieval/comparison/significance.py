"""Tests of paired differences, and corrections for that there are many of them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal

from polars_retrieval.intervals import drawn_counts, row_counts, stats_module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from polars_retrieval.intervals import Floats, Samples

Test = Literal["randomization", "t", "wilcoxon", "bootstrap"]
Correction = Literal["holm", "bonferroni", "bh", "none"]

ROUNDING = 1e-12
"""What rounding may make of a sum or a difference, as a share of what was added up: equal within it is equal."""

_EXACT_WILCOXON = 20  # the normal approximation is good for more queries


def p_values(samples: Samples, test: Test, n_resamples: int, seed: int) -> Floats:
    """Return the two-sided p-value of each sample of differences; NaN where the test has none."""
    functions: dict[Test, Callable[[Samples, int, int], Floats]] = {
        "randomization": _randomization,
        "t": lambda samples, *_: _t(samples),
        "wilcoxon": lambda samples, *_: _wilcoxon(samples),
        "bootstrap": _bootstrap,
    }
    return functions[test](samples, n_resamples, seed)


def _t(samples: Samples) -> Floats:
    with warnings.catch_warnings():  # equal differences, or only one, have no p-value, or one of 0: no need to warn
        warnings.simplefilter("ignore", RuntimeWarning)
        return stats_module("scipy.stats").ttest_1samp(samples.of(samples.values), 0, axis=0).pvalue


def _wilcoxon(samples: Samples) -> Floats:
    """Rank the differences: exactly for few queries, if there are no ties among them; else by normal approximation."""
    import numpy as np

    wilcoxon, differences = stats_module("scipy.stats").wilcoxon, samples.of(samples.values)
    with np.errstate(invalid="ignore", divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        if samples.n_queries > _EXACT_WILCOXON:
            return wilcoxon(differences, method="asymptotic", axis=0).pvalue
        # scipy decides for all columns together whether the test is exact, so each is given alone.
        p = np.array([wilcoxon(column, method="auto").pvalue for column in differences.T])
    return np.where((differences != 0).any(axis=0), p, np.nan)


def _randomization(samples: Samples, n_resamples: int, seed: int) -> Floats:
    """Give the share of all ways to swap the two systems in some queries whose difference is as large, or larger.

    All of them are gone through if they are no more than `n_resamples`; else so many are drawn, and the observed one
    is added, so that p is never 0.
    """
    import numpy as np

    exact = 2**samples.n_queries <= n_resamples
    swaps = _all_swaps(samples.n_queries) if exact else _drawn_swaps(samples.n_queries, n_resamples, seed)
    total = samples.values.sum(axis=0)[None]
    observed = np.abs(samples.of(total)[0])
    least = observed - ROUNDING * _sizes(samples)
    n_as_large = np.zeros(len(samples.plus))
    for swapped in swaps:
        # Swapping a query changes its sign: the sum becomes that of all less twice that of the swapped.
        n_as_large += (np.abs(samples.of(total - 2 * (swapped @ samples.values))) >= least).sum(axis=0)
    return n_as_large / 2**samples.n_queries if exact else (n_as_large + 1) / (n_resamples + 1)


def _sizes(samples: Samples) -> Floats:
    """Return what the absolute values of each sample add up to, before the difference is taken."""
    import numpy as np

    sums = np.abs(samples.values).sum(axis=0)
    return sums[samples.plus] if samples.minus is None else sums[samples.plus] + sums[samples.minus]


def _all_swaps(n_queries: int) -> Iterator[Floats]:
    """Give every set of queries: a row for each, 1 for its queries and 0 for the others."""
    import numpy as np

    start = 0
    for n_rows in row_counts(n_queries, 2**n_queries):
        numbers = np.arange(start, start := start + n_rows)
        yield (numbers[:, None] >> np.arange(n_queries) & 1).astype(np.float64)


def _drawn_swaps(n_queries: int, n_resamples: int, seed: int) -> Iterator[Floats]:
    """Draw sets of queries, each query by a coin."""
    import numpy as np

    generator = np.random.default_rng(seed)
    for n_rows in row_counts(n_queries, n_resamples):
        coins = generator.integers(256, size=(n_rows, -(-n_queries // 8)), dtype=np.uint8)
        yield np.unpackbits(coins, axis=1, count=n_queries).astype(np.float64)


def _bootstrap(samples: Samples, n_resamples: int, seed: int) -> Floats:
    """Draw from the differences less their mean, and give the share whose t is as large as the observed one.

    As in Efron and Tibshirani, An Introduction to the Bootstrap (1993), algorithm 16.2. A draw without any spread
    counts as large.
    """
    import numpy as np

    n, values = samples.n_queries, samples.values - samples.values.mean(axis=0)
    mean = samples.of(samples.values.mean(axis=0)[None])[0]
    squares = samples.of(values) ** 2
    variance = squares.mean(axis=0)
    n_as_large = np.zeros(len(mean))
    for counts in drawn_counts(n, n_resamples, seed):
        drawn = samples.of(counts @ values) / n
        drawn_variance = np.maximum(counts @ squares / n - drawn**2, 0)
        # |t*| >= |t|, with both sides times both standard deviations, which may be 0
        least = np.abs(mean) * np.sqrt(drawn_variance) * (1 - ROUNDING)
        n_as_large += (np.abs(drawn) * np.sqrt(variance) >= least).sum(axis=0)
    p = (n_as_large + 1) / (n_resamples + 1) if n > 1 else np.full(len(mean), np.nan)
    constant = np.sqrt(variance) <= ROUNDING * np.abs(mean)  # and not 0: t is infinite, and none of the draws' is
    return np.where(constant & (mean != 0) & (n > 1), 1 / (n_resamples + 1), p)


def adjusted(p: Floats, correction: Correction) -> Floats:
    """Correct p-values for that all of them were looked at; NaN stays, and is none of them."""
    import numpy as np

    tested = ~np.isnan(p)
    if correction == "none" or not tested.any():
        return p
    method = {"holm": "holm", "bonferroni": "bonferroni", "bh": "fdr_bh"}[correction]
    corrected = p.copy()
    corrected[tested] = stats_module("statsmodels.stats.multitest").multipletests(p[tested], method=method)[1]
    return corrected
