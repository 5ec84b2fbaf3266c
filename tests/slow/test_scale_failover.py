"""A coordinator's death under groups of many minimal members, at three real brokers of Kafka 4.4.0.

`python -m tests.slow.test_scale_failover 100 500` prints what docs/scale.md has a table of.
"""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.slow import real_kafka
from tests.slow.java import UnavailableError
from tests.slow.scale_members import (
    CONSUMER_HEARTBEAT,
    FIND,
    HEARTBEAT,
    ClassicMember,
    ConsumerMember,
    KafkaMember,
    Run,
    Story,
    Tally,
)
from tests.slow.test_scale import SETTINGS, made_topic

pytestmark = pytest.mark.slow

_SETTINGS = {**SETTINGS, "offsets.topic.replication.factor": "3"}
_MEMBERS = 30
_FENCED_S = (7.0, 10.1)
"""How long after its death a broker's partitions get other leaders (docs/spec/kafka.md, 1.6)."""
_NOTICED_S = 1.5
"""So long after that a client asks again at the latest: ``retry.backoff.max.ms`` with its fifth, and the loading."""


@contextmanager
def three_brokers(folder: Path) -> Iterator[tuple[real_kafka.RealKafka, dict[str, real_kafka.FurtherBroker]]]:
    """The first, which is the controller and is never killed, and the others by their addresses."""
    with real_kafka.running(folder, _SETTINGS, version="4.4.0") as first, ExitStack() as others:
        further = [others.enter_context(real_kafka.further_broker(first, number)) for number in (2, 3)]
        yield first, {each.address: each for each in further}


async def failed_over(
    first: real_kafka.RealKafka, others: dict[str, real_kafka.FurtherBroker], kind: type[KafkaMember], members: int
) -> Story:
    """What the death of the coordinator costs a group at rest. The broker that is killed is taken out of ``others``."""
    topic = made_topic(first, f"{kind.__name__}-{members}", 2 * members)
    for number in range(100):
        probe = kind("probe", f"group-{topic}-{number}", topic, 0, Tally())
        await probe.open(first.plaintext)
        probe.close()
        if probe.coordinator in others:
            break
    run = Run(first.plaintext, kind, members, probe.group, topic)
    try:
        await run.start()
        await run.at_rest()
        return await run.failover(others.pop(probe.coordinator).process.kill)
    finally:
        await run.end()


@pytest.mark.parametrize(("kind", "key"), [(ConsumerMember, CONSUMER_HEARTBEAT), (ClassicMember, HEARTBEAT)])
def test_a_group_outlives_its_coordinator(tmp_path: Path, kind: type[KafkaMember], key: int) -> None:
    """Each member is known to the next coordinator as soon as the controller has fenced the dead one and the member has
    asked again, and owns what it owned (`Run.failover`)."""
    try:
        with three_brokers(tmp_path) as (first, others):
            story = asyncio.run(failed_over(first, others, kind, _MEMBERS))
    except UnavailableError as why:
        pytest.skip(str(why))
    assert story.settle_s is not None
    assert _FENCED_S[0] <= story.settle_s <= _FENCED_S[1] + _NOTICED_S
    assert not story.errors
    assert _MEMBERS <= story.requests[key] <= 2 * _MEMBERS
    # From its next heartbeat until the dead broker is fenced, between 2 and 10.1 s, each asks every 0.1 s (classic), or
    # pauses for 0.05, 0.1, ... and at most a second, and asks again.
    least, most = (20, 115) if kind.asks_in_polls else (5, 16)
    assert least * _MEMBERS <= story.requests[FIND] <= most * _MEMBERS


def main() -> None:
    for members in map(int, sys.argv[1:]):
        for kind in (ConsumerMember, ClassicMember):
            with TemporaryDirectory() as folder, three_brokers(Path(folder)) as (first, others):
                story = asyncio.run(failed_over(first, others, kind, members))
                print(kind.__name__, members, story, flush=True)


if __name__ == "__main__":
    main()
