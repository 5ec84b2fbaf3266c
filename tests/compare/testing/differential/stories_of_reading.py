"""Several calls in a row: where reading begins, what callbacks may do, what is told when."""

from typing import Any

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, OFFSET_INVALID

from tests.compare.testing.differential.probing import alone, offsets, probe, seen, told
from tests.compare.testing.differential.worlds import World


@probe()
def the_end_of_a_partition(world: World) -> Any:
    consumer = alone(world, 2, enable_partition_eof=True)
    found = world.read(consumer, 3)
    world.produce(0, 1)
    return [*found, *world.read(consumer, 2)]


@probe()
def where_reading_begins_if_nobody_says(world: World) -> Any:
    consumer = alone(world, auto_offset_reset=None)
    nothing = world.until(consumer, lambda message: message is not None, polls=15)
    world.produce(0, 1)
    return [seen(nothing), seen(world.read(consumer))]


@probe()
def where_reading_begins_with_earliest(world: World) -> Any:
    return seen(world.read(alone(world)))


@probe()
def where_reading_begins_with_nothing_to_reset_to(world: World) -> Any:
    return world.read(alone(world, auto_offset_reset="error"))


@probe()
def where_reading_begins_with_a_commit(world: World) -> Any:
    first = alone(world)
    first.commit(offsets=[world.partition(0, 3)], asynchronous=False)
    first.close()
    second = world.consumer()
    second.assign([world.partition(0)])
    return seen(world.read(second))


@probe()
def where_reading_begins_with_a_commit_beyond_the_end(world: World) -> Any:
    first = alone(world)
    first.commit(offsets=[world.partition(0, 99)], asynchronous=False)
    first.close()
    second = world.consumer()
    second.assign([world.partition(0)])
    return seen(world.read(second))


@probe()
def a_seek_beyond_the_end_starts_anew(world: World) -> Any:
    consumer = alone(world)
    world.read(consumer)
    consumer.seek(world.partition(0, 99))
    return seen(world.read(consumer, 2))


@probe()
def a_seek_beyond_the_end_with_latest(world: World) -> Any:
    world.produce(0, 5)
    consumer = world.consumer(auto_offset_reset="latest")
    consumer.assign([world.partition(0, 1)])
    world.read(consumer)
    consumer.seek(world.partition(0, 99))
    nothing = world.until(consumer, lambda message: message is not None, polls=20)
    world.produce(0, 1)
    return [seen(nothing), seen(world.read(consumer))]


@probe()
def a_seek_beyond_the_end_with_nothing_to_reset_to(world: World) -> Any:
    consumer = alone(world, auto_offset_reset="error")
    consumer.assign([world.partition(0, 99)])
    return world.read(consumer)


@probe()
def assigned_to_the_beginning_and_the_end(world: World) -> Any:
    consumer = alone(world)
    world.produce(1, 3)
    consumer.assign([world.partition(1, OFFSET_BEGINNING), world.partition(0, OFFSET_END)])
    found = world.read(consumer, 3)
    consumer.poll(0.3)
    world.produce(0, 1)
    return [seen(found), seen(world.read(consumer)), consumer.assignment()]


@probe()
def positions_before_and_after_a_read(world: World) -> Any:
    consumer = alone(world)
    before = consumer.position([world.partition(0)])
    world.read(consumer, 2)
    return [before, consumer.position([world.partition(0)])]


@probe()
def assigned_again_where_it_was(world: World) -> Any:
    consumer = alone(world)
    world.read(consumer, 2)
    consumer.assign([world.partition(0)])
    return [seen(world.read(consumer)), offsets(world, consumer)]


@probe()
def paused_and_resumed(world: World) -> Any:
    consumer = alone(world)
    world.read(consumer, 2)
    consumer.pause([world.partition(0)])
    nothing = world.until(consumer, lambda message: message is not None, polls=10)
    consumer.resume([world.partition(0)])
    return [seen(nothing), seen(world.read(consumer))]


@probe()
def a_callback_that_raises(world: World) -> Any:
    def assigned(consumer: Any, partitions: list[Any]) -> None:
        raise ValueError("no")

    world.produce(0, 2)
    consumer = world.consumer()
    consumer.subscribe([world.topic], on_assign=assigned)
    raised = told(lambda: world.until(consumer, lambda message: message is not None))
    return [raised, [each.partition for each in consumer.assignment()], seen(world.read(consumer))]


