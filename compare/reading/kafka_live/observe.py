"""From ``kafka://host:port[,host:port...]`` to the cluster's groups, by a process of its own.

Over some answers in a wrong form librdkafka ends its process, by an assertion or by a read beyond its memory, and
nobody else is to end with it. `read_apart` starts the process, which runs `compare.reading.kafka_live.child`, and
listens. What goes to and fro are pickled values on a pair of sockets: the order one way; the other way pairs of a word
and what belongs to it.
"""

import re
import signal
import subprocess
import sys
from collections.abc import Callable, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeAlias

from compare.reading.kafka import join
from compare.reading.kafka.facts import Fact
from compare.reading.kafka_live.settings import Settings, read_settings
from compare.reading.observed import ObservedGroup, Skipped
from compare.reading.sources import MOST_EARLIER, NOTHING_KNOWN, SERVER, TIMEOUT_S, Known, end_of, left_s
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
    ask_brokers: bool = False
    before: Known = NOTHING_KNOWN


Found: TypeAlias = tuple[Sequence[Fact | Skipped], Known]
"""What the cluster tells, and who it is."""


def read_apart(order: Order, progress: Callable[[str], None]) -> Found:
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


def _listen(order: Order, child: Connection, progress: Callable[[str], None]) -> Found:
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
            found: Found = value
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


def _listed(at: str, brokers: Sequence[str]) -> str:
    return ",".join(dict.fromkeys((*at.split(","), *brokers)))


def observe(
    address: str,
    *,
    command_config: Path | None = None,
    timeout_s: float = TIMEOUT_S,
    progress: Callable[[str], None] = lambda text: None,
    known: MutableMapping[str, Known] | None = None,
    ask_brokers: bool = False,
) -> list[ObservedGroup | Skipped]:
    """The consumer groups of the cluster at ``kafka://host:port[,host:port...]``, sorted by name.

    ``Skipped`` stands for what the cluster would not tell about a node or a group, or not in time. ``timeout_s`` is how
    long the whole reading may take; a single answer is waited for up to a third of it. ``known``: what an earlier
    reading found out, kept here for the next one: address to all brokers, any of which may answer first, so that
    those of the address may die; one that has become another cluster's is forgotten. ``ask_brokers``: ask every broker
    for its settings, too. `UserError` if nobody answers, the login or the settings are refused, an answer is in such a
    form that librdkafka breaks off, or the extra ``kafka`` is not installed.
    """
    source = shown(address)
    known = {} if known is None else known
    at = servers(address)
    settings = Settings() if command_config is None else read_settings(command_config)
    progress(source)
    before = known.pop(address, NOTHING_KNOWN)
    order = Order(_listed(at, before.brokers), settings, source, timeout_s, ask_brokers, before)
    try:
        found, told = read_apart(order, progress)
    except UserError:
        known[address] = before
        raise
    if before.cluster not in ("", told.cluster):
        before = NOTHING_KNOWN
        found, told = read_apart(replace(order, servers=at, before=before), progress)
    earlier = [each for each in before.brokers if each not in told.brokers][:MOST_EARLIER]
    known[address] = told._replace(brokers=(*told.brokers, *earlier))
    facts = [each for each in found if not isinstance(each, Skipped)]
    skipped = [each for each in found if isinstance(each, Skipped)]
    passed_over = [] if settings.passed_over is None else [settings.passed_over]
    return [*join(facts), *passed_over, *skipped]
