"""From the scenario's members to consumers' configurations, and the settings of its groups, both as they are now.

The settings of a variant stand under Kafka's own names: which are the brokers', which the clients'.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final, TypeVar

from kafka_coordinator.assign import STRATEGIES
from kafka_coordinator.catalogue import CLASSIC as CLASSIC_PROTOCOL
from kafka_coordinator.catalogue import CONSUMER as CONSUMER_PROTOCOL
from kafka_coordinator.catalogue import SHARE as SHARE_PROTOCOL
from kafka_coordinator.catalogue import of_protocol
from kafka_coordinator.cluster import controller
from kafka_coordinator.cluster.outages import PRODUCER
from kafka_coordinator.consumer.assigning import in_the_broker, known_assignor
from kafka_coordinator.consumer.settings import (
    GROUP_PROTOCOL,
    REFUSED_UNDER,
    ConsumerConfig,
    ConsumerSettings,
    Load,
    assignor_names,
    protocol_of,
)
from kafka_coordinator.consumer.settings import NAMES as CONSUMER
from kafka_coordinator.consumer.share.settings import NAMES as SHARE_CONSUMER
from kafka_coordinator.consumer.share.settings import ShareConsumerSettings
from kafka_coordinator.coordinator.consumer_groups.patterns import BadPattern, compiled
from kafka_coordinator.coordinator.settings import DEFAULTS as GROUP
from kafka_coordinator.coordinator.settings import NAMES as COORDINATOR
from kafka_coordinator.coordinator.settings import BrokerSettings, checked
from kafka_coordinator.share.settings import NAMES as SHARE_PARTITIONS
from kafka_coordinator.share.settings import OF_A_GROUP, of_a_group
from protocols.errors import UserError
from protocols.scenario.events import Configure, Join, Restart
from protocols.scenario.events.members import started_as
from protocols.scenario.fields import MemberPart
from protocols.scenario.model import Scenario, SystemPart, split_system
from protocols.scenario.topology import MemberKey, Topology, listed_members


class GroupConfigs:
    """Group to its settings, under Kafka's names. Raises `protocols.errors.UserError` for what a broker refuses, be it
    that the group has it from the beginning or that an event sets it."""

    def __init__(self, scenario: Scenario, broker: BrokerSettings) -> None:
        self._broker = broker
        self.now: Mapping[str, Mapping[str, int]] = {}
        """Groups without settings of their own are in neither."""
        self.shares: Mapping[str, Mapping[str, object]] = {}
        """Those of share-partitions."""
        for name, part in scenario.groups.items():
            self._put(name, part.settings)
        beginning = self.now, self.shares
        for event in scenario.events:
            if isinstance(event, Configure):
                self.set(event)
        self.now, self.shares = beginning

    def set(self, event: Configure) -> None:
        """The settings from this event on."""
        name = event.configure
        self._put(name, {**self.now.get(name, {}), **self.shares.get(name, {}), **event.settings})

    def _put(self, name: str, given: Mapping[str, object]) -> None:
        there, where = {key: value for key, value in given.items() if value is not None}, f"group {name}"
        of_shares = of_a_group(there, where)
        own = checked({key: value for key, value in there.items() if key not in of_shares}, self._broker, where)
        self.now = _with(self.now, name, own)
        self.shares = _with(self.shares, name, of_shares)


V = TypeVar("V")


def _with(before: Mapping[str, Mapping[str, V]], name: str, own: Mapping[str, V]) -> Mapping[str, Mapping[str, V]]:
    others = {group: each for group, each in before.items() if group != name}
    return {**others, name: own} if own else others


INSTANCE_ID: Final = "group.instance.id"
RACK: Final = "client.rack"
PROTOCOL: Final = GROUP_PROTOCOL
STRATEGY: Final = "partition.assignment.strategy"
REMOTE_ASSIGNOR: Final = "group.remote.assignor"

OF_PRODUCERS: Final = "producer."
"""Before a producer's setting among those of a variant; a consumer may have one of the same name."""

