"""InitProducerId: every idempotent producer gets an id; transactions are refused.

In Kafka `TransactionCoordinator.handleInitProducerId`, `ProducerIdManager`.
"""

from datetime import timedelta
from typing import Final

from kio.schema.errors import ErrorCode

from kafka_coordinator.wire import entities
from kafka_coordinator.wire.requests import Answer, InitProducerId
from kafka_coordinator.wire.state import BrokerState
from protocols.engine.nodes import Outbox, Time

_KEY: Final = 22
_NO_TIME: Final = timedelta(0)


def init_producer_id(state: BrokerState, now: Time, sender: str, request: InitProducerId, out: Outbox) -> None:
    """A new id with epoch 0. A producer that has one already gets a new one, too."""
    body = request.body
    code, number, epoch = ErrorCode.none, -1, -1
    if body.transactional_id is not None:
        code = ErrorCode.transactional_id_authorization_failed
    elif (getattr(body, "producer_id", -1) == -1) != (getattr(body, "producer_epoch", -1) == -1):
        code = ErrorCode.invalid_request
    else:
        number, epoch = state.storage.next_producer_id, 0
        state.storage.next_producer_id += 1
    kind = entities.response(_KEY, request.version)
    answer = entities.make(kind, throttle_time=_NO_TIME, error_code=code, producer_id=number, producer_epoch=epoch)
    out.send(sender, Answer(request.correlation, answer))
