"""Pictures of curves and of comparisons. matplotlib is imported when one is drawn.

A figure that is made here is pyplot's: notebooks show it, ``plt.show`` and ``plt.savefig`` find it, and
whoever draws many in one process closes them. With ``ax`` pyplot is left alone: the figure is the caller's.
"""

from polars_retrieval.plot.comparisons import differences, measure_at_k, systems
from polars_retrieval.plot.curves import metrics_at_k, pr_curve
from polars_retrieval.plot.drawing import INSTALL, is_round

__all__ = ["INSTALL", "differences", "is_round", "measure_at_k", "metrics_at_k", "pr_curve", "systems"]
