"""One thing after the other: what the nodes of the world on sockets handle, and what they raise."""

from collections import deque
from collections.abc import Callable

from protocols.engine.connection import LOG, Connection
from protocols.engine.conversations import WireError
from protocols.engine.process import CLOCK
from protocols.engine.socket_process import SocketProcess


class Turns:
    """Actions of nodes. What an action brings about for other nodes here is handled after it; what is for a node that
    hangs is kept with its process. ``begins`` is called before the first of them, in each call from outside."""

    def __init__(self, begins: Callable[[], object]) -> None:
        self.number = 0
        """The number given last to something to be handled."""
        self.handling, self.root = 0, CLOCK
        self.failures: list[Exception] = []
        self._begins = begins
        self._waiting: deque[tuple[SocketProcess, Callable[[], None]]] = deque()
        self._is_acting = False

    def take(self, process: SocketProcess, action: Callable[[], None], about: Connection | None = None) -> None:
        """One thing for one node: now, or after what is being handled. ``about``: the connection that it came on,
        which is closed where this fails."""
        if process.hung:
            process.backlog.append(action)
        elif self._is_acting:
            self._waiting.append((process, action))
        else:
            self._begins()
            self._act(process, action, about)
            while self._waiting:
                process, action = self._waiting.popleft()
                if process.hung:
                    process.backlog.append(action)
                else:
                    self._act(process, action, None)

    def call(self, number: int, action: Callable[[], None]) -> None:
        """An event of the world, the root of all that follows from it."""
        self.root = self.handling = number
        try:
            action()
        except Exception as error:
            LOG.exception("an event of the world")
            self.failures.append(error)
        finally:
            self.root, self.handling = CLOCK, 0

    def _act(self, process: SocketProcess, action: Callable[[], None], about: Connection | None) -> None:
        self.number += 1
        self.handling, self._is_acting = self.number, True
        try:
            action()
        except Exception as error:
            if isinstance(error, WireError):
                LOG.warning("%s: an answer that cannot be written: %s", process.name, error)
            else:
                LOG.exception("%s: a fault of the model", process.name)
            self.failures.append(error)
            if about is not None:
                about.abort()
        finally:
            self.handling, self._is_acting = 0, False