OF_MEMBERS: Final = (INSTANCE_ID, RACK)
"""Client settings that say who a member is, for which the scenario has fields of its own."""


class SettingsByRole:
    """Settings of one variant, parted into those of consumers, producers (``producer.acks``), coordinator, controller
    and, where it ``shares`` records, of share-partitions.

    Raises `UserError` for a name that Kafka does not have (or the model does not know).
    """

    def __init__(self, given: Mapping[str, object], where: str, *, shares: bool = False) -> None:
        consumers = SHARE_CONSUMER if shares else CONSUMER
        self.consumer: dict[str, object] = {}
        self.share: dict[str, object] = {}
        self.coordinator: dict[str, object] = {}
        self.controller: dict[str, object] = {}
        self.producer: dict[str, object] = {}
        for name, value in given.items():
            if name in consumers:
                self.consumer[name] = value
            elif shares and name in SHARE_PARTITIONS:
                self.share[name] = value
            elif name in COORDINATOR:
                self.coordinator[name] = value
            elif name in controller.NAMES:
                self.controller[name] = value
            elif name.removeprefix(OF_PRODUCERS) in PRODUCER and name.startswith(OF_PRODUCERS):
                self.producer[name.removeprefix(OF_PRODUCERS)] = value
            else:
                of_producers = [f"{OF_PRODUCERS}{each}" for each in PRODUCER]
                of_shares = SHARE_PARTITIONS if shares else ()
                known = *consumers, *of_shares, *COORDINATOR, *controller.NAMES, *of_producers
                raise UserError(f"{where}: {_unknown(name, known)}")


def producer_settings() -> frozenset[str]:
    return frozenset(PRODUCER)


def group_settings() -> frozenset[str]:
    return frozenset((*GROUP, *OF_A_GROUP))


def member_settings() -> frozenset[str]:
    return frozenset((*CONSUMER, *SHARE_CONSUMER, *OF_MEMBERS))


def check_member_settings(given: Mapping[str, object], where: str) -> None:
    """Raises `UserError` for a name that is no setting of a consumer."""
    for name in given:
        if name not in CONSUMER and name not in SHARE_CONSUMER and name not in OF_MEMBERS:
            raise UserError(f"{where}: {_unknown(name, (*CONSUMER, *OF_MEMBERS))}")


def protocol_of_variant(strategy: str, given: Mapping[str, object], where: str) -> str:
    """The group protocol of a variant, which its strategy says. Raises `UserError` for a setting that says another."""
    if strategy == SHARE_PROTOCOL:
        return SHARE_PROTOCOL
    protocol = CONSUMER_PROTOCOL if in_the_broker(strategy) else CLASSIC_PROTOCOL
    said = _protocol(given, where)
    if said not in (None, protocol):
        fitting = ", ".join(f"kafka:{record.name}" for record in of_protocol(said or ""))
        raise UserError(
            f"{where}: {PROTOCOL} is {said}, but {strategy} belongs to the {protocol} protocol, expected {fitting}"
        )
    return protocol


def protocol_of_member(strategy: str | None, given: Mapping[str, object], variant: str, where: str) -> str:
    """The group protocol of a member: what its settings say, else what its own strategy belongs to, else the variant's.
    Raises `UserError`."""
    said = _protocol(given, where)
    if said is None and strategy is not None:
        return CONSUMER_PROTOCOL if in_the_broker(strategy) else CLASSIC_PROTOCOL
    return said or variant


def _protocol(given: Mapping[str, object], where: str) -> str | None:
    if PROTOCOL not in given:
        return None
    try:
        return protocol_of(given)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None


def remote_assignor(name: str) -> str:
    """What Kafka's ``group.remote.assignor`` calls an assignor of the consumer protocol."""
    return STRATEGIES[name].known_as if in_the_broker(name) else name


