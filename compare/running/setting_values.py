"""Which family of settings a variant has, and what one of them is: as the scenario says, or its system's default."""

import kafka_coordinator.cluster as kafka
import rocketmq_selfbalance.cluster as rocketmq
from compare.running.run_variant import threads_of
from compare.running.systems import has_no_owners
from compare.running.variants import Variant, pool_of
from protocols.scenario.fields import duration_text
from protocols.scenario.model import STATIC, split_system


def family_of(variant: Variant) -> str:
    """``kafka``, ``consumer protocol``, ``zookeeper``, ``rocketmq``, RocketMQ's ``orderly``, or, without owners,
    ``share`` and ``pop``, or the class of all clients where that is another one than RocketMQ's push consumer."""
    system, strategy = split_system(variant.part.system)
    if has_no_owners(variant.part.system):
        if system == "kafka":
            return "share"
        name, usual = rocketmq.CLIENT_CLASS, variant.part.settings.get(rocketmq.CLIENT_CLASS)
        parts = [part for group in variant.scenario.groups.values() for part in group.members.values()]
        clients = {str(part.settings.get(name, usual)) for part in parts}
        client = clients.pop() if len(clients) == 1 else ""
        return client if client in (rocketmq.SIMPLE, rocketmq.CLASSIC) else "pop"
    if system == "kafka":
        protocol = kafka.protocol_of_variant(strategy.removesuffix(STATIC), {}, system)
        return "consumer protocol" if protocol == "consumer" else "kafka"
    if system == "rocketmq":
        return "orderly" if variant.part.settings.get("orderly") else "rocketmq"
    return "zookeeper"


def value_of(variant: Variant, name: str) -> str:
    """The setting's value in words; empty for what is no setting of a client or broker, or has several values."""
    system, strategy = split_system(variant.part.system)
    if name == "partition.assignment.strategy":
        return strategy.removesuffix(STATIC)
    field, default = _default(system, name)
    own = name.removeprefix("group.")
    if own != name and any(own in group.settings for group in variant.scenario.groups.values()):
        return ""  # a group's own setting takes its place
    parts = [part for group in variant.scenario.groups.values() for part in group.members.values()]
    if name and all(name == pool_of(variant.part, part.settings) for part in parts):
        values = {str(threads_of(variant, part)) for part in parts}
    else:
        values = {str(part.settings.get(name, variant.part.settings.get(name, default))).lower() for part in parts}
    value = values.pop() if len(values) == 1 else "none"
    if value == "none":
        return ""
    is_time = field.endswith("_ms") and value.replace(".", "", 1).isdigit()
    return duration_text(float(value)) if is_time else value


def most_given(variant: Variant) -> int | None:
    """How often RocketMQ's proxy gives members a record at most (it comes again ``retryMaxTimes`` times); None for
    another system."""
    if family_of(variant) not in ("pop", rocketmq.SIMPLE):
        return None
    given = variant.part.settings.get("retryMaxTimes", rocketmq.PopSettings().retry_max_times)
    return int(given) + 1 if isinstance(given, int) else None


def _default(system: str, name: str) -> tuple[str, object]:
    """The setting's field and default value; no value for what is none of the system's settings."""
    if system == "rocketmq":
        if field := rocketmq.CLIENT_NAMES.get(name, rocketmq.CLASSIC_NAMES.get(name)):
            return field, rocketmq.field_of(rocketmq.ClientSettings(), field)
        if name in rocketmq.POP_SETTINGS:
            field = rocketmq.POP_SETTINGS[name].field
            return field, getattr(rocketmq.PopSettings(), field)
        field, of = rocketmq.BROKER_NAMES.get(name, ""), rocketmq.BrokerSettings()
        return field, getattr(of, field, None)
    field = (kafka.ZOOKEEPER_NAMES if system == "kafka-zookeeper" else kafka.NAMES).get(name, "")
    if field:
        return field, getattr(
            kafka.ZooKeeperSettings() if system == "kafka-zookeeper" else kafka.ConsumerSettings(), field
        )
    if name in kafka.SHARE_NAMES:
        field = kafka.SHARE_NAMES[name]
        return field, getattr(kafka.ShareSettings(), field)
    field = kafka.BROKER_NAMES.get(name, "")
    return field, getattr(kafka.BrokerSettings(), field, None)
