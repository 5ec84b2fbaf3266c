"""Settings of share-partitions: of the broker, and of a group itself (spec share 1, spec 11).

In Kafka `ShareGroupConfig` and the share settings of `GroupConfig`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Final

from kafka_coordinator.share.partition import Limits
from protocols.errors import UserError
from protocols.load import changed

LATEST: Final = "latest"
EARLIEST: Final = "earliest"
BY_DURATION: Final = "by_duration:"
_MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ShareSettings:
    """A field's name is Kafka's own with ``_`` for ``.``; times are milliseconds."""

    group_share_record_lock_duration_ms: int = 30_000
    group_share_min_record_lock_duration_ms: int = 15_000
    group_share_max_record_lock_duration_ms: int = 60_000
    group_share_delivery_count_limit: int = 5
    group_share_min_delivery_count_limit: int = 2
    group_share_max_delivery_count_limit: int = 10
    group_share_partition_max_record_locks: int = 2_000
    group_share_min_partition_max_record_locks: int = 100
    group_share_max_partition_max_record_locks: int = 4_000
    group_share_max_share_sessions: int = 2_000
    """Sessions of all groups at one broker."""
    write_ms: int = field(default=0, metadata={"own": True})
    """None of Kafka's: how long the persister takes to keep a change."""

    def limits(self, own: Mapping[str, object]) -> Limits:
        """What holds for a group with these settings of its own; one that is out of the broker's bounds is drawn to the
        nearest of them."""

        def of(name: str, least: int, usual: int, most: int) -> int:
            value = own.get(name)
            return usual if value is None else min(max(int(str(value)), least), most)

        return Limits(
            of(
                "share.partition.max.record.locks",
                self.group_share_min_partition_max_record_locks,
                self.group_share_partition_max_record_locks,
                self.group_share_max_partition_max_record_locks,
            ),
            of(
                "share.delivery.count.limit",
                self.group_share_min_delivery_count_limit,
                self.group_share_delivery_count_limit,
                self.group_share_max_delivery_count_limit,
            ),
            of(
                "share.record.lock.duration.ms",
                self.group_share_min_record_lock_duration_ms,
                self.group_share_record_lock_duration_ms,
                self.group_share_max_record_lock_duration_ms,
            ),
            str(own.get(_SWITCH, "true")).lower() == "true",
            bool(own.get(DEAD_LETTERS)),
            str(own.get(_ISOLATION, "")).lower() == "read_committed",
        )


NAMES: Final[Mapping[str, str]] = {
    field.name.replace("_", "."): field.name for field in fields(ShareSettings) if not field.metadata
}
"""Kafka's name of a broker's setting to the field."""


def share_settings(given: Mapping[str, object], where: str) -> ShareSettings:
    """From Kafka's names (`NAMES`); raises `UserError` for a value that cannot be."""
    made: dict[str, object] = {}
    for name, value in given.items():
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST:
            raise UserError(f"{where}: setting {name}: {value!r}, expected a whole number from 1 to {_MOST}")
        made[NAMES[name]] = value
    settings = changed(ShareSettings(), made)
    for what in ("record.lock.duration.ms", "delivery.count.limit", "partition.max.record.locks"):
        least, most = (f"group.share.{bound}.{what}" for bound in ("min", "max"))
        low, value, high = (getattr(settings, NAMES[name]) for name in (least, f"group.share.{what}", most))
        if not low <= value <= high:
            raise UserError(
                f"{where}: group.share.{what} is {value}, expected from {least} to {most}, which are {low} and {high}"
            )
    return settings


RESET_POLICY: Final = "share.auto.offset.reset"
_RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "share.record.lock.duration.ms": (1_000, 3_600_000),
    "share.delivery.count.limit": (2, 10),
    "share.partition.max.record.locks": (100, 10_000),
}
_SWITCH: Final = "share.renew.acknowledge.enable"
_ISOLATION: Final = "share.isolation.level"
"""Of served brokers only: producers of a scenario have no transactions."""
DEAD_LETTERS: Final = "errors.deadletterqueue.topic.name"

OF_A_GROUP: Final = (*_RANGES, RESET_POLICY, _SWITCH, DEAD_LETTERS)
"""Settings that a share group has itself, for its share-partitions."""


def of_a_group(given: Mapping[str, object], where: str) -> dict[str, object]:
    """Those of `OF_A_GROUP` among the settings of a group; `UserError` for a value that cannot be."""
    found: dict[str, object] = {}
    for name in OF_A_GROUP:
        value = given.get(name)
        if value is None:
            continue
        if name in _RANGES:
            least, most = _RANGES[name]
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
                raise UserError(f"{where}: setting {name}: {value!r}, expected a whole number from {least} to {most}")
        elif name == RESET_POLICY:
            known = value in (LATEST, EARLIEST)
            if not known and reset_duration(str(value), f"{where}: setting {name}") is None:
                raise UserError(
                    f"{where}: setting {name}: {value!r}, expected {LATEST}, {EARLIEST} or by_duration:PT1H"
                )
        elif name == _SWITCH and str(value).lower() not in ("true", "false"):
            raise UserError(f"{where}: setting {name}: {value!r}, expected true or false")
        found[name] = value
    return found


def reset_duration(policy: str, where: str) -> int | None:
    """Milliseconds of a reset policy ``by_duration:PnDTnHnMn.nS``, None for one that is none; `UserError`."""
    if not policy.startswith(BY_DURATION):
        return None
    found = re.fullmatch(
        r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", policy.removeprefix(BY_DURATION)
    )
    if found is None or not any(found.groups()):
        raise UserError(f"{where}: {policy!r}, expected a duration such as by_duration:PT1H")
    days, hours, minutes, seconds = [float(each or 0) for each in found.groups()]
    return round((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000)
