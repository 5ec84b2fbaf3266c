"""Everything that a consumer knows and waits for, put together."""

from dataclasses import dataclass
from typing import Self

from kafka_coordinator.consumer.kip848.states import CONSUMER_PROTOCOL, UNSUBSCRIBED
from kafka_coordinator.consumer.settings import COOPERATIVE, ConsumerConfig, Load
from kafka_coordinator.consumer.state import reading
from kafka_coordinator.consumer.state.membership import (
    Assigning,
    ConsumerProtocolMember,
    CoordinatorLookup,
    HeartbeatState,
    JoinProgress,
    Membership,
)
from kafka_coordinator.consumer.states import CONSUMER, GENERATION, JOINED, RESET, UNJOINED
from protocols.engine.nodes import Outbox
from protocols.facts import Epoch, Transition
from protocols.load import quickly_made
from protocols.node_state import NodeState
from protocols.state_machine import ALWAYS

_transition, _epoch = quickly_made(Transition), quickly_made(Epoch)

CLASSIC_CLIENT = "client"
"""What facts call the state machine of a classic consumer."""


@dataclass(slots=True)
class ConsumerState(NodeState):
    """A consumer's state, by concern; times are milliseconds of virtual time. `of` makes one that has not started."""

    config: ConsumerConfig
    load: Load
    """What producers write."""
    cooperative: bool
    """Whether the assignors of this consumer agree on the cooperative protocol."""
    requests: reading.Requests
    connections: reading.Connections
    metadata: reading.ClusterMetadata
    lookup: CoordinatorLookup
    membership: Membership
    joining: JoinProgress
    assigning: Assigning
    heartbeats: HeartbeatState
    subscription: reading.SubscriptionState
    commits: reading.CommitState
    user: reading.UserLoop
    kip848: ConsumerProtocolMember | None
    """None under the classic protocol."""

    @classmethod
    def of(cls, config: ConsumerConfig) -> Self:
        subscribes = bool(config.topics) or config.pattern is not None or config.broker_pattern is not None
        classic = config.settings.is_classic
        return cls(
            config,
            config.load,
            config.settings.rebalance_protocol == COOPERATIVE,
            reading.Requests(),
            reading.Connections(),
            reading.ClusterMetadata(config.bootstrap),
            CoordinatorLookup(),
            Membership(rejoin_needed=subscribes and classic, state=UNJOINED if classic else UNSUBSCRIBED),
            JoinProgress(),
            Assigning(),
            HeartbeatState(),
            reading.SubscriptionState(config.topics if config.pattern is None else ()),
            reading.CommitState(),
            reading.UserLoop(away=config.by_hand),
            None if classic else ConsumerProtocolMember(wants_to_join=subscribes),
        )

    def transition(self, event: str, out: Outbox, guard: str = ALWAYS) -> None:
        before = self.membership.state
        machine = CONSUMER if self.kip848 is None else CONSUMER_PROTOCOL
        after = self.membership.state = machine.next_state(before, event, guard)
        if before != after:
            name = CLASSIC_CLIENT if self.kip848 is None else machine.name
            out.observe(_transition((name, self.config.name, before, event, after)))
            if self.kip848 is None and event in (JOINED, RESET):
                config, generation = self.config, self.membership.generation
                out.observe(_epoch((config.group, name, config.name, GENERATION, generation)))

    def told_generation(self) -> int:
        """The generation, or epoch, that the user is told in a listener (in Kafka `ConsumerGroupMetadata`)."""
        return self.membership.generation if self.kip848 is None else self.kip848.last_epoch

    def request_rejoin(self, reason: str) -> None:
        """The next poll begins a rebalance, unless one is on its way (in Kafka `AbstractCoordinator.requestRejoin`)."""
        if not self.membership.rejoin_needed:
            self.membership.rejoin_needed = True
            self.membership.rejoin_reason = reason
            self.metadata.is_fresh = False


def protocol_member(c: ConsumerState) -> ConsumerProtocolMember:
    """What a member of the consumer protocol knows; of such a consumer only."""
    assert c.kip848 is not None
    return c.kip848
