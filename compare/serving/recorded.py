"""The recording of a served Kafka cluster: a trace per group, as `equipoise conformance` plays it."""

import base64
import json
from collections.abc import Mapping, Sequence

from compare.conformance.session import recording
from compare.serving.cluster import Served
from compare.serving.kafka import KafkaService
from protocols.scenario.events import BrokerEvent, Network

_LOST = (BrokerEvent, Network)
"""Events that a trace of one coordinator has no step for."""


def recordings(served: Served, settings: Mapping[str, object]) -> tuple[str, Sequence[str]]:
    """The lines of the file, and what is to be said about them; no lines where nothing can be recorded so.
    ``settings``: the broker's that are not the defaults."""
    service, history = served.service, served.history
    if not isinstance(service, KafkaService):
        return "", ["no recording for conformance: its traces are of Kafka's coordinator"]
    if any(isinstance(event, _LOST) for event in history.events.values()) or len(service.brokers) > 1:
        return "", ["no recording for conformance: its traces are of one broker to which nothing happened"]
    ids = {
        topic: base64.urlsafe_b64encode(number.to_bytes(16, "big")).decode().rstrip("=")
        for topic, number in service.cluster.controller.topic_ids.items()
    }
    lines, told = [], []
    for group in history.scenario("", served.world.now).groups:
        found = recording(group, history.heard, history.topic_changes, ids, settings)
        lines.append(json.dumps(found.trace, allow_nan=False))
        if found.differing:
            told.append(f"{found.differing} answers to group {group!r} differ from the trace, whose times are whole ms")
    return "".join(f"{line}\n" for line in lines), told