def check_assignors(names: Iterable[str], where: str) -> None:
    """Raises `UserError` for an assignor that no classic consumer can run."""
    for name in names:
        if in_the_broker(name):
            raise UserError(f"{where}: {name} is an assignor of the broker, which {STRATEGY} cannot name")
        if not known_assignor(name):
            known = [strategy for strategy in STRATEGIES if known_assignor(strategy)]
            raise UserError(f"{where}: unknown assignor {name!r}, expected one of {', '.join(known)}")


def check_broker_pattern(pattern: str, where: str) -> None:
    """Raises `UserError` for a pattern that a coordinator would refuse (INVALID_REGULAR_EXPRESSION) or that cannot be
    read here."""
    try:
        compiled(pattern)
    except BadPattern as error:
        raise UserError(f"{where}: {error}") from None


def _unknown(name: str, names: tuple[str, ...]) -> str:
    near = get_close_matches(name[:100], names, 1, 0.6)
    expected = f"expected {near[0]}?" if near else f"expected one of {', '.join(sorted(names))}"
    return f"unknown setting {name!r} of Kafka, {expected}"


def _check_share_member(member: str, part: MemberPart) -> None:
    """Raises `UserError` for what a share consumer cannot be."""
    static = part.settings.get(INSTANCE_ID, part.instance_id)
    chosen = part.strategy or part.settings.get(STRATEGY) or part.settings.get(REMOTE_ASSIGNOR)
    problem = None
    if static is not None:
        problem = f"{INSTANCE_ID} {static}: share groups have no static members"
    elif chosen is not None:
        problem = f"strategy {chosen}: a share group has the broker's assignor, simple, and no member names one"
    elif part.pattern is not None:
        problem = f"pattern {part.pattern}: a share consumer subscribes to topics by name"
    if problem is not None:
        raise UserError(f"member {member}: {problem}; expected none under kafka:{SHARE_PROTOCOL}")


