"""librdkafka works in a process of its own: over some answers in a wrong form it ends its process, by an assertion or
by a read beyond its memory. Nobody else is to end with it.

`read_apart` starts the process, which runs `compare.reading.kafka_live.child`, and listens. What goes to and fro are
pickled values on a pair of sockets: the order one way; the other way pairs of a word and what belongs to it.
"""

import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from compare.reading.kafka.facts import Fact
from compare.reading.kafka_live.settings import Settings
from compare.reading.observed import Skipped
from compare.reading.sources import end_of, left_s
from protocols import UserError

START_S = 60.0
"""How long the process may take until it begins to read; a busy machine takes seconds."""
GRACE_S = 2.0
"""How long after the end of its time the process may take to say so itself, which tells more than ending it does."""

READY, PROGRESS, FOUND, REFUSED, BROKEN = "ready", "progress", "found", "refused", "broken"

_CHILD = f"import sys; sys.path[:] = sys.argv[2:]; from {__package__}.child import main; main(int(sys.argv[1]))"
"""The child finds what we find, however we were started, under the names that our modules have here."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to read. Passwords are in the settings: they go through the socket, as arguments are seen by everybody."""

    servers: str
    settings: Settings
    source: str
    timeout_s: float


def read_apart(order: Order, progress: Callable[[str], None]) -> Sequence[Fact | Skipped]:
    """Everything that the cluster tells; `UserError` if it does not, or if its answers end the process."""
    ours, theirs = Pipe()
    with ours:
        with theirs:
            child = subprocess.Popen(
                [sys.executable, "-c", _CHILD, str(theirs.fileno()), *sys.path],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        try:
            return _listen(order, ours, progress)
        except (EOFError, OSError):
            raise _ended(order.servers, child) from None
        finally:
            child.kill()
            child.wait()


def _listen(order: Order, child: Connection, progress: Callable[[str], None]) -> Sequence[Fact | Skipped]:
    child.send(order)
    ends, late = end_of(START_S), f"cannot be read: the reading process does not start within {START_S:g} s"
    while child.poll(left_s(ends)):
        word, value = child.recv()
        if word == READY:
            ends = end_of(order.timeout_s + GRACE_S)
            late = f"is not read completely after {order.timeout_s:g} s, expected a longer --timeout"
        elif word == PROGRESS:
            progress(value)
        elif word == FOUND:
            found: Sequence[Fact | Skipped] = value
            return found
        elif word == REFUSED:
            raise UserError(value)
        else:
            raise RuntimeError(value)
    raise UserError(f"the Kafka cluster at {order.servers} {late}")


def _ended(servers: str, child: "subprocess.Popen[bytes]") -> UserError:
    code = None
    with suppress(subprocess.TimeoutExpired):
        code = child.wait(GRACE_S)
    how = f"exit code {code}"
    if code is not None and code < 0:
        with suppress(ValueError):
            how = signal.Signals(-code).name
    if code == -signal.SIGKILL:
        return UserError(
            f"the Kafka cluster at {servers} is not read: the reading process was killed, expected enough memory for it"
        )
    return UserError(
        f"an answer of {servers} made librdkafka stop ({how}), because no Kafka broker answers in this form; expected"
        " host:port of a broker's listener"
    )
