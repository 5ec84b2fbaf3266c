"""From the scenario's members to consumers' configurations, as they are now."""

from collections.abc import Mapping

from kafka_coordinator.catalogue import CLASSIC
from kafka_coordinator.cluster.settings import (
    INSTANCE_ID,
    OF_MEMBERS,
    PROTOCOL,
    RACK,
    REMOTE_ASSIGNOR,
    STRATEGY,
    check_assignors,
    check_broker_pattern,
    check_member_settings,
    protocol_of_member,
    protocol_of_variant,
    remote_assignor,
)
from kafka_coordinator.consumer.assigning import in_the_broker
from kafka_coordinator.consumer.settings import REFUSED_UNDER, ConsumerConfig, ConsumerSettings, Load, assignor_names
from protocols.errors import UserError
from protocols.scenario.events import Join, Restart
from protocols.scenario.events.members import started_as
from protocols.scenario.fields import MemberPart
from protocols.scenario.model import Scenario, SystemPart, split_system
from protocols.scenario.topology import MemberKey, Topology, listed_members


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
        """Members whose user's loop notices a new target of the consumer protocol late (`ConsumerConfig`)."""
        self._topology = topology
        self._settings = settings
        self._made: dict[tuple[object, ...], ConsumerSettings] = {}
        self._strategy = split_system(system.system)[1]
        self._protocol = protocol_of_variant(self._strategy, settings, where)
        if self._protocol == CLASSIC:
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
            by_hand=MemberKey(group, member) in self.by_hand,
        )

    def _consumer_settings(self, member: str, part: MemberPart) -> ConsumerSettings:
        # Groups have few kinds of members: equal settings are one object.
        key = (part.strategy, *((name, repr(value)) for name, value in part.settings.items()))
        consumer_settings = self._made.get(key)
        if consumer_settings is None:
            where = f"member {member}"
            check_member_settings(part.settings, where)
            given = {name: value for name, value in part.settings.items() if name not in OF_MEMBERS}
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
        if protocol == CLASSIC:
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
