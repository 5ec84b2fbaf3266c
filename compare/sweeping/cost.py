"""What a row of a sweep costs in Python, in seconds of one processor: for the size of parts and the time left.

Constants of allocations were measured on groups of 4 x 16, 16 x 128 and 64 x 4,096 members and queues; those of
simulations are of `compare.comparison.work`. Wanted is a factor of 4 at most.
"""

from collections.abc import Callable
from functools import lru_cache

from compare.comparison.work import COSTS, Sizes
from compare.sweeping.grid import OPTIMUM, Cell, Sweep
from compare.sweeping.scenarios import scenario_of
from protocols.scenario.systems import split_system

_ROW = 4e-4
_QUEUE = 7e-7
_READ_TOPIC = 1e-6
_STRATEGY = {"CONSISTENT_HASH": 6.0, "uniform": 1.6, "sticky": 1.6, "cooperative-sticky": 1.6}
_SYSTEM = {"rocketmq": 2.5, OPTIMUM: 4.0}


def cost_of(sweep: Sweep, variant: int) -> Callable[[Cell], float]:
    """Cell to the seconds that its row of this variant takes."""
    part = sweep.systems[variant]
    system, strategy = split_system(part.system)
    if sweep.kind == "simulations":
        return lambda cell: _of_run(sweep, system, sweep.first_seed(cell.number)) if cell.counts else 0.0
    times = _STRATEGY.get(strategy, _SYSTEM.get(system, 1.0))

    def of_row(cell: Cell) -> float:
        steps = 1 if cell.event.name == "none" else 2
        size = cell.topics * (cell.queues * _QUEUE + cell.members * _READ_TOPIC)
        return _ROW + steps * times * size

    return of_row


@lru_cache(maxsize=64)
def _of_run(sweep: Sweep, system: str, cell: int) -> float:
    sizes = Sizes.of(scenario_of(sweep, sweep.cell(cell), f"{system}:"))
    return sum(term.seconds for term in sizes.terms(COSTS[system], full=False))
