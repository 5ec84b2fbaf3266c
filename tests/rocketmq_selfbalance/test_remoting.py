"""Frames: what was recorded on real connections is read, and what is written is read back the same."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketmq_selfbalance.remoting import BINARY, JSON, Frame, FrameError, decode, encode, json_of, length_of
from tests.rows import rows

WIRE = Path(__file__).parents[1] / "captures" / "rocketmq" / "wire"

frames = st.builds(
    Frame,
    code=st.integers(0, 2**15 - 1),
    opaque=st.integers(-(2**31), 2**31 - 1),
    fields=st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=4),
    body=st.binary(max_size=40),
    remark=st.none() | st.text(min_size=1, max_size=9),
    flag=st.integers(0, 3),
    language=st.sampled_from(["JAVA", "OTHER", "NODE_JS"]),
    version=st.integers(0, 2**15 - 1),
    form=st.sampled_from([JSON, BINARY]),
)


def recorded(name: str) -> Iterator[dict[str, Any]]:
    for line in (WIRE / name).read_text("utf-8").splitlines():
        event = json.loads(line)
        if event.get("hex"):
            yield event


@rows("session", ["mqadmin_consumerProgress.jsonl", "push_orderly.jsonl", "push_rocketmq_serialization.jsonl"])
def test_recorded_frames_are_read_as_they_were_meant(session: str) -> None:
    forms = set()
    for event in recorded(session):
        raw = bytes.fromhex(event["hex"])
        assert length_of(raw[:4]) == len(raw) - 4
        frame = decode(raw[4:])
        told = (event["code"], event["opaque"], event["ext"], event["remark"], event["language"], event["flag"])
        assert (frame.code, frame.opaque, frame.fields, frame.remark, frame.language, frame.flag) == told
        assert frame.version == event["version"]
        assert len(frame.body) == event["bodyLen"]
        forms.add(frame.form)
        if frame.form == BINARY:
            assert encode(frame) == raw
    assert forms == ({JSON, BINARY} if "serialization" in session else {JSON})


@given(frames)
def test_what_is_written_is_read_back(frame: Frame) -> None:
    raw = encode(frame)
    assert decode(raw[4 : 4 + length_of(raw[:4])]) == frame


@given(frames, st.data())
def test_damaged_bytes_are_a_frame_or_a_frame_error(frame: Frame, data: st.DataObject) -> None:
    raw = bytearray(encode(frame)[4:])
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(FrameError):
        decode(bytes(raw[: data.draw(st.integers(0, len(raw)))]))


@given(st.binary(max_size=80), st.sampled_from([JSON, BINARY, 2, 255]), st.integers(0, 2**24 - 1))
def test_whatever_a_header_holds_it_is_a_frame_or_a_frame_error(header: bytes, form: int, claimed: int) -> None:
    for length in (len(header), claimed):
        with contextlib.suppress(FrameError):
            decode((form << 24 | length).to_bytes(4) + header)


@given(
    st.dictionaries(
        st.sampled_from(["code", "opaque", "extFields", "remark", "flag", "language", "version", "other"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
            lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
            max_leaves=4,
        ),
    )
)
def test_a_header_of_any_json_is_a_frame_of_texts_and_numbers_or_a_frame_error(told: dict[str, Any]) -> None:
    header = json.dumps({"code": 0, "opaque": 1, **told}).encode()
    with contextlib.suppress(FrameError):
        frame = decode(len(header).to_bytes(4) + header)
        assert all(isinstance(each, str) for pair in frame.fields.items() for each in pair)
        assert frame.remark is None or isinstance(frame.remark, str)
        assert all(isinstance(each, int) for each in (frame.code, frame.opaque, frame.flag, frame.version))


@rows(
    "header",
    [b"[" * 99_999, b'{"code":1e999,"opaque":1}', b'{"code":0,"opaque":1,"extFields":["a"]}', b"[0,1]", b"\xff"],
)
def test_json_that_is_no_header_is_a_frame_error(header: bytes) -> None:
    with pytest.raises(FrameError):
        decode(len(header).to_bytes(4) + header)


def test_numbers_among_the_fields_are_read_as_their_text() -> None:
    header = b'{"code":0,"opaque":1,"extFields":{"n":7,"truth":true,"none":null,"text":"x"}}'
    assert decode(len(header).to_bytes(4) + header).fields == {"n": "7", "truth": "true", "text": "x"}


def test_a_language_that_is_not_listed_is_some_other() -> None:
    raw = bytearray(encode(Frame(105, 1, form=BINARY))[4:])
    raw[4 + 2] = 200
    assert decode(bytes(raw)).language == "OTHER"


def test_binary_fields_end_where_their_length_says() -> None:
    raw = bytearray(encode(Frame(105, 1, {"topic": "T"}, form=BINARY))[4:])
    at = 4 + 13 + 4
    for length in (-1, 3, 11, 13, 2**31 - 1):
        raw[at : at + 4] = length.to_bytes(4, signed=True)
        with pytest.raises(FrameError):
            decode(bytes(raw))


def test_every_beginning_of_a_header_is_refused() -> None:
    for form in (JSON, BINARY):
        raw = encode(Frame(105, 1, {"topic": "T"}, form=form))[4:]
        for end in range(len(raw)):
            with pytest.raises(FrameError):
                decode(raw[:end])


@rows("frame", [Frame(200_050, 1, form=BINARY), Frame(1, 1, language="COBOL", form=BINARY)])
def test_what_the_binary_form_has_no_room_for_is_not_written(frame: Frame) -> None:
    with pytest.raises(FrameError, match="cannot be written"):
        encode(frame)
    assert decode(encode(frame._replace(form=JSON))[4:]) == frame._replace(form=JSON)


def test_a_length_that_no_frame_has_is_refused() -> None:
    for start in (b"\xff\xff\xff\xff", b"\0\0\0\0", b"HTTP", b"\0\0\1", b""):
        with pytest.raises(FrameError, match="bytes, expected"):
            length_of(start)


def test_half_of_a_surrogate_pair_is_a_question_mark_as_in_java() -> None:
    assert json_of(b'{"topic": "o\\ud800rders", "other": "\\ud83d\\ude00"}') == {
        "topic": "o?rders",
        "other": "\U0001f600",
    }
