"""What a world on sockets (`protocols.engine.sockets`) asks of a wire protocol: bytes to messages and back.

One conversation per connection, without I/O: it is given what was read and says what to write. Each system has its own,
around the codec of its protocol.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from protocols.engine.nodes import Message


class WireError(Exception):
    """Bytes that the protocol does not allow, or a message that it cannot write; its text is one line. The connection
    is closed, nobody else notices."""


class Conversation(Protocol):
    """One connection with a client, seen from a server's node."""

    def feed(self, data: bytes) -> None:
        """Take what was read. Raises `WireError` where it can be no request."""

    def next(self) -> Message | None:
        """The next request that the node may be given now; None where there is none, or where one before it is still to
        be answered. Raises `WireError` where its bytes cannot be read."""

    def encode(self, message: Message) -> Sequence[bytes]:
        """The bytes of what the node sends: the answer to a request, or a notice. None at all where nothing is to be
        written. Raises `WireError` for a message that the protocol does not have."""


MakeConversation: TypeAlias = Callable[[str], Conversation]
"""The peer's name to a new conversation with it."""
