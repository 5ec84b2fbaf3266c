"""gRPC for the served proxy, without I/O: bytes of a connection to calls, answers to bytes.

- `headers`: compressed headers (HPACK, RFC 7541); `http2`: frames, streams and windows of one connection (RFC 9113)
- `conversation`: calls of RocketMQ's service on it, as the proxy's node takes them
"""

from pathlib import Path
from typing import Final

CERTIFICATE: Final = Path(__file__).with_name("certificate.pem")
"""A certificate for localhost that signs itself, with its key: anybody has it, so it protects nothing. It lets clients
that insist on TLS connect."""
