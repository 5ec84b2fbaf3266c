"""From the scenario's members to consumers' configurations, as they are now."""

from collections.abc import Mapping

from kafka_coordinator.consumer.config import ConsumerConfig, Load
from kafka_coordinator.consumer.settings import ConsumerSettings, assignor_names
from kafka_coordinator.settings import (
    INSTANCE_ID,
    OF_MEMBERS,
    RACK,
    STRATEGY,
    check_assignors,
    check_member_settings,
    check_protocol,
)
from protocols.scenario.events import Join, Restart
from protocols.scenario.events.starts import started_as
from protocols.scenario.groups import MemberPart
from protocols.scenario.model import Scenario, SystemPart
from protocols.scenario.systems import split_system
from protocols.scenario.topology import MemberKey, Topology, listed_members


class Members:
    """What every member is, or was last. Everything is checked when it is made, also what events will change.

    A member's assignors are, first that is there: its setting ``partition.assignment.strategy``, its ``strategy``,
    the variant's setting, the variant's name.
    """

    __slots__ = ("_made", "_settings", "_strategy", "_topology", "bootstrap", "by_hand", "parts")

    def __init__(
        self, scenario: Scenario, system: SystemPart, topology: Topology, settings: Mapping[str, object], where: str
    ) -> None:
        self.bootstrap = scenario.brokers
        self.by_hand: set[MemberKey] = set()
        """Members whose user's loop is code outside of the model (`kafka_coordinator.consumer.by_hand`)."""
        self._topology = topology
        self._settings = settings
        self._made: dict[tuple[object, ...], ConsumerSettings] = {}
        check_protocol(settings, where)
        strategy = split_system(system.system)[1]
        self._strategy = assignor_names(settings.get(STRATEGY, strategy))
        check_assignors((strategy, *self._strategy), where)
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
        """What the member is from this event on."""
        key = MemberKey(group, member)
        self.parts[key] = started_as(self.parts.get(key), event)
        return self.parts[key]

    def subscribe(self, key: MemberKey, topics: tuple[str, ...]) -> None:
        """The member subscribes to these topics from now on, also when it starts again."""
        self.parts[key] = self.parts[key].model_copy(update={"subscribe": topics, "pattern": None})

    def config(self, group: str, member: str, part: MemberPart, load: Load) -> ConsumerConfig:
        """What its consumer is started with. Raises `UserError`."""
        return ConsumerConfig(
            name=member,
            group=group,
            bootstrap=self.bootstrap,
            topics=part.subscribe,
            pattern=part.pattern,
            client_id=member,
            instance_id=part.settings.get(INSTANCE_ID, part.instance_id),
            rack=part.settings.get(RACK, part.rack) or None,
            handle=part.handle,
            threads=part.threads or 1,
            load=load,
            settings=self._consumer_settings(member, part),
            by_hand=MemberKey(group, member) in self.by_hand,
        )

    def _consumer_settings(self, member: str, part: MemberPart) -> ConsumerSettings:
        # Groups have few kinds of members: equal settings are one object.
        key = (part.strategy, *((name, repr(value)) for name, value in part.settings.items()))
        made = self._made.get(key)
        if made is None:
            where = f"member {member}"
            check_member_settings(part.settings, where)
            check_protocol(part.settings, where)
            strategy = part.settings.get(STRATEGY, part.strategy)
            names = self._strategy if strategy is None else assignor_names(strategy)
            check_assignors(names, where)
            given = {**self._settings, **part.settings, STRATEGY: names}
            made = ConsumerSettings.of({name: value for name, value in given.items() if name not in OF_MEMBERS})
            self._made[key] = made
        return made
