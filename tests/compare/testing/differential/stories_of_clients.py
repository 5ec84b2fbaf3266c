"""What a client tells beside records: its log, its errors, what it knows of the cluster."""

from collections.abc import Callable
from typing import Any

from tests.compare.testing.differential.probing import alone, plain, probe, seen, told
from tests.compare.testing.differential.worlds import World


class Logger:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[Any] = []

    def log(self, level: int, *args: object) -> None:
        self.lines.append([level, *args])


def _told_by(world: World, change: Any, **config: object) -> Any:
    """What the log is told of changes of an assignment, before and after a poll."""
    logger = Logger()
    consumer = world.make(world.config(**config), logger=logger)
    if config:
        world.joined(consumer)
    answers = [told(lambda each=each: each(consumer)) for each in change]
    before = list(logger.lines)
    consumer.poll(0.3)
    return [answers, before, logger.lines]


@probe()
def a_log_of_refused_assignments(world: World) -> Any:
    return _told_by(
        world,
        [
            lambda c: c.assign([world.partition(0, 1), world.partition(0, 2)]),
            lambda c: c.incremental_unassign([world.partition(0)]),
            lambda c: c.assign([world.partition(0)]),
            lambda c: c.incremental_unassign([world.partition(1)]),
            lambda c: c.incremental_assign([world.partition(0)]),
        ],
    )


@probe()
def a_log_of_a_member_under_range(world: World) -> Any:
    changes = [lambda c: c.incremental_assign([world.partition(1)]), lambda c: c.incremental_unassign([])]
    return _told_by(world, changes, partition_assignment_strategy="range")


@probe()
def a_log_of_a_cooperative_member(world: World) -> Any:
    changes = [
        lambda c: c.assign([world.partition(0)]),
        lambda c: c.unassign(),
        lambda c: c.incremental_assign([world.partition(0)]),
        lambda c: c.incremental_unassign([world.partition(5)]),
    ]
    return _told_by(world, changes, partition_assignment_strategy="cooperative-sticky")


@probe()
def a_log_in_the_configuration(world: World) -> Any:
    logger = Logger()
    consumer = world.consumer(logger=logger, client_id="mine", acks="all")
    consumer.consume(1, 0.2)
    return logger.lines


@probe()
def a_log_of_what_is_for_producers(world: World) -> Any:
    logger = Logger()
    values = {
        "linger.ms": 5,
        "retries": 3,
        "enable.idempotence": True,
        "compression.type": "gzip",
        "acks": "all",
        "batch.size": 9000,
        "batch.num.messages": 9,
        "transactional.id": "t",
        "transaction.timeout.ms": 9000,
        "delivery.timeout.ms": 9000,
        "request.timeout.ms": 900,
        "queue.buffering.max.messages": 9,
        "sticky.partitioning.linger.ms": 9,
        "queue.buffering.max.kbytes": 99,
        "compression.level": 3,
        "delivery.report.only.error": True,
        "queue.buffering.backpressure.threshold": 3,
    }
    consumer = world.make({**world.config(), **values}, logger=logger)
    consumer.poll(0.2)
    return logger.lines


@probe()
def a_log_told_by_closing(world: World) -> Any:
    logger = Logger()
    consumer = world.make(world.config(), logger=logger)
    told(lambda: consumer.incremental_unassign([world.partition(0)]))
    consumer.close()
    return logger.lines


@probe()
def a_log_that_is_none(world: World) -> Any:
    consumer = world.make(world.config(), logger=5)
    told(lambda: consumer.incremental_unassign([world.partition(0)]))
    return [told(lambda: consumer.poll(0.2)) for _ in range(2)]


@probe()
def a_log_of_a_member_that_is_too_slow(world: World) -> Any:
    logger = Logger()
    config = {"max_poll_interval_ms": 6000, "session_timeout_ms": 6000, "heartbeat_interval_ms": 500}
    consumer = world.joined(world.consumer(logger=logger, **config))
    world.wait(7.5)
    before = list(logger.lines)
    return [before, consumer.poll(0.3), logger.lines]


@probe()
def the_topics_of_a_cluster(world: World) -> Any:
    found = world.consumer().list_topics(world.topic, timeout=2)
    (topic,) = found.topics.values()
    partitions = [[repr(each), str(each), each.leader, each.error] for each in topic.partitions.values()]
    types = [type(each).__name__ for each in (found, topic, *topic.partitions.values(), *found.brokers.values())]
    return [repr(topic), str(topic), partitions, types, list(found.brokers)]


@probe()
def the_text_of_a_topic_that_is_not_there(world: World) -> Any:
    (topic,) = world.consumer().list_topics("nowhere", timeout=2).topics.values()
    return [repr(topic), topic.partitions]


@probe()
def topics_of_wrong_arguments(world: World) -> Any:
    consumer = world.consumer()
    return [told(lambda: consumer.list_topics(1, timeout=2)), told(lambda: consumer.list_topics(world.topic, "no"))]


@probe()
def calls_of_a_closed_client(world: World) -> Any:
    consumer = world.consumer()
    consumer.close()
    names: list[Any] = [consumer.list_topics, consumer.cluster_id, lambda: consumer.set_sasl_credentials("a", "b")]
    return [told(each) for each in names]


@probe()
def the_id_of_a_cluster(world: World) -> Any:
    consumer = world.consumer()
    return [type(consumer.cluster_id()), consumer.cluster_id() == consumer.list_topics(timeout=2).cluster_id]


