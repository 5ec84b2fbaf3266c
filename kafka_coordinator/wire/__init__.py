"""Kafka's wire protocol: the brokers of this package before clients that nobody here wrote (extra ``serve``).

The nodes are those of the simulation; this package turns frames into their messages and back. Frames come from
strangers: every length in one is checked against what is left of it before anything is decoded, every answer has the
version that the request named, and a request that takes long is divided, so that other connections are served
meanwhile. The codec of the messages is the library `kio`; what it does not do for us stands beside it.
"""

from typing import TYPE_CHECKING

from protocols.named_modules import lazy_names

if TYPE_CHECKING:
    from kafka_coordinator.wire import entities as wire_entities
    from kafka_coordinator.wire.apis import APIS
    from kafka_coordinator.wire.entities import code
    from kafka_coordinator.wire.error_answers import error_answer
    from kafka_coordinator.wire.records.batches import NewRecord, batch, header_of
    from kafka_coordinator.wire.requests import Answer, EndTxn, Fetch, InitProducerId, Produce, Request
    from kafka_coordinator.wire.served import DEFAULT_BROKERS, Operations, ServedCluster
    from kafka_coordinator.wire.share_records import ExpireLocks, Hidden
    from kafka_coordinator.wire.transactions import FenceProducer

__getattr__ = lazy_names(__name__)
