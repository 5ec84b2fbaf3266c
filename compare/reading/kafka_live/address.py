"""``kafka://host:port[,host:port...]``."""

import re

from compare.reading.sources import SERVER
from protocols import UserError

SCHEME = "kafka://"
_DEFAULT_PORT = 9092
_LAST_PORT = 65535
_USER = re.compile(r"(?<=//).*@", re.DOTALL)


def servers(address: str) -> str:
    """The ``host:port,host:port`` of an address, port 9092 where none is given; `UserError` if it is no address."""
    text = address.removeprefix(SCHEME).removesuffix("/")
    if "@" in text:
        raise UserError(f"expected {SCHEME}host:port without user and password, which belong in --command-config")
    found = [SERVER.fullmatch(part) for part in text.split(",")]
    listed = [f"{each['host']}:{each['port'] or _DEFAULT_PORT}" for each in found if each is not None]
    if len(listed) != len(found) or any(each is not None and int(each["port"] or 1) > _LAST_PORT for each in found):
        raise UserError(f"expected {SCHEME}host:port, further host:port after commas, not {address}")
    return ",".join(listed)


def shown(address: str) -> str:
    """The address as it may be printed: without a password that somebody wrote into it."""
    return _USER.sub("***@", address)
