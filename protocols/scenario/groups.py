"""What there is: topics with their queues, groups with their members."""

from typing import Literal

from pydantic import Field

from protocols.scenario.fields import Count, Duration, Number, Part, Settings


class MemberPart(Part):
    """A member of a group: what it subscribes to and how it works."""

    subscribe: tuple[str, ...] = ()
    """Topics, in the order in which the member lists them; they need not exist."""
    pattern: str | None = None
    """A regular expression that matches whole names of topics, instead of ``subscribe``."""
    resolved_by: Literal["client", "broker"] = "client"
    """Who finds the topics that match the pattern: the client, from its metadata, or the group's coordinator, as for
    `SubscriptionPattern` in Kafka's consumer protocol (the pattern is one of RE2 then). Where there is no such thing,
    the client does."""
    instance_id: str | None = None
    """Makes the member static (Kafka)."""
    rack: str | None = None
    """Kafka's rack, RocketMQ's room."""
    client_id: str | None = None
    """What the client calls itself; two members may have the same, as two containers of one image."""
    process: str | None = None
    """Members with equal ``process`` live in one client instance (one process); a member's name may be used."""
    strategy: str | None = None
    """The member's own assignor or strategy, where it differs from the variant's (one name, in Kafka several with
    commas). Every variant's system must have it."""
    handle: Duration = 0.0
    """How long the user's code takes for one record."""
    threads: Number | None = None
    """How many threads of the member handle records at once. Left out: one loop in Kafka and in RocketMQ's pull
    consumers, ``consumeThreadMax`` threads (20) in RocketMQ's push consumer."""
    settings: Settings = Field(default_factory=dict)
    """Client settings of this member alone, under the systems' own names; a system passes over those that only others
    have."""


class GroupPart(Part):
    """A consumer group."""

    members: dict[str, MemberPart] = Field(default_factory=dict)
    """By name. ``c1..c20`` stands for twenty equal members, a list of topics for a member that subscribes to them."""
    settings: Settings = Field(default_factory=dict)
    """Settings of the group itself, as `kafka-configs --entity-type groups` sets them (Kafka's consumer protocol:
    `consumer.session.timeout.ms`, `consumer.heartbeat.interval.ms`). A system passes over those that only others
    have."""


class TopicPart(Part):
    """A topic: its queues per broker, in the order written; Kafka numbers partitions 0, 1, ... in that order."""

    queues: dict[str, Count]
    """Per broker, or one number that is distributed over the brokers in turn."""
    replica_racks: tuple[tuple[str, ...], ...] | None = None
    """For each queue the racks of its replicas (Kafka)."""
