"""CONFIG: the list that was configured, whoever asks for whatever topic (spec 4.8)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from protocols.groups import Group
from protocols.java import Queue
from protocols.strategies import ScenarioContext
from rocketmq_selfbalance.strategies.interface import OfMember, Settings, same, wrong

SETTING = "message_queue_list"


@dataclass(frozen=True, slots=True)
class ByConfig:
    """``AllocateMessageQueueByConfig``. ``message_queue_list``: None where it was never set."""

    name: ClassVar[str] = "CONFIG"

    message_queue_list: tuple[Queue, ...] | None = None

    def allocate(
        self,
        consumer_group: str | None,
        current_cid: str | None,
        mq_all: Sequence[Queue] | None,
        cid_all: Sequence[str] | None,
    ) -> tuple[Queue, ...] | None:
        """The list as it is: nothing is checked, queues of other topics stay in it."""
        return self.message_queue_list


def by_default(context: ScenarioContext) -> Settings | None:
    """It runs where some member has lists; the members' own settings hold them."""
    return {} if SETTING in context.settings else None


def make(settings: Settings, group: Group) -> OfMember:
    """``message_queue_list``: queues, or member id to queues; a queue is (topic, broker, number)."""
    given = settings.get(SETTING)
    if not isinstance(given, Mapping):
        return same(ByConfig(None if given is None else _queues(given)))
    for member_id in given:
        group.member(member_id)
    lists = {member_id: ByConfig(_queues(queues)) for member_id, queues in given.items()}
    return lambda member: lists.get(member, ByConfig())


def _queues(given: object) -> tuple[Queue, ...]:
    refusal = partial(wrong, SETTING, expected="a list of (topic, broker, number), or member id to such")
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
