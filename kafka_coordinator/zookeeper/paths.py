"""The paths in ZooKeeper that consumers and brokers use (spec 7.1).

In Kafka 0.8 `ZkUtils` and `ZKGroupDirs`.
"""

BROKERS = "/brokers/ids"
TOPICS = "/brokers/topics"


def broker(name: str) -> str:
    """A broker that runs."""
    return f"{BROKERS}/{name}"


def topic(name: str) -> str:
    """A topic; its data is the number of partitions."""
    return f"{TOPICS}/{name}"


def members(group: str) -> str:
    """The consumers of a group."""
    return f"/consumers/{group}/ids"


def member(group: str, consumer_id: str) -> str:
    """A consumer's registration."""
    return f"/consumers/{group}/ids/{consumer_id}"


def owner(group: str, topic: str, number: int) -> str:
    """Who owns a partition."""
    return f"/consumers/{group}/owners/{topic}/{number}"


def offset(group: str, topic: str, number: int) -> str:
    """The group's offset of a partition."""
    return f"/consumers/{group}/offsets/{topic}/{number}"
