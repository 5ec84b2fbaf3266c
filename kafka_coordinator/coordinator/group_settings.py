"""Settings that a single group of the consumer protocol may have, beside those of the broker (spec 3.3, 6.10).

In Kafka `GroupConfig`, set with ``kafka-configs --entity-type groups``.
"""

from collections.abc import Mapping
from typing import Final

from kafka_coordinator.coordinator.settings import BrokerSettings
from protocols.errors import UserError

SESSION_TIMEOUT: Final = "consumer.session.timeout.ms"
HEARTBEAT_INTERVAL: Final = "consumer.heartbeat.interval.ms"

DEFAULTS: Final[Mapping[str, int]] = {
    SESSION_TIMEOUT: BrokerSettings().group_consumer_session_timeout_ms,
    HEARTBEAT_INTERVAL: BrokerSettings().group_consumer_heartbeat_interval_ms,
}
"""Name of a setting to what Kafka 4.1.0 takes it for where it checks settings that leave it out: Kafka's own default,
also where the broker has another one. In use, the broker's counts."""

_MOST = 2**31 - 1


def checked(given: Mapping[str, object], broker: BrokerSettings, where: str) -> dict[str, int]:
    """The settings of one group, all that it has, if the broker takes them; else `UserError`, which names ``where``."""
    found: dict[str, int] = {}
    for name, value in given.items():
        if name not in DEFAULTS:
            raise UserError(f"{where}: unknown setting {name!r} of a group, expected one of {', '.join(DEFAULTS)}")
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST:
            raise UserError(f"{where}: setting {name}: {value!r}, expected a whole number from 1 to {_MOST}")
        found[name] = value
    if found:
        _check_bounds(found, broker, where)
    return found


def _check_bounds(found: Mapping[str, int], broker: BrokerSettings, where: str) -> None:
    for name, least, most in (
        (HEARTBEAT_INTERVAL, "group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"),
        (SESSION_TIMEOUT, "group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"),
    ):
        value = found.get(name, DEFAULTS[name])
        said = f"{name} is {value}" + ("" if name in found else " by default")
        for bound, words, is_kept in ((least, "least", int.__ge__), (most, "most", int.__le__)):
            limit = getattr(broker, bound.replace(".", "_"))
            if not is_kept(value, limit):
                raise UserError(f"{where}: {said}, expected at {words} {bound}, which is {limit}")
    session, interval = (found.get(name, DEFAULTS[name]) for name in (SESSION_TIMEOUT, HEARTBEAT_INTERVAL))
    if session <= interval:
        raise UserError(
            f"{where}: {SESSION_TIMEOUT} is {session}, expected more than {HEARTBEAT_INTERVAL}, which is {interval}"
        )
