"""When a name server is quiescent: brokers repeat what they registered, clients ask for routes that they know."""

from collections.abc import Hashable, Iterator, Mapping

from protocols.engine.nodes import Message, Outbox, Time, TimerName
from rocketmq_selfbalance.fast_forward import contract
from rocketmq_selfbalance.messages.nameserver import GetRouteInfo, RegisterBroker, Route
from rocketmq_selfbalance.nameserver import SCAN, NameServer

_From = tuple[str, type[Message]]


class NameServerAdapter:
    """A name server from outside. It need not know who its clients are: to each it gives the same answer."""

    def __init__(self, name_server: NameServer) -> None:
        self._node = name_server
        self.judges: Mapping[type[Message], contract.Judgement] = {}
        self._known_routes = contract.Judge(self._tells_nothing_new)

    def quiescence(self, now: Time) -> contract.Quiescence | None:
        table = self._node.table
        registered: dict[_From, object] = {}
        missed: dict[_From, Time] = {}
        for known in table.live.values():
            registered[known.channel, RegisterBroker] = known.version
            missed[known.channel, RegisterBroker] = known.last_update + known.timeout_ms
        scan = contract.Exchange(SCAN, self._node.settings.scan_not_active_broker_interval_ms)
        return contract.Quiescence((scan,), _Harmless(registered, self._known_routes), missed=missed)

    def replay_messages(self, now: Time, sender: str, kind: type[Message], about: Hashable, out: Outbox) -> None:
        table = self._node.table
        if kind is RegisterBroker:
            for cluster, address in [key for key, known in table.live.items() if known.channel == sender]:
                table.heartbeat(now, cluster, address)

    def replay_round(self, now: Time, timer: TimerName, begun: Time, out: Outbox) -> None:
        """Scans that found nobody silent."""

    def _tells_nothing_new(self, claim: tuple[tuple[str, Route | None], ...]) -> bool:
        """To a client who has these routes. (That a topic does not exist changes nothing for it.)"""
        return all(route in (None, has) for topic, has in claim for route in (self._node.route(topic),))


class _Harmless(Mapping[_From, object]):
    """What brokers registered; and from anybody the question for routes that he knows."""

    def __init__(self, registered: dict[_From, object], known_routes: contract.Judge) -> None:
        self._registered, self._known_routes = registered, known_routes

    def __getitem__(self, key: _From) -> object:
        return self._known_routes if key[1] is GetRouteInfo else self._registered[key]

    def __iter__(self) -> Iterator[_From]:
        return iter(self._registered)

    def __len__(self) -> int:
        return len(self._registered)
