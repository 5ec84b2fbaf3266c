"""Some members carry most of the lag or rate, and which few queues would have to move.

Asked for by ``--weight``. Nobody tells an audit what members can handle: they are taken to be equally fast, and what is
said is how far the largest load falls, with what no other choice of moves could undercut (`compare.optima.load_aware`).
"""

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from compare.auditing.group_figures import HEAVIEST
from compare.explaining.finding import Case, Finding, clients, finding, named
from compare.explaining.remedies.remedy import LIGHT, SERIOUS, Remedy, Risk
from compare.formatting import amount, several
from compare.optima import LoadAware, QueueLoad, load_aware
from compare.reading.group_kinds import Kind
from protocols import Queue

Weight: TypeAlias = Literal["lag", "rate"]

NOISE = 0.1
"""Lag and rates are not known better: what is within this part of the least possible largest load stays as it is."""

STEPS = 5_000
"""Of the search in each group: an audit has many."""

MOST_QUEUES = 5_000
"""Queues up to which moves are looked for: some seconds' work for the largest group."""

_PLACEABLE: tuple[Kind, ...] = ("plain", "consumer-protocol", "orderly")
"""Kinds of groups whose owners somebody outside of a framework can decide on."""

_UNITS = {"lag": " records", "rate": " records/s"}


def uneven_load(case: Case, weight: Weight, load: Mapping[Queue, int | float]) -> Iterator[Finding]:
    """Moves after which the largest load is near the least possible one, if any. ``load``: of each queue."""
    modelled = case.modelled
    if modelled is None or case.on_the_move or case.kind not in _PLACEABLE or len(load) > MOST_QUEUES:
        return
    if modelled.today.double_owned or not sum(load.values()):
        return
    loads = {queue: QueueLoad(max(value, 0)) for queue, value in load.items()}
    found = load_aware(modelled.group, modelled.today, loads, hysteresis=NOISE, steps=STEPS)
    if not found.cost:
        return
    before = {id: sum(loads[queue].rate for queue in queues) for id, queues in modelled.today.items()}
    after = {id: sum(loads[queue].rate for queue in queues) for id, queues in found.allocation.items()}
    heaviest = max(before, key=lambda id: (before[id], id))
    mean = sum(before.values()) / len(before)
    unit = _UNITS[weight]
    yield finding(
        f"uneven-{weight}",
        f"By {weight}, {named(clients(case.observed, [heaviest]))} carries {amount(before[heaviest])} of"
        f" {amount(sum(before.values()))}{unit}, {before[heaviest] / mean:.3g} times the mean of the members:"
        f" the {'assignors of Kafka' if case.is_kafka else 'strategies of RocketMQ'} count queues only.",
        (_remedy(case, weight, found, before[heaviest], max(after.values())),),
        HEAVIEST * (1 - mean / before[heaviest]),
        {"before": before, "after": after, "moves": [(*queue, member) for queue, member in found.moved]},
    )


def _remedy(case: Case, weight: Weight, found: LoadAware, before: float, after: float) -> Remedy:
    unit = _UNITS[weight]
    names = dict(zip(found.allocation, clients(case.observed, list(found.allocation)), strict=True))
    moves = "; ".join(f"{_queue(queue)} to {names[member]}" for queue, member in found.moved)
    text = (
        f"Move {several(len(found.moved), 'partition' if case.is_kafka else 'queue')}: {moves}. The largest {weight} of"
        f" a member falls from {amount(before)} to {amount(after)}{unit}"
    )
    if weight == "lag":
        text += (
            f"; if members are equally fast and nothing else arrives, it is handled in {after / before:.0%} of the time"
        )
    text += f". {found.proof()} {_way(case)}"
    orderly = (Risk("records in hand of a queue that moves are handled again, maybe out of order", SERIOUS),)
    return Remedy(
        text,
        (),
        "rolling",
        True,
        (
            Risk("each queue that moves has no reader for a moment", LIGHT),
            *(orderly if case.kind == "orderly" else ()),
        ),
        None,
        found.allocation,
    )


def _queue(queue: Queue) -> str:
    topic, broker, number = queue
    return f"{topic}-{number}" if not broker else f"{topic} {broker}:{number}"


def _way(case: Case) -> str:
    """By what means a group of this kind can get there."""
    if not case.is_kafka:
        return (
            "RocketMQ: an AllocateMessageQueueStrategy of your own, which takes the owners of each topic from a table"
            " that is the same for all clients."
        )
    if case.observed.consumer_protocol:
        return (
            "Under the consumer protocol no setting does this, because the broker's assignors see no load: it takes a"
            " controller that hands out lists for assign(), or the classic protocol with an assignor of your own."
        )
    return (
        "Kafka's classic protocol: a ConsumerPartitionAssignor of your own; without one, a controller that hands out"
        " lists for assign()."
    )
