"""What a 0.8 consumer and ZooKeeper say to each other are ZooKeeper's own operations."""

from collections.abc import Mapping
from typing import Any

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
from tests.message_classes import message_classes
from tests.rows import rows

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
