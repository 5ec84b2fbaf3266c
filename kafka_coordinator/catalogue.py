"""The catalogue of Kafka's assignors: a record for each, from which everything else that lists them is made.

To add one: a file in `kafka_coordinator.assignors`, and a record here.

Why a table: an assignor has a name in scenarios, another in Kafka's settings, a Java class that logs and tools print,
a protocol under which it may run, and a way in which it shares. Readers, registry, help, audit and sentences need
different columns of that, and an assignor that one of them did not know would be told wrongly by it.
"""

from collections.abc import Callable, Mapping

from kafka_coordinator.assignors.claims import highest_generation as highest_generation
from kafka_coordinator.assignors.inputs import NO_GENERATION as NO_GENERATION
from kafka_coordinator.assignors.inputs import Assignment as Assignment
from kafka_coordinator.assignors.inputs import AssignorError as AssignorError
from kafka_coordinator.assignors.inputs import GroupMetadata as GroupMetadata
from kafka_coordinator.assignors.inputs import Partition as Partition
from kafka_coordinator.assignors.inputs import Subscription as Subscription
from kafka_coordinator.assignors.load_aware import ASSIGNOR as LOAD_AWARE
from kafka_coordinator.assignors.range import range_, server_range
from kafka_coordinator.assignors.roundrobin import roundrobin
from kafka_coordinator.assignors.simple import ShareGroup as ShareGroup
from kafka_coordinator.assignors.simple import ShareMember as ShareMember
from kafka_coordinator.assignors.simple import simple as simple
from kafka_coordinator.assignors.sticky import cooperative_sticky as cooperative_sticky
from kafka_coordinator.assignors.sticky import sticky as sticky
from kafka_coordinator.assignors.translation import (
    Assignor,
    of_coordinator,
    of_coordinator_with_targets,
    of_leader,
    of_leader_with_claims,
)
from kafka_coordinator.assignors.translation import topic_id as topic_id
from kafka_coordinator.assignors.uniform import IdHashes as IdHashes
from kafka_coordinator.assignors.uniform import homogeneous as homogeneous
from kafka_coordinator.assignors.uniform import uniform
from protocols.strategies import ScenarioContext, StrategyRecord, never

CLASSIC = "classic"
"""The protocol whose assignors run on the group's leader, a consumer."""

CONSUMER = "consumer"
"""The protocol (KIP-848) whose assignors run in the broker."""

SHARE = "share"
"""The protocol (KIP-932) of share groups, in which nobody owns a partition; and the name of their variant."""

OF_CLASSIC_MEMBERS = frozenset(
    {"group.protocol", "heartbeat.interval.ms", "partition.assignment.strategy", "session.timeout.ms"}
)
"""Settings of a member that say that it speaks the classic protocol, or that the other protocol refuses."""


def _unless_classic(context: ScenarioContext) -> Mapping[str, object] | None:
    """A scenario whose members are made for the classic protocol runs no other one unless it names it."""
    return None if context.strategies or context.settings & OF_CLASSIC_MEMBERS else {}


CATALOGUE: tuple[StrategyRecord[Assignor], ...] = (
    StrategyRecord(
        "range",
        of_leader(range_),
        "Assigns ranges of consecutive partitions of each topic to the members in order.",
        CLASSIC,
        java_class="RangeAssignor",
        sharing="per topic",
    ),
    StrategyRecord(
        "roundrobin",
        of_leader(roundrobin),
        "Assigns the partitions of all topics in turn to the members that subscribe to them.",
        CLASSIC,
        java_class="RoundRobinAssignor",
        sharing="across topics",
    ),
    StrategyRecord(
        "sticky",
        of_leader_with_claims(sticky, "user data"),
        "Balances the partitions of all topics and moves as few of them as balance allows; all members revoke"
        " all partitions first.",
        CLASSIC,
        java_class="StickyAssignor",
        sharing="across topics",
        keeps=True,
        settings=("generation",),
    ),
    StrategyRecord(
        "cooperative-sticky",
        of_leader_with_claims(cooperative_sticky, "owned partitions", cooperative=True),
        "Balances as sticky does, while members keep reading the partitions that do not move.",
        CLASSIC,
        java_class="CooperativeStickyAssignor",
        sharing="across topics",
        keeps=True,
        settings=("generation",),
    ),
    StrategyRecord(
        "server-range",
        of_coordinator(server_range),
        "Assigns ranges of consecutive partitions of each topic, in the broker.",
        CONSUMER,
        java_class="RangeAssignor",
        tool_name="range",
        sharing="per topic",
        settings=("topic_ids",),
        by_default=_unless_classic,
    ),
    StrategyRecord(
        "uniform",
        of_coordinator_with_targets(uniform),
        "Spreads all partitions evenly and moves as few of them as evenness allows, in the broker.",
        CONSUMER,
        java_class="UniformAssignor",
        sharing="across topics",
        keeps=True,
        settings=("topic_ids",),
        by_default=_unless_classic,
    ),
)
"""In the order in which results list them."""

OWN: tuple[StrategyRecord[Assignor], ...] = (
    StrategyRecord(
        "load-aware",
        LOAD_AWARE,
        "Evens out the records per second that a table in the consumers' settings tells, and moves few partitions.",
        CLASSIC,
        java_class="LoadAwareAssignor",
        keeps=True,
        settings=("generation", "rates"),
        by_default=never,
    ),
)
"""Assignors that no release of Kafka brings along: a client has to bring its own (`assignors.load_aware`)."""

SHARE_GROUPS: StrategyRecord[Callable[..., object]] = StrategyRecord(
    SHARE,
    simple,
    "Gives records out one by one to share consumers; nobody owns a partition.",
    SHARE,
    java_class="SimpleAssignor",
    by_default=never,
)
"""What stands in place of a strategy where nobody owns a partition."""


def of_protocol(protocol: str) -> tuple[StrategyRecord[Assignor], ...]:
    return tuple(record for record in CATALOGUE if record.protocol == protocol)
