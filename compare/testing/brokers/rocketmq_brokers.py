"""A RocketMQ name server and brokers beside a test, for real clients."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import partial
from threading import Event as Flag

from compare.serving.rocketmq import RocketMQService
from compare.testing.brokers.background import Background
from compare.testing.brokers.real_group import RealGroup
from protocols.engine.interference import Hold, Matches, Reply
from protocols.engine.nodes import Message
from protocols.errors import UserError
from protocols.java import Queue
from protocols.scenario.events import AddTopic, DeleteTopic, Queues
from protocols.scenario.fields import TopicPart
from rocketmq_selfbalance.wire import ERRORS, KINDS, REQUESTS, RocketMQCluster, groups_of, kind_of, plain, refusal


class RocketMQBrokers:
    """A cluster from here to `close`; clients take ``name_server`` as theirs.

    ``topics``: name to number of queues on every broker, or to a number per broker (``broker-a``, ``broker-b``, ...).
    ``rocketmq_version``: 5.3, 5.4 or 5.5; left out, the newest. Methods may be called from any thread.
    """

    def __init__(
        self,
        topics: Mapping[str, int | Mapping[str, int]] = {},
        *,
        brokers: int = 1,
        port: int = 0,
        rocketmq_version: str | None = None,
    ) -> None:
        if not 1 <= brokers <= 26:
            raise UserError(f"brokers={brokers}: expected 1 to 26")
        names = [f"broker-{chr(ord('a') + number)}" for number in range(brokers)]
        there = {topic: _per_broker(queues, names) for topic, queues in topics.items()}
        self._background = Background("rocketmq", names, there, {}, port, rocketmq_version)
        self._groups: dict[str, RealGroup] = {}

    @property
    def name_server(self) -> str:
        """The name server's ``host:port``."""
        return self._cluster.name_server

    @property
    def proxy(self) -> str:
        """The ``host:port`` that clients of the 5.x line take as their endpoint, in plaintext or with TLS."""
        return self._cluster.proxy

    @property
    def addresses(self) -> dict[str, str]:
        """Broker, or ``namesrv``, to its ``host:port``."""
        return dict(self._cluster.addresses)

    def close(self) -> None:
        """End the servers. Raises `AssertionError` where one of them failed: that is a fault of this package."""
        self._background.close("a server")

    def create_topic(self, topic: str, queues: int | Mapping[str, int] = 4, kind: str = "NORMAL") -> None:
        """Create a topic with so many queues on every broker, or per broker. ``kind``: what producers of the 5.x line
        may send to it: NORMAL, FIFO, DELAY, TRANSACTION, PRIORITY, or MIXED for all but the last."""
        if kind not in KINDS:
            raise UserError(f"kind={kind!r}: expected one of {', '.join(sorted(KINDS))}")
        part = TopicPart(queues=_per_broker(queues, self._cluster.brokers))
        self._background.apply(AddTopic(at=0.0, add_topic={topic: part}))
        if kind != "NORMAL":
            self._background.call(self._cluster.create_topic, topic, part.queues, kind)

    def create_group(self, group: str, *, in_order: bool = False, most_retries: int = 16) -> None:
        """Create a group or change it: ``in_order`` makes it a FIFO group of the 5.x line, ``most_retries`` says how
        often a record comes again before it goes to the dead letters."""
        self._background.call(partial(self._cluster.create_group, group, in_order=in_order, most_retries=most_retries))

    def set_queues(self, topic: str, queues: int | Mapping[str, int]) -> None:
        """Let a topic have so many queues from now on."""
        self._background.apply(Queues(at=0.0, queues={topic: _per_broker(queues, self._cluster.brokers)}))

    def delete_topic(self, topic: str) -> None:
        """Delete a topic everywhere."""
        self._background.apply(DeleteTopic(at=0.0, delete_topic=topic))

    def queues(self, topic: str) -> dict[str, int]:
        """Broker to the number of the topic's queues there; empty for a topic that does not exist."""
        return dict(self._background.call(self._service.topics).get(topic, {}))

    def produce(
        self,
        topic: str,
        value: bytes | str,
        tag: str = "",
        *,
        broker: str = "broker-a",
        queue: int = 0,
        properties: Mapping[str, str] = {},
        count: int = 1,
    ) -> None:
        """Write a record, or ``count`` equal ones, to a queue. `UserError` where it does not exist, or its broker does
        not run."""
        given = {"TAGS": tag, **properties} if tag else properties
        if not (queue < self.queues(topic).get(broker, 0) and self._cluster.world.is_running(broker)):
            raise UserError(f"produce: no queue {queue} of {topic!r} on {broker}, expected one of a broker that runs")
        body = value.encode() if isinstance(value, str) else value
        self._background.call(self._service.write, Queue(topic, broker, queue), body, given, count)

    def group(self, name: str) -> RealGroup:
        """The consumer group of this name; its members come by themselves."""
        if name not in self._groups:
            self._groups[name] = RealGroup(self._background, name, self._service.end)
        return self._groups[name]

    def stop(self, broker: str = "broker-a") -> None:
        """Stop a broker properly."""
        self._background.broker(broker, "stop")

    def kill(self, broker: str = "broker-a") -> None:
        """Let a broker die."""
        self._background.broker(broker, "kill")

    def start(self, broker: str = "broker-a") -> None:
        """Start a broker that was stopped or killed, at its port."""
        self._background.broker(broker, "return")

    def disconnect(self, client_id: str) -> None:
        """Cut all connections of this client with the brokers."""
        self._background.call(self._cut, client_id)

    # Interference.

    def fail(
        self, request: str, error: str, *, times: int = 1, group: str | None = None, client: str | None = None
    ) -> Reply:
        """Answer the next so many of these requests with this error, without letting the server see them:
        ``fail("PULL_MESSAGE", "SYSTEM_BUSY")``. ``request`` is RocketMQ's own name; ``client``: a client id. Returns
        the rule, whose ``left`` counts down."""
        if error not in ERRORS:
            raise UserError(f"no error {error!r}, expected one of {', '.join(ERRORS)}")
        matches, interference = self._matches(request, group, client), self._background.interference
        code = ERRORS[error]

        def answer(server: str, message: Message) -> Message:
            return refusal(message, code, real=True)

        return self._background.call(interference.reply, matches, answer, times)

    @contextmanager
    def hold(
        self,
        request: str,
        *,
        until: Flag | float | None = None,
        group: str | None = None,
        client: str | None = None,
    ) -> Generator[Hold, None, None]:
        """Keep these requests from the servers: to the end of the ``with`` block, or until a `threading.Event` is set
        or so many seconds have passed. ``kept`` of what it gives lists them."""
        with self._background.hold(self._matches(request, group, client), until) as rule:
            yield rule

    def _matches(self, request: str, group: str | None, client: str | None) -> Matches:
        kind = REQUESTS.get(request)
        if kind is None:
            raise UserError(f"no request {request!r}, expected one of {', '.join(REQUESTS)}")

        def matches(name: str, sender: str, message: Message) -> bool:
            if kind_of(message) is not kind or group not in (None, *groups_of(message)):
                return False
            return client is None or client in self._client_ids(name, sender, message)

        return matches

    def _client_ids(self, name: str, sender: str, message: Message) -> list[str]:
        served = self._cluster.broker(name)
        known = served.clients.get(sender) if served is not None else None
        said = getattr(plain(message), "client_id", None)
        return [each for each in (said, known and known.client_id) if each]

    @property
    def _cluster(self) -> RocketMQCluster:
        return self._service.cluster

    @property
    def _service(self) -> RocketMQService:
        service = self._background.served.service
        assert isinstance(service, RocketMQService)
        return service

    def _cut(self, client_id: str) -> None:
        for name in self._cluster.brokers:
            served = self._cluster.broker(name)
            for peer, groups in list(served.places.items()) if served is not None else ():
                if client_id in groups.values():
                    self._background.served.world.disconnect(name, peer)


def _per_broker(queues: int | Mapping[str, int], brokers: list[str]) -> dict[str, int]:
    return dict.fromkeys(brokers, queues) if isinstance(queues, int) else dict(queues)
