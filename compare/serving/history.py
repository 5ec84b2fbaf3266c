"""What real clients have done, as a scenario: who joined, left or was lost, and what became of the topics.

The servers see requests and connections, never processes. So these events are *concluded*:

| seen | told as |
|---|---|
| a member that was not there before | ``join`` |
| a member is gone, and said so | ``leave`` |
| a member is gone, and did not say so | ``crash``: when it last gave up what it owned, as its connection closed |
| other topics of a member | ``subscribe`` |
| topics come, go, grow | ``add_topic``, ``delete_topic``, ``queues`` |

Events that the operator lets happen (a broker stops) are told by who lets them happen.
"""

from collections.abc import Mapping
from math import inf
from typing import Any, Final, Protocol

from compare.serving.service import Seen, Service
from protocols.engine.nodes import Message, Time
from protocols.engine.simulation import CALL
from protocols.facts import Owns, RebalanceBegan, RebalanceEnded, Transition
from protocols.java import Queue
from protocols.scenario.events import (
    AddTopic,
    BrokerEvent,
    Crash,
    DeleteTopic,
    Event,
    Join,
    Leave,
    Network,
    Queues,
    Subscribe,
)
from protocols.scenario.fields import GroupPart, TopicPart
from protocols.scenario.model import RunPart, Scenario, SystemPart
from protocols.timeline import Recorder, Timeline

MEMBER_LEFT: Final = "member left"
"""What a coordinator's state machine calls it that a member takes its leave."""

REAL: Final = "real"
"""Label of the one variant."""

FIRST_NUMBER: Final = 1 << 40
"""Numbers of the events' calls begin here, far above those of the world."""


MOST_MESSAGES: Final = 200_000
"""Messages that are kept for a report; the first ones, without the contents of records."""


class Listener(Protocol):
    """Who writes down what is heard (`compare.serving.recorded.Journal`)."""

    def heard(self, at: Time, peer: str, message: Message, is_answer: bool) -> None:
        """A message between a client and a server. ``peer``: the server and the client's connection."""

    def topic(self, at: Time, topic: str, partitions: int | None) -> None:
        """A topic has so many partitions from now on; None: it is gone."""

    def untraceable(self, at: Time, why: str) -> None:
        """Something has happened to servers."""


