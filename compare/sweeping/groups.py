"""The group of a cell, before and after its event, as a strategy of either system sees it."""

from collections.abc import Mapping
from dataclasses import replace

from compare.sweeping.grid import Cell
from compare.sweeping.shapes import subscription
from compare.sweeping.stories import GROWTH, leaving, member_name, topic_name
from protocols import Allocation, Group, Member
from rocketmq_selfbalance import allocate
from rocketmq_selfbalance.strategies.averagely import Averagely
from rocketmq_selfbalance.strategies.by_config import SETTING as QUEUE_LIST
from rocketmq_selfbalance.strategies.by_config import ByConfig
from rocketmq_selfbalance.strategies.machine_room import SETTING as ROOMS
from rocketmq_selfbalance.strategies.machine_room import ByMachineRoom

KAFKA, ROCKETMQ = "kafka", "rocketmq"


def room(number: int) -> str:
    """The room of a broker or member: as many rooms as brokers, members in turn."""
    return f"r{number:03d}"


def broker_names(cell: Cell, strategy: str) -> list[str]:
    """Every broker in a room of its own; the strategies about rooms read a broker's from its name."""
    sign = "@" if strategy == ByMachineRoom.name else "-"
    return [f"{room(number)}{sign}broker" for number in range(cell.brokers)]


def queues_per_broker(queues: int, brokers: list[str]) -> dict[str, int]:
    """A topic's queues dealt over the brokers in turn."""
    shares = ((queues + len(brokers) - 1 - at) // len(brokers) for at in range(len(brokers)))
    return {broker: share for broker, share in zip(brokers, shares, strict=True) if share}


def group_of(cell: Cell, system: str, strategy: str) -> Group:
    """The group before the event. Kafka's topics have partitions 0, 1, ...; RocketMQ's lie on brokers."""
    members = {
        member_name(number): {
            "subscribe": [
                topic_name(each) for each in subscription(cell.subscription, number, cell.members, cell.topics)
            ],
            "rack": room(number % cell.brokers),
        }
        for number in range(cell.members)
    }
    return Group.of(dict.fromkeys(_topics(cell), _count(cell, system, strategy, cell.queues)), members)


def after_event(cell: Cell, group: Group, system: str, strategy: str) -> Group:
    """The group after the cell's event."""
    match cell.event.name:
        case "join":
            last = group.members[-1]
            new = Member(member_name(cell.members), last.subscription, rack=room(cell.members % cell.brokers))
            return replace(group, members=(*group.members, new))
        case "leave":
            return group.without(member_name(leaving(cell.members)))
        case "grow":
            count = _count(cell, system, strategy, GROWTH * cell.queues)
            return group.with_queues(dict.fromkeys(_topics(cell), count))
    return group


def settings_of(strategy: str, given: Mapping[str, object], before: Group, group: Group) -> Mapping[str, object]:
    """What a strategy needs besides: all rooms; the lists that an operator wrote for the group before the event, who
    shared its queues evenly."""
    if strategy == ByMachineRoom.name and ROOMS not in given:
        return {ROOMS: sorted({member.rack for member in before.members if member.rack}), **given}
    if strategy == ByConfig.name and QUEUE_LIST not in given:
        lists: Allocation = allocate(Averagely.name, before)
        return {QUEUE_LIST: {id: list(queues) for id, queues in lists.items() if id in group}, **given}
    return given


def _topics(cell: Cell) -> list[str]:
    return [topic_name(number) for number in range(cell.topics)]


def _count(cell: Cell, system: str, strategy: str, queues: int) -> int | dict[str, int]:
    return queues if system != ROCKETMQ else queues_per_broker(queues, broker_names(cell, strategy))
