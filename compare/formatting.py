"""Names and amounts in sentences."""

from compare.documents.comparison import Record, SharedRecord
from protocols.scenario.systems import split_system

SYSTEM_NAMES = {"kafka": "Kafka", "rocketmq": "RocketMQ", "kafka-zookeeper": "Kafka over ZooKeeper"}
_UNITS = {"kafka": "partition", "kafka-zookeeper": "partition"}


def variant_name(record: Record | SharedRecord) -> str:
    """A variant as a sentence begins with it: "RocketMQ AVG"; its label, where it has one of its own."""
    if record["label"] != record["system"]:
        return record["label"]
    system, strategy = split_system(record["system"])
    return f"{SYSTEM_NAMES.get(system, system)} {strategy}"


def unit(record: Record | SharedRecord) -> str:
    """What the variant's system calls a queue."""
    return unit_of(record["system"])


def unit_of(system: str) -> str:
    """What a system (``kafka``, ``kafka:range``) calls a queue."""
    return _UNITS.get(split_system(system)[0], "queue")


def many(count: float, what: str) -> str:
    """ "1 queue", "3 queues"."""
    told = f"{count:,.0f}" if float(count).is_integer() else f"{count:,g}"
    return f"{told} {what}" + ("" if count == 1 else "s")


def often(count: int) -> str:
    """ "once", "twice", "3 times"."""
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def duration(seconds: float) -> str:
    """ "12 ms", "3.02 s", "2 min 5 s"."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"


def amount(value: float) -> str:
    """ "1,912", "57.4", "0.204"."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.3g}"
