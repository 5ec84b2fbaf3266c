"""Where nodes listen, and how clients are told."""

from typing import NamedTuple


class Address(NamedTuple):
    """Where a node listens."""

    host: str
    port: int


def at_port(host: str, port: int) -> str:
    """``host:port``, as clients are given it; an IPv6 address stands in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
