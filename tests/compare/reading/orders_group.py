"""A RocketMQ group that reads the topic orders, as mqadmin shows it."""

from collections.abc import Sequence

from protocols import Queue
from tests.compare.reading.mqadmin_tool import connection_view

RETRY = Queue("%RETRY%g", "broker-a", 0)
Q = [Queue("orders", "broker-a", n) for n in range(6)]


def lag(*queues: Queue) -> dict[Queue, int]:
    """Each queue lags by its number."""
    return {queue: queue.number for queue in queues}


def connections(*ids: str, topics: Sequence[str] = ("orders", "%RETRY%g")) -> list[str]:
    """What consumerConnection prints."""
    return connection_view(ids, topics)
