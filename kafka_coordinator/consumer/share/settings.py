"""Settings of a share consumer under Kafka's own names (spec share 1), and what its user's code does.

In Kafka `ShareConsumerConfig`, which refuses what only owned partitions have a use for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, Final

from kafka_coordinator.catalogue import CONSUMER
from kafka_coordinator.consumer import settings as of_consumers
from kafka_coordinator.consumer.settings import ConsumerSettings, whole_number
from kafka_coordinator.consumer.state import ConsumerState
from protocols.errors import UserError
from protocols.load import changed

IMPLICIT: Final = "implicit"
EXPLICIT: Final = "explicit"
RETRY: Final = "retry"
"""What the user's code does with a record that it cannot handle: it tries again in place."""

_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "share.acknowledgement.mode": (IMPLICIT, EXPLICIT),
    "share.acquire.mode": ("batch_optimized", "record_limit"),
    "on.error": (RETRY, "release", "reject"),
}

REFUSED: Final = frozenset(
    {
        "auto.offset.reset",
        "auto.commit.interval.ms",
        "enable.auto.commit",
        "group.protocol",
        "group.remote.assignor",
        "heartbeat.interval.ms",
        "partition.assignment.strategy",
        "rebalance.timeout.ms",
        "session.timeout.ms",
    }
)
"""Settings of other consumers that a share consumer does not take, or has no use for."""


@dataclass(frozen=True, slots=True)
class ShareConsumerSettings(ConsumerSettings):
    """Times are milliseconds; each field's name is Kafka's with ``_`` for ``.``."""

    shares: ClassVar[bool] = True

    group_protocol: str = CONSUMER
    """Its membership is that of the consumer protocol, but for its messages."""
    share_acknowledgement_mode: str = IMPLICIT
    """``implicit``: the next poll() accepts all that the last one returned; ``explicit``: the code says so of each."""
    share_acquire_mode: str = "batch_optimized"
    fetch_max_wait_ms: int = 500
    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 52_428_800
    on_error: str = RETRY
    """None of Kafka's: what the user's code does with a record that it cannot handle."""
    renew_interval_ms: int = 0
    """None of Kafka's: how often the user's code renews the locks of what it has in hand; 0: never."""

    @property
    def acknowledges_explicitly(self) -> bool:
        return self.share_acknowledgement_mode == EXPLICIT

    @classmethod
    def of(cls, given: Mapping[str, object]) -> "ShareConsumerSettings":
        """From Kafka's names (`NAMES`). Raises `UserError` for an unknown name or a value that cannot be."""
        made: dict[str, object] = {}
        for name, value in given.items():
            if name not in NAMES:
                raise UserError(f"{name} cannot be set on a share consumer, expected one of {', '.join(sorted(NAMES))}")
            if name in _CHOICES:
                text = str(value).strip().lower()
                if text not in _CHOICES[name]:
                    raise UserError(f"{name} is {value!r}, expected one of {', '.join(_CHOICES[name])}")
                made[NAMES[name]] = text
            else:
                made[NAMES[name]] = whole_number(name, value, 0 if name in _MAY_BE_ZERO else 1)
        settings = changed(cls(), made)
        if not settings.acknowledges_explicitly and (settings.on_error != RETRY or settings.renew_interval_ms):
            what = "renew.interval.ms" if settings.on_error == RETRY else f"on.error: {settings.on_error}"
            raise UserError(
                f"{what} needs share.acknowledgement.mode: explicit, which lets the code say so of a record"
            )
        return settings


_MAY_BE_ZERO: Final = frozenset(
    {
        *("fetch.max.wait.ms", "fetch.min.bytes", "renew.interval.ms", "metadata.max.age.ms", "retry.backoff.ms"),
        *("retry.backoff.max.ms", "reconnect.backoff.ms", "reconnect.backoff.max.ms"),
    }
)

OWN: Final[Mapping[str, str]] = {
    field.name.replace("_", "."): field.name
    for field in fields(ShareConsumerSettings)
    if field.name not in {each.name for each in fields(ConsumerSettings)}
}
"""Those that no other consumer has: Kafka's name to its field."""

NAMES: Final[Mapping[str, str]] = {
    **{name: field for name, field in of_consumers.NAMES.items() if name not in REFUSED},
    **OWN,
}
"""All that it has."""


def settings_of(c: ConsumerState) -> ShareConsumerSettings:
    """The settings of a share consumer."""
    assert isinstance(c.config.settings, ShareConsumerSettings)
    return c.config.settings
