"""Decorated output tells what the plain output tells, or says what could not be read."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compare.reading import pasted
from compare.reading.gather import _KINDS, _read
from compare.reading.observed import Skipped
from compare.reading.sources import load
from tests.compare.reading.pasted.decorations import DECORATIONS
from tests.compare.reading.pasted.reading_pasted import FILES, lines_of, read_lines
from tests.compare.showing import CAPTURES

VIEWS = (
    "kafka/groups/g05-uneven-sticky.offsets.txt",
    "kafka/groups/g05-uneven-sticky.offsets-verbose.txt",
    "kafka/groups/g07-static_members.members-verbose.txt",
    "kafka/groups/g07-static_members.members.txt",
    "kafka/groups/g22-kip848-uniform.state-verbose.txt",
    "kafka/groups/topics-describe.txt",
    "kafka/groups/list-state-type.txt",
    "kafka/kafka-2.8.2/orders-svc.default.txt",
    "kafka/rebalancing/mid-reconcile.members-verbose.txt",
    "rocketmq/groups/pay_avg_5/consumerProgress_s.txt",
    "rocketmq/groups/pay_avg_5/consumerProgress.txt",
    "rocketmq/groups/pay_avg_5/consumerConnection.txt",
    "rocketmq/groups/pay_avg_5/consumerStatus.txt",
    "rocketmq/groups/pay_avg_5/consumerStatus_i.txt",
    "rocketmq/topics/order_events.topicRoute.txt",
    "rocketmq/topics/order_events.topicRoute_l.txt",
    "rocketmq/topics/order_events.allocateMQ_3.txt",
    "rocketmq/cluster/consumerProgress_all.txt",
)


def test_views_are_read_in_every_decoration(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for number, decoration in enumerate(DECORATIONS):
        with subtests.test(decoration=decoration):
            for view in VIEWS[number % 3 :: 3]:
                path = CAPTURES / view
                plain = read_lines(lines_of(path), tmp_path, path.name)
                decorated = read_lines(DECORATIONS[decoration](lines_of(path)), tmp_path, path.name)
                assert decorated[0] == plain[0], view
                assert [each.why for each in decorated[1]] == [each.why for each in plain[1]], view


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(FILES), st.lists(st.sampled_from(list(DECORATIONS)), min_size=1, max_size=2, unique=True))
def test_no_decoration_changes_an_answer_without_a_word(path: Path, names: list[str]) -> None:
    lines = lines_of(path)
    with tempfile.TemporaryDirectory() as folder:
        plain, untold = read_lines(lines, Path(folder), path.name)
        for name in names:
            lines = DECORATIONS[name](lines)
        groups, skipped = read_lines(lines, Path(folder), path.name)
    assert groups == plain or len(skipped) > len(untold)
    assert all("\n" not in each.why for each in skipped)


def test_what_the_tools_print_is_not_touched() -> None:
    for source in load(map(str, sorted(CAPTURES.rglob("*.txt")))):
        if not isinstance(source, Skipped):
            told = [fact for _, fact in _read(source)]
            assert pasted.undecorated(source, told, _KINDS) == (source,), source.name
