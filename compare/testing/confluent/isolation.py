"""Which records a consumer is shown: ``isolation.level`` (librdkafka's default is ``read_committed``)."""

from compare.testing.kafka.node import Partition
from compare.testing.transactions import Transactions
from protocols.queues import Queue


class Isolation:
    """Of one consumer; ``committed_only``: it reads committed records only, and waits at open transactions."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self.committed_only = True

    def readable_end(self, partition: Partition, end: int) -> int:
        """Up to where records are handed out: the last stable offset, or the end of the partition."""
        return self._transactions.stable_end(_queue(partition), end) if self.committed_only else end

    def after_hidden(self, partition: Partition, offset: int) -> int:
        """The first offset from this one on that is not hidden."""
        queue = _queue(partition)
        while self._transactions.is_hidden(queue, offset, committed_only=self.committed_only):
            offset += 1
        return offset


def _queue(partition: Partition) -> Queue:
    topic, number = partition
    return Queue(topic, "", number)