class Members:
    """What every member is, or was last. Everything is checked when it is made, also what events will change.

    A member's group protocol is that of its settings, of its own ``strategy``, of the variant, first that is there. A
    classic member's assignors are, first that is there: its setting ``partition.assignment.strategy``, its
    ``strategy``, the variant's setting, the variant's name; under the consumer protocol the one assignor that the
    member asks the coordinator for is found in the same way, with the setting ``group.remote.assignor``. Of the
    variant's settings a member of the other protocol takes those that its client does not refuse.
    """

    def __init__(
        self, scenario: Scenario, system: SystemPart, topology: Topology, settings: Mapping[str, object], where: str
    ) -> None:
        self.bootstrap = scenario.brokers
        self.by_hand: set[MemberKey] = set()
        """Members whose user's loop is code outside of the model (`kafka_coordinator.consumer.by_hand`)."""
        self.poll_wait: dict[MemberKey, int] = {}
        self.first_wait: dict[MemberKey, int] = {}
        """Members whose user's loop notices a new target of the consumer protocol late (`ConsumerConfig`)."""
        self._topology = topology
        self._settings = settings
        self._made: dict[tuple[object, ...], ConsumerSettings] = {}
        self._strategy = split_system(system.system)[1]
        self._protocol = protocol_of_variant(self._strategy, settings, where)
        if self._protocol == CLASSIC_PROTOCOL:
            check_assignors((self._strategy, *assignor_names(settings.get(STRATEGY, self._strategy))), where)
        self.parts = listed_members(scenario)
        for key, part in self.parts.items():
            self.config(*key, part, Load())
        will_be = dict(self.parts)
        for event in scenario.events:
            if isinstance(event, Join | Restart):
                key = topology.starting(event)
                will_be[key] = started_as(will_be.get(key), event)
                self.config(*key, will_be[key], Load())

    def part(self, group: str, member: str, event: Join | Restart) -> MemberPart:
        key = MemberKey(group, member)
        self.parts[key] = started_as(self.parts.get(key), event)
        return self.parts[key]

    def subscribe(self, key: MemberKey, topics: tuple[str, ...]) -> None:
        """The member subscribes to these topics from now on, also when it starts again."""
        self.parts[key] = self.parts[key].model_copy(
            update={"subscribe": topics, "pattern": None, "resolved_by": "client"}
        )

    def config(self, group: str, member: str, part: MemberPart, load: Load) -> ConsumerConfig:
        """What its consumer is started with. Raises `UserError`."""
        if self._protocol == SHARE_PROTOCOL:
            _check_share_member(member, part)
        settings = self._consumer_settings(member, part)
        of_broker = part.resolved_by == "broker" and not settings.is_classic
        if of_broker and part.pattern is not None:
            check_broker_pattern(part.pattern, f"member {member}")
        return ConsumerConfig(
            name=member,
            group=group,
            bootstrap=self.bootstrap,
            topics=part.subscribe,
            pattern=None if of_broker else part.pattern,
            broker_pattern=part.pattern if of_broker else None,
            client_id=member,
            instance_id=part.settings.get(INSTANCE_ID, part.instance_id),
            rack=part.settings.get(RACK, part.rack) or None,
            handle=part.handle,
            threads=part.threads or 1,
            load=load,
            settings=settings,
            poll_wait=self.poll_wait.get(MemberKey(group, member), 0),
            first_wait=self.first_wait.get(MemberKey(group, member), 0),
            by_hand=MemberKey(group, member) in self.by_hand,
        )

    def _consumer_settings(self, member: str, part: MemberPart) -> ConsumerSettings:
        # Groups have few kinds of members: equal settings are one object.
        key = (part.strategy, *((name, repr(value)) for name, value in part.settings.items()))
        consumer_settings = self._made.get(key)
        if consumer_settings is None:
            where = f"member {member}"
            check_member_settings(part.settings, where)
            if self._protocol == SHARE_PROTOCOL:
                own = {name: value for name, value in part.settings.items() if name in SHARE_CONSUMER}
                consumer_settings = self._made[key] = ShareConsumerSettings.of({**self._settings, **own})
                return consumer_settings
            given = {name: value for name, value in part.settings.items() if name in CONSUMER}
            protocol = protocol_of_member(part.strategy, given, self._protocol, where)
            of_variant = self._settings
            if protocol != self._protocol:
                refused = (PROTOCOL, *REFUSED_UNDER[protocol])
                of_variant = {name: value for name, value in of_variant.items() if name not in refused}
            chosen = self._assignors(part, protocol, of_variant, where)
            consumer_settings = ConsumerSettings.of({**of_variant, **given, **chosen, PROTOCOL: protocol})
            self._made[key] = consumer_settings
        return consumer_settings

    def _assignors(
        self, part: MemberPart, protocol: str, of_variant: Mapping[str, object], where: str
    ) -> dict[str, object]:
        """The setting that names a member's assignors; none: those that Kafka takes where nothing is said."""
        of_protocol = self._strategy if protocol == self._protocol else None
        if protocol == CLASSIC_PROTOCOL:
            strategy = part.settings.get(STRATEGY) or part.strategy or of_variant.get(STRATEGY) or of_protocol
            if strategy is None:
                return {}
            names = assignor_names(strategy)
            check_assignors(names, where)
            return {STRATEGY: names}
        asked = part.settings.get(REMOTE_ASSIGNOR) or part.strategy or of_variant.get(REMOTE_ASSIGNOR) or of_protocol
        if part.strategy is not None and not in_the_broker(part.strategy):
            raise UserError(f"{where}: {part.strategy} is no assignor of the broker, which the consumer protocol needs")
        return {} if asked is None else {REMOTE_ASSIGNOR: remote_assignor(str(asked))}
