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
from typing import Final, NamedTuple

from compare.serving.service import Seen, Service
from protocols.engine.nodes import Message, Time
from protocols.engine.simulation import CALL
from protocols.facts import Owns, RebalanceBegan, RebalanceEnded, Transition
from protocols.java import Queue
from protocols.scenario.events import AddTopic, Crash, DeleteTopic, Event, Join, Leave, Queues, Subscribe
from protocols.scenario.fields import GroupPart, TopicPart
from protocols.scenario.model import RunPart, Scenario, SystemPart
from protocols.timeline import Recorder, Timeline, lifetimes
from protocols.timeline.lifetimes import Lifetimes

MEMBER_LEFT: Final = "member left"
"""What a coordinator's state machine calls it that a member takes its leave."""

REAL: Final = "real"
"""Label of the one variant."""

FIRST_NUMBER: Final = 1 << 40
"""Numbers of the events' calls begin here, far above those of the world."""


class Heard(NamedTuple):
    """A message between a client and the coordinator. ``peer``: the client's connection."""

    at: Time
    peer: str
    message: Message
    is_answer: bool


class TopicChange(NamedTuple):
    """From this time on there are these topics, with so many partitions each."""

    at: Time
    topics: Mapping[str, int]


class History:
    """The observer of a world on sockets: hands everything on to a recorder and keeps the events.

    ``uncounted``: prefixes of topics that no figure counts. `watch` says what is watched.
    """

    def __init__(self, uncounted: tuple[str, ...] = ()) -> None:
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
        self.heard: list[Heard] = []
        """Every message between clients and servers, where the world traces."""
        self.topic_changes: list[TopicChange] = []
        """Numbers of partitions, from the beginning on."""
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
        self._keep_topics(0.0)

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
        self.recorder.created(number, due, kind, node, what, cause)

    def sent(
        self, now: Time, arrives: Time | None, sender: str, to: str, message: Message, number: int, cause: int
    ) -> None:
        is_request = self._service is not None and to in self._service.brokers
        peer = sender if is_request else to
        self.heard.append(Heard(now, peer, message, not is_request))
        client_id = getattr(message, "client_id", None)
        if client_id and is_request:
            self._labels[peer] = f"{client_id} ({peer.rpartition(':')[2]})"
        shown = self._labels.get(peer, peer)
        pair = (shown, to) if is_request else (sender, shown)
        self.recorder.sent(now, arrives, *pair, message, number, cause)

    def harmed(self, now: Time, sender: str, to: str, lost: Message | None) -> None:
        self.recorder.harmed(now, sender, to, lost)

    # Events.

    def happened(self, event: Event) -> None:
        """An event that the operator let happen, or that was concluded."""
        self._number += 1
        self.events[self._number] = event
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
        there = service.topics()
        if there == self._topics:
            return
        for topic in [each for each in self._topics if each not in there]:
            self.happened(DeleteTopic(at=now, delete_topic=topic))
        for topic, queues in there.items():
            before = self._topics.get(topic)
            if before is None:
                self.happened(AddTopic(at=now, add_topic={topic: TopicPart(queues=dict(queues))}))
            elif before != queues:
                self.happened(Queues(at=now, queues={topic: dict(queues)}))
        self._topics = {topic: dict(queues) for topic, queues in there.items()}
        self._keep_topics(now)
        self.lives.clear()
        self.lives.update(self._lifetimes(now))

    def _keep_topics(self, now: Time) -> None:
        counts = {topic: sum(queues.values()) for topic, queues in self._topics.items()}
        self.topic_changes.append(TopicChange(now, counts))

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

    def _lifetimes(self, now: Time) -> Lifetimes:
        assert self._service is not None
        return lifetimes(self.scenario("", now), self._service.numbering)
