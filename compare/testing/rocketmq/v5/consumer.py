"""What both consumers of the 5.x client have in common: a member that takes messages by POP, subscriptions, acks."""

from collections.abc import Callable, Mapping

from compare.testing.faults import as_the_client, whole
from compare.testing.rocketmq.popping import Taken
from compare.testing.rocketmq.v5.doubles import NAME, FilterExpression, Message
from compare.testing.rocketmq.v5.types import (
    CLASSES,
    ILLEGAL_INVISIBLE_TIME,
    INVALID_RECEIPT_HANDLE,
    Client,
    bad_request,
    illegal_argument,
    illegal_state,
    internal_error,
    received,
)
from protocols.engine.nodes import Node, Time
from protocols.errors import UserError
from protocols.scenario.topology import MemberKey
from rocketmq_selfbalance.cluster import LEAST_INVISIBLE_MS, MOST_INVISIBLE_MS

_STOPPED_MS = 1_000.0
"""A process that was stopped is looked at so often."""
_EXPIRED = "org.apache.rocketmq.proxy.common.ProxyException: receipt handle is expired"


class Consumer(Client):
    """One member of the group."""

    def __init__(
        self, client_configuration: object, consumer_group: str, subscription: Mapping[str, FilterExpression] | None
    ) -> None:
        if consumer_group is None or not consumer_group.strip():
            raise illegal_argument("consumerGroup should not be null")
        if not NAME.match(consumer_group):
            raise illegal_argument(f"consumerGroup does not match the regex [regex={NAME}]")
        super().__init__(client_configuration, subscription)
        self.consumer_group = consumer_group
        self._subscriptions: dict[str, FilterExpression] = dict(subscription or {})
        for expression in self._subscriptions.values():
            _check_expression(expression)
        self._group, self._handling, self._popping = (
            self.clients.group,
            self.clients.group.handling,
            self.clients.group.popping,
        )
        self._node: Node | None = None
        self.member = self.clients.naming.next(consumer_group)

    def __str__(self) -> str:
        return f"{self.kind}:{self.consumer_group}, client_id:{self.client_id}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.member} of {self._group!r}>"

    def is_lite_consumer(self) -> bool:
        """Lite topics are not modelled."""
        return False

    # A member.

    def _start(self) -> None:
        if self._node is None:
            self._popping.join(self.member, self._known_topics())
            self._node = self._process_node()

    def _stop(self) -> None:
        if self.is_alive:
            self._group.happen(leave=self.member)

    def _known_topics(self) -> list[str]:
        return [topic for topic in self._subscriptions if self._popping.queues(topic)]

    @property
    def _place(self) -> str:
        return self._popping.cluster.topology.node[MemberKey(self._group.name, self.member)]

    def _process_node(self) -> Node | None:
        process = self._group.world.simulation.processes.get(self._place)
        return None if process is None else process.node

    @property
    def is_alive(self) -> bool:
        """Whether its process runs, or has not begun to."""
        return self._node is None or self._had_shutdown or self._process_node() is self._node

    @property
    def _is_hung(self) -> bool:
        process = None if self._node is None else self._group.world.simulation.processes.get(self._place)
        return process is not None and process.node is self._node and process.hung

    def wake(self) -> None:
        """A process that was stopped does nothing before it goes on."""
        while self._is_hung:
            self._live(self._group.clock.time + _STOPPED_MS, lambda: not self._is_hung)

    def _live(self, until: Time, stop: Callable[[], bool]) -> None:
        self._group.clock.run(until, self._group.world, lambda: stop() or not self.is_alive)

    # Subscriptions.

    def subscribe(self, topic: str, filter_expression: FilterExpression | None = None) -> None:
        """Subscribe to one more topic, or with another expression."""
        with self._handling.call(self):
            self._check_running("add subscription")
            if not NAME.match(topic):
                raise illegal_state("unable to add subscription because topic name is invalid")
            _check_expression(filter_expression)
            if topic not in self._subscriptions:
                self._route(topic)
            self._subscriptions[topic] = filter_expression or CLASSES["FilterExpression"]()
            self._group.happen(subscribe={self.member: self._known_topics()})

    def unsubscribe(self, topic: str) -> None:
        """Subscribe to a topic no more."""
        with self._handling.call(self):
            self._check_running("remove subscription")
            if self._subscriptions.pop(topic, None) is not None:
                self.topics.discard(topic)
                self._group.happen(subscribe={self.member: self._known_topics()})

    # Messages.

    def _take(self, topic: str, broker: str, most: int, invisible: Time) -> list[Taken] | None:
        return self._popping.take(self.member, topic, broker, most, invisible, self._subscriptions[topic].expression)

    def _message(self, taken: Taken) -> Message:
        return received(taken, self._popping.handle_of(taken))

    def _check_running(self, to: str) -> None:
        if not self.is_running:
            raise illegal_state(f"unable to {to} because consumer is not running")

    def _ack(self, message: Message) -> None:
        self._check_running("ack message")
        taken = self._taken(message)
        if not message.receipt_handle:
            raise internal_error("INTERNAL_SERVER_ERROR")
        if taken is None:
            raise bad_request("INVALID_RECEIPT_HANDLE", INVALID_RECEIPT_HANDLE)
        self._popping.ack(taken)

    def _change(self, message: Message, invisible_duration: int) -> None:
        self._check_running("change invisible duration")
        invisible = whole(invisible_duration) * 1000.0
        taken = self._taken(message)
        message.receipt_handle = ""  # As the real client does, before it looks at the answer.
        if invisible > MOST_INVISIBLE_MS:
            raise _too_long()
        if taken is None:
            raise bad_request(_EXPIRED, INVALID_RECEIPT_HANDLE)
        message.receipt_handle = self._popping.handle_of(self._popping.change(taken, invisible))

    def _taken(self, message: Message) -> Taken | None:
        """What the message's handle stands for; None where it is expired or none."""
        with as_the_client():
            _ = message.endpoints
        if message.receipt_handle is None:
            raise TypeError("bad argument type for built-in operation")
        taken = self._popping.handles.get(message.receipt_handle)
        return None if taken is None or taken.handle.visible_at <= self._group.clock.time else taken


def _check_expression(expression: FilterExpression | None) -> None:
    if expression is not None and expression.filter_type != CLASSES["FilterExpression"]().filter_type:
        raise UserError(f"expression {expression.expression!r}: only tags are modelled, expected FilterType.TAG")


def invisible_time(seconds: int | None) -> Time:
    """The invisible time of a request for messages, in milliseconds, as the proxy takes it."""
    invisible = whole(seconds) * 1000.0 if seconds else 0.0
    if invisible < LEAST_INVISIBLE_MS:
        said = f"the invisibleTime is too small. min is {LEAST_INVISIBLE_MS:.0f}"
        raise bad_request(said, ILLEGAL_INVISIBLE_TIME)
    if invisible > MOST_INVISIBLE_MS:
        raise _too_long()
    return invisible


def _too_long() -> Exception:
    return bad_request(f"the invisibleTime is too large. max is {MOST_INVISIBLE_MS:.0f}", ILLEGAL_INVISIBLE_TIME)
