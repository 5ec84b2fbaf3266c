"""Fetches that wait are answered when there is enough for them, when their time is over, or when something is wrong."""

from collections.abc import Iterable

from kafka_coordinator.wire.fetches import WaitingFetch
from kafka_coordinator.wire.records.fetch import answer, enough, stop_timer
from kafka_coordinator.wire.state import BrokerState
from protocols.engine.nodes import Outbox, Time


def wake(state: BrokerState, now: Time, changed: Iterable[tuple[str, int]], out: Outbox) -> None:
    """Records were written to these partitions."""
    fetches = state.fetches
    if not fetches.waiting:
        return
    for partition in changed:
        for sender in list(fetches.waiting_for.get(partition, ())):
            fetch = fetches.waiting.get(sender)
            if fetch is not None and enough(state, fetch):
                _complete(state, now, fetch, out)


def look_again(state: BrokerState, now: Time, out: Outbox) -> None:
    """The cluster has changed: fetches from partitions that this broker leads no longer are answered now."""
    for fetch in list(state.fetches.waiting.values()):
        if any(not state.leads(name, key[1]) for key, name in fetch.names.items()) or enough(state, fetch):
            _complete(state, now, fetch, out)


def time_is_over(state: BrokerState, now: Time, sender: str, out: Outbox) -> None:
    """The fetch has waited as long as it wants to."""
    fetch = state.fetches.forget(sender)
    if fetch is not None:
        answer(state, now, sender, fetch.request, fetch.context, out)


def _complete(state: BrokerState, now: Time, fetch: WaitingFetch, out: Outbox) -> None:
    state.fetches.forget(fetch.sender)
    stop_timer(fetch.sender, out)
    answer(state, now, fetch.sender, fetch.request, fetch.context, out)
