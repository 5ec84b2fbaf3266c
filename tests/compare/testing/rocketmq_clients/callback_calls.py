"""Calls of the older Python client, the same for the double and for the released package on its C++ library."""

import inspect
from collections.abc import Callable
from typing import Any

from tests.compare.testing.rocketmq_clients.v5_calls import outcome


def calls(api: Any, topic: str, group: str, address: str) -> dict[str, Callable[[], Any]]:
    """Checks of arguments and states, sending, and the shapes of what there is."""

    def message(body: object = "body", to: str = topic) -> Any:
        made = api.Message(to)
        made.set_body(body)
        return made

    def producer() -> Any:
        made = api.Producer("producers")
        made.set_name_server_address(address)
        made.start()
        return made

    running = producer()
    found: dict[str, Callable[[], Any]] = {
        "PushConsumer()": lambda: api.PushConsumer(),
        "PushConsumer(None)": lambda: api.PushConsumer(None),
        "PushConsumer('').start()": lambda: api.PushConsumer("").start(),
        "start without subscribe": lambda: api.PushConsumer(group).start(),
        "with, without subscribe": lambda: api.PushConsumer(group).__enter__(),
        "shutdown before start": lambda: api.PushConsumer(group).shutdown(),
        "set_thread_count before subscribe": lambda: api.PushConsumer(group).set_thread_count(2),
        "set_thread_count(1.5)": lambda: api.PushConsumer(group).set_thread_count(1.5),
        "set_message_batch_max_size before subscribe": lambda: api.PushConsumer(group).set_message_batch_max_size(2),
        "set_name_server_address(5)": lambda: api.PushConsumer(group).set_name_server_address(5),
        "subscribe(5)": lambda: api.PushConsumer(group).subscribe(5, print),
        "PushConsumer(5)": lambda: api.PushConsumer(5),
        "Message(5)": lambda: api.Message(5),
        "set_body(5)": lambda: api.Message(topic).set_body(5),
        "set_body bytes": lambda: api.Message(topic).set_body(b"x"),
        "set_keys(5)": lambda: api.Message(topic).set_keys(5),
        "set_delay_time_level('x')": lambda: api.Message(topic).set_delay_time_level("x"),
        "set_property(5, 'x')": lambda: api.Message(topic).set_property(5, "x"),
        "start a producer again": running.start,
        "send_sync": lambda: list(running.send_sync(message()))[:1],
        "send_sync bytes": lambda: int(running.send_sync(message(b"x")).status),
        "send_oneway": lambda: running.send_oneway(message()),
        "send_sync to an unknown topic": lambda: running.send_sync(message(to="NoSuch")),
        "send_sync without a body": lambda: running.send_sync(api.Message(topic)),
        "send_sync with an empty body": lambda: running.send_sync(message("")),
        "ConsumeStatus": lambda: [[each.name, int(each)] for each in api.ConsumeStatus],
        "SendStatus": lambda: [[each.name, int(each)] for each in api.SendStatus],
        "MessageModel": lambda: [[each.name, int(each)] for each in api.MessageModel],
        "SendResult": lambda: list(api.SendResult._fields),
    }
    methods = {
        "PushConsumer": "__init__ subscribe start shutdown set_group set_name_server_address set_name_server_domain "
        "set_session_credentials set_thread_count set_message_batch_max_size set_instance_name set_message_model",
        "Producer": "__init__ send_sync send_oneway send_orderly_with_sharding_key start shutdown set_group "
        "set_timeout set_name_server_address set_session_credentials set_compress_level set_max_message_size",
        "Message": "__init__ set_keys set_tags set_body set_property set_delay_time_level",
    }
    for name, listed in methods.items():
        for method in listed.split():
            function = getattr(getattr(api, name), method)
            found[f"parameters of {name}.{method}"] = lambda function=function: list(  # type: ignore[misc]
                inspect.signature(function).parameters
            )
    names = "topic tags keys body id queue_id queue_offset reconsume_times born_timestamp store_timestamp store_size"
    for name in f"{names} delay_time_level get_property __getitem__ __str__ __bytes__ __repr__".split():
        found[f"ReceivedMessage.{name}"] = lambda name=name: hasattr(api.ReceivedMessage, name)  # type: ignore[misc]
    return found


def exceptions(home: Any) -> dict[str, list[str]]:
    """Name of an exception to those that it is a kind of."""
    names = (
        "ConsumerException NullPointerException ProducerException ProducerSendSyncFailed ProducerStartFailed "
        "PushConsumerStartFailed RocketMQException"
    )
    return {name: [each.__name__ for each in getattr(home, name).__mro__] for name in names.split()}


def told(api: Any, home: Any, topic: str, group: str, address: str) -> dict[str, Any]:
    """All of it. Of what an error says the C++ client's file and line are left out."""
    found: dict[str, Any] = {name: outcome(call) for name, call in calls(api, topic, group, address).items()}
    for each in found.values():
        if "says" in each:
            each["says"] = each["says"].partition(",error:-1")[0].strip()
    return {**found, "exceptions": exceptions(home)}
