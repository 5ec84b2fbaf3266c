"""What comes of records that were given back to their broker (spec 6.6, 6.7)."""

from rocketmq_selfbalance.client import consuming, consuming_orderly
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.pool import Batch
from rocketmq_selfbalance.codes import SUCCESS


def answered(client: Instance, number: int, code: int | None) -> None:
    """A broker has the records back, or (None: no answer came) has not."""
    sent = client.sent_back.pop(number)
    client.out.cancel_timer(("sent back", number))
    consumer = client.consumers.get(sent.group)
    if consumer is None:
        return
    go_on = consuming_orderly.back_answered if consumer.orderly else consuming.back_answered
    go_on(client, consumer, Batch(sent.queue, sent.number, sent.first, sent.end), success=code == SUCCESS)


def connection_lost(client: Instance, peer: str) -> None:
    """What is on its way to this peer does not arrive."""
    for number in [number for number, sent in client.sent_back.items() if sent.address == peer]:
        answered(client, number, None)
