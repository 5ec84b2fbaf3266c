"""Commands that reach a broker without any network: what producers write, and that its process is to end.

RocketMQ has no such messages: producers (``SendMessageProcessor``) are no nodes here, a process is ended by a signal
(``BrokerController.shutdown``)."""

from typing import NamedTuple


class Produce(NamedTuple):
    """Producers write so many records per second to each queue of the topic from now on. (Producers are no
    nodes: their records are never objects.) ``queues``: the broker's queues that get another number, which may come
    later, as (number, records per second)."""

    correlation: int
    topic: str
    per_second: float
    queues: tuple[tuple[int, float], ...] = ()


class Write(NamedTuple):
    """Producers write so many records at once to one queue."""

    correlation: int
    topic: str
    number: int
    records: int


class StopBroker(NamedTuple):
    """The process is asked to end: it flushes what it holds and takes leave of the name servers. Its world ends it
    right after."""

    correlation: int
