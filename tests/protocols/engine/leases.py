"""A small system that has all that quiet times are made of: servers with leases, clients that renew them.

A client registers with every server and renews its lease there; it polls one server, chosen anew for each question,
for the version of what is shared; it has a timer for answers that are overdue. A server ends leases that were not
renewed and tells its other clients; every now and then it scans when it last heard of each.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from protocols.engine.nodes import OPERATOR, Message, Outbox, Time, TimerName

LEASE_MS = 1000.0
LATE_MS = 900.0
RENEW_MS = 300.0
POLL_MS = 430.0
CHECK_MS = 700.0
SCAN_MS = 250.0
OVERDUE_MS = 200.0
QUESTIONS = 3


class Register(NamedTuple):
    pass


class Registered(NamedTuple):
    pass


class Renew(NamedTuple):
    number: int


class Renewed(NamedTuple):
    number: int
    known: bool


class Ask(NamedTuple):
    pass


class Version(NamedTuple):
    version: int


class Report(NamedTuple):
    """One way."""


class Gone(NamedTuple):
    client: str


class Publish(NamedTuple):
    """The operator's: there is a new version."""


class Told(NamedTuple):
    text: str
    value: Any


class Server:
    """Leases of clients and a version."""

    def __init__(self) -> None:
        self.heard: dict[str, Time] = {}
        self.reported: dict[str, Time] = {}
        self.version = 0

    def start(self, now: Time, out: Outbox) -> None:
        out.set_timer("scan", now + SCAN_MS)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        if sender == OPERATOR:
            self.version += 1
        elif isinstance(message, Ask):
            out.send(sender, Version(self.version))
        elif isinstance(message, Register):
            self.renew(now, sender, out)
            out.send(sender, Registered())
            out.observe(Told("registered", sender))
        elif isinstance(message, Report):
            if sender in self.heard:
                self.reported[sender] = now
        elif isinstance(message, Renew):
            known = sender in self.heard
            if known:
                self.renew(now, sender, out)
            out.send(sender, Renewed(message.number, known))

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        if timer == "scan":
            out.set_timer("scan", now + SCAN_MS)
            late = tuple(name for name, heard in self.heard.items() if heard < now - LATE_MS)
            if late:
                out.observe(Told("late", late))
            return
        client = timer[1]
        out.observe(Told(f"lease of {client} ended", (self.heard.pop(client), self.reported.pop(client, None))))
        for name in self.heard:
            out.send(name, Gone(client))

    def connected(self, now: Time, peer: str, out: Outbox) -> None: ...

    def closed(self, now: Time, peer: str, out: Outbox) -> None: ...

    def renew(self, now: Time, client: str, out: Outbox) -> None:
        """The client lives."""
        self.heard[client] = now
        out.set_timer(("lease", client), now + LEASE_MS)


class Client:
    """``polls``: whether it asks for versions."""

    def __init__(self, servers: Sequence[str], polls: bool = True, checks: bool = True) -> None:
        self.servers, self.polls, self.checks = tuple(servers), polls, checks
        self.registered: dict[str, bool] = {}
        self.number = 0
        self.waiting: dict[str, int] = {}
        self.version = -1
        self.left = 0
        self.last_answer: Time = 0.0
        self.last_poll: tuple[Time, Time] = (0.0, 0.0)
        self.poll_begun: Time = 0.0

    def start(self, now: Time, out: Outbox) -> None:
        for server in self.servers:
            out.send(server, Register())
        out.set_timer("renew", now + RENEW_MS)
        if self.polls:
            out.set_timer("poll", now + POLL_MS)
        if self.checks:
            out.set_timer("check", now + CHECK_MS)

    def receive(self, now: Time, sender: str, message: Message, out: Outbox) -> None:
        if isinstance(message, Registered):
            self.registered[sender] = True
        elif isinstance(message, Gone):
            out.observe(Told(f"{message.client} is gone", (self.last_answer, self.last_poll, self.version)))
        elif isinstance(message, Renewed):
            self.last_answer = now
            if self.waiting.get(sender) == message.number:
                del self.waiting[sender]
                out.cancel_timer(("overdue", sender))
            if not message.known:
                self._register(sender, out)
        elif isinstance(message, Version):
            if message.version != self.version:
                self.version = message.version
                out.observe(Told("version", message.version))
            self.left -= 1
            if self.left > 0:
                self._ask(out)
            elif self.left == 0:
                self.last_poll = self.poll_begun, now
                out.set_timer("poll", now + POLL_MS)

    def timeout(self, now: Time, timer: TimerName, out: Outbox) -> None:
        if timer == "renew":
            out.set_timer("renew", now + RENEW_MS)
            for server in self.servers:
                if self.registered.get(server) and server not in self.waiting:
                    self.number += 1
                    self.waiting[server] = self.number
                    out.set_timer(("overdue", server), now + OVERDUE_MS)
                    out.send(server, Renew(self.number))
                    out.send(server, Report())
        elif timer == "poll":
            self.left, self.poll_begun = QUESTIONS, now
            self._ask(out)
        elif timer == "again":
            self.left = 0
            out.set_timer("poll", now + POLL_MS)
        elif timer == "check":
            out.set_timer("check", now + CHECK_MS)
        else:
            self.waiting.pop(timer[1], None)
            out.observe(Told("overdue", (timer[1], self.last_answer)))

    def connected(self, now: Time, peer: str, out: Outbox) -> None: ...

    def closed(self, now: Time, peer: str, out: Outbox) -> None:
        out.observe(Told("closed", (peer, self.last_answer, self.last_poll)))
        if self.left > 0:
            self.left = -1
            out.set_timer("again", now + POLL_MS)
        self._register(peer, out)

    def _register(self, server: str, out: Outbox) -> None:
        self.registered[server] = False
        self.waiting.pop(server, None)
        out.cancel_timer(("overdue", server))
        out.send(server, Register())

    def _ask(self, out: Outbox) -> None:
        out.send(out.choose("server", self.servers), Ask())
