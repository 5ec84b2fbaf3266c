"""Every call of a consumer, with good and bad arguments, in every state in which a consumer can be.

A call is followed by three questions: what is assigned, where the consumer stands, and what comes next.
"""

from collections.abc import Callable
from typing import Any, Final

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    OFFSET_STORED,
    Message,
    TopicPartition,
)

from tests.compare.testing.differential.probing import add, told
from tests.compare.testing.differential.worlds import World

WAIT: Final = 2.0
"""Seconds that a call may take which has a timeout."""

Call = Callable[[World, Any], Any]


def _without_epochs(partitions: list[TopicPartition]) -> Any:
    """The mock cluster tells an epoch of every committed offset, a broker of those that were committed with one."""
    return [(each.topic, each.partition, each.offset, each.metadata, each.error) for each in partitions]


CALLS: Final[dict[str, Call]] = {
    "commit": lambda w, c: c.commit(),
    "commit-now": lambda w, c: c.commit(asynchronous=False),
    "commit-offsets": lambda w, c: c.commit(offsets=[w.partition(0, 3)], asynchronous=False),
    "commit-no-offsets": lambda w, c: c.commit(offsets=[], asynchronous=False),
    "commit-invalid-offset": lambda w, c: c.commit(offsets=[w.partition(0)], asynchronous=False),
    "commit-logical-offset": lambda w, c: c.commit(offsets=[w.partition(0, OFFSET_END)], asynchronous=False),
    "commit-negative-offset": lambda w, c: c.commit(offsets=[w.partition(0, -7)], asynchronous=False),
    "commit-both": lambda w, c: c.commit(message=Message(topic=w.topic), offsets=[w.partition(0, 1)]),
    "commit-message": lambda w, c: c.commit(message=Message(topic=w.topic, partition=0, offset=3), asynchronous=False),
    "commit-text": lambda w, c: c.commit(message="no"),
    "commit-texts": lambda w, c: c.commit(offsets=["no"]),
    "commit-metadata": lambda w, c: [
        c.commit(offsets=[TopicPartition(w.topic, 0, 2, "who")], asynchronous=False),
        _without_epochs(c.committed([w.partition(0)], timeout=WAIT)),
    ],
    "committed": lambda w, c: _without_epochs(c.committed([w.partition(0), w.partition(1)], timeout=WAIT)),
    "committed-nothing": lambda w, c: c.committed([], timeout=WAIT),
    "committed-text": lambda w, c: c.committed("no", timeout=WAIT),
    "position": lambda w, c: c.position([w.partition(0), w.partition(1)]),
    "position-elsewhere": lambda w, c: c.position([w.partition(9), TopicPartition("nowhere", 0)]),
    "position-nothing": lambda w, c: c.position([]),
    "assign": lambda w, c: c.assign([w.partition(0, 2)]),
    "assign-nothing": lambda w, c: c.assign([]),
    "assign-text": lambda w, c: c.assign("no"),
    "assign-numbers": lambda w, c: c.assign([1]),
    "assign-twice-the-same": lambda w, c: c.assign([w.partition(0, 1), w.partition(0, 2)]),
    "unassign": lambda w, c: c.unassign(),
    "incremental-assign": lambda w, c: c.incremental_assign([w.partition(1, 0)]),
    "incremental-assign-again": lambda w, c: c.incremental_assign([w.partition(0, 0)]),
    "incremental-unassign": lambda w, c: c.incremental_unassign([w.partition(0)]),
    "incremental-unassign-elsewhere": lambda w, c: c.incremental_unassign([TopicPartition(w.more, 0)]),
    "seek": lambda w, c: c.seek(w.partition(0, 2)),
    "seek-beginning": lambda w, c: c.seek(w.partition(0, OFFSET_BEGINNING)),
    "seek-end": lambda w, c: c.seek(w.partition(0, OFFSET_END)),
    "seek-beyond": lambda w, c: c.seek(w.partition(0, 99)),
    "seek-invalid": lambda w, c: c.seek(w.partition(0, OFFSET_INVALID)),
    "seek-stored": lambda w, c: c.seek(w.partition(0, OFFSET_STORED)),
    "seek-elsewhere": lambda w, c: c.seek(TopicPartition(w.more, 0, 1)),
    "seek-text": lambda w, c: c.seek("no"),
    "pause": lambda w, c: c.pause([w.partition(0)]),
    "pause-elsewhere": lambda w, c: c.pause([TopicPartition(w.more, 0)]),
    "pause-text": lambda w, c: c.pause("no"),
    "resume": lambda w, c: c.resume([w.partition(0)]),
    "resume-elsewhere": lambda w, c: c.resume([TopicPartition(w.more, 0)]),
    "store": lambda w, c: c.store_offsets(offsets=[w.partition(0, 2)]),
    "store-message": lambda w, c: c.store_offsets(message=Message(topic=w.topic, partition=0, offset=1)),
    "store-elsewhere": lambda w, c: c.store_offsets(offsets=[TopicPartition(w.more, 0, 1)]),
    "store-nothing": lambda w, c: c.store_offsets(),
    "watermarks": lambda w, c: c.get_watermark_offsets(w.partition(0), timeout=WAIT),
    "watermarks-elsewhere": lambda w, c: c.get_watermark_offsets(w.partition(9), timeout=WAIT),
    "watermarks-text": lambda w, c: c.get_watermark_offsets("no", timeout=WAIT),
    "watermarks-cached": lambda w, c: c.get_watermark_offsets(w.partition(0), cached=True),
    "times-text": lambda w, c: c.offsets_for_times("no", timeout=WAIT),
    "topics": lambda w, c: [
        [name, sorted(each.partitions), each.error]
        for name, each in c.list_topics(w.topic, timeout=WAIT).topics.items()
    ],
    "topics-unknown": lambda w, c: [each.error for each in c.list_topics("nowhere", timeout=WAIT).topics.values()],
    "memberid": lambda w, c: type(c.memberid()),
    "poll-text": lambda w, c: c.poll("no"),
    "consume-none": lambda w, c: c.consume(0, 0),
    "consume-negative": lambda w, c: c.consume(-1, 0),
    "consume-too-many": lambda w, c: c.consume(1_000_001, 0),
    "consume-text": lambda w, c: c.consume("no", 0),
    "subscribe-text": lambda w, c: c.subscribe("no"),
    "subscribe-nothing": lambda w, c: c.subscribe([]),
    "subscribe-numbers": lambda w, c: c.subscribe([1]),
    "subscribe-none": lambda w, c: c.subscribe(None),
    "subscribe-no-callback": lambda w, c: c.subscribe([w.topic], on_assign=1),
    "subscribe-a-callback-of-none": lambda w, c: c.subscribe([w.topic], on_assign=None),
    "unsubscribe": lambda w, c: c.unsubscribe(),
    "close": lambda w, c: c.close(),
    "a-member-of-with": lambda w, c: c.__enter__() is c,
}


