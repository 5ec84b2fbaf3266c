"""A batch is written to a table, then committed. A process that dies in between writes its batch a second time."""

from typing import Any

CONFIG = {
    "bootstrap.servers": "kafka:9092",
    "group.id": "shop",
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
}


class Table:
    """A database's table of orders. ``insert`` adds rows in one transaction."""

    def __init__(self) -> None:
        self.rows: dict[tuple[int, int], bytes] = {}

    def insert(self, batch: list[Any]) -> None:
        self.rows.update({(each.partition(), each.offset()): each.value() for each in batch})


def buggy(consumer: Any, table: Any) -> None:
    """Inserts whatever comes."""
    consumer.subscribe(["orders"])
    while True:
        batch = [each for each in consumer.consume(10, timeout=2.0) if not each.error()]
        if batch:
            table.insert(batch)
            consumer.commit(asynchronous=False)


def mended(consumer: Any, table: Any) -> None:
    """Partition and offset are the rows' key: what is there is not inserted again."""
    consumer.subscribe(["orders"])
    while True:
        batch = [each for each in consumer.consume(10, timeout=2.0) if not each.error()]
        new = [each for each in batch if (each.partition(), each.offset()) not in table.rows]
        if new:
            table.insert(new)
        if batch:
            consumer.commit(asynchronous=False)
