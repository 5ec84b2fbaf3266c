"""Probes of kafka-python's KafkaConsumer: functions that make calls in a world and tell what they answered."""

import json
from collections.abc import Callable
from typing import Any, Final

from tests.compare.testing.python_clients.kp_worlds import said

Probe = Callable[[Any], Any]
PROBES: Final[dict[str, Probe]] = {}


def probe(run: Probe) -> Probe:
    """The function is a probe under its own name."""
    PROBES[run.__name__.replace("_", "-")] = run
    return run


CONFIGURATIONS: Final[dict[str, dict[str, Any]]] = {
    "unknown": {"no_such_argument": 1},
    "fetch-longer": {"fetch_max_wait_ms": 50_000},
    "idle-shorter": {"connections_max_idle_ms": 1000},
    "instance-without-group": {"group_id": None, "group_instance_id": "a"},
    "isolation": {"isolation_level": "none_at_all"},
    "no-assignors": {"partition_assignment_strategy": ()},
    "old-reset": {"auto_offset_reset": "smallest"},
    "rack": {"client_rack": "r"},
}


def _constructor(given: dict[str, Any]) -> Probe:
    return lambda world: said(lambda: world.make(**given).config["auto_offset_reset"])


for _name, _given in CONFIGURATIONS.items():
    PROBES[f"constructor-{_name}"] = _constructor(_given)

CALLS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "assignment": lambda w, c: c.assignment(),
    "subscription": lambda w, c: c.subscription(),
    "paused": lambda w, c: c.paused(),
    "subscribe-nothing": lambda w, c: c.subscribe(),
    "subscribe-both": lambda w, c: c.subscribe(["a"], pattern="b"),
    "subscribe-text": lambda w, c: c.subscribe("orders"),
    "subscribe-number": lambda w, c: c.subscribe([1]),
    "subscribe-empty-name": lambda w, c: c.subscribe([""]),
    "subscribe-bad-name": lambda w, c: c.subscribe(["a b"]),
    "subscribe-bad-listener": lambda w, c: c.subscribe([w.topic], listener=object()),
    "subscribe-pattern": lambda w, c: c.subscribe(pattern="t-none"),
    "assign-more": lambda w, c: c.assign([w.part(0), w.part(1)]),
    "seek-text": lambda w, c: c.seek(w.part(), "1"),
    "seek-below": lambda w, c: c.seek(w.part(), -1),
    "seek-no-partition": lambda w, c: c.seek("a", 1),
    "seek-elsewhere": lambda w, c: c.seek(w.part(0, w.more), 1),
    "seek-to-beginning-text": lambda w, c: c.seek_to_beginning("a"),
    "seek-to-end-elsewhere": lambda w, c: c.seek_to_end(w.part(0, w.more)),
    "highwater-elsewhere": lambda w, c: c.highwater(w.part(0, w.more)),
    "highwater-text": lambda w, c: c.highwater("a"),
    "pause-text": lambda w, c: c.pause("a"),
    "pause-elsewhere": lambda w, c: c.pause(w.part(0, w.more)),
    "resume-elsewhere": lambda w, c: c.resume(w.part(0, w.more)),
    "position-text": lambda w, c: c.position("a"),
    "position-elsewhere": lambda w, c: c.position(w.part(0, w.more)),
    "committed-text": lambda w, c: c.committed("a"),
    "committed-none": lambda w, c: c.committed(w.part(1)),
    "committed-elsewhere": lambda w, c: c.committed(w.part(0, w.more)),
    "commit-text": lambda w, c: c.commit({"a": 1}),
    "commit-number": lambda w, c: c.commit({w.part(): 1}),
    "commit-empty": lambda w, c: c.commit({}),
    "commit-plain": lambda w, c: c.commit(),
    "poll-negative": lambda w, c: c.poll(-1),
    "poll-text": lambda w, c: c.poll(0, "a"),
    "poll-none": lambda w, c: c.poll(0, 0),
    "beginnings": lambda w, c: c.beginning_offsets([w.part(), w.part(1)]),
    "ends": lambda w, c: c.end_offsets([w.part(), w.part(1)]),
    "times-negative": lambda w, c: c.offsets_for_times({w.part(): -1}),
    "partitions-for-topic": lambda w, c: c.partitions_for_topic(w.topic),
    "partitions-for-none": lambda w, c: c.partitions_for_topic("nowhere"),
    "topics": lambda w, c: {each for each in c.topics() if each in (w.topic, w.more)},
    "group-metadata": lambda w, c: c.group_metadata().group_id,
    "metrics": lambda w, c: sorted(set(c.metrics()) & {"consumer-coordinator-metrics"}),
}
STATES: Final[dict[str, Callable[[Any], Any]]] = {
    "subscribed": lambda w: w.joined(),
    "by-hand": lambda w: w.reading(),
    "groupless": lambda w: w.reading(group_id=None),
    "new": lambda w: w.make(),
}


