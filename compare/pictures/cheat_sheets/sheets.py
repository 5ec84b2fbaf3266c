"""The three cheat sheets: Kafka, RocketMQ, and both side by side."""

from collections.abc import Sequence

from compare.pictures.cheat_sheets import data
from compare.pictures.cheat_sheets.columns import Column, columns
from compare.pictures.cheat_sheets.words import Words
from compare.pictures.sheet import Sheet
from compare.states.machines import machine
from kafka_coordinator.coordinator.log import offsets_partition
from protocols.state_machine import BEGINNING

_KAFKA_SETTINGS = (
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "max.poll.interval.ms",
    "max.poll.records",
    "auto.commit.interval.ms",
    "metadata.max.age.ms",
    "request.timeout.ms",
    "partition.assignment.strategy",
    "group.initial.rebalance.delay.ms",
    "group.consumer.session.timeout.ms",
    "group.consumer.heartbeat.interval.ms",
    "group.consumer.assignors",
    "offsets.topic.num.partitions",
    "offsets.retention.minutes",
)
_ROCKETMQ_SETTINGS = (
    "rocketmq.client.rebalance.waitInterval",
    "rocketmq.client.rebalance.minInterval",
    "pollNameServerInterval",
    "heartbeatBrokerInterval",
    "channelExpiredTimeout",
    "persistConsumerOffsetInterval",
    "rocketmq.client.rebalance.lockInterval",
    "rocketmq.client.rebalance.lockMaxLiveTime",
    "rocketmq.broker.rebalance.lockMaxLiveTime",
    "rocketmq.client.pull.pullMaxIdleTime",
    "pullBatchSize",
    "pullThresholdForQueue",
    "consumeThreadMax",
    "consumeTimeout",
    "registerNameServerPeriod",
)
_LEFT_OUT = ("Heartbeat", "HeartbeatAnswer", "OffsetCommit", "OffsetCommitAnswer", "Fetch", "FetchAnswer")
"""Messages that go on whether somebody joins or not."""


def kafka_sheet(words: Words) -> Sheet:
    """Of Kafka, both protocols."""
    sheet = Sheet(words.kafka_title)
    left, middle, right = columns(sheet, words.kafka_title, words.about_kafka, words.footer, scale=1.08)
    left.heading(words.who_decides)
    left.sentences(*words.kafka_decides, words.coordinator.format(partition=offsets_partition("billing", 50)))
    left.heading(words.a_join)
    _join(left, "kafka:range", 3_200.0, _LEFT_OUT)
    middle.heading(words.a_consumer_protocol_join)
    _join(middle, "kafka:uniform", 10_500.0, ("OffsetCommit", "OffsetCommitAnswer"))
    middle.heading(words.states)
    _states(middle, words, "kafka", "group")
    middle.heading(words.consumer_protocol_states)
    _states(middle, words, "kafka", "consumer group", but=("Empty", "Dead"))
    right.heading(words.events)
    for label in data.KAFKA:
        _events(right, words, label)
    right.heading(words.strategies)
    names = ("range", "roundrobin", "sticky", "cooperative-sticky", "server-range", "uniform")
    _strategies(right, words, data.kafka_shares(names))
    right.heading(words.settings)
    _settings(right, words, data.kafka_settings(_KAFKA_SETTINGS))
    middle.heading(words.remember)
    middle.sentences(*words.kafka_remember)
    return sheet


def rocketmq_sheet(words: Words) -> Sheet:
    """Of RocketMQ's push consumer."""
    sheet = Sheet(words.rocketmq_title)
    left, middle, right = columns(sheet, words.rocketmq_title, words.about_rocketmq, words.footer, scale=1.16)
    left.heading(words.who_decides)
    left.sentences(*words.rocketmq_decides)
    left.heading(words.a_rocketmq_join)
    _join(left, data.ROCKETMQ, 1_100.0, ("PullMessage", "PullAnswer", "UpdateConsumerOffset"))
    middle.heading(words.queue_states)
    _states(middle, words, "rocketmq", "process queue")
    middle.heading(words.events)
    _events(middle, words, data.ROCKETMQ)
    middle.heading(words.remember)
    middle.sentences(*words.rocketmq_remember)
    right.heading(words.strategies)
    _strategies(right, words, data.rocketmq_shares(("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")))
    right.heading(words.settings)
    _settings(right, words, data.rocketmq_settings(_ROCKETMQ_SETTINGS))
    return sheet


