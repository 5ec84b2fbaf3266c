"""Everything that compares both systems: figures, optimum, readers of real clusters, runs, reports, command line.

`fairness(allocation)`, `optimum(group, today)` and the module `spark` are imported when first used, so that a
command that needs none of them starts at once.
"""

from typing import TYPE_CHECKING

from protocols.named_modules import lazy_names

if TYPE_CHECKING:
    from compare import spark
    from compare.figures import Fairness, fairness
    from compare.optima import Optimum, optimum

__all__ = ["Fairness", "Optimum", "fairness", "optimum", "spark"]

__getattr__ = lazy_names(__name__)
