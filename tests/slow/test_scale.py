"""Groups of many minimal members at a real broker of Kafka 4.4.0, beside what docs/scale.md says of them.

`python -m tests.slow.test_scale 100 500 2000` prints what docs/scale.md has a table of.
"""

import asyncio
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from confluent_kafka import KafkaException, TopicPartition, admin
from tabulate import tabulate

from tests.slow import real_kafka
from tests.slow.java import UnavailableError
from tests.slow.scale_members import (
    CONSUMER_HEARTBEAT,
    HEARTBEAT,
    SHARE_HEARTBEAT,
    ClassicMember,
    ConsumerMember,
    Member,
    Run,
    ShareMember,
    Story,
    Tally,
)
from tools.scale import group_sizes

pytestmark = pytest.mark.slow

SETTINGS = {
    "group.initial.rebalance.delay.ms": "3000",
    "group.consumer.heartbeat.interval.ms": "5000",
    "group.consumer.min.heartbeat.interval.ms": "5000",
    "group.share.max.size": "1000",
}
"""Kafka's defaults, which the tests' broker does not have, and as many members of a share group as it allows."""
_MEMBERS = 60
_OTHER_RECORDS_BYTES = 600
"""Of the records that a heartbeat writes beside the targets: fewer than five, each of about 100 bytes."""


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[real_kafka.RealKafka]:
    try:
        with real_kafka.running(tmp_path_factory.mktemp("kafka"), SETTINGS, version="4.4.0") as running:
            # A first question about a group makes the offsets topic.
            asyncio.run(ClassicMember("m0", "first", "none", 0, Tally()).open(running.plaintext))
            yield running
    except UnavailableError as why:
        pytest.skip(str(why))


def made_topic(kafka: real_kafka.RealKafka, name: str, partitions: int) -> str:
    client = admin.AdminClient({"bootstrap.servers": kafka.plaintext})
    client.create_topics([admin.NewTopic(name, partitions, 1)])[name].result(60)
    # A coordinator hears of a topic after the broker has made all its logs, which takes a while with thousands.
    ends = {TopicPartition(name, number): admin.OffsetSpec.latest() for number in range(partitions)}
    deadline = time.monotonic() + 120
    while True:
        try:
            for found in client.list_offsets(ends, request_timeout=60).values():
                found.result(60)
        except KafkaException:
            assert time.monotonic() < deadline, "the broker does not make the topic"
            time.sleep(1)
        else:
            time.sleep(2)
            return name


def limit_offsets_topic(kafka: real_kafka.RealKafka, bytes: int) -> None:
    """No batch of the offsets topic may have more bytes from now on."""
    set_ = admin.AlterConfigOpType.SET
    entry = admin.ConfigEntry("max.message.bytes", str(bytes), incremental_operation=set_)
    topic = admin.ConfigResource(admin.ConfigResource.Type.TOPIC, "__consumer_offsets", incremental_configs=[entry])
    client = admin.AdminClient({"bootstrap.servers": kafka.plaintext})
    client.incremental_alter_configs([topic])[topic].result(60)
    time.sleep(2)  # until the broker has it from the controller


def ran(kafka: real_kafka.RealKafka, kind: type[Member], members: int) -> dict[str, Story]:
    topic = made_topic(kafka, f"{kind.__name__}-{members}", 2 * members)

    async def run() -> dict[str, Story]:
        group = Run(kafka.plaintext, kind, members, f"group-{topic}", topic)
        try:
            return await group.stories()
        finally:
            await group.end()

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("kind", "key", "interval_s"),
    [(ConsumerMember, CONSUMER_HEARTBEAT, 5), (ClassicMember, HEARTBEAT, 3), (ShareMember, SHARE_HEARTBEAT, 5)],
)
def test_a_group_at_rest_sends_a_heartbeat_per_member_and_interval(
    kafka: real_kafka.RealKafka, kind: type[Member], key: int, interval_s: int
) -> None:
    stories = ran(kafka, kind, _MEMBERS)
    assert stories["rest"].requests[key] == pytest.approx(_MEMBERS * 15 / interval_s, rel=0.15)
    assert stories["rest"].settle_s is None
    if kind is ClassicMember:
        topic = f"{kind.__name__}-{_MEMBERS}"
        alike = group_sizes.Alike("", "m0000", ((topic, 0), (topic, 1)))
        assert stories["start"].largest == group_sizes.joined_bytes(alike, _MEMBERS)


async def _owning(address: str, kind: type[Member], group: str, topic: str) -> int:
    """How many members own something 25 s after they have joined."""
    run = Run(address, kind, _MEMBERS, group, topic)
    try:
        await run.start()
        await asyncio.sleep(25)
        return sum(bool(each.owned) for each in run.members)
    finally:
        await run.end()


@pytest.mark.parametrize("kind", [ConsumerMember, ClassicMember])
def test_a_group_breaks_where_its_batch_is_larger_than_the_offsets_topic_takes(
    kafka: real_kafka.RealKafka, kind: type[Member]
) -> None:
    """One byte below what a classic group's record needs nobody owns anything; so does a group of the consumer protocol
    whose targets do not fit, of which only the first member has one."""
    topic = made_topic(kafka, f"limited-{kind.__name__}", 2 * _MEMBERS)
    alike = group_sizes.Alike("limited-0", "m0000", ((topic, 0), (topic, 1)))
    needs = (group_sizes.target_batch_bytes if kind is ConsumerMember else group_sizes.metadata_batch_bytes)(
        alike, _MEMBERS
    )
    beside = _OTHER_RECORDS_BYTES if kind is ConsumerMember else 0
    found = []
    for number, most in enumerate((needs + beside, needs - 1)):
        limit_offsets_topic(kafka, most)
        found.append(asyncio.run(_owning(kafka.plaintext, kind, f"limited-{number}", topic)))
    assert found[0] == _MEMBERS
    assert found[1] <= 1


def main() -> None:
    rows = []
    with TemporaryDirectory() as folder, real_kafka.running(Path(folder), SETTINGS, version="4.4.0") as kafka:
        for members in map(int, sys.argv[1:]):
            for kind in (ConsumerMember, ClassicMember, ShareMember):
                for name, story in ran(kafka, kind, members).items():
                    settled = None if story.settle_s is None else round(story.settle_s, 2)
                    asked = sum(story.requests.values())
                    rows.append(
                        [
                            kind.__name__,
                            members,
                            name,
                            settled,
                            round(story.spread_s, 2),
                            asked,
                            story.bytes,
                            story.largest,
                        ]
                    )
                    print(rows[-1], dict(story.errors), flush=True)
    print(tabulate(rows, ["", "members", "story", "settled s", "spread s", "requests", "bytes", "largest answer"]))


if __name__ == "__main__":
    main()
