"""Settings of a name server with RocketMQ 5.3.3's defaults: its ``NamesrvConfig`` (spec 10.1)."""

from collections.abc import Mapping
from dataclasses import dataclass

from protocols.engine.nodes import Time

REAL_NAMES: Mapping[str, str] = {
    "scanNotActiveBrokerInterval": "scan_not_active_broker_interval_ms",
    "brokerExpiredTimeout": "broker_expired_timeout_ms",
    "supportActingMaster": "support_acting_master",
    "deleteTopicWithBrokerRegistration": "delete_topic_with_broker_registration",
}
"""The system's own configuration name to the field. (``brokerExpiredTimeout`` has no name of its own in RocketMQ.)"""


@dataclass(frozen=True, slots=True)
class NameServerSettings:
    """Times are milliseconds."""

    scan_not_active_broker_interval_ms: Time = 5_000.0
    scan_first_ms: Time = 5.0
    """The first scan, after the start."""
    broker_expired_timeout_ms: Time = 120_000.0
    """A broker that was silent for longer is gone."""
    support_acting_master: bool = False
    delete_topic_with_broker_registration: bool = False


VERSIONS: Mapping[str, Mapping[str, object]] = {
    "5.3": {},
    "4.5": {"scan_not_active_broker_interval_ms": 10_000.0, "scan_first_ms": 5_000.0},
}
"""Value of the setting ``version`` to what it changes, as fields."""