@probe()
def poll_in_a_callback(world: World) -> Any:
    heard: list[Any] = []
    world.produce(0, 2)

    def assigned(consumer: Any, partitions: list[Any]) -> None:
        heard.append(told(lambda: consumer.poll(0.3)))
        heard.append(told(lambda: consumer.consume(2, 0.3)))

    consumer = world.consumer()
    consumer.subscribe([world.topic], on_assign=assigned)
    found = world.read(consumer)
    return [heard, seen(found)]


@probe()
def assigned_in_on_assign_elsewhere(world: World) -> Any:
    world.produce(0, 5)

    def assigned(consumer: Any, partitions: list[Any]) -> None:
        for each in partitions:
            each.offset = 3 if each.partition == 0 else OFFSET_BEGINNING
        consumer.assign(partitions)

    consumer = world.consumer()
    consumer.subscribe([world.topic], on_assign=assigned)
    return [seen(world.read(consumer)), consumer.assignment()]


@probe()
def revoked_by_unsubscribing(world: World) -> Any:
    told_of: list[Any] = []
    consumer = world.joined(world.consumer(), on_revoke=lambda consumer, partitions: told_of.append(partitions))
    consumer.unsubscribe()
    world.until(consumer, lambda message: bool(told_of), polls=20)
    return [told_of, consumer.assignment()]


@probe()
def revoked_by_closing(world: World) -> Any:
    told_of: list[Any] = []
    consumer = world.joined(world.consumer(), on_revoke=lambda consumer, partitions: told_of.append(partitions))
    consumer.close()
    return told_of


@probe()
def an_unknown_topic_is_told(world: World) -> Any:
    consumer = world.consumer()
    consumer.subscribe(["nowhere"])
    found = world.read(consumer)
    return [found, world.until(consumer, lambda message: message is not None, polls=10)]


@probe()
def a_pattern_is_subscribed_to(world: World) -> Any:
    world.produce(0, 1)
    consumer = world.consumer()
    consumer.subscribe([f"^{world.topic}$"])
    return [seen(world.read(consumer)), consumer.assignment()]


@probe()
def subscribed_to_something_else(world: World) -> Any:
    consumer = world.joined(world.consumer())
    consumer.subscribe([world.more])
    world.until(consumer, lambda message: [each.topic for each in consumer.assignment()] == [world.more], polls=300)
    return [each.topic for each in consumer.assignment()]


@probe()
def an_unknown_partition_is_assigned(world: World) -> Any:
    consumer = world.consumer()
    consumer.assign([world.partition(7, 0)])
    return [consumer.assignment(), world.read(consumer)[:1]]


@probe()
def many_records_at_once(world: World) -> Any:
    consumer = alone(world)
    return seen(consumer.consume(5, 4.0))


@probe()
def nothing_to_consume(world: World) -> Any:
    consumer = alone(world, 0)
    return [consumer.consume(5, 0.2), consumer.poll(0), consumer.poll(0.1)]


@probe()
def closed_twice(world: World) -> Any:
    consumer = alone(world)
    return [told(consumer.close), told(consumer.close), told(lambda: consumer.poll(0))]


@probe()
def closed_by_with(world: World) -> Any:
    with world.consumer() as consumer:
        before = told(consumer.assignment)
    return [before, told(consumer.assignment)]


@probe()
def a_member_that_is_too_slow(world: World) -> Any:
    lost: list[Any] = []
    config = {"max_poll_interval_ms": 6000, "session_timeout_ms": 6000, "heartbeat_interval_ms": 500}
    consumer = world.consumer(**config)
    world.joined(consumer, on_lost=lambda consumer, partitions: lost.append(partitions))
    world.produce(0, 1)
    world.read(consumer)
    world.wait(7.5)
    late = told(lambda: consumer.commit(offsets=[world.partition(0, 1)], asynchronous=False))
    found = world.until(consumer, lambda message: bool(lost), polls=60)
    return [late, [each.error() for each in found], lost]


@probe()
def an_offset_of_none_read_by_seek(world: World) -> Any:
    consumer = alone(world)
    world.read(consumer, 3)
    consumer.seek(world.partition(0, OFFSET_INVALID))
    return seen(world.read(consumer))
