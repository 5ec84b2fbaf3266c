"""A port that takes plaintext and TLS: the first byte of a connection decides (22 begins a handshake of TLS). Within
TLS runs the same conversation, and everything that it says goes out in its order."""

import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from protocols.engine.connection import MakeConversation, Making, Talking, WireError
from protocols.engine.nodes import Message

_HANDSHAKE: Final = 22
_AT_ONCE: Final = 64 * 1024


def context_of(certificate: Path, protocol: str) -> ssl.SSLContext:
    """A server's side of TLS with the certificate and key of this file; ``protocol`` is what is offered (ALPN)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.set_alpn_protocols([protocol])
    return context


class _Tls:
    """One connection's TLS, without I/O. Raises `WireError` for what is none."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._read, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(self._read, self._out, server_side=True)
        self._is_open = False

    def opened(self, data: bytes) -> bytes:
        """What the client says with these bytes, which came."""
        self._read.write(data)
        pieces: list[bytes] = []
        try:
            if not self._is_open:
                self._object.do_handshake()
                self._is_open = True
            while piece := self._object.read(_AT_ONCE):
                pieces.append(piece)
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            pass
        except ssl.SSLError as error:
            raise WireError(f"TLS: {error.reason or error}") from None
        return b"".join(pieces)

    def closed(self, said: Sequence[bytes]) -> Sequence[bytes]:
        """The bytes by which this is said, after what TLS has to say by itself."""
        if said:
            self._object.write(b"".join(said))
        out = self._out.read()
        return (out,) if out else ()


class Secured:
    """A conversation in plaintext or within TLS, as its client begins."""

    def __init__(self, conversation: Talking, context: ssl.SSLContext) -> None:
        self._inner, self._context = conversation, context
        self._tls: _Tls | None = None
        self._began = False

    @property
    def waiting(self) -> int:
        return self._inner.waiting

    @property
    def held(self) -> int:
        return self._inner.held

    def feed(self, data: bytes) -> None:
        if not self._began:
            self._began = True
            if data[0] == _HANDSHAKE:
                self._tls = _Tls(self._context)
        if self._tls is not None:
            data = self._tls.opened(data)
        if data:
            self._inner.feed(data)

    def next(self) -> Message | None:
        return self._inner.next()

    def ended(self) -> None:
        self._inner.ended()

    def said(self) -> Sequence[bytes]:
        said = self._inner.said()
        return said if self._tls is None else self._tls.closed(said)

    def encode(self, message: Message) -> Sequence[bytes] | Making:
        said = self._inner.encode(message)
        return self._tls.closed(said) if self._tls is not None and isinstance(said, Sequence) else said


def secured(make: MakeConversation, context: ssl.SSLContext) -> MakeConversation:
    """What makes such conversations of a node."""

    def made(peer: str) -> Secured:
        inner = make(peer)
        assert isinstance(inner, Talking)
        return Secured(inner, context)

    return made
