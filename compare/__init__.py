"""Everything that compares both systems: figures, optimum, readers of real clusters, runs, reports, command line.

`fairness(allocation)`, `optimum(group, today)`, `load_aware(group, today, loads)`, `moves_that_pay` (the same, asked
again and again) and the module `spark` are imported when first used, so that a command that needs none of them starts
at once; nothing else is imported here, not even `protocols`, because pytest loads this package with every project that
has the plugin.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compare import spark
    from compare.figures import Fairness, fairness
    from compare.optima import LoadAware, Optimum, PayingMoves, QueueLoad, load_aware, moves_that_pay, optimum

_OPTIMA = ("LoadAware", "Optimum", "PayingMoves", "QueueLoad", "load_aware", "moves_that_pay", "optimum")

__all__ = [
    "Fairness",
    "LoadAware",
    "Optimum",
    "PayingMoves",
    "QueueLoad",
    "fairness",
    "load_aware",
    "moves_that_pay",
    "optimum",
    "spark",
]

_HOMES = {
    **dict.fromkeys(("Fairness", "fairness"), ".figures"),
    **dict.fromkeys(_OPTIMA, ".optima"),
}


def __getattr__(name: str) -> object:
    if name == "spark":
        return importlib.import_module(".spark", __name__)
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name], __name__), name)
    raise AttributeError(f"module 'compare' has no attribute {name!r}")
