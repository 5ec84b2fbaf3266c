"""The small picture in the list: one bar per member, heaviest first."""

from dataclasses import dataclass

from compare.documents.audit import Owners

WIDTH, HEIGHT = 96, 24
MOST_BARS = 32
"""Of more members, evenly spaced ones stand for all."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Paths of SVG in a box of ``WIDTH`` by ``HEIGHT``, and the same in words."""

    bars: str
    idle: str
    words: str


def shape(owners: Owners) -> Shape | None:
    """The members' loads as bars; None where not every member's load is told, or there is none."""
    loads = sorted((-1 if owned is None else len(owned) for owned in owners.values()), reverse=True)
    if not loads or loads[-1] < 0:
        return None
    words = f"{len(loads)} members own " if len(loads) > 1 else "1 member owns "
    words += f"{loads[-1]} to {loads[0]} queues" if loads[0] != loads[-1] else f"{loads[0]} queues each"
    if len(loads) > MOST_BARS:
        last = len(loads) - 1
        loads = [loads[at * last // (MOST_BARS - 1)] for at in range(MOST_BARS)]
    step = min(12, WIDTH // len(loads))
    width = step - 1
    top = max(loads[0], 1)
    bars, idle = [], []
    for at, load in enumerate(loads):
        if load:
            height = max(2, round(load * (HEIGHT - 1) / top))
            bars.append(f"M{at * step} {HEIGHT}v-{height}h{width}v{height}")
        else:
            idle.append(f"M{at * step} {HEIGHT - 2}h{width}")
    return Shape("".join(bars), "".join(idle), words)
