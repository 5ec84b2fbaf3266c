"""What the coordinator answers an administrator about groups: as confluent-kafka's classes.

The group is asked as the coordinator has it; deleting it and altering its offsets are requests to the coordinator.
"""

from typing import Any, Final

from compare.testing.confluent import errors as errors
from compare.testing.confluent.installing import real_package
from compare.testing.handling import HandlingGroup
from kafka_coordinator.broker import Broker
from kafka_coordinator.coordinator.commands import OffsetsDecided
from kafka_coordinator.coordinator.group import Group
from kafka_coordinator.messages import DeleteGroup
from protocols.java import sorted_pairs

_EMPTY: Final = "Empty"
_PORT: Final = 9092
_NOT_FOUND: Final = "GROUP_ID_NOT_FOUND"
_STATES: Final = {
    "PreparingRebalance": "PREPARING_REBALANCING",
    "CompletingRebalance": "COMPLETING_REBALANCING",
    "Stable": "STABLE",
    "Empty": "EMPTY",
    "Dead": "DEAD",
}


class _Answered(errors.TopicPartition):  # type: ignore[misc, valid-type]
    """A partition with the error of its own: of the real class it can only be read."""

    error: Any = None


class GroupAnswers:
    """Of one group's cluster, which may have other groups, too."""

    def __init__(self, group: HandlingGroup) -> None:
        self._group = group

    def _brokers(self) -> list[Broker]:
        simulation = self._group.world.simulation
        return [each.node for each in simulation.processes.values() if isinstance(each.node, Broker)]

    def _known(self, group_id: str) -> tuple[Broker | None, Group | None]:
        """The group's coordinator, and the group."""
        for broker in self._brokers():
            core = broker.coordinator.core
            if core.leaders[core.partition_of(group_id)] == core.name:
                return broker, core.groups.get(group_id)
        return None, None

    def listed(self, *, states_int: Any = None, types_int: Any = None, **_: Any) -> object:
        """A ``ListConsumerGroupsResult``."""
        admin, model = real_package("admin"), real_package()
        valid = []
        for broker in self._brokers():
            for group_id, group in sorted(broker.coordinator.core.groups.items()):
                state = model.ConsumerGroupState[_STATES[group.state]]
                simple = not group.protocol_type
                listing = admin.ConsumerGroupListing(group_id, simple, state, model.ConsumerGroupType.CLASSIC)
                wanted = states_int is None or state.value in states_int
                if wanted and (types_int is None or model.ConsumerGroupType.CLASSIC.value in types_int):
                    valid.append(listing)
        return admin.ListConsumerGroupsResult(valid, [])

    def described(self, group_id: str) -> object:
        """A ``ConsumerGroupDescription``, or an error."""
        admin, model = real_package("admin"), real_package()
        broker, group = self._known(group_id)
        if broker is None:
            return errors.error("COORDINATOR_NOT_AVAILABLE", errors.said("COORDINATOR_NOT_AVAILABLE"))
        names = list(self._group.world.scenario.brokers)
        name = broker.coordinator.core.name
        node = model.Node(names.index(name) + 1, name, _PORT)
        if group is None:
            dead = model.ConsumerGroupState.DEAD
            return admin.ConsumerGroupDescription(group_id, False, [], "", dead, node)
        members = [
            admin.MemberDescription(
                member.id,
                member.client_id,
                member.host,
                admin.MemberAssignment(
                    [errors.TopicPartition(topic, number) for topic, number in sorted_pairs(member.assignment)]
                ),
                member.instance_id,
            )
            for member in group.ordered()
        ]
        state, kind = model.ConsumerGroupState[_STATES[group.state]], model.ConsumerGroupType.CLASSIC
        simple = not group.protocol_type
        return admin.ConsumerGroupDescription(group_id, simple, members, group.protocol or "", state, node, type=kind)

    def deleted(self, group_id: str) -> object:
        """None, or an error."""
        broker, group = self._known(group_id)
        if broker is None or group is None:
            return errors.error(_NOT_FOUND, errors.said(_NOT_FOUND))
        if group.state != _EMPTY:
            return errors.error("NON_EMPTY_GROUP", errors.said("NON_EMPTY_GROUP"))
        self._group.world.tell(broker.coordinator.core.name, DeleteGroup(0, group_id))
        return None

    def offsets(self, asked: Any) -> object:
        """A ``ConsumerGroupTopicPartitions``: of the partitions asked for, else of all that have an offset."""
        _, group = self._known(asked.group_id)
        committed = {} if group is None else group.offsets
        wanted = [(each.topic, each.partition) for each in asked.topic_partitions or ()]
        found = []
        for topic, number in wanted if asked.topic_partitions is not None else sorted_pairs(committed):
            known = committed.get((topic, number))
            offset = errors.OFFSET_INVALID if known is None else known.offset
            found.append(errors.TopicPartition(topic, number, offset))
        return real_package().ConsumerGroupTopicPartitions(asked.group_id, found)

    def altered(self, asked: Any) -> object:
        """A ``ConsumerGroupTopicPartitions`` with the error of each partition: a group with members refuses all."""
        broker, group = self._known(asked.group_id)
        refusal = "UNKNOWN_MEMBER_ID" if group is not None and group.state != _EMPTY else ""
        found, taken = [], []
        for each in asked.topic_partitions or ():
            made = _Answered(each.topic, each.partition, each.offset)
            there = 0 <= each.partition < len(self._group.topics.get(each.topic, ()))
            name = refusal or ("" if there else "UNKNOWN_TOPIC_OR_PART")
            if name:
                made.error = errors.error(name, errors.said(name))
            else:
                taken.append(((each.topic, each.partition), each.offset, each.metadata or ""))
            found.append(made)
        if broker is not None and taken:
            told = OffsetsDecided(asked.group_id, None, None, tuple(taken))
            self._group.world.tell(broker.coordinator.core.name, told)
        return real_package().ConsumerGroupTopicPartitions(asked.group_id, found)
