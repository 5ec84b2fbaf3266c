"""Probes of AIOKafkaConsumer: coroutines that make calls in a world and tell what they answered."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, Final

from tests.compare.testing.python_clients.aio_worlds import said, told

Probe = Callable[[Any], Awaitable[Any]]
PROBES: Final[dict[str, Probe]] = {}


def probe(run: Probe) -> Probe:
    """The function is a probe under its own name."""
    PROBES[run.__name__.replace("_", "-")] = run
    return run


# Constructor, with what it refuses.

CONFIGURATIONS: Final[dict[str, dict[str, Any]]] = {
    "unknown": {"no_such_argument": 1},
    "no-records": {"max_poll_records": 0},
    "text-of-records": {"max_poll_records": "5"},
    "protocol": {"security_protocol": "PLAIN"},
    "ssl": {"security_protocol": "SSL"},
    "isolation": {"isolation_level": "none_at_all"},
    "reset": {"auto_offset_reset": "nowhere"},
    "rack": {"client_rack": "r1"},
    "instance": {"group_instance_id": "i1"},
    "range": {"partition_assignment_strategy": "range"},
}


def _constructor(given: dict[str, Any]) -> Probe:
    async def run(world: Any) -> Any:
        if "partition_assignment_strategy" in given:
            chosen = {"partition_assignment_strategy": [world.k.RangePartitionAssignor]}
            return plain_assignment(await world.joined(**chosen))
        consumer = world.make(**given)
        return await told(consumer.start())

    return run


def plain_assignment(consumer: Any) -> list[int]:
    """Numbers of the partitions that are assigned."""
    return sorted(each.partition for each in consumer.assignment())


for _name, _given in CONFIGURATIONS.items():
    PROBES[f"constructor-{_name}"] = _constructor(_given)

# Calls on a consumer that is subscribed, one that reads by hand, one of no group, one that is new, one that is stopped.

CALLS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "assignment": lambda w, c: c.assignment(),
    "subscription": lambda w, c: c.subscription(),
    "paused": lambda w, c: c.paused(),
    "subscribe-nothing": lambda w, c: c.subscribe(),
    "subscribe-both": lambda w, c: c.subscribe(["a"], pattern="b"),
    "subscribe-text": lambda w, c: c.subscribe("orders"),
    "subscribe-bad-pattern": lambda w, c: c.subscribe(pattern="("),
    "subscribe-bad-listener": lambda w, c: c.subscribe([w.topic], listener=object()),
    "subscribe-pattern": lambda w, c: c.subscribe(pattern="t-none"),
    "assign": lambda w, c: c.assign([w.part(1)]),
    "seek-text": lambda w, c: c.seek(w.part(), "1"),
    "seek-below": lambda w, c: c.seek(w.part(), -1),
    "seek-elsewhere": lambda w, c: c.seek(w.part(0, w.more), 1),
    "highwater-elsewhere": lambda w, c: c.highwater(w.part(0, w.more)),
    "pause-text": lambda w, c: c.pause("a"),
    "pause-elsewhere": lambda w, c: c.pause(w.part(0, w.more)),
    "resume-text": lambda w, c: c.resume("a"),
    "partitions-for-topic": lambda w, c: c.partitions_for_topic(w.topic),
    "partitions-for-none": lambda w, c: c.partitions_for_topic("nowhere"),
    "iter": lambda w, c: c.__aiter__() is c,
}
AWAITED: Final[dict[str, Callable[[Any, Any], Awaitable[Any]]]] = {
    "commit-elsewhere": lambda w, c: c.commit({w.part(0, w.more): 1}),
    "commit-empty": lambda w, c: c.commit({}),
    "commit-list": lambda w, c: c.commit([w.part()]),
    "commit-text-key": lambda w, c: c.commit({"a": 1}),
    "commit-text": lambda w, c: c.commit({w.part(): "abc"}),
    "commit-number-metadata": lambda w, c: c.commit({w.part(): (1, 2)}),
    "committed-elsewhere": lambda w, c: c.committed(w.part(0, w.more)),
    "position-elsewhere": lambda w, c: c.position(w.part(0, w.more)),
    "getmany-negative": lambda w, c: c.getmany(max_records=0),
    "getmany-text": lambda w, c: c.getmany("a"),
    "seek-to-beginning-text": lambda w, c: c.seek_to_beginning("a"),
    "seek-to-beginning-elsewhere": lambda w, c: c.seek_to_beginning(w.part(0, w.more)),
    "seek-to-end-text": lambda w, c: c.seek_to_end("a"),
    "seek-to-committed-text": lambda w, c: c.seek_to_committed("a"),
    "seek-to-committed-elsewhere": lambda w, c: c.seek_to_committed(w.part(0, w.more)),
    "times-negative": lambda w, c: c.offsets_for_times({w.part(): -1}),
    "beginnings": lambda w, c: c.beginning_offsets([w.part(), w.part(1)]),
    "ends": lambda w, c: c.end_offsets([w.part(), w.part(1)]),
}
STATES: Final[dict[str, Callable[[Any], Awaitable[Any]]]] = {
    "subscribed": lambda w: w.joined(),
    "by-hand": lambda w: w.reading(),
    "groupless": lambda w: w.joined(group_id=None),
}


async def _late(awaited: Callable[[Any, Any], Awaitable[Any]], world: Any, consumer: Any) -> Any:
    return await awaited(world, consumer)


def _one(state: str, name: str) -> Probe:
    async def run(world: Any) -> Any:
        world.produce(0, 2)
        consumer = await STATES[state](world)
        if name in CALLS:
            return said(lambda: CALLS[name](world, consumer))
        return await told(_late(AWAITED[name], world, consumer))

    return run


for _state in STATES:
    for _name in (*CALLS, *AWAITED):
        PROBES[f"{_state}-{_name}"] = _one(_state, _name)


# Stories.


async def drain(consumer: Any, count: int) -> list[Any]:
    """So many records, by partition and offset."""
    return sorted([await consumer.getone() for _ in range(count)], key=lambda each: (each.partition, each.offset))


async def batches(consumer: Any, count: int) -> list[Any]:
    """So many records by getmany, which may bring them in any number of batches."""
    found: list[Any] = []
    while len(found) < count:
        for records in (await consumer.getmany(timeout_ms=2000)).values():
            found += records
    return found


@probe
async def records_of_a_subscription(world: Any) -> Any:
    world.produce(0, 2)
    world.produce(1, 3)
    return await drain(await world.joined(), 5)


@probe
async def many_at_once(world: Any) -> Any:
    world.produce(0, 3)
    consumer = await world.reading()
    found = await batches(consumer, 3)
    return [found, await consumer.getmany(timeout_ms=100), await consumer.getmany()]


@probe
async def at_most_so_many(world: Any) -> Any:
    world.produce(0, 3)
    consumer = await world.reading()
    counts: list[int] = []
    while sum(counts) < 3:
        counts.append(sum(map(len, (await consumer.getmany(timeout_ms=2000, max_records=1)).values())))
    return [max(counts), await consumer.position(world.part())]


@probe
async def committed_and_read_on(world: Any) -> Any:
    world.produce(0, 4)
    consumer = await world.reading()
    await drain(consumer, 2)
    before = await consumer.committed(world.part())
    await consumer.commit()
    after = await consumer.committed(world.part())
    await consumer.stop()
    other = await world.reading()
    return [before, after, await other.position(world.part()), await drain(other, 2)]


@probe
async def committed_by_name(world: Any) -> Any:
    world.produce(0, 4)
    consumer = await world.joined()
    answers = [await told(consumer.commit({world.part(): 3})), await consumer.committed(world.part())]
    await consumer.commit({world.part(): (2, "note")})
    return [*answers, await consumer.committed(world.part()), await consumer.seek_to_committed()]


@probe
async def sought(world: Any) -> Any:
    world.produce(0, 5)
    consumer = await world.reading()
    await drain(consumer, 2)
    consumer.seek(world.part(), 4)
    found = await drain(consumer, 1)
    answers = [await consumer.seek_to_beginning(), await consumer.position(world.part())]
    found += await drain(consumer, 1)
    answers += [await consumer.seek_to_end(world.part()), await consumer.position(world.part())]
    return [found, answers, await consumer.getmany(timeout_ms=100)]


@probe
async def sought_beyond_the_end(world: Any) -> Any:
    world.produce(0, 2)
    consumer = await world.reading()
    consumer.seek(world.part(), 50)
    return await drain(consumer, 2)


@probe
async def sought_beyond_without_reset(world: Any) -> Any:
    world.produce(0, 2)
    consumer = await world.reading(auto_offset_reset="none")
    consumer.seek(world.part(), 50)
    return await consumer.getone()


@probe
async def nothing_committed_without_reset(world: Any) -> Any:
    world.produce(0, 2)
    return await (await world.reading(auto_offset_reset="none")).getone()


@probe
async def paused_and_resumed(world: Any) -> Any:
    world.produce(0, 2)
    world.produce(1, 2)
    consumer = await world.reading(0, 1)
    consumer.pause(world.part())
    found = [await drain(consumer, 2), consumer.paused(), await consumer.getmany(timeout_ms=100)]
    consumer.resume(world.part())
    return [*found, consumer.paused(), await drain(consumer, 2)]


@probe
async def of_one_partition_only(world: Any) -> Any:
    world.produce(0, 2)
    world.produce(1, 2)
    consumer = await world.reading(0, 1)
    return [await consumer.getone(world.part(1)), await consumer.getmany(world.part(0), timeout_ms=2000)]


@probe
async def highwater_and_stable(world: Any) -> Any:
    world.produce(0, 3)
    consumer = await world.reading()
    before = consumer.highwater(world.part())
    await drain(consumer, 1)
    return [before, consumer.highwater(world.part()), consumer.last_stable_offset(world.part())]


@probe
async def deserialised(world: Any) -> Any:
    world.produce(0, 1)
    return await drain(await world.reading(value_deserializer=lambda value: value.decode().upper()), 1)


@probe
async def a_deserialiser_that_fails(world: Any) -> Any:
    world.produce(0, 2)
    consumer = await world.reading(value_deserializer=json.loads)
    answers = [await told(consumer.getone()), await told(consumer.getone()), await consumer.position(world.part())]
    return [*answers, await told(consumer.getmany(timeout_ms=500))]


@probe
async def only_what_is_new(world: Any) -> Any:
    world.produce(0, 3)
    consumer = await world.reading(auto_offset_reset="latest")
    at = await consumer.position(world.part())
    world.produce(0, 1)
    return [at, await drain(consumer, 1)]


@probe
async def what_is_new_comes_while_one_waits(world: Any) -> Any:
    consumer = await world.joined()
    waiting = asyncio.ensure_future(consumer.getone())
    await asyncio.sleep(0.3)
    world.produce(1, 1)
    return await waiting


@probe
async def offsets_and_topics(world: Any) -> Any:
    world.produce(0, 3)
    consumer = await world.reading()
    answers = [await consumer.beginning_offsets([world.part(), world.part(1)])]
    answers += [await consumer.end_offsets([world.part(), world.part(1)]), consumer.partitions_for_topic(world.more)]
    there = {each for each in await consumer.topics() if each in (world.topic, world.more)}
    return [*answers, there, consumer.partitions_for_topic(world.more), await consumer.offsets_for_times({})]


@probe
async def of_a_partition_that_is_not_there(world: Any) -> Any:
    consumer = await world.reading(request_timeout_ms=500)
    return await told(consumer.end_offsets([world.part(7)]))


@probe
async def stopped(world: Any) -> Any:
    world.produce(0, 1)
    consumer = await world.joined()
    await consumer.stop()
    answers = [await told(consumer.stop()), await told(consumer.getone()), await told(consumer.getmany())]
    return [*answers, said(consumer.__aiter__), consumer.assignment(), consumer.subscription()]


@probe
async def stopped_while_one_waits(world: Any) -> Any:
    consumer = await world.joined()
    waiting = [asyncio.ensure_future(told(consumer.getone())), asyncio.ensure_future(told(consumer.__anext__()))]
    waiting.append(asyncio.ensure_future(told(consumer.getmany(timeout_ms=60_000))))
    await asyncio.sleep(0.2)
    await consumer.stop()
    return await asyncio.gather(*waiting)


@probe
async def not_started(world: Any) -> Any:
    consumer = world.make(world.topic)
    answers = [await told(consumer.getone()), await told(consumer.commit()), said(consumer.assignment)]
    answers += [said(lambda: consumer.seek(world.part(), 1)), said(consumer.subscription)]
    return [*answers, await told(consumer.getmany()), await told(consumer.position(world.part()))]


@probe
async def started_twice(world: Any) -> Any:
    return await told((await world.joined()).start())


@probe
async def a_topic_that_is_read_by_nobody(world: Any) -> Any:
    async with world.make() as consumer:
        answers = [said(consumer.assignment), said(consumer.subscription), await told(consumer.commit())]
        answers.append(await told(consumer.seek_to_beginning()))
        return [*answers, said(lambda: consumer.pause(world.part())), await told(consumer.position(world.part()))]


@probe
async def unsubscribed(world: Any) -> Any:
    consumer = await world.joined()
    consumer.unsubscribe()
    answers = [consumer.assignment(), consumer.subscription(), await told(consumer.commit())]
    consumer.assign([world.part(1)])
    world.produce(1, 1)
    return [*answers, consumer.assignment(), await drain(consumer, 1)]


@probe
async def subscribed_to_something_else(world: Any) -> Any:
    consumer = await world.joined()
    consumer.subscribe([world.more])
    between = consumer.assignment()
    for _ in range(100):
        if consumer.assignment():
            break
        await asyncio.sleep(0.05)
    return [between, consumer.assignment(), consumer.subscription()]


@probe
async def by_a_pattern(world: Any) -> Any:
    world.produce(0, 1)
    consumer = world.make()
    consumer.subscribe(pattern=f"^{world.topic}$")
    await consumer.start()
    return [await drain(consumer, 1), consumer.assignment(), consumer.subscription()]


def listener(world: Any, told_of: list[Any], name: str, consumer: Any) -> Any:
    """One that writes down what it is told, and what is assigned at that moment."""

    class Listener(world.k.ConsumerRebalanceListener):  # type: ignore[misc, name-defined]
        async def on_partitions_revoked(self, revoked: Any) -> None:
            told_of.append((name, "revoked", revoked, consumer.assignment()))
            await asyncio.sleep(0.01)

        def on_partitions_assigned(self, assigned: Any) -> None:
            told_of.append((name, "assigned", assigned, consumer.assignment()))

    return Listener()


async def _with_listener(world: Any, told_of: list[Any], name: str, **given: Any) -> Any:
    consumer = world.make(**given)
    consumer.subscribe([world.topic], listener=listener(world, told_of, name, consumer))
    await consumer.start()
    return consumer


@probe
async def a_listener_alone(world: Any) -> Any:
    told_of: list[Any] = []
    consumer = await _with_listener(world, told_of, "one")
    await consumer.stop()
    return told_of


async def a_second_member_joins_and_leaves(world: Any) -> Any:
    told_of: list[Any] = []
    one = await _with_listener(world, told_of, "one")
    first = len(one.assignment())
    two = await _with_listener(world, [], "two")
    counts = [len(one.assignment()), len(two.assignment())]
    await two.stop()
    for _ in range(200):
        if len(one.assignment()) == 2:
            break
        await asyncio.sleep(0.05)
    return [first, counts, [(each[1], len(each[2]), len(each[3])) for each in told_of]]


async def committed_in_the_listener(world: Any) -> Any:
    world.produce(0, 2)
    world.produce(1, 2)
    answers: list[Any] = []
    one = world.make()

    class Listener(world.k.ConsumerRebalanceListener):  # type: ignore[misc, name-defined]
        async def on_partitions_revoked(self, revoked: Any) -> None:
            if revoked:
                answers.append(await told(one.commit()))

        async def on_partitions_assigned(self, assigned: Any) -> None:
            for each in sorted(assigned):
                answers.append(await told(one.position(each)))

    one.subscribe([world.topic], listener=Listener())
    await one.start()
    await drain(one, 4)
    two = await world.joined()
    answers.append(await two.committed(world.part()))
    await two.stop()
    return answers[:3], answers[-1]


@probe
async def auto_committed_at_the_end(world: Any) -> Any:
    world.produce(0, 3)
    consumer = await world.joined(enable_auto_commit=True)
    await drain(consumer, 2)
    await consumer.stop()
    return await (await world.reading()).committed(world.part())


@probe
async def auto_committed_meanwhile(world: Any) -> Any:
    world.produce(0, 3)
    consumer = await world.joined(enable_auto_commit=True, auto_commit_interval_ms=200)
    await drain(consumer, 2)
    await asyncio.sleep(0.7)
    return await consumer.committed(world.part())


@probe
async def too_slow(world: Any) -> Any:
    world.produce(0, 2)
    told_of: list[Any] = []
    consumer = await _with_listener(world, told_of, "one", max_poll_interval_ms=500, session_timeout_ms=6000)
    await drain(consumer, 1)
    await asyncio.sleep(1.5)
    found = [(each[1], len(each[2])) for each in told_of]
    again = await drain(consumer, 1)
    return [found, again, [(each[1], len(each[2])) for each in told_of]]


@probe
async def without_a_group(world: Any) -> Any:
    world.produce(0, 1)
    world.produce(1, 1)
    consumer = await world.joined(group_id=None)
    answers = [await drain(consumer, 2), consumer.assignment()]
    return [*answers, await told(consumer.commit()), await told(consumer.committed(world.part()))]
