"""The ring's owners are those that the strategy computes."""

import re

from protocols import Group, Queue
from rocketmq_selfbalance import allocate
from tools.lessons.ring import hash_ring

MEMBERS = ("c1", "c2", "c3")


def test_every_queue_goes_to_the_member_that_the_strategy_gives_it_to() -> None:
    queues = [Queue("orders", "broker-a", number) for number in range(16)]
    group = Group.of(topics={"orders": {"broker-a": 16}}, members={member: ["orders"] for member in MEMBERS})
    shares = allocate("CONSISTENT_HASH", group, settings={"virtual_nodes": 20})
    picture = hash_ring(MEMBERS, queues, 20)
    told = {int(number): owner for number, owner in re.findall(r"queue (\d+) at \d+: (c\d)", picture.words)}
    assert told == {queue.number: member for member in MEMBERS for queue in shares[member]}
    assert picture.svg.count("<rect") == 1 + 20 * len(MEMBERS) + len(MEMBERS)
