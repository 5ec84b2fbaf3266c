"""RocketMQ's remoting protocol: frames between bytes and records, both forms of the header (spec 10.3).

A frame is its length (4 bytes, not counting itself), a word whose first byte is the form of the header and whose other
three are the header's length, the header, the body. Headers are JSON, or RocketMQ's own binary form.
"""

import json
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

JSON, BINARY = 0, 1
"""The forms of the header."""

RESPONSE, ONEWAY = 1, 2
"""Bits of a frame's flag; a request that is answered has neither."""

LARGEST_FRAME = 64 * 1024 * 1024
"""Bytes; what claims to be longer is no frame."""

RELEASES: Mapping[str, str] = {"4.5": "4.5.2", "5.3": "5.3.3", "5.4": "5.4.0", "5.5": "5.5.0"}
"""Version to the release that stands for it."""
NUMBERS: Mapping[str, int] = {"4.5": 317, "5.3": 479, "5.4": 493, "5.5": 513}
"""``MQVersion``: version to the number that its release gives in frames and views."""

OTHER_LANGUAGE = "OTHER"
"""The language of this package, and of every client whose language is younger than this list."""

_LANGUAGES = (
    "JAVA",
    "CPP",
    "DOTNET",
    "PYTHON",
    "DELPHI",
    "ERLANG",
    "RUBY",
    OTHER_LANGUAGE,
    "HTTP",
    "GO",
    "PHP",
    "OMS",
    "RUST",
    "NODE_JS",
)
_FIXED = struct.Struct(">hBhii")
_LENGTH = struct.Struct(">i")
_SHORT = struct.Struct(">h")
_START = struct.Struct(">iI")
_WORD = struct.Struct(">I")
# Made once: `json.dumps` and `json.loads` find out their settings at every call.
json_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class FrameError(Exception):
    """Bytes that are no frame."""


class Frame(NamedTuple):
    """A request or an answer. ``opaque`` ties an answer to its request; ``code`` of an answer is 0 for success."""

    code: int
    opaque: int
    fields: Mapping[str, str] = {}
    body: bytes = b""
    remark: str | None = None
    flag: int = 0
    language: str = OTHER_LANGUAGE
    version: int = NUMBERS["5.3"]
    form: int = JSON

    @property
    def is_answer(self) -> bool:
        return bool(self.flag & RESPONSE)


def encode(frame: Frame) -> bytes:
    """The bytes of a frame, with its length in front; `FrameError` if it holds what its form has no room for."""
    try:
        header = _binary_header(frame) if frame.form == BINARY else _json_header(frame)
    except (struct.error, ValueError) as error:
        raise FrameError(f"a header that cannot be written: {error}") from None
    length = 4 + len(header) + len(frame.body)
    return _START.pack(length, frame.form << 24 | len(header)) + header + frame.body


def length_of(start: bytes) -> int:
    """How many bytes follow the first four of a frame; `FrameError` if these four begin none."""
    length = int.from_bytes(start, signed=True) if len(start) == _LENGTH.size else 0
    if not 4 <= length <= LARGEST_FRAME:
        raise FrameError(f"a frame of {length} bytes, expected 4 to {LARGEST_FRAME}")
    return length


def decode(content: bytes) -> Frame:
    """The frame whose bytes behind the length these are; `FrameError` if they are none."""
    try:
        (word,) = _WORD.unpack_from(content)
        form, length = word >> 24, word & 0xFFFFFF
        header, body = content[4 : 4 + length], content[4 + length :]
        if len(header) != length:
            raise FrameError(f"a header of {length} bytes in a frame of {len(content)}")
        if form == BINARY:
            return _from_binary(header, body)
        if form == JSON:
            return _from_json(header, body)
    except (struct.error, ValueError, OverflowError, RecursionError, KeyError, TypeError) as error:
        raise FrameError(f"a header that cannot be read: {error}") from None
    raise FrameError(f"a header of the unknown form {form}, expected {JSON} (JSON) or {BINARY} (binary)")


def json_of(text: bytes | str) -> Any:
    """What a JSON text says. Half of a surrogate pair becomes "?", as where Java encodes it. Raises `ValueError`."""
    parsed = json.loads(text)
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    if rb"\ud" not in raw.lower():
        return parsed
    return json.loads(json.dumps(parsed, ensure_ascii=False).encode("utf-8", "replace"))


def _json_header(frame: Frame) -> bytes:
    header: dict[str, object] = {
        "code": frame.code,
        "extFields": dict(frame.fields),
        "flag": frame.flag,
        "language": frame.language,
        "opaque": frame.opaque,
        "serializeTypeCurrentRPC": "JSON",
        "version": frame.version,
    }
    if frame.remark is not None:
        header["remark"] = frame.remark
    return json_text(header).encode()


def _from_json(header: bytes, body: bytes) -> Frame:
    parsed = json_of(header)
    if not isinstance(parsed, dict):
        raise FrameError("a header that is no object")
    remark = parsed.get("remark")
    return Frame(
        code=int(parsed["code"]),
        opaque=int(parsed["opaque"]),
        fields=_fields(parsed.get("extFields")),
        body=body,
        remark=None if remark is None else str(remark),
        flag=int(parsed.get("flag", 0)),
        language=str(parsed.get("language", OTHER_LANGUAGE)),
        version=int(parsed.get("version", 0)),
        form=JSON,
    )


def _fields(parsed: object) -> dict[str, str]:
    """Fields of a JSON header: texts, but some clients write numbers and truth values as such."""
    if parsed is not None and not isinstance(parsed, dict):
        raise FrameError("fields that are no object")
    fields = {}
    for name, value in (parsed or {}).items():
        if isinstance(value, dict | list):
            raise FrameError(f"the field {name!r} is no text")
        if value is not None:
            fields[name] = value if isinstance(value, str) else json.dumps(value)
    return fields


def _binary_header(frame: Frame) -> bytes:
    remark = (frame.remark or "").encode()
    fields = b"".join(
        _SHORT.pack(len(key)) + key + _LENGTH.pack(len(value)) + value
        for key, value in ((name.encode(), text.encode()) for name, text in frame.fields.items())
    )
    fixed = _FIXED.pack(frame.code, _LANGUAGES.index(frame.language), frame.version, frame.opaque, frame.flag)
    return fixed + _LENGTH.pack(len(remark)) + remark + _LENGTH.pack(len(fields)) + fields


def _from_binary(header: bytes, body: bytes) -> Frame:
    code, language, version, opaque, flag = _FIXED.unpack_from(header)
    remark, at = _text(header, _FIXED.size, _LENGTH)
    fields: dict[str, str] = {}
    (length,) = _LENGTH.unpack_from(header, at)
    at += _LENGTH.size
    end = at + length
    while at < end:
        key, at = _text(header, at, _SHORT)
        fields[key], at = _text(header, at, _LENGTH)
    if at != end:
        raise FrameError(f"fields of {length} bytes that end elsewhere")
    spoken = _LANGUAGES[language] if language < len(_LANGUAGES) else OTHER_LANGUAGE
    return Frame(code, opaque, fields, body, remark or None, flag, spoken, version, BINARY)


def _text(header: bytes, at: int, length: struct.Struct) -> tuple[str, int]:
    """The text that begins with its length at ``at``, and where it ends."""
    start = at + length.size
    end = start + length.unpack_from(header, at)[0]
    if not start <= end <= len(header):
        raise FrameError("a text that ends after its header")
    return header[start:end].decode(), end
