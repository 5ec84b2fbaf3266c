"""Where docs/versions.md says that releases of RocketMQ differ, a broker and clients of each are asked."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from rocketmq_selfbalance.versions import VERSIONS
from tests.slow.java import UnavailableError
from tests.slow.real_rocketmq import POPS, running
from tests.slow.test_rocketmq_stories import VERSIONS as RELEASES
from tests.waiting import until

pytestmark = pytest.mark.slow

LISTENS_MS, RESETS_MS = 2_000, 10_000
"""How long the one listener takes, and how long a reset that does not look at it."""
FLUSHES_S = 60
"""A broker stores offsets every 5 s, first after 10 s."""


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_does_what_the_page_says(release: str, tmp_path: Path) -> None:
    version = VERSIONS.named(release, "release")
    try:
        with running(tmp_path, release, settings=POPS, brokers=("broker-a",)) as cluster:
            for topic, queues in (("orders", "8"), ("single", "1")):
                cluster.mqadmin("updateTopic", "-c", "Test", "-t", topic, "-r", queues, "-w", queues)
            address = re.findall(r"127\.0\.0\.1:\d+", cluster.mqadmin("clusterList"))[0]
            told = cluster.run("VersionFacts.java", cluster.name_server, address, str(tmp_path / "local"))
            file = tmp_path / "broker-a" / "store" / "config" / "consumerOffset.json"
            until(file.exists, FLUSHES_S)
            stored = file.read_text("utf-8")
            asked = cluster.mqadmin("queryMsgByOffset", "-t", "single", "-b", "broker-a", "-i", "0", "-o", "0")
    except UnavailableError as reason:
        pytest.skip(str(reason))
    facts = dict(line.split(" ")[1:] for line in told.splitlines() if line.startswith("FACT "))
    popped = [int(number) for number in facts["popped"].split(",")]
    steps = {(next - first) % 8 for first, next in pairwise(popped)}
    assert (len(popped), steps) == (8, {7 if version.pop_goes_down else 1})
    waited = int(facts["reset_ms"])
    assert waited < RESETS_MS - LISTENS_MS if version.orderly_reset_waits_for_listeners else waited >= RESETS_MS
    assert ("pullOffsetTable" in stored) is version.pull_offsets_are_written
    groups = {line.partition("=")[2].partition(",")[0] for line in asked.splitlines() if "MessageTrack" in line}
    assert groups == ({"orderly"} if version.topics_have_their_groups else {"orderly", "single"})
    assert int(facts["entries"]) == (8 if version.local_entries_have_lines else 0)
