"""``rocketmq://host:port[;host:port...]``: name servers."""

import re
from typing import NamedTuple

from compare.reading.server import SERVER
from protocols import UserError

SCHEME = "rocketmq://"
_DEFAULT_PORT = 9876


class Address(NamedTuple):
    """Where a server listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def name_servers(address: str) -> list[Address]:
    """The name servers, port 9876 where none is given; `UserError` if it is no address."""
    texts = re.split("[;,]", address.removeprefix(SCHEME).removesuffix("/"))
    found = [parsed(each, _DEFAULT_PORT) for each in texts]
    servers = [each for each in found if each is not None]
    if len(servers) != len(found):
        raise UserError(f"expected {SCHEME}host:port, further name servers after semicolons, not {address}")
    return servers


def parsed(text: str, default_port: int | None = None) -> Address | None:
    """``host:port`` as an address; None if it is none."""
    match = SERVER.fullmatch(text.strip())
    if match is None or (match["port"] is None and default_port is None):
        return None
    port = int(match["port"] or default_port or 0)
    return Address(match["host"].strip("[]"), port) if port < 65536 else None
