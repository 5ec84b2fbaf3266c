"""What the nodes of `leases` do while they are quiescent (`protocols.engine.fast_forward.contract`)."""

from collections.abc import Hashable
from typing import Any, Final

from protocols.engine.fast_forward.adapters import NO_JUDGEMENTS, Adapters
from protocols.engine.fast_forward.contract import Call, Exchange, Guard, Quiescence
from protocols.engine.nodes import Message, Outbox, Time, TimerName
from tests.protocols.engine import leases
from tests.protocols.engine.leases import Ask, Client, Renew, Renewed, Report, Server, Version


class ServerAdapter:
    """Renewals and reports of known clients, and questions for the version that they know, change nothing."""

    judges = NO_JUDGEMENTS
    reader = source = None

    def __init__(self, server: Server) -> None:
        self.server = server

    def quiescence(self, now: Time) -> Quiescence | None:
        server = self.server
        harmless: dict[tuple[str, type[Message]], Any] = {}
        for name in server.heard:
            harmless |= {(name, Renew): "registered", (name, Ask): server.version, (name, Report): None}
        guarded = {("lease", name): Guard(name, Renew) for name in server.heard}
        missed = {(name, Renew): heard + leases.LATE_MS for name, heard in server.heard.items()}
        return Quiescence((Exchange("scan", leases.SCAN_MS),), harmless, guarded, missed)

    def replay_messages(self, now: Time, sender: str, kind: type[Message], about: Hashable, out: Outbox) -> None:
        if kind is Renew:
            self.server.renew(now, sender, out)
        elif kind is Report:
            self.server.reported[sender] = now

    def replay_round(self, now: Time, timer: TimerName, begun: Time, out: Outbox) -> None: ...


class ClientAdapter:
    """A registered client renews and polls."""

    judges = NO_JUDGEMENTS
    reader = source = None

    def __init__(self, client: Client) -> None:
        self.client = client

    def quiescence(self, now: Time) -> Quiescence | None:
        client = self.client
        servers = client.servers
        if client.left < 0 or not all(client.registered.get(server) for server in servers):
            return None
        renew = [
            call
            for server in servers
            for call in (Call((server,), Renew, Renewed, claim="registered"), Call((server,), Report, None))
        ]
        exchanges = [Exchange("renew", leases.RENEW_MS, tuple(renew), awaiting=bool(client.waiting))]
        if client.polls:
            asks = (Call(servers, Ask, Version, label="server", claim=client.version),) * leases.QUESTIONS
            awaiting = client.left > 0
            exchanges.append(Exchange("poll", leases.POLL_MS, asks, in_turn=True, after_end=True, awaiting=awaiting))
        harmless = {(server, kind): None for server in servers for kind in (Renewed, Version)}
        guarded: dict[TimerName, Guard] = {("overdue", server): Guard(server, Renewed) for server in servers}
        return Quiescence(tuple(exchanges), harmless, guarded, idle=("check",))

    def replay_messages(self, now: Time, sender: str, kind: type[Message], about: Hashable, out: Outbox) -> None:
        if kind is Renewed:
            self.client.last_answer = now

    def replay_round(self, now: Time, timer: TimerName, begun: Time, out: Outbox) -> None:
        if timer == "poll":
            self.client.poll_begun, self.client.last_poll = begun, (begun, now)


ADAPTERS: Final[Adapters] = {Server: ServerAdapter, Client: ClientAdapter}
