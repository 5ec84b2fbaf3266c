"""The door to `protocols.load_aware.paying`, for controllers alone, which ask again and again while loads change.

One who asks once, as `audit` and `plan` do, asks `load_aware`: it proves what it says.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite

from compare.optima.load_aware import MILLIONTHS, QueueLoad, numbered
from protocols import Allocation, Group, GroupError, Queue
from protocols.load_aware import Flows, pays
from protocols.load_aware.drafts import kept


@dataclass(frozen=True, slots=True)
class PayingMoves:
    """``allocation``: after the moves. ``moved``: queue and new owner, sorted by queue. ``waits_s`` and ``after_s``:
    work that waits (records times ``handle_s``), added up over the seconds of the horizon as `Flows.waits` does, where
    nothing moves and after the moves, with what these cost."""

    allocation: Allocation
    moved: tuple[tuple[Queue, str], ...]
    waits_s: float
    after_s: float


def moves_that_pay(
    group: Group,
    today: Mapping[str, Iterable[Queue]],
    loads: Mapping[Queue, QueueLoad],
    *,
    capacity: float | Mapping[str, float],
    move_s: float = 3.0,
    horizon_s: float = 60.0,
) -> PayingMoves:
    """The moves after which records wait less, though nobody reads a queue for ``move_s`` while it moves, for the next
    ``horizon_s`` seconds, on average over what the rates may be (`QueueLoad.spread`). ``today``, ``loads`` and
    ``capacity`` as in `load_aware`; who has no owner goes where it is least felt. Raises `GroupError` for what is
    missing or cannot be."""
    for name, seconds in (("move_s", move_s), ("horizon_s", horizon_s)):
        if not isfinite(seconds) or seconds <= 0:
            raise GroupError(f"{name} is {seconds!r}, expected a number above 0")
    if move_s > horizon_s:
        raise GroupError(f"move_s is {move_s!r}, expected no more than horizon_s, which is {horizon_s!r}")
    queues, problem = numbered(group, today, loads, capacity, None, horizon_s)
    ids = [member.id for member in group.members]
    first = kept(problem)
    first.lower(0)
    flows = Flows(
        comes=[loads[queue].rate * loads[queue].handle_s for queue in queues],
        spread=[loads[queue].spread * loads[queue].handle_s for queue in queues],
        lag=[loads[queue].lag * loads[queue].handle_s for queue in queues],
        takers=problem.takers,
        owner=first.at,
        capacity=[each / MILLIONTHS for each in problem.capacity],
        move_s=move_s,
        horizon_s=horizon_s,
    )
    at = pays(flows)
    owned: dict[str, list[Queue]] = {id: [] for id in ids}
    for queue, member in zip(queues, at, strict=True):
        owned[ids[member]].append(queue)
    changes = zip(queues, first.at, at, strict=True)
    moved = tuple((queue, ids[member]) for queue, before, member in changes if before != member)
    return PayingMoves(Allocation(group, owned), moved, flows.waits_in_all(first.at), flows.waits_in_all(at))
