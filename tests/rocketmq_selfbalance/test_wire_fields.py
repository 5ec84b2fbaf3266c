"""Every message is one that the real systems send: its fields are those of the wire."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rocketmq_selfbalance.messages import membership, nameserver, offsets, requests
from rocketmq_selfbalance.messages.requests import REQUEST_CODES
from tests.message_classes import message_classes
from tests.rocketmq_selfbalance.wire_fields import FRAME, IN_EVERY_FRAME, KNOWN, LAYOUTS, PARTS, PLACES, RECORD, Layout

MODULES = (membership, nameserver, offsets, requests)
WIRE = Path(__file__).parents[1] / "captures" / "rocketmq" / "wire"
OF_ALL_CLIENTS = {"AccessKey", "OnsChannel", "Signature"}
"""What one vendor's client adds to every request."""


EVERY = message_classes(*MODULES)


def is_carried(places: str, by: Layout) -> bool:
    """Whether these places are in a frame of this layout."""
    names = {"frame": FRAME, "header": by.header, "body": by.body, "property": RECORD}
    found = [place.partition(":") for place in places.split()]
    return bool(found) and all(name in names[where] for where, _, name in found)


def private_in(message: type[Any], places: Mapping[str, str], layouts: Iterable[Layout]) -> list[str]:
    """The fields that none of these places is for, or that stand in a place that a layout does not have."""
    known = {**IN_EVERY_FRAME, **places}
    return [
        field
        for field in message._fields
        if field not in known or not all(is_carried(known[field], layout) for layout in layouts)
    ]


def private(message: type[Any]) -> list[str]:
    """The fields of a message, or of a record within messages, that no wire carries."""
    if message in PARTS:
        carriers, places = PARTS[message]
        return private_in(message, places, [layout_of(each) for each in carriers])
    return private_in(message, PLACES[message], [layout_of(message)])


def layout_of(message: type[object]) -> Layout:
    """What frames of this kind carry: those that were recorded, and what is known besides."""
    known = LAYOUTS[message]
    headers, bodies = in_frames(RECORDED.get((known.code, known.is_answer), []))
    return known._replace(header=known.header | headers, body=known.body | bodies)


def test_every_field_is_one_that_the_wire_carries() -> None:
    assert [(message, field) for message in EVERY for field in private(message)] == sorted(
        KNOWN, key=lambda known: EVERY.index(known[0])
    )


def test_a_private_field_is_found() -> None:
    watching = type("PullMessage", (), {"_fields": (*offsets.PullMessage._fields, "watch")})
    assert private_in(watching, PLACES[offsets.PullMessage], [layout_of(offsets.PullMessage)]) == ["watch"]
    places = {**PLACES[offsets.PullMessage], "watch": "header:watch"}
    assert private_in(watching, places, [layout_of(offsets.PullMessage)]) == ["watch"]


def test_requests_have_the_codes_of_the_real_protocol() -> None:
    assert {of: layout.code for of, layout in LAYOUTS.items() if not layout.is_answer} == REQUEST_CODES


def recorded() -> dict[tuple[int, bool], list[dict[str, Any]]]:
    """Request code, and whether it is an answer, to the frames."""
    found: dict[tuple[int, bool], list[dict[str, Any]]] = {}
    for session in sorted(WIRE.glob("*.jsonl")):
        codes: dict[tuple[int, int], int] = {}
        for line in session.read_text("utf-8").splitlines():
            frame = json.loads(line)
            if "kind" not in frame:
                continue
            call = frame["conn"], frame["opaque"]
            is_answer = frame["kind"] == "response"
            if not is_answer:
                codes[call] = frame["code"]
            if call in codes:
                found.setdefault((codes[call], is_answer), []).append(frame)
    return found


RECORDED = recorded()


def in_frames(frames: list[dict[str, Any]]) -> tuple[set[str], set[str]]:
    """The names in the headers; the paths in the bodies, from the outermost to the innermost."""
    headers = {name for frame in frames for name in frame["ext"] or {}} - OF_ALL_CLIENTS
    bodies: set[str] = set()
    for frame in frames:
        if isinstance(frame.get("body"), str):
            bodies |= set(paths(json.loads(frame["body"])))
        elif frame["bodyLen"]:
            bodies.add("records")
    return headers, bodies


def paths(value: Any, at: str = "") -> Iterator[str]:
    if isinstance(value, dict) and not at.endswith("brokerAddrs"):
        for name, inner in value.items():
            yield from paths(inner, f"{at}.{name}" if at else name)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for inner in value:
            yield from paths(inner, at)
    elif at:
        yield at


BY_FRAMES = [of for of, layout in LAYOUTS.items() if (layout.code, layout.is_answer) in RECORDED]


def test_most_messages_are_compared_with_frames() -> None:
    missing = {of.__name__ for of in LAYOUTS if of not in BY_FRAMES}
    assert missing == {
        *("RegisterBroker", "UnregisterBroker", "BrokerHeartbeat", "WipeWritePerm", "AddWritePerm"),
        *("DeleteTopicInNameServer", "GetMinOffset", "SearchOffsetByTimestamp", "ResetConsumerClientOffset"),
        *("UpdateTopic", "DeleteTopicInBroker", "UpdateSubscriptionGroup", "DeleteSubscriptionGroup"),
        *("ResetOffset", "UpdateBrokerConfig"),
    }
