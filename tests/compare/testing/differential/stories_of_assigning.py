"""Several calls in a row that change what is read: by hand, as a member, in between."""

from typing import Any

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, OFFSET_INVALID, OFFSET_STORED, TopicPartition

from tests.compare.testing.differential.probing import alone, offsets, probe, seen, told
from tests.compare.testing.differential.worlds import PARTITIONS, World

TAIL = -2000
"""Offsets below stand for so many records before the end."""


def _nothing_of(world: World, consumer: Any) -> Any:
    return seen(world.until(consumer, lambda message: message is not None, polls=15))


@probe()
def no_offset_to_begin_at_is_an_error(world: World) -> Any:
    consumer = alone(world, auto_offset_reset="error")
    found = [*world.read(consumer), *world.until(consumer, lambda message: False, polls=10)]
    answers = [consumer.position([world.partition(0)]), consumer.assignment()]
    return [found, *answers, told(lambda: consumer.seek(world.partition(0, 2))), _nothing_of(world, consumer)]


@probe()
def no_offset_to_begin_at_as_a_member(world: World) -> Any:
    world.produce(0, 5)
    consumer = world.consumer(auto_offset_reset="error")
    consumer.subscribe([world.topic])
    return [sorted(seen(world.read(consumer, 2)), key=str), consumer.assignment()]


@probe()
def a_seek_to_no_offset_is_an_error(world: World) -> Any:
    consumer = alone(world, auto_offset_reset="error")
    consumer.assign([world.partition(0, 1)])
    found = world.read(consumer)
    consumer.seek(world.partition(0, OFFSET_INVALID))
    return [found, world.until(consumer, lambda message: message is not None), consumer.position([world.partition(0)])]


@probe()
def assigned_anew_after_an_error(world: World) -> Any:
    consumer = alone(world, auto_offset_reset="error")
    errors = world.read(consumer)
    consumer.assign([world.partition(0, OFFSET_BEGINNING)])
    return [errors, seen(world.read(consumer))]


@probe()
def a_refused_seek_then_a_good_one(world: World) -> Any:
    consumer = alone(world)
    world.read(consumer)
    refused = told(lambda: consumer.seek(world.partition(0, OFFSET_STORED)))
    nothing = _nothing_of(world, consumer)
    consumer.seek(world.partition(0, 2))
    return [refused, nothing, seen(world.read(consumer))]


@probe()
def a_refused_seek_then_a_pause(world: World) -> Any:
    consumer = alone(world)
    world.read(consumer)
    told(lambda: consumer.seek(world.partition(0, OFFSET_STORED)))
    consumer.pause([world.partition(0)])
    consumer.resume([world.partition(0)])
    return seen(world.read(consumer))


@probe()
def a_refused_seek_then_an_assignment(world: World) -> Any:
    consumer = alone(world)
    world.read(consumer)
    told(lambda: consumer.seek(world.partition(0, OFFSET_STORED)))
    consumer.assign([world.partition(0, 1)])
    return seen(world.read(consumer))


@probe()
def a_seek_to_no_such_offset(world: World) -> Any:
    consumer = alone(world)
    world.read(consumer)
    answer = told(lambda: consumer.seek(world.partition(0, -7)))
    return [answer, _nothing_of(world, consumer), told(lambda: consumer.assign([world.partition(0, -7)]))]


@probe()
def so_many_before_the_end(world: World) -> Any:
    consumer = alone(world)
    consumer.assign([world.partition(0, TAIL - 2)])
    found = world.read(consumer)
    consumer.seek(world.partition(0, TAIL - 3))
    return [seen(found), seen(world.read(consumer))]


@probe()
def a_seek_right_after_an_assignment(world: World) -> Any:
    world.produce(0, 5)
    consumer = world.consumer()  # which has to look for its coordinator first
    consumer.assign([world.partition(0), world.partition(1)])
    answer = told(lambda: consumer.seek(world.partition(0, OFFSET_BEGINNING)))
    return [answer, seen(world.read(consumer))]


@probe()
def a_seek_right_after_an_assignment_of_stored_offsets(world: World) -> Any:
    world.produce(0, 5)
    consumer = world.consumer()
    consumer.assign([world.partition(0, OFFSET_STORED)])
    answer = told(lambda: consumer.seek(world.partition(0, 2)))
    return [answer, seen(world.read(consumer)), consumer.assignment()]


@probe()
def a_seek_where_nothing_is(world: World) -> Any:
    consumer = world.consumer()
    consumer.assign([world.partition(7, 0)])
    return [told(lambda: consumer.seek(world.partition(7, 0))), consumer.position([world.partition(7)])]


@probe()
def subscribed_after_an_assignment(world: World) -> Any:
    world.produce(0, 9)
    heard: list[Any] = []

    def assigned(consumer: Any, partitions: list[Any]) -> None:
        heard.append(("assigned", partitions, told(consumer.assignment)))

    consumer = world.consumer()
    consumer.assign([world.partition(0)])
    world.read(consumer)
    consumer.subscribe([world.more], on_assign=assigned, on_revoke=lambda c, p: heard.append(("revoked", p)))
    before = consumer.assignment()
    world.until(consumer, lambda message: bool(heard))
    return [before, heard, consumer.assignment()]


@probe()
def subscribed_to_the_same_after_an_assignment(world: World) -> Any:
    world.produce(0, 3)
    consumer = world.consumer()
    consumer.assign([world.partition(0)])
    world.read(consumer)
    consumer.subscribe([world.topic])
    world.until(consumer, lambda message: len(consumer.assignment()) == PARTITIONS)
    # Whether the real client reads on, or again from the beginning, depends on the load: on an idle machine again.
    return consumer.assignment()


@probe()
def a_member_reads_what_is_anothers(world: World) -> Any:
    world.produce(0, 3)
    world.produce(1, 3)
    first, second = world.consumer(), world.consumer()
    for each in (first, second):
        each.subscribe([world.topic])
    for _ in range(400):
        first.poll(0.02), second.poll(0.02)
        if len(first.assignment()) == len(second.assignment()) == 1:
            break
    for _ in range(20):
        first.poll(0.02), second.poll(0.02)
    answer = told(lambda: first.assign([world.partition(0, 0), world.partition(1, 0)]))
    found = world.read(first, 6)
    first.commit(asynchronous=False)
    return [answer, sorted(seen(found)), offsets(world, first), len(first.assignment()), len(second.assignment())]


@probe()
def a_member_reads_another_topic(world: World) -> Any:
    consumer = world.joined(world.consumer())
    answer = told(lambda: consumer.assign([TopicPartition(world.more, 0, OFFSET_END)]))
    nothing = _nothing_of(world, consumer)
    return [answer, nothing, consumer.assignment(), told(lambda: consumer.seek(TopicPartition(world.more, 0, 0)))]


@probe()
def a_member_reads_another_topic_beside_its_own(world: World) -> Any:
    consumer = world.joined(world.consumer(partition_assignment_strategy="cooperative-sticky"))
    answer = told(lambda: consumer.incremental_assign([TopicPartition(world.more, 0, 0)]))
    world.produce(0, 2)
    found = world.read(consumer, 2)
    return [answer, seen(found), consumer.assignment(), told(lambda: consumer.commit(asynchronous=False))]
