"""Parts of the 0.8 consumer: settings, orders, and messages that are ZooKeeper's own operations."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_coordinator.zookeeper import messages
from kafka_coordinator.zookeeper.messages import (
    ChildrenAnswer,
    CloseSession,
    Create,
    DataAnswer,
    Delete,
    Done,
    GetChildren,
    GetData,
    OpenSession,
    Ping,
    Pong,
    Registration,
    SessionClosed,
    SessionOpened,
    SetData,
    WatchEvent,
)
from kafka_coordinator.zookeeper.settings import ConsumerSettings, range_, roundrobin, with_settings
from protocols.errors import UserError
from tests.message_classes import message_classes
from tests.rows import rows


def test_range_deals_to_threads_of_which_a_consumer_may_have_several() -> None:
    threads = {"t": ["a-0", "a-1", "b-0"]}
    share = range_(["a-0", "a-1"], threads, {"t": 4})
    assert share == {("t", 0): "a-0", ("t", 1): "a-0", ("t", 2): "a-1"}


@given(st.integers(1, 7), st.dictionaries(st.sampled_from("tuvw"), st.integers(0, 9), min_size=1))
def test_equal_pictures_give_shares_that_fit(members: int, partitions: dict[str, int]) -> None:
    ids = [f"m{number}-0" for number in range(members)]
    threads = dict.fromkeys(partitions, ids)
    for assign in (range_, roundrobin):
        dealt = [partition for thread in ids for partition in assign([thread], threads, partitions)]
        assert sorted(dealt) == sorted((topic, n) for topic, count in partitions.items() for n in range(count))
    loads = [len(roundrobin([thread], threads, partitions)) for thread in ids]
    assert max(loads) - min(loads) <= 1


def test_roundrobin_orders_partitions_by_the_signed_hash_of_their_names() -> None:
    # The hash of "[orders,0]" is negative, those of "[t,0]" and "[t,1]" are not.
    threads = {"t": ["a-0", "b-0"], "orders": ["a-0", "b-0"]}
    share = roundrobin(["a-0"], threads, {"t": 2, "orders": 1})
    assert share == {("orders", 0): "a-0", ("t", 1): "a-0"}


def test_settings_have_kafkas_names() -> None:
    changed = with_settings(ConsumerSettings(), {"rebalance.max.retries": "2", "zookeeper.sync.time.ms": 100}, "here")
    assert (changed.rebalance_max_retries, changed.backoff_ms) == (2, 100)


@rows(
    ("name", "value", "what"),
    [
        ("session.timeout.ms", 1, "here: unknown setting 'session.timeout.ms'"),
        ("rebalance.max.retries", 0, "rebalance.max.retries is 0, expected a whole number, at least 1"),
        ("auto.offset.reset", "earliest", "expected largest or smallest"),
        ("auto.commit.enable", "perhaps", "expected true or false"),
    ],
)
def test_a_setting_that_cannot_be_is_one_clear_line(name: str, value: object, what: str) -> None:
    with pytest.raises(UserError, match=what):
        with_settings(ConsumerSettings(), {name: value}, "here")


REQUEST_HEADER, REPLY_HEADER = {"xid", "type"}, {"xid", "zxid", "err"}
OPERATIONS: Mapping[type[Any], tuple[set[str], Mapping[str, str]]] = {
    OpenSession: (
        {"protocolVersion", "lastZxidSeen", "timeOut", "sessionId", "passwd"},
        {"timeout_ms": "timeOut", "session": "sessionId"},
    ),
    SessionOpened: ({"protocolVersion", "timeOut", "sessionId", "passwd"}, {"session": "sessionId"}),
    CloseSession: (REQUEST_HEADER, {}),
    SessionClosed: (REPLY_HEADER, {}),
    Ping: (REQUEST_HEADER, {}),
    Pong: (REPLY_HEADER, {}),
    Create: (REQUEST_HEADER | {"path", "data", "acl", "flags"}, {"path": "path", "data": "data"}),
    SetData: (REQUEST_HEADER | {"path", "data", "version"}, {"path": "path", "data": "data"}),
    Delete: (REQUEST_HEADER | {"path", "version"}, {"path": "path"}),
    Done: (REPLY_HEADER, {"error": "err"}),
    GetData: (REQUEST_HEADER | {"path", "watch"}, {"path": "path", "watch": "watch"}),
    DataAnswer: (REPLY_HEADER | {"data", "stat"}, {"error": "err", "data": "data"}),
    GetChildren: (REQUEST_HEADER | {"path", "watch"}, {"path": "path", "watch": "watch"}),
    ChildrenAnswer: (REPLY_HEADER | {"children"}, {"names": "children"}),
    WatchEvent: ({"type", "state", "path"}, {"kind": "type", "path": "path"}),
}
"""Message to the fields of ZooKeeper's own records (headers included), and ours to theirs. What opens a session has no
header, as it is the first on its connection: the answer to it is known by that."""

DATA = {Registration: {"topics": "subscription", "pattern": "pattern", "streams": "subscription"}}
"""What stands in nodes: fields of the JSON that a consumer writes when it registers."""


EVERY = message_classes(messages)


@rows("message", EVERY)
def test_every_field_is_one_of_zookeepers_records(message: type[Any]) -> None:
    if message in DATA:
        assert set(message._fields) == set(DATA[message])
        return
    carried, places = OPERATIONS[message]
    assert [field for field in message._fields if field != "correlation" and places.get(field) not in carried] == []
    if "correlation" in message._fields:
        assert "xid" in carried or message in (OpenSession, SessionOpened)
