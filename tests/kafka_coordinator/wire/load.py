"""A member that says only what it must: for many of them, and for frames of which one knows every byte."""

import asyncio
from struct import Struct, pack

from kafka_coordinator.wire.state import BrokerAddress

SUBSCRIPTION = b"\0\0\0\0\0\1\0\6orders\xff\xff\xff\xff"
_LENGTH = Struct(">i")


def text(given: str) -> bytes:
    raw = given.encode()
    return pack(">h", len(raw)) + raw


class Member:
    """Speaks the classic protocol in version 0 of its requests, with JoinGroup in version 1."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client_id: str, group: str) -> None:
        self.reader, self.writer, self.client_id, self.group = reader, writer, client_id, group
        self.member_id, self.generation = "", -1
        self.heartbeat_frame = b""

    @classmethod
    async def of(cls, address: BrokerAddress, client_id: str, group: str = "g") -> "Member":
        return cls(*await asyncio.open_connection(address.host, address.port), client_id, group)

    async def join(self) -> None:
        """Join, wait for the generation, and ask for the assignment; the leader brings one in which nobody has
        anything."""
        protocols = pack(">i", 1) + text("range") + pack(">i", len(SUBSCRIPTION)) + SUBSCRIPTION
        body = text(self.group) + pack(">ii", 45_000, 60_000) + text("") + text("consumer") + protocols
        self.write(11, 1, body)
        await self.joined()
        assignment = b"\0\0\0\0\0\0\xff\xff\xff\xff"
        body = text(self.group) + pack(">i", self.generation) + text(self.member_id)
        body += pack(">i", 1) + text(self.member_id) + pack(">i", len(assignment)) + assignment
        self.write(14, 0, body)
        answer = await self.read()
        assert answer[4:6] == b"\0\0", answer

    async def joined(self) -> None:
        answer = await self.read()
        assert answer[4:6] == b"\0\0", answer
        (self.generation,) = _LENGTH.unpack_from(answer, 6)
        at = 10
        for _ in range(3):  # protocol, leader, member id
            size = int.from_bytes(answer[at : at + 2], "big")
            self.member_id = answer[at + 2 : at + 2 + size].decode()
            at += 2 + size
        body = text(self.group) + pack(">i", self.generation) + text(self.member_id)
        self.heartbeat_frame = self.frame(12, 0, body)

    async def heartbeat(self) -> int:
        """The error's number."""
        self.writer.write(self.heartbeat_frame)
        return int.from_bytes((await self.read())[4:6], "big", signed=True)

    def frame(self, key: int, version: int, body: bytes) -> bytes:
        content = pack(">hhi", key, version, 1) + text(self.client_id) + body
        return _LENGTH.pack(len(content)) + content

    def write(self, key: int, version: int, body: bytes) -> None:
        self.writer.write(self.frame(key, version, body))

    async def read(self) -> bytes:
        (length,) = _LENGTH.unpack(await asyncio.wait_for(self.reader.readexactly(4), 30))
        return await self.reader.readexactly(length)

    def close(self) -> None:
        self.writer.close()
