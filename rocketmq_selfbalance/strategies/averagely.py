"""The simple strategies. AVG: contiguous blocks, the first members get one queue more (spec 4.5). AVG_BY_CIRCLE:
queues are dealt in turn, like cards (spec 4.6). CONFIG: the list that was configured, whoever asks (spec 4.8)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar

from protocols.groups import Group
from protocols.java import Queue
from protocols.strategies import ScenarioContext
from rocketmq_selfbalance.strategies import interface


def block(queues: int, members: int, index: int) -> range:
    """Positions that member number ``index`` of ``members`` takes of so many queues."""
    base, extra = divmod(queues, members)
    start = index * base + min(index, extra)
    return range(start, start + base + (index < extra))


@lru_cache(maxsize=4)
def _blocks(queues: int, cids: tuple[str, ...]) -> dict[str, range]:
    return {cid: block(queues, len(cids), index) for cid, index in interface.first_indexes(cids).items()}


@dataclass(frozen=True, slots=True)
class Averagely(interface.PositionStrategy):
    """``AllocateMessageQueueAveragely``, the default of all consumers."""

    name: ClassVar[str] = "AVG"

    def positions(self, current_cid: str | None, mq_all: interface.Mqs, cid_all: interface.Cids) -> range:
        given = interface.check(current_cid, mq_all, cid_all)
        return range(0) if given is None else block(len(given.mq_all), len(given.cid_all), given.own_index)

    def positions_of_all(self, mq_all: interface.Mqs, cid_all: interface.Cids) -> dict[str, range]:
        queues, cids = interface.check_lists(mq_all, cid_all)
        return _blocks(len(queues), tuple(cids))


@dataclass(frozen=True, slots=True)
class AveragelyByCircle(interface.PositionStrategy):
    """``AllocateMessageQueueAveragelyByCircle``."""

    name: ClassVar[str] = "AVG_BY_CIRCLE"

    def positions(self, current_cid: str | None, mq_all: interface.Mqs, cid_all: interface.Cids) -> range:
        given = interface.check(current_cid, mq_all, cid_all)
        return range(0) if given is None else range(given.own_index, len(given.mq_all), len(given.cid_all))

    def positions_of_all(self, mq_all: interface.Mqs, cid_all: interface.Cids) -> dict[str, range]:
        queues, cids = interface.check_lists(mq_all, cid_all)
        return {cid: range(index, len(queues), len(cids)) for cid, index in interface.first_indexes(cids).items()}


SETTING = "message_queue_list"


@dataclass(frozen=True, slots=True)
class ByConfig:
    """``AllocateMessageQueueByConfig``. ``message_queue_list``: None where it was never set."""

    name: ClassVar[str] = "CONFIG"

    message_queue_list: tuple[Queue, ...] | None = None

    def allocate(
        self, consumer_group: str | None, current_cid: str | None, mq_all: interface.Mqs, cid_all: interface.Cids
    ) -> tuple[Queue, ...] | None:
        """The list as it is: nothing is checked, queues of other topics stay in it."""
        return self.message_queue_list


def config_by_default(context: ScenarioContext) -> interface.Settings | None:
    """It runs where some member has lists; the members' own settings hold them."""
    return {} if SETTING in context.settings else None


def make_configured(settings: interface.Settings, group: Group) -> interface.OfMember:
    """``message_queue_list``: queues, or member id to queues; a queue is (topic, broker, number)."""
    given = settings.get(SETTING)
    if not isinstance(given, Mapping):
        return interface.same(ByConfig(None if given is None else _queues(given)))
    for member_id in given:
        group.member(member_id)
    lists = {member_id: ByConfig(_queues(queues)) for member_id, queues in given.items()}
    return lambda member: lists.get(member, ByConfig())


def _queues(given: object) -> tuple[Queue, ...]:
    refusal = partial(interface.wrong, SETTING, expected="a list of (topic, broker, number), or member id to such")
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise refusal(given)
    queues = []
    for each in given:
        match each:
            case [str(topic), str(broker), int(number)]:
                queues.append(Queue(topic, broker, number))
            case _:
                raise refusal(each)
    return tuple(queues)
