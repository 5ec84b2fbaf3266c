"""Patterns of members that the group's coordinator resolves (KIP-848's `SubscriptionPattern`), in scenarios."""

from typing import Any

import pytest

from kafka_coordinator.messages import ConsumerGroupHeartbeat, MetadataRequest
from protocols.errors import UserError
from protocols.scenario.events import AddTopic, Crash, Event, Join, Queues, Restart, Subscribe
from tests.kafka_coordinator.kafka_stories import Observed, Story, at
from tests.rows import rows

ORDERS: dict[str, Any] = {"pattern": "orders-[a-z]+", "resolved_by": "broker"}
TOPICS = {"orders-eu": 2, "orders-us": 2, "orders-1": 2, "other": 2}


def topic(seconds: float, name: str) -> AddTopic:
    return AddTopic.model_validate({"at": at(seconds), "add_topic": {name: {"queues": {"b1": 2}}}})


def read(seen: Observed, *members: str) -> list[str]:
    """Names of the partitions that these own at last, sorted."""
    return sorted(f"{queue.topic}-{queue.number}" for member in members for queue in seen.of_owns(member)[-1][1].queues)


def first_read(seen: Observed, name: str) -> float:
    """When a member first owned a partition of the topic, in seconds."""
    return min(
        now / 1000
        for member in ("c1", "c2")
        for now, fact in seen.of_owns(member)
        if any(queue.topic == name for queue in fact.queues)
    )


@rows("system", ["kafka:uniform", "kafka:server-range"])
def test_the_coordinator_finds_the_topics_and_new_ones_at_the_next_heartbeats(system: str) -> None:
    members = {"c1": ORDERS, "c2": ORDERS}
    seen = Story(system, members=members, topics=TOPICS, events=[topic(62, "orders-asia")]).until(120)
    assert read(seen, "c1", "c2") == [f"orders-{name}-{n}" for name in ("asia", "eu", "us") for n in (0, 1)]
    assert len(read(seen, "c1")) == len(read(seen, "c2")) == 3
    # A heartbeat begins to resolve, the next one computes the target, its owner may be the other member.
    assert 62 < first_read(seen, "orders-asia") < 62 + 3 * 5.2


def test_a_pattern_that_the_client_resolves_waits_for_its_metadata() -> None:
    members = {name: {**ORDERS, "resolved_by": "client"} for name in ("c1", "c2")}
    seen = Story("kafka:uniform", members=members, topics=TOPICS, events=[topic(62, "orders-asia")]).until(330)
    assert 300 < first_read(seen, "orders-asia") < 312


def sent(story: Story, kind: type, seconds: float, member: str = "c1") -> list[Any]:
    told = story.until(seconds).sent_messages
    return [message for _, sender, _, message in told if sender == member and isinstance(message, kind)]


def test_heartbeats_name_the_pattern_once_and_take_it_back() -> None:
    events: list[Event] = [Subscribe(at=at(40), subscribe={"c1": ("other",)}), Restart(at=at(80), restart="c1")]
    story = Story("kafka:uniform", members={"c1": ORDERS}, topics=TOPICS, events=events, tracing=True)
    told = [each for each in sent(story, ConsumerGroupHeartbeat, 120) if each.member_epoch >= 0]
    assert (told[0].regex, told[0].topics) == (ORDERS["pattern"], ())
    changes = [(each.regex, each.topics) for each in told[1:] if (each.regex, each.topics) != (None, None)]
    assert changes == [("", ("other",)), (None, ("other",))]
    assert read(story.seen, "c1") == ["other-0", "other-1"]


def test_the_client_asks_for_what_it_was_assigned_and_not_for_all_topics() -> None:
    story = Story("kafka:uniform", members={"c1": ORDERS}, topics=TOPICS, tracing=True)
    assert [each.topics for each in sent(story, MetadataRequest, 60)] == [("orders-eu", "orders-us")]


def test_members_with_patterns_and_names_share_one_group() -> None:
    members = {"c1": ORDERS, "c2": {"subscribe": ("orders-eu", "other")}}
    events: list[Event] = [
        Crash(at=at(60), crash="c2"),
        Join(at=at(150), join="c3", pattern="orders-[0-9]", resolved_by="broker"),
        Queues.model_validate({"at": at(180), "queues": {"orders-1": {"b1": 3}}}),
    ]
    seen = Story("kafka:uniform", members=members, topics=TOPICS, events=events).until(240)
    assert read(seen, "c1") == ["orders-eu-0", "orders-eu-1", "orders-us-0", "orders-us-1"]
    assert read(seen, "c3") == ["orders-1-0", "orders-1-1", "orders-1-2"]


@rows("system", ["kafka:range", "kafka:cooperative-sticky"])
def test_classic_members_resolve_it_themselves(system: str) -> None:
    told = [
        Story(system, members={"c1": {**ORDERS, "resolved_by": who}}, topics=TOPICS).until(60).facts
        for who in ("broker", "client")
    ]
    assert told[0] == told[1]
    assert any(fact[2][2] for fact in told[0] if type(fact[2]).__name__ == "Owns")


@rows("pattern", [r"orders-(?=e)", r"(o)\1", "o++", "o{1001}"])
def test_a_pattern_that_re2_does_not_take_is_refused_where_a_broker_would_read_it(pattern: str) -> None:
    member = {"pattern": pattern, "resolved_by": "broker"}
    with pytest.raises(
        UserError, match=r"^member c1: the broker takes no such pattern, expected one of RE2: "
    ) as error:
        Story("kafka:uniform", members={"c1": member})
    assert "\n" not in str(error.value)
    joins = [Join(at=at(10), join="c2", **member)]
    with pytest.raises(UserError, match=r"^member c2: the broker takes no such pattern"):
        Story("kafka:uniform", events=joins)
    Story("kafka:range", members={"c1": member})
    Story("kafka:uniform", members={"c1": {**member, "settings": {"group.protocol": "classic"}}})
