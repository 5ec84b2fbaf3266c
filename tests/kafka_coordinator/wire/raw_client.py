"""Requests to a broker that listens, entity by entity, without any client library: what comes back is seen whole."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from select import select
from struct import pack, unpack
from types import TracebackType
from typing import Any, Self

from kio.schema.describe_transactions.v0 import response as transactions
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import TZAware

from kafka_coordinator.wire import entities

_TIMEOUT_S = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionState(transactions.TransactionState):
    transaction_start_time: TZAware | None = field(  # type: ignore[assignment]
        metadata={"kafka_type": "datetime_i64"}
    )
    """None where the broker says -1, which kio does not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTransactionsResponse(transactions.DescribeTransactionsResponse):
    transaction_states: tuple[TransactionState, ...]


_READ_AS: Mapping[int, Any] = {65: DescribeTransactionsResponse}
"""API key to the class of its answers where it is not the codec's."""


class RawClient:
    """One connection."""

    def __init__(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), _TIMEOUT_S)
        self._correlation = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def ask(self, body: Any) -> Any:
        """The answer to a request, or None where the broker closes the connection instead."""
        self.send(body)
        return self.hear(type(body))

    def send(self, body: Any) -> None:
        """Send a request."""
        kind = type(body)
        self._correlation += 1
        header = kind.__header_schema__
        values = {
            "request_api_key": kind.__api_key__,
            "request_api_version": kind.__version__,
            "correlation_id": self._correlation,
            "client_id": "raw",
        }
        frame = BytesIO()
        entity_writer(header)(frame, entities.make(header, **values))
        entity_writer(kind)(frame, body)
        content = frame.getvalue()
        self._socket.sendall(pack(">i", len(content)) + content)

    def is_answered(self, within_s: float) -> bool:
        """Whether something comes, be it the end of the connection."""
        return bool(select([self._socket], [], [], within_s)[0])

    def hear(self, asked: Any) -> Any:
        """The answer to a request of this class."""
        size = self._exactly(4)
        if not size:
            return None
        content = self._exactly(unpack(">i", size)[0])
        key = int(asked.__api_key__)
        kind = _READ_AS.get(key) or entities.response(key, int(asked.__version__))
        _, at = entity_reader(kind.__header_schema__)(content, 0)
        answer, length = entity_reader(kind)(content, at)
        assert at + length == len(content)
        return answer

    def _exactly(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            more = self._socket.recv(count - len(found))
            if not more:
                return b""
            found += more
        return found
