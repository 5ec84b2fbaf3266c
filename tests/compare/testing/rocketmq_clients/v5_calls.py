"""Calls of the 5.x Python client, the same for the double and for the released package on a real proxy."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Surroundings:
    """``api``: what user's code imports; ``topic``: one queue, empty; ``sleep``: real time, or virtual."""

    api: Any
    topic: str
    group: str
    sleep: Callable[[float], None]
    now: Callable[[], float]
    address: str = "127.0.0.1:8081"

    def configuration(self) -> Any:
        return self.api.ClientConfiguration(self.address, self.api.Credentials())

    def producer(self) -> Any:
        made = self.api.Producer(self.configuration(), [self.topic])
        made.startup()
        return made

    def simple(self, await_duration: int = 5) -> Any:
        """Started; a real one gets its settings a moment later."""
        made = self.api.SimpleConsumer(
            self.configuration(), self.group, {self.topic: self.api.FilterExpression()}, await_duration=await_duration
        )
        made.startup()
        self.sleep(2)
        return made

    def message(self, body: bytes = b"body", **fields: Any) -> Any:
        made = self.api.Message()
        made.topic = fields.pop("topic", self.topic)
        made.body = body
        for name, value in fields.items():
            setattr(made, name, value)
        return made

    def pushed(self, consume: Callable[[Any], Any]) -> Any:
        class Listener(self.api.MessageListener):  # type: ignore[misc, name-defined]
            def consume(self, message: Any) -> Any:
                return consume(message)

        made = self.api.PushConsumer(
            self.configuration(), self.group, Listener(), {self.topic: self.api.FilterExpression()}
        )
        made.startup()
        return made


Probe = Callable[[Surroundings], Any]


def outcome(probe: Callable[[], Any]) -> Any:
    """What came of a call, as JSON."""
    try:
        result = probe()
    except Exception as error:
        return {"raises": type(error).__name__, "says": _stable(str(error)), "code": getattr(error, "code", None)}
    if result is None or isinstance(result, bool | int | str | list):
        return {"returns": result}
    return {"returns": type(result).__name__}


def _stable(said: str) -> str:
    """Without a client's id."""
    return said if "client_id" not in said else said.partition("client_id")[0] + said.rpartition(" ")[2]


def _message_setters(s: Surroundings) -> dict[str, Callable[[], Any]]:
    found: dict[str, Callable[[], Any]] = {}
    values: dict[str, list[Any]] = {
        "body": [b"", None, b"x", "text"],
        "topic": ["", " ", None, "a b", "a/b", "ok-1_%"],
        "tag": ["", " ", None, "a|b", "a b"],
        "keys": ["", " ", None, "k", ("a", "b"), ["a"]],
        "message_group": ["", None, "g"],
        "delivery_timestamp": [0, 5, None],
        "priority": [-1, 0, 3, None],
        "lite_topic": ["", None, "l"],
    }
    for name, given in values.items():
        for value in given:
            found[f"message.{name} = {value!r}"] = lambda name=name, value=value: setattr(s.api.Message(), name, value)  # type: ignore[misc]
    pairs = [("message_group", "g"), ("delivery_timestamp", 5), ("priority", 1), ("lite_topic", "l")]
    for first in pairs:
        for second in pairs:
            found[f"message.{first[0]}, then {second[0]}"] = lambda pair=(first, second): _both(s, pair)  # type: ignore[misc]
    for key, value in [("", "v"), ("k", ""), (None, "v"), ("k", None), ("k", "v"), (" ", "v")]:
        found[f"add_property({key!r}, {value!r})"] = lambda key=key, value=value: s.api.Message().add_property(
            key, value
        )  # type: ignore[misc]
    for number in (0, 1, 2, 3, 4, 5, 6, 7, -1):
        found[f"message_type_desc({number})"] = lambda number=number: s.api.Message.message_type_desc(number)  # type: ignore[misc]
    return found


def _both(s: Surroundings, pair: Any) -> None:
    message = s.api.Message()
    for name, value in pair:
        setattr(message, name, value)