def _next(world: World, consumer: Any) -> Any:
    """The next message that comes within half a second."""
    found = world.until(consumer, lambda message: message is not None, polls=16)
    return found[0] if found else None


def _after(world: World, call: Call, consumer: Any) -> Any:
    """What the call answers, and how the consumer stands after it."""
    return [
        told(lambda: call(world, consumer)),
        told(consumer.assignment),
        told(lambda: consumer.position([world.partition(0)])),
        told(lambda: _next(world, consumer)),
    ]


def fresh(world: World, call: Call) -> Any:
    """A consumer that has done nothing yet."""
    return _after(world, call, world.consumer())


def alone(world: World, call: Call) -> Any:
    """A consumer that was assigned a partition by hand, and has read one record of five."""
    world.produce(0, 5)
    consumer = world.consumer()
    consumer.assign([world.partition(0)])
    world.read(consumer)
    return _after(world, call, consumer)


def joined(world: World, call: Call) -> Any:
    """A member of a group that has both partitions and has read one record of five."""
    consumer = world.joined(world.consumer())
    world.produce(0, 5)
    world.read(consumer)
    return _after(world, call, consumer)


def joined_cooperatively(world: World, call: Call) -> Any:
    """The same with a cooperative assignor."""
    consumer = world.joined(world.consumer(partition_assignment_strategy="cooperative-sticky"))
    world.produce(0, 5)
    world.read(consumer)
    return _after(world, call, consumer)


def closed(world: World, call: Call) -> Any:
    """A consumer that was closed."""
    consumer = world.consumer()
    consumer.close()
    return told(lambda: call(world, consumer))


def _in_listener(world: World, call: Call, strategy: str) -> Any:
    world.produce(0, 5)
    seen: list[Any] = []

    def assigned(consumer: Any, partitions: list[Any]) -> None:
        if not seen:
            seen.append([partitions, told(consumer.assignment), told(lambda: call(world, consumer))])

    consumer = world.consumer(partition_assignment_strategy=strategy)
    consumer.subscribe([world.topic], on_assign=assigned)
    found = world.until(consumer, lambda message: message is not None or bool(seen), polls=80)
    found += world.until(consumer, lambda message: message is not None, polls=20) if not found else []
    return [seen, told(consumer.assignment), found[:1]]


def in_on_assign(world: World, call: Call) -> Any:
    """A member whose ``on_assign`` makes the call."""
    return _in_listener(world, call, "range")


def in_on_assign_cooperatively(world: World, call: Call) -> Any:
    """The same with a cooperative assignor."""
    return _in_listener(world, call, "cooperative-sticky")


def in_on_revoke(world: World, call: Call) -> Any:
    """A member whose ``on_revoke`` makes the call, after ``unsubscribe``."""
    seen: list[Any] = []

    def revoked(consumer: Any, partitions: list[Any]) -> None:
        if not seen:
            seen.append([partitions, told(consumer.assignment), told(lambda: call(world, consumer))])

    consumer = world.joined(world.consumer(), on_revoke=revoked)
    world.produce(0, 5)
    world.read(consumer)
    consumer.unsubscribe()
    world.until(consumer, lambda message: bool(seen), polls=20)
    return [seen, told(consumer.assignment)]


STATES: Final[dict[str, Callable[[World, Call], Any]]] = {
    "fresh": fresh,
    "alone": alone,
    "joined": joined,
    "closed": closed,
    "on-assign": in_on_assign,
}
"""Name of a state to what brings a consumer there; every call is made in each."""

_SOME: Final = (
    ("cooperative", joined_cooperatively, "assign unassign incremental-assign incremental-unassign unsubscribe"),
    (
        "on-assign-cooperative",
        in_on_assign_cooperatively,
        "assign assign-nothing unassign incremental-assign-again incremental-unassign seek pause commit-now",
    ),
    ("on-revoke", in_on_revoke, "commit commit-now position committed seek unassign pause"),
)
"""States in which some calls are made."""


def _add(state: str, reach: Callable[[World, Call], Any], name: str) -> None:
    probe = f"{state}-{name}"
    add(probe, lambda world: reach(world, CALLS[name]))


for _state, _reach in STATES.items():
    for _name in CALLS:
        _add(_state, _reach, _name)
for _state, _reach, _names in _SOME:
    for _name in _names.split():
        _add(_state, _reach, _name)
