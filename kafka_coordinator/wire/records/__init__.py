"""Records of a served cluster: kept as they came, bounded in memory, read back by any client.

`HANDLERS` answers the requests about them; a broker's node calls `timeout` for timers whose name begins with
``records``, `closed` when a client has gone, and `cluster_changed` when it has learnt a new state of the cluster.
"""

from collections.abc import Mapping
from typing import Final

from kafka_coordinator.wire import requests
from kafka_coordinator.wire.records.fetch import fetch
from kafka_coordinator.wire.records.offsets import delete_records, list_offsets, offsets_for_leader_epochs
from kafka_coordinator.wire.records.produce import produce
from kafka_coordinator.wire.records.producer_ids import init_producer_id
from kafka_coordinator.wire.records.waking import look_again, time_is_over
from kafka_coordinator.wire.state import BrokerState, Handler
from protocols.engine.nodes import Message, Outbox, Time, TimerName

__all__ = ["HANDLERS", "closed", "cluster_changed", "timeout"]

HANDLERS: Final[Mapping[type[Message], Handler]] = {
    requests.Produce: produce,
    requests.Fetch: fetch,
    requests.ListOffsets: list_offsets,
    requests.OffsetForLeaderEpoch: offsets_for_leader_epochs,
    requests.DeleteRecords: delete_records,
    requests.InitProducerId: init_producer_id,
}


def timeout(state: BrokerState, now: Time, timer: TimerName, out: Outbox) -> None:
    """A timer of a fetch that waits is due."""
    time_is_over(state, now, timer[2], out)


def closed(state: BrokerState, now: Time, peer: str) -> None:
    """The client's connection has ended: its fetch waits no longer. Its session stays until it gives way."""
    state.fetches.forget(peer)


def cluster_changed(state: BrokerState, now: Time, out: Outbox) -> None:
    """The broker knows a new state of the cluster."""
    look_again(state, now, out)
