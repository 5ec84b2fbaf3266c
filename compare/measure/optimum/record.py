"""What the search for the optimum answers."""

from collections.abc import Mapping
from dataclasses import dataclass

from compare.measure.optimum.certificate import Certificate
from protocols import Allocation, Queue, sort_queues


@dataclass(frozen=True, slots=True)
class Bound:
    """Why some member must carry at least ``value``, whoever gets what.

    Only ``members`` subscribe to the ``topics``. If ``together`` is 0, value is their equal share of these topics'
    weight (whole weights: rounded up to what sums of weights can be). Else, of the (together - 1) * members + 1
    heaviest queues of these topics some member gets ``together``, and value is the sum of the lightest so many of them.
    """

    value: float
    members: tuple[str, ...]
    topics: tuple[str, ...]
    together: int


@dataclass(frozen=True, slots=True)
class Optimum:
    """The fairest allocation that the subscriptions allow, with as few moves from today's as any fairest one needs.

    Loads are numbers of queues or, in a weighted problem, sums of weights. All figures are None in a group without
    members. ``idle_members`` own no queue. ``jain`` as in the fairness figures.

    ``moves``: queues that have an owner today and get another; ``moved`` names them with their new owners. That a queue
    without owner today gets its first is no move: ``newly_owned`` names these. Both sorted by queue; without an
    allocation of today ``moves`` is None and all is newly owned.

    Counting queues, ``certificate`` proves it (see `certificate.verify`) and the gap is 0. Weighted, the problem is
    NP-hard: the allocation is a good one, ``lower_bound`` is proven by ``bound``, and ``gap`` is max - lower_bound.
    """

    allocation: Allocation
    max: float | None
    min: float | None
    idle_members: int | None
    jain: float | None
    moves: int | None
    moved: tuple[tuple[Queue, str], ...]
    newly_owned: tuple[tuple[Queue, str], ...]
    lower_bound: float | None
    gap: float | None
    certificate: Certificate | None
    bound: Bound | None


def changes(
    after: Allocation, today: Mapping[str, tuple[Queue, ...]] | None
) -> tuple[tuple[tuple[Queue, str], ...], tuple[tuple[Queue, str], ...]]:
    """(queue, new owner) of the queues that move, and of those that get their first owner."""
    owners: dict[Queue, set[str]] = {}
    for member, queues in (today or {}).items():
        for queue in queues:
            owners.setdefault(queue, set()).add(member)
    gained = [
        (queue, member)
        for member, queues in after.items()
        for queue in queues
        if queue not in owners or member not in owners[queue]
    ]
    owner = dict(gained)
    ordered = [(queue, owner[queue]) for queue in sort_queues(owner)]
    return (
        tuple(each for each in ordered if each[0] in owners),
        tuple(each for each in ordered if each[0] not in owners),
    )
