"""Random requests of a group's members and administrators, right and wrong, as fields of all versions of an API.

In the place of a value that only the answers before can tell stands a tuple, such as ``("epoch", member)``
(`tests.kafka_coordinator.wire.replaying`).
"""

from collections.abc import Callable
from random import Random
from struct import pack
from typing import Any


class Talk:
    """What a conversation of this name speaks of; each function that takes one returns a connection and fields."""

    def __init__(self, seed: int) -> None:
        self.random, self.name = Random(seed), f"k{seed}"
        self.clock = 0

    def one(self, *values: Any) -> Any:
        return self.random.choice(values)

    def seldom(self, value: Any, otherwise: Any, share: float = 0.1) -> Any:
        return value if self.random.random() < share else otherwise

    def topic(self, wrong: float = 0.12) -> str:
        name = self.name + self.one("a", "b", "c")
        return str(self.seldom(self.one(f"{self.name}zz", "bad topic", ""), name, wrong))

    def named(self, **more: Any) -> dict[str, Any]:
        """A topic by name and by id, whichever the version has."""
        name = self.topic()
        return {"name": name, "topic": name, "topic_id": ("id", name), **more}

    def group(self) -> str:
        return str(self.seldom(self.one("", f"{self.name}h", f"{self.name}nope"), f"{self.name}g", 0.12))

    def few(self, make: Callable[[], Any], most: int = 3) -> list[Any]:
        return [make() for _ in range(self.random.randint(1, most))]

    def partition(self) -> int:
        return int(self.one(0, 0, 0, 1, 1, 2, self.one(9, -1)))

    def instance(self, connection: str) -> str | None:
        return self.seldom(f"i{connection}", None, 0.3) if self.random.random() < 0.95 else "iX"


def find(it: Talk) -> tuple[str, Any]:
    keys = [it.group() for _ in range(it.random.randint(1, 3))]
    return "adm", {"key": keys[0], "key_type": it.seldom(it.one(2, 3, 9), 0, 0.3), "coordinator_keys": keys}


# Members of the classic protocol.


def _subscription(it: Talk) -> bytes:
    topics = sorted({it.topic(0.03) for _ in range(it.random.randint(1, 2))})
    named = b"".join(pack(">h", len(each)) + each.encode() for each in topics)
    version = it.one(0, 1, 1, 2, 3)
    owned, generation, rack = pack(">i", 0), pack(">i", -1), pack(">h", -1)
    rest = [owned] * (version >= 1) + [generation] * (version >= 2) + [rack] * (version >= 3)
    made = pack(">hi", version, len(topics)) + named + pack(">i", -1) + b"".join(rest)
    return bytes(it.seldom(b"\0\1junk", made, 0.03))


def join(it: Talk) -> tuple[str, Any]:
    connection = it.one("c1", "c1", "c2", "c3")
    protocols = [{"name": it.seldom("other", "range", 0.05), "metadata": _subscription(it)}]
    if it.random.random() < 0.3:
        protocols.append({"name": "sticky", "metadata": _subscription(it)})
    return connection, {
        "group_id": it.group(),
        "session_timeout": it.seldom(10, 45000, 0.04),
        "rebalance_timeout": 60000,
        "member_id": it.seldom("ghost", it.one("", ("member", connection)), 0.05),
        "group_instance_id": it.instance(connection),
        "protocol_type": it.seldom(it.one("connect", ""), "consumer", 0.05),
        "protocols": it.seldom([], protocols, 0.03),
        "reason": it.one(None, "why"),
    }


def _member(it: Talk, connection: str) -> dict[str, Any]:
    """Who says it, and of which generation."""
    generation = it.seldom(it.one(0, -1, 7), ("generation", connection), 0.15)
    return {
        "group_id": it.group(),
        "generation_id": generation,
        "generation_id_or_member_epoch": generation,
        "member_id": it.seldom(it.one("ghost", ""), ("member", connection), 0.1),
        "group_instance_id": it.instance(connection),
    }


def sync(it: Talk) -> tuple[str, Any]:
    connection = it.one("c1", "c2", "c3")
    given = [{"member_id": ("member", each), "assignment": b"A" + each.encode()} for each in ("c1", "c2", "c3")]
    return connection, {
        **_member(it, connection),
        "protocol_type": it.seldom(it.one(None, "connect"), "consumer"),
        "protocol_name": it.seldom(it.one(None, "zz"), "range"),
        "assignments": it.one([], given, given),
    }


def heartbeat(it: Talk) -> tuple[str, Any]:
    return "adm", _member(it, it.one("c1", "c2", "c3"))


