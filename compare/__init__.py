"""Everything that compares both systems: figures, optimum, readers of real clusters, runs, reports, command line.

`fairness(allocation)`, `optimum(group, today)` and the module `spark` are imported when first used, so that a
command that needs none of them starts at once.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import compare.spark as spark
    from compare.figures import Fairness, fairness
    from compare.optimum import Optimum, optimum

__all__ = ["Fairness", "Optimum", "fairness", "optimum", "spark"]

_HOMES = {
    "Fairness": ".figures",
    "Optimum": ".optimum",
    "fairness": ".figures",
    "optimum": ".optimum",
}


def __getattr__(name: str) -> object:
    if name == "spark":
        return importlib.import_module(".spark", __name__)
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name], __name__), name)
    raise AttributeError(f"module 'compare' has no attribute {name!r}")
