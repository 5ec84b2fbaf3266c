"""What is no Kafka or RocketMQ on a broker's port: a health check by HTTP, TLS on a port without it, a scanner. Both
systems read the first four bytes as a length, and print the number that they make."""

import re
from collections.abc import Sequence

_LENGTH = re.compile(
    r"Invalid receive \(size = (-?\d{1,10})\b|Adjusted frame length exceeds \d{1,10}: (\d{1,10}) - disc"
)
_UNREADABLE = re.compile(r"Error parsing request header|Error getting request for apiKey|Unknown API key")

_FRAME = 4
"""Netty counts the length's own bytes, too."""

_SPOKEN: Sequence[tuple[str, re.Pattern[bytes]]] = (
    ("HTTP", re.compile(rb"GET |HEAD|POST|PUT |DELE|OPTI|CONN|PATC|TRAC|PRI |HTTP")),
    ("TLS", re.compile(rb"[\x14-\x17]\x03[\x00-\x04]")),
    ("SSH", re.compile(rb"SSH-")),
)


def foreign(text: str) -> str:
    """What a line tells that came instead of a request or an answer, "" where it tells of nothing like that."""
    match = _LENGTH.search(text)
    if match is None:
        return (
            "a request that cannot be read: another protocol, or another version's" if _UNREADABLE.search(text) else ""
        )
    number = int(match.group(1)) if match.group(1) else int(match.group(2)) - _FRAME
    begin = (number % 2**32).to_bytes(4, "big")
    spoken = next((name for name, pattern in _SPOKEN if pattern.match(begin)), "")
    return f"{spoken} instead of requests or answers" if spoken else "another protocol, or more bytes than are allowed"
