"""What a broker says of the APIs that it offers."""

import socket
from struct import pack

from kio.schema.index import api_key_map

from tests.kafka_coordinator.wire.plain import request
from tests.kafka_coordinator.wire.raw_client import RawClient

PRODUCE, API_VERSIONS = 0, 18
HIGHEST = 4
"""Of ApiVersions itself."""
_TIMEOUT_S = 20


def offered(address: str, version: int) -> dict[str, list[int]]:
    """API to its lowest and highest version, as the broker that listens there answers ApiVersions of this version."""
    software = {"client_software_name": "raw", "client_software_version": "1"} if version >= 3 else {}
    with RawClient(address) as client:
        answer = client.ask(request(API_VERSIONS, version, **software))
    assert answer.error_code == 0
    return {_name(each.api_key): [each.min_version, each.max_version] for each in answer.api_keys}


def _name(key: int) -> str:
    return "".join(word.capitalize() for word in api_key_map[key].split("_")) if key in api_key_map else str(key)


def closes(address: str, key: int, version: int) -> bool:
    """Whether the broker closes the connection, without an answer, on a request of this version."""
    host, port = address.rsplit(":", 1)
    content = pack(">hhih", key, version, 1, -1)
    with socket.create_connection((host, int(port)), _TIMEOUT_S) as connection:
        connection.sendall(pack(">i", len(content)) + content)
        try:
            return not connection.recv(1)
        except ConnectionResetError:
            return True