def leave(it: Talk) -> tuple[str, Any]:
    def leaving() -> dict[str, Any]:
        name = it.one("c1", "c2", "c3")
        who = it.one(("member", name), ("member", name), "", "ghost", f"m{it.one(0, 1)}")
        return {"member_id": who, "group_instance_id": it.instance(name), "reason": it.one(None, "x")}

    members = it.few(leaving, 2)
    return "adm", {"group_id": it.group(), "member_id": members[0]["member_id"], "members": members}


# Members of the consumer protocol.


def beat(it: Talk) -> tuple[str, Any]:
    member = f"m{it.random.randint(0, 2)}"
    epoch = it.one(0, *[("epoch", member)] * 5, it.one(-1, -1, -2, -3, 9))
    joins = epoch == 0 or it.random.random() < 0.15
    topics = sorted({it.topic(0.02) for _ in range(it.random.randint(1, 3))})
    return "adm", {
        "group_id": it.group(),
        "member_id": it.seldom(it.one("", " "), member, 0.03),
        "member_epoch": epoch,
        "instance_id": it.seldom(it.one(f"k{member}", "kX", ""), None, 0.15),
        "rack_id": it.seldom(it.one("", "r"), None, 0.05),
        "rebalance_timeout": it.seldom(-1, 300_000, 0.04) if joins else -1,
        "subscribed_topic_names": it.seldom(it.one(None, []), topics, 0.06) if joins else None,
        "subscribed_topic_regex": it.seldom(it.one("(", ""), None, 0.06) if joins else None,
        "server_assignor": it.seldom(it.one("range", "uniform", "zz"), None, 0.2) if joins else None,
        "topic_partitions": it.seldom(None, [], 0.05) if epoch == 0 else it.one(None, ("owned", member), []),
    }


def describe_consumers(it: Talk) -> tuple[str, Any]:
    return "adm", {"group_ids": _groups(it), "include_authorized_operations": it.one(True, False)}


def _groups(it: Talk) -> list[str]:
    return sorted({it.group() for _ in range(it.random.randint(1, 3))})


def describe(it: Talk) -> tuple[str, Any]:
    return "adm", {"groups": _groups(it), "include_authorized_operations": it.one(True, False)}


def list(it: Talk) -> tuple[str, Any]:
    states = it.one([], ["Stable"], ["empty", "Dead"], ["bogus"], ["PreparingRebalance", "stable"])
    return "adm", {"states_filter": states, "types_filter": it.one([], ["classic"], ["Consumer"], ["bogus"])}


def delete_groups(it: Talk) -> tuple[str, Any]:
    return "adm", {"groups_names": _groups(it)}


# Offsets of groups.


def commit(it: Talk) -> tuple[str, Any]:
    def partition() -> dict[str, Any]:
        return {
            "partition_index": it.partition(),
            "committed_offset": it.one(0, 5, 77, -1),
            "committed_leader_epoch": it.one(-1, 0, 3),
            "committed_metadata": it.seldom(it.one(None, "x" * 5000), it.one("", "m"), 0.1),
        }

    who = _member(it, it.one("c1", "c2"))
    member = f"m{it.one(0, 1)}"
    if it.random.random() < 0.4:
        who |= {"member_id": member, "generation_id_or_member_epoch": ("epoch", member)}
    if it.random.random() < 0.4:
        who |= {"member_id": "", "generation_id_or_member_epoch": -1, "group_instance_id": None}
    topics = it.few(lambda: it.named(partitions=it.few(partition, 2)), 2)
    return "adm", {**who, "retention_time_ms": -1, "topics": topics}


def fetch_offsets(it: Talk) -> tuple[str, Any]:
    def group() -> dict[str, Any]:
        member = f"m{it.one(0, 1)}"
        who = it.one((None, -1), (None, -1), (member, ("epoch", member)), ("ghost", 3))
        topics = it.few(lambda: it.named(partition_indexes=it.few(it.partition)), 2)
        return {
            "group_id": it.group(),
            "member_id": who[0],
            "member_epoch": who[1],
            "topics": it.seldom(None, topics, 0.3),
        }

    first = group()
    flat = {"topics": first["topics"] or []}
    return "adm", {
        **first,
        **flat,
        "groups": [first, *it.few(group, 1)][: it.one(1, 2)],
        "require_stable": it.one(True, False),
    }


def delete_offsets(it: Talk) -> tuple[str, Any]:
    topics = it.few(lambda: it.named(partitions=[{"partition_index": each} for each in it.few(it.partition, 2)]), 2)
    return "adm", {"group_id": it.group(), "topics": topics}
