"""Whose rules a recording is played with: those of the version that it names, or of the first one that was recorded."""

from typing import TypeVar

import kafka_coordinator.cluster as kafka
import rocketmq_selfbalance.cluster as rocketmq
from compare.conformance.cases import MalformedCase
from protocols.errors import UserError
from protocols.versions import Version, Versions

V = TypeVar("V", bound=Version)


def kafka_version(told: object, path: str = "kafka") -> kafka.Version:
    """``told``: ``4.4.0``, or a text that begins with it; None: 4.1.0. Raises `MalformedCase`."""
    return _named(kafka.VERSIONS, told, "4.1.0", path)


def rocketmq_version(told: object, path: str = "rocketmq") -> rocketmq.Version:
    """The same for RocketMQ, whose first recordings are of 5.3.3."""
    return _named(rocketmq.VERSIONS, told, "5.3.3", path)


def _named(versions: Versions[V], told: object, oldest: str, path: str) -> V:
    text = str(oldest if told is None else told).replace(",", " ").partition(" ")[0]
    try:
        return versions.named(text, path)
    except UserError:
        raise MalformedCase(path, f"one of {', '.join(versions)}", told) from None
