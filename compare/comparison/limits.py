"""Before a comparison begins: a word about work that takes long, and a refusal of what cannot reasonably end."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import click

from compare.comparison.plan import Plan
from compare.comparison.work import Reason, work_of
from compare.console.output import visible
from protocols.errors import UserError

LONG_S = 60.0
"""What is estimated to take longer is told before."""

MOST_S = 24 * 3600.0
"""What is estimated to take longer is refused."""

UNITS = (("years", 365 * 86_400.0), ("days", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0))
"""Names of units and their seconds; an amount is told in the first one of which there are two."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What there is to work with. ``memory`` in bytes."""

    processors: int
    memory: float

    @classmethod
    def this(cls) -> "Machine":
        """This machine, as far as this process may use it; without a limit of memory where the system tells none."""
        try:
            import resource
        except ImportError:
            return cls(os.cpu_count() or 1, inf)
        memory = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        return cls(os.cpu_count() or 1, memory if limit == resource.RLIM_INFINITY else min(memory, float(limit)))


def check_work(plans: Sequence[Plan], machine: Machine, limited: bool) -> None:
    """Tell on standard error what takes long. Raises `UserError`, where it is ``limited``, for what takes longer than
    `MOST_S` or more memory than there is."""
    work = work_of([(plan.scenario, plan.variants, plan.full) for plan in plans], machine.processors)
    if limited and work.bytes > machine.memory:
        most = f"{machine.memory / 1e9:.0f} GB, which this machine has"
        _refuse(plans, work.largest, f"{work.bytes / 1e9:,.0f} GB of memory", most)
    if limited and work.seconds > MOST_S:
        _refuse(plans, work.longest, about(work.seconds), "a day")
    if work.seconds > LONG_S:
        why = visible(work.longest.why)
        click.echo(f"estimated at about {about(work.seconds)}: {why}; Ctrl-C prints what is finished", err=True)


def about(seconds: float) -> str:
    """Roughly how long: ``12 min``, ``3 days``."""
    name, unit = next(((name, unit) for name, unit in UNITS if seconds >= 2 * unit), UNITS[-1])
    return f"{seconds / unit:,.0f} {name}"


def _refuse(plans: Sequence[Plan], why: Reason, much: str, most: str) -> None:
    path = plans[why.scenario].path
    raise UserError(
        f"{path}: estimated at about {much} ({why.why}), expected at most {most}, or --no-limit to run it all the same"
    )
