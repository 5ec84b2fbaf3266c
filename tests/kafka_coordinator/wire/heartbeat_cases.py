"""Heartbeats of the consumer protocol that are refused, and one that is repeated because its answer got lost."""

import time
from collections.abc import Callable
from typing import Any

from tests.kafka_coordinator.wire.broker_cases import Ask
from tests.kafka_coordinator.wire.plain import request

_CREATE, _FETCH, _FIND, _HEARTBEAT = 19, 9, 10, 68


def _beats(ask: Ask, topic: str) -> Callable[..., Any]:
    """What sends a heartbeat to a group that is called as the topic, of two partitions."""
    new = {"name": topic, "num_partitions": 2, "replication_factor": 1}
    known = ask(request(_CREATE, 7, topics=[new], timeout=5000)).topics[0].topic_id
    ask(request(_FIND, 4, key_type=0, coordinator_keys=[topic]))
    while ask(request(_FETCH, 9, groups=[{"group_id": topic, "topics": []}])).groups[0].error_code != 0:
        time.sleep(0.2)  # a real broker makes __consumer_offsets first
    time.sleep(0.5)  # and its coordinator hears of the topic

    def beat(member: str = "a", epoch: int = 1, *, group: str = topic, owned: Any = None, **more: Any) -> Any:
        joins = {"rebalance_timeout": 60_000, "topic_partitions": [], "subscribed_topic_names": [topic]}
        fields = {"rebalance_timeout": -1, **(joins if epoch == 0 else {}), **more}
        if owned is not None:
            fields["topic_partitions"] = [{"topic_id": known, "partitions": owned}] if owned else []
        fields.setdefault("topic_partitions", None)
        return ask(request(_HEARTBEAT, 1, group_id=group, member_id=member, member_epoch=epoch, **fields))

    return beat


def repeated_heartbeats(ask: Ask, topic: str) -> list[Any]:
    """The answer with a new epoch gets lost, the member says again what it has."""
    beat = _beats(ask, topic)
    answers = [beat(epoch=0), beat("z", 0), beat(owned=[0, 1])]
    (kept,) = answers[-1].assignment.topic_partitions[0].partitions
    answers += [beat(owned=[kept]), beat(owned=[kept]), beat(), beat("z", 2, owned=[]), beat("z", -1)]
    return [*answers, beat(epoch=2), beat(epoch=2, owned=[kept]), beat(epoch=3, owned=[0, 1])]


def refused_heartbeats(ask: Ask, topic: str) -> list[Any]:
    beat = _beats(ask, topic)
    return [
        beat(epoch=0, group=""),
        beat(epoch=0, group=f"{topic}-2", instance_id=" "),
        beat(epoch=0, rack_id=""),
        beat("", 0),
        beat("", -1),
        beat(epoch=-3),
        beat(epoch=-2),
        beat(epoch=0, rebalance_timeout=-1),
        beat(epoch=0, owned=[0]),
        beat(epoch=0, subscribed_topic_names=None),
        beat(epoch=0, server_assignor="zz"),
        beat(epoch=1),
        beat(epoch=-1),
        beat(epoch=0, instance_id="i"),
        beat("b", 0, instance_id="i"),
        beat("b", 1, instance_id="i"),
        beat("b", 1, instance_id="j"),
        beat("c", 1),
        beat("a", 9, instance_id="i"),
    ]


def renamed_instances(ask: Ask, topic: str) -> list[Any]:
    """A member joins again under another instance id; then somebody wants the first one."""
    beat = _beats(ask, topic)
    answers = [beat(epoch=0, instance_id="i"), beat(epoch=0, instance_id="j"), beat("b", 0, instance_id="i")]
    return [*answers, beat("c", 0, instance_id="j"), beat("a", 9, instance_id="i")]
