"""From the scenario's members to what RocketMQ's consumers are started with, as they are now; the member behind a
commit; and what keeps members from ever agreeing on who owns a queue (spec 7.4 to 7.7)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from protocols.engine.nodes import Time
from protocols.engine.simulation import Observer
from protocols.errors import UserError
from protocols.facts import Committed
from protocols.groups import Group
from protocols.scenario.events import Join, Restart
from protocols.scenario.events.members import started_as
from protocols.scenario.fields import MemberPart, listed
from protocols.scenario.model import Scenario, SystemPart, split_system
from protocols.scenario.topology import MemberKey, Topology, listed_members
from rocketmq_selfbalance.client.commands import ConsumerSpec
from rocketmq_selfbalance.client.offset_store import OffsetsFile
from rocketmq_selfbalance.client.settings import ONLY_DEFAULT, REAL_NAMES, THREADS, VERSION, ClientSettings, with_fields
from rocketmq_selfbalance.cluster.servers import Configuration, client_settings
from rocketmq_selfbalance.codes import BROADCASTING
from rocketmq_selfbalance.popping.settings import OF_MEMBERS
from rocketmq_selfbalance.registry import STRATEGIES
from rocketmq_selfbalance.strategies import Strategy
from rocketmq_selfbalance.strategies.averagely import SETTING, ByConfig


class MemberNames:
    """An observer that passes every report on, with members where a broker names the node of a client. (No request
    carries a member's name; a client has one member of a group at most.)"""

    def __init__(self, following: Observer, topology: Topology) -> None:
        self._following, self._topology = following, topology
        self.created, self.sent, self.harmed = following.created, following.sent, following.harmed

    def fact(self, now: Time, node: str, fact: tuple[object, ...], root: int, cause: int) -> None:
        """See `protocols.engine.simulation.Observer`."""
        if type(fact) is Committed and fact.member is not None:
            for member in self._topology.members.get(fact.member, ()):
                if member.group == fact.group and member.member != fact.member:
                    fact = fact._replace(member=member.member)
                    break
        self._following.fact(now, node, fact, root, cause)


class Standing(NamedTuple):
    """A member as it shares: its name, its client id, what it reads, and how it takes its share."""

    name: str
    client_id: str
    topics: tuple[str, ...]
    strategy: Strategy
    message_model: str


def why_several(owners: Sequence[Standing], members: Sequence[Standing] = ()) -> str | None:
    """Why these members will go on owning the same queue: a sentence without its end. None: no reason is known.

    ``members``: the whole group, where the sentence is to be the same for all its queues as far as it can.
    """
    everything = [owner.name for owner in owners if owner.message_model == BROADCASTING]
    if everything and len(everything) == len(owners):
        return "the group is BROADCASTING: every member reads every queue"
    if everything:
        return (
            f"{listed(everything)}"
            f" {'is BROADCASTING and reads' if len(everything) == 1 else 'are BROADCASTING and read'} every queue"
        )
    if len({owner.client_id for owner in owners}) == 1 < len(owners):
        who = listed([owner.name for owner in owners])
        return f"{who} have the client id {owners[0].client_id!r}, and each takes the share of that id"
    return _strategies(owners) and _strategies(members or owners)


def why_nobody(members: Sequence[Standing], topic: str) -> str | None:
    """Why nobody in the group will ever own a queue of the topic, likewise."""
    strangers = [member.name for member in members if topic not in member.topics]
    if strangers and len(strangers) < len(members):
        many = "is a member and does" if len(strangers) == 1 else "are members and do"
        return (
            f"{listed(strangers)} {many} not read {topic}, so the share of"
            f" {'this member' if len(strangers) == 1 else 'these members'} has no owner"
        )
    ids = [member.client_id for member in members]
    twins = [member.name for member in members if ids.count(member.client_id) > 1]
    if twins:
        return f"{listed(twins)} do not have unique client ids, and members with the same id take the same share"
    return _strategies(members)


def _strategies(members: Sequence[Standing]) -> str | None:
    if len({member.strategy.name for member in members}) < 2:
        return None
    named = ", ".join(f"{member.name} {member.strategy.name}" for member in members)
    return f"the members use different strategies: {named}"


_OF_CLIENTS = frozenset((*REAL_NAMES, *ONLY_DEFAULT, VERSION))


def group_settings() -> frozenset[str]:
    """Names of what a group may have as settings: none is modelled."""
    return frozenset()


def member_settings() -> frozenset[str]:
    """Names of what a single member may have as settings: a client's, of either line, and those of any strategy."""
    return _OF_CLIENTS.union(OF_MEMBERS, *(STRATEGIES[name].settings for name in STRATEGIES))


class Members:
    """What every member is, or was last. Everything is checked when it is made, also what events will change.

    A member's strategy is its own or the variant's. Its client id is the one given to it or to another member of its
    process, else the name of its process. A pattern is looked up once, when the member starts: RocketMQ has none.
    """

    def __init__(
        self, scenario: Scenario, system: SystemPart, topology: Topology, configuration: Configuration
    ) -> None:
        self.by_hand: set[MemberKey] = set()
        """Members whose listener is somebody's own (`ConsumerSpec.by_hand`)."""
        self._strategy = split_system(system.system)[1]
        self._topology, self._configuration = topology, configuration
        self._files: dict[tuple[str, str], OffsetsFile] = {}
        """(Client id, group) to where a BROADCASTING consumer keeps its offsets."""
        self.parts = listed_members(scenario)
        self._everyone = dict(self.parts)
        """Members by what they will be when they are first there: rooms are known before anybody joins."""
        self._groups: dict[str, Group] = {}
        starts = [event for event in scenario.events if isinstance(event, Join | Restart)]
        self.message_models: dict[str, set[str]] = {}
        """Group to the message models that its members ever have."""
        will_be: list[tuple[MemberKey, MemberPart]] = list(self.parts.items())
        now = dict(self.parts)
        for event in starts:
            key = topology.starting(event)
            now[key] = started_as(now.get(key), event)
            self._everyone.setdefault(key, now[key])
            will_be.append((key, now[key]))
        for key, part in will_be:
            spec = self._spec(key, part, ())
            self.message_models.setdefault(key.group, set()).add(spec.settings.message_model)

    def start(self, key: MemberKey, event: Join | Restart) -> None:
        self.parts[key] = started_as(self.parts.get(key), event)
        self._everyone.setdefault(key, self.parts[key])
        self._groups.clear()

    def subscribe(self, key: MemberKey, topics: tuple[str, ...]) -> tuple[str, ...]:
        """The member subscribes to these topics from now on; to which it did before."""
        before = self.parts[key].subscribe
        self.parts[key] = self.parts[key].model_copy(update={"subscribe": topics, "pattern": None})
        return before

    def client_id(self, node: str) -> str:
        given = [self._part(key).client_id for key in self._topology.members[node]]
        return next((id for id in given if id is not None), node)

    def spec(self, key: MemberKey, topics: Iterable[str]) -> ConsumerSpec:
        """What the member's consumer is started with; ``topics`` are those that there are."""
        return self._spec(key, self.parts[key], topics)

    def standing(self, key: MemberKey, topics: Iterable[str]) -> Standing:
        """How the member takes its share; ``topics`` are those that there are."""
        spec = self.spec(key, topics)
        own = self.client_id(self._topology.node[key])
        return Standing(key.member, own, spec.topics, spec.strategy, spec.settings.message_model)

    def broadcasting(self, group: str) -> list[str]:
        """The members of the group, up to now, that read every queue whoever else does, sorted."""
        keys = sorted(key for key in self.parts if key.group == group)
        return [key.member for key in keys if self.spec(key, ()).settings.message_model == BROADCASTING]

    def _part(self, key: MemberKey) -> MemberPart:
        return self.parts.get(key) or self._everyone[key]

    def _spec(self, key: MemberKey, part: MemberPart, topics: Iterable[str]) -> ConsumerSpec:
        where = f"member {key.member}"
        mine = {name: value for name, value in part.settings.items() if name in _OF_CLIENTS}
        subscribed = part.subscribe
        if part.pattern is not None:
            subscribed = tuple(topic for topic in topics if re.fullmatch(part.pattern, topic))
        strategy = self._strategy_of(key, part, where)
        for queue in (isinstance(strategy, ByConfig) and strategy.message_queue_list) or ():
            if queue.topic not in subscribed:
                # A real client owns such a queue until its next pass and pulls nothing.
                expected = f"queues of what it subscribes to: {', '.join(subscribed)}"
                raise UserError(f"{where}: {SETTING} names a queue of {queue.topic!r}, expected {expected}")
        return ConsumerSpec(
            key.group,
            key.member,
            subscribed,
            strategy,
            self._settings(part, mine, where),
            part.handle,
            self._files.setdefault((self.client_id(self._topology.node[key]), key.group), OffsetsFile()),
            key in self.by_hand,
        )

    def _settings(self, part: MemberPart, mine: Mapping[str, object], where: str) -> ClientSettings:
        """``threads`` is the pool of a push consumer, unless the member's own settings say otherwise, and what the loop
        of a pull consumer hands records to."""
        if part.threads is None:
            return client_settings(self._configuration, mine, where)
        settings = client_settings(self._configuration, {THREADS: part.threads, **mine}, where)
        return with_fields(settings, {"user_threads": part.threads})

    def _strategy_of(self, key: MemberKey, part: MemberPart, where: str) -> Strategy:
        name = part.strategy or self._strategy
        if name not in STRATEGIES:
            raise UserError(f"{where}: unknown strategy {name!r} of RocketMQ, expected one of {', '.join(STRATEGIES)}")
        known = STRATEGIES[name].settings
        given = {**self._configuration.strategy, **part.settings}
        own = {setting: value for setting, value in given.items() if setting in known}
        # Those of other strategies are for other variants of the same scenario.
        every = member_settings()
        for setting in part.settings:
            if setting not in every:
                expected = ", ".join((*known, *REAL_NAMES, VERSION))
                raise UserError(
                    f"{where}: unknown setting {setting!r} of RocketMQ's {name}, expected one of {expected}"
                )
        return STRATEGIES[name].implementation(own, self._group(key.group))(key.member)

    def _group(self, name: str) -> Group:
        """Racks and client ids of all who will ever be in the group: the same object while nobody starts again."""
        group = self._groups.get(name)
        if group is None:
            members: Mapping[str, Mapping[str, object]] = {
                key.member: {"subscribe": (), "rack": other.rack, "client_id": self.client_id(self._topology.node[key])}
                for key, other in self._everyone.items()
                if key.group == name
            }
            group = self._groups[name] = Group.of({}, members, name=name)
        return group