def calls_without_server(s: Surroundings) -> dict[str, Callable[[], Any]]:
    """Checks of arguments and states that need nobody else."""
    api, c = s.api, s.configuration()
    expression = {s.topic: api.FilterExpression()}

    class Listener(api.MessageListener):  # type: ignore[misc, name-defined]
        def consume(self, message: Any) -> Any:
            return api.ConsumeResult.SUCCESS

    simple = api.SimpleConsumer(c, s.group)
    push = api.PushConsumer(c, s.group, Listener(), expression)
    producer = api.Producer(c)
    message = s.message()
    found: dict[str, Callable[[], Any]] = {
        "SimpleConsumer(None, g)": lambda: api.SimpleConsumer(None, s.group),
        "SimpleConsumer(c, None)": lambda: api.SimpleConsumer(c, None),
        "SimpleConsumer(c, ' ')": lambda: api.SimpleConsumer(c, " "),
        "SimpleConsumer(c, 'a b')": lambda: api.SimpleConsumer(c, "a b"),
        "SimpleConsumer(c, 5)": lambda: api.SimpleConsumer(c, 5),
        "SimpleConsumer()": lambda: api.SimpleConsumer(),
        "SimpleConsumer(await None)": lambda: api.SimpleConsumer(c, s.group, await_duration=None),
        "SimpleConsumer.await_duration": lambda: simple.await_duration,
        "SimpleConsumer.is_running": lambda: simple.is_running,
        "SimpleConsumer.consumer_group": lambda: simple.consumer_group == s.group,
        "PushConsumer(no listener)": lambda: api.PushConsumer(c, s.group, None, expression),
        "PushConsumer(no subscription)": lambda: api.PushConsumer(c, s.group, Listener(), {}),
        "PushConsumer(None subscription)": lambda: api.PushConsumer(c, s.group, Listener(), None),
        "PushConsumer(None, ...)": lambda: api.PushConsumer(None, s.group, Listener(), expression),
        "PushConsumer() without arguments": lambda: api.PushConsumer(),
        "MessageListener()": lambda: api.MessageListener(),
        "TransactionChecker()": lambda: api.TransactionChecker(),
        "Producer(None)": lambda: api.Producer(None),
        "receive before startup": lambda: simple.receive(1, 10),
        "receive_async before startup": lambda: simple.receive_async(1, 10),
        "receive('a') before startup": lambda: simple.receive("a", 10),
        "ack before startup": lambda: simple.ack(message),
        "ack_async before startup": lambda: simple.ack_async(message),
        "change before startup": lambda: simple.change_invisible_duration(message, 10),
        "change_async before startup": lambda: simple.change_invisible_duration_async(message, 10),
        "subscribe before startup": lambda: simple.subscribe(s.topic),
        "unsubscribe before startup": lambda: simple.unsubscribe(s.topic),
        "shutdown before startup": lambda: simple.shutdown(),
        "push: subscribe before startup": lambda: push.subscribe(s.topic),
        "push: unsubscribe before startup": lambda: push.unsubscribe(s.topic),
        "push: shutdown before startup": lambda: push.shutdown(),
        "push: fifo": lambda: push.fifo,
        "producer: send before startup": lambda: producer.send(message),
        "producer: send_async before startup": lambda: producer.send_async(message),
        "producer: begin_transaction before startup": lambda: producer.begin_transaction(),
        "producer: recall before startup": lambda: producer.recall_message(s.topic, "h"),
        "producer: recall_async before startup": lambda: producer.recall_message_async(s.topic, "h"),
        "is_lite_consumer": lambda: (simple.is_lite_consumer(), push.is_lite_consumer()) == (False, False),
        "Credentials(None, None)": lambda: [api.Credentials(None, None).ak, api.Credentials(None, None).sk],
        "FilterExpression()": lambda: [api.FilterExpression().expression, int(api.FilterExpression().filter_type)],
        "ConsumeResult": lambda: [each.name for each in api.ConsumeResult],
        "TransactionResolution": lambda: [
            int(api.TransactionResolution.COMMIT),
            int(api.TransactionResolution.ROLLBACK),
        ],
        "SendReceipt": lambda: str(api.SendReceipt("id", "t", None, 5)),
        "Message()": lambda: str(api.Message()),
        "configuration.request_timeout": lambda: [c.request_timeout, c.namespace],
    }
    for name in ("Producer", "SimpleConsumer", "PushConsumer", "Message", "SendReceipt", "ClientConfiguration"):
        of_class = getattr(api, name)
        found[f"parameters of {name}"] = lambda of_class=of_class: _parameters(of_class.__init__)  # type: ignore[misc]
    methods = {
        "SimpleConsumer": "receive receive_async ack ack_async change_invisible_duration subscribe unsubscribe "
        "startup shutdown",
        "PushConsumer": "subscribe unsubscribe startup shutdown",
        "Producer": "send send_async recall_message begin_transaction startup shutdown",
    }
    for name, listed in methods.items():
        for method in listed.split():
            function = getattr(getattr(api, name), method)
            found[f"parameters of {name}.{method}"] = lambda function=function: _parameters(function)  # type: ignore[misc]
    return {**found, **_message_setters(s)}