@probe()
def credentials(world: World) -> Any:
    consumer = world.consumer()
    calls: list[Any] = [("a", "b"), (1, 2), ("a", None)]
    answers = [told(lambda each=each: consumer.set_sasl_credentials(*each)) for each in calls]
    return [*answers, told(lambda: consumer.set_sasl_credentials(username="a", password="b"))]


@probe(alone=True)
def the_brokers_stop(world: World) -> Any:
    heard: list[Any] = []
    logger = Logger()
    consumer = world.joined(world.consumer(error_cb=lambda error: heard.append(plain(error)[1:3]), logger=logger))
    before = [list(heard), list(logger.lines)]
    world.stop_brokers()
    found = world.until(consumer, lambda message: False, polls=60)
    calls: list[Any] = [
        lambda: consumer.committed([world.partition(0)], timeout=0.5),
        lambda: consumer.list_topics(timeout=0.5),
        lambda: consumer.get_watermark_offsets(world.partition(0), timeout=0.5),
        lambda: consumer.commit(offsets=[world.partition(0, 1)]),
    ]
    answers = [told(each) for each in calls]
    lines = {(level, facility) for level, _, facility, _, _ in logger.lines}
    return [before, found, sorted(set(heard)), sorted(lines), answers]


@probe(alone=True)
def a_member_that_is_fenced(world: World) -> Any:
    heard: list[Any] = []
    logger = Logger()
    config = {"group_instance_id": "one", "heartbeat_interval_ms": 500}
    consumer = world.joined(world.consumer(error_cb=heard.append, logger=logger, **config))
    world.fence(consumer)
    found = world.until(consumer, lambda message: message is not None)
    calls: list[Any] = [
        lambda: consumer.commit(offsets=[world.partition(0, 1)], asynchronous=False),
        consumer.assignment,
        lambda: consumer.subscribe([world.topic]),
        lambda: consumer.poll(0.2),
        lambda: alone(world) is not None,
    ]
    return [found, heard, logger.lines, [told(each) for each in calls]]


@probe()
def a_pause_outlasts_the_assignment(world: World) -> Any:
    world.produce(0, 2)
    consumer = world.joined(world.consumer())
    world.read(consumer, 2)
    consumer.pause([world.partition(0)])
    consumer.unsubscribe()
    world.until(consumer, lambda message: not consumer.assignment())
    world.joined(consumer)
    nothing = world.until(consumer, lambda message: message is not None, polls=10)
    consumer.resume([world.partition(0)])
    return [nothing, seen(world.read(consumer, 2))]


@probe()
def a_listener_that_raises_in_close(world: World) -> Any:
    def revoked(consumer: Any, partitions: list[Any]) -> None:
        raise ValueError("no")

    consumer = world.joined(world.consumer(), on_revoke=revoked)
    return [told(consumer.close), told(consumer.close), told(lambda: consumer.poll(0))]


def _revoked_of(world: World, take: Callable[[Any, list[Any]], object], strategy: str = "range") -> Any:
    """What on_revoke is told in close(), after on_assign has said itself what is read."""
    called: list[Any] = []

    def assigned(consumer: Any, partitions: list[Any]) -> None:
        called.append(told(lambda: take(consumer, partitions)))

    consumer = world.consumer(partition_assignment_strategy=strategy)
    consumer.subscribe([world.topic], on_assign=assigned, on_revoke=lambda _, partitions: called.append(partitions))
    world.until(consumer, lambda message: bool(called))
    return [told(consumer.close), called]


@probe()
def revoked_after_nothing_was_assigned(world: World) -> Any:
    return _revoked_of(world, lambda consumer, partitions: consumer.assign([]))


@probe()
def revoked_after_a_part_was_assigned(world: World) -> Any:
    return _revoked_of(world, lambda consumer, partitions: consumer.assign(partitions[1:]))


@probe()
def revoked_after_a_refused_assignment(world: World) -> Any:
    return _revoked_of(world, lambda consumer, partitions: consumer.incremental_assign(partitions))


@probe()
def revoked_after_a_refused_assignment_of_a_cooperative_assignor(world: World) -> Any:
    return _revoked_of(world, lambda consumer, partitions: consumer.unassign(), "cooperative-sticky")


@probe()
def unsubscribe_commits_what_is_stored(world: World) -> Any:
    world.produce(0, 3)
    consumer = world.joined(world.consumer(enable_auto_commit=True))
    world.read(consumer, 3)
    consumer.unsubscribe()
    world.until(consumer, lambda message: False, polls=10)
    return [each.offset for each in consumer.committed([world.partition(0)], timeout=5)]


@probe()
def an_assign_in_close_is_not_refused(world: World) -> Any:
    answers: list[Any] = []

    def revoked(consumer: Any, partitions: list[Any]) -> None:
        answers.append(told(lambda: consumer.assign(partitions)))

    consumer = world.joined(world.consumer(partition_assignment_strategy="cooperative-sticky"), on_revoke=revoked)
    return [told(consumer.close), answers]


def _subscribed_again(world: World, strategy: str) -> Any:
    called: list[tuple[str, int]] = []
    listeners = {
        "on_assign": lambda _, partitions: called.append(("assigned", len(partitions))),
        "on_revoke": lambda _, partitions: called.append(("revoked", len(partitions))),
    }
    consumer = world.joined(world.consumer(partition_assignment_strategy=strategy), **listeners)
    world.joined(consumer, **listeners)
    world.until(consumer, lambda message: False, polls=30)
    return [called, consumer.assignment()]


@probe()
def subscribed_again_under_an_eager_assignor(world: World) -> Any:
    return _subscribed_again(world, "range")


@probe()
def subscribed_again_under_a_cooperative_assignor(world: World) -> Any:
    return _subscribed_again(world, "cooperative-sticky")
