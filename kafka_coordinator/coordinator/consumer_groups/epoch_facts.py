"""The facts about epochs that the coordinator lets the observer see (`protocols.facts.Epoch`)."""

from kafka_coordinator.coordinator.consumer_groups import states
from kafka_coordinator.coordinator.consumer_groups.member import ConsumerMember
from protocols.engine.nodes import Outbox
from protocols.facts import Epoch
from protocols.quick_records import quickly_made

_epoch = quickly_made(Epoch)

Epochs = tuple[int, int]
"""Group epoch and assignment epoch."""


def observe_epochs(group_id: str, told: Epochs, epochs: Epochs, out: Outbox) -> Epochs:
    """Tell which of a group's epochs are others than those that were ``told``; returns those that are told now."""
    for name, before, value in zip((states.GROUP_EPOCH, states.ASSIGNMENT_EPOCH), told, epochs, strict=True):
        if value != before:
            out.observe(Epoch(group_id, states.GROUP.name, group_id, name, value))
    return epochs


def observe_member_epoch(group_id: str, member: ConsumerMember, out: Outbox) -> None:
    """The member has this epoch from now on."""
    out.observe(_epoch((group_id, states.MEMBER.name, member.called, states.MEMBER_EPOCH, member.standing.epoch)))
