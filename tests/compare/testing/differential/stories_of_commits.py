"""Several calls in a row: what commits are of, what they answer, who is told."""

from typing import Any

from confluent_kafka import TopicPartition

from tests.compare.testing.differential.probing import alone, offsets, probe, seen, told
from tests.compare.testing.differential.worlds import World


@probe()
def a_commit_of_nothing_new(world: World) -> Any:
    consumer = alone(world)
    world.read(consumer, 2)
    return [told(lambda: consumer.commit(asynchronous=False)) for _ in range(2)] + [told(consumer.commit)]


@probe()
def assign_then_commit_without_a_read(world: World) -> Any:
    consumer = alone(world)
    consumer.assign([world.partition(0, 3)])
    return [told(lambda: consumer.commit(asynchronous=False)), told(consumer.commit), offsets(world, consumer)]


@probe()
def a_commit_after_seeking_back(world: World) -> Any:
    consumer = alone(world)
    world.read(consumer, 4)
    consumer.commit(asynchronous=False)
    consumer.seek(world.partition(0, 1))
    first = told(lambda: consumer.commit(asynchronous=False))
    world.read(consumer, 1)
    return [first, told(lambda: consumer.commit(asynchronous=False)), offsets(world, consumer)]


@probe()
def a_commit_after_seeking_on(world: World) -> Any:
    consumer = alone(world)
    world.read(consumer, 1)
    consumer.seek(world.partition(0, 3))
    before = told(lambda: consumer.commit(asynchronous=False))
    return [before, offsets(world, consumer), seen(world.read(consumer))]


@probe()
def a_commit_of_a_message(world: World) -> Any:
    consumer = alone(world)
    (message,) = world.read(consumer)
    return [told(lambda: consumer.commit(message=message, asynchronous=False)), offsets(world, consumer)]


@probe()
def a_commit_backwards(world: World) -> Any:
    consumer = alone(world)
    world.read(consumer, 3)
    consumer.commit(asynchronous=False)
    consumer.commit(offsets=[world.partition(0, 1)], asynchronous=False)
    return [offsets(world, consumer), told(lambda: consumer.commit(asynchronous=False)), offsets(world, consumer)]


@probe()
def a_commit_beyond_the_end(world: World) -> Any:
    consumer = alone(world)
    return [
        told(lambda: consumer.commit(offsets=[world.partition(0, 99)], asynchronous=False)),
        offsets(world, consumer),
    ]


@probe()
def a_commit_of_a_partition_that_is_not_there(world: World) -> Any:
    consumer = alone(world)
    return told(lambda: consumer.commit(offsets=[world.partition(7, 1)], asynchronous=False))


@probe()
def a_commit_of_a_topic_that_is_not_there(world: World) -> Any:
    consumer = alone(world)
    return told(lambda: consumer.commit(offsets=[TopicPartition("nowhere", 0, 1)], asynchronous=False))


@probe()
def a_commit_of_good_and_invalid_offsets(world: World) -> Any:
    consumer = alone(world)
    both = [world.partition(0, 2), world.partition(1)]
    return [told(lambda: consumer.commit(offsets=both, asynchronous=False)), offsets(world, consumer)]


@probe()
def a_commit_of_an_error(world: World) -> Any:
    consumer = alone(world, enable_partition_eof=True)
    messages = world.until(consumer, lambda message: message is not None and message.error() is not None)
    return [seen(messages), told(lambda: consumer.commit(message=messages[-1], asynchronous=False))]


@probe()
def stored_offsets(world: World) -> Any:
    consumer = alone(world, enable_auto_offset_store=False)
    first = world.read(consumer, 2)
    nothing = told(lambda: consumer.commit(asynchronous=False))
    answers = [told(lambda: consumer.store_offsets(message=first[0]))]
    answers.append(told(lambda: consumer.commit(asynchronous=False)))
    answers.append(told(lambda: consumer.store_offsets(offsets=[world.partition(0, 4)])))
    answers.append(told(lambda: consumer.commit(asynchronous=False)))
    answers.append(told(lambda: consumer.store_offsets(offsets=[world.partition(1, 4)])))
    answers.append(told(lambda: consumer.store_offsets(offsets=[world.partition(0, -5)])))
    answers.append(told(lambda: consumer.store_offsets(offsets=[])))
    return [nothing, *answers, offsets(world, consumer)]


@probe()
def stored_with_metadata(world: World) -> Any:
    consumer = alone(world, enable_auto_offset_store=False)
    world.read(consumer, 2)
    consumer.store_offsets(offsets=[TopicPartition(world.topic, 0, 2, "who")])
    consumer.commit(asynchronous=False)
    return consumer.committed([world.partition(0)], timeout=2)[0].metadata


@probe()
def committed_by_closing(world: World) -> Any:
    consumer = alone(world, enable_auto_commit=True)
    world.read(consumer, 3)
    consumer.close()
    return offsets(world, world.consumer())


@probe()
def committed_by_leaving(world: World) -> Any:
    consumer = world.joined(world.consumer(enable_auto_commit=True))
    world.produce(0, 5)
    world.read(consumer, 3)
    consumer.close()
    return offsets(world, world.consumer())


@probe()
def not_committed_by_closing(world: World) -> Any:
    consumer = alone(world)
    world.read(consumer, 3)
    consumer.close()
    return offsets(world, world.consumer())


@probe()
def a_commit_is_told_to_its_callback(world: World) -> Any:
    heard: list[Any] = []
    consumer = alone(world, 2, on_commit=lambda error, partitions: heard.append((error, partitions)))
    world.read(consumer, 2)
    consumer.commit()
    before = len(heard)
    world.until(consumer, lambda message: bool(heard), polls=40)
    return [before, heard]


@probe()
def a_commit_that_waits_is_told_to_its_callback(world: World) -> Any:
    heard: list[Any] = []
    consumer = alone(world, 2, on_commit=lambda error, partitions: heard.append((error, partitions)))
    world.read(consumer, 2)
    consumer.commit(asynchronous=False)
    world.until(consumer, lambda message: bool(heard), polls=10)
    return [heard]


@probe()
def a_commit_of_nothing_is_told_to_its_callback(world: World) -> Any:
    heard: list[Any] = []
    consumer = alone(world, 0, on_commit=lambda error, partitions: heard.append((error, partitions)))
    consumer.commit()
    world.until(consumer, lambda message: bool(heard), polls=20)
    return [heard]


@probe()
def a_commit_on_a_timer_is_told_to_its_callback(world: World) -> Any:
    heard: list[Any] = []
    config = {"enable_auto_commit": True, "auto_commit_interval_ms": 100}
    consumer = alone(world, 2, on_commit=lambda error, partitions: heard.append((error, partitions)), **config)
    world.until(consumer, lambda message: bool(heard), polls=40)
    return [heard[:1]]


@probe()
def statistics_are_told(world: World) -> Any:
    heard: list[Any] = []
    consumer = world.consumer(stats_cb=heard.append, statistics_interval_ms=100)
    world.until(consumer, lambda message: bool(heard), polls=40)
    return [type(heard[0]), heard[0].startswith("{")] if heard else "nothing"
