"""Frames: what was recorded on real connections is read, and what is written is read back the same."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocketmq_selfbalance.remoting import BINARY, JSON, Frame, FrameError, decode, encode, length_of

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


@pytest.mark.parametrize(
    "session", ["mqadmin_consumerProgress.jsonl", "push_orderly.jsonl", "push_rocketmq_serialization.jsonl"]
)
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
@settings(max_examples=100, deadline=None)
def test_what_is_written_is_read_back(frame: Frame) -> None:
    raw = encode(frame)
    assert decode(raw[4 : 4 + length_of(raw[:4])]) == frame


@given(frames, st.data())
@settings(max_examples=100, deadline=None)
def test_damaged_bytes_are_a_frame_or_a_frame_error(frame: Frame, data: st.DataObject) -> None:
    raw = bytearray(encode(frame)[4:])
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(FrameError):
        decode(bytes(raw[: data.draw(st.integers(0, len(raw)))]))


def test_a_length_that_no_frame_has_is_refused() -> None:
    for start in (b"\xff\xff\xff\xff", b"\0\0\0\0", b"HTTP"):
        with pytest.raises(FrameError, match="bytes, expected"):
            length_of(start)
