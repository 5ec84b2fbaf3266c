"""What comes of records that were given back to their broker with ``sendMessageBack`` (spec 6.6, 6.7)."""

from protocols.engine.nodes import Outbox, Time
from rocketmq_selfbalance.client import consuming, consuming_orderly
from rocketmq_selfbalance.client.instance import Instance
from rocketmq_selfbalance.client.pool import Batch
from rocketmq_selfbalance.codes import SUCCESS


def answered(client: Instance, now: Time, number: int, code: int | None, out: Outbox) -> None:
    """A broker has the records back, or (None: no answer came) has not."""
    sent = client.sent_back.pop(number)
    out.cancel_timer(("sent back", number))
    consumer = client.consumers.get(sent.group)
    if consumer is None:
        return
    go_on = consuming_orderly.back_answered if consumer.orderly else consuming.back_answered
    batch = Batch(sent.queue, sent.number, sent.first, sent.end)
    go_on(client, now, consumer, batch, out, success=code == SUCCESS)


def connection_lost(client: Instance, now: Time, peer: str, out: Outbox) -> None:
    """What is on its way to this peer does not arrive."""
    for number in [number for number, sent in client.sent_back.items() if sent.address == peer]:
        answered(client, now, number, None, out)
