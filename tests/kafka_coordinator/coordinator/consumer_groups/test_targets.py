"""Targets that are kept from one computation to the next are those that are computed from scratch."""

import random

import pytest

from kafka_coordinator.assignors.inputs import GroupMetadata
from kafka_coordinator.coordinator.consumer_groups import target as targets
from kafka_coordinator.coordinator.consumer_groups.group import ConsumerGroup
from kafka_coordinator.coordinator.core import Core
from tests.kafka_coordinator.coordinator.consumer_groups.consumer_group_desk import ConsumerDesk


@pytest.mark.parametrize("seed", range(3))
def test_members_with_different_subscriptions_come_and_go_and_topics_change(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice = random.Random(seed)
    kept, kept_some = targets._input, 0

    def compared(core: Core, group: ConsumerGroup, in_order: list[str]) -> GroupMetadata:
        nonlocal kept_some
        known = group.iterated
        found = kept(core, group, in_order)
        kept_some += group.iterated is known
        known, group.iterated = group.iterated, None
        assert found == kept(core, group, in_order)
        group.iterated = known
        return found

    monkeypatch.setattr(targets, "_input", compared)
    desk = ConsumerDesk(topics={"t": 40, "u": 7, "v": 3})
    names = [f"{choice.getrandbits(40):x}" for _ in range(12)]
    for step in range(100):
        name = choice.choice(names)
        if desk.state != "Dead" and name in desk.group.members:
            desk.beat(name, -1)
        else:
            desk.join(name, choice.choice([("t", "u"), ("u", "v"), ("t", "v", "w")]))
        if step % 30 == 29:
            desk.topics({"t": 40 + step, "u": 7, **({"w": 2} if step > 60 else {"v": 3})})
        if step % 10 == 9:
            desk.settle()
    assert kept_some > 30
    assert desk.group.iterated is not None
    assert len(desk.group.iterated._known) <= 2 * len(names)
