"""The step ``create_client`` of a trace: the client that it makes."""

from datetime import UTC, datetime

from compare.conformance.cases import MalformedCase
from compare.conformance.rocketmq_traces.steps import EPOCH_MS, Step
from protocols.engine.nodes import Time
from rocketmq_selfbalance.catalogue import (
    AVG_BY_CIRCLE,
    CONSISTENT_HASH,
    Averagely,
    AveragelyByCircle,
    ConsistentHash,
    MachineRoomNearby,
    MachineRoomResolver,
    Strategy,
)
from rocketmq_selfbalance.catalogue import AVG_NAME as AVG
from rocketmq_selfbalance.cluster import CHOICES, ClientSettings, Consumer, PullSettings, RemoteOffsets

CREATE_CLIENT = (
    *("client", "group", "kind", "orderly", "message_model", "strategy", "consume_from_where", "consume_timestamp"),
    *("pull_threshold_for_topic", "pull_threshold_size_for_topic"),
)


def make_consumer(step: Step) -> Consumer:
    """The client's one consumer."""
    for name in ("kind", "message_model", "consume_from_where"):
        if step.text(name) not in CHOICES[name]:
            raise MalformedCase(name, f"one of {', '.join(CHOICES[name])}", step.text(name))
    settings = ClientSettings(
        kind=step.text("kind"),
        orderly=step.truth("orderly"),
        message_model=step.text("message_model"),
        consume_from_where=step.text("consume_from_where"),
        pulling=PullSettings(
            pull_threshold_for_topic=step.number("pull_threshold_for_topic"),
            pull_threshold_size_for_topic=step.number("pull_threshold_size_for_topic"),
        ),
    )
    client = step.text("client")
    strategy = strategy_named(step.text("strategy"))
    consumer = Consumer(step.text("group"), client, client, strategy, RemoteOffsets(), settings, step.now)
    given = step.optional_text("consume_timestamp")
    if given is not None:
        consumer.consume_timestamp = _moment(given)
    return consumer


def strategy_named(name: str) -> Strategy:
    """The strategy as traces name it. Rooms of MACHINE_ROOM_NEARBY: a broker's is what its name begins with, a
    client's what its id ends with; an id without a hyphen has none."""
    inner, _, of = name.rpartition("-")
    simple: dict[str, Strategy] = {
        AVG: Averagely(),
        AVG_BY_CIRCLE: AveragelyByCircle(),
        CONSISTENT_HASH: ConsistentHash(),
    }
    if name in simple:
        return simple[name]
    if inner == "MACHINE_ROOM_NEARBY" and of in simple:
        resolver = MachineRoomResolver(
            lambda queue: queue.broker.split("-")[0], lambda cid: cid.rpartition("-")[2] if "-" in cid else None
        )
        return MachineRoomNearby(simple[of], resolver)  # type: ignore[arg-type]
    raise MalformedCase("strategy", f"one of {', '.join(simple)}, MACHINE_ROOM_NEARBY-<one of these>", name)


def _moment(text: str) -> Time:
    """``yyyyMMddHHmmss`` in UTC, as milliseconds since the start of the trace."""
    try:
        moment = datetime.strptime(text, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        raise MalformedCase("consume_timestamp", "yyyyMMddHHmmss", text) from None
    return moment.timestamp() * 1000 - EPOCH_MS