def _one(state: str, name: str) -> Probe:
    return lambda world: said(lambda: CALLS[name](world, STATES[state](world)))


OF_MEMBERS: Final = ("assignment", "subscription", "assign-more", "committed-none", "commit-empty", "group-metadata")
"""Calls that a membership matters to, or that show that it does not; joining takes its time."""
for _state in STATES:
    for _name in CALLS:
        if _state != "subscribed" or _name in OF_MEMBERS or _name.startswith(("seek", "subscribe", "pause")):
            PROBES[f"{_state}-{_name}"] = _one(_state, _name)


@probe
def records_of_a_subscription(world: Any) -> Any:
    world.produce(0, 2)
    world.produce(1, 3)
    return world.drain(world.make(world.topic), 5)


@probe
def iterated(world: Any) -> Any:
    world.produce(0, 3)
    consumer = world.reading(consumer_timeout_ms=400)
    first = next(consumer)
    at = consumer.position(world.part())
    return [first, at, list(consumer), consumer.position(world.part()), said(lambda: next(consumer, "end"))]


@probe
def iterated_and_committed(world: Any) -> Any:
    world.produce(0, 4)
    consumer = world.reading(consumer_timeout_ms=400)
    found = [next(consumer), next(consumer)]
    consumer.commit()
    return [found, consumer.committed(world.part()), consumer.committed(world.part(), metadata=True)]


@probe
def not_moved(world: Any) -> Any:
    world.produce(0, 1)
    consumer = world.reading()
    found = [consumer.poll(2000, update_offsets=False), consumer.position(world.part())]
    return [*found, world.drain(consumer, 1), consumer.position(world.part())]


@probe
def at_most_so_many(world: Any) -> Any:
    world.produce(0, 3)
    consumer = world.reading()
    return [[len(each) for each in consumer.poll(2000, max_records=1).values()] for _ in range(3)]


@probe
def committed_and_read_on(world: Any) -> Any:
    world.produce(0, 4)
    consumer = world.reading()
    world.drain(consumer, 4)
    consumer.seek(world.part(), 2)
    consumer.commit()
    consumer.close()
    other = world.reading()
    return [other.position(world.part()), world.drain(other, 2)]


@probe
def committed_by_name(world: Any) -> Any:
    consumer = world.joined()
    consumer.commit({world.part(): world.at(3, "note")})
    return [consumer.committed(world.part()), consumer.committed(world.part(), metadata=True)]


@probe
def committed_asynchronously(world: Any) -> Any:
    world.produce(0, 1)
    told: list[Any] = []
    consumer = world.reading()
    world.drain(consumer, 1)
    future = consumer.commit_async(callback=lambda offsets, answer: told.append((offsets, answer)))
    world.until(consumer, lambda: bool(told))
    return [told, future.is_done, future.succeeded(), consumer.committed(world.part())]


@probe
def sought(world: Any) -> Any:
    world.produce(0, 5)
    consumer = world.reading()
    world.drain(consumer, 5)
    consumer.seek(world.part(), 4)
    found = world.drain(consumer, 1)
    consumer.seek_to_beginning()
    answers = [consumer.position(world.part())]
    consumer.seek_to_end(world.part())
    return [found, *answers, consumer.position(world.part()), consumer.poll(100)]


@probe
def sought_beyond_the_end(world: Any) -> Any:
    world.produce(0, 2)
    consumer = world.reading()
    consumer.poll(0)
    consumer.seek(world.part(), 50)
    return world.drain(consumer, 2)


@probe
def nothing_committed_without_reset(world: Any) -> Any:
    world.produce(0, 2)
    return world.drain(world.reading(auto_offset_reset="none"), 1)


