"""What the stories have in common."""

from typing import Any

from tests.compare.testing.differential.worlds import World


def offsets(world: World, consumer: Any) -> list[int]:
    """The committed offsets of both partitions."""
    return [each.offset for each in consumer.committed([world.partition(0), world.partition(1)], timeout=2)]


def alone(world: World, records: int = 5, **config: Any) -> Any:
    """A consumer to which a partition with so many records was assigned by hand."""
    world.produce(0, records)
    consumer = world.consumer(**config)
    consumer.assign([world.partition(0)])
    return consumer


def seen(messages: list[Any]) -> list[Any]:
    """Where messages come from, and errors among them."""
    return [(each.partition(), each.offset(), each.error()) for each in messages]
