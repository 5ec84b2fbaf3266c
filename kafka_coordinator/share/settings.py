"""Settings of share-partitions: of the broker, and of a group itself (spec share 1, spec 11).

In Kafka `ShareGroupConfig` and the share settings of `GroupConfig`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final

from kafka_coordinator.share.partition import Limits
from protocols.errors import UserError

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
            str(own.get("share.renew.acknowledge.enable", "true")).lower() == "true",
            bool(own.get("errors.deadletterqueue.topic.name")),
        )


NAMES: Final[Mapping[str, str]] = {field.name.replace("_", "."): field.name for field in fields(ShareSettings)}
"""Kafka's name of a broker's setting to the field."""

OF_A_GROUP: Final = (
    "share.record.lock.duration.ms",
    "share.delivery.count.limit",
    "share.partition.max.record.locks",
    "share.auto.offset.reset",
    "share.renew.acknowledge.enable",
    "errors.deadletterqueue.topic.name",
)


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