@probe
def paused_and_resumed(world: Any) -> Any:
    world.produce(0, 2)
    world.produce(1, 2)
    consumer = world.reading(0, 1)
    consumer.pause(world.part())
    found = [world.drain(consumer, 2), consumer.paused(), consumer.poll(100)]
    consumer.resume(world.part())
    return [*found, consumer.paused(), world.drain(consumer, 2)]


@probe
def highwater(world: Any) -> Any:
    world.produce(0, 3)
    consumer = world.reading()
    before = consumer.highwater(world.part())
    world.drain(consumer, 3)
    return [before, consumer.highwater(world.part())]


class _Upper:
    """A deserialiser that is a class of its own shape."""

    def __call__(self, data: bytes) -> str:
        return data.decode().upper()


@probe
def deserialised(world: Any) -> Any:
    world.produce(0, 1)
    return world.drain(world.reading(value_deserializer=_Upper()), 1)


@probe
def a_deserialiser_that_fails(world: Any) -> Any:
    world.produce(0, 1)
    consumer = world.reading(value_deserializer=json.loads)
    return [said(lambda: world.drain(consumer, 1)), consumer.position(world.part())]


@probe
def only_what_is_new(world: Any) -> Any:
    world.produce(0, 3)
    consumer = world.reading(auto_offset_reset="latest")
    at = consumer.position(world.part())
    world.produce(0, 1)
    return [at, world.drain(consumer, 1)]


@probe
def closed(world: Any) -> Any:
    consumer = world.joined()
    consumer.close()
    return [said(consumer.close), said(lambda: consumer.poll(0)), said(lambda: list(consumer)), consumer.assignment()]


@probe
def closed_by_with(world: Any) -> Any:
    world.produce(0, 2)
    with world.joined(enable_auto_commit=True) as consumer:
        world.drain(consumer, 2)
    return world.reading().committed(world.part())


@probe
def closed_without_a_commit(world: Any) -> Any:
    world.produce(0, 2)
    consumer = world.reading(enable_auto_commit=True)
    world.drain(consumer, 2)
    consumer.close(autocommit=False)
    return world.reading().committed(world.part())


@probe
def auto_committed_meanwhile(world: Any) -> Any:
    world.produce(0, 2)
    consumer = world.joined(enable_auto_commit=True, auto_commit_interval_ms=200)
    world.drain(consumer, 2)
    world.wait(0.4)
    world.until(consumer, lambda: consumer.committed(world.part()) == 2)
    return consumer.committed(world.part())


@probe
def unsubscribed(world: Any) -> Any:
    consumer = world.joined()
    consumer.unsubscribe()
    answers = [consumer.assignment(), consumer.subscription()]
    consumer.assign([world.part(1)])
    world.produce(1, 1)
    return [*answers, consumer.assignment(), world.drain(consumer, 1)]


@probe
def subscribed_to_something_else(world: Any) -> Any:
    consumer = world.joined()
    consumer.subscribe([world.more])
    world.until(consumer, lambda: [each.topic for each in consumer.assignment()] == [world.more], polls=100)
    return [consumer.assignment(), consumer.subscription()]


@probe
def without_a_group(world: Any) -> Any:
    world.produce(0, 1)
    world.produce(1, 1)
    consumer = world.make(world.topic, group_id=None)
    return [world.drain(consumer, 2), consumer.assignment(), said(consumer.commit)]


@probe
def a_listener(world: Any) -> Any:
    told: list[Any] = []
    consumer = world.make()

    class Listener(world.k.ConsumerRebalanceListener):  # type: ignore[misc, name-defined]
        def on_partitions_revoked(self, revoked: Any) -> None:
            told.append(("revoked", revoked, consumer.assignment()))

        def on_partitions_assigned(self, assigned: Any) -> None:
            told.append(("assigned", assigned, consumer.assignment()))

    consumer.subscribe([world.topic], listener=Listener())
    world.until(consumer, lambda: bool(consumer.assignment()))
    consumer.close()
    return [*told[:2], told[-1]]


@probe
def a_listener_that_raises(world: Any) -> Any:
    consumer = world.make()

    class Listener(world.k.ConsumerRebalanceListener):  # type: ignore[misc, name-defined]
        def on_partitions_revoked(self, revoked: Any) -> None:
            return

        def on_partitions_assigned(self, assigned: Any) -> None:
            raise ValueError("mine")

    consumer.subscribe([world.topic], listener=Listener())
    return said(lambda: world.until(consumer, lambda: False, polls=30))