def _parameters(function: Any) -> list[str]:
    """Names, and defaults where they are plain."""
    found = inspect.signature(function).parameters.values()
    plain = (int, str, type(None))
    return [
        f"{each.name}={each.default!r}" if type(each.default) in (*plain, bool) else each.name
        for each in found
        if each.name != "self"
    ]


def calls_with_server(s: Surroundings) -> list[tuple[str, Any]]:
    """Calls one after the other, some of which depend on those before."""
    api = s.api
    told: list[tuple[str, Any]] = []

    def call(name: str, do: Callable[[], Any]) -> None:
        told.append((name, outcome(do)))

    producer = s.producer()
    call("send to an unknown topic", lambda: producer.send(s.message(topic="NoSuch")))
    call("begin_transaction without a checker", producer.begin_transaction)
    call("send None", lambda: producer.send(None))
    call("send an empty message", lambda: producer.send(api.Message()))
    call("send what is too big", lambda: producer.send(s.message(b"x" * (4 * 1024 * 1024 + 1))))
    call("send", lambda: producer.send(s.message()))
    call("send_async", lambda: producer.send_async(s.message()).result())
    consumer = api.SimpleConsumer(s.configuration(), s.group, await_duration=5)
    call("startup", consumer.startup)
    s.sleep(2)
    call("startup again", consumer.startup)
    call("receive without a topic", lambda: consumer.receive(1, 10))
    call("subscribe to an unknown topic", lambda: consumer.subscribe("NoSuch"))
    call("subscribe to what is no name", lambda: consumer.subscribe("a b"))
    call("subscribe", lambda: consumer.subscribe(s.topic))
    s.sleep(2)
    for most in (0, -1, 1.5, "a", None):
        call(f"receive({most!r})", lambda most=most: consumer.receive(most, 10))  # type: ignore[misc]
    for invisible in (5, 9, 0, None, -1, 10.5, "a", 12 * 3600 + 1):
        call(f"receive(1, {invisible!r})", lambda it=invisible: consumer.receive(1, it))  # type: ignore[misc]
    call("ack of a message of one's own", lambda: consumer.ack(s.message()))
    call("ack None", lambda: consumer.ack(None))
    call("change None", lambda: consumer.change_invisible_duration(None, 10))
    received = consumer.receive(1, 10)
    call("received", lambda: [str(each.body) for each in received])
    message = received[0]
    fields = ("topic", "tag", "message_group", "lite_topic", "priority", "delivery_timestamp", "namespace", "corrupted")
    call("its fields", lambda: [str(getattr(message, each)) for each in (*fields, "delivery_attempt", "message_type")])
    call("str of it", lambda: str(message).replace(s.topic, "TOPIC"))
    call("change for 10.5 s", lambda: consumer.change_invisible_duration(message, 10.5))
    call("change for 5 s", lambda: consumer.change_invisible_duration(message, 5))
    call("change for 13 h", lambda: consumer.change_invisible_duration(message, 13 * 3600))
    call("handle after a refused change", lambda: message.receipt_handle)
    call("ack after a refused change", lambda: consumer.ack(message))
    second = consumer.receive(1, 10)[0]
    call("ack", lambda: consumer.ack(second))
    call("ack again", lambda: consumer.ack(second))
    call("ack_async", lambda: consumer.ack_async(second))
    call("change_async", lambda: consumer.change_invisible_duration_async(second, 10))
    s.sleep(1)
    call("nothing there", lambda: consumer.receive(1, 10))
    call("unsubscribe from what is not subscribed", lambda: consumer.unsubscribe("Other"))
    call("unsubscribe", lambda: consumer.unsubscribe(s.topic))
    call("receive without a topic again", lambda: consumer.receive(1, 10))
    call("shutdown", consumer.shutdown)
    call("shutdown again", consumer.shutdown)
    call("startup after shutdown", consumer.startup)
    call("receive after shutdown", lambda: consumer.receive(1, 10))
    call("unsubscribe after shutdown", lambda: consumer.unsubscribe(s.topic))
    unknown = api.SimpleConsumer(s.configuration(), s.group, {"NoSuch": api.FilterExpression()})
    call("startup with an unknown topic", unknown.startup)
    call("receive from an unknown topic", lambda: unknown.receive(1, 10))
    unknown.shutdown()
    call("producer: shutdown", producer.shutdown)
    call("producer: send after shutdown", lambda: producer.send(s.message()))
    return told