def both_sheet(words: Words) -> Sheet:
    """Both systems, the same group and events."""
    sheet = Sheet(words.both_title)
    left, right = columns(sheet, words.both_title, words.about_both, words.footer, 2, scale=1.25)
    labels = ("kafka:range", "kafka:cooperative-sticky", "kafka:uniform", data.ROCKETMQ)
    left.heading(words.ownership)
    left.sentences(words.ownership_about)
    for label in labels:
        left.sentences(label)
        timeline = data.run(label).timeline
        beliefs = [each for each in timeline.beliefs if each.queue.topic == "orders"]
        queues = {each: str(each.number) for each in sorted({each.queue for each in beliefs})}
        left.ownership(beliefs, queues, data.JOIN - 2_000, data.JOIN + 10_000, ("c1", "c2", "c3"))
    left.heading(words.remember)
    left.sentences(*words.kafka_remember[:2], *words.rocketmq_remember[:2])
    right.heading(words.side_by_side)
    right.table(words.side_by_side_head, words.rows, (0.19, 0.25, 0.25, 0.31))
    right.heading(words.events)
    for label in labels:
        _events(right, words, label)
    return sheet


def _join(column: Column, label: str, until: float, left_out: Sequence[str]) -> None:
    diagram = data.join_messages(label, until, left_out)
    column.sequence(diagram.participants, diagram.steps)


def _states(column: Column, words: Words, system: str, name: str, but: Sequence[str] = ()) -> None:
    drawn = machine(system, name)
    rows = [
        (drawn.shown(state), words.meanings.get(state, drawn.meanings.get(state, "")))
        for state in drawn.states
        if state != BEGINNING and state not in but
    ]
    column.table(("", ""), rows, (0.36, 0.64))


def _events(column: Column, words: Words, label: str) -> None:
    found = data.outcomes(label)
    events = {data.JOIN: words.joins, data.HANG: words.hangs, data.CRASH: words.crashes, data.LEAVE: words.leaves}
    rows = [
        (
            name,
            _seconds(found[at]["longest_gap_s"] or 0.0),
            _seconds(_longest_double(label, at)),
            str(found[at]["moves"]),
        )
        for at, name in events.items()
    ]
    column.table((label, *words.events_head[1:]), rows, (0.37, 0.23, 0.2, 0.2))


def _longest_double(label: str, at: float) -> float:
    """Seconds for which a queue had two owners after the event at this time, at most."""
    result = data.run(label)
    ends = data.outcomes(label)[at]["until_s"] * 1000
    lasted = [
        ((result.timeline.end if each.until is None else each.until) - each.since) / 1000
        for each in result.timeline.doubles
        if at <= each.since < ends
    ]
    return max(lasted, default=0.0)


def _seconds(value: float) -> str:
    if value == 0:
        return "0"
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _strategies(column: Column, words: Words, shares: Sequence[data.Share]) -> None:
    column.sentences(words.strategies_about)
    rows = [(each.strategy, " · ".join(map(str, each.loads)), str(each.moves)) for each in shares]
    column.table(words.strategies_head, rows, (0.45, 0.37, 0.18))


def _settings(column: Column, words: Words, settings: Sequence[tuple[str, object]]) -> None:
    rows = [(name, _default(value, is_time=_is_time(name))) for name, value in settings]
    column.table(words.settings_head, rows, (0.68, 0.32))


_NO_TIMES = ("records", "BatchSize", "Threshold", "ThreadMax", "minutes", "num.partitions")


def _is_time(name: str) -> bool:
    return not any(part in name for part in _NO_TIMES)


def _default(value: object, *, is_time: bool) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, int | float) and is_time:
        seconds = value / 1000
        minutes = seconds / 60
        return f"{minutes:g} min" if minutes >= 5 and minutes == int(minutes) else f"{seconds:g} s"
    return f"{value:,}" if isinstance(value, int) else str(value)


SHEETS = {"kafka": kafka_sheet, "rocketmq": rocketmq_sheet, "side-by-side": both_sheet}
"""Name of a sheet to what makes it, in the words of a language."""