class History:
    """The observer of a world on sockets: hands everything on to a recorder and keeps the events.

    ``uncounted``: prefixes of topics that no figure counts; ``keeps_messages``: whether a report is to show them, where
    the world traces. `watch` says what is watched.
    """

    def __init__(self, uncounted: tuple[str, ...] = (), *, keeps_messages: bool = False) -> None:
        self.lives: dict[Queue, tuple[tuple[Time, Time], ...]] = {}
        self.recorder = Recorder(lives=self.lives, uncounted=uncounted)
        self.events: dict[int, Event] = {}
        """Number of the call to the event."""
        self.last_change: Time = 0.0
        """When somebody's belief changed last."""
        self.owned: dict[tuple[str, str], tuple[Queue, ...]] = {}
        """(Group, member) to what it believes to own; without those that never owned anything."""
        self.rebalancing: dict[str, bool] = {}
        """Group to whether a rebalance is under way, as its coordinator tells."""
        self.listener: Listener | None = None
        self.messages = 0
        """How many there were, where the world traces."""
        self._keeps_messages = keeps_messages
        self._labels: dict[str, str] = {}
        """Connection to what people see of it: the client's id and its port."""
        self._service: Service | None = None
        self._first_topics: dict[str, dict[str, int]] = {}
        self._topics: dict[str, dict[str, int]] = {}
        self._members: dict[str, dict[str, Seen]] = {}
        self.strategies: dict[str, str] = {}
        """Group to the strategy that it used last."""
        self._leaving: set[tuple[str, str]] = set()
        self._gave_up: dict[tuple[str, str], Time] = {}
        self._left_at: dict[str, Time] = {}
        """Group to when somebody said last that it leaves."""
        self._number = FIRST_NUMBER

    def watch(self, service: Service) -> None:
        """From now on this cluster is watched; the topics that it has are there from the beginning."""
        self._service = service
        self._first_topics = {topic: dict(queues) for topic, queues in service.topics().items()}
        self._topics = dict(self._first_topics)
        service.changed_topics()

    # The observer's side.

    def fact(self, now: Time, node: str, fact: tuple[object, ...], root: int, cause: int) -> None:
        if isinstance(fact, RebalanceBegan):
            if fact.by is not None and fact.trigger == f"{fact.by} left":
                self._leaving.add((fact.group, fact.by))
            self.rebalancing[fact.group] = True
            self._look_at(fact.group, now)
        elif isinstance(fact, RebalanceEnded):
            self.rebalancing[fact.group] = False
            self._look_at(fact.group, now)
        elif isinstance(fact, Transition):
            if fact.event == MEMBER_LEFT:
                self._left_at[fact.of] = now
        elif isinstance(fact, Owns):
            self.last_change = now
            self.owned[fact.group, fact.member] = fact.queues
            if fact.queues:
                self._gave_up.pop((fact.group, fact.member), None)
            else:
                self._gave_up[fact.group, fact.member] = now
        self.recorder.fact(now, node, fact, root, cause)

    def created(self, number: int, due: Time, kind: int, node: str, what: object, cause: int) -> None:
        if kind == CALL or (self._keeps_messages and self.messages < MOST_MESSAGES):
            self.recorder.created(number, due, kind, node, what, cause)

    def sent(
        self, now: Time, arrives: Time | None, sender: str, to: str, message: Message, number: int, cause: int
    ) -> None:
        is_request = self._service is not None and to in self._service.brokers
        server, peer = (to, sender) if is_request else (sender, to)
        if self.listener is not None:
            if self._service is not None:
                self._look_at_topics(self._service, now)
            self.listener.heard(now, f"{server} {peer}", message, not is_request)
        self.messages += 1
        if not self._keeps_messages or self.messages > MOST_MESSAGES:
            return
        client_id = getattr(message, "client_id", None)
        if client_id and is_request:
            self._labels[peer] = f"{client_id} ({peer.rpartition(':')[2]})"
        shown = self._labels.get(peer, peer)
        pair = (shown, to) if is_request else (sender, shown)
        self.recorder.sent(now, arrives, *pair, _without_contents(message), number, cause)

    def harmed(self, now: Time, sender: str, to: str, lost: Message | None) -> None:
        self.recorder.harmed(now, sender, to, lost)

    # Events.

    def happened(self, event: Event) -> None:
        """An event that the operator let happen, or that was concluded."""
        self._number += 1
        self.events[self._number] = event
        if self.listener is not None and isinstance(event, BrokerEvent | Network):
            self.listener.untraceable(event.at, event.describe())
        self.recorder.created(self._number, event.at, CALL, "", event.describe(), 0)

    def look(self, now: Time) -> None:
        """Compare with what was there before."""
        service = self._service
        if service is None:
            return
        self._look_at_topics(service, now)
        for group in service.groups():
            self._look_at_group(service, group, now)

    def _look_at(self, group: str, now: Time) -> None:
        """As `look`, of one group alone."""
        if self._service is not None:
            self._look_at_topics(self._service, now)
            self._look_at_group(self._service, group, now)

    def _look_at_group(self, service: Service, group: str, now: Time) -> None:
        self._look_at_members(group, service.members(group), now)
        strategy = service.strategy(group)
        if strategy:
            self.strategies[group] = strategy

    def _look_at_topics(self, service: Service, now: Time) -> None:
        for topic, queues in service.changed_topics().items():
            before = self._topics.pop(topic, None)
            if queues == before:
                if queues is not None:
                    self._topics[topic] = dict(queues)
                continue
            if queues is None:
                self.happened(DeleteTopic(at=now, delete_topic=topic))
            elif before is None:
                self.happened(AddTopic(at=now, add_topic={topic: TopicPart(queues=dict(queues))}))
            else:
                self.happened(Queues(at=now, queues={topic: dict(queues)}))
            if queues is not None:
                self._topics[topic] = dict(queues)
            self._live(topic, before or {}, queues or {}, now)
            if self.listener is not None:
                self.listener.topic(now, topic, None if queues is None else sum(queues.values()))

    def _live(self, topic: str, before: Mapping[str, int], after: Mapping[str, int], now: Time) -> None:
        """The topic has other queues: when each exists, as `protocols.timeline.lifetimes` would have it."""
        assert self._service is not None
        numbering = self._service.numbering
        old = dict.fromkeys(numbering.queues(topic, before))
        new = dict.fromkeys(numbering.queues(topic, after))
        for queue in old.keys() - new.keys():
            *spans, (since, _) = self.lives.get(queue, ((0.0, inf),))
            self.lives[queue] = (*spans, (since, now))
        for queue in new.keys() - old.keys():
            self.lives[queue] = (*self.lives.get(queue, ()), (now, inf))

    def _look_at_members(self, group: str, there: Mapping[str, Seen], now: Time) -> None:
        known = self._members.setdefault(group, {})
        for name in [each for each in known if each not in there]:
            del known[name]
            self._ended(group, name, now)
        for name, seen in there.items():
            before = known.get(name)
            known[name] = seen
            if before is None:
                self._joined(group, name, seen, now)
            elif before.topics != seen.topics:
                self.happened(Subscribe(at=now, group=group, subscribe={name: seen.topics}))

    def _joined(self, group: str, name: str, seen: Seen, now: Time) -> None:
        self.happened(
            Join(
                at=now,
                join=name,
                group=group,
                subscribe=None if seen.pattern else seen.topics,
                pattern=seen.pattern,
                instance_id=seen.instance_id,
            )
        )

    def _ended(self, group: str, name: str, now: Time) -> None:
        key = group, name
        if key in self._leaving or self._left_at.get(group) == now:
            self._leaving.discard(key)
            self.happened(Leave(at=now, leave=name, group=group))
        else:
            self.happened(Crash(at=self._gave_up.get(key, now), crash=name, group=group))

    # The reader's side.

    def scenario(self, name: str, end: Time, systems: tuple[SystemPart, ...] = ()) -> Scenario:
        """What happened until ``end`` (milliseconds)."""
        service = self._service
        assert service is not None
        return Scenario(
            name=name,
            about="what real clients did",
            brokers=tuple(service.brokers),
            topics={topic: TopicPart(queues=queues) for topic, queues in self._first_topics.items()},
            groups={group: GroupPart() for group in self._members},
            threads="real",
            run=RunPart.model_validate({"for": end, "latency": (0.0, 0.0)}),
            systems=systems,
            events=tuple(sorted(self.events.values(), key=lambda event: event.at)),
        )

    def timeline(self, end: Time, messages: Mapping[type[Message], int] | None = None) -> Timeline:
        """All that was observed until ``end``; ``messages`` as of the world."""
        return self.recorder.timeline(end, dict(self.events), messages)


def _without_contents(message: Message) -> Message:
    """The message without what producers wrote: a report shows kinds of messages, and memory is bounded."""
    given: Any = message
    if getattr(given, "body", None):
        given = given._replace(body=None)
    elif getattr(given, "records", None):
        given = given._replace(records=())
    found: Message = given
    return found
