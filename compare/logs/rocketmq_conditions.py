"""Settings of a RocketMQ group's members that do not agree: strategies, subscriptions, client ids."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from compare.logs.rocketmq_doubts import Troubles
from compare.logs.rocketmq_lines import (
    BrokerBooted,
    ChannelClosed,
    ChannelExpired,
    ClientSwitched,
    Connected,
    Result,
    Rocket,
    RouteChanged,
    TopicRemoved,
    Unregistered,
)

Found = list[tuple[str, Rocket]]
"""Kinds with the lines that show them."""

_RECONNECTED_S = 45.0
"""A client that connects anew is told to be gone so long before or after."""


def conditions(own: Sequence[Rocket], every: Sequence[Rocket]) -> Found:
    """Settings of the members that do not agree, with the line that shows it first."""
    found: Found = []
    results = [event for event in own if isinstance(event, Result)]
    if len({event.strategy for event in {each.client: each for each in results}.values()}) > 1:
        second = next(event for event in results if event.strategy != results[0].strategy)
        found.append(("mixed_strategies", second))
    removed = [event for event in every if isinstance(event, TopicRemoved)]
    if not removed and (odd := _other_topics(results)):
        found.append(("inconsistent_subscription", odd))
    if len(removed) > 1 and (len({event.topic for event in removed}) > 1 or _again(removed)):
        found.append(("inconsistent_subscription", removed[0]))
    if twin := _twins(every) or _connected_twice(every):
        found.append(("duplicate_client_id", twin))
    return found


def _other_topics(results: Sequence[Result]) -> Result | None:
    """The first result of a topic whose route another member of the group never asked for."""
    own = [event for event in results if not event.topic.startswith("%RETRY%")]
    asked: dict[str, set[str]] = defaultdict(set)
    of_stream: dict[int, set[str]] = {}
    for event in own:
        stream = event.stream
        if id(stream) not in of_stream:
            lines = (each for each in stream.events if isinstance(each, RouteChanged | Result))
            of_stream[id(stream)] = {each.topic for each in lines}
        asked[event.client] |= of_stream[id(stream)]
    topics = sorted({event.topic for event in own})
    odd = next((topic for topic in topics if any(topic not in those for those in asked.values())), None)
    return next((event for event in own if event.topic == odd), None)


def _again(removed: Sequence[TopicRemoved]) -> bool:
    """One broker removed the same topic twice: somebody brought it back in between."""
    seen = [(id(event.stream), event.topic) for event in removed]
    return len(seen) != len(set(seen))


def _twins(events: Sequence[Rocket]) -> Rocket | None:
    """A client id that two processes log as their own at a time: each has lines after the first of the other's."""
    first: dict[tuple[str, int], Rocket] = {}
    last: dict[tuple[str, int], Rocket] = {}
    streams: dict[str, list[int]] = defaultdict(list)
    for event in events:
        if isinstance(event, ClientSwitched | Result) and event.stream.role == "client":
            key = event.client, id(event.stream)
            if first.setdefault(key, event) is event:
                streams[event.client].append(key[1])
            last[key] = event
    for client, those in streams.items():
        for one, other in pairwise(those):
            if last[(client, one)].at > first[(client, other)].at:
                return first[(client, other)]
    return None


def _connected_twice(events: Sequence[Rocket]) -> Rocket | None:
    """A client id that a broker seems to have twice at a time. Brokers of one machine may write one file: the end of
    the connection tells them apart."""
    there: dict[tuple[int, str], dict[str, str]] = {}
    troubles = Troubles()
    for event in events:
        if isinstance(event, BrokerBooted):  # a broker that was restarted knows nobody
            there = {key: channel for key, channel in there.items() if key[0] != id(event.stream)}
        key = id(event.stream), event.client
        if isinstance(event, Connected) and not event.is_late:
            channels = there.setdefault(key, {})
            old = channels.get(event.at_broker)
            is_other = old is not None and old != event.channel and not troubles.surround(event)
            if is_other and not _reconnected(event, old or "", events):
                return event
            channels[event.at_broker] = event.channel
        elif isinstance(event, Unregistered | ChannelClosed | ChannelExpired):
            if event.at_broker:
                there.get(key, {}).pop(event.at_broker, None)
            else:
                there.pop(key, None)
    return None


def _reconnected(new: Connected, old: str, events: Sequence[Rocket]) -> bool:
    """Whether a second connection of a client follows the end of the first: the broker says so a little later, was
    restarted, or others connect anew with it."""
    others: set[str] = set()
    earlier: set[str] = set()
    for event in events:
        if event.stream is not new.stream:
            continue
        when = event.at - new.at
        if isinstance(event, ChannelClosed) and event.channel == old and abs(when) < _RECONNECTED_S:
            return True
        if isinstance(event, Connected) and abs(when) < _RECONNECTED_S:
            others.add(event.client)
        elif isinstance(event, Connected) and when < -_RECONNECTED_S:
            earlier.add(event.client)
    return len(others & earlier) > 1
