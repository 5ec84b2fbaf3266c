"""Exercise 2.3: the rule by which a coordinator moves each member towards its target, heartbeat by heartbeat.

An answer is compared with the rule that the model's coordinator runs, in groups whose members come, go and are heard in
an order that a seed decides.
"""

from collections.abc import Callable, Collection, Iterator
from random import Random
from typing import NamedTuple

from compare.lessons.checks.kinds import called, is_whole, several
from compare.lessons.runs import every_seed
from kafka_coordinator import assign
from kafka_coordinator.catalogue import Partition
from kafka_coordinator.cluster import JOINING, Goal, Standing, reconcile
from protocols import Allocation, Group

_TOPIC = "orders"
_ALL = frozenset((_TOPIC, number) for number in range(8))
_STEPS = 80
"""Heartbeats and changes of the group that one seed makes; one in six is a change."""
_MOST = 5
_SET = several("a set of partition numbers", is_whole)

Numbers = frozenset[int]


class Heartbeat(NamedTuple):
    """What the coordinator knows when a member is heard, and what it answers."""

    number: int
    member: str
    owned: Numbers
    """As the member says: what it was answered last, because it has done that since."""
    target: Numbers
    free: Numbers
    """Partitions that, until this heartbeat, nobody owns and no other member has yet to give up."""
    answer: Numbers


def heartbeats(seed: int) -> Iterator[Heartbeat]:
    """The heartbeats of one group, answered by the model's rule."""
    random = Random(seed)
    standings: dict[str, Standing] = {}
    target: Allocation | None = None
    epoch = came = number = 0
    while number < _STEPS:
        if target is None or random.random() < 1 / 6:
            if len(standings) > 1 and (len(standings) == _MOST or random.random() < 0.4):
                del standings[random.choice(sorted(standings))]
            else:
                came += 1
                standings[f"c{came}"] = JOINING
            group = Group.of(topics={_TOPIC: len(_ALL)}, members={standing: [_TOPIC] for standing in standings})
            target = assign("uniform", group, previous=target)
            epoch += 1
        number += 1
        member = random.choice(sorted(standings))
        before = standings[member]
        others = [standing for name, standing in standings.items() if name != member]
        free = _ALL.difference(before.assigned, *(standing.assigned | standing.pending for standing in others))
        wanted = frozenset((queue.topic, queue.number) for queue in target[member])
        after = reconcile(before, Goal(epoch, wanted, before.assigned, free.intersection, topics=(_TOPIC,)))
        standings[member] = after
        yield Heartbeat(number, member, *map(_numbers, (before.assigned, wanted, free, after.assigned)))


def first_difference(answer: Callable[..., Collection[int]]) -> str | None:
    """A hint about the first heartbeat that the reader's function answers otherwise; None where there is none."""
    return every_seed(
        lambda seed: next(filter(None, (_hint(answer, heartbeat) for heartbeat in heartbeats(seed))), None)
    )


def _hint(answer: Callable[..., Collection[int]], heard: Heartbeat) -> str | None:
    arguments = [set(each) for each in (heard.owned, heard.target, heard.free)]
    given = frozenset(map(int, called(answer, *arguments, gives=_SET)))
    if given == heard.answer:
        return None
    owned, target, free = map(_told, arguments)
    case = f"heartbeat {heard.number} of {heard.member}, owned {owned}, target {target}, free {free}"
    return f"{case}: {_wrong(heard, given)}"


def _wrong(heard: Heartbeat, given: Numbers) -> str:
    """What is wrong with an answer that differs from the model's."""
    if given - heard.target:
        return f"it is given {_told(given - heard.target)}, outside of its target."
    if given - heard.owned - heard.free:
        return f"{_told(given - heard.owned - heard.free)} would have two owners: who has not given it up yet?"
    if heard.owned & heard.target - given:
        return f"it has to stop reading {_told(heard.owned & heard.target - given)}. What may it keep?"
    if heard.owned - heard.target:
        return f"it is given {_told(given - heard.owned)} in the answer that takes {_told(heard.owned - heard.target)}."
    return f"nobody reads {_told(heard.answer - given)}. Who could, from now on?"


def _numbers(partitions: Collection[Partition]) -> Numbers:
    return frozenset(number for _, number in partitions)


def _told(numbers: Collection[int]) -> str:
    return ", ".join(map(str, sorted(numbers))) or "nothing"
